"""How noisy a suite is: what the gates would make of a skill that did not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean

from skill_delta.core.looks import Looks
from skill_delta.core.readings import Reading, Scope
from skill_delta.core.simulation import Alarms, false_alarms


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """One skill's suite under one runner.

    `rates` are the pass rates of its cases, each over both arms, in [0, 1]. `alarms` are the
    shares of unchanged skills that either gate fails at these rates and `repetitions` per arm.
    """

    scope: Scope
    reading: Reading
    rates: tuple[float, ...]
    repetitions: int
    alarms: Alarms

    @property
    def cases_without_spread(self) -> int:
        """How many cases always passed, or never: a few runs cannot tell that from rarely."""
        return sum(rate in {0.0, 1.0} for rate in self.rates)


def noise_floors(
    readings: Mapping[Scope, Reading], rng: Random, experiments: int
) -> Sequence[NoiseFloor]:
    """The noise floor of each skill under each runner, in their order.

    `experiments` (1 or more) unchanged skills are simulated at the rates that were measured.
    """
    return [
        _noise_floor(scope, reading, rng, experiments)
        for scope, reading in readings.items()
        if scope.skill
    ]


def _noise_floor(scope: Scope, reading: Reading, rng: Random, experiments: int) -> NoiseFloor:
    rates = tuple(
        fmean((*case.candidate, *case.baseline)) for case in reading.measurement.comparable
    )
    looks = Looks(reading.repetitions, reading.repetitions)
    alarms = false_alarms(rates, looks, reading.rule, rng, experiments)
    return NoiseFloor(scope, reading, rates, reading.repetitions, alarms)
