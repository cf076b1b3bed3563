"""The table of skills: one row per skill, baseline and runner, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from skill_delta.core.paired import CasePair, PairedDelta, difference
from skill_delta.core.readings import Reading, Scope
from skill_delta.core.report import Report
from skill_delta.core.scores import pass_rate, score
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.core.trials import NO_SKILL, Outcome
from skill_delta.render import figures
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.evidence import by_skill
from skill_delta.render.judgements import ends
from skill_delta.render.page import Item, Listing

_IN_SIGHT = 10

_NOTHING = Markdown("—")
_NO_COSTS = (_NOTHING, _NOTHING, _NOTHING)


@dataclass(frozen=True, slots=True)
class _Row:
    """One row. What has the lowest `order` comes first."""

    order: tuple[int, float]
    cells: tuple[Markdown, ...]


def skill_table(report: Report) -> Listing:
    """Every skill against every baseline it has, under every runner."""
    compared = bool(report.deltas)
    rows = list(_compared_rows(report) if compared else _single_rows(report))
    rows.sort(key=lambda row: row.order)
    return replace(
        Listing.of("skills", rows, _drawn, _IN_SIGHT),
        title=Markdown(),
        above=_COMPARED_HEAD if compared else _SINGLE_HEAD,
        below=_LEGEND if compared else Markdown(),
        bullet=Markdown(),
    )


def _drawn(row: _Row) -> Item:
    return Item(Markdown(f"| {' | '.join(row.cells)} |"))


_COMPARED_HEAD = Markdown(
    "| Skill | Pass&nbsp;rate&nbsp;↑ | Δ&nbsp;↑ | Cases "
    "| Tokens&nbsp;↓ | Cost&nbsp;↓ | Latency&nbsp;↓ |\n"
    "|:--|:-:|--:|:-:|--:|--:|--:|"
)

_SINGLE_HEAD = Markdown(
    "| Skill | Pass&nbsp;rate&nbsp;↑ | Passed | Failed | Errored |\n|:--|--:|--:|--:|--:|"
)

_LEGEND = Markdown(
    "<sub>↑ higher is better · ↓ lower is better · "
    "Δ with its interval, tokens, cost and latency are the candidate's minus the baseline's, "
    "per run</sub>"
)


def _compared_rows(report: Report) -> Iterator[_Row]:
    """Of a skill that nothing was compared with, its own pass rate alone."""
    versions = {(each.skill, each.baseline): each.version for each in report.sources}
    several = len(report.environment.runners) > 1
    pairs = [_by_skill(delta) for delta in report.deltas]
    for skill, outcomes in by_skill(report.candidate).items():
        alone = True
        for delta, own in zip(report.deltas, pairs, strict=True):
            against = _against(delta.baseline, versions.get((skill, delta.baseline)))
            for runner, of_runner in own.get(skill, {}).items():
                alone = False
                name = _name(skill, against, runner if several else "")
                reading = report.readings.get(Scope(delta.baseline, runner, skill))
                yield _compared_row(name, of_runner, reading)
        if alone:
            yield from _alone_rows(skill, outcomes, several)


def _by_skill(delta: PairedDelta) -> Mapping[str, Mapping[str, Sequence[CasePair]]]:
    found: dict[str, dict[str, Sequence[CasePair]]] = {}
    for (skill, runner), pairs in delta.pairs_by_skill.items():
        found.setdefault(skill, {})[runner] = pairs
    return found


def _against(baseline: str, version: SkillVersion | Unresolved | None) -> Markdown:
    """`vs previous 1.0.0`."""
    if baseline == NO_SKILL:
        return Markdown("vs&nbsp;no&nbsp;skill")
    against = f"vs&nbsp;{untrusted(baseline)}"
    if isinstance(version, SkillVersion) and version.version is not None:
        against += f"&nbsp;{untrusted(version.version)}"
    return Markdown(against)


def _name(skill: str, against: str, runner: str) -> Markdown:
    under = f" under {untrusted(runner)}" if runner else ""
    return Markdown(f"**{untrusted(skill)}** {against}{under}".rstrip())


def _compared_row(name: Markdown, pairs: Sequence[CasePair], reading: Reading | None) -> _Row:
    """A drop comes first, the largest at the top; then what could not be compared."""
    found = difference(pairs)
    cases = Markdown(f"{found.comparable_cases} of {len(pairs)}")
    delta = found.pass_rate
    if delta is None:
        return _Row((2, 0.0), (name, _NOTHING, _NOTHING, cases, *_NO_COSTS))
    regressed = any(pair.fell for pair in pairs)
    before = figures.rate(found.pass_rate_baseline or 0.0)
    after = figures.rate(found.pass_rate_candidate or 0.0)
    cost = "unknown" if found.cost_usd is None else _dollars(found.cost_usd)
    return _Row(
        (0, delta) if delta < 0 else (1 if regressed else 3, 0.0),
        (
            name,
            Markdown(f"{before}&nbsp;→&nbsp;{after}"),
            _delta(delta, reading),
            cases,
            Markdown(figures.signed(found.tokens)),
            Markdown(cost),
            Markdown(f"{figures.signed(found.latency_ms)}&nbsp;ms"),
        ),
    )


def _delta(delta: float, reading: Reading | None) -> Markdown:
    """`**−27%**`, its interval below it."""
    stressed = f"**{figures.rate_delta(delta)}**"
    if reading is None:
        return Markdown(stressed)
    low, high = ends(reading)
    return Markdown(f"{stressed} &#91;{low},&nbsp;{high}&#93;")


def _dollars(delta: float) -> str:
    """`+$0.0012`, the sign of currency spelled so that it begins no formula."""
    figure = figures.dollar_delta(delta)
    return f"{figure[0]}&#36;{figure[1:]}"


def _alone_rows(skill: str, outcomes: Sequence[Outcome], several: bool) -> Iterator[_Row]:
    for runner, own in _by_runner(outcomes).items():
        name = _name(skill, "alone", runner if several else "")
        cases = Markdown(str(len({outcome.trial.case.name for outcome in own})))
        yield _Row((2, 0.0), (name, _pass_rate(own), _NOTHING, cases, *_NO_COSTS))


def _single_rows(report: Report) -> Iterator[_Row]:
    several = len(report.environment.runners) > 1
    for skill, outcomes in by_skill(report.candidate).items():
        for runner, own in _by_runner(outcomes).items():
            found = score(own)
            counts = (found.passed, found.measured - found.passed, found.errored)
            name = _name(skill, "", runner if several else "")
            cells = (name, _pass_rate(own), *(Markdown(str(number)) for number in counts))
            yield _Row((0, pass_rate(own) or 0.0), cells)


def _by_runner(outcomes: Iterable[Outcome]) -> Mapping[str, Sequence[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.trial.runner, []).append(outcome)
    return found


def _pass_rate(outcomes: Sequence[Outcome]) -> Markdown:
    share = pass_rate(outcomes)
    return _NOTHING if share is None else Markdown(f"**{figures.rate(share)}**")
