"""What the gate would say, time and again, of a skill whose true pass rates are known.

Nothing is decided here: every simulated run is summarised, ruled on and looked at again by the
functions that rule on real ones. So the shares below are those of the shipped code, and not of a
formula beside it. Runs are Bernoulli draws, independent of each other, and none is ever lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from random import Random

from skill_delta.core.inference import (
    DecisionRule,
    Ruling,
    fails_that_stand,
    is_below,
    of_several_gates,
    p_regression,
    rule_on,
)
from skill_delta.core.intervals import CaseScores, Measurement, Summary, summarise
from skill_delta.core.looks import Looks, is_settled


@dataclass(frozen=True, slots=True)
class CaseRates:
    """How often one case truly passes in each arm, in [0, 1]. Raises ValueError outside that."""

    candidate: float
    baseline: float

    def __post_init__(self) -> None:
        if not (0 <= self.candidate <= 1 and 0 <= self.baseline <= 1):
            raise ValueError("a pass rate lies outside [0, 1]")


def unchanged(rates: Sequence[float]) -> tuple[CaseRates, ...]:
    """A skill whose candidate passes exactly as often as its baseline: any `fail` is false."""
    return tuple(CaseRates(rate, rate) for rate in rates)


def lowered(rates: Sequence[float], drop: float) -> tuple[CaseRates, ...]:
    """A skill whose candidate's mean rate lies `drop` (in [0, 1]) below its baseline's.

    Every case's rate is multiplied by the same factor, as if one share of all passing runs were
    spoiled: what always passed then fails at times, and what never passed still never does. Raises
    ValueError where the mean rate is smaller than the drop.
    """
    mean = fsum(rates) / len(rates)
    if not 0 <= drop <= mean:
        raise ValueError(f"a mean pass rate of {mean} cannot fall by {drop}")
    kept = 1 - drop / mean if drop else 1.0
    return tuple(CaseRates(rate * kept, rate) for rate in rates)


@dataclass(frozen=True, slots=True)
class Experiment:
    """One skill of a simulated pull request, as it stood after its last look.

    `ruling` is what the interval method says of it. `literally_fails` is what the bare difference
    says after the first look, which is all the literal gate ever takes. `trials` counts the runs
    of both arms together.
    """

    ruling: Ruling
    literally_fails: bool
    trials: int

    @property
    def fails(self) -> bool:
        """Whether the interval gate fails it."""
        return self.ruling.verdict == "fail"


def simulate(
    skills: Sequence[Sequence[CaseRates]], looks: Looks, rule: DecisionRule, rng: Random
) -> tuple[Experiment, ...]:
    """Run one pull request that touches these skills, under one status, in their order.

    At each look both arms of every skill that is not settled yet are sampled afresh, and all runs
    so far are ruled on. With several skills a `fail` has to survive Holm's correction. Raises
    ValueError for a skill without cases, or where `rule` is not widened for the planned looks.
    """
    if rule.looks != looks.planned:
        raise ValueError(f"the rule expects {rule.looks} looks, but {looks.planned} are planned")
    runs = [Measurement((CaseScores((), ()),) * len(cases)) for cases in skills]
    undecided = tuple(range(len(skills)))
    literally = [False] * len(skills)
    rulings: tuple[Ruling, ...] = ()
    for look in range(looks.planned):
        for skill in undecided:
            repetitions = len(looks.sampled_in(look))
            runs[skill] = _sampled(runs[skill], skills[skill], repetitions, rng)
        summaries = [summarise(measurement) for measurement in runs]
        if look == 0:
            # Every case is run equally often: the mean of the case means is the pooled mean.
            literally = [is_below(summary.delta, rule.min_delta) for summary in summaries]
        rulings = _ruled_together(summaries, rule)
        undecided = _undecided(rulings, rule, looks)
        if not undecided:
            break
    return tuple(
        Experiment(ruling, below, _trials(measurement))
        for ruling, below, measurement in zip(rulings, literally, runs, strict=True)
    )


def _undecided(rulings: Sequence[Ruling], rule: DecisionRule, looks: Looks) -> tuple[int, ...]:
    return tuple(
        skill
        for skill, ruling in enumerate(rulings)
        if not is_settled(ruling, rule, looks.adaptive)
    )


def _sampled(
    measurement: Measurement, cases: Sequence[CaseRates], repetitions: int, rng: Random
) -> Measurement:
    """The same runs, and so many more of every case in both arms."""
    return Measurement(
        tuple(
            CaseScores(
                scores.candidate + _runs(rates.candidate, repetitions, rng),
                scores.baseline + _runs(rates.baseline, repetitions, rng),
            )
            for scores, rates in zip(measurement.cases, cases, strict=True)
        )
    )


def _runs(rate: float, repetitions: int, rng: Random) -> tuple[float, ...]:
    return tuple([1.0 if rng.random() < rate else 0.0 for _ in range(repetitions)])


def _trials(measurement: Measurement) -> int:
    return sum(len(case.candidate) + len(case.baseline) for case in measurement.cases)


def _ruled_together(summaries: Sequence[Summary], rule: DecisionRule) -> tuple[Ruling, ...]:
    rulings = [rule_on(summary, rule) for summary in summaries]
    if len(rulings) == 1 or all(ruling.verdict != "fail" for ruling in rulings):
        return tuple(rulings)
    stands = fails_that_stand([p_regression(s, rule.min_delta) for s in summaries], rule)
    return tuple(map(of_several_gates, rulings, stands))


@dataclass(frozen=True, slots=True)
class OperatingCharacteristics:
    """How one skill fares over many experiments. Shares are in [0, 1].

    `fail`, `inconclusive` and `passes` are the interval method's verdicts and add up to 1;
    `literally_fails` is the literal gate's share. `mean_trials` counts the runs of both arms that
    an experiment took, `most_trials` those that it could have taken.
    """

    fail: float
    inconclusive: float
    passes: float
    literally_fails: float
    mean_trials: float
    most_trials: int

    @property
    def saved(self) -> float:
        """The share of the most runs that stopping early did not take, in [0, 1)."""
        return 1 - self.mean_trials / self.most_trials


def operating_characteristics(
    cases: Sequence[CaseRates],
    looks: Looks,
    rule: DecisionRule,
    rng: Random,
    experiments: int,
) -> OperatingCharacteristics:
    """Run the same skill `experiments` (1 or more) times. Raises ValueError as `simulate` does.

    A share p is known to within two standard errors, 2√(p(1 - p)/experiments).
    """
    if experiments < 1:
        raise ValueError("at least one experiment is needed")
    found = [simulate([cases], looks, rule, rng)[0] for _ in range(experiments)]
    verdicts = [experiment.ruling.verdict for experiment in found]
    return OperatingCharacteristics(
        fail=verdicts.count("fail") / experiments,
        inconclusive=verdicts.count("inconclusive") / experiments,
        passes=verdicts.count("pass") / experiments,
        literally_fails=sum(experiment.literally_fails for experiment in found) / experiments,
        mean_trials=sum(experiment.trials for experiment in found) / experiments,
        most_trials=2 * len(cases) * looks.most_repetitions,
    )


@dataclass(frozen=True, slots=True)
class Alarms:
    """The share, in [0, 1], that each gate fails of the same simulated pull requests."""

    literal: float
    interval: float


def alarms(
    skills: Sequence[Sequence[CaseRates]],
    looks: Looks,
    rule: DecisionRule,
    rng: Random,
    experiments: int,
) -> Alarms:
    """How often a pull request that touches these skills turns red: one failed gate is enough.

    The literal gate is asked skill by skill, and after one look; the interval gates stand under
    one status. Raises ValueError as `operating_characteristics` does.
    """
    if experiments < 1:
        raise ValueError("at least one experiment is needed")
    found = [simulate(skills, looks, rule, rng) for _ in range(experiments)]
    return Alarms(
        literal=sum(any(skill.literally_fails for skill in one) for one in found) / experiments,
        interval=sum(any(skill.fails for skill in one) for one in found) / experiments,
    )


def false_alarms(
    rates: Sequence[float], looks: Looks, rule: DecisionRule, rng: Random, experiments: int
) -> Alarms:
    """How often each gate fails one skill that did not change, whose cases pass at these `rates`.

    Raises ValueError for a rate outside [0, 1], and as `alarms` does. Rates that were measured in
    a few runs make the suite look quieter than it is where they came out as 0 or 1.
    """
    return alarms([unchanged(rates)], looks, rule, rng, experiments)
