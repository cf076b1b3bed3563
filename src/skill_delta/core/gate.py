"""The verdict on a run: pass, fail, inconclusive or not measured, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from skill_delta.core.gate_rules import RULES, Hearing
from skill_delta.core.judgements import Evidence, Judged, Judgement, judge
from skill_delta.core.policy import GatePolicy, Reason, Verdict
from skill_delta.errors import ExitCode

EXIT_CODES: Mapping[Verdict, ExitCode] = {
    Verdict.PASS: ExitCode.PASSED,
    Verdict.FAIL: ExitCode.FAILED,
    Verdict.INCONCLUSIVE: ExitCode.NOT_MEASURED,
    Verdict.NOT_MEASURED: ExitCode.NOT_MEASURED,
}


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The gate's answer, with every reason that speaks against a pass.

    `inconclusive_passes` is what the policy makes of an inconclusive one.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()
    judged: Judged = field(default_factory=Judged)
    inconclusive_passes: bool = True
    is_gated: bool = True
    """Whether anything was required that was there to be measured."""

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def exit_code(self) -> ExitCode:
        if self.verdict is Verdict.INCONCLUSIVE and self.inconclusive_passes:
            return ExitCode.PASSED
        return EXIT_CODES[self.verdict]

    @property
    def judgements(self) -> Sequence[Judgement]:
        """Every gate on a delta."""
        return self.judged.judgements

    @property
    def shows_no_regression(self) -> bool:
        """Inconclusive, though every delta is at or above its bar."""
        doubtful = [j for j in self.judgements if j.verdict is Verdict.INCONCLUSIVE]
        return (
            self.verdict is Verdict.INCONCLUSIVE
            and len(doubtful) == sum(r.verdict is Verdict.INCONCLUSIVE for r in self.reasons)
            and all(judgement.shows_no_regression for judgement in doubtful)
        )


def decide(evidence: Evidence, policy: GatePolicy) -> GateVerdict:
    """Pass only where no rule has anything against it; otherwise the worst that one says.

    A run that was cut short is "not measured" whatever else it shows: it can be measured again,
    and calling its half a regression could be wrong. Where nothing was measured and a rule names
    that as its reason (no comparable case under a required delta), the literal gate fails.
    """
    judged = judge(evidence, policy)
    hearing = Hearing(evidence, judged, policy)
    found = [reason for rule in RULES for reason in rule.decide(hearing)]
    # What is in doubt comes after what is known; otherwise in the order of the rules.
    reasons = tuple(sorted(found, key=lambda reason: reason.verdict is Verdict.INCONCLUSIVE))
    verdict = max((reason.verdict for reason in reasons), key=_SEVERITY.index, default=Verdict.PASS)
    if reasons and evidence.cut_short:
        verdict = Verdict.NOT_MEASURED
    is_gated = judged.holds_something or policy.bounds_the_candidate
    return GateVerdict(verdict, reasons, judged, policy.inconclusive_passes, is_gated)


_SEVERITY = tuple(Verdict)
