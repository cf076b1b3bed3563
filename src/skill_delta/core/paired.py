"""The difference between the arms, over the cases that both of them measured.

A case that one arm never measured is left out of both halves: a rate computed from half a pair is
a biased number that looks like a real one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from skill_delta.core.scores import ArmScore, mean, mean_of_known, measured, score
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import (
    CaseKey,
    NotRun,
    Outcome,
    Role,
    Scored,
    Skipped,
    Status,
)

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class CasePair:
    """One case under one runner, both arms.

    `excluded` says why the pair is in neither half of the delta; empty where it is in both.
    `baseline` is None where no baseline trial was planned.
    """

    key: CaseKey
    candidate_outcomes: tuple[Outcome, ...]
    baseline_outcomes: tuple[Outcome, ...]
    candidate: ArmScore
    baseline: ArmScore | None
    excluded: str = ""

    @property
    def comparable(self) -> bool:
        return not self.excluded

    @property
    def change(self) -> float | None:
        """The candidate's pass rate minus the baseline's; None where they cannot be compared."""
        if not self.comparable or self.baseline is None:
            return None
        return (self.candidate.pass_rate or 0.0) - (self.baseline.pass_rate or 0.0)

    @property
    def fell(self) -> bool:
        """Whether the candidate passes the case less often."""
        return (self.change or 0.0) < 0


@dataclass(frozen=True, slots=True)
class Difference:
    """Candidate minus baseline, pooled over the outcomes of the comparable cases.

    Rates are in [0, 1] and higher is better; tokens, US dollars and milliseconds are differences
    of per-run means and negative is better. With no comparable case the rates are None.
    """

    comparable_cases: int
    pass_rate_candidate: float | None
    pass_rate_baseline: float | None
    tokens: float
    cost_usd: float | None
    latency_ms: float

    @property
    def pass_rate(self) -> float | None:
        """The pass-rate delta, in [-1, 1]; None where no case was comparable."""
        if self.pass_rate_candidate is None or self.pass_rate_baseline is None:
            return None
        return self.pass_rate_candidate - self.pass_rate_baseline


@dataclass(frozen=True, slots=True)
class PairedDelta:
    """One baseline against the candidate.

    `runners` and `skills` are in the order in which they were asked for. `ran` is false where not
    one trial of this baseline was planned or resolved.
    """

    baseline: str
    overall: Difference
    runners: Mapping[str, Difference]
    skills: Mapping[str, Difference]
    pairs: tuple[CasePair, ...]

    @property
    def ran(self) -> bool:
        """Whether any baseline trial was started. Skipped and unresolved ones never were."""
        return any(
            not isinstance(outcome, Skipped | NotRun)
            for pair in self.pairs
            for outcome in pair.baseline_outcomes
        )

    @property
    def pairs_by_runner(self) -> Mapping[str, Sequence[CasePair]]:
        """The pairs of each runner, over all skills."""
        return _grouped(self.pairs, lambda pair: pair.key.runner)

    @property
    def pairs_by_skill(self) -> Mapping[tuple[str, str], Sequence[CasePair]]:
        """The pairs of each skill under each runner, by both names."""
        return _grouped(self.pairs, lambda pair: (pair.key.skill, pair.key.runner))


def compare(
    baseline: str, outcomes: Sequence[Outcome], unresolved: Mapping[str, Unresolved]
) -> PairedDelta:
    """Pair the outcomes case by case against `baseline` and take the difference.

    `unresolved` says, per skill, why this baseline could not be resolved.
    """
    pairs = pair_by_case(baseline, outcomes, unresolved)
    by_runner = _grouped(pairs, lambda pair: pair.key.runner)
    by_skill = _grouped(pairs, lambda pair: pair.key.skill)
    return PairedDelta(
        baseline=baseline,
        overall=difference(pairs),
        runners={name: difference(group) for name, group in by_runner.items()},
        skills={name: difference(group) for name, group in by_skill.items()},
        pairs=pairs,
    )


def pair_by_case(
    baseline: str, outcomes: Sequence[Outcome], unresolved: Mapping[str, Unresolved]
) -> tuple[CasePair, ...]:
    """Put the two arms of each case side by side, and say which pairs cannot be compared."""
    candidate: dict[CaseKey, list[Outcome]] = {}
    other: dict[CaseKey, list[Outcome]] = {}
    for outcome in outcomes:
        arm = outcome.trial.arm
        if arm.role is Role.CANDIDATE:
            candidate.setdefault(outcome.trial.key, []).append(outcome)
        elif arm.baseline == baseline:
            other.setdefault(outcome.trial.key, []).append(outcome)
    return tuple(
        _pair(key, runs, other.get(key, []), unresolved.get(key.skill))
        for key, runs in candidate.items()
    )


def _pair(
    key: CaseKey,
    candidate: Sequence[Outcome],
    baseline: Sequence[Outcome],
    unresolved: Unresolved | None,
) -> CasePair:
    ran = [outcome for outcome in baseline if not isinstance(outcome, Skipped)]
    return CasePair(
        key,
        tuple(candidate),
        tuple(baseline),
        candidate=score(candidate),
        baseline=score(ran) if ran else None,
        excluded=_exclusion(candidate, baseline, unresolved),
    )


def _exclusion(
    candidate: Sequence[Outcome], baseline: Sequence[Outcome], unresolved: Unresolved | None
) -> str:
    if unresolved is not None:
        return f"baseline unresolved: {unresolved.message}"
    for outcome in baseline:
        if isinstance(outcome, Skipped):
            return f"baseline skipped: {outcome.reason}"
    return _unmeasured("candidate", candidate) or _unmeasured("baseline", baseline)


def _unmeasured(arm: str, outcomes: Sequence[Outcome]) -> str:
    if measured(outcomes):
        return ""
    for outcome in outcomes:
        if isinstance(outcome, NotRun):
            return f"no {arm} repetition was measured: {outcome.reason}"
    if any(isinstance(outcome, Scored) for outcome in outcomes):
        return f"no {arm} repetition could be evaluated in full"
    return f"every {arm} repetition errored" if outcomes else f"no {arm} trial ran"


def difference(pairs: Sequence[CasePair]) -> Difference:
    """Pool the comparable pairs' outcomes and subtract."""
    comparable = [pair for pair in pairs if pair.comparable]
    candidate = measured(o for pair in comparable for o in pair.candidate_outcomes)
    baseline = measured(o for pair in comparable for o in pair.baseline_outcomes)
    return Difference(
        comparable_cases=len(comparable),
        pass_rate_candidate=_share_passed(candidate),
        pass_rate_baseline=_share_passed(baseline),
        tokens=_mean_tokens(candidate) - _mean_tokens(baseline),
        cost_usd=_cost_difference(candidate, baseline),
        latency_ms=_mean_latency(candidate) - _mean_latency(baseline),
    )


def _share_passed(scored: Sequence[Scored]) -> float | None:
    if not scored:
        return None
    return sum(outcome.status is Status.PASS for outcome in scored) / len(scored)


def _mean_tokens(scored: Sequence[Scored]) -> float:
    return mean(outcome.transcript.usage.tokens for outcome in scored)


def _mean_latency(scored: Sequence[Scored]) -> float:
    return mean(outcome.transcript.latency_ms for outcome in scored)


def _cost_difference(candidate: Sequence[Scored], baseline: Sequence[Scored]) -> float | None:
    ours = mean_of_known([outcome.transcript.cost_usd for outcome in candidate])
    theirs = mean_of_known([outcome.transcript.cost_usd for outcome in baseline])
    return None if ours is None or theirs is None else ours - theirs


def _grouped(
    pairs: Sequence[CasePair], key: Callable[[CasePair], K]
) -> Mapping[K, Sequence[CasePair]]:
    groups: dict[K, list[CasePair]] = {}
    for pair in pairs:
        groups.setdefault(key(pair), []).append(pair)
    return groups
