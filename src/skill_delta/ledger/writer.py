"""Writes a run record: a line the moment a trial is done, on the disk within a second."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import JsonValue

from skill_delta.errors import UserError
from skill_delta.ledger.document import LINES, LONGEST_LINE, EndLine, RunLine, TrialKey, TrialLine
from skill_delta.ledger.stand_ins import StandIns, renamed
from skill_delta.regular_files import append_to_regular

LINES_A_SYNC = 16
SECONDS_A_SYNC = 1.0


class RecordWriter:
    """Appends to one record, after what a killed run may have left of a line.

    Secrets are taken out of every text before it is escaped; names that differ still do. Raises
    `UserError` where the file cannot be opened; a write that fails later never ends the run, and is
    told as `problem`.
    """

    def __init__(
        self, path: Path, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        """`clock` counts seconds."""
        self._stand_ins = StandIns(redact)
        self._clock = clock
        self._unsynced = 0
        self._synced_at = clock()
        self._gave_out = False
        self.problem = ""
        """What went wrong while writing, in words; empty while nothing did."""
        self._path = path
        self._file = _opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, line: RunLine | TrialLine | EndLine) -> None:
        """Append one line. Never raises, for the disk's sake or for what a model sent."""
        if self._gave_out:
            return
        try:
            value = self._without_secrets(line)
            # ASCII: half a surrogate pair, which a model can send, is no UTF-8.
            data = (json.dumps(value) + "\n").encode("ascii")
            if len(data) > LONGEST_LINE:
                self._note(f"lacks a line of {len(data):,} bytes: none may have so many")
            else:
                self._append(data)
        except OSError as error:
            self._gave_out = True
            self._note(f"could not be written: {error.strerror}")
        except (ValueError, RecursionError) as error:
            # A model can nest a call's arguments deeper than anything writes them.
            self._note(f"lacks a line that could not be written: {error}")

    def called(self, key: TrialKey) -> TrialKey:
        """The key as the record has it, without secrets."""
        settle = self._stand_ins.settle
        return TrialKey(
            settle(key.skill),
            settle(key.case),
            settle(key.runner),
            settle(key.baseline),
            key.repetition,
        )

    def _without_secrets(self, line: RunLine | TrialLine | EndLine) -> JsonValue:
        written: dict[str, JsonValue] = LINES.dump_python(line, mode="json")
        # A head names all that there is to tell apart, and trials are of what it names.
        if isinstance(line, RunLine):
            return renamed(written, self._stand_ins.settle)
        return {
            part: renamed(value, self._stand_ins.settle if part == "key" else self._stand_ins.of)
            for part, value in written.items()
        }

    def _append(self, data: bytes) -> None:
        # In one piece: what a kill leaves is whole lines, and at most one half.
        while data:
            data = data[os.write(self._file, data) :]
        self._unsynced += 1
        due = self._clock() - self._synced_at >= SECONDS_A_SYNC
        if due or self._unsynced >= LINES_A_SYNC:
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file)
        self._unsynced = 0
        self._synced_at = self._clock()

    def close(self) -> None:
        """Put the rest on the disk. Never raises for the disk's sake."""
        for step in (os.fsync, os.close):
            try:
                step(self._file)
            except OSError as error:
                self._note(f"could not be written: {error.strerror}")

    def _note(self, what: str) -> None:
        self.problem = self.problem or f"the record {self._path} {what}"


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = append_to_regular(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"the record {path} cannot be written: {reason}") from None
    try:
        _lock(file, path)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")
    except OSError as error:
        os.close(file)
        raise UserError(f"the record {path} cannot be written: {error.strerror}") from None
    except UserError:
        os.close(file)
        raise
    return file


def _lock(file: int, path: Path) -> None:
    """Two runs that write to one record would each be taken for a part of the other."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(
            f"another run is writing the record {path}",
            hint="wait for it, end it, or name another file",
        ) from None
    except OSError:
        return  # some network disks have no locks
