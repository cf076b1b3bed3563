"""What one arm of one case did across its repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from skill_delta.core.judging import Judging
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, NotRun, Outcome, Scored, Status, status_of


@dataclass(frozen=True, slots=True)
class ArmScore:
    """One arm of one case.

    `passed` of `measured` repetitions passed; `errored`, `inconclusive` and `not_run` ones are in
    neither. Means are per measured repetition; `cost_usd` is None where any price is unknown.
    """

    passed: int
    measured: int
    errored: int
    inconclusive: int
    not_run: int
    tokens: float
    cost_usd: float | None
    latency_ms: float

    @property
    def pass_rate(self) -> float | None:
        """The share that passed, in [0, 1]; None where nothing was measured."""
        return self.passed / self.measured if self.measured else None

    @property
    def stddev(self) -> float:
        """Population standard deviation of the pass/fail values, in [0, 0.5]."""
        rate = self.pass_rate or 0.0
        return sqrt(rate * (1 - rate))

    @property
    def disagrees(self) -> bool:
        """Some repetitions passed and some did not."""
        return 0 < self.passed < self.measured


def measured(outcomes: Iterable[Outcome]) -> list[Scored]:
    """The outcomes that say pass or fail. A lost or unevaluated trial says neither."""
    return [
        outcome
        for outcome in outcomes
        if isinstance(outcome, Scored) and outcome.status is not Status.INCONCLUSIVE
    ]


def score(outcomes: Sequence[Outcome]) -> ArmScore:
    """Sum up one arm's outcomes."""
    scored = measured(outcomes)
    costs = [outcome.transcript.cost_usd for outcome in scored]
    return ArmScore(
        passed=sum(outcome.status is Status.PASS for outcome in scored),
        measured=len(scored),
        errored=sum(isinstance(outcome, Errored) for outcome in outcomes),
        inconclusive=sum(status_of(outcome) is Status.INCONCLUSIVE for outcome in outcomes),
        not_run=sum(isinstance(outcome, NotRun) for outcome in outcomes),
        tokens=mean(outcome.transcript.usage.tokens for outcome in scored),
        cost_usd=mean_of_known(costs),
        latency_ms=mean(outcome.transcript.latency_ms for outcome in scored),
    )


def mean(values: Iterable[float]) -> float:
    """The arithmetic mean; 0 for nothing."""
    numbers = list(values)
    return fmean(numbers) if numbers else 0.0


def mean_of_known(values: Sequence[float | None]) -> float | None:
    """The mean, or None as soon as one value is unknown."""
    known = [value for value in values if value is not None]
    return mean(known) if len(known) == len(values) else None


@dataclass(frozen=True, slots=True)
class Spend:
    """What trials cost, lost ones included. `cost_usd` is None where any price is unknown."""

    usage: Usage = Usage()
    cost_usd: float | None = 0.0

    def __add__(self, other: Spend) -> Spend:
        unknown = self.cost_usd is None or other.cost_usd is None
        cost = None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0)
        return Spend(self.usage + other.usage, cost)

    def __sub__(self, part: Spend) -> Spend:
        """What is left without a part of it."""
        unknown = self.cost_usd is None or part.cost_usd is None
        cost = None if unknown else (self.cost_usd or 0.0) - (part.cost_usd or 0.0)
        return Spend(self.usage - part.usage, cost)


def spend_of(outcome: Outcome) -> Spend:
    """What one trial cost, its judge included. One that never ran cost nothing."""
    return own_spend_of(outcome) + judge_spend_of(outcome)


def judge_spend_of(outcome: Outcome) -> Spend:
    """What judging one trial cost: no part of what either arm is said to use."""
    return spend_of_judging(outcome.judging if isinstance(outcome, Scored | Errored) else None)


def spend_of_judging(judging: Judging | None) -> Spend:
    """What a judge took for one answer, over all requests; nothing where none was asked."""
    return Spend(judging.usage, judging.cost_usd) if judging else Spend()


def own_spend_of(outcome: Outcome) -> Spend:
    """What the arm itself used in one trial."""
    match outcome:
        case Scored(transcript=transcript):
            return Spend(transcript.usage, transcript.cost_usd)
        case Errored(usage=usage, cost_usd=cost):
            return Spend(usage, cost)
        case _:
            return Spend()


def total_spend(outcomes: Iterable[Outcome]) -> Spend:
    """The whole bill."""
    return sum(map(spend_of, outcomes), Spend())


def pass_rate(outcomes: Iterable[Outcome]) -> float | None:
    """Passed of all that ran to an answer, in [0, 1]; None where none did.

    A trial whose checks could not all be evaluated counts as not passed: unlike an outage it is
    there, and nothing unmeasured passes.
    """
    ran = [outcome for outcome in outcomes if isinstance(outcome, Scored)]
    if not ran:
        return None
    return sum(outcome.status is Status.PASS for outcome in ran) / len(ran)
