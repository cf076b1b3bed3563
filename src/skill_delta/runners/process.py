"""The one place that starts processes: bounded, and ended with all that they start."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skill_delta.runners import supervisor

_GRACE_SECONDS = 5.0
"""How long ending a process and all that it started may take."""
_CHUNK = 64 * 1024
_PR_SET_DUMPABLE = 4


@dataclass(frozen=True, slots=True)
class Command:
    """What to run. `environment` is all that it is given; `user` is whom it runs as, by number."""

    arguments: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]
    user: int | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended. `exit_code` is None where its time was up."""

    exit_code: int | None
    stdout: str
    stderr: str


async def run_command(command: Command, *, seconds: float, most_bytes: int) -> Ended:
    """Run it to its end, or for so long; then nothing that it started runs any more.

    Of each stream at most `most_bytes` are kept, and how many were cut is said. Raises `OSError`
    where it cannot be started at all.
    """
    user = "-" if command.user is None else str(command.user)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-B", supervisor.__file__, user),
        *command.arguments,
        cwd=command.folder,
        env=dict(command.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - they are pipes
    assert process.stderr is not None  # noqa: S101
    streams = [_Kept(process.stdout, most_bytes), _Kept(process.stderr, most_bytes)]
    reading = [asyncio.create_task(stream.read()) for stream in streams]
    code: int | None = None
    try:
        with contextlib.suppress(TimeoutError):
            code = await asyncio.wait_for(process.wait(), seconds)
        return Ended(code, *[await _told(*each) for each in zip(streams, reading, strict=True)])
    finally:
        await asyncio.shield(_ended(process, reading))


async def _told(stream: _Kept, reading: asyncio.Task[None]) -> str:
    # Its time may be up, and whoever it started may hold the stream open.
    await asyncio.wait([reading], timeout=0.2)
    return stream.text


async def _ended(
    process: asyncio.subprocess.Process, reading: Sequence[asyncio.Task[None]]
) -> None:
    for end in (process.terminate, process.kill):
        with contextlib.suppress(ProcessLookupError):
            end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
            break
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)


class _Kept:
    """The beginning of a stream that is read to its end, whatever comes."""

    def __init__(self, stream: asyncio.StreamReader, most: int) -> None:
        self._stream = stream
        self._most = most
        self._held = b""
        self._size = 0

    async def read(self) -> None:
        while chunk := await self._stream.read(_CHUNK):
            self._size += len(chunk)
            self._held += chunk[: self._most - len(self._held)]

    @property
    def text(self) -> str:
        cut = self._size - len(self._held)
        told = self._held.decode("utf-8", "replace")
        return f"{told}\n… ({cut:,} more bytes were cut)" if cut else told


def works(arguments: Sequence[str], seconds: float = 10.0) -> str:
    """Run a command that should simply succeed; why it did not, empty where it did."""
    try:
        ended = subprocess.run(  # noqa: S603 - our own words
            arguments, env={}, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == 0:
        return ""
    lines = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0] if lines else f"it ended with exit code {ended.returncode}"


def hide_memory() -> None:
    """On Linux: keep other processes of our user from reading our environment and memory.

    Does not bind root. Our own children can be read again once they run a program.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
