"""Outcomes that nobody ran, as skill-lens compares and gates them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from skill_lens.comparison import build_delta  # type: ignore[import-untyped]
from skill_lens.gating import evaluate_gate  # type: ignore[import-untyped]
from skill_lens.models import (  # type: ignore[import-untyped]
    BaselineNote,
    CaseOutcome,
    CheckResult,
    EvalScore,
    RunReport,
    RunResult,
)

from conformance.measured import Gate
from skill_delta.core.paired import Difference
from skill_delta.core.policy import GatePolicy
from skill_delta.core.trials import CaseKey, Outcome, Role, Scored, Skipped, Status

PREVIOUS = "previous"


class Computed:
    """What skill-lens makes of the outcomes. There is no delta where no baseline trial ran."""

    def __init__(self, outcomes: Iterable[Outcome], unresolved: Iterable[str]) -> None:
        self._report = RunReport(
            outcomes=[_outcome(o) for o in outcomes if not isinstance(o, Skipped)],
            baseline_kind=PREVIOUS,
            baseline_notes=[
                BaselineNote(skill_name=skill, kind="unavailable", reason="nothing earlier")
                for skill in unresolved
            ],
        )
        self._delta = build_delta(self._report)

    @property
    def has_delta(self) -> bool:
        return self._delta is not None

    def gate(self, policy: GatePolicy) -> Gate:
        found = evaluate_gate(
            self._report,
            min_pass_rate=policy.min_pass_rate,
            fail_on_error=policy.fail_on_error,
            per_skill_min=dict(policy.skill_min_pass_rate),
            min_delta=policy.min_delta.get(PREVIOUS),
            delta=self._delta,
        )
        return Gate.of(found.passed, found.exit_code, found.reasons)

    @property
    def comparable(self) -> Mapping[CaseKey, bool]:
        return {_key(case): case.comparable for case in self._delta.cases}

    @property
    def low_signal(self) -> set[tuple[CaseKey, str]]:
        return {(_key(flag), flag.check_id) for flag in self._delta.low_signal}

    @property
    def high_variance(self) -> Mapping[tuple[CaseKey, str], tuple[float, float]]:
        return {
            (_key(flag), flag.arm): (flag.pass_rate, flag.stddev)
            for flag in self._delta.high_variance
        }

    @property
    def differences(self) -> Mapping[str, Difference]:
        """By runner, in the order in which they first ran; the one over all is named ""."""
        found = {
            runner.runner: _difference(runner, runner.comparable_cases) for runner in self._runners
        }
        return {
            "": _difference(self._delta, sum(r.comparable_cases for r in self._runners)),
            **found,
        }

    @property
    def _runners(self) -> list[Any]:
        return list(self._delta.runners)


def _difference(found: Any, comparable_cases: int) -> Difference:
    """Where nothing was comparable skill-lens shows rates of 0; they are None here."""
    return Difference(
        comparable_cases,
        found.pass_rate_candidate if comparable_cases else None,
        found.pass_rate_baseline if comparable_cases else None,
        found.tokens_delta,
        found.cost_usd_delta,
        found.latency_ms_delta,
    )


def _key(held: Any) -> CaseKey:
    return CaseKey(held.skill_name, held.case_name, held.runner)


def _outcome(outcome: Outcome) -> Any:
    trial = outcome.trial
    scored = outcome if isinstance(outcome, Scored) else None
    return CaseOutcome(
        skill_name=trial.skill,
        case_name=trial.case.name,
        runner=trial.runner,
        arm="candidate" if trial.arm.role is Role.CANDIDATE else "baseline",
        repeat_index=trial.repetition,
        status=_status(scored),
        scores=[_score(scored)] if scored else [],
        result=_result(scored) if scored else RunResult(error="503 from the provider"),
    )


def _status(scored: Scored | None) -> str:
    if scored is None:
        return "errored"
    return "passed" if scored.status is Status.PASS else "failed"


def _score(scored: Scored) -> Any:
    return EvalScore(
        evaluator="assertion",
        passed=scored.status is Status.PASS,
        checks=[CheckResult(id=check.id, passed=check.passed) for check in scored.checks],
    )


def _result(scored: Scored) -> Any:
    transcript = scored.transcript
    return RunResult(
        input_tokens=transcript.usage.input_tokens,
        output_tokens=transcript.usage.output_tokens,
        cost_usd=transcript.cost_usd,
        latency_ms=transcript.latency_ms,
    )
