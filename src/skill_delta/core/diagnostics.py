"""What a comparison says of the eval suite itself. None of it ever decides anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from skill_delta.core.inference import p_exact
from skill_delta.core.intervals import CaseScores, Measurement, wilson_interval
from skill_delta.core.paired import CasePair, HighVariance, PairedDelta
from skill_delta.core.scores import measured
from skill_delta.core.trials import NO_SKILL, CaseKey, Scored

FEWEST_RUNS = 5
"""Below so many runs, runs that disagree say little about a case."""

ONE_CHANCE_IN_TWENTY = 0.05


class CheckFlag(StrEnum):
    """What may be wrong with a check."""

    ALWAYS_FAILS = "always fails"
    """In every measured repetition of both arms: broken, or beyond the model."""
    INVERSE = "inverse"
    """It passes more often without the skill."""
    DERIVED = "derived"
    """It ends as another check of the case does, every time, though not always alike."""


@dataclass(frozen=True, slots=True)
class FlaggedCheck:
    """One check of one case that may be wrong, as `runs` repetitions of both arms say.

    Rates are in [0, 1]. `other` is the check that a derived one repeats. `may_be_chance` where so
    few runs would often look like it by luck.
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
class _Ends:
    """How one check ended in each measured repetition."""

    check: str
    candidate: tuple[bool, ...]
    baseline: tuple[bool, ...]

    @property
    def all(self) -> tuple[bool, ...]:
        return (*self.candidate, *self.baseline)

    @property
    def rates(self) -> tuple[float, float]:
        return (
            sum(self.candidate) / len(self.candidate),
            sum(self.baseline) / len(self.baseline),
        )


def flagged_checks(delta: PairedDelta) -> tuple[FlaggedCheck, ...]:
    """The checks of the comparable cases that may be wrong, in the order of the cases."""
    return tuple(
        found
        for pair in delta.pairs
        if pair.comparable
        for found in _flagged(pair, inverse=delta.baseline == NO_SKILL)
    )


def is_chance(found: HighVariance) -> bool:
    """Whether repetitions that disagreed may have done so by luck.

    They tell of an unstable case with five runs or more whose pass rate's 90 % Wilson interval
    lies inside (.10, .90).
    """
    z = NormalDist().inv_cdf(0.95)
    low, high = wilson_interval(found.pass_rate, z * z / found.runs)
    return found.runs < FEWEST_RUNS or low <= 0.10 or high >= 0.90


def _flagged(pair: CasePair, *, inverse: bool) -> Iterator[FlaggedCheck]:
    every = tuple(_ends(pair))
    for place, ends in enumerate(every):
        if not any(ends.all):
            yield _flag(pair, ends, CheckFlag.ALWAYS_FAILS)
        elif inverse and ends.rates[0] < ends.rates[1]:
            chance = _chance_of_fall(ends)
            yield _flag(pair, ends, CheckFlag.INVERSE, is_chance=chance > ONE_CHANCE_IN_TWENTY)
        original = next((other for other in every[:place] if other.all == ends.all), None)
        if original is not None and len(set(ends.all)) > 1:
            few = len(ends.all) < FEWEST_RUNS
            yield _flag(pair, ends, CheckFlag.DERIVED, original.check, is_chance=few)


def _flag(
    pair: CasePair, ends: _Ends, flag: CheckFlag, other: str = "", *, is_chance: bool = False
) -> FlaggedCheck:
    ours, theirs = ends.rates
    return FlaggedCheck(
        pair.key, ends.check, flag, len(ends.all), ours, theirs, other, may_be_chance=is_chance
    )


def _ends(pair: CasePair) -> Iterator[_Ends]:
    """Every check that was evaluated in every measured repetition of both arms."""
    ours, theirs = measured(pair.candidate_outcomes), measured(pair.baseline_outcomes)
    candidate, baseline = list(map(_passed, ours)), list(map(_passed, theirs))
    for check in (check.id for check in ours[0].checks):
        found = [run.get(check) for run in (*candidate, *baseline)]
        passed = tuple(each for each in found if each is not None)
        if len(passed) == len(found):
            yield _Ends(check, passed[: len(ours)], passed[len(ours) :])


def _passed(run: Scored) -> dict[str, bool | None]:
    return {check.id: check.passed for check in run.checks}


def _chance_of_fall(ends: _Ends) -> float:
    case = CaseScores(_scores(ends.candidate), _scores(ends.baseline))
    exact = p_exact(Measurement((case,)))
    return 1.0 if exact is None else exact


def _scores(passed: Sequence[bool]) -> tuple[float, ...]:
    return tuple(map(float, passed))
