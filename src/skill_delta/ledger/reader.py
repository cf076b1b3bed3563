"""Reads a run record back, whatever a killed run has left of it."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from skill_delta.core.scores import Spend
from skill_delta.core.trials import Outcome, Subject, Trial
from skill_delta.core.wording import clipped, shown
from skill_delta.errors import Place, UserError
from skill_delta.ledger.document import LINES, LONGEST_LINE, EndLine, RunLine, TrialKey, TrialLine
from skill_delta.regular_files import open_regular

_NEVER_WRITTEN = b"\0"
"""What a disk may put where a machine lost its power before a line was there."""


@dataclass(frozen=True, slots=True)
class Record:
    """What a run record holds: the last run's head, every trial of any of its runs, its end.

    `of_last_run` are the trials that the last run has, run or taken over; of another there may be
    more. `end` is None where it was killed, or where it `is_being_written` still. `superseded` is
    what trials cost that were run again.
    """

    run: RunLine
    subjects: tuple[Subject, ...]
    trials: Mapping[TrialKey, TrialLine]
    of_last_run: frozenset[TrialKey]
    end: EndLine | None
    superseded: Spend = Spend()
    is_being_written: bool = False

    def outcome_of(self, trial: Trial) -> Outcome | None:
        """What the trial ended as in the last run; None where it is not there."""
        key = TrialKey.of(trial)
        return self.trials[key].outcome_of(trial) if key in self.of_last_run else None

    @property
    def spent(self) -> Spend:
        """What all its trials cost, those that were run again once for each time."""
        return sum((line.spend for line in self.trials.values()), self.superseded)

    def of_none(
        self, subjects: Iterable[Subject], called: Callable[[TrialKey], TrialKey] = lambda key: key
    ) -> int:
        """How many trials are of no skill, case or baseline of these: no report has them.

        `called` gives a key of theirs as the record has it.
        """
        known = {
            called(TrialKey(subject.label, case.name, "", arm.baseline, 0))
            for subject in subjects
            for case in subject.cases
            for arm in (subject.candidate, *subject.baselines)
        }
        return sum(replace(key, runner="", repetition=0) not in known for key in self.trials)


def read_record(path: Path, most_bytes: int | None = None) -> Record | None:
    """The record; None where a run was killed before it had written anything.

    Raises `UserError`, with the line, for what is no record or one of a later version, and for
    one of more than `most_bytes`. Half a line is what a killed run leaves: it is left out.
    """
    with _opened(path) as file:
        if most_bytes is not None and os.fstat(file.fileno()).st_size > most_bytes:
            raise UserError(f"the record {path} is larger than {most_bytes:,} bytes")
        is_being_written = _is_locked(file)
        found = _read_to_its_end(file, path)
    if found.run is None:
        return None
    try:
        subjects = tuple(subject.restored() for subject in found.run.subjects)
        _refuse_doubles(subjects)
    except ValueError as error:
        raise UserError(f"the record {path} cannot be read: {_first(error)}") from None
    own = frozenset(found.own)
    return Record(
        found.run, subjects, found.trials, own, found.end, found.superseded, is_being_written
    )


def _read_to_its_end(file: BinaryIO, path: Path) -> _Reading:
    found = _Reading()
    half: Place | None = None
    for place, line in _lines(file, path):
        if line is None:
            half = half or place
            continue
        if half and not isinstance(line, RunLine):
            # What is appended to the record of a killed run is another run.
            raise UserError("this is no line of a run record: it is no JSON", place=half)
        half = None
        found.add(line, place)
    return found


def _is_locked(file: BinaryIO) -> bool:
    """Whether a run holds the lock that `ledger.writer` takes."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(file, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        pass  # some network disks have no locks
    return False


def _refuse_doubles(subjects: Sequence[Subject]) -> None:
    """Of two that go by one name a report would take the answers of one for those of both."""
    names = [subject.label for subject in subjects]
    for subject in subjects:
        of_cases = [(subject.label, case.name) for case in subject.cases]
        of_arms = [(subject.label, arm.baseline) for arm in (subject.candidate, *subject.baselines)]
        if any(len(set(each)) < len(each) for each in (names, of_cases, of_arms)):
            raise ValueError(
                f"two skills, or two cases or arms of {shown(subject.label)}, share a name"
            )


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
        before = self.trials.get(line.key)
        # Only answers are taken over word for word. A trial that was lost again in the same way
        # was paid for again.
        goes_on = before is not None and _goes_on_from(before, line)
        if before is not None and not goes_on and (line.error is not None or before != line):
            self.superseded += before.spend
        self.trials[line.key] = line
        self.own.add(line.key)


def _goes_on_from(before: TrialLine, line: TrialLine) -> bool:
    """Whether it is the same answer, judged again: what it cost before is in its own bill."""
    return (
        before.lacks_a_verdict
        and before.fingerprint == line.fingerprint
        and before.transcript == line.transcript
        and line.judging is not None
    )


def _lines(
    file: BinaryIO, path: Path
) -> Iterator[tuple[Place, RunLine | TrialLine | EndLine | None]]:
    """Every line that is not blank, with its place; None for half a line."""
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


def _opened(path: Path) -> BinaryIO:
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"the record {path} cannot be read: {reason}") from None


def _first(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        detail = error.errors()[0]
        return f"{clipped('.'.join(map(str, detail['loc'])))}: {detail['msg']}"
    return str(error)
