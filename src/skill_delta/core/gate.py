"""The policy and its verdict: what fails a run, and why, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from skill_delta.core.paired import Difference, PairedDelta
from skill_delta.core.scores import pass_rate
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import Errored, NotRun, Outcome, Role, Scored
from skill_delta.errors import ExitCode


class Verdict(StrEnum):
    """The gate's answer."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"


EXIT_CODES: Mapping[Verdict, ExitCode] = {
    Verdict.PASS: ExitCode.PASSED,
    Verdict.FAIL: ExitCode.FAILED,
    Verdict.INCONCLUSIVE: ExitCode.PASSED,
    Verdict.NOT_MEASURED: ExitCode.NOT_MEASURED,
}


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What a run must show. Rates are in [0, 1], deltas in points of rate (0.1 = ten points).

    `min_delta` is per baseline name; `skill_min_delta` per skill, against every baseline. Without
    `needs_cases` a run of no case is nothing to do: a pull request may touch no skill that has one.
    """

    needs_cases: bool = True
    unmeasured_delta: Verdict = Verdict.FAIL
    """What a required delta is where no case was comparable: to the literal gate, a failure."""
    min_pass_rate: float | None = 1.0
    skill_min_pass_rate: Mapping[str, float] = field(default_factory=dict)
    fail_on_error: bool = True
    min_delta: Mapping[str, float] = field(default_factory=dict)
    skill_min_delta: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why the gate does not pass. `verdict` is FAIL or NOT_MEASURED."""

    text: str
    verdict: Verdict = Verdict.FAIL


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the gate reads.

    `why_empty` says why no case ran at all, where none did. `unresolved` holds, per baseline and
    skill, why there is no such version. `objections` were known before the first trial.
    """

    outcomes: tuple[Outcome, ...]
    deltas: tuple[PairedDelta, ...]
    unresolved: Mapping[str, Mapping[str, Unresolved]] = field(default_factory=dict)
    why_empty: str = "no SKILL.md was found"
    objections: tuple[Reason, ...] = ()

    @property
    def candidate(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.trial.arm.role is Role.CANDIDATE)

    @property
    def cut_short(self) -> bool:
        """Whether less was run than was asked for."""
        not_run = any(isinstance(outcome, NotRun) for outcome in self.outcomes)
        return not_run or any(o.verdict is Verdict.NOT_MEASURED for o in self.objections)


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's answer, with every reason that speaks against a pass."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def exit_code(self) -> ExitCode:
        return EXIT_CODES[self.verdict]


class GateRule(Protocol):
    """One rule of the gate; it reads the evidence and names what it has against a pass."""

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]: ...


class SomethingRan:
    """A gate that verified nothing never passes, unless nothing is what there was to verify."""

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:
        if not evidence.candidate:
            if policy.needs_cases:
                yield Reason(f"no eval case ran: {evidence.why_empty}")
        elif not any(isinstance(outcome, Scored) for outcome in evidence.candidate):
            yield Reason("no trial of the candidate could be measured", Verdict.NOT_MEASURED)


class PassRate:
    """The candidate's pass rate is at or above the bar, over all skills and for each with its own.

    Read from the candidate alone: a strong baseline means that the skill was unnecessary, not that
    the check should be red. Lost trials are in no rate; `LostTrials` speaks for them.
    """

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:
        rate = pass_rate(evidence.candidate)
        if policy.min_pass_rate is not None and rate is not None and rate < policy.min_pass_rate:
            yield Reason(
                f"pass rate {percent(rate)} is below the required {percent(policy.min_pass_rate)}"
            )
        for skill, bar in policy.skill_min_pass_rate.items():
            yield from self._of_skill(skill, bar, evidence)

    def _of_skill(self, skill: str, bar: float, evidence: Evidence) -> Iterator[Reason]:
        own = [outcome for outcome in evidence.candidate if outcome.trial.skill == skill]
        rate = pass_rate(own)
        if not own:
            yield Reason(f"skill '{skill}' must pass {percent(bar)}, but none of its cases ran")
        elif rate is None:
            yield Reason(
                f"skill '{skill}' must pass {percent(bar)}, but none of its trials was measured",
                Verdict.NOT_MEASURED,
            )
        elif rate < bar:
            yield Reason(
                f"skill '{skill}': pass rate {percent(rate)} is below its required {percent(bar)}"
            )


class LostTrials:
    """A candidate trial that errored fails the gate, unless that is turned off.

    Where every one of them was lost, `SomethingRan` speaks: a dead provider is not a failure.
    """

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:
        lost = sum(isinstance(outcome, Errored) for outcome in evidence.candidate)
        some = any(isinstance(outcome, Scored) for outcome in evidence.candidate)
        if policy.fail_on_error and lost and some:
            yield Reason(f"{count(lost, 'trial')} of the candidate errored")


class Objections:
    """What stood in the way before the first trial, such as a cap that left cases out."""

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:  # noqa: ARG002
        yield from evidence.objections


class WholePlan:
    """A run that was cut short measured less than it was asked to, so it is never a pass."""

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:  # noqa: ARG002
        cut: dict[str, int] = {}
        for outcome in evidence.outcomes:
            if isinstance(outcome, NotRun):
                cut[outcome.reason] = cut.get(outcome.reason, 0) + 1
        for why, trials in cut.items():
            verb = "was" if trials == 1 else "were"
            yield Reason(f"{count(trials, 'trial')} {verb} not run: {why}", Verdict.NOT_MEASURED)


class MinDelta:
    """The candidate is at least this much better than the baseline.

    Four reasons, in this order: no baseline trial ran; no case was comparable; a runner's delta is
    below the bar, or it has no comparable case; a skill's baseline could not be resolved. The
    first three exclude each other, the fourth is always added: a repository must not pass by
    deleting its history.
    """

    def decide(self, evidence: Evidence, policy: GatePolicy) -> Iterator[Reason]:
        unmeasured = policy.unmeasured_delta
        for delta in evidence.deltas:
            bar = policy.min_delta.get(delta.baseline)
            several = len(evidence.deltas) > 1
            where = f" against '{delta.baseline}'" if several else ""
            if bar is not None:
                yield from self._of_all(delta, bar, where, unmeasured)
            for skill, own_bar in policy.skill_min_delta.items():
                yield from self._of_skill(delta, skill, own_bar, where, unmeasured)
            for skill, gap in evidence.unresolved.get(delta.baseline, {}).items():
                if bar is not None or skill in policy.skill_min_delta:
                    yield Reason(
                        f"skill '{skill}' has no resolvable baseline{where}: {gap.message}"
                    )

    def _of_all(
        self, delta: PairedDelta, bar: float, where: str, unmeasured: Verdict
    ) -> Iterator[Reason]:
        if delta.ran and delta.overall.comparable_cases:
            yield from _below(delta.runners, bar, where, unmeasured)
            return
        what = "no case was comparable" if delta.ran else "no baseline arm ran"
        text = f"{what}{where}, so the required delta of {points(bar)} was not measured"
        yield Reason(text, unmeasured)

    def _of_skill(
        self, delta: PairedDelta, skill: str, bar: float, where: str, unmeasured: Verdict
    ) -> Iterator[Reason]:
        if skill in delta.skills:
            about = f" of skill '{skill}'{where}"
            yield from _below(delta.restricted_to(skill), bar, about, unmeasured)
        else:
            text = f"skill '{skill}' must reach a delta of {points(bar)}, but none of its cases ran"
            yield Reason(text, unmeasured)


def _below(
    runners: Mapping[str, Difference], bar: float, about: str, unmeasured: Verdict
) -> Iterator[Reason]:
    for runner, found in runners.items():
        if found.pass_rate is None:
            text = f"no case{about} under runner '{runner}' had a comparable baseline"
            yield Reason(text, unmeasured)
        # Rates are sums of fractions: without the rounding, 0.3 - 0.2 < 0.1.
        elif round(found.pass_rate, 12) < bar:
            under = f" under runner '{runner}'" if len(runners) > 1 else ""
            yield Reason(
                f"pass-rate delta {points(found.pass_rate)}{about}{under} "
                f"is below the required {points(bar)}"
            )


POINT_RULES: Sequence[GateRule] = (
    SomethingRan(),
    PassRate(),
    LostTrials(),
    Objections(),
    WholePlan(),
    MinDelta(),
)
"""`gate: point`: the literal comparison of means, in the order in which reasons are listed."""


def decide(evidence: Evidence, policy: GatePolicy) -> GateVerdict:
    """Pass only where no rule has anything against it.

    A run that was cut short is "not measured" whatever else it shows: it can be measured again,
    and calling its half a regression could be wrong. Where nothing was measured and a rule names
    that as its reason (no comparable case under a required delta), the literal gate fails.
    """
    reasons = tuple(reason for rule in POINT_RULES for reason in rule.decide(evidence, policy))
    if not reasons:
        return GateVerdict(Verdict.PASS)
    if evidence.cut_short or all(reason.verdict is Verdict.NOT_MEASURED for reason in reasons):
        return GateVerdict(Verdict.NOT_MEASURED, reasons)
    return GateVerdict(Verdict.FAIL, reasons)


def percent(rate: float) -> str:
    """0.6 as `60%`; one decimal where rounding would hide something: 0.996 is `99.6%`."""
    return _shortest(rate, "")


def points(delta: float) -> str:
    """A signed difference of rates: `+60%`, `-0.4%`."""
    return _shortest(delta, "+")


def _shortest(value: float, sign: str) -> str:
    """As few decimals as tell the value from zero and from a hundred per cent."""
    if abs(value - round(value, 2)) < 1e-9:
        return f"{round(value, 2) + 0.0:{sign}.0%}"
    decimals = next(n for n in range(1, 13) if abs(round(value, n + 2)) not in {0.0, 1.0})
    return f"{value:{sign}.{decimals}%}"


def count(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
