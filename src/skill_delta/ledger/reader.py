"""Reads a run record back, whatever a killed run has left of it."""

from __future__ import annotations

import itertools
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from skill_delta.core.scores import Spend
from skill_delta.core.trials import Outcome, Subject, Trial
from skill_delta.core.wording import clipped
from skill_delta.errors import Place, UserError
from skill_delta.ledger.document import LINES, EndLine, RunLine, TrialKey, TrialLine

LONGEST_LINE = 64 * 1024 * 1024

_NEVER_WRITTEN = b"\0"
"""What a disk may put where a machine lost its power before a line was there."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a run record holds: the last run's head, every trial of any of its runs, its end.

    `of_last_run` are the trials that the last run has, run or taken over; of another there may be
    more. `end` is None where it was killed. `superseded` is what trials cost that were run again.
    """

    run: RunLine
    subjects: tuple[Subject, ...]
    trials: Mapping[TrialKey, TrialLine]
    of_last_run: frozenset[TrialKey]
    end: EndLine | None
    superseded: Spend = Spend()

    def outcome_of(self, trial: Trial) -> Outcome | None:
        """What the trial ended as in the last run; None where it is not there."""
        key = TrialKey.of(trial)
        return self.trials[key].outcome_of(trial) if key in self.of_last_run else None

    @property
    def unknown(self) -> int:
        """How many trials are of no skill, case or arm of the last run: no report has them."""
        known = {
            (subject.label, case.name, arm.baseline)
            for subject in self.subjects
            for case in subject.cases
            for arm in (subject.candidate, *subject.baselines)
        }
        return sum((key.skill, key.case, key.baseline) not in known for key in self.trials)


def read_record(path: Path) -> Record | None:
    """The record; None where a run was killed before it had written anything.

    Raises `UserError`, with the line, for what is no record or one of a later version. Half a
    line is what a killed run leaves: it is left out.
    """
    found = _Reading()
    half: Place | None = None
    for place, line in _lines(path):
        if line is None:
            half = half or place
            continue
        if half and not isinstance(line, RunLine):
            # What is appended to the record of a killed run is another run.
            raise UserError("this is no line of a run record: it is no JSON", place=half)
        half = None
        found.add(line, place)
    if found.run is None:
        return None
    try:
        subjects = tuple(subject.restored() for subject in found.run.subjects)
    except ValueError as error:
        raise UserError(f"the record {path} cannot be read: {_first(error)}") from None
    own = frozenset(found.own)
    return Record(found.run, subjects, found.trials, own, found.end, found.superseded)


@dataclass(slots=True)
class _Reading:
    """A record as far as it has been read. `own` are the trials of the last run."""

    run: RunLine | None = None
    end: EndLine | None = None
    trials: dict[TrialKey, TrialLine] = field(default_factory=dict)
    own: set[TrialKey] = field(default_factory=set)
    superseded: Spend = Spend()

    def add(self, line: RunLine | TrialLine | EndLine, place: Place) -> None:
        match line:
            case RunLine():
                self.run, self.end = line, None
                self.own.clear()
            case EndLine():
                self.end = line
            case TrialLine():
                self._add_trial(line, place)
        if self.run is None:
            raise UserError("this is no run record: it does not begin with a run", place=place)

    def _add_trial(self, line: TrialLine, place: Place) -> None:
        if line.error is None and line.transcript is None:
            raise UserError("a trial has neither an answer nor an error", place=place)
        # Only answers are taken over word for word. A trial that was lost again in the same way
        # was paid for again.
        before = self.trials.get(line.key)
        if (line.error is not None or before != line) and not _goes_on_from(before, line):
            self.superseded += _cost_of(before)
        self.trials[line.key] = line
        self.own.add(line.key)


def _goes_on_from(before: TrialLine | None, line: TrialLine) -> bool:
    """Whether it is the same answer, judged again: what it cost before is in its own bill."""
    return (
        before is not None
        and before.fingerprint == line.fingerprint
        and before.transcript == line.transcript
        and before.judging is not None
        and bool(before.judging.error)
        and line.judging is not None
    )


def _cost_of(line: TrialLine | None) -> Spend:
    if line is None:
        return Spend()
    judging, answered = line.judging, line.transcript
    judged = Spend(judging.usage, judging.cost_usd) if judging else Spend()
    if line.error is not None:
        return Spend(line.usage, line.cost_usd) + judged
    return (Spend(answered.usage, answered.cost_usd) if answered else Spend()) + judged


def _lines(path: Path) -> Iterator[tuple[Place, RunLine | TrialLine | EndLine | None]]:
    """Every line that is not blank, with its place; None for half a line."""
    with os.fdopen(_opened(path), "rb") as file:
        for number in itertools.count(1):
            place = Place(str(path), number)
            try:
                raw = file.readline(LONGEST_LINE + 1)
            except OSError as error:
                raise UserError(f"it cannot be read: {error.strerror}", place=place) from None
            if not raw:
                return
            if len(raw) > LONGEST_LINE:
                raise UserError("the line is longer than any of a record", place=place)
            if raw.strip().strip(_NEVER_WRITTEN):
                yield place, _read(raw, place)


def _read(raw: bytes, place: Place) -> RunLine | TrialLine | EndLine | None:
    """One line; None for half a line."""
    try:
        value = json.loads(raw)
    except RecursionError:
        raise UserError("the line nests too deeply", place=place) from None
    except ValueError as error:
        if raw.startswith(b"{"):
            return None
        raise UserError(f"this is no line of a run record: {error}", place=place) from None
    if isinstance(value, dict) and value.get("record_version", 1) != 1:
        version = clipped(str(value["record_version"]))
        raise UserError(
            f"the record is of version {version}, and this program reads version 1",
            hint="read it with a newer skill-delta",
            place=place,
        )
    try:
        return LINES.validate_python(value)
    except ValueError as error:
        problem = f"this is no line of a run record: {_first(error)}"
        raise UserError(problem, place=place) from None


def _opened(path: Path) -> int:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"the record {path} cannot be read: {reason}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UserError(f"the record {path} is no file")
    return file


def _first(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        return f"{clipped('.'.join(map(str, detail['loc'])))}: {detail['msg']}"
    return str(error)
