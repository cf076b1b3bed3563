"""The cases behind the numbers: what got worse, what fails all the same, what was not compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from skill_delta.core.paired import CasePair
from skill_delta.core.policy import Verdict
from skill_delta.core.report import Report
from skill_delta.core.scores import measured, score
from skill_delta.core.trials import NO_SKILL, CaseKey, NotRun, Outcome, Skipped, Status, status_of
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.evidence import details, fraction, worst
from skill_delta.render.page import Item, Listing, Part

_IN_SIGHT = 5
_MOST_LINES = 5
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Compared:
    """One case against one baseline. `change` is None where the two cannot be compared."""

    baseline: str
    pair: CasePair
    change: float | None


@dataclass(frozen=True, slots=True)
class _Names:
    """How cases are called: with their skill, runner and baseline where there are several."""

    skills: bool
    runners: bool
    baselines: bool

    @classmethod
    def of(cls, report: Report) -> _Names:
        return cls(
            skills=len(report.subjects) > 1,
            runners=len(report.environment.runners) > 1,
            baselines=len(report.deltas) > 1,
        )

    def case(self, key: CaseKey, baseline: str = "") -> Markdown:
        """`**refund-request** (order-support, claude-code, against previous)`."""
        about = ", ".join(self._about(key, baseline))
        return Markdown(f"**{untrusted(key.case)}**{f' ({about})' if about else ''}")

    def _about(self, key: CaseKey, baseline: str) -> Iterator[str]:
        if self.skills:
            yield untrusted(key.skill)
        if self.runners:
            yield untrusted(key.runner)
        if self.baselines and baseline:
            yield "against no skill" if baseline == NO_SKILL else f"against {untrusted(baseline)}"


def compared_cases(report: Report) -> list[Compared]:
    """Each case against each of its baselines."""
    return [
        Compared(delta.baseline, pair, pair.change)
        for delta in report.deltas
        for pair in delta.pairs
    ]


def regressed_cases(compared: Sequence[Compared]) -> list[Compared]:
    """The cases that pass less often than they did, the largest drop first."""
    drops = [case for case in compared if case.change is not None and case.change < 0]
    return sorted(drops, key=lambda case: case.change or 0.0)


def not_passed(report: Report, compared: Sequence[Compared]) -> list[Sequence[Outcome]]:
    """The candidate's outcomes of each case that fails without having become better or worse.

    Of a skill that nothing was compared with, each case that is not a pass.
    """
    cases: dict[CaseKey, list[Outcome]] = {}
    for outcome in report.candidate:
        cases.setdefault(outcome.trial.key, []).append(outcome)
    paired = {case.pair.key for case in compared}
    changed = {case.pair.key for case in compared if case.change}
    statuses = {key: status_of(worst(outcomes)) for key, outcomes in cases.items()}
    return [
        outcomes
        for key, outcomes in cases.items()
        if key not in changed
        and (
            statuses[key] is Status.FAIL or (key not in paired and statuses[key] is not Status.PASS)
        )
    ]


def case_listings(report: Report) -> Mapping[Part, Listing]:
    """Every case that a reader should know of."""
    names = _Names.of(report)
    compared = compared_cases(report)
    regressed = regressed_cases(compared)
    improved = [case for case in compared if case.change is not None and case.change > 0]
    improved.sort(key=lambda case: case.change or 0.0, reverse=True)
    before = {case.pair.key: case for case in compared}
    drawn = partial(_changed, names)
    return {
        Part.REGRESSED: _regressed(report, Listing.of("regressed", regressed, drawn, _IN_SIGHT)),
        Part.NOT_PASSED: Listing.of(
            "also not passed" if regressed else "not passed",
            not_passed(report, compared),
            partial(_failing, names, before if len(report.deltas) == 1 else {}),
            _IN_SIGHT,
        ),
        Part.NOT_COMPARED: Listing.of(
            "not compared", _by_reason(compared), partial(_excluded, names), _IN_SIGHT
        ),
        Part.IMPROVED: Listing.of("improved", improved, drawn, 0),
    }


def _regressed(report: Report, cases: Listing) -> Listing:
    """Where nothing is proven the heading alone would be an accusation."""
    if any(judgement.verdict is Verdict.FAIL for judgement in report.gate.judgements):
        return cases
    return replace(cases, above=Markdown(f"{_MAY_BE_CHANCE}\n\n"))


_MAY_BE_CHANCE = "They passed less often than before, which may be chance."


def _changed(names: _Names, case: Compared) -> Item:
    name = names.case(case.pair.key, case.baseline)
    return Item(Markdown(f"{name}: {_fractions(case)}"), _evidence(case.pair.candidate_outcomes))


def _fractions(case: Compared) -> str:
    before, after = case.pair.baseline, fraction(case.pair.candidate)
    return after if before is None or case.change is None else f"{fraction(before)} → {after}"


def _failing(
    names: _Names, compared: Mapping[CaseKey, Compared], outcomes: Sequence[Outcome]
) -> Item:
    key = outcomes[0].trial.key
    case = compared.get(key)
    passed = fraction(score(outcomes)) if case is None else _fractions(case)
    return Item(Markdown(f"{names.case(key)}: {passed}"), _evidence(outcomes))


def _by_reason(compared: Sequence[Compared]) -> list[Sequence[Compared]]:
    """One group per baseline and reason, however many cases share it."""
    reasons: dict[tuple[str, str], list[Compared]] = {}
    for case in compared:
        if case.pair.excluded:
            reasons.setdefault((case.baseline, case.pair.excluded), []).append(case)
    return list(reasons.values())


def _excluded(names: _Names, cases: Sequence[Compared]) -> Item:
    shown = [names.case(case.pair.key, case.baseline) for case in cases[:_MOST_NAMES]]
    more = len(cases) - len(shown)
    listed = ", ".join(shown) + (f" and {more:,} more" if more else "")
    pair = cases[0].pair
    return Item(Markdown(f"{listed}: {untrusted(pair.excluded)}"), _loss(pair))


def _loss(pair: CasePair) -> tuple[Markdown, ...]:
    """What kept an arm from being measured. One that was skipped or cut says so by itself."""
    for outcomes in (pair.candidate_outcomes, pair.baseline_outcomes):
        if outcomes and not measured(outcomes) and not isinstance(outcomes[0], Skipped | NotRun):
            return _evidence(outcomes)
    return ()


def _evidence(outcomes: Sequence[Outcome]) -> tuple[Markdown, ...]:
    """Why the worst repetition is not a pass, in a few lines."""
    lines = [untrusted(line) for line in details(worst(outcomes))]
    more = len(lines) - _MOST_LINES
    rest = [Markdown(f"… and {more:,} more")] if more > 0 else []
    return (*lines[:_MOST_LINES], *rest)
