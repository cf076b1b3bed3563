"""The rules of the gate: each reads the evidence and names what it has against a pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from skill_delta.core.inference import LARGEST_LOST_SHARE
from skill_delta.core.judgements import (
    Evidence,
    Increase,
    Judged,
    Judgement,
    gated_pairs,
)
from skill_delta.core.paired import PairedDelta
from skill_delta.core.policy import GateMethod, GatePolicy, Reason, Verdict
from skill_delta.core.readings import Measure, Scope
from skill_delta.core.regressions import Doubt, Regressions
from skill_delta.core.scores import pass_rate
from skill_delta.core.trials import Errored, NotRun, Outcome, Scored, Status, status_of
from skill_delta.core.wording import bounds, count, percent, points


@dataclass(frozen=True, slots=True)
class Hearing:
    """What a rule decides on: the evidence, every gate judged, and what was asked for."""

    evidence: Evidence
    judged: Judged
    policy: GatePolicy


class GateRule(Protocol):
    """One rule of the gate."""

    def decide(self, hearing: Hearing) -> Iterator[Reason]: ...


class SomethingRan:
    """A gate that verified nothing never passes, unless nothing is what there was to verify."""

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        if not hearing.evidence.candidate:
            if hearing.policy.needs_cases:
                yield Reason(f"no eval case ran: {hearing.evidence.why_empty}")
        elif not any(isinstance(outcome, Scored) for outcome in hearing.evidence.candidate):
            yield Reason("no trial of the candidate could be measured", Verdict.NOT_MEASURED)


class PassRate:
    """The candidate's pass rate is at or above the bar, over all skills and for each with its own.

    Read from the candidate alone: a strong baseline means that the skill was unnecessary, not that
    the check should be red. Lost trials are in no rate. To the literal gate `LostTrials` speaks for
    them; by the interval method no bar is reached that they could put out of reach.
    """

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        policy, candidate = hearing.policy, hearing.evidence.candidate
        if policy.min_pass_rate is not None and pass_rate(candidate) is not None:
            yield from self._held("", "", candidate, policy.min_pass_rate, policy)
        for skill, bar in policy.skill_min_pass_rate.items():
            own = [outcome for outcome in candidate if outcome.trial.skill == skill]
            yield from self._of_skill(skill, own, bar, policy)

    def _of_skill(
        self, skill: str, own: Sequence[Outcome], bar: float, policy: GatePolicy
    ) -> Iterator[Reason]:
        if not own:
            yield Reason(f"skill '{skill}' must pass {percent(bar)}, but none of its cases ran")
        elif pass_rate(own) is None:
            yield Reason(
                f"skill '{skill}' must pass {percent(bar)}, but none of its trials was measured",
                Verdict.NOT_MEASURED,
            )
        else:
            yield from self._held(f"skill '{skill}': ", "its ", own, bar, policy)

    def _held(
        self, about: str, whose: str, own: Sequence[Outcome], bar: float, policy: GatePolicy
    ) -> Iterator[Reason]:
        """What is known of the rate, of which there is one, held against its bar."""
        rate = pass_rate(own) or 0.0
        if rate < bar:
            below = f"is below {whose or 'the '}required {percent(bar)}"
            yield Reason(f"{about}pass rate {percent(rate)} {below}")
        elif policy.method is GateMethod.INTERVAL and _lost_could_miss(own, bar):
            yield Reason(
                f"{about}pass rate {percent(rate)}, but trials were lost, and their answers could "
                f"put it below {whose or 'the '}required {percent(bar)}",
                Verdict.INCONCLUSIVE,
            )


def _lost_could_miss(outcomes: Sequence[Outcome], bar: float) -> bool:
    """Whether trials that were lost could, failed, put the rate below the bar.

    Counted only where a case dropped out or more than a tenth of the trials were lost, as the
    interval does.
    """
    ran = [outcome for outcome in outcomes if isinstance(outcome, Scored | Errored)]
    lost = sum(isinstance(outcome, Errored) for outcome in ran)
    answered = {outcome.trial.key for outcome in ran if isinstance(outcome, Scored)}
    dropped = any(outcome.trial.key not in answered for outcome in ran)
    passed = sum(status_of(outcome) is Status.PASS for outcome in ran)
    return (dropped or lost > LARGEST_LOST_SHARE * len(ran)) and passed < bar * len(ran)


class LostTrials:
    """A candidate trial that errored fails the gate, unless that is turned off.

    Where every one of them was lost, `SomethingRan` speaks: a dead provider is not a failure.
    """

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        lost = sum(isinstance(outcome, Errored) for outcome in hearing.evidence.candidate)
        some = any(isinstance(outcome, Scored) for outcome in hearing.evidence.candidate)
        if hearing.policy.fail_on_error and lost and some:
            yield Reason(f"{count(lost, 'trial')} of the candidate errored")


class Objections:
    """What stood in the way before the first trial, such as a cap that left cases out."""

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        yield from hearing.evidence.objections


class WholePlan:
    """A run that was cut short measured less than it was asked to, so it is never a pass."""

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        cut: dict[str, int] = {}
        for outcome in hearing.evidence.outcomes:
            if isinstance(outcome, NotRun):
                cut[outcome.reason] = cut.get(outcome.reason, 0) + 1
        for why, trials in cut.items():
            verb = "was" if trials == 1 else "were"
            yield Reason(f"{count(trials, 'trial')} {verb} not run: {why}", Verdict.NOT_MEASURED)


class RequiredDelta:
    """The candidate is at least so much better than the baseline, as the policy's method sees it.

    Reasons in this order: no baseline trial ran; no case was comparable; one gate has no
    comparable case, or its delta does not pass; a skill's baseline could not be resolved. The
    first three exclude each other, the fourth is always added: a repository must not pass by
    deleting its history.
    """

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        found = {judgement.scope: judgement for judgement in hearing.judged.judgements}
        gates = [scope for scope, _ in gated_pairs(hearing.evidence, hearing.policy)]
        for delta in hearing.evidence.deltas:
            phrase = _Phrase(hearing.evidence, delta, hearing.policy)
            own = [scope for scope in gates if scope.baseline == delta.baseline]
            yield from self._of_delta(delta, own, found, phrase)
            yield from phrase.unresolved()
        yield from _never_ran(hearing)

    def _of_delta(
        self,
        delta: PairedDelta,
        gates: Sequence[Scope],
        found: Mapping[Scope, Judgement],
        phrase: _Phrase,
    ) -> Iterator[Reason]:
        if not (delta.ran and delta.overall.comparable_cases):
            if not phrase.all_unresolved:
                yield from phrase.nothing_compared()
            gates = [scope for scope in gates if phrase.has_own_words(scope)]
        for scope in gates:
            judgement = found.get(scope)
            if judgement is None:
                yield from phrase.not_comparable(scope)
            elif judgement.verdict is not Verdict.PASS:
                yield Reason(phrase.of(judgement), judgement.verdict, scope)


def _never_ran(hearing: Hearing) -> Iterator[Reason]:
    """Skills with a bar of their own that were found and of which no case ran, by any baseline."""
    ran = {outcome.trial.skill for outcome in hearing.evidence.outcomes}
    for skill, bar in hearing.policy.skill_min_delta.items():
        if skill not in ran:
            text = f"skill '{skill}' must reach a delta of {points(bar)}, but none of its cases ran"
            yield Reason(text, hearing.policy.unmeasured_delta)


class _Phrase:
    """The words for one baseline's gates."""

    def __init__(self, evidence: Evidence, delta: PairedDelta, policy: GatePolicy) -> None:
        self._delta = delta
        self._policy = policy
        self._gaps = evidence.unresolved.get(delta.baseline, {})
        self._where = f" against '{delta.baseline}'" if len(evidence.deltas) > 1 else ""
        self._skills = len({skill for skill, _ in delta.pairs_by_skill})

    @property
    def all_unresolved(self) -> bool:
        """By the interval method there is nothing to add where no skill has such a baseline."""
        skills = {skill for skill, _ in self._delta.pairs_by_skill}
        by_interval = self._policy.method is GateMethod.INTERVAL
        return by_interval and bool(skills) and skills <= self._gaps.keys()

    def has_own_words(self, scope: Scope) -> bool:
        """Whether a gate says more than that nothing was compared, or that there is no baseline."""
        point = self._policy.method is GateMethod.POINT
        only_bar = self._delta.baseline not in self._policy.min_delta
        return bool(scope.skill) and scope.skill not in self._gaps and (point or only_bar)

    def nothing_compared(self) -> Iterator[Reason]:
        bar = self._policy.min_delta.get(self._delta.baseline)
        if bar is not None:
            what = "no case was comparable" if self._delta.ran else "no baseline arm ran"
            text = f"{what}{self._where}, so the required delta of {points(bar)} was not measured"
            yield Reason(text, self._policy.unmeasured_delta)

    def not_comparable(self, scope: Scope) -> Iterator[Reason]:
        if scope.skill in self._gaps:
            return
        about = f" of skill '{scope.skill}'{self._where}" if scope.skill else self._where
        text = f"no case{about} under runner '{scope.runner}' had a comparable baseline"
        yield Reason(text, self._policy.unmeasured_delta)

    def unresolved(self) -> Iterator[Reason]:
        for skill, gap in self._gaps.items():
            if self._policy.needs(self._delta.baseline, skill):
                where = self._where
                yield Reason(f"skill '{skill}' has no resolvable baseline{where}: {gap.message}")

    def of(self, judgement: Judgement) -> str:
        """Why one gate does not pass."""
        scope = judgement.scope
        bar = self._policy.bar(scope.baseline, scope.skill) or 0.0
        under = f" under runner '{scope.runner}'" if len(self._delta.runners) > 1 else ""
        if self._policy.method is GateMethod.POINT:
            about = f" of skill '{scope.skill}'{self._where}" if scope.skill else self._where
            delta = points(judgement.reading.difference.pass_rate or 0.0)
            return f"pass-rate delta {delta}{about}{under} is below the required {points(bar)}"
        about = f" of skill '{scope.skill}'" if self._skills > 1 else ""
        return f"{measured_delta(judgement)}{about}{self._where}{under} {why(judgement, bar)}"


def measured_delta(judgement: Judgement) -> str:
    """`pass-rate delta -26.7% [-49%, +0%]`."""
    found = judgement.reading.interval
    ends = bounds(found.low, found.high, judgement.reading.rule.beyond(found))
    return f"pass-rate delta {points(round(found.delta, 3))} {ends}"


def why(judgement: Judgement, bar: float) -> str:
    """What keeps one gate's interval from a pass."""
    rule, ruling = judgement.reading.rule, judgement.ruling
    tolerated = points(bar - rule.margin)
    match ruling.note:
        case "single-shot":
            return "rests on single runs, and one run is no evidence either way"
        case "lost trials could change it":
            return "would decide, but what was lost of it could turn the verdict"
        case "one of several gates":
            return "would fail alone, but is one of several gates, of which one may by chance"
        case _ if ruling.verdict == "fail":
            return f"lies below the required {points(bar)}"
        case _ if judgement.shows_no_regression:
            return f"shows no regression, but does not rule out one below {tolerated}"
        case _:
            ends = f"neither {points(bar)} nor a drop below {tolerated}"
            return f"is within the noise: {ends} is ruled out"


class MaxIncrease:
    """The candidate uses no more tokens, money or time than allowed: fails only beyond doubt."""

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        for found in hearing.judged.increases:
            about = f"{found.measure.value}{_of_comparison(found.scope, hearing)}"
            allowed = f"the allowed {points(found.bar - 1)}"
            if not found.comparable_cases:
                if not _is_unresolved(found.scope, hearing):
                    yield Reason(
                        f"{about}: no case was comparable, so {allowed} was not measured",
                        Verdict.NOT_MEASURED,
                    )
            elif found.ratio is None:
                yield Reason(
                    f"{about}: no interval, so {allowed} was not measured ({_no_ratio(found)})",
                    Verdict.INCONCLUSIVE,
                )
            elif found.losses_matter:
                yield Reason(
                    f"{about}: trials were lost, and what they used could turn the answer to "
                    f"{allowed}",
                    Verdict.INCONCLUSIVE,
                )
            elif found.exceeds:
                more = points(round(found.ratio.ratio - 1, 3))
                ends = bounds(found.ratio.low - 1, found.ratio.high - 1, ([found.bar - 1], ()))
                yield Reason(f"{about}: {more} {ends} is more than {allowed}")


def _of_comparison(scope: Scope, hearing: Hearing) -> str:
    """` of skill 'x' against 'previous'`, with its runner where there are several."""
    runners = {runner for delta in hearing.evidence.deltas for runner in delta.runners}
    under = f" under runner '{scope.runner}'" if len(runners) > 1 else ""
    return f" of skill '{scope.skill}' against '{scope.baseline}'{under}"


def _is_unresolved(scope: Scope, hearing: Hearing) -> bool:
    """Whether `RequiredDelta` says that there is no such baseline."""
    return scope.skill in hearing.evidence.unresolved.get(scope.baseline, {})


def _no_ratio(found: Increase) -> str:
    if found.measure is Measure.COST:
        return "a price is unknown or zero, or there are too few repetitions"
    return "too few repetitions, or an amount of zero"


class MaxRegressedCases:
    """No more cases than allowed got worse, per baseline and runner.

    Under the interval method more are a fail only where so many are beyond chance, and no more a
    pass only where no lost trial hides one.
    """

    def decide(self, hearing: Hearing) -> Iterator[Reason]:
        for found in hearing.judged.regressions:
            if found.doubt:
                yield Reason(_in_doubt(found, hearing), Verdict.INCONCLUSIVE)
            elif found.exceeds:
                yield Reason(
                    f"{_worse(found, hearing)}, and max-regressed-cases is {found.allowed}"
                )
        if hearing.policy.max_regressed_cases is not None:
            for delta in hearing.evidence.asked_deltas:
                yield from self._not_compared(delta, hearing)

    def _not_compared(self, delta: PairedDelta, hearing: Hearing) -> Iterator[Reason]:
        for (skill, runner), pairs in delta.pairs_by_skill.items():
            scope = Scope(delta.baseline, runner, skill)
            if any(pair.comparable for pair in pairs) or _is_unresolved(scope, hearing):
                continue
            about = _of_comparison(scope, hearing)
            yield Reason(
                f"no case{about} was comparable, so max-regressed-cases was not measured",
                Verdict.NOT_MEASURED,
            )


_DOUBTS: Mapping[Doubt, str] = {
    "chance": "but chance alone may explain it",
    "lost trials": "but trials were lost, and their answers could turn it",
    "single-shot": "but on single runs, and one run is no evidence either way",
}


def _in_doubt(found: Regressions, hearing: Hearing) -> str:
    bound = f"max-regressed-cases is {found.allowed}"
    return f"{_worse(found, hearing)} and {bound}, {_DOUBTS[found.doubt]}"


def _worse(found: Regressions, hearing: Hearing) -> str:
    """`2 cases got worse against 'previous'`."""
    runners = {runner for delta in hearing.evidence.deltas for runner in delta.runners}
    under = f" under runner '{found.scope.runner}'" if len(runners) > 1 else ""
    return f"{count(found.fell, 'case')} got worse against '{found.scope.baseline}'{under}"


RULES: Sequence[GateRule] = (
    SomethingRan(),
    PassRate(),
    LostTrials(),
    Objections(),
    WholePlan(),
    RequiredDelta(),
    MaxIncrease(),
    MaxRegressedCases(),
)
"""Every rule, in the order in which reasons are listed."""
