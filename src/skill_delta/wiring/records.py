"""Between a run and its record: what was settled becomes a head, and a head becomes that again."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from skill_delta import __version__
from skill_delta.core.intervals import MOST_LOOKS
from skill_delta.core.looks import Looks
from skill_delta.core.report import Environment, Provenance
from skill_delta.core.scorecard import BaselineMode, leg_run_id
from skill_delta.core.scores import Spend
from skill_delta.core.suite import Mode
from skill_delta.core.trials import Role
from skill_delta.core.wording import clipped, count
from skill_delta.errors import UserError
from skill_delta.execution import NoLedger
from skill_delta.ledger.document import RecordedSubject, RunLine, TrialKey
from skill_delta.ledger.ledgers import RecordLedger, ReplayLedger
from skill_delta.ledger.legs import LegLedger
from skill_delta.ledger.reader import Record
from skill_delta.ledger.writer import RecordWriter
from skill_delta.ports import Ledger
from skill_delta.preparation import Prepared, RunRequest
from skill_delta.settings.model import INCREASES, Settings

_REQUEST: TypeAdapter[RunRequest] = TypeAdapter(RunRequest)


def new_run_id() -> str:
    """A name for a run that nobody named: when it started, and four random bytes."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"


def run_line(
    ready: Prepared,
    request: RunRequest,
    environment: Environment,
    run_id: str,
    started_at: datetime,
) -> RunLine:
    """The head of a run's record."""
    provenance = ready.provenance
    return RunLine(
        skill_delta_version=__version__,
        run_id=run_id,
        started_at=started_at,
        request=_REQUEST.dump_python(request, mode="json"),
        environment=environment,
        subjects=tuple(map(RecordedSubject.of, ready.subjects)),
        sources=ready.sources,
        skipped=ready.skipped,
        notes=ready.notes,
        objections=ready.objections,
        suite_changes=dict(ready.suite_changes),
        base=provenance.base,
        head=provenance.head,
        is_working_copy=provenance.is_working_copy,
        changes=provenance.changes,
    )


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where a run keeps its trials: in one record, in one for each leg, or nowhere.

    `resumed` is what the record holds already. `run_id` is made up where it is blank. `secrets`,
    like the run's key, are in no record.
    """

    record: Path | None = None
    legs: tuple[Path, Path] | None = None
    resumed: Record | None = None
    run_id: str = ""
    secrets: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[Path, ...]:
        """The files that are written."""
        return self.legs or ((self.record,) if self.record else ())

    @property
    def spent(self) -> Spend:
        """What the record's trials cost, of which the run that goes on with it is a part."""
        return self.resumed.spent if self.resumed else Spend()


@contextlib.contextmanager
def kept(
    keeping: Keeping,
    ready: Prepared,
    request: RunRequest,
    environment: Environment,
    redact: Callable[[str], str],
    started_at: datetime,
) -> Iterator[Ledger]:
    """What the run keeps its trials in, its head written. Raises `UserError` where it cannot."""
    with contextlib.ExitStack() as open_files:

        def ledger(path: Path, line: RunLine) -> RecordLedger:
            writer = open_files.enter_context(RecordWriter(path, redact, time.monotonic))
            writer.write(line)
            if writer.problem:
                raise UserError(writer.problem)  # without its head nothing of it can be read
            before, versions, models = keeping.resumed, environment.runners, environment.models
            of_none = before.of_none(ready.subjects, writer.called) if before else 0
            return RecordLedger(
                writer, versions, models, before, judge=environment.judge, of_none=of_none
            )

        line = run_line(ready, request, environment, keeping.run_id or new_run_id(), started_at)
        if keeping.legs is not None:
            lines = (_skill_on(line), _skill_off(line))
            yield LegLedger(*map(ledger, keeping.legs, lines))
        elif keeping.record is not None:
            yield ledger(keeping.record, line)
        else:
            yield NoLedger()


def _skill_on(line: RunLine) -> RunLine:
    """The head of the leg with the skill: a run without a baseline."""
    subjects = tuple(replace(subject, baselines=()) for subject in line.subjects)
    return _alone(
        replace(line, run_id=leg_run_id(line.run_id, BaselineMode.SKILL_ON), subjects=subjects)
    )


def _skill_off(line: RunLine) -> RunLine:
    """The head of the leg without it: what it runs is read as a candidate."""
    subjects = tuple(
        replace(
            subject,
            candidate=replace(baseline, role=Role.CANDIDATE, baseline=""),
            baselines=(),
            cases=tuple(case for case in subject.cases if case.mode is not Mode.OFFERED),
        )
        for subject in line.subjects
        for baseline in subject.baselines
    )
    environment = replace(line.environment, hooks_disabled=True)
    run_id = leg_run_id(line.run_id, BaselineMode.SKILL_OFF)
    return _alone(replace(line, run_id=run_id, subjects=subjects, environment=environment))


def _alone(line: RunLine) -> RunLine:
    request = _REQUEST.validate_python(line.request)
    policy = replace(request.policy, min_delta={}, skill_min_delta={}, max_increase={})
    alone = replace(request, baselines=(), policy=replace(policy, max_regressed_cases=None))
    return replace(line, sources=(), request=_REQUEST.dump_python(alone, mode="json"))


def notes_of(ledger: Ledger) -> Iterator[str]:
    """What a reader of the report should know of its record."""
    match ledger:
        case RecordLedger():
            if ledger.stale:
                yield (
                    f"{count(len(ledger.stale), 'recorded trial')} could not be used: the skill, "
                    "the case, the runner, the model or the judge is another now"
                )
            yield from _of_none(ledger.of_none)
            if ledger.writer.problem:
                yield ledger.writer.problem
        case LegLedger(skill_on=on, skill_off=off):
            yield from (leg.writer.problem for leg in (on, off) if leg.writer.problem)
        case ReplayLedger(recorded=record):
            yield from _of_none(record.of_none(record.subjects))


def _of_none(trials: int) -> Iterator[str]:
    if trials:
        yield f"{count(trials, 'recorded trial')} of no skill, case or baseline of this run"


def prepared_from(record: Record) -> tuple[Prepared, RunRequest]:
    """What was settled before the recorded run. Raises ValueError for a request that is none."""
    request = _REQUEST.validate_python(record.run.request)
    _refuse_impossible(request)
    alone = not any(subject.baselines for subject in record.subjects)
    looks = _looks_of_leg(record, request.policy.looks) if alone else request.policy.looks
    request = replace(request, policy=replace(request.policy, looks=looks))
    return prepared_for(record, looks), request


def prepared_for(record: Record, looks: Looks) -> Prepared:
    """What was settled before the recorded run, to be looked at so often."""
    run = record.run
    return Prepared(
        subjects=record.subjects,
        sources=run.sources,
        skipped=run.skipped,
        notes=(*run.notes, *_left_out(record, looks)),
        objections=run.objections,
        provenance=Provenance(run.base, run.head, run.is_working_copy, run.changes),
        suite_changes=run.suite_changes,
    )


def _refuse_impossible(request: RunRequest) -> None:
    """No run was judged by numbers that settings do not take, but a record may hold any."""
    policy, looks = request.policy, request.policy.looks
    numbers = {
        "concurrency": request.at_once,
        "max_cases": request.max_cases,
        "repeat": looks.repetitions,
        "max_repeat": looks.most,
        "min_repeats": policy.min_repeats,
        "margin": policy.margin,
        "confidence": policy.confidence,
        "min_pass_rate": policy.min_pass_rate,
        "per_skill_min": policy.skill_min_pass_rate,
        "min_delta": policy.min_delta,
        "per_skill": {name: {"min-delta": bar} for name, bar in policy.skill_min_delta.items()},
        "max_regressed_cases": policy.max_regressed_cases,
        **{setting: policy.max_increase.get(of) for of, setting in INCREASES.items()},
    }
    try:
        Settings.model_validate(numbers)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{clipped('.'.join(map(str, first['loc'])))}: {first['msg']}") from None
    if looks.most < looks.repetitions or looks.planned > MOST_LOOKS:
        raise ValueError("no gate has such looks")


def _looks_of_leg(record: Record, planned: Looks) -> Looks:
    """A leg has no comparison that would ask for a further look, but it was there in all of them.

    What it has of every case is taken as if it had been asked for at once.
    """
    whole = planned.repetitions
    if all(key.repetition < whole for key in record.of_last_run):
        return planned
    keys = [
        TrialKey(subject.label, case.name, runner, "", 0)
        for subject in record.subjects
        for case in subject.cases
        for runner in record.run.environment.runners
    ]
    while keys and all(replace(key, repetition=whole) in record.of_last_run for key in keys):
        whole += 1
    return Looks(whole, whole)


def _left_out(record: Record, looks: Looks) -> Iterator[str]:
    further = sum(key.repetition >= looks.most_repetitions for key in record.of_last_run)
    if further:
        yield f"{count(further, 'recorded trial')} left out: only some skills were looked at again"
