"""Another job's record, judged by rules of our own: no number of it is taken for a result.

The answers are what the record says, and so are a judge's replies. What they are worth is worked
out anew: the checks run again, the replies are held against the answers again, the arms are
compared again, and the gate is that of the settings, never of the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from skill_delta.core.changes import ChangeKind, SkillChange, baselines_for
from skill_delta.core.judging import JudgedBy
from skill_delta.core.policy import Reason
from skill_delta.core.report import Report
from skill_delta.core.trials import NO_SKILL, Halt, Subject
from skill_delta.core.wording import clipped
from skill_delta.errors import UserError
from skill_delta.ledger.foreign import refuse_impossible
from skill_delta.ledger.ledgers import ReplayLedger
from skill_delta.ledger.reader import Record
from skill_delta.preparation import RunRequest
from skill_delta.settings.model import Settings
from skill_delta.wiring.assembly import request_of
from skill_delta.wiring.records import prepared_for
from skill_delta.wiring.replay import regraded, replayed
from skill_delta.wiring.skill_names import KnownSkill, labels_by_name, names_of

MOST_TRIALS = 100_000
"""How many trials a record may plan: a thousand cases, two arms, nine repetitions are 18,000."""

LESS_THAN_ASKED = Halt("the record does not have them")
"""No ceiling: a look that the rules ask for and the record lacks leaves the verdict open."""

PROVENANCE = (
    "measured by a run that may not write here; its record was judged anew, "
    "by the rules of the base branch"
)

_SAME_ON_BOTH_SIDES = (
    "give both workflows the same runner, model, judge and baseline: "
    "the config file on the base branch is read by both"
)


def rejudged(record: Record, settings: Settings) -> Report:
    """What a record comes to by these settings.

    Raises `UserError` for one that no run can have written, and for one that was measured with
    another runner, model or judge, or compared with less, than the settings ask for.
    """
    refuse_impossible(record)
    changes = {change.folder: change for change in record.run.changes}
    _refuse_other_runners(record, settings)
    _refuse_another_judge(record, settings)
    for subject in record.subjects:
        _refuse_less_compared(record, subject, changes.get(_folder(subject)), settings)
    request = _request(record, settings)
    _refuse_too_many(record, request)
    ready = prepared_for(record, request.policy.looks)
    ready = replace(
        ready,
        notes=(PROVENANCE, *ready.notes),
        objections=tuple(dict.fromkeys((*ready.objections, *_refusals(record, settings)))),
    )
    return replayed(ready, request, ReplayLedger(record, regraded), LESS_THAN_ASKED)


def _request(record: Record, settings: Settings) -> RunRequest:
    request = request_of(settings, labels_by_name(_known_skills(record)))
    return replace(request, policy=replace(request.policy, needs_cases=False))


def _known_skills(record: Record) -> Iterator[KnownSkill]:
    """The skills of the record; each was called before what its baselines are called."""
    for subject in record.subjects:
        versions = (arm.skill for arm in subject.baselines if arm.baseline != NO_SKILL)
        former = [name for version in versions for name in names_of(version)]
        yield subject.label, subject.candidate.skill, former


def _folder(subject: Subject) -> PurePosixPath:
    return subject.candidate.skill.folder


def _refuse_other_runners(record: Record, settings: Settings) -> None:
    environment = record.run.environment
    for name in dict.fromkeys((*settings.runner, *environment.runners)):
        asked = settings.model_of(name) if name in settings.runner else None
        used = environment.models.get(name, "") if name in environment.runners else None
        if asked != used:
            raise UserError(
                f"the record was measured {_with(name, used)}, "
                f"and this job asks for a run {_with(name, asked)}",
                hint=_SAME_ON_BOTH_SIDES,
            )


def _refuse_another_judge(record: Record, settings: Settings) -> None:
    judge, asked = record.run.environment.judge, settings.judged_by
    if judge is not None and judge != asked:
        raise UserError(
            f"the record was judged by {_called(judge)}, "
            f"and this job asks for a judge that is {_called(asked)}",
            hint=_SAME_ON_BOTH_SIDES,
        )


def _called(judge: JudgedBy) -> str:
    """`'openai' with model 'gpt-5'`."""
    asking = f" with model '{clipped(judge.model)}'" if judge.model else ""
    return f"'{clipped(judge.name)}'{asking}"


def _with(runner: str, model: str | None) -> str:
    """`with runner 'openai' and model 'gpt-5-mini'`."""
    if model is None:
        return f"without runner '{clipped(runner)}'"
    asking = f" and model '{clipped(model)}'" if model else ""
    return f"with runner '{clipped(runner)}'{asking}"


def _refuse_less_compared(
    record: Record, subject: Subject, change: SkillChange | None, settings: Settings
) -> None:
    if change is None or change.kind is ChangeKind.REMOVED:
        raise UserError(f"the record has a skill that nothing changed: {clipped(subject.label)}")
    wanted = baselines_for(change, settings.baseline, settings.new_skills)
    had = {source.baseline for source in record.run.sources if source.skill == subject.label}
    for baseline in settings.baseline if wanted is None else wanted:
        if baseline not in had:
            raise UserError(
                f"skill '{clipped(subject.label)}' was not compared with '{baseline}', "
                "and this job asks for it",
                hint=_SAME_ON_BOTH_SIDES,
            )


def _refuse_too_many(record: Record, request: RunRequest) -> None:
    runs = request.policy.looks.most_repetitions * len(record.run.environment.runners)
    arms = sum(len(each.cases) * (1 + len(each.baselines)) for each in record.subjects)
    if arms * runs > MOST_TRIALS:
        raise UserError(f"the record plans more than {MOST_TRIALS:,} trials")


def _refusals(record: Record, settings: Settings) -> Iterator[Reason]:
    """What the pull request may not do by these settings, in the words of the run itself."""
    measured = {_folder(subject) for subject in record.subjects}
    for change in record.run.changes:
        is_new = change.kind is ChangeKind.ADDED
        if is_new and settings.new_skills == "fail":
            yield Reason(f"skill {change.folder} is new, and new-skills is fail")
        elif (
            settings.uncovered_skills == "fail"
            and change.kind not in {ChangeKind.REMOVED, ChangeKind.MOVED}
            and change.folder not in measured
            and not (is_new and settings.new_skills == "skip")
        ):
            yield Reason(f"skill {change.folder} has no eval cases, and uncovered-skills is fail")
