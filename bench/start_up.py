"""What a process costs before it does anything: the command's help, and a first model call."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.endpoint import Endpoint
from bench.processes import PYTHON, SKILL_DELTA, Cost, measure, median, probe, taking_turns
from bench.suites import write_skill
from bench.table import Row, ratio_row

_TIMES = 9


def rows() -> Iterator[Row]:
    yield _help()
    with tempfile.TemporaryDirectory() as folder, Endpoint(delay=0) as endpoint:
        yield from _first_call(Path(folder), endpoint)


def _help() -> Row:
    measure([SKILL_DELTA, "--help"])  # leaves the bytecode behind
    ours, bare = taking_turns(
        _TIMES,
        lambda: measure([SKILL_DELTA, "--help"]),
        lambda: measure([PYTHON, "-c", "pass"]),
    )
    return ratio_row("`--help`, CPU", _cpu(ours), _cpu(bare), 3, of="`python -c pass`")


def _first_call(folder: Path, endpoint: Endpoint) -> Iterator[Row]:
    skill = write_skill(folder, cases=1)
    asked = ("--model", "bench", "--base-url", endpoint.url)
    run = _Caller((SKILL_DELTA, "run", str(skill), *asked), endpoint)
    script = _Caller(probe("httpx_post", endpoint.url), endpoint)
    ours, bare = taking_turns(_TIMES, run, script)
    until = run.until_first_call(), script.until_first_call()
    yield ratio_row("`run` of one case, CPU", _cpu(ours), _cpu(bare), 1.3, of="httpx script")
    yield ratio_row("`run` until its first call, wall", *until, 1.3, of="httpx script")


class _Caller:
    """A command that opens one connection to the endpoint."""

    def __init__(self, command: Sequence[str], endpoint: Endpoint) -> None:
        self._command = command
        self._endpoint = endpoint
        self._until: list[float] = []
        self()  # leaves the bytecode behind
        self._until.clear()

    def __call__(self) -> Cost:
        cost = measure(self._command)
        self._until.append(self._endpoint.next_connection() - cost.began)
        return cost

    def until_first_call(self) -> float:
        """Seconds from the start of the process to its connection."""
        return median(self._until)


def _cpu(costs: Sequence[Cost]) -> float:
    return median(cost.cpu for cost in costs)
