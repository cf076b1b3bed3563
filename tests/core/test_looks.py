"""Looks: how often a suite is sampled, and when that ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.inference import DecisionRule, Ruling
from skill_delta.core.intervals import Interval
from skill_delta.core.looks import Adaptive, Looks, is_settled

IMPROVED_BUT_NOISY = Ruling("inconclusive", Interval(0.05, -0.2, 0.3))
WORSE_BUT_NOISY = Ruling("inconclusive", Interval(-0.05, -0.3, 0.2))
FAILED = Ruling("fail", Interval(-0.5, -0.8, -0.2))


@given(st.integers(1, 20), st.integers(0, 80))
def test_the_looks_share_out_every_repetition_once(each: int, more: int) -> None:
    """All looks together sample each repetition up to the most exactly once, in order."""
    looks = Looks(each, each + more, Adaptive.CONFIRM)

    sampled = [number for look in range(looks.planned) for number in looks.sampled_in(look)]

    assert sampled == list(range(each + more))


def test_without_adaptive_repetition_there_is_one_look() -> None:
    """What may be sampled at most is what the one look samples."""
    looks = Looks(3, 9, Adaptive.OFF)

    assert (looks.planned, looks.most_repetitions, list(looks.sampled_in(0))) == (1, 3, [0, 1, 2])


def test_nobody_pays_to_confirm_that_there_is_no_regression() -> None:
    """`confirm` ends at a delta on or above the bar; `resolve` goes on until it is decided."""
    bar = DecisionRule()

    assert is_settled(IMPROVED_BUT_NOISY, bar, Adaptive.CONFIRM)
    assert not is_settled(IMPROVED_BUT_NOISY, bar, Adaptive.RESOLVE)
    assert not is_settled(WORSE_BUT_NOISY, bar, Adaptive.CONFIRM)
    assert is_settled(WORSE_BUT_NOISY, bar, Adaptive.OFF)
    assert all(is_settled(FAILED, bar, adaptive) for adaptive in Adaptive)
