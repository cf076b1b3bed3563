"""The literal gate: what fails a run, in which order, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Runs, a_report, runs, unresolved
from skill_delta.core.gate import GateVerdict, decide
from skill_delta.core.judgements import Evidence
from skill_delta.core.policy import GatePolicy, Reason, Verdict
from skill_delta.core.skills import Unresolved
from skill_delta.core.wording import percent, points
from skill_delta.errors import ExitCode

LENIENT = GatePolicy(min_pass_rate=0.0, fail_on_error=False)


def verdict(
    *cases: Runs,
    policy: GatePolicy | None = None,
    baselines: tuple[str, ...] | None = None,
    missing: dict[str, dict[str, Unresolved]] | None = None,
) -> GateVerdict:
    return a_report(*cases, policy=policy, baselines=baselines, missing=missing).gate


def required(delta: float, *, of: str = "previous") -> GatePolicy:
    return replace(LENIENT, min_delta={of: delta})


def texts(found: GateVerdict) -> list[str]:
    return [reason.text for reason in found.reasons]


def test_all_passed_is_a_pass() -> None:
    """Every repetition of the candidate passed, and nothing else was asked."""
    found = verdict(runs(candidate="PP"))

    assert found == GateVerdict(Verdict.PASS)
    assert found.exit_code is ExitCode.PASSED


def test_one_failed_repetition_fails_the_default_bar() -> None:
    """At 100 % required, all repetitions must pass."""
    found = verdict(runs(candidate="PPF"))

    assert found.verdict is Verdict.FAIL
    assert texts(found) == ["pass rate 66.7% is below the required 100%"]
    assert found.exit_code is ExitCode.FAILED


def test_a_strong_baseline_is_not_a_failure() -> None:
    """The baseline is there to be compared with, not to be graded."""
    assert verdict(runs(candidate="P", none="F")).passed
    assert verdict(runs(candidate="P", none="E")).passed


def test_zero_cases_never_pass() -> None:
    """A gate that verified nothing must not be green."""
    found = verdict()

    assert found.verdict is Verdict.FAIL
    assert texts(found) == ["no eval case ran: no SKILL.md was found"]


def test_a_lost_trial_fails_unless_that_is_turned_off() -> None:
    """An error is no failed check, but a run with holes is not what was asked for."""
    found = verdict(runs(candidate="PE"))

    assert texts(found) == ["1 trial of the candidate errored"]
    assert found.verdict is Verdict.FAIL
    assert verdict(runs(candidate="PE"), policy=replace(LENIENT, min_pass_rate=1.0)).passed


def test_an_outage_is_not_measured() -> None:
    """Nothing was scored, so nothing failed."""
    for policy in (GatePolicy(), LENIENT):
        found = verdict(runs(candidate="EE", previous="EE"), policy=policy)

        assert found.verdict is Verdict.NOT_MEASURED
        assert texts(found) == ["no trial of the candidate could be measured"]
        assert found.exit_code is ExitCode.NOT_MEASURED


def test_an_outage_under_a_required_delta_fails_for_the_delta() -> None:
    """The literal gate has a reason of its own for "nothing comparable", and that one fails."""
    found = verdict(runs(candidate="E", previous="E"), policy=required(0))

    assert found.verdict is Verdict.FAIL
    assert texts(found) == [
        "no trial of the candidate could be measured",
        "no case was comparable, so the required delta of +0% was not measured",
    ]


@given(st.text(alphabet="PFEI", min_size=1, max_size=6))
def test_a_run_that_was_cut_short_is_never_a_pass_nor_a_failure(letters: str) -> None:
    """It measured less than it was asked to; it can be measured again."""
    found = verdict(runs(candidate=letters + "N", previous=letters))

    assert found.verdict is Verdict.NOT_MEASURED
    assert "1 trial was not run: the ceiling of $1.00 was reached" in texts(found)


def test_what_stood_in_the_way_before_the_run_is_told() -> None:
    """A cap that cut cases is no pass, and no failure either; another objection is."""
    ran = runs(candidate="P")
    capped = Evidence(ran, (), objections=(Reason("max-cases is 1", Verdict.NOT_MEASURED),))
    refused = Evidence(ran, (), objections=(Reason("new skills are refused"),))

    assert decide(capped, GatePolicy()).verdict is Verdict.NOT_MEASURED
    assert decide(refused, GatePolicy()).verdict is Verdict.FAIL


def test_a_pull_request_may_have_nothing_to_run() -> None:
    """Then there is nothing to do."""
    assert decide(Evidence((), ()), GatePolicy(needs_cases=False)).passed


def test_a_check_that_was_not_evaluated_is_not_a_pass() -> None:
    """Nothing unmeasured passes."""
    assert verdict(runs(candidate="PI")).verdict is Verdict.FAIL


def test_the_bar_is_met_by_equality_however_the_fractions_round() -> None:
    """0.3 - 0.2 is a delta of 0.1, though not in floating point."""
    cases = runs(candidate="PPPFFFFFFF", previous="PPFFFFFFFF")

    assert verdict(cases, policy=required(0.1)).passed
    assert texts(verdict(cases, policy=required(0.11))) == [
        "pass-rate delta +10% is below the required +11%"
    ]


def test_below_the_bar_names_both_numbers() -> None:
    """The seed's example with a bar that cannot be reached."""
    found = verdict(runs(candidate="P", previous="F"), policy=required(1.5))

    assert texts(found) == ["pass-rate delta +100% is below the required +150%"]


def test_no_baseline_arm_is_the_first_reason() -> None:
    """Every baseline was skipped: there is nothing to build a delta from."""
    found = verdict(runs(candidate="P", none="S"), policy=required(0, of="none"))

    assert found.verdict is Verdict.FAIL
    assert texts(found) == ["no baseline arm ran, so the required delta of +0% was not measured"]


def test_no_comparable_case_is_the_second_reason() -> None:
    """Some baseline ran, but every pair was dropped."""
    found = verdict(runs(candidate="P", previous="E"), policy=required(0))

    assert found.verdict is Verdict.FAIL
    assert texts(found) == ["no case was comparable, so the required delta of +0% was not measured"]


def test_each_runner_must_meet_the_bar() -> None:
    """The aggregate is never gated on: a runner that improved would carry one that regressed."""
    found = verdict(
        runs(runner="claude-code", candidate="PP", previous="FF"),
        runs(runner="openai", candidate="F", previous="P"),
        runs(runner="scripted", candidate="P", previous="E"),
        policy=required(0),
    )

    assert texts(found) == [
        "pass-rate delta -100% under runner 'openai' is below the required +0%",
        "no case under runner 'scripted' had a comparable baseline",
    ]


def test_an_unresolved_baseline_is_always_added() -> None:
    """A repository must not pass by deleting its history, whatever else was compared."""
    gone = {"previous": {"greeting": unresolved("not a git repository")}}
    cases = (runs(candidate="P", previous="P"), runs(skill="greeting", candidate="P"))

    assert verdict(*cases, missing=gone, policy=LENIENT).passed
    assert texts(verdict(*cases, missing=gone, policy=required(0))) == [
        "skill 'greeting' has no resolvable baseline: not a git repository"
    ]
    assert texts(verdict(cases[1], missing=gone, policy=required(0))) == [
        "no baseline arm ran, so the required delta of +0% was not measured",
        "skill 'greeting' has no resolvable baseline: not a git repository",
    ]


def test_a_skipped_baseline_alone_is_no_reason() -> None:
    """Nothing went wrong: there was no skill to offer."""
    cases = (runs("asks", candidate="P", none="S"), runs("answers", candidate="P", none="F"))

    assert verdict(*cases, policy=required(0, of="none")).passed


def test_each_baseline_has_its_own_bar() -> None:
    """What is said of one baseline names it where there are several."""
    found = verdict(
        runs(candidate="P", previous="P", none="P"),
        policy=replace(LENIENT, min_delta={"previous": 0.0, "none": 0.1}),
    )

    assert texts(found) == ["pass-rate delta +0% against 'none' is below the required +10%"]


def test_a_skill_may_have_bars_of_its_own() -> None:
    """They are read beside the run's, from that skill's cases alone."""
    cases = (
        runs(skill="greeting", candidate="PF", previous="PP"),
        runs(skill="refunds", candidate="PPPP", previous="FFFF"),
    )
    policy = replace(
        LENIENT,
        min_delta={"previous": 0.0},
        skill_min_delta={"greeting": 0.0, "absent": 0.0},
        skill_min_pass_rate={"greeting": 0.9, "absent": 0.5},
    )

    assert texts(verdict(*cases, policy=policy)) == [
        "skill 'greeting': pass rate 50% is below its required 90%",
        "skill 'absent' must pass 50%, but none of its cases ran",
        "pass-rate delta -50% of skill 'greeting' is below the required +0%",
        "skill 'absent' must reach a delta of +0%, but none of its cases ran",
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.6, "60%"),
        (1.0, "100%"),
        (0.0, "0%"),
        (-0.0, "0%"),
        (0.996, "99.6%"),
        (0.9996, "99.96%"),
        (2 / 3, "66.7%"),
    ],
)
def test_percentages_hide_nothing_by_rounding(value: float, shown: str) -> None:
    """99.6 % is not shown as 100 %."""
    assert percent(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.6, "+60%"), (0.0, "+0%"), (-0.0, "+0%"), (-0.004, "-0.4%"), (-0.0004, "-0.04%")],
)
def test_deltas_carry_their_sign(value: float, shown: str) -> None:
    """A reader sees at once which way it went."""
    assert points(value) == shown
