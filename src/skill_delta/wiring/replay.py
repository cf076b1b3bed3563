"""`report`: a run record, rendered again. Nobody is asked, but for a judge that is named."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from skill_delta import pipeline
from skill_delta.core.agreement import agreement_notes
from skill_delta.core.judging import JudgedBy, kinship
from skill_delta.core.report import Environment, Report
from skill_delta.core.suite import Case, Suite
from skill_delta.core.trials import Errored, Halt, Outcome, Scored
from skill_delta.core.wording import clipped, count
from skill_delta.errors import ExitCode, UserError
from skill_delta.execution import CANCELLED, Budget, Ceilings
from skill_delta.grading import graded
from skill_delta.ledger.document import TrialKey
from skill_delta.ledger.ledgers import ReplayLedger
from skill_delta.ledger.reader import Record, read_record
from skill_delta.ports import Judge
from skill_delta.preparation import Prepared, RunRequest
from skill_delta.render.terminal import render_terminal
from skill_delta.settings.model import Settings, kebab
from skill_delta.settings.reading import settle
from skill_delta.wiring.assembly import judge_of
from skill_delta.wiring.check import is_forgiven
from skill_delta.wiring.endpoints import redactor_for
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.output_files import checked_outputs, deliver, rendered
from skill_delta.wiring.records import notes_of, prepared_from
from skill_delta.wiring.rejudging import JudgedAgain, judge_again, to_judge_again
from skill_delta.wiring.terminal import Terminal
from skill_delta.wiring.working_copy import named_suite

KILLED = Halt("the run was ended before it")
RUNNING = Halt("the run has not come to it yet: its record is still being written")
GONE = Halt("the record does not have it")
NEVER_TAKEN = Halt("the record does not have it", is_ceiling=True)
"""Other checks may leave open what was settled and ask for a further look, which nobody took."""


def report(
    path: Path,
    outputs: Mapping[str, str],
    terminal: Terminal,
    *,
    regrade: bool,
    evals: Path | None,
    judge: Mapping[str, JsonValue],
    keys: Keys,
) -> ExitCode:
    """Render a record's report.

    `outputs` are the files to write, by format. With `regrade` the checks run again, those of
    `evals` where it names eval files; the judge is asked again where `judge` holds a setting of it,
    else its recorded verdicts are read again. Raises `UserError` for what is no record or cannot be
    read, `ServiceError` for a judge that cannot be asked.
    """
    places = checked_outputs(outputs, {"the record": path})
    given = ("evals", evals is not None), *((kebab(name), True) for name in judge)
    for flag, is_given in given:
        if is_given and not regrade:
            raise UserError(
                f"--{flag} has no effect: only --regrade reads it", hint="add --regrade"
            )
    record = _record(path)
    settings = _settings(judge, record)
    asked = _judge(settings, keys) if judge else None
    found, code = report_of(record, regrade=regrade, evals=evals, judge=asked, terminal=terminal)
    text, redact = partial(render_terminal, found), redactor_for(settings, keys).redact
    return deliver(rendered(found, places), text, redact, terminal, code)


def _settings(judge: Mapping[str, JsonValue], record: Record) -> Settings:
    """What a run would have been told that has this judge; by default the recorded model judges."""
    recorded = record.run.environment.judge
    settings = settle({**judge, "runner": ["scripted"]}, None)
    if recorded is not None and judge and settings.judge_name == recorded.name:
        model = settings.judge_model or recorded.model or None
        settings = settings.model_copy(update={"judge_model": model})
    return settings


def _judge(settings: Settings, keys: Keys) -> Judge:
    scripted = settings.judge_name == "scripted"
    if scripted and settings.replies is None:
        raise UserError("the scripted judge needs a file to judge from", hint="add --replies")
    if settings.replies is not None and not scripted:
        raise UserError("--replies has no effect: the judge is not scripted")
    return judge_of(settings, (), keys)


def _record(path: Path) -> Record:
    record = read_record(path)
    if record is None:
        raise UserError(f"the record {path} holds no run: it was killed before its first line")
    return record


def report_of(
    record: Record,
    *,
    regrade: bool = False,
    evals: Path | None = None,
    judge: Judge | None = None,
    terminal: Terminal | None = None,
) -> tuple[Report, ExitCode]:
    """What a record comes to: the run again, in which no trial may start."""
    try:
        ready, request = prepared_from(record)
    except ValueError as error:
        raise UserError(f"the record asks for what this version does not know: {error}") from None
    if evals is not None:
        ready = _with_checks_of(ready, evals)
    if judge is None:
        ledger = ReplayLedger(record, regraded if regrade else _as_it_was)
        found = replayed(ready, request, ledger, NEVER_TAKEN if regrade else GONE)
    else:
        found = _judged_again(record, ready, request, judge, terminal)
    # A run that was killed let nothing through: it had not come to its end.
    forgiven = record.end is not None and is_forgiven(found, request.on_unmeasured)
    return found, ExitCode.PASSED if forgiven else found.gate.exit_code


def _judged_again(
    record: Record, ready: Prepared, request: RunRequest, judge: Judge, terminal: Terminal | None
) -> Report:
    number = to_judge_again(record, ready.subjects)
    if not number:
        raise UserError("no recorded answer is to a case with a rubric, so there is no judging it")
    if terminal is not None and judge.costs_money:
        terminal.say(f"Plan: {count(number, 'recorded answer')} judged by {judge.by.title}\n")

    async def asked() -> JudgedAgain:
        try:
            return await judge_again(record, ready.subjects, judge, request.at_once)
        finally:
            await judge.close()

    again = asyncio.run(asked())

    def reread(outcome: Outcome) -> Outcome:
        return again.outcomes.get(TrialKey.of(outcome.trial)) or regraded(outcome)

    run = record.run
    now = replace(record, run=replace(run, environment=replace(run.environment, judge=judge.by)))
    notes = _of_this_judge(ready.notes, run.environment, judge.by)
    retold = replace(ready, notes=(*agreement_notes(again.agreement), *notes))
    found = replayed(retold, request, ReplayLedger(now, reread), NEVER_TAKEN)
    # What the judge was asked before was paid for as well.
    spent = found.spent_before + again.earlier
    return replace(found, agreement=again.agreement, spent_before=spent)


def _of_this_judge(notes: Sequence[str], was: Environment, now: JudgedBy) -> Iterator[str]:
    """The notes, with what they say of the judge's family put right."""
    outdated = kinship(was.judge, was.models) if was.judge else ()
    yield from (note for note in notes if note not in outdated)
    yield from kinship(now, was.models)


def replayed(ready: Prepared, request: RunRequest, ledger: ReplayLedger, missing: Halt) -> Report:
    """The recorded run again, as it is asked for now.

    `missing` says why a trial is not there where the record's own run ended by itself.
    """
    record = ledger.recorded
    end = record.end
    closed = RUNNING if record.is_being_written else KILLED
    if end is not None:
        by_itself = end.by_ceiling or end.halted == CANCELLED
        halted = Halt(end.halted, end.by_ceiling, is_outage=not by_itself)
        closed = halted if end.halted else missing
    finished_at = end.finished_at if end else record.run.started_at
    ports = pipeline.Ports(
        runners={},
        budget=Budget(Ceilings(), lambda: 0.0, closed),
        progress=_Nobody(),
        ledger=ledger,
        cancelled=asyncio.Event(),
        started_at=record.run.started_at,
        now=lambda: finished_at,
    )
    found = asyncio.run(pipeline.evaluate(ready, request, record.run.environment, ports))
    return replace(found, notes=(*found.notes, *notes_of(ledger)))


class _Nobody:
    """Nobody watches: it is over in a moment."""

    def begin(self, trials: int) -> None:
        pass

    def finished(self, outcome: Outcome) -> None:
        pass

    def end(self) -> None:
        pass


def _as_it_was(outcome: Outcome) -> Outcome:
    return outcome


def regraded(outcome: Outcome) -> Outcome:
    """The same answer, judged again. What was lost without an answer stays lost."""
    match outcome:
        case Scored(transcript=transcript, judging=judging):
            return graded(outcome.trial, transcript, judging)
        case Errored(transcript=transcript, judging=judging) if transcript is not None:
            return graded(outcome.trial, transcript, judging)
        case _:
            return outcome


def _with_checks_of(ready: Prepared, evals: Path) -> Prepared:
    """The recorded cases with the checks that the eval files have now for cases of the name."""
    if len(ready.subjects) > 1:
        raise UserError(
            f"--evals names the cases of one skill, but the record has {len(ready.subjects)}"
        )
    subjects = tuple(
        replace(subject, cases=tuple(_checked_by(named_suite(subject.label, evals), subject.cases)))
        for subject in ready.subjects
    )
    return replace(ready, subjects=subjects)


def _checked_by(suite: Suite | None, cases: Sequence[Case]) -> Iterator[Case]:
    now = {case.name: case for case in suite.cases} if suite else {}
    if now.keys().isdisjoint(case.name for case in cases):
        raise UserError(
            "--evals has no case of the record",
            hint=f"the record has {clipped(', '.join(case.name for case in cases))}",
        )
    for case in cases:
        yield replace(case, checks=now[case.name].checks) if case.name in now else case
