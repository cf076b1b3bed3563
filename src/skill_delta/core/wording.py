"""What our own sentences are made of: numbers, and someone else's text.

The latter on one line, bounded, with nothing invisible in it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

LIMIT = 120
"""How many characters of someone else's text one sentence quotes."""

MOST_LISTED = 10
"""How many things one sentence names; the others it counts."""


def visible(text: str) -> str:
    """The text with every control, format and unassigned character spelled out (`\\n`)."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def clipped(text: str, limit: int = LIMIT) -> str:
    """The visible text, cut after `limit` characters with the number of those left out."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… (+{len(text) - limit:,} characters)"


def shown(text: str) -> str:
    """The text in quotation marks, clipped."""
    if len(text) <= LIMIT:
        return f'"{visible(text)}"'
    return f'"{visible(text[:LIMIT])}"… (+{len(text) - LIMIT:,} characters)'


def percent(rate: float) -> str:
    """0.6 as `60%`; one decimal where rounding would hide something: 0.996 is `99.6%`."""
    return _shortest(rate, "")


def points(delta: float) -> str:
    """A signed difference of rates: `+60%`, `-0.4%`."""
    return _shortest(delta, "+")


def bounds(
    low: float, high: float, beyond: tuple[Collection[float], Collection[float]] = ((), ())
) -> str:
    """The ends of an interval of differences, to whole per cent: `[-49%, +0%]`.

    With the decimals that tell each end from the lines that it is said to lie `beyond`.
    """
    return f"[{_rounded_points(low, beyond[0])}, {_rounded_points(high, beyond[1])}]"


def _rounded_points(delta: float, lines: Collection[float]) -> str:
    decimals = decimals_apart(delta, lines)
    return f"{round(delta, decimals + 2) + 0.0:+.{decimals}%}"


def decimals_apart(value: float, lines: Collection[float]) -> int:
    """With how many decimals of a per cent (0 to 4) no value is rounded onto a line it is not on.

    Rounded onto its line, a bound would contradict the sentence that says on which side it lies.
    """
    others = [line for line in lines if abs(value - line) > 1e-9]
    apart = (
        decimals
        for decimals in range(4)
        if all(round(value, decimals + 2) != round(line, decimals + 2) for line in others)
    )
    return next(apart, 4)


def _shortest(value: float, sign: str) -> str:
    """As few decimals as tell the value from zero and from a hundred per cent."""
    if abs(value - round(value, 2)) < 1e-9:
        return f"{round(value, 2) + 0.0:{sign}.0%}"
    decimals = next(n for n in range(1, 13) if abs(round(value, n + 2)) not in {0.0, 1.0})
    return f"{value:{sign}.{decimals}%}"


def count(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str]) -> str:
    """`a, b`: at most the first ten by name, ` and 3 more`."""
    left = len(names) - MOST_LISTED
    more = f" and {left:,} more" if left > 0 else ""
    return f"{', '.join(names[:MOST_LISTED])}{more}"
