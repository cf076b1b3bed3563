"""A record that came from elsewhere: what no run of ours can have written is refused.

The reader has seen to it that no name stands for two things and that each number is one.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_delta.core.policy import Verdict
from skill_delta.core.skills import SkillVersion
from skill_delta.core.trials import Role, Subject
from skill_delta.errors import UserError
from skill_delta.ledger.reader import Record


def refuse_impossible(record: Record) -> None:
    """Raise `UserError` for a record that was changed, or made up."""
    problem = next(_problems(record), "")
    if problem:
        raise UserError(
            f"the record is none that a run wrote: {problem}",
            hint="publish the record.jsonl of the measuring job as it is",
        )


def _problems(record: Record) -> Iterator[str]:
    for subject in record.subjects:
        yield from _problems_of(subject)
    yield from _about_sources(record)
    yield from _about_the_judge(record)
    if any(reason.verdict is Verdict.PASS for reason in record.run.objections):
        yield "an objection that speaks for a pass"


def _problems_of(subject: Subject) -> Iterator[str]:
    candidate, baselines = subject.candidate, subject.baselines
    if candidate.role is not Role.CANDIDATE or candidate.baseline:
        yield "a candidate that is a baseline"
    if any(arm.role is not Role.BASELINE or not arm.baseline for arm in baselines):
        yield "a baseline that is a candidate"


def _about_the_judge(record: Record) -> Iterator[str]:
    """There is one where a case has a rubric, and all that was judged was judged by it."""
    judge = record.run.environment.judge
    asks_for_one = any(case.rubric for subject in record.subjects for case in subject.cases)
    if asks_for_one is not (judge is not None):
        yield "a judge without a rubric, or a rubric without a judge"
    judged = (line.judging for key, line in record.trials.items() if key in record.of_last_run)
    if any(judging is not None and judging.judge != judge for judging in judged):
        yield "a verdict of another judge than its run's"


def _about_sources(record: Record) -> Iterator[str]:
    """Every baseline arm has its source, and every source that was resolved its arm."""
    sources = [(source.skill, source.baseline) for source in record.run.sources]
    if len(set(sources)) < len(sources):
        yield "a baseline that is there twice"
    resolved = {
        (source.skill, source.baseline)
        for source in record.run.sources
        if isinstance(source.version, SkillVersion)
    }
    subjects = {subject.label: subject.baselines for subject in record.subjects}
    arms = {(label, arm.baseline) for label, baselines in subjects.items() for arm in baselines}
    if resolved != arms or not subjects.keys() >= {skill for skill, _ in sources}:
        yield "baselines that do not belong to its skills"
