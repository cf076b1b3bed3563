"""What a comparison says of the eval suite itself. None of it ever decides anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import comb
from statistics import NormalDist

from skill_delta.core.inference import chance_of_fall
from skill_delta.core.intervals import CaseScores, Measurement, wilson_interval
from skill_delta.core.paired import CasePair, PairedDelta
from skill_delta.core.scores import measured
from skill_delta.core.trials import CaseKey, Role

FEWEST_RUNS = 5
"""Below so many runs, runs that disagree say little about a case."""

ONE_CHANCE_IN_TWENTY = 0.05


@dataclass(frozen=True, slots=True)
class LowSignal:
    """A check that passed in every scored repetition of both arms: it tells them not apart.

    `runs` is how many repetitions of both arms say so.
    """

    key: CaseKey
    check: str
    runs: int


@dataclass(frozen=True, slots=True)
class HighVariance:
    """One arm of one case whose repetitions were not unanimous.

    `pass_rate` lies between 0 and 1, `stddev` is the population's, in (0, 0.5].
    """

    key: CaseKey
    role: Role
    pass_rate: float
    stddev: float
    runs: int

    @property
    def may_be_chance(self) -> bool:
        """Whether a case that nearly always ends alike may look like it by luck.

        It does not with five runs or more and a pass rate whose 90 % Wilson interval lies inside
        (.10, .90).
        """
        z = NormalDist().inv_cdf(0.95)
        low, high = wilson_interval(self.pass_rate, z * z / self.runs)
        return self.runs < FEWEST_RUNS or low <= 0.10 or high >= 0.90


class CheckFlag(StrEnum):
    """What may be wrong with a check."""

    ALWAYS_FAILS = "always fails"
    """In every measured repetition of both arms: broken, or beyond the model."""
    INVERSE = "inverse"
    """It passes more often in the baseline than in the candidate."""
    DERIVED = "derived"
    """It ends as another check of the case does, every time, though not always alike."""


@dataclass(frozen=True, slots=True)
class SuspectCheck:
    """One check of one case that may be wrong, as `runs` repetitions of both arms say.

    Rates are in [0, 1]. `other` is the check that a derived one repeats. `may_be_chance` where a
    check that nothing is wrong with looks like it more often than one time in twenty.
    """

    key: CaseKey
    check: str
    flag: CheckFlag
    runs: int
    rate_candidate: float
    rate_baseline: float
    other: str = ""
    may_be_chance: bool = False


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Every flag of one comparison, in the order of its cases and of their checks."""

    baseline: str
    low_signal: tuple[LowSignal, ...]
    suspect: tuple[SuspectCheck, ...]
    high_variance: tuple[HighVariance, ...]


def diagnose(delta: PairedDelta) -> Diagnostics:
    """Look for checks and cases that say little, or nothing, or the wrong thing."""
    return Diagnostics(
        delta.baseline, low_signal(delta), suspect_checks(delta), high_variance(delta)
    )


def low_signal(delta: PairedDelta) -> tuple[LowSignal, ...]:
    """Checks of the comparable cases that passed in every measured repetition of both arms."""
    return tuple(found for pair in delta.pairs if pair.comparable for found in _always_passed(pair))


def suspect_checks(delta: PairedDelta) -> tuple[SuspectCheck, ...]:
    """Checks of the comparable cases that always fail, are inverse, or repeat another."""
    return tuple(found for pair in delta.pairs if pair.comparable for found in _suspect(pair))


def high_variance(delta: PairedDelta) -> tuple[HighVariance, ...]:
    """The arms whose repetitions disagreed, of comparable cases and of all others."""
    return tuple(
        HighVariance(pair.key, role, arm.pass_rate or 0.0, arm.stddev, arm.measured)
        for pair in delta.pairs
        for role, arm in ((Role.CANDIDATE, pair.candidate), (Role.BASELINE, pair.baseline))
        if arm is not None and arm.disagrees
    )


def _always_passed(pair: CasePair) -> Iterator[LowSignal]:
    runs = measured((*pair.candidate_outcomes, *pair.baseline_outcomes))
    passed = [{check.id for check in run.checks if check.passed} for run in runs]
    every_time = set.intersection(*passed)
    return (
        LowSignal(pair.key, check.id, len(runs))
        for check in runs[0].checks
        if check.id in every_time
    )


@dataclass(frozen=True, slots=True)
class _Arm:
    """How often one check passed in the repetitions of one arm."""

    passed: int
    runs: int

    @property
    def rate(self) -> float:
        return self.passed / self.runs


@dataclass(frozen=True, slots=True)
class _Ends:
    """How one check ended in each measured repetition, the candidate's first: once it failed."""

    check: str
    passed: tuple[bool, ...]
    candidate: _Arm
    baseline: _Arm

    @property
    def varies(self) -> bool:
        return any(self.passed)


def _suspect(pair: CasePair) -> Iterator[SuspectCheck]:
    first_to_end_so: dict[tuple[bool, ...], str] = {}
    for ends in _ends(pair):
        original = first_to_end_so.setdefault(ends.passed, ends.check)
        if not ends.varies:
            yield _flag(pair, ends, CheckFlag.ALWAYS_FAILS)
        if ends.candidate.rate < ends.baseline.rate:
            luck = _chance_of_fall(ends.candidate, ends.baseline)
            yield _flag(pair, ends, CheckFlag.INVERSE, luck)
        if ends.varies and original != ends.check:
            luck = _chance_of_ending_alike(ends.candidate, ends.baseline)
            yield _flag(pair, ends, CheckFlag.DERIVED, luck, original)


def _flag(
    pair: CasePair, ends: _Ends, flag: CheckFlag, luck: float = 0.0, other: str = ""
) -> SuspectCheck:
    return SuspectCheck(
        pair.key,
        ends.check,
        flag,
        len(ends.passed),
        ends.candidate.rate,
        ends.baseline.rate,
        other,
        may_be_chance=luck > ONE_CHANCE_IN_TWENTY,
    )


def _ends(pair: CasePair) -> Iterator[_Ends]:
    """The checks that failed somewhere and were evaluated in every measured repetition."""
    ours, theirs = measured(pair.candidate_outcomes), measured(pair.baseline_outcomes)
    runs = [{check.id: check.passed for check in run.checks} for run in (*ours, *theirs)]
    for check in runs[0]:
        found = [run.get(check) for run in runs]
        passed = tuple(end for end in found if end is not None)
        if len(passed) == len(found) and not all(passed):
            candidate = _Arm(sum(passed[: len(ours)]), len(ours))
            baseline = _Arm(sum(passed[len(ours) :]), len(theirs))
            yield _Ends(check, passed, candidate, baseline)


@cache
def _chance_of_fall(candidate: _Arm, baseline: _Arm) -> float:
    """How often luck alone lets a check pass so rarely in the candidate, in (0, 1]."""
    return chance_of_fall(Measurement((CaseScores(_scores(candidate), _scores(baseline)),)))


def _chance_of_ending_alike(candidate: _Arm, baseline: _Arm) -> float:
    """How often checks that pass so often in each arm end alike in every repetition, in (0, 1].

    Arms that differ make checks alike that have nothing to do with each other: what counts is
    that they agree on which repetitions of an arm pass.
    """
    ways = comb(candidate.runs, candidate.passed) * comb(baseline.runs, baseline.passed)
    return 1 / ways


def _scores(arm: _Arm) -> tuple[float, ...]:
    return (1.0,) * arm.passed + (0.0,) * (arm.runs - arm.passed)
