"""The report for a terminal or a log: one line per case, then the difference, then the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skill_delta.core.diagnostics import CheckFlag, Diagnostics
from skill_delta.core.paired import CasePair, Difference, PairedDelta
from skill_delta.core.policy import Verdict
from skill_delta.core.readings import Reading, Scope
from skill_delta.core.report import Report
from skill_delta.core.scores import ArmScore
from skill_delta.core.trials import (
    CaseKey,
    Outcome,
    Status,
    status_of,
)
from skill_delta.render import figures
from skill_delta.render.escape import plain
from skill_delta.render.evidence import details, fraction, worst
from skill_delta.render.judgements import bounds, interval_bar, ratio_lines, spoken
from skill_delta.render.remarks import (
    HIGH_VARIANCE_HEADING,
    altered_cases,
    high_variance_lines,
    is_a_plain_pass,
    judges_part,
    low_signal_heading,
    low_signal_line,
    remarks,
    summary_sentence,
    suspect_heading,
    suspect_line,
    verdict_of,
    weakened_suites,
    weakening,
)

_DETAIL = " " * 8


@dataclass(frozen=True, slots=True)
class Style:
    """What is written before good, bad, doubtful and important words, and after any of them."""

    good: str
    bad: str
    doubtful: str
    important: str
    end: str


PLAIN = Style(good="", bad="", doubtful="", important="", end="")
ANSI = Style(
    good="\x1b[32m", bad="\x1b[31m", doubtful="\x1b[33m", important="\x1b[1m", end="\x1b[0m"
)


def render_terminal(report: Report, style: Style = PLAIN) -> str:
    """The whole report as lines of text. `style` adds colour and never a word."""
    summary = report.summary
    flags = report.flags
    unstable = {baseline: found.high_variance for baseline, found in flags.items()}
    lines = [
        *(_case_lines(report, style) if report.deltas else _outcome_lines(report, style)),
        *(
            line
            for delta in report.deltas
            for line in _delta_block(delta, flags[delta.baseline], report, style)
        ),
        *_judgement_block(report, style),
        *_list_block(f"{HIGH_VARIANCE_HEADING}:", high_variance_lines(unstable), style),
        *_list_block("Notes", remarks(report), style),
        "",
        summary_sentence(summary),
        f"Spent {figures.spent(summary.spend)}{_judges_part(report)}",
        "",
        *_gate_lines(report, style),
    ]
    return "\n".join(lines).lstrip("\n") + "\n"


def _judges_part(report: Report) -> str:
    """` (of it the judge gpt-5: 300 tokens, $0.0100)`, where one was asked."""
    part = judges_part(report)
    return f" (of it {plain(part)})" if part else ""


def _outcome_lines(report: Report, style: Style) -> Iterator[str]:
    """Without a baseline: one line per outcome."""
    repetitions = report.environment.repetitions
    for outcome in report.candidate:
        repeat = f"  repeat {outcome.trial.repetition + 1}/{repetitions}" if repetitions > 1 else ""
        yield f"{_mark(status_of(outcome), style)} {_case(outcome.trial.key)}{repeat}"
        yield from _detail_lines(outcome)


def _case_lines(report: Report, style: Style) -> Iterator[str]:
    """With one or more: one line per case, all its arms together."""
    pairs: dict[CaseKey, list[tuple[str, CasePair]]] = {}
    for delta in report.deltas:
        label = "baseline" if len(report.deltas) == 1 else plain(delta.baseline)
        for pair in delta.pairs:
            pairs.setdefault(pair.key, []).append((label, pair))
    for key, sides in pairs.items():
        outcomes = sides[0][1].candidate_outcomes
        candidate = sides[0][1].candidate
        against = "".join(f"  {_against(label, pair, candidate)}" for label, pair in sides)
        mark = _mark(_status_of_case(outcomes, candidate), style)
        yield f"{mark} {_case(key)}  candidate {fraction(candidate)}{against}"
        yield from _detail_lines(worst(outcomes))
        yield from (line for label, pair in sides for line in _lost_baseline(label, pair))


def _status_of_case(outcomes: Sequence[Outcome], candidate: ArmScore) -> Status:
    if candidate.measured:
        return Status.PASS if candidate.passed == candidate.measured else Status.FAIL
    return status_of(worst(outcomes))


def _detail_lines(outcome: Outcome) -> Iterator[str]:
    return (f"{_DETAIL}{plain(line)}" for line in details(outcome))


def _against(label: str, pair: CasePair, candidate: ArmScore) -> str:
    baseline = pair.baseline
    if baseline is None:
        return f"{label} not run"
    measured = f"{label} {fraction(baseline)}"
    if pair.excluded:
        return f"{measured}  (excluded: {plain(pair.excluded)})"
    # Its own candidate: a comparison that was looked at again has more repetitions of it.
    seen = "" if pair.candidate == candidate else f" (candidate {fraction(pair.candidate)})"
    return f"{measured}  {figures.rate_delta(pair.change or 0.0)}{seen}"


def _lost_baseline(label: str, pair: CasePair) -> Iterator[str]:
    """Why a baseline that ran was never measured: the case line says no more than that."""
    baseline = pair.baseline
    if baseline is not None and not baseline.measured:
        for line in details(worst(pair.baseline_outcomes)):
            yield f"{_DETAIL}{label}: {plain(line)}"


def _delta_block(
    delta: PairedDelta, flags: Diagnostics, report: Report, style: Style
) -> Iterator[str]:
    per_runner = ", per runner" if len(delta.runners) > 1 else ""
    yield ""
    yield _painted(
        f"Delta vs baseline ({plain(delta.baseline)}){per_runner}", style.important, style
    )
    for runner, difference in delta.runners.items():
        if difference.comparable_cases == 0:
            yield f"  {plain(runner)}: no case had a comparable baseline"
            continue
        if per_runner:
            yield f"  {plain(runner)}"
        indent = "    " if per_runner else "  "
        yield from (f"{indent}{line}" for line in _difference_lines(difference))
    if not delta.runners:
        yield "  no case ran"
    for runner in delta.runners:
        reading = report.readings.get(Scope(delta.baseline, runner))
        if reading is not None:
            under = f" under {plain(runner)}" if per_runner else ""
            yield from (f"  {line}" for line in _reading_lines(reading, under))
    yield from _flag_blocks(flags, style)


def _flag_blocks(found: Diagnostics, style: Style) -> Iterator[str]:
    """What one comparison says of the checks."""
    low_signal = map(low_signal_line, found.low_signal)
    yield from _list_block(f"{low_signal_heading(found.baseline)}:", low_signal, style)
    for flag in CheckFlag:
        lines = (suspect_line(check) for check in found.suspect if check.flag is flag)
        yield from _list_block(f"{suspect_heading(flag, found.baseline)}:", lines, style)


def _difference_lines(found: Difference) -> Iterator[str]:
    before, after = found.pass_rate_baseline or 0.0, found.pass_rate_candidate or 0.0
    rates = f"{figures.rate(before)} -> {figures.rate(after)}"
    yield f"pass rate  {rates}  {figures.rate_delta(after - before)}   (higher is better)"
    yield f"tokens     {figures.signed(found.tokens)}   (negative is better)"
    if found.cost_usd is None:
        yield "cost       unknown"
    else:
        yield f"cost       ${figures.dollar_delta(found.cost_usd)}   (negative is better)"
    yield f"latency    {figures.signed(found.latency_ms)}ms   (negative is better)"


def _reading_lines(reading: Reading, under: str) -> Iterator[str]:
    """How sure the difference is."""
    delta = figures.points(reading.interval.delta)
    yield f"interval   {interval_bar(reading)} {delta} {bounds(reading)} points{under}"
    ratios = ", ".join(ratio_lines(reading))
    if ratios:
        yield f"ratios     {ratios}{under}"


def _judgement_block(report: Report, style: Style) -> Iterator[str]:
    """What each gate found, and what would make it surer; what was done to the cases."""
    for judgement in report.gate.judgements:
        words = spoken(judgement, report)
        yield ""
        yield _painted(plain(words.title), style.important, style)
        yield from (f"  {plain(line)}" for line in words.lines)
    cases = (*weakened_suites(report), *altered_cases(report))
    yield from _list_block("Eval cases", cases, style)


def _list_block(heading: str, lines: Iterable[str], style: Style) -> Iterator[str]:
    """A heading and its lines, or nothing where there is no line."""
    shown = [f"  - {plain(line)}" for line in lines]
    if shown:
        yield ""
        yield _painted(heading, style.important, style)
        yield from shown


def _gate_lines(report: Report, style: Style) -> Iterator[str]:
    gate, cases = report.gate, weakening(report)
    match gate.verdict:
        case Verdict.PASS:
            colour = style.good if is_a_plain_pass(report) else style.doubtful
            words = verdict_of(report)
            yield _painted(f"{words[0].upper()}{words[1:]}", colour, style)
        case Verdict.FAIL:
            yield _painted(f"Gate FAILED{cases}:", style.bad, style)
        case Verdict.INCONCLUSIVE if gate.shows_no_regression:
            yield _painted(f"No regression shown{cases}:", style.doubtful, style)
        case Verdict.INCONCLUSIVE:
            yield _painted(f"INCONCLUSIVE{cases}:", style.doubtful, style)
        case Verdict.NOT_MEASURED:
            yield _painted(f"NOT MEASURED{cases}:", style.doubtful, style)
    yield from (f"  - {plain(reason.text)}" for reason in gate.reasons)


def _case(key: CaseKey) -> str:
    return f"{plain(key.skill)} :: {plain(key.case)} ({plain(key.runner)})"


def _mark(status: Status, style: Style) -> str:
    match status:
        case Status.PASS:
            colour = style.good
        case Status.FAIL | Status.ERROR:
            colour = style.bad
        case _:
            colour = style.doubtful
    return f"[{_painted(status.value.upper(), colour, style)}]"


def _painted(text: str, colour: str, style: Style) -> str:
    return f"{colour}{text}{style.end}"
