"""How many cases got worse under one runner, and whether chance explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from skill_delta.core.inference import (
    DecisionRule,
    chance_of_fall,
    losses_matter,
    with_lost_trials,
)
from skill_delta.core.intervals import CaseScores, Measurement
from skill_delta.core.paired import CasePair
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.readings import Scope, measurement_of, repetitions_of

Doubt: TypeAlias = Literal["", "chance", "lost trials", "single-shot"]
"""Why neither can be said: that more cases got worse than are allowed, or that no more did."""


@dataclass(frozen=True, slots=True)
class Regressions:
    """The cases that got worse against one baseline under one runner, held against a bound.

    `fell` of the comparable cases pass less often than before, where `allowed` may. `exceeds` only
    where more than those are sure to have got worse; `doubt` says why nothing is sure.
    """

    scope: Scope
    allowed: int
    fell: int
    exceeds: bool
    doubt: Doubt = ""

    def among_others(self, stands: bool) -> Regressions:
        """As one of several gates under one status, of which any may fail by chance."""
        if stands or not self.exceeds:
            return self
        return replace(self, exceeds=False, doubt="chance")


def count_regressions(
    scope: Scope, pairs: Sequence[CasePair], allowed: int, policy: GatePolicy
) -> tuple[Regressions, float | None]:
    """The cases that got worse, and `chance_of_more`; None to the literal gate, which asks none.

    To the literal gate those whose pass rate fell, however little. By the interval method more
    than allowed have got worse where so many falls are each beyond chance, also with every lost
    trial in the candidate's favour; and no more have where no more fell, also with every lost
    trial against it. Anything between is in doubt, and so are single runs.
    """
    measurement = measurement_of(pairs)
    fell = _fallen(measurement)
    if policy.method is GateMethod.POINT:
        return Regressions(scope, allowed, fell, exceeds=fell > allowed), None
    chance = chance_of_more(measurement, allowed)
    found = Regressions(scope, allowed, fell, exceeds=_is_sure(chance, policy.rule(scope)))
    doubt = _doubt(found, measurement, policy)
    return replace(found, exceeds=found.exceeds and not doubt, doubt=doubt), chance


def _fallen(measurement: Measurement) -> int:
    return sum(case.delta < 0 for case in measurement.comparable)


def _is_sure(chance: float, rule: DecisionRule) -> bool:
    return rule.looks * chance <= rule.error_rate


def _doubt(found: Regressions, measurement: Measurement, policy: GatePolicy) -> Doubt:
    if not measurement.comparable:
        return ""  # that nothing was measured is said by itself
    if repetitions_of(measurement) < policy.min_repeats:
        return "single-shot"
    if losses_matter(measurement) and _lost_trials_could_turn(found, measurement, policy):
        return "lost trials"
    return "chance" if found.fell > found.allowed and not found.exceeds else ""


def _lost_trials_could_turn(
    found: Regressions, measurement: Measurement, policy: GatePolicy
) -> bool:
    if found.exceeds:
        at_best = chance_of_more(with_lost_trials(measurement, 1.0, 0.0), found.allowed)
        return not _is_sure(at_best, policy.rule(found.scope))
    at_worst = with_lost_trials(measurement, 0.0, 1.0)
    return found.fell <= found.allowed < _fallen(at_worst)


def chance_of_more(measurement: Measurement, allowed: int) -> float:
    """The chance of such falls if no more than `allowed` (0 or more) cases got worse, in (0, 1].

    Each case's exact permutation test, and Holm's step-down procedure over them (1979): at or
    below an error rate exactly where it rejects for more than `allowed` cases at that rate. A case
    of which every run ended alike could show no fall whatever the truth, so it is no hypothesis
    (Tarone 1990). 1 where nothing can be shown.
    """
    chances = sorted(_chance(case) for case in measurement.comparable if _is_telling(case))
    if len(chances) <= allowed:
        return 1.0
    steps = enumerate(chances[: allowed + 1])
    return min(1.0, max((len(chances) - step) * chance for step, chance in steps))


def _is_telling(case: CaseScores) -> bool:
    return len({*case.candidate, *case.baseline}) > 1


def _chance(case: CaseScores) -> float:
    return chance_of_fall(Measurement((case,)))
