"""Runs a process to its end and says what it took."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

PYTHON = sys.executable
SKILL_DELTA = str(Path(sys.executable).with_name("skill-delta"))
PROBES = Path(__file__).parent / "probes"

ENVIRONMENT: Mapping[str, str] = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "NO_PROXY": "127.0.0.1",
    "SKILL_DELTA_API_KEY": "bench",
}
"""All that a measured process is told of this machine. Above all not `PYTHONDONTWRITEBYTECODE`,
which would make each of them compile its imports anew."""

_LONGEST = 120.0
"""How long a process may take, in seconds."""

_PEAK_UNIT = 1 if platform.system() == "Darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: `wall` and `cpu` (user and system) in seconds, `peak` in megabytes.

    `began` is when it started, by the monotonic clock that all processes share.
    """

    began: float
    wall: float
    cpu: float
    peak: float
    output: str


def measure(
    command: Sequence[str],
    folder: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Cost:
    """Run a command to its end, in a folder and with further variables in its environment.

    Raises `RuntimeError` when it fails or takes too long.
    """
    environment = {**ENVIRONMENT, **variables}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        # Without `with`: that would wait, and the kernel tells the cost only to whoever does.
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=err)  # noqa: S603
        limit = threading.Timer(_LONGEST, process.kill)
        limit.daemon = True
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - began
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            said = err.read().decode(errors="replace")[-1000:]
            raise RuntimeError(f"{command} ended with {process.returncode}: {said}")
        peak = usage.ru_maxrss * _PEAK_UNIT / 1e6
        output = out.read().decode(errors="replace")
        return Cost(began, wall, usage.ru_utime + usage.ru_stime, peak, output)


def probe(name: str, *arguments: object) -> tuple[str, ...]:
    """The command that runs one of `bench/probes/`."""
    return (PYTHON, str(PROBES / f"{name}.py"), *map(str, arguments))


def taking_turns(times: int, *measures: Callable[[], Cost]) -> list[list[Cost]]:
    """Each measured so many times, in turns: what slows the machine down slows all of them."""
    rounds = [[one() for one in measures] for _ in range(times)]
    return [list(costs) for costs in zip(*rounds, strict=True)]


def median(values: Iterable[float]) -> float:
    """The middle value: one disturbed measurement does not move it."""
    return statistics.median(values)
