"""One provider's back-off: what one request learns, all of them know."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Time, run
from skill_delta.errors import TrialError
from skill_delta.providers.gate import LONGEST_BACKOFF, Gate, full_jitter


def a_gate(time: Time, width: int = 3, patience: int = 6) -> Gate:
    return Gate(width, patience, rng=Random(1), clock=time.clock, sleep=time.sleep)


async def settled(*tasks: asyncio.Task[int]) -> int:
    """How many have got through, once nothing moves any more."""
    for _ in range(20):
        await asyncio.sleep(0)
    return sum(task.done() for task in tasks)


@given(st.integers(1, 100), st.integers())
def test_waits_double_up_to_a_limit(failures: int, seed: int) -> None:
    """Anywhere below the limit, so that those who failed together do not return together."""
    wait = full_jitter(failures, Random(seed))

    assert 0 <= wait <= min(LONGEST_BACKOFF, 0.5 * 2 ** (failures - 1))


def test_no_more_than_its_width_are_inside() -> None:
    """The next gets in when one leaves."""

    async def story() -> None:
        gate = a_gate(Time())
        asking = [asyncio.create_task(gate.enter(0)) for _ in range(5)]
        assert await settled(*asking) == 3
        gate.leave()
        assert await settled(*asking) == 4
        gate.leave()
        assert await settled(*asking) == 5

    run(story)


def test_nobody_gets_in_while_the_provider_backs_off() -> None:
    """It opens after the time that the provider asked for, and not before."""

    async def story() -> None:
        time = Time()
        gate = a_gate(time)
        turn = await gate.enter(0)
        gate.leave()
        gate.refused(turn, "HTTP 429", retry_after=30)
        await gate.enter(0)

        assert sum(time.waits) == pytest.approx(30)

    run(story)


def test_after_a_refusal_one_goes_first() -> None:
    """Each answer lets one more in, until all are."""

    async def story() -> None:
        gate = a_gate(Time())
        turn = await gate.enter(0)
        gate.leave()
        gate.refused(turn, "HTTP 429", retry_after=1)
        asking = [asyncio.create_task(gate.enter(0)) for _ in range(6)]
        assert await settled(*asking) == 1
        gate.leave()
        gate.answered()
        assert await settled(*asking) == 3
        gate.leave()
        gate.answered()
        assert await settled(*asking) == 5

    run(story)


def test_refusals_of_requests_sent_together_count_once() -> None:
    """They tell of one and the same limit; the longest wait asked for holds."""

    async def story() -> None:
        time = Time()
        gate = a_gate(time, width=50, patience=2)
        turns = [await gate.enter(0) for _ in range(50)]
        for waits, turn in enumerate(turns):
            gate.leave()
            gate.refused(turn, "HTTP 429", retry_after=waits)
        await gate.enter(0)

        assert gate.outages == 0
        assert time.waits == [49]

    run(story)


def test_an_outage_turns_away_all_who_wait() -> None:
    """They would only learn the same, one after the other; who comes later tries for himself."""

    async def story() -> None:
        gate = a_gate(Time(), patience=3)
        waiting: list[asyncio.Task[int]] = []
        for _ in range(3):
            turn = await gate.enter(0)
            waiting = waiting or [asyncio.create_task(gate.enter(0)) for _ in range(3)]
            gate.refused(turn, "HTTP 503", retry_after=0)
            gate.leave()
        for turned_away in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(turned_away, TrialError)
            assert "refused 3 times in a row, last with HTTP 503" in str(turned_away)
        await gate.enter(gate.outages)

    run(story)


def test_an_answer_ends_the_row_of_refusals() -> None:
    """A rate limit that lets some through is no outage."""

    async def story() -> None:
        gate = a_gate(Time(), patience=2)
        for _ in range(10):
            turn = await gate.enter(0)
            gate.refused(turn, "HTTP 429", retry_after=0)
            gate.leave()
            await gate.enter(0)
            gate.answered()
            gate.leave()

        assert gate.outages == 0

    run(story)


def test_who_gives_up_waiting_takes_nobodys_turn() -> None:
    """A cancelled request leaves the gate as it was."""

    async def story() -> None:
        gate = a_gate(Time(), width=1)
        await gate.enter(0)
        first, second = (asyncio.create_task(gate.enter(0)) for _ in range(2))
        await settled(first, second)
        first.cancel()
        gate.leave()

        assert await asyncio.wait_for(second, 1) == 0

    run(story)
