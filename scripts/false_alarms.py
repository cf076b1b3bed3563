"""How often the gates are wrong, simulated with the shipped code: `python scripts/false_alarms.py`.

Prints the tables of `docs/statistics.md`: an unchanged skill, one that lost 10 points and one that
lost 20, judged by the literal gate and by the interval gate, with fixed and adaptive repetition.
The same seed prints the same tables on any machine. It measures and judges nothing: the last table
holds the shares of unchanged skills that failed against those that are promised.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from random import Random
from statistics import fmean

from skill_delta.core.inference import DecisionRule
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.simulation import (
    Alarms,
    OperatingCharacteristics,
    alarms,
    lowered,
    operating_characteristics,
)

CASES = (5, 10, 20)
REPETITIONS = (1, 3, 5, 10)
DROPS = {
    0.0: "An unchanged skill: every failure is false",
    0.1: "10 points worse: a pass is false, a failure is right",
    0.2: "20 points worse: a pass is false, a failure is right",
}
SKILLS = 3

BETWEEN = (0.30, 0.95)
TEN_CASES = (None, None, 1.0, 0.0, None, 1.0, None, None, 1.0, None)
"""Of ten cases three always pass, one never does, and six lie `BETWEEN`."""

PROMISED_MEAN, PROMISED_WORST = 0.05, 0.08
"""The share of unchanged skills that may fail: over all cells, and in any one of them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A suite of `cases`, run `repetitions` times, whose mean pass rate fell by `drop`."""

    drop: float
    cases: int
    repetitions: int

    def __str__(self) -> str:
        return f"{self.cases} cases, {self.repetitions} repeats"

    @property
    def columns(self) -> str:
        return f"| {self.cases} | {self.repetitions} |"

    @property
    def fixed(self) -> Looks:
        return Looks(self.repetitions)

    @property
    def adaptive(self) -> Looks:
        return Looks(self.repetitions, 3 * self.repetitions, Adaptive.CONFIRM)

    @property
    def at_once(self) -> Looks:
        """All that the adaptive plan may take, in one look."""
        return Looks(3 * self.repetitions)


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one cell. `together` are several unchanged skills under one status."""

    cell: Cell
    fixed: OperatingCharacteristics
    adaptive: OperatingCharacteristics
    at_once: OperatingCharacteristics
    together: Alarms | None
    together_adaptive: Alarms | None


def suite(seed: int) -> tuple[float, ...]:
    """The pass rates of twenty cases; the smaller suites are its first five and ten."""
    rng = Random(f"{seed} rates")  # noqa: S311 - a simulation
    drawn = [round(rng.uniform(*BETWEEN), 2) for _ in 2 * TEN_CASES]
    return tuple(
        between if rate is None else rate
        for rate, between in zip(2 * TEN_CASES, drawn, strict=True)
    )


def rule(looks: Looks) -> DecisionRule:
    """The action's defaults: no drop asked for, 10 points tolerated, 90 % confidence."""
    return DecisionRule(min_delta=0.0, margin=0.10, confidence=0.90, looks=looks.planned)


def measure(cell: Cell, seed: int, experiments: int) -> Row:
    rng = Random(f"{seed} {cell.drop} {cell}")  # noqa: S311 - a simulation
    skill = lowered(suite(seed)[: cell.cases], cell.drop)
    fixed, adaptive, at_once = (
        operating_characteristics(skill, looks, rule(looks), rng, experiments)
        for looks in (cell.fixed, cell.adaptive, cell.at_once)
    )
    together, together_adaptive = (
        None if cell.drop else alarms([skill] * SKILLS, looks, rule(looks), rng, experiments // 2)
        for looks in (cell.fixed, cell.adaptive)
    )
    return Row(cell, fixed, adaptive, at_once, together, together_adaptive)


def measure_all(seed: int, experiments: int) -> list[Row]:
    """Every cell, the longest first, on all cores; progress goes to stderr."""
    began = time.monotonic()
    cells = [Cell(*each) for each in product(DROPS, CASES, REPETITIONS)]
    longest_first = sorted(cells, key=lambda cell: (cell.drop, -cell.cases * cell.repetitions))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        pending = [pool.submit(measure, cell, seed, experiments) for cell in longest_first]
        for done, future in enumerate(as_completed(pending), start=1):
            cell, seconds = future.result().cell, time.monotonic() - began
            change = f"{cell.drop:.0%} lost" if cell.drop else "unchanged"
            print(f"[{seconds:3.0f} s] {done} of {len(cells)}: {cell}, {change}", file=sys.stderr)
    rows = {row.cell: row for row in (future.result() for future in pending)}
    return [rows[cell] for cell in cells]


def table(rows: Sequence[Row]) -> Iterator[str]:
    """One change of the skill: a line per cell."""
    yield (
        "| cases | repeats | literal: fail | interval: fail | pass "
        "| adaptive: fail | pass | calls saved | at once: fail | pass |"
    )
    yield "|" + " ---: |" * 10
    for row in rows:
        shares = (
            *(row.fixed.literally_fails, row.fixed.fail, row.fixed.passes),
            *(row.adaptive.fail, row.adaptive.passes, row.adaptive.saved),
            *(row.at_once.fail, row.at_once.passes),
        )
        yield f"{row.cell.columns} " + " | ".join(f"{share:.1%}" for share in shares) + " |"


def table_of_several(rows: Sequence[Row]) -> Iterator[str]:
    """Several unchanged skills in one pull request: how often it turns red."""
    yield "| cases | repeats | literal: red | interval: red | adaptive: red |"
    yield "|" + " ---: |" * 5
    for row in rows:
        if row.together and row.together_adaptive:
            literal, interval = row.together.literal, row.together.interval
            adaptive = row.together_adaptive.interval
            yield f"{row.cell.columns} {literal:.1%} | {interval:.1%} | {adaptive:.1%} |"


def false_failures(rows: Sequence[Row]) -> Iterator[tuple[str, float, float, Cell]]:
    """Per way to gate: the mean and the worst share of unchanged skills failed, and where."""
    still = [row for row in rows if not row.cell.drop]
    shares = {
        "literal": {row.cell: row.fixed.literally_fails for row in still},
        "interval": {row.cell: row.fixed.fail for row in still},
        "adaptive": {row.cell: row.adaptive.fail for row in still},
        "at once": {row.cell: row.at_once.fail for row in still},
    }
    for gate, found in shares.items():
        worst = max(found, key=found.__getitem__)
        yield gate, fmean(found.values()), found[worst], worst


LEGEND = """\
`literal` and `interval` take the repeats named, in one look. `adaptive` is `confirm`: up to three
looks of so many repeats. `at once` takes three times the repeats in one look; `calls saved` is the
share of those that adaptive did not run.
"""


def report(rows: Sequence[Row], seed: int, experiments: int) -> Iterator[str]:
    yield LEGEND
    for drop, title in DROPS.items():
        yield f"**{title}**\n"
        yield from table([row for row in rows if row.cell.drop == drop])
        yield ""
    yield f"**{SKILLS} unchanged skills in one pull request: every red one is false**\n"
    yield from table_of_several(rows)
    yield "\n**Unchanged skills failed**\n"
    yield f"| gate | mean (promised {PROMISED_MEAN:.0%}) | worst (promised {PROMISED_WORST:.0%}) |"
    yield "| --- | ---: | ---: |"
    for gate, mean, worst, cell in false_failures(rows):
        yield f"| {gate} | {mean:.1%} | {worst:.1%} ({cell}) |"
    rates = ", ".join(f"{rate:g}" for rate in suite(seed))
    yield f"\nSeed {seed}, {experiments} experiments per cell. Pass rates of the cases: {rates}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, default=8000, help="per cell (default: 8000)")
    parser.add_argument("--seed", type=int, default=1, help="of the rates and runs (default: 1)")
    asked = parser.parse_args()
    if asked.experiments < 2:
        parser.error("--experiments must be 2 or more")
    rows = measure_all(asked.seed, asked.experiments)
    print("\n".join(report(rows, asked.seed, asked.experiments)))


if __name__ == "__main__":
    main()
