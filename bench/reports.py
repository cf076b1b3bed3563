"""Comparing and rendering forty thousand outcomes: time, memory, and whether both are linear."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from bench.processes import Cost, measure, median, probe, taking_turns
from bench.table import Row, memory_row, ratio_row, seconds

_SKILLS = 200
_TIMES = 2
_AROUND = ("put in order", "redact")
"""What a run does with outcomes and reports besides comparing and rendering."""


def rows() -> Iterator[Row]:
    measure(probe("compare_and_render", 1))  # leaves the bytecode behind
    whole, half = taking_turns(
        _TIMES,
        lambda: measure(probe("compare_and_render", _SKILLS)),
        lambda: measure(probe("compare_and_render", _SKILLS // 2)),
    )
    steps, half_steps = _typical(whole), _typical(half)
    for step in (*_AROUND, *_compared(steps)):
        cpu = steps[step]
        yield Row(f"40,000 outcomes: {step}, CPU", seconds(cpu), "", cpu, "s", None)
    total, half_total = sum(_compared(steps).values()), sum(_compared(half_steps).values())
    what = "40,000 outcomes: compare, decide and render, CPU"
    yield Row(what, seconds(total), "", total, "s", 3)
    yield ratio_row(
        "the same, next to half as many (linear: 2)",
        total,
        half_total,
        2.2,
        of="20,000 outcomes",
    )
    reference = f"{median(cost.peak for cost in half):.0f} MB 20,000 outcomes"
    yield memory_row("40,000 outcomes: peak", median(c.peak for c in whole), 300, reference)


def _typical(costs: Sequence[Cost]) -> Mapping[str, float]:
    """The median of each step's seconds."""
    runs: list[dict[str, float]] = [json.loads(cost.output) for cost in costs]
    return {step: median(run[step] for run in runs) for step in runs[0]}


def _compared(steps: Mapping[str, float]) -> Mapping[str, float]:
    return {step: cpu for step, cpu in steps.items() if step not in _AROUND}
