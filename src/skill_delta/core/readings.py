"""What the comparison of one skill under one runner says, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from skill_delta.core.inference import (
    DecisionRule,
    Ruling,
    losses_matter,
    p_exact,
    p_increase,
    p_regression,
    rule_despite_losses,
    with_lost_trials,
)
from skill_delta.core.intervals import (
    Band,
    CaseAmounts,
    CaseScores,
    Interval,
    Measurement,
    RatioInterval,
    Summary,
    critical_value,
    population_band,
    ratio_interval,
    summarise,
)
from skill_delta.core.paired import CasePair, Difference, difference
from skill_delta.core.power import Settlement, detectable_drop, settlement
from skill_delta.core.scores import measured
from skill_delta.core.trials import NotRun, Outcome, Scored, Skipped, Status


class Measure(StrEnum):
    """What a run uses, of which less is better."""

    TOKENS = "tokens"
    COST = "cost"
    LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which comparison: a baseline under a runner, over one skill or (blank) over all of them.

    With `untouched`, over those of its cases that the pull request left as they were.
    """

    baseline: str
    runner: str
    skill: str = ""
    untouched: bool = False


@dataclass(frozen=True)  # without slots, for what every renderer asks is worked out once
class Reading:
    """One comparison with at least one comparable case, held against a rule.

    `looks_used` of the rule's planned looks were taken (1 or more; the most of any skill's).
    """

    pairs: tuple[CasePair, ...]
    measurement: Measurement
    summary: Summary
    rule: DecisionRule
    ruling: Ruling
    looks_used: int = 1

    @property
    def interval(self) -> Interval:
        """The delta over case means with its interval, in [-1, 1]."""
        return self.ruling.interval

    @cached_property
    def largest_drop(self) -> float:
        """The largest drop compatible with these runs, in [0, 1].

        Where so many were lost that they matter, with every lost one against the candidate.
        """
        drop = self.interval.largest_drop
        if not losses_matter(self.measurement):
            return drop
        at_worst = summarise(with_lost_trials(self.measurement, 0.0, 1.0))
        return max(drop, self.rule.interval(at_worst).largest_drop)

    @cached_property
    def difference(self) -> Difference:
        """The same cases pooled, with what they used."""
        return difference(self.pairs)

    @property
    def repetitions(self) -> int:
        """How often the best measured case was run in both arms, 1 or more."""
        return repetitions_of(self.measurement)

    @cached_property
    def p_regression(self) -> float:
        """How surprising the data are if the true delta is at the bar, in (0, 0.5]."""
        return p_regression(self.summary, self.rule.min_delta)

    @cached_property
    def p_exact(self) -> float | None:
        """The exact chance of a delta this low if the arms were the same, in (0, 1]."""
        return p_exact(self.measurement)

    @cached_property
    def detectable_drop(self) -> float | None:
        """The smallest drop that this suite finds four times out of five, in (0, 1]."""
        return detectable_drop(self.summary, self.rule)

    @cached_property
    def settlement(self) -> Settlement:
        """What would settle an inconclusive verdict."""
        return settlement(self.measurement, self.rule)

    @cached_property
    def band(self) -> Band:
        """Where the delta would lie over other cases like these. Never gated on."""
        return population_band(self.measurement, self.rule.confidence)

    def ratio(self, measure: Measure) -> RatioInterval | None:
        """Candidate over baseline. None with too few repetitions, or an unknown or zero amount."""
        return self._ratios[measure]

    @cached_property
    def _ratios(self) -> Mapping[Measure, RatioInterval | None]:
        z = critical_value(self.rule.confidence, self.rule.looks)
        return {
            measure: None if amounts is None else ratio_interval(amounts, z)
            for measure, amounts in self._amounts.items()
        }

    def p_increase(self, measure: Measure, bar: float) -> float | None:
        """How surprising the ratio is if the truth is at `bar`, in (0, 0.5]; None as `ratio`."""
        amounts = self._amounts[measure]
        return None if amounts is None else p_increase(amounts, bar)

    @cached_property
    def _amounts(self) -> Mapping[Measure, tuple[CaseAmounts, ...] | None]:
        """What each run of each comparable case used; None where an amount is unknown."""
        cases = [
            (measured(pair.candidate_outcomes), measured(pair.baseline_outcomes))
            for pair in self.pairs
            if pair.comparable
        ]
        return {measure: _amounts_of(cases, measure) for measure in Measure}


def read(pairs: Sequence[CasePair], rule: DecisionRule, looks_used: int = 1) -> Reading | None:
    """Hold the pairs against the rule; None where not one of them is comparable."""
    measurement = measurement_of(pairs)
    if not measurement.comparable:
        return None
    return Reading(
        tuple(pairs),
        measurement,
        summarise(measurement),
        rule,
        rule_despite_losses(measurement, rule),
        looks_used,
    )


def repetitions_of(measurement: Measurement) -> int:
    """How often the best measured case was run in both arms; 0 where none is comparable."""
    cases = measurement.comparable
    return max((min(len(case.candidate), len(case.baseline)) for case in cases), default=0)


def measurement_of(pairs: Sequence[CasePair]) -> Measurement:
    """The scores of the cases that both arms were meant to measure: 1 passed, 0 failed.

    A case that was left out on purpose, or has no such baseline, is none of them. A trial that
    was started and gave no answer to grade is lost.
    """
    return Measurement(
        tuple(
            CaseScores(
                _scores(pair.candidate_outcomes),
                _scores(pair.baseline_outcomes),
                _lost(pair.candidate_outcomes),
                _lost(pair.baseline_outcomes),
            )
            for pair in pairs
            if _was_meant(pair)
        )
    )


def _was_meant(pair: CasePair) -> bool:
    baseline = pair.baseline_outcomes
    return bool(baseline) and not any(isinstance(outcome, Skipped) for outcome in baseline)


def _scores(outcomes: Sequence[Outcome]) -> tuple[float, ...]:
    return tuple(float(outcome.status is Status.PASS) for outcome in measured(outcomes))


def _lost(outcomes: Sequence[Outcome]) -> int:
    started = sum(not isinstance(outcome, Skipped | NotRun) for outcome in outcomes)
    return started - len(measured(outcomes))


_AMOUNT: Mapping[Measure, Callable[[Scored], float | None]] = {
    Measure.TOKENS: lambda outcome: outcome.transcript.usage.tokens,
    Measure.COST: lambda outcome: outcome.transcript.cost_usd,
    Measure.LATENCY: lambda outcome: outcome.transcript.latency_ms,
}


def _amounts_of(
    cases: Sequence[tuple[Sequence[Scored], Sequence[Scored]]], measure: Measure
) -> tuple[CaseAmounts, ...] | None:
    found = []
    for ours, theirs in cases:
        amounts = CaseAmounts(_known(ours, measure), _known(theirs, measure))
        if (len(amounts.candidate), len(amounts.baseline)) != (len(ours), len(theirs)):
            return None
        found.append(amounts)
    return tuple(found)


def _known(runs: Sequence[Scored], measure: Measure) -> tuple[float, ...]:
    amount_of = _AMOUNT[measure]
    return tuple(amount for run in runs if (amount := amount_of(run)) is not None)
