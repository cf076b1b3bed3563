"""What was measured, next to its reference and its target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEADINGS = ("what", "measured", "reference", "ratio", "target", "met?")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `value` is held against `target`, the largest that is good enough.

    Both are in `unit`, which is `x` for a ratio of `measured` to `reference`. A row without a
    target is a part of another one.
    """

    what: str
    measured: str
    reference: str
    value: float
    unit: str
    target: float | None

    @property
    def cells(self) -> tuple[str, ...]:
        ratio = f"{self.value:.2f} x" if self.unit == "x" else ""
        target = "" if self.target is None else f"≤ {self.target:g} {self.unit}"
        return (self.what, self.measured, self.reference, ratio, target, self.verdict)

    @property
    def verdict(self) -> str:
        """`met`, or by how much of the target it was missed."""
        if self.target is None:
            return ""
        missed = self.value / self.target - 1
        return "met" if missed <= 0 else f"missed by {missed:.0%}"


def ratio_row(
    what: str,
    measured: float,
    reference: float,
    target: float | None,
    *,
    of: str = "",
    ours: str = "",
) -> Row:
    """Seconds against the reference's seconds; `of` names the reference, `ours` adds to ours."""
    return Row(
        what,
        f"{seconds(measured)} {ours}".rstrip(),
        f"{seconds(reference)} {of}".rstrip(),
        measured / reference,
        "x",
        target,
    )


def memory_row(what: str, megabytes: float, target: float, reference: str = "") -> Row:
    """A peak of resident memory."""
    return Row(what, f"{megabytes:.0f} MB", reference, megabytes, "MB", target)


def seconds(value: float) -> str:
    """Three digits that matter: `0.412 ms`, `87.1 ms`, `2.41 s`."""
    number, unit = (value, "s") if value >= 1 else (value * 1000, "ms")
    return f"{number:.3g} {unit}"


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table that can also be read as it is."""
    lines = [HEADINGS, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    rule = tuple("-" * width for width in widths)
    return "\n".join(_line(line, widths) for line in (lines[0], rule, *lines[1:]))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
