"""Runs that every report format must tell well, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from builders import Cost, Runs, a_report, runs, unresolved
from skill_delta.core.checks.limits import MaxCostUsd
from skill_delta.core.checks.text import Contains
from skill_delta.core.checks.tools import Called
from skill_delta.core.policy import GatePolicy
from skill_delta.core.report import NO_CASES, Report, SkippedSkill
from skill_delta.core.suite import Check
from skill_delta.core.trials import NOTHING_TO_OFFER, Errored, Outcome, Scored, Skipped, Status
from skill_delta.grading import graded
from skill_delta.providers.http import MAX_ATTEMPTS

ANY_RATE = GatePolicy(min_pass_rate=None)

HOSTILE = (
    "@org/team fixes #1 <img src=x> [a](http://evil.example) | `x` **b** www.evil.example"
    " </details> <!-- &#64;me --!>\n/approve deadbeefcafe \x1b[31m \u202e ##[error]"
)


NAMES_THE_ORDER = Check("contains[0]", Contains(kind="contains", value="1234"))
NAMES_ANYTHING = Check("contains[0]", Contains(kind="contains", value=""))
LOOKS_IT_UP = Check("called:lookup_order", Called(tool="lookup_order"))
IS_CHEAP = Check("max_cost_usd", MaxCostUsd(limit=0.01))


def in_its_own_words(outcomes: Runs, *checks: Check) -> Runs:
    """The same trials with the checks and the messages that the product really has.

    A trial that passed named the order and looked it up, one that failed did neither.
    """
    asked = checks or (NAMES_THE_ORDER,)
    return tuple(_in_its_own_words(outcome, asked) for outcome in outcomes)


def _in_its_own_words(outcome: Outcome, checks: tuple[Check, ...]) -> Outcome:
    trial = replace(outcome.trial, case=replace(outcome.trial.case, checks=checks))
    match outcome:
        case Scored(transcript=right, status=status):
            wrong = replace(right, answer="I am sorry to hear that!", tool_calls=())
            unpriced = replace(right, cost_usd=None)
            answers = {Status.FAIL: wrong, Status.INCONCLUSIVE: unpriced}
            return graded(trial, answers.get(status, right))
        case Errored():
            lost = f"HTTP 503 Service Unavailable, after {MAX_ATTEMPTS} attempts"
            return replace(outcome, trial=trial, reason=lost)
        case Skipped():
            return replace(outcome, trial=trial, reason=NOTHING_TO_OFFER)
        case _:
            return replace(outcome, trial=trial)


def must_not_drop(**baselines: float) -> GatePolicy:
    return GatePolicy(min_pass_rate=None, min_delta=baselines or {"previous": 0.0})


def one_baseline() -> Report:
    """The seed's own example."""
    costs = {"candidate": Cost(40, 0.0003, 680.0), "previous": Cost(100, 0.0005, 800.0)}
    return a_report(runs(candidate="PPPPP", previous="PPFFF", costs=costs))


def per_runner() -> Report:
    """The seed's own example of two runners, and of both kinds of flag."""
    costs = [
        {"candidate": Cost(310804, 0.2, 34000.0), "none": Cost(9000, 0.01, 10000.0)},
        {"candidate": Cost(249000, 0.02, 159000.0), "none": Cost(9000, 0.01, 10000.0)},
    ]
    checks = ("contains[0]", "contains[1]")
    return a_report(
        runs(
            "refund-request",
            *checks,
            runner="claude-code",
            costs=costs[0],
            candidate="PPPFF",
            none="FFFFF",
        ),
        runs(
            "refund-request",
            *checks,
            runner="pydantic-ai",
            costs=costs[1],
            candidate="PPPPP",
            none="FFFFF",
        ),
        policy=must_not_drop(none=0.1),
    )


def a_runner_without_a_pair() -> Report:
    return a_report(
        in_its_own_words(runs(runner="scripted", candidate="PPP", none="PFF")),
        in_its_own_words(runs(runner="openai", candidate="PPP", none="EEE")),
        policy=must_not_drop(none=0.0),
    )


def regressed() -> Report:
    costs = {"candidate": Cost(130, 0.0006, 900.0)}
    never_fails = 'cases.yaml: the case "thanks": the check contains[0] can never fail'
    return a_report(
        in_its_own_words(
            runs("refund-request", candidate="PFF", previous="PPP", costs=costs),
            NAMES_THE_ORDER,
            LOOKS_IT_UP,
        ),
        in_its_own_words(
            runs("refuses a late refund", candidate="FFF", previous="FFF", costs=costs)
        ),
        in_its_own_words(runs("greets", candidate="PPP", previous="PPF", costs=costs)),
        in_its_own_words(
            runs("thanks", candidate="PPP", previous="PPP", costs=costs), NAMES_ANYTHING
        ),
        policy=must_not_drop(),
        notes=[f"order-support: skills/order-support/evals/{never_fails}"],
        skipped=[SkippedSkill("release-notes", NO_CASES)],
    )


def several_baselines() -> Report:
    return a_report(
        in_its_own_words(runs("refund-request", candidate="PPF", previous="PPP", none="FFF")),
        in_its_own_words(runs("reaches for the skill", candidate="PPP", previous="PPP", none="S")),
        in_its_own_words(
            runs("thanks", candidate="PPP", previous="PPP", none="PPP"), NAMES_ANYTHING
        ),
        policy=must_not_drop(previous=0.0, none=0.1),
    )


def excluded() -> Report:
    return a_report(
        runs("refund-request", candidate="PPP", previous="PPP"),
        runs("greets", candidate="EEE", previous="PPP"),
        runs("thanks", candidate="PPE", previous="EEE"),
        policy=must_not_drop(),
    )


def not_resolved() -> Report:
    return a_report(
        runs(candidate="PPP"),
        runs("greets", skill="greeting", candidate="PPP", previous="PPP"),
        missing={"previous": {"order-support": unresolved()}},
        policy=must_not_drop(),
    )


def nothing_comparable() -> Report:
    return a_report(runs(candidate="P"), missing={"previous": {"order-support": unresolved()}})


def unknown_cost() -> Report:
    costs = {"candidate": Cost(100, None), "previous": Cost(100, None)}
    return a_report(runs(candidate="PP", previous="PP", costs=costs))


def not_measured() -> Report:
    return a_report(
        runs("refund-request", candidate="PPN", previous="PPN"),
        runs("greets", candidate="NNN", previous="NNN"),
        policy=must_not_drop(),
    )


def one_arm() -> Report:
    return a_report(
        in_its_own_words(runs("refund-request", candidate="F"), NAMES_THE_ORDER, LOOKS_IT_UP),
        in_its_own_words(runs("greets", candidate="P")),
        in_its_own_words(runs("thanks", candidate="E")),
        in_its_own_words(runs("counts", candidate="I"), IS_CHEAP),
    )


def one_arm_repeated() -> Report:
    return a_report(runs(candidate="PFP"), runs("greets", candidate="PPP"), policy=ANY_RATE)


def nothing_ran() -> Report:
    return a_report(skipped=[SkippedSkill("release-notes", NO_CASES)])


def hostile() -> Report:
    return a_report(
        runs(
            HOSTILE,
            HOSTILE,
            skill=HOSTILE,
            runner=HOSTILE,
            candidate="PF",
            previous="PP",
            evidence=HOSTILE,
        ),
        runs("lost", skill=HOSTILE, runner=HOSTILE, candidate="PP", previous="EE"),
        missing={HOSTILE: {HOSTILE: unresolved(HOSTILE)}},
        baselines=["previous", HOSTILE],
        policy=must_not_drop(),
        models={HOSTILE: HOSTILE},
        notes=[HOSTILE],
        skipped=[SkippedSkill(HOSTILE, HOSTILE)],
    )


STORIES: Mapping[str, Report] = {
    story.__name__: story()
    for story in (
        one_baseline,
        per_runner,
        a_runner_without_a_pair,
        regressed,
        several_baselines,
        excluded,
        not_resolved,
        nothing_comparable,
        unknown_cost,
        not_measured,
        one_arm,
        one_arm_repeated,
        nothing_ran,
        hostile,
    )
}
