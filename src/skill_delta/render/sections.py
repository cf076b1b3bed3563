"""The Markdown report's middle: one section per skill and baseline, its table and its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skill_delta.core.paired import CasePair, difference
from skill_delta.core.report import Report
from skill_delta.core.scores import ArmScore, measured, pass_rate, score
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.core.trials import NO_SKILL, CaseKey, NotRun, Outcome, Skipped, Status, status_of
from skill_delta.render import figures
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.evidence import by_skill, details, fraction, worst

_MOST_CASES = 10
_MOST_LINES = 5
_MOST_NAMES = 3

Name: TypeAlias = Callable[[CaseKey], Markdown]
"""How a section names its cases: with their runner only where there are several."""


@dataclass(frozen=True, slots=True)
class Item:
    """One bullet, and the bullets below it."""

    title: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Some bullets under one heading."""

    heading: Markdown
    bullets: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One runner's difference."""

    cases: Markdown
    pass_rates: Markdown
    pass_rate: Markdown
    tokens: Markdown
    cost: Markdown
    latency: Markdown


@dataclass(frozen=True, slots=True)
class SingleRow:
    """One runner's trials, where there is nothing to compare them with."""

    runner: str
    passed: int
    failed: int
    errored: int
    pass_rate: Markdown


@dataclass(frozen=True, slots=True)
class Section:
    """One skill, against one baseline or alone."""

    title: Markdown
    compared: bool
    rows: tuple[ComparedRow, ...] | tuple[SingleRow, ...]
    groups: tuple[Group, ...]
    regressed: bool = False


def sections(report: Report) -> list[Section]:
    """Every section, those with a regressed case first."""
    skills = by_skill(report.candidate)
    if not report.deltas:
        return [_alone(skill, outcomes) for skill, outcomes in skills.items()]
    versions = {(each.skill, each.baseline): each.version for each in report.sources}
    pairs = [_by_skill(delta.pairs) for delta in report.deltas]
    found = [
        _compared(
            _title(skill, delta.baseline, versions.get((skill, delta.baseline))),
            [Compared.of(pair) for pair in own.get(skill, ())],
        )
        for skill in skills
        for delta, own in zip(report.deltas, pairs, strict=True)
    ]
    return sorted(found, key=lambda section: not section.regressed)


def bounded(heading: str, items: Iterable[Item], most: int = _MOST_CASES) -> Iterator[Group]:
    """A group of at most so many bullets, the rest counted; nothing where there is none."""
    listed = list(items)
    if len(listed) > most:
        more = Item(Markdown(f"… and {figures.counted(len(listed) - most, 'more')}"))
        listed = [*listed[:most], more]
    if listed:
        yield Group(Markdown(heading), tuple(listed))


@dataclass(frozen=True, slots=True)
class Compared:
    """A pair with both arms summed up once. `change` is 0 where it is not comparable."""

    pair: CasePair
    candidate: ArmScore
    baseline: ArmScore | None
    change: float

    @classmethod
    def of(cls, pair: CasePair) -> Compared:
        candidate, baseline = pair.candidate, pair.baseline
        if baseline is None or not pair.comparable:
            return cls(pair, candidate, baseline, 0.0)
        change = (candidate.pass_rate or 0.0) - (baseline.pass_rate or 0.0)
        return cls(pair, candidate, baseline, change)


def _by_skill(pairs: Iterable[CasePair]) -> Mapping[str, Sequence[CasePair]]:
    found: dict[str, list[CasePair]] = {}
    for pair in pairs:
        found.setdefault(pair.key.skill, []).append(pair)
    return found


def _compared(title: Markdown, cases: Sequence[Compared]) -> Section:
    runners: dict[str, list[CasePair]] = {}
    for case in cases:
        runners.setdefault(case.pair.key.runner, []).append(case.pair)
    several = len(runners) > 1
    name = _case_and_runner if several else _case
    return Section(
        title=title,
        compared=True,
        rows=tuple(
            _compared_row(f"{untrusted(runner)}: " if several else "", pairs)
            for runner, pairs in runners.items()
        ),
        groups=(
            *bounded("Regressed", _regressed(cases, name)),
            *bounded("Also failing", _failing(cases, name)),
            *bounded("Improved", _improved(cases, name)),
            *bounded("Not compared", _excluded([case.pair for case in cases], name)),
        ),
        regressed=any(case.change < 0 for case in cases),
    )


def _title(skill: str, baseline: str, version: SkillVersion | Unresolved | None) -> Markdown:
    """`order-support against previous (1.0.0)`."""
    if baseline == NO_SKILL:
        return Markdown(f"{untrusted(skill)} against no skill")
    title = f"{untrusted(skill)} against {untrusted(baseline)}"
    if isinstance(version, SkillVersion) and version.version is not None:
        title += f" ({untrusted(version.version)})"
    return Markdown(title)


def _compared_row(runner: str, pairs: Sequence[CasePair]) -> ComparedRow:
    found = difference(pairs)
    comparable = Markdown(f"{runner}{found.comparable_cases} of {len(pairs)}")
    nothing = Markdown("—")
    if found.pass_rate is None:
        return ComparedRow(comparable, nothing, nothing, nothing, nothing, nothing)
    before = figures.rate(found.pass_rate_baseline or 0.0)
    after = figures.rate(found.pass_rate_candidate or 0.0)
    cost = "unknown" if found.cost_usd is None else figures.dollar_delta(found.cost_usd)
    return ComparedRow(
        cases=comparable,
        pass_rates=Markdown(f"{before}&nbsp;→&nbsp;{after}"),
        pass_rate=Markdown(f"**{figures.rate_delta(found.pass_rate)}**"),
        tokens=Markdown(figures.signed(found.tokens)),
        cost=Markdown(cost),
        latency=Markdown(f"{figures.signed(found.latency_ms)} ms"),
    )


def _regressed(cases: Iterable[Compared], name: Name) -> Iterator[Item]:
    """The largest drop first."""
    for case in sorted(cases, key=lambda case: case.change):
        if case.change < 0:
            yield Item(_titled(case, name), _evidence(case.pair.candidate_outcomes))


def _failing(cases: Iterable[Compared], name: Name) -> Iterator[Item]:
    """Cases that fail and are not the difference: as often as before, or with no before."""
    for case in cases:
        if case.candidate.measured > case.candidate.passed and case.change == 0:
            yield Item(_titled(case, name), _evidence(case.pair.candidate_outcomes))


def _improved(cases: Iterable[Compared], name: Name) -> Iterator[Item]:
    for case in sorted(cases, key=lambda case: case.change, reverse=True):
        if case.change > 0:
            yield Item(_titled(case, name))


def _excluded(pairs: Iterable[CasePair], name: Name) -> Iterator[Item]:
    """One bullet per reason, however many cases share it."""
    reasons: dict[str, list[CasePair]] = {}
    for pair in pairs:
        if pair.excluded:
            reasons.setdefault(pair.excluded, []).append(pair)
    for reason, excluded in reasons.items():
        shown = [name(pair.key) for pair in excluded[:_MOST_NAMES]]
        more = len(excluded) - len(shown)
        names = ", ".join(shown) + (f" and {more:,} more" if more else "")
        yield Item(Markdown(f"{names}: {untrusted(reason)}"), _loss(excluded[0]))


def _loss(pair: CasePair) -> tuple[str, ...]:
    """What kept an arm from being measured. One that was skipped or cut says so by itself."""
    for outcomes in (pair.candidate_outcomes, pair.baseline_outcomes):
        if outcomes and not measured(outcomes) and not isinstance(outcomes[0], Skipped | NotRun):
            return _evidence(outcomes)
    return ()


def _titled(case: Compared, name: Name) -> Markdown:
    after = fraction(case.candidate)
    before = f"{fraction(case.baseline)} → " if case.baseline and case.pair.comparable else ""
    return Markdown(f"{name(case.pair.key)}: {before}{after}")


def _case(key: CaseKey) -> Markdown:
    return Markdown(f"**{untrusted(key.case)}**")


def _case_and_runner(key: CaseKey) -> Markdown:
    return Markdown(f"{_case(key)} ({untrusted(key.runner)})")


def _evidence(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    """Why the worst repetition is not a pass, in a few lines."""
    lines = list(details(worst(outcomes)))
    more = len(lines) - _MOST_LINES
    return (*lines[:_MOST_LINES], *([f"… and {more:,} more"] if more > 0 else ()))


def _alone(skill: str, outcomes: Sequence[Outcome]) -> Section:
    runners = list(dict.fromkeys(outcome.trial.runner for outcome in outcomes))
    name = _case_and_runner if len(runners) > 1 else _case
    return Section(
        title=untrusted(skill),
        compared=False,
        rows=tuple(
            _single_row(runner, [each for each in outcomes if each.trial.runner == runner])
            for runner in runners
        ),
        groups=tuple(bounded("Not passed", _not_passed(outcomes, name))),
    )


def _single_row(runner: str, outcomes: Sequence[Outcome]) -> SingleRow:
    found = score(outcomes)
    share = pass_rate(outcomes)
    return SingleRow(
        runner=runner,
        passed=found.passed,
        failed=found.measured - found.passed,
        errored=found.errored,
        pass_rate=Markdown("—" if share is None else f"**{figures.rate(share)}**"),
    )


def _not_passed(outcomes: Iterable[Outcome], name: Name) -> Iterator[Item]:
    cases: dict[CaseKey, list[Outcome]] = {}
    for outcome in outcomes:
        cases.setdefault(outcome.trial.key, []).append(outcome)
    for key, own in cases.items():
        if status_of(worst(own)) is not Status.PASS:
            yield Item(Markdown(f"{name(key)}: {fraction(score(own))}"), _evidence(own))
