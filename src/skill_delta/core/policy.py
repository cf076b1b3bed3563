"""What a run must show to pass, and the four answers there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from skill_delta.core.inference import DecisionRule
from skill_delta.core.looks import Looks
from skill_delta.core.readings import Measure, Scope


class Verdict(StrEnum):
    """The gate's answer, the worst last."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    INCONCLUSIVE = "inconclusive"
    """Measured, and within the noise."""
    NOT_MEASURED = "not measured"
    FAIL = "fail"


class GateMethod(StrEnum):
    """How a required delta is judged."""

    POINT = "point"
    """The bare difference of the pooled means, as it is."""
    INTERVAL = "interval"
    """By all the differences that the data are compatible with."""


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What a run must show. Rates are in [0, 1], deltas in points of rate (0.1 = ten points).

    `min_delta` is per baseline name; `skill_min_delta` per skill, against every baseline, and in
    place of the general bar. Of the skills in `no_looser` the higher of both holds. Without
    `needs_cases` a run of no case is nothing to do: a pull request may touch no skill that has one.
    `margin`, `confidence` and `looks` are those of `DecisionRule`; below `min_repeats` repetitions
    no verdict is more than inconclusive. `max_increase` bounds the ratio of what the arms used,
    less one (0.2 = a fifth more), `max_regressed_cases` the cases that got worse.
    """

    method: GateMethod = GateMethod.POINT
    needs_cases: bool = True
    min_pass_rate: float | None = 1.0
    skill_min_pass_rate: Mapping[str, float] = field(default_factory=dict)
    fail_on_error: bool = True
    min_delta: Mapping[str, float] = field(default_factory=dict)
    skill_min_delta: Mapping[str, float] = field(default_factory=dict)
    no_looser: frozenset[str] = frozenset()
    margin: float = 0.10
    confidence: float = 0.90
    looks: Looks = field(default_factory=Looks)
    min_repeats: int = 2
    inconclusive_passes: bool = True
    max_increase: Mapping[Measure, float] = field(default_factory=dict)
    max_regressed_cases: int | None = None

    @property
    def bounds_the_candidate(self) -> bool:
        """Whether the candidate alone could fail."""
        rates = self.min_pass_rate is not None or bool(self.skill_min_pass_rate)
        return rates or self.fail_on_error

    @property
    def unmeasured_delta(self) -> Verdict:
        """What a required delta is where no case was comparable.

        The literal gate names that as a failure; an outage is neither a regression nor a pass.
        """
        return Verdict.FAIL if self.method is GateMethod.POINT else Verdict.NOT_MEASURED

    def bar(self, baseline: str, skill: str = "") -> float | None:
        """The delta to reach: the skill's own, else the baseline's; None where there is none."""
        own, general = self.skill_min_delta.get(skill), self.min_delta.get(baseline)
        if own is None or general is None:
            return general if own is None else own
        return max(own, general) if skill in self.no_looser else own

    def needs(self, baseline: str, skill: str) -> bool:
        """Whether anything that is asked for cannot be told without this comparison."""
        bounded = bool(self.max_increase) or self.max_regressed_cases is not None
        return bounded or self.bar(baseline, skill) is not None

    def rule(self, scope: Scope) -> DecisionRule:
        """What the interval of a comparison is held against; a delta of 0 where nothing is asked.

        A bar that no delta can reach or miss is taken as the last one that some can.
        """
        bar = self.bar(scope.baseline, scope.skill) or 0.0
        return DecisionRule(
            max(-1.0, min(1.0, bar)), self.margin, self.confidence, self.looks.planned
        )


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the gate does not pass. `verdict` is any but PASS.

    `scope` is the comparison that the reason is about, where it has a judgement of its own. With
    `is_cap`, a cap that somebody set left something out.
    """

    text: str
    verdict: Verdict = Verdict.FAIL
    scope: Scope | None = None
    is_cap: bool = False
