"""Run records as a test writes them: a head, trials, an end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from builders import CASE, RUNNER, SKILL, a_case, a_trial, an_arm, scored
from skill_delta.core.report import Environment
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, Scored, Subject, Trial
from skill_delta.ledger.document import (
    EndLine,
    RecordedSubject,
    RunLine,
    TrialLine,
    fingerprint_of,
)
from skill_delta.ledger.reader import Record, read_record
from skill_delta.ledger.writer import RecordWriter

VERSION, MODEL = "0.1.0", "gpt-test"

Line = RunLine | TrialLine | EndLine


def a_subject(*cases: str) -> Subject:
    named = tuple(a_case(name) for name in cases or (CASE,))
    return Subject(SKILL, an_arm(), (an_arm("previous"),), named)


def a_run(*subjects: Subject, run_id: str = "run-1") -> RunLine:
    """The head of a record of these subjects."""
    return RunLine(
        skill_delta_version="0.1.0",
        run_id=run_id,
        started_at=datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        request={"repeat": 3},
        environment=Environment(seed=7, runners={RUNNER: VERSION}, models={RUNNER: MODEL}),
        subjects=tuple(map(RecordedSubject.of, subjects or (a_subject(),))),
    )


def recorded(outcome: Scored | Errored) -> TrialLine:
    """The line of one finished trial."""
    return TrialLine.of(outcome, fingerprint_of(outcome.trial, VERSION, MODEL))


def answered(repetition: int = 0, *, answer: str = "I have refunded order 1234.") -> TrialLine:
    return recorded(scored(a_trial(repetition=repetition), answer=answer))


def lost(trial: Trial | None = None, *, tokens: int = 40, cost_usd: float = 0.01) -> Errored:
    """A trial that cost something and said nothing."""
    return Errored(trial or a_trial(), "503 from the provider", Usage(tokens, 0), cost_usd)


def an_end(halted: str = "") -> EndLine:
    ended = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
    return EndLine(finished_at=ended, halted=halted, by_ceiling=False)


def unchanged(text: str) -> str:
    """Nothing is secret."""
    return text


def write(
    path: Path, lines: Sequence[Line], redact: Callable[[str], str] = unchanged
) -> RecordWriter:
    """Append the lines, as one run does."""
    with RecordWriter(path, redact, lambda: 0.0) as writer:
        for line in lines:
            writer.write(line)
    return writer


def read(path: Path) -> Record:
    """The record of a run that came as far as its first line."""
    record = read_record(path)
    assert record is not None
    return record
