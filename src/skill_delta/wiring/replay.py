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
from skill_delta.execution import Budget, Ceilings
from skill_delta.grading import graded
from skill_delta.ledger.document import TrialKey
from skill_delta.ledger.ledgers import ReplayLedger
from skill_delta.ledger.reader import Record, read_record
from skill_delta.ports import Judge
from skill_delta.preparation import Prepared, RunRequest
from skill_delta.render.terminal import render_terminal
from skill_delta.settings.model import MOST_AT_ONCE, Settings, kebab
from skill_delta.settings.reading import settle
from skill_delta.wiring.assembly import judge_of
from skill_delta.wiring.endpoints import redactor_for
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.output_files import checked_outputs, deliver, rendered
from skill_delta.wiring.records import prepared_from
from skill_delta.wiring.rejudging import judge_again, to_judge_again
from skill_delta.wiring.terminal import Terminal
from skill_delta.wiring.working_copy import named_suite

KILLED = Halt("the run was ended before it")
NOT_THERE = Halt("the record does not have it", is_ceiling=True)
"""Checks that leave open what was settled ask for a further look, which nobody took."""


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
    places = checked_outputs(outputs)
    given = ("evals", evals is not None), *((kebab(name), True) for name in judge)
    for flag, is_given in given:
        if is_given and not regrade:
            raise UserError(
                f"--{flag} has no effect: only --regrade reads it", hint="add --regrade"
            )
    record = _record(path)
    settings = _settings(judge, record)
    asked = _judge(settings, keys) if judge else None
    found = report_of(record, regrade=regrade, evals=evals, judge=asked, terminal=terminal)
    text, redact = partial(render_terminal, found), redactor_for(settings, keys).redact
    return deliver(rendered(found, places), text, redact, terminal, found.gate.exit_code)


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
) -> Report:
    """What a record comes to: the run again, in which no trial may start."""
    try:
        ready, request = prepared_from(record)
    except ValueError as error:
        raise UserError(f"the record asks for what this version does not know: {error}") from None
    if evals is not None:
        ready = _with_checks_of(ready, evals)
    if judge is not None:
        return _judged_again(record, ready, request, judge, terminal)
    ledger = ReplayLedger(record, _regraded if regrade else _as_it_was)
    return asyncio.run(_replayed(record, ready, request, ledger))


def _judged_again(
    record: Record, ready: Prepared, request: RunRequest, judge: Judge, terminal: Terminal | None
) -> Report:
    number = to_judge_again(record, ready.subjects)
    if not number:
        raise UserError("no recorded answer is to a case with a rubric, so there is no judging it")
    if terminal is not None and judge.costs_money:
        terminal.say(f"Plan: {count(number, 'recorded answer')} judged by {judge.by.title}\n")

    async def story() -> Report:
        try:
            # Anyone may have written the record, and any number into it.
            at_once = min(max(1, request.at_once), MOST_AT_ONCE)
            found = await judge_again(record, ready.subjects, judge, at_once)
        finally:
            await judge.close()

        def reread(outcome: Outcome) -> Outcome:
            again = found.outcomes.get(TrialKey.of(outcome.trial))
            return _regraded(outcome) if again is None else again

        run = record.run
        environment = replace(run.environment, judge=judge.by)
        now = replace(record, run=replace(run, environment=environment))
        notes = (*_of_this_judge(ready.notes, run.environment, judge.by),)
        retold = replace(ready, notes=(*agreement_notes(found.agreement), *notes))
        report = await _replayed(now, retold, request, ReplayLedger(record, reread))
        # What the judge was asked before was paid for as well.
        spent = report.spent_before + found.earlier
        return replace(report, agreement=found.agreement, spent_before=spent)

    return asyncio.run(story())


def _of_this_judge(notes: Sequence[str], was: Environment, now: JudgedBy) -> Iterator[str]:
    """The notes, with what they say of the judge's family put right."""
    outdated = kinship(was.judge, was.models) if was.judge else ()
    yield from (note for note in notes if note not in outdated)
    yield from kinship(now, was.models)


async def _replayed(
    record: Record, ready: Prepared, request: RunRequest, ledger: ReplayLedger
) -> Report:
    end = record.end
    closed = KILLED
    if end is not None:
        closed = Halt(end.halted, end.by_ceiling) if end.halted else NOT_THERE
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
    return await pipeline.evaluate(ready, request, record.run.environment, ports)


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


def _regraded(outcome: Outcome) -> Outcome:
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
