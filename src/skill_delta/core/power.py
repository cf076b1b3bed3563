"""What a suite can show: the drop it can detect, the pass it can reach, what would settle it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist

from skill_delta.core.inference import TOLERANCE, DecisionRule, rule_on
from skill_delta.core.intervals import (
    ArmSummary,
    Measurement,
    Summary,
    critical_value,
    summarise,
    t_quantile,
)

POWER = 0.80
"""How often a drop of the size named is to be found, or a suite of the size named to decide."""

POWER_QUANTILE = NormalDist().inv_cdf(POWER)

LARGEST_SUITE = 1_000
"""No more repetitions or cases than these are ever advised."""


def minimum_detectable_drop(rate: float, variance: float, runs: float, quantile: float) -> float:
    """The smallest drop from `rate` that is found to be one four times out of five, in [0, 1].

    `rate` p in [0, 1] is the baseline's; `variance` v in [0, 0.25] that of one run inside its
    case, the mean of p_k(1 - p_k); `runs` K n > 0 those of each arm; `quantile` q the t quantile of
    the interval. Closed form, where the variance moves with the lower rate (after Miller 2024):
    a = (q + Φ⁻¹(.8))²/(K n), b = a(2p - 1), (b + √(b² + 8a(1 + a)v)) / (2(1 + a)).
    """
    a = (quantile + POWER_QUANTILE) ** 2 / runs
    b = a * (2 * rate - 1)
    return (b + sqrt(b * b + 8 * a * (1 + a) * variance)) / (2 * (1 + a))


def detectable_drop(summary: Summary, rule: DecisionRule) -> float | None:
    """`minimum_detectable_drop` of a suite that was measured once, in (0, 1).

    The runs of each arm are those that give the same precision where the arms differ, and v is the
    baseline's variance inside cases, or p(1 - p) where it was not repeated or is larger. None
    where not even a drop to zero would be found.
    """
    ours, theirs = summary.candidate, summary.baseline
    alike = theirs.rate * (1 - theirs.rate)
    drop = minimum_detectable_drop(
        theirs.rate,
        min(theirs.variance, alike) if theirs.degrees_of_freedom else alike,
        2 / (1 / ours.effective_runs + 1 / theirs.effective_runs),
        t_quantile(critical_value(rule.confidence, rule.looks), summary.degrees_of_freedom + 4),
    )
    return drop if 0 < drop <= theirs.rate else None


def pass_is_reachable(cases: int, repetitions: int, rule: DecisionRule) -> bool:
    """Whether the best data there can be would be ruled a pass, before anything is spent.

    Every run passes, in both arms where the bar is at or below 0. A bar above 0 asks for an
    improvement, which needs a baseline that fails: there every run of it does. `cases` and
    `repetitions` (of each case and arm, at most) are 1 or more, or ValueError is raised.
    """
    if min(cases, repetitions) < 1:
        raise ValueError("a suite has at least one case and one repetition")
    degrees = 2 * cases * (repetitions - 1) or cases - 1
    ours = ArmSummary(1.0, cases * repetitions, cases * (repetitions - 1), 0.0)
    theirs = replace(ours, rate=0.0 if rule.min_delta > 0 else 1.0)
    return rule_on(Summary(ours, theirs, 0.0, degrees), rule).verdict == "pass"


@dataclass(frozen=True, slots=True)
class Settlement:
    """What would settle an inconclusive verdict: either number alone, the other as it is.

    `repetitions` of every case in each arm, or `cases` like these, altogether and not in addition.
    None where even 1,000 would not, as where there is no margin and the delta lies on the bar.
    """

    repetitions: int | None
    cases: int | None


def settlement(measurement: Measurement, rule: DecisionRule) -> Settlement:
    """The smallest suite of this kind that would decide four times out of five.

    A projection: it takes the rates, the variance inside cases and the looks as they are, and
    asks from which size on the interval keeps clear of the bar that it straddles by Φ⁻¹(.8) of
    its own standard errors. Unrepeated cases are taken to vary as much as their rates allow.
    Raises ValueError where no case is comparable.
    """
    cases = measurement.comparable
    summary = summarise(measurement)
    most = max(max(len(case.candidate), len(case.baseline)) for case in cases)
    return Settlement(
        repetitions=_smallest(
            lambda n: _decides(_with_repetitions(summary, len(cases), n), rule), above=most
        ),
        cases=_smallest(
            lambda k: _decides(_with_cases(summary, len(cases), k), rule), above=len(cases)
        ),
    )


def _smallest(decides: Callable[[int], bool], above: int) -> int | None:
    """The first size that decides; a larger one does too, since the interval only narrows."""
    sizes = range(above + 1, LARGEST_SUITE + 1)
    found = bisect_left(sizes, True, key=decides)
    return sizes[found] if found < len(sizes) else None


def _decides(summary: Summary, rule: DecisionRule) -> bool:
    found = rule.interval(summary)
    leeway = POWER_QUANTILE * sqrt(summary.design_effect * summary.pooled_variance)
    passes = found.low - leeway >= rule.min_delta - rule.margin - TOLERANCE
    return passes or found.high + leeway < rule.min_delta - TOLERANCE


def _with_repetitions(summary: Summary, cases: int, repetitions: int) -> Summary:
    """The same cases, each run `repetitions` ≥ 2 times in each arm."""
    ours = _repeated(summary.candidate, cases, repetitions)
    theirs = _repeated(summary.baseline, cases, repetitions)
    variance = (ours.variance + theirs.variance) / (cases * repetitions)
    return Summary(ours, theirs, variance, ours.degrees_of_freedom + theirs.degrees_of_freedom)


def _repeated(arm: ArmSummary, cases: int, repetitions: int) -> ArmSummary:
    variance = arm.variance if arm.degrees_of_freedom else arm.rate * (1 - arm.rate)
    return ArmSummary(arm.rate, cases * repetitions, cases * (repetitions - 1), variance)


def _with_cases(summary: Summary, cases: int, more: int) -> Summary:
    """`more` cases like these, each run as often as these were."""
    growth = more / cases
    ours = _grown(summary.candidate, growth)
    theirs = _grown(summary.baseline, growth)
    repeated = ours.degrees_of_freedom and theirs.degrees_of_freedom
    degrees = summary.degrees_of_freedom * growth if repeated else more - 1
    return Summary(ours, theirs, summary.variance / growth, degrees)


def _grown(arm: ArmSummary, growth: float) -> ArmSummary:
    return replace(arm, effective_runs=arm.effective_runs * growth)
