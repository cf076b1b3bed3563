"""How far a measured difference can be from the true one.

The unit of evidence is the case: repetitions are averaged inside it, both arms are compared over
the same cases, and the spread of the repetitions inside each case says how much of the difference
is noise (Miller 2024, "Adding Error Bars to Evals"). Samples are small and rates lie near 0 or 1,
where a normal interval is too narrow (Bowyer et al. 2025, arXiv 2503.01747), so the interval is
Newcombe's hybrid of two Wilson intervals (Newcombe 1998), with Kish's design effect inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, hypot, log, sqrt
from statistics import NormalDist, fmean

POCOCK: Mapping[float, tuple[float, ...]] = {
    0.80: (1.527, 1.650, 1.730, 1.787),
    0.90: (1.875, 1.992, 2.067, 2.122),
    0.95: (2.178, 2.289, 2.361, 2.413),
}
"""Per confidence, the two-sided critical value at each of 2 to 5 planned looks (Pocock 1977)."""

MOST_LOOKS = 5

NEGLIGIBLE = 1e-12
"""A variance at or below this is none at all: every run of both arms ended alike."""


@dataclass(frozen=True, slots=True)
class CaseScores:
    """One case in both arms: the score of each measured repetition, 1 passed and 0 failed.

    Any score in [0, 1] will do. `candidate_lost` and `baseline_lost` count the repetitions that
    were started and never measured. Raises ValueError for a score outside [0, 1] (NaN included)
    or a negative count.
    """

    candidate: tuple[float, ...]
    baseline: tuple[float, ...]
    candidate_lost: int = 0
    baseline_lost: int = 0

    def __post_init__(self) -> None:
        if not all(0 <= score <= 1 for score in (*self.candidate, *self.baseline)):
            raise ValueError("a score lies outside [0, 1]")
        if min(self.candidate_lost, self.baseline_lost) < 0:
            raise ValueError("a number of lost repetitions is negative")

    @property
    def comparable(self) -> bool:
        """Both arms have at least one measured repetition."""
        return bool(self.candidate and self.baseline)

    @property
    def delta(self) -> float:
        """Candidate mean minus baseline mean, in [-1, 1]. Only of a comparable case."""
        return fmean(self.candidate) - fmean(self.baseline)


@dataclass(frozen=True, slots=True)
class Measurement:
    """Every case that both arms were meant to measure, in any order."""

    cases: tuple[CaseScores, ...]

    @property
    def comparable(self) -> tuple[CaseScores, ...]:
        """The cases that enter the comparison; the others are in neither half."""
        return tuple(case for case in self.cases if case.comparable)


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """One arm over K comparable cases, of n_k repetitions each.

    `rate` (p) is the mean of the case means, in [0, 1]; `effective_runs` (N) is K² / Σ(1/n_k), in
    (0, Σn_k], all of them where the n_k are equal; `degrees_of_freedom` (f) is Σ(n_k - 1); and
    `variance` (v) is that of one run inside its case, Σ_k Σ_r (x - m_k)² / f, 0 where f is 0.
    """

    rate: float
    effective_runs: float
    degrees_of_freedom: int
    variance: float

    @property
    def spread(self) -> float:
        """p(1 - p) / N: the rate's variance if its runs were independent draws of one coin."""
        return self.rate * (1 - self.rate) / self.effective_runs


@dataclass(frozen=True, slots=True)
class Summary:
    """All that the interval needs to know of a measurement.

    `variance` (V) is the sampling variance of the delta, with `degrees_of_freedom` (nu, 0 where
    nothing but the rates says how noisy they are; a projection may hold a fraction).
    """

    candidate: ArmSummary
    baseline: ArmSummary
    variance: float
    degrees_of_freedom: float

    @property
    def delta(self) -> float:
        """Candidate rate minus baseline rate, in [-1, 1]."""
        return self.candidate.rate - self.baseline.rate

    @property
    def pooled_variance(self) -> float:
        """The delta's variance if all runs of an arm were draws of one coin (V_pool)."""
        return self.candidate.spread + self.baseline.spread

    @property
    def design_effect(self) -> float:
        """Kish's design effect, in (0, 1]: V over V_pool, shrunk towards 1 by four observations.

        Below 1 where cases differ and repetitions agree: the pairing then takes the spread
        between cases out of the delta. 1 where every run ended alike.
        """
        pooled, degrees = self.pooled_variance, self.degrees_of_freedom
        if pooled <= NEGLIGIBLE:
            return 1.0
        return min(1.0, (degrees * self.variance + 4 * pooled) / ((degrees + 4) * pooled))


@dataclass(frozen=True, slots=True)
class Interval:
    """A difference and the values it is compatible with; -1 ≤ low ≤ delta ≤ high ≤ 1."""

    delta: float
    low: float
    high: float

    @property
    def largest_drop(self) -> float:
        """The largest drop that is compatible with these runs, in [0, 1]."""
        return max(0.0, -self.low)


def summarise(measurement: Measurement) -> Summary:
    """Reduce the comparable cases to two rates and the variance of their difference.

    V comes from the repetitions inside each case where both arms have some (nu = f_C + f_B), else
    from the spread of the case deltas (nu = K - 1), else, for one case run once, from the rates
    alone (nu = 0). Raises ValueError where no case is comparable.
    """
    cases = measurement.comparable
    if not cases:
        raise ValueError("no case is comparable, so there is no difference to summarise")
    candidate = _arm([case.candidate for case in cases])
    baseline = _arm([case.baseline for case in cases])
    if candidate.degrees_of_freedom and baseline.degrees_of_freedom:
        variance = (
            candidate.variance / candidate.effective_runs
            + baseline.variance / baseline.effective_runs
        )
        degrees = candidate.degrees_of_freedom + baseline.degrees_of_freedom
        return Summary(candidate, baseline, variance, degrees)
    if len(cases) > 1:
        degrees = len(cases) - 1
        variance = sum_of_squares([case.delta for case in cases]) / degrees / len(cases)
        return Summary(candidate, baseline, variance, degrees)
    return Summary(candidate, baseline, candidate.spread + baseline.spread, 0)


def _arm(cases: Sequence[tuple[float, ...]]) -> ArmSummary:
    degrees = sum(len(scores) - 1 for scores in cases)
    squares = fsum(sum_of_squares(scores) for scores in cases)
    return ArmSummary(
        rate=fmean(fmean(scores) for scores in cases),
        effective_runs=effective_runs(len(scores) for scores in cases),
        degrees_of_freedom=degrees,
        variance=squares / degrees if degrees else 0.0,
    )


def effective_runs(repetitions: Iterable[int]) -> float:
    """K² / Σ(1/n_k): how many runs a mean of K case means of n_k ≥ 1 repetitions is worth."""
    counts = list(repetitions)
    return len(counts) ** 2 / fsum(1 / count for count in counts)


def sum_of_squares(values: Sequence[float]) -> float:
    """Σ(x - mean)², at least 0. Exact summation makes the order of the values irrelevant."""
    centre = fmean(values)
    return fsum((value - centre) ** 2 for value in values)


def critical_value(confidence: float, looks: int = 1) -> float:
    """The z of a two-sided interval that is read at each of `looks` planned looks.

    One look: Φ⁻¹(½ + c/2). More: Pocock's constant (1977), tabulated for c = .80, .90 and .95;
    for any other c Bonferroni's bound, Φ⁻¹(1 - (1 - c)/(2 looks)), which is a little wider. Raises
    ValueError for a confidence outside (0, 1), or for looks outside 1 to 5.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} lies outside (0, 1)")
    if not 1 <= looks <= MOST_LOOKS:
        raise ValueError(f"{looks} looks are planned; 1 to {MOST_LOOKS} can be")
    constants = POCOCK.get(round(confidence, 9))
    if looks > 1 and constants is not None:
        return constants[looks - 2]
    return NormalDist().inv_cdf(1 - (1 - confidence) / (2 * looks))


def t_quantile(z: float, degrees: float) -> float:
    """The quantile of Student's t where the normal's is `z`, for 3 or more degrees of freedom.

    Cornish and Fisher's expansion to the fourth order (Abramowitz and Stegun, 26.7.5): right to
    three decimals from four degrees on at z = 1.645. Raises ValueError below three.
    """
    if degrees < 3:
        raise ValueError(f"the expansion needs 3 degrees of freedom, not {degrees}")
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + fsum(term / degrees**order for order, term in enumerate(terms, start=1))


def wilson_interval(rate: float, kappa: float) -> tuple[float, float]:
    """Wilson's interval for a rate in [0, 1], inside [0, 1].

    `kappa` is z²/n for n independent runs, q² deff / N for an arm of a comparison; at least 0.
    """
    centre = rate + kappa / 2
    reach = sqrt(kappa * rate * (1 - rate) + kappa**2 / 4)
    # Rounding alone could push a bound past the rate itself, and so turn a distance negative.
    low = min(rate, max(0.0, (centre - reach) / (1 + kappa)))
    high = max(rate, min(1.0, (centre + reach) / (1 + kappa)))
    return low, high


def newcombe_interval(summary: Summary, z: float) -> Interval:
    """Newcombe's hybrid interval for the difference of two rates (1998, his method 10).

    Each arm has its own Wilson interval, at the t quantile of nu + 4 degrees of freedom and with
    the design effect inside; the distances to their bounds are joined as two independent errors.
    `z` ≥ 0 is the normal quantile asked for, see `critical_value`.
    """
    q = t_quantile(z, summary.degrees_of_freedom + 4)
    scale = q * q * summary.design_effect
    ours, theirs = summary.candidate, summary.baseline
    our_low, our_high = wilson_interval(ours.rate, scale / ours.effective_runs)
    their_low, their_high = wilson_interval(theirs.rate, scale / theirs.effective_runs)
    below = hypot(ours.rate - our_low, their_high - theirs.rate)
    above = hypot(our_high - ours.rate, theirs.rate - their_low)
    delta = summary.delta
    return Interval(delta, max(-1.0, delta - below), min(1.0, delta + above))


@dataclass(frozen=True, slots=True)
class Band:
    """Where a delta may lie; -1 ≤ low ≤ high ≤ 1."""

    low: float
    high: float


def population_band(measurement: Measurement, confidence: float) -> Band:
    """Where the delta would lie over other cases like these: shown, and never gated on.

    Bonett and Price's adjusted interval over the K case deltas d_k (2012, for a difference of
    paired proportions): n = K + 2, m = Σd_k/n, v = (Σd_k² + 2)/n - m², m ± z√(v/n), clipped to
    [-1, 1]. Raises ValueError where no case is comparable, and as `critical_value` does.
    """
    deltas = [case.delta for case in measurement.comparable]
    if not deltas:
        raise ValueError("no case is comparable, so there is no band")
    n = len(deltas) + 2
    centre = fsum(deltas) / n
    variance = (fsum(delta**2 for delta in deltas) + 2) / n - centre**2
    reach = critical_value(confidence) * sqrt(variance / n)
    return Band(max(-1.0, centre - reach), min(1.0, centre + reach))


@dataclass(frozen=True, slots=True)
class CaseAmounts:
    """What each repetition of one case used: tokens, US dollars or seconds, each above 0."""

    candidate: tuple[float, ...]
    baseline: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """Candidate over baseline: 1.1 is ten per cent more. 0 < low ≤ ratio ≤ high."""

    ratio: float
    low: float
    high: float


def ratio_interval(cases: Sequence[CaseAmounts], z: float) -> RatioInterval | None:
    """The typical ratio of the arms' amounts, with a t interval on the log scale.

    Per case the ratio of the geometric means, over the cases again the geometric mean; one
    variance of the logs inside cases is pooled over both arms, with nu = f_C + f_B degrees of
    freedom. Cases that one arm never measured are left out. None where nu is below 3, or where an
    amount is 0 or less and so has no logarithm.
    """
    both = [case for case in cases if case.candidate and case.baseline]
    if any(amount <= 0 for case in both for amount in (*case.candidate, *case.baseline)):
        return None
    ours = [[log(amount) for amount in case.candidate] for case in both]
    theirs = [[log(amount) for amount in case.baseline] for case in both]
    degrees = sum(len(logs) - 1 for logs in (*ours, *theirs))
    if degrees < 3:
        return None
    centre = fmean(fmean(our) - fmean(their) for our, their in zip(ours, theirs, strict=True))
    variance = fsum(sum_of_squares(logs) for logs in (*ours, *theirs)) / degrees
    runs = 1 / effective_runs(map(len, ours)) + 1 / effective_runs(map(len, theirs))
    reach = t_quantile(z, degrees) * sqrt(variance * runs)
    return RatioInterval(exp(centre), _bounded_exp(centre - reach), _bounded_exp(centre + reach))


def _bounded_exp(power: float) -> float:
    # Near the largest float: an absurd confidence widens the interval, and never overflows.
    return exp(max(-700.0, min(700.0, power)))
