"""The noise floor of a suite, for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_delta.core.noise_floor import NoiseFloor
from skill_delta.render.escape import plain
from skill_delta.render.figures import counted
from skill_delta.render.judgements import detectable


def render_noise_floors(floors: Sequence[NoiseFloor]) -> str:
    """What each gate would make of unchanged skills with suites like these."""
    lines = ["Noise floor (what the gates make of skills that did not change)"]
    for floor in floors:
        lines += _lines(floor)
    if not floors:
        lines.append("  nothing was measured")
    return "\n".join(lines) + "\n"


def _lines(floor: NoiseFloor) -> Iterator[str]:
    suite = f"{counted(len(floor.rates), 'case')} x {counted(floor.repetitions, 'repetition')}"
    yield f"  {plain(floor.scope.skill)} ({plain(floor.scope.runner)}): {suite} per arm"
    yield f"    the literal gate fails  {floor.alarms.literal:6.1%} of them"
    yield f"    the interval gate fails {floor.alarms.interval:6.1%} of them"
    if floor.repetitions > 1:
        yield f"    {detectable(floor.reading)}"
    steady = floor.cases_without_spread
    if steady:
        yield (
            f"    {counted(steady, 'case')} of {len(floor.rates)} ended alike every time: "
            "if that is luck, the suite is noisier than this"
        )
