"""Numbers as people read them: short, signed where a sign says something, and never `-0`."""

from __future__ import annotations

from collections.abc import Collection

from skill_delta.core.scores import Spend
from skill_delta.core.wording import decimals_apart


def rate(value: float) -> str:
    """A share in [0, 1]: `67%`, and `99.6%` where rounding would claim all or nothing."""
    return _percent(value, "")


def rate_delta(value: float) -> str:
    """A difference of shares: `+60%`, `-0.4%`."""
    return _percent(value, "+")


def points(delta: float, *, signed: bool = True, lines: Collection[float] = ()) -> str:
    """A difference of shares in whole points: `−27`, `+4`, `0`.

    With the decimals that tell it from each of the `lines` that it is held against.
    """
    decimals = decimals_apart(delta, lines)
    size = round(abs(delta) * 100, decimals)
    sign = ("−" if delta < 0 else "+") if size and signed else ""
    return f"{sign}{size:.{decimals}f}"


def line(delta: float) -> str:
    """What a difference is held against, with the decimals it has: `−10`, `0`, `+0.5`."""
    decimals = next((n for n in range(4) if abs(round(delta, n + 2) - delta) < 1e-9), 4)
    size = abs(delta) * 100
    return f"{'−' if delta < 0 else '+'}{size:.{decimals}f}" if abs(delta) >= 1e-9 else "0"


def signed(value: float, digits: int = 0) -> str:
    """`+301804`, `-60`, `+0`."""
    # Rounding first and adding zero after turns -0.0 into 0.0.
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def dollars(value: float) -> str:
    """An amount in US dollars without its sign of currency: `0.0123`, `0.000020`."""
    return f"{value:.{_dollar_digits(value)}f}"


def dollar_delta(value: float) -> str:
    """A difference in US dollars without its sign of currency: `-0.0002`."""
    return signed(value, _dollar_digits(value))


def counted(number: int, noun: str) -> str:
    """`1 case`, `1,234 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def spent(spend: Spend) -> str:
    """What a run cost: `3,120 tokens, $0.0123`."""
    cost = "cost unknown" if spend.cost_usd is None else f"${dollars(spend.cost_usd)}"
    return f"{counted(spend.usage.tokens, 'token')}, {cost}"


def short(commit: str) -> str:
    """A commit id as people quote it."""
    return commit[:8]


def _percent(value: float, sign: str) -> str:
    # Rounding must not make a difference vanish, nor a near miss perfect.
    extremes = {0.0, 1.0, -1.0}
    digits = next(
        (
            digits
            for digits in range(4)
            if round(value, digits + 2) not in extremes or round(value, 6) in extremes
        ),
        4,
    )
    return f"{round(value, digits + 2) + 0.0:{sign}.{digits}%}"


def _dollar_digits(value: float) -> int:
    return 4 if round(value, 4) or not value else 6
