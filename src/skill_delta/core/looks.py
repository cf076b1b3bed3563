"""How often a suite is looked at: every look samples both arms afresh, until the verdict stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from skill_delta.core.inference import TOLERANCE, DecisionRule, Ruling

MOST_REPETITIONS = 1_000
"""How often a case may be run in one arm."""


class Adaptive(StrEnum):
    """When a suite that was looked at is sampled again."""

    OFF = "off"
    """Never: there is one look."""
    CONFIRM = "confirm"
    """While the delta is below the bar and not proven to be: nobody pays to hear that it is not."""
    RESOLVE = "resolve"
    """Until the verdict is `pass` or `fail`."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks that are planned together, before the first trial.

    `repetitions` of each case and arm per look (1 or more), `most` in all of them (at least as
    many). The last look may be shorter. Without `adaptive` there is one look, of `repetitions`.
    """

    repetitions: int = 1
    most: int = 1
    adaptive: Adaptive = Adaptive.OFF

    @property
    def planned(self) -> int:
        """How many looks there are at most; the interval is widened for all of them."""
        if self.adaptive is Adaptive.OFF:
            return 1
        return max(1, ceil(self.most / self.repetitions))

    @property
    def most_repetitions(self) -> int:
        """How often a case is run in one arm at most."""
        return self.repetitions if self.adaptive is Adaptive.OFF else self.most

    def sampled_in(self, look: int) -> range:
        """The repetitions of one look, counted from 0 as looks are."""
        first = look * self.repetitions
        return range(first, min(first + self.repetitions, self.most_repetitions))


def is_settled(ruling: Ruling, rule: DecisionRule, adaptive: Adaptive) -> bool:
    """Whether no further look is taken after this one."""
    if adaptive is Adaptive.OFF or ruling.verdict != "inconclusive":
        return True
    return adaptive is Adaptive.CONFIRM and reaches_the_bar(ruling, rule)


def reaches_the_bar(ruling: Ruling, rule: DecisionRule) -> bool:
    """Whether the delta is at or above what is required, whatever its interval allows for."""
    return ruling.interval.delta >= rule.min_delta - TOLERANCE
