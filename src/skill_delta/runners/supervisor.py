"""Runs one command and ends all that it started: `python supervisor.py USER COMMAND…`.

A program of its own, that knows nothing of the package. What a command leaves behind (a process
that went into the background, in a session of its own) becomes a child of this one, so that nothing
outlives it. USER is the number of the user that the command runs as, or `-`. Ends as the command
did; a command that a signal ended is 128 and its number, as in a shell.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

MAX_WRITTEN_BYTES = 100 * 1024 * 1024
"""The largest file that a command can write."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CANNOT_RUN = 126


class _StoppedError(Exception):
    """Whoever started us wants it to end, or is gone."""


def main(user: str, command: Sequence[str]) -> int:
    """Run the command to its end; its exit code."""
    starter = os.getppid()
    signal.signal(signal.SIGTERM, _stop)
    _adopt()
    child = 0
    try:
        if os.getppid() != starter:
            return _CANNOT_RUN
        child = os.fork()
        if child == 0:
            _become(user, command)
        _, status = os.waitpid(child, 0)
        return _code(status)
    except _StoppedError:
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end_all(child)


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _StoppedError


def _adopt() -> None:
    """On Linux: orphans below us become ours, and we end with whoever started us."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _become(user: str, command: Sequence[str]) -> NoReturn:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN_BYTES, MAX_WRITTEN_BYTES))
        if user != "-":
            os.setgroups([])
            os.setgid(int(user))
            os.setuid(int(user))
        os.execv(command[0], list(command))  # noqa: S606 - that is the point
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
    finally:
        os._exit(_CANNOT_RUN)


def _end_all(child: int) -> None:
    if child > 0:
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            # What a child leaves behind when it dies is ours the moment after.
            for process in _children():
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    own = str(os.getpid())
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            # The name, in parentheses, may hold anything.
            if status.read_text(errors="replace").rpartition(")")[2].split()[1] == own:
                yield int(status.parent.name)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
