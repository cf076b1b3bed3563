"""Recorded answers, put to a judge again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_delta.core.agreement import Agreement, Rejudged, agreement_of
from skill_delta.core.scores import Spend, spend_of_judging
from skill_delta.core.transcript import Transcript
from skill_delta.core.trials import Halt, Outcome, Subject, Trial
from skill_delta.errors import ServiceError
from skill_delta.grading import grade
from skill_delta.ledger.document import TrialKey, TrialLine
from skill_delta.ledger.reader import Record
from skill_delta.ports import Judge


@dataclass(frozen=True, slots=True)
class JudgedAgain:
    """What became of the recorded answers. `earlier` is what judging them had cost before."""

    outcomes: Mapping[TrialKey, Outcome]
    agreement: Agreement
    earlier: Spend


@dataclass(frozen=True, slots=True)
class _Answer:
    trial: Trial
    transcript: Transcript
    line: TrialLine


def to_judge_again(record: Record, subjects: Sequence[Subject]) -> int:
    """How many recorded answers there are to a case with a rubric."""
    return sum(1 for _ in _answers(record, subjects))


async def judge_again(
    record: Record, subjects: Sequence[Subject], judge: Judge, at_once: int
) -> JudgedAgain:
    """Grade every recorded answer to a case with a rubric anew, by the cases of `subjects`.

    Raises `ServiceError` where the judge would refuse them all.
    """
    halts: list[Halt] = []
    turns = asyncio.Semaphore(at_once)

    async def graded(answer: _Answer) -> Rejudged:
        async with turns:
            if halts:
                raise ServiceError(halts[0].reason)
            outcome = await grade(answer.trial, answer.transcript, judge, halts.append)
            return Rejudged(answer.trial, answer.line.judging, outcome)

    answers = list(_answers(record, subjects))
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(graded(answer)) for answer in answers]
    except* ServiceError:
        pass
    if halts:
        raise ServiceError(halts[0].reason)
    found = [task.result() for task in tasks]
    return JudgedAgain(
        {TrialKey.of(each.trial): each.now for each in found},
        agreement_of(found, judge.by),
        sum(map(_judges_spend, answers), Spend()),
    )


def _judges_spend(answer: _Answer) -> Spend:
    return spend_of_judging(answer.line.judging)


def _answers(record: Record, subjects: Sequence[Subject]) -> Iterator[_Answer]:
    """The answers of the last run, in the order of its cases."""
    for subject in subjects:
        for case in subject.cases:
            for arm in (subject.candidate, *subject.baselines):
                for key in _of_case(record, subject.label, case.name, arm.baseline):
                    line = record.trials[key]
                    if case.rubric and line.transcript is not None:
                        trial = Trial(subject.label, arm, case, key.runner, key.repetition)
                        yield _Answer(trial, line.transcript, line)


def _of_case(record: Record, skill: str, case: str, baseline: str) -> list[TrialKey]:
    found = (
        key
        for key in record.of_last_run
        if (key.skill, key.case, key.baseline) == (skill, case, baseline)
    )
    return sorted(found, key=lambda key: (key.runner, key.repetition))
