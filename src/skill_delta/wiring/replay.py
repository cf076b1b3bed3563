"""`report`: a run record, rendered again without asking anyone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from skill_delta import pipeline
from skill_delta.core.report import Report
from skill_delta.core.suite import Case, Suite
from skill_delta.core.trials import Errored, Halt, Outcome, Scored
from skill_delta.core.wording import clipped
from skill_delta.errors import ExitCode, UserError
from skill_delta.execution import Budget, Ceilings
from skill_delta.grading import graded
from skill_delta.ledger.ledgers import ReplayLedger
from skill_delta.ledger.reader import Record, read_record
from skill_delta.preparation import Prepared, RunRequest
from skill_delta.render.redaction import Redactor
from skill_delta.render.terminal import render_terminal
from skill_delta.wiring.output_files import checked_outputs, deliver, rendered
from skill_delta.wiring.records import prepared_from
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
) -> ExitCode:
    """Render a record's report. Raises `UserError` for what is none, or cannot be read.

    `outputs` are the files to write, by format. With `regrade` the checks run again, those of
    `evals` where it names eval files.
    """
    places = checked_outputs(outputs)
    if evals is not None and not regrade:
        raise UserError("--evals has no effect: only --regrade runs checks", hint="add --regrade")
    found = report_of(_record(path), regrade=regrade, evals=evals)
    text, redact = partial(render_terminal, found), Redactor([]).redact
    return deliver(rendered(found, places), text, redact, terminal, found.gate.exit_code)


def _record(path: Path) -> Record:
    record = read_record(path)
    if record is None:
        raise UserError(f"the record {path} holds no run: it was killed before its first line")
    return record


def report_of(record: Record, *, regrade: bool = False, evals: Path | None = None) -> Report:
    """What a record comes to: the run again, in which no trial may start."""
    try:
        ready, request = prepared_from(record)
    except ValueError as error:
        raise UserError(f"the record asks for what this version does not know: {error}") from None
    if evals is not None:
        ready = _with_checks_of(ready, evals)
    ledger = ReplayLedger(record, _regraded if regrade else _as_it_was)
    return asyncio.run(_replayed(record, ready, request, ledger))


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
