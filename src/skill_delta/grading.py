"""Reads a transcript with a case's checks."""

from __future__ import annotations

import asyncio

from skill_delta.core.suite import Check
from skill_delta.core.transcript import Transcript
from skill_delta.core.trials import CheckResult, Errored, Scored, Trial
from skill_delta.errors import TrialError


async def grade(trial: Trial, transcript: Transcript) -> Scored | Errored:
    """Run every check of the trial's case. A check that gives out loses the trial, not the run.

    Slow checks run in a thread: the time that trials beside this one take is being measured.
    """
    if any(check.spec.may_be_slow for check in trial.case.checks):
        return await asyncio.to_thread(graded, trial, transcript)
    return graded(trial, transcript)


def graded(trial: Trial, transcript: Transcript) -> Scored | Errored:
    """The same in this thread, however long it takes."""
    results = []
    for check in trial.case.checks:
        try:
            results.append(_result(check, transcript))
        except TrialError as lost:
            return Errored(
                trial,
                f"check {check.id}: {lost}",
                usage=transcript.usage,
                cost_usd=transcript.cost_usd,
                transcript=transcript,
            )
    return Scored(trial, transcript, tuple(results))


def _result(check: Check, transcript: Transcript) -> CheckResult:
    finding = check.spec.grade(transcript)
    return CheckResult(check.id, finding.passed, finding.evidence, finding.score)
