"""Reads a transcript with a case's checks, and asks the judge where some of them take one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.rubric import MalformedVerdict, RubricLine, read_verdicts
from skill_delta.core.judging import Judging, Question, Rejected, question_of
from skill_delta.core.scores import Spend
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import CheckResult, Errored, Halt, Scored, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.ports import Judge

MAX_ASKED = 3
"""How often one question is put to the judge before its trial is lost for want of a verdict."""


async def grade(
    trial: Trial,
    transcript: Transcript,
    judge: Judge | None,
    halt: Callable[[Halt], None],
    before: Judging | None = None,
) -> Scored | Errored:
    """Run every check of the trial's case. A check that gives out loses the trial, not the run.

    Slow checks run in a thread: the time that trials beside this one take is being measured. The
    judge comes last, and not at all where the trial is lost already. One that would refuse every
    question is told to `halt`. What asking it in vain has cost `before` stays on the trial's bill.
    """
    if any(check.spec.may_be_slow for check in trial.case.checks):
        unjudged = await asyncio.to_thread(graded, trial, transcript)
    else:
        unjudged = graded(trial, transcript)
    question = question_of(trial.skill, trial.case, transcript.answer)
    if question is None or judge is None or isinstance(unjudged, Errored):
        return unjudged if before is None else replace(unjudged, judging=before)
    judging = await _judging(question, judge, halt)
    if before is not None:
        judging = _billed(judging, Spend(before.usage, before.cost_usd))
    return judged(unjudged, judging)


def graded(
    trial: Trial, transcript: Transcript, judging: Judging | None = None
) -> Scored | Errored:
    """The same in this thread, however long it takes, by what a judge has said already."""
    results = []
    for check in trial.case.checks:
        try:
            results.append(_result(check, check.spec.grade(transcript)))
        except TrialError as lost:
            return _lost(trial, transcript, f"check {check.id}: {lost}", judging)
    unjudged = Scored(trial, transcript, tuple(results))
    return unjudged if judging is None else judged(unjudged, judging)


def judged(unjudged: Scored, judging: Judging) -> Scored | Errored:
    """The trial with the judge's verdicts in it; lost where there are none, and one is wanted."""
    trial, transcript = unjudged.trial, unjudged.transcript
    if not trial.case.rubric:
        return replace(unjudged, judging=judging)
    try:
        verdicts = iter(() if judging.error else judging.verdicts_for(trial.case.rubric))
    except MalformedVerdict as malformed:
        judging = replace(judging, error=_no_verdict(malformed))
    if judging.error:
        return _lost(trial, transcript, f"judge: {judging.error}", judging)
    results = []
    for check, result in zip(trial.case.checks, unjudged.checks, strict=True):
        spec = check.spec
        verdict = next(verdicts) if isinstance(spec, RubricLine) else None
        if isinstance(spec, RubricLine) and verdict is not None:
            results.append(_result(check, spec.read(verdict, transcript.answer)))
        else:
            results.append(result)
    return replace(unjudged, checks=tuple(results), judging=judging)


def _result(check: Check, finding: Finding) -> CheckResult:
    return CheckResult(check.id, finding.passed, finding.evidence, finding.score)


def _lost(trial: Trial, transcript: Transcript, why: str, judging: Judging | None) -> Errored:
    return Errored(
        trial,
        why,
        usage=transcript.usage,
        cost_usd=transcript.cost_usd,
        transcript=transcript,
        judging=judging,
    )


async def _judging(question: Question, judge: Judge, halt: Callable[[Halt], None]) -> Judging:
    """Ask until a reply can be read, each time by what was wrong with those before."""
    so_far = Judging(judge.by, question.lines, question.expected)
    rejected: list[Rejected] = []
    while len(rejected) < MAX_ASKED:
        try:
            completion = await judge.ask(question, rejected)
        except TrialError as lost:
            usage = Usage(lost.input_tokens, lost.output_tokens)
            return replace(_billed(so_far, Spend(usage, lost.cost_usd)), error=str(lost))
        except ServiceError as gone:
            halt(Halt(f"judge: {gone}", is_outage=True))
            return replace(so_far, error=str(gone))
        so_far = _billed(so_far, Spend(completion.usage, completion.cost_usd))
        so_far = replace(so_far, replies=(*so_far.replies, completion.text))
        try:
            read_verdicts(completion.text, len(question.lines))
        except MalformedVerdict as malformed:
            rejected.append(Rejected(completion.text, str(malformed)))
        else:
            return so_far
    error = f"{_no_verdict(rejected[-1].problem)} (asked {MAX_ASKED} times)"
    return replace(so_far, error=error)


def _billed(judging: Judging, spend: Spend) -> Judging:
    whole = Spend(judging.usage, judging.cost_usd) + spend
    return replace(judging, usage=whole.usage, cost_usd=whole.cost_usd)


def _no_verdict(problem: object) -> str:
    return f"its reply is no verdict on the rubric: {problem}"
