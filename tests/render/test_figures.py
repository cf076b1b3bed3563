"""Numbers as people read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.scores import Spend
from skill_delta.core.transcript import Usage
from skill_delta.render import figures


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (2 / 3, "67%"),
        (0.996, "99.6%"),
        (0.9996, "99.96%"),
        (0.001, "0.1%"),
    ],
)
def test_a_rate_is_whole_unless_that_would_claim_all_or_nothing(value: float, shown: str) -> None:
    """999 of 1,000 is not 100%."""
    assert figures.rate(value) == shown


@given(st.floats(-1, 1))
def test_a_difference_keeps_its_sign_and_nothing_has_none_but_plus(value: float) -> None:
    """A small loss reads as a loss, and no change never as one."""
    shown = figures.rate_delta(value)

    assert re.fullmatch(r"[+-]\d+(\.\d+)?%", shown)
    assert shown.startswith("-") == (round(value, 6) < 0)


@given(st.floats(-1e9, 1e9), st.integers(0, 6))
def test_no_number_is_minus_zero(value: float, digits: int) -> None:
    """`-0` reads as a small loss."""
    assert not re.fullmatch(r"-0(\.0+)?", figures.signed(value, digits))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-0.0002, "-0.0002"), (0.19, "+0.1900"), (-0.00002, "-0.000020"), (0, "+0.0000")],
)
def test_a_cheap_run_still_costs_something(value: float, shown: str) -> None:
    """Four digits, and six where four would show nothing."""
    assert figures.dollar_delta(value) == shown


def test_what_was_spent_is_unknown_where_any_price_is() -> None:
    """A bill with a hole in it is no bill."""
    assert figures.spent(Spend(Usage(3_000, 120), 0.0123)) == "3,120 tokens, $0.0123"
    assert figures.spent(Spend(Usage(1, 0), None)) == "1 token, cost unknown"
