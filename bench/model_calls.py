"""A thousand model calls, fifty at once, each answered after 200 ms: what the whole run adds."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.endpoint import Endpoint
from bench.processes import SKILL_DELTA, Cost, measure, median, probe, taking_turns
from bench.suites import write_skill
from bench.table import Row, memory_row, ratio_row, seconds

_CASES = 100
_REPEATS = 5
_ARMS = 2
_CALLS = _CASES * _REPEATS * _ARMS
_AT_ONCE = 50
_DELAY = 0.2
_TIMES = 3


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, Endpoint(_DELAY) as endpoint:
        skill = write_skill(Path(folder), _CASES)
        few = _run(skill, endpoint.url, "--case", "case 000")
        measure(few)  # leaves the bytecode behind
        run, floor, started, floor_started = taking_turns(
            _TIMES,
            lambda: measure(_run(skill, endpoint.url, "--repeat", str(_REPEATS))),
            lambda: measure(probe("bare_client", endpoint.url, _CALLS, _AT_ONCE)),
            lambda: measure(few),
            lambda: measure(probe("bare_client", endpoint.url, _ARMS, _AT_ONCE)),
        )
    wall, floor_wall = _wall(run), _wall(floor)
    what = f"{_CALLS:,} calls, the whole `run`, wall"
    yield ratio_row(what, wall, floor_wall, 1.15, of="bare asyncio")
    above = wall - _wall(started), floor_wall - _wall(floor_started)
    yield ratio_row("the same, less a run of one case", *above, None, of="bare asyncio")
    per_call, floor_per_call = _cpu_per_call(run, started), _cpu_per_call(floor, floor_started)
    yield Row(
        "CPU per call above start-up",
        seconds(per_call),
        f"{seconds(floor_per_call)} bare asyncio",
        per_call * 1000,
        "ms",
        1.0,
    )
    peak = median(cost.peak for cost in run)
    yield memory_row(
        f"{_CALLS:,} calls, peak", peak, 80, f"{median(c.peak for c in floor):.0f} MB bare asyncio"
    )


def _run(skill: Path, url: str, *more: str) -> list[str]:
    asked = ["--model", "bench", "--base-url", url, "--baseline", "none"]
    return [SKILL_DELTA, "run", str(skill), *asked, "--concurrency", str(_AT_ONCE), *more]


def _wall(costs: list[Cost]) -> float:
    return median(cost.wall for cost in costs)


def _cpu_per_call(whole: list[Cost], few: list[Cost]) -> float:
    above = median(cost.cpu for cost in whole) - median(cost.cpu for cost in few)
    return above / (_CALLS - _ARMS)
