"""Numbers as people read them: short, signed where a sign says something, and never `-0`."""

from __future__ import annotations

from skill_delta.core.scores import Spend


def rate(value: float) -> str:
    """A share in [0, 1]: `67%`, and `99.6%` where rounding would claim all or nothing."""
    return _percent(value, "")


def rate_delta(value: float) -> str:
    """A difference of shares: `+60%`, `-0.4%`."""
    return _percent(value, "+")


def points(delta: float, *, signed: bool = True) -> str:
    """A difference of shares in whole points: `−27`, `+4`, `0`."""
    whole = round(abs(delta) * 100)
    if not whole or not signed:
        return str(whole)
    return f"{'−' if delta < 0 else '+'}{whole}"


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
