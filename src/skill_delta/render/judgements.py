"""Each gate's answer in words: the delta and how sure it is, and what would make it surer.

They hold names of others as they are: whoever prints them escapes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from skill_delta.core.inference import losses_matter
from skill_delta.core.judgements import Judgement
from skill_delta.core.policy import GateMethod, Verdict
from skill_delta.core.readings import Measure, Reading, Scope
from skill_delta.core.report import Report
from skill_delta.core.trials import NO_SKILL
from skill_delta.render.figures import counted, line, points, rate

_BAR_CELLS = 21


@dataclass(frozen=True, slots=True)
class Spoken:
    """One gate in words: the delta in a line, and the lines that say what to make of it."""

    title: str
    lines: tuple[str, ...]


def spoken(judgement: Judgement, report: Report) -> Spoken:
    """What a reader should know of one gate."""
    reading = judgement.reading
    answer = f"{interval_bar(reading)} {_answer(judgement)}"
    title = f"{_subject(judgement.scope, report)}{measured(reading)}"
    return Spoken(title, (answer, *_lines(judgement, report)))


def measured(reading: Reading) -> str:
    """`pass rate 80% → 53%, Δ −27 points [−49, 0] (90%)`."""
    found, interval = reading.difference, reading.interval
    before, after = rate(found.pass_rate_baseline or 0.0), rate(found.pass_rate_candidate or 0.0)
    delta = points(interval.delta, lines=_below_the_bar(reading))
    return f"pass rate {before} → {after}, Δ {delta} points {bounds(reading)}"


def _below_the_bar(reading: Reading) -> tuple[float, ...]:
    """What the delta is not to be rounded onto."""
    bar = reading.rule.min_delta
    return (bar,) if reading.interval.delta < bar else ()


def bounds(reading: Reading) -> str:
    """`[−49, 0] (90%)`."""
    low, high = ends(reading)
    confidence = f"{reading.rule.confidence:.1%}".replace(".0%", "%")
    return f"[{low}, {high}] ({confidence})"


def ends(reading: Reading) -> tuple[str, str]:
    """`−49` and `0`: in points, and not rounded onto what they are said to lie beyond."""
    interval = reading.interval
    beyond_low, beyond_high = reading.rule.beyond(interval)
    return points(interval.low, lines=beyond_low), points(interval.high, lines=beyond_high)


def interval_bar(reading: Reading) -> str:
    """The interval from -100 to +100 points, zero in the middle: `·····━━━●━━━━│··········`."""
    interval = reading.interval
    low, high, delta = map(_cell, (interval.low, interval.high, interval.delta))
    zero = _cell(0.0)
    cells = ["━" if low <= cell <= high else "·" for cell in range(_BAR_CELLS)]
    cells[zero] = "┿" if interval.low <= 0 <= interval.high else "│"
    if delta == zero and not interval.low <= 0 <= interval.high:
        delta += 1 if interval.low > 0 else -1  # beside the line, on the side where it lies
    cells[delta] = "●"
    return "".join(cells)


def _cell(delta: float) -> int:
    return round((delta + 1) / 2 * (_BAR_CELLS - 1))


def literal_remark(judgement: Judgement) -> str:
    """What the literal gate would have said."""
    says = "failed" if judgement.literally is Verdict.FAIL else "passed"
    also = "also " if judgement.verdict is judgement.literally else ""
    return f"The bare difference alone would {also}have {says} it"


def _subject(scope: Scope, report: Report) -> str:
    """`order-support against base under openai: `, as much of it as is needed."""
    parts = []
    if scope.skill and len(report.subjects) > 1:
        parts.append(scope.skill)
    if len(report.deltas) > 1:
        parts.append(
            "against no skill" if scope.baseline == NO_SKILL else f"against {scope.baseline}"
        )
    if len(report.environment.runners) > 1:
        parts.append(f"under {scope.runner}")
    return f"{' '.join(parts)}: " if parts else ""


def _answer(judgement: Judgement) -> str:
    rule = judgement.reading.rule
    bar, tolerated = map(line, rule.lines)
    if judgement.is_within_noise:
        # Of the literal gate alone: by the interval there is no such verdict.
        return "Within the noise: the interval allows for the other verdict as well"
    match judgement.verdict:
        case Verdict.FAIL:
            return f"A regression: the whole interval lies below {bar}"
        case Verdict.PASS:
            return _pass(judgement, bar, tolerated)
        case _:
            return _doubt(judgement, bar)


def _too_much(judgement: Judgement) -> str:
    """`a drop of more than 10 points`: what a pass has to rule out."""
    rule = judgement.reading.rule
    if not rule.min_delta:
        return f"a drop of more than {line(rule.margin).lstrip('+')} points"
    bar, tolerated = map(line, rule.lines)
    return f"a delta below {tolerated} (required {bar}, margin {line(rule.margin).lstrip('+')})"


def _pass(judgement: Judgement, bar: str, tolerated: str) -> str:
    match judgement.ruling.note:
        case "improved":
            return f"An improvement: the whole interval lies above {bar}"
        case "regression within margin":
            return f"A regression within the margin: below {bar}, and not below {tolerated}"
        case _:
            return f"No regression: {_too_much(judgement)} is ruled out"


def _doubt(judgement: Judgement, bar: str) -> str:
    match judgement.ruling.note:
        case "single-shot":
            return "Single runs: one run of a case is no evidence either way"
        case "lost trials could change it":
            return "Trials were lost, and their answers could turn the verdict"
        case _ if judgement.rests_on_losses:
            return "Trials were lost, and what is left is within the noise"
        case "one of several gates":
            return "A fail by itself, but of several gates one may fail by chance"
        case _ if judgement.shows_no_regression:
            return f"No regression shown, but {_too_much(judgement)} is still possible"
        case _:
            return f"Within the noise: {bar} is possible, and so is {_too_much(judgement)}"


def _lines(judgement: Judgement, report: Report) -> Iterator[str]:
    reading = judgement.reading
    if abs((reading.difference.pass_rate or 0.0) - reading.interval.delta) > 1e-9:
        pooled = points(reading.difference.pass_rate or 0.0)
        yield f"Δ is over case means; over all runs alike it is {pooled} points"
    yield _compatible(judgement)
    scope = replace(judgement.scope, untouched=True)
    untouched = report.readings.get(scope)
    if untouched is not None and not _tells_the_same(untouched, reading):
        cases = counted(len(untouched.measurement.comparable), "case")
        yield f"Over the {cases} that the pull request left as they were: {measured(untouched)}"
    beside = ". ".join((*_beside(judgement), *_looks(reading, report)))
    if beside:
        yield beside


def _beside(judgement: Judgement) -> Iterator[str]:
    if judgement.method is GateMethod.INTERVAL:
        yield literal_remark(judgement)
    if judgement.ruling.note != "single-shot":
        # Single runs tell nothing of their noise, so nothing of what they could find.
        yield detectable(judgement.reading)


def _tells_the_same(untouched: Reading, whole: Reading) -> bool:
    """Whether both say the very same of as many cases: whoever reads one has read the other."""
    cases = [len(reading.measurement.comparable) for reading in (untouched, whole)]
    return cases[0] == cases[1] and measured(untouched) == measured(whole)


def _compatible(judgement: Judgement) -> str:
    """The largest drop that the runs are compatible with, and what would settle a doubt."""
    reading = judgement.reading
    drop = reading.largest_drop
    counted_in = ", lost ones included," if losses_matter(reading.measurement) else ""
    largest = (
        f"The largest drop compatible with these runs{counted_in} is "
        f"{points(drop, signed=False, lines=[0.0])} points"
        if drop > 0
        else f"No drop at all is compatible with these runs{counted_in.removesuffix(',')}"
    )
    settled_by = settling(judgement)
    return f"{largest}. {settled_by}" if settled_by else largest


def _looks(reading: Reading, report: Report) -> Iterator[str]:
    if reading.rule.looks > 1:
        used = f"{reading.looks_used} of {reading.rule.looks} planned looks"
        saved = f", {counted(report.trials_saved, 'trial')} saved" if report.trials_saved else ""
        yield f"{used}{saved}"


def detectable(reading: Reading) -> str:
    """The smallest drop that this suite can find."""
    if not reading.summary.baseline.rate:
        return "The baseline never passes, so there is no drop to find"
    drop = reading.detectable_drop
    if drop is None:
        return "This suite is too small to find even a drop to 0% four times out of five"
    return f"This suite finds a drop of {points(drop, signed=False)} points four times out of five"


def settling(judgement: Judgement) -> str:
    """What would settle an inconclusive verdict; blank where nothing of the kind is known."""
    if judgement.verdict is not Verdict.INCONCLUSIVE or judgement.ruling.note:
        return ""
    needed = judgement.reading.settlement
    ways = []
    if needed.repetitions is not None:
        runs = counted(needed.repetitions, "repetition")
        ways.append(f"{runs} of each case (repeat: {needed.repetitions})")
    if needed.cases is not None:
        ways.append(f"{counted(needed.cases, 'case')} like these")
    if not ways:
        return "No suite of a thousand cases like these would settle it: set a margin"
    return f"What would settle it: about {', or '.join(ways)}"


def ratio_lines(reading: Reading) -> Iterator[str]:
    """`tokens ×1.10 [0.99, 1.21]`: what the arms used, where there is an interval."""
    for measure in Measure:
        found = reading.ratio(measure)
        if found is not None:
            yield f"{measure.value} ×{found.ratio:.2f} [{found.low:.2f}, {found.high:.2f}]"
