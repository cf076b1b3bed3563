"""What a measured difference allows one to say: a verdict, and how surprising the data are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, fsum, gcd, lcm
from statistics import NormalDist
from typing import Literal, TypeAlias

from skill_delta.core.intervals import (
    CaseAmounts,
    CaseScores,
    Interval,
    Measurement,
    Summary,
    critical_value,
    newcombe_interval,
    ratio_interval,
    summarise,
)

TOLERANCE = 1e-12
"""How far rounding may move a bound; it is granted to the author of the change."""

LARGEST_LOST_SHARE = 0.10
"""An arm that lost more of its runs than this has its verdict tried against the worst case."""

MOST_STEPS = 1_000_000
"""How much work `p_exact` may be; reached only where many cases all lost different runs."""


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """What the interval is held against. All but the looks are points of rate or shares.

    A pass must rule out a true delta below `min_delta` - `margin`; a fail must rule out one at or
    above `min_delta` (in [-1, 1]; the margin is 0 or more). `confidence` in (0, 1) is two-sided, so
    each wrong verdict has at most (1 - confidence)/2 to happen, over all `looks` (1 to 5) that were
    planned together. Raises ValueError for values outside these ranges.
    """

    min_delta: float = 0.0
    margin: float = 0.10
    confidence: float = 0.90
    looks: int = 1

    def __post_init__(self) -> None:
        if not -1 <= self.min_delta <= 1:
            raise ValueError(f"min_delta {self.min_delta} lies outside [-1, 1]")
        if not self.margin >= 0:
            raise ValueError(f"margin {self.margin} is not 0 or more")
        critical_value(self.confidence, self.looks)

    @property
    def error_rate(self) -> float:
        """How often either wrong verdict may happen, in (0, 0.5)."""
        return (1 - self.confidence) / 2

    @property
    def lines(self) -> tuple[float, float]:
        """The two deltas that an interval is held against, in points of rate."""
        return self.min_delta, self.min_delta - self.margin

    def beyond(self, found: Interval) -> tuple[Collection[float], Collection[float]]:
        """The lines that each end of the interval is said to lie below, or above."""
        low, high = ([line for line in self.lines if end < line] for end in (found.low, found.high))
        above = [self.min_delta] if found.low > self.min_delta else []
        return [*low, *above], high

    def interval(self, summary: Summary) -> Interval:
        """The interval that this rule reads, widened for its planned looks."""
        return newcombe_interval(summary, critical_value(self.confidence, self.looks))


Note: TypeAlias = Literal[
    "",
    "improved",
    "regression within margin",
    "lost trials could change it",
    "single-shot",
    "one of several gates",
]
"""What qualifies a verdict, or keeps one from being more than inconclusive."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The verdict on one measurement, the interval it rests on, and what to say beside it."""

    verdict: Literal["pass", "fail", "inconclusive"]
    interval: Interval
    note: Note = ""


def of_several_gates(ruling: Ruling, stands: bool) -> Ruling:
    """The ruling under one status with others, of which a `fail` that does not stand is none."""
    if ruling.verdict != "fail" or stands:
        return ruling
    return Ruling("inconclusive", ruling.interval, "one of several gates")


def is_below(delta: float, bar: float) -> bool:
    """The literal comparison. Rates are sums of fractions: unrounded, 0.3 - 0.2 < 0.1."""
    return round(delta, 12) < round(bar, 12)


def rule_on(summary: Summary, rule: DecisionRule) -> Ruling:
    """Fail only on evidence of harm, pass only on evidence of no harm beyond the margin.

    A pass is `improved` where the whole interval lies above the bar, and a `regression within
    margin` where it lies below the bar but not by more than the margin.
    """
    found = rule.interval(summary)
    below_the_bar = found.high < rule.min_delta - TOLERANCE
    if found.low >= rule.min_delta - rule.margin - TOLERANCE:
        if found.low > rule.min_delta:
            return Ruling("pass", found, "improved")
        return Ruling("pass", found, "regression within margin" if below_the_bar else "")
    return Ruling("fail" if below_the_bar else "inconclusive", found)


def rule_despite_losses(measurement: Measurement, rule: DecisionRule) -> Ruling:
    """Rule as `rule_on` does, and let no verdict stand that the lost trials could overturn.

    Where a case dropped out or an arm lost more than 10 % of its runs, a fail must also hold with
    every lost candidate run passed and every lost baseline run failed, and a pass with the
    reverse. Raises ValueError where no case is comparable.
    """
    ruling = rule_on(summarise(measurement), rule)
    if ruling.verdict == "inconclusive" or not losses_matter(measurement):
        return ruling
    best_for_candidate = 1.0 if ruling.verdict == "fail" else 0.0
    bound = with_lost_trials(measurement, best_for_candidate, 1.0 - best_for_candidate)
    if rule_on(summarise(bound), rule).verdict == ruling.verdict:
        return ruling
    return Ruling("inconclusive", ruling.interval, "lost trials could change it")


def losses_matter(measurement: Measurement) -> bool:
    """Whether lost trials took out a case, or more than 10 % of the runs of an arm."""
    cases = measurement.cases
    dropped = any(
        not case.comparable and (case.candidate_lost or case.baseline_lost) for case in cases
    )
    ours = [(case.candidate_lost, len(case.candidate)) for case in cases]
    theirs = [(case.baseline_lost, len(case.baseline)) for case in cases]
    return dropped or any(_lost_share(arm) > LARGEST_LOST_SHARE for arm in (ours, theirs))


def _lost_share(arm: Sequence[tuple[int, int]]) -> float:
    lost = sum(lost for lost, _ in arm)
    started = lost + sum(measured for _, measured in arm)
    return lost / started if started else 0.0


def with_lost_trials(measurement: Measurement, candidate: float, baseline: float) -> Measurement:
    """The measurement as if each lost trial had come back with its arm's score, in [0, 1]."""
    return Measurement(
        tuple(
            CaseScores(
                case.candidate + (candidate,) * case.candidate_lost,
                case.baseline + (baseline,) * case.baseline_lost,
            )
            for case in measurement.cases
        )
    )


def p_regression(summary: Summary, min_delta: float = 0.0) -> float:
    """How surprising the data are if the true delta is at the bar, in (0, 0.5]; small is bad.

    The smallest one-sided error rate at which the upper bound lies below the bar, in a single
    look: at or below (1 - c)/2 exactly where a single look at confidence c says `fail`. 0.5 where
    the delta is at or above the bar. Found by bisection, to 15 decimals.
    """
    bar = min_delta - TOLERANCE
    if summary.delta >= bar:
        return 0.5
    return _smallest_error_rate(lambda z: newcombe_interval(summary, z).high < bar)


def p_increase(cases: Sequence[CaseAmounts], bar: float) -> float | None:
    """How surprising the amounts are if the true ratio is at `bar` (> 0), in (0, 0.5].

    The smallest one-sided error rate at which the whole interval of the ratio lies above the bar,
    in a single look; 0.5 where the ratio is at or below it. None where there is no interval.
    """
    found = ratio_interval(cases, 0.0)
    if found is None:
        return None
    if found.ratio <= bar:
        return 0.5
    return _smallest_error_rate(lambda z: _lower_ratio(cases, z) > bar)


def _lower_ratio(cases: Sequence[CaseAmounts], z: float) -> float:
    found = ratio_interval(cases, z)
    return 0.0 if found is None else found.low


def _smallest_error_rate(is_clear: Callable[[float], bool]) -> float:
    """The smallest one-sided error rate whose normal quantile is still clear of the bar."""
    too_small, large_enough = 0.0, 0.5
    for _ in range(48):
        alpha = (too_small + large_enough) / 2
        if is_clear(-NormalDist().inv_cdf(alpha)):
            large_enough = alpha
        else:
            too_small = alpha
    return large_enough


def fails_that_stand(p_values: Sequence[float], rule: DecisionRule) -> tuple[bool, ...]:
    """Which of the gates under one status may keep a `fail`, in the order given.

    `p_values` holds every gate's `p_regression`, failed or not. With several gates, any would fail
    by chance sooner than one: Holm's step-down procedure at (1 - c)/2, on min(.5, looks p). A
    single gate keeps its verdict. A gate that loses its `fail` is inconclusive.
    """
    if len(p_values) == 1:
        return (True,)
    return holm([min(0.5, rule.looks * p) for p in p_values], rule.error_rate)


def holm(p_values: Sequence[float], error_rate: float) -> tuple[bool, ...]:
    """Which hypotheses are rejected, in the order given (Holm 1979).

    Keeps the chance of any false rejection at or below `error_rate`, whatever the dependence: the
    smallest p of m is held against error_rate/m, the next against error_rate/(m - 1), and so on
    until one is not small enough.
    """
    rejected = [False] * len(p_values)
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] > error_rate / (len(p_values) - step):
            break
        rejected[index] = True
    return tuple(rejected)


def chance_of_fall(measurement: Measurement) -> float:
    """`p_exact`, and 1, which proves nothing, where there is none."""
    exact = p_exact(measurement)
    return 1.0 if exact is None else exact


def p_exact(measurement: Measurement) -> float | None:
    """The exact chance of a delta this low or lower if the arms were the same, in (0, 1].

    A permutation test inside each case: of its t passes among n_C + n_B runs, the candidate's
    share i is hypergeometric; the case contributes i/n_C - (t - i)/n_B, and the chances are
    convolved over the cases. None for scores other than 0 and 1, where no case is comparable, or
    where the sums are too many to go through.
    """
    cases = measurement.comparable
    if not cases or any(
        x not in (0, 1) for case in cases for x in (*case.candidate, *case.baseline)
    ):
        return None
    # The parts that do not depend on i are the same on both sides of "at or below": left out.
    steps = _whole_steps(
        [Fraction(1, len(c.candidate)) + Fraction(1, len(c.baseline)) for c in cases]
    )
    observed = sum(round(sum(c.candidate)) * step for c, step in zip(cases, steps, strict=True))
    # Sorted, so that the order of arrival cannot reach even the last bit.
    parts = sorted(tuple(_shares(c, step).items()) for c, step in zip(cases, steps, strict=True))
    if _work(parts) > MOST_STEPS:
        return None
    total: Mapping[int, float] = {0: 1.0}
    for part in parts:
        total = _convolved(total, part)
    return min(1.0, fsum(chance for value, chance in total.items() if value <= observed))


def _work(parts: Sequence[Sequence[tuple[int, float]]]) -> int:
    """At most how many steps it takes to convolve the parts, worked out before any is taken."""
    sums, span, work = 1, 0, 0
    for part in parts:
        work += sums * len(part)
        span += part[-1][0] - part[0][0]
        # No more sums than there are ways to make one, nor than whole numbers in their span.
        sums = min(sums * len(part), span + 1)
    return work


def _whole_steps(steps: Sequence[Fraction]) -> list[int]:
    """The same proportions as small whole numbers, so that equal sums are equal keys."""
    scale = lcm(*(step.denominator for step in steps))
    whole = [int(step * scale) for step in steps]
    common = gcd(*whole)
    return [step // common for step in whole]


def _shares(case: CaseScores, step: int) -> Mapping[int, float]:
    """The chance of each number of passes in the candidate's half, keyed by its contribution."""
    ours, theirs = len(case.candidate), len(case.baseline)
    passes = round(sum(case.candidate) + sum(case.baseline))
    ways = comb(ours + theirs, passes)
    return {
        i * step: comb(ours, i) * comb(theirs, passes - i) / ways
        for i in range(max(0, passes - theirs), min(ours, passes) + 1)
    }


def _convolved(
    total: Mapping[int, float], part: Sequence[tuple[int, float]]
) -> Mapping[int, float]:
    sums: dict[int, float] = {}
    for value, chance in total.items():
        for more, share in part:
            sums[value + more] = sums.get(value + more, 0.0) + chance * share
    return sums
