"""One provider's back-off, shared by all who ask it: what one of them learns, all of them know."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from skill_delta.errors import TrialError

FIRST_WAIT = 0.5
"""The longest wait after a first failure, in seconds; it doubles with every further one."""
LONGEST_BACKOFF = 20.0
"""The longest wait that we choose ourselves, in seconds."""


def full_jitter(failures: int, rng: Random) -> float:
    """Seconds to wait after `failures` failures in a row: anywhere up to a doubling limit."""
    return rng.uniform(0, min(LONGEST_BACKOFF, FIRST_WAIT * 2.0 ** (failures - 1)))


class Gate:
    """Lets at most `width` requests through at once, and none while the provider backs off.

    After a refusal it opens for one request; every answer lets one more through, so that fifty
    requests do not learn of one rate limit one by one. After `patience` refusals in a row without
    an answer it turns away all who wait: they would only learn the same.
    """

    def __init__(
        self,
        width: int,
        patience: int,
        *,
        rng: Random,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._width = width
        self._patience = patience
        self._rng = rng
        self._clock = clock
        self._sleep = sleep
        self._open = width
        self._inside = 0
        self._refusals = 0
        self._closures = 0
        self._opens_at = 0.0
        self._last_refusal = ""
        self._changed = asyncio.Event()
        self.outages = 0
        """How often it turned everyone away."""

    async def enter(self, outages: int) -> int:
        """Wait for one's turn. The number it gives goes back to `refused`; `leave` must follow.

        `outages` is the gate's own count when the caller began. Raises `TrialError` once the
        gate has turned everyone away since.
        """
        while True:
            if self.outages != outages:
                raise TrialError(
                    f"the provider refused {self._patience} times in a row, "
                    f"last with {self._last_refusal}"
                )
            if (wait := self._opens_at - self._clock()) > 0:
                await self._sleep(wait)
            elif self._inside < self._open:
                self._inside += 1
                return self._closures
            else:
                await self._changed.wait()

    def leave(self) -> None:
        """The request is over, whatever it brought."""
        self._inside -= 1
        self._wake()

    def answered(self) -> None:
        """The provider takes requests."""
        self._refusals = 0
        self._open = min(self._width, self._open + 1)
        self._wake()

    def refused(self, turn: int, reason: str, retry_after: float) -> None:
        """The provider asked to be left alone for `retry_after` seconds (0: it did not say)."""
        now = self._clock()
        self._opens_at = max(self._opens_at, now + retry_after)
        if turn != self._closures:
            return  # sent before the gate closed: the same refusal, heard again
        self._closures += 1
        self._refusals += 1
        self._open = 1
        self._opens_at = max(self._opens_at, now + full_jitter(self._refusals, self._rng))
        if self._refusals >= self._patience:
            self._last_refusal = reason
            self._refusals = 0
            self.outages += 1
            self._wake()

    def _wake(self) -> None:
        # A pulse: those who wait look again, those who come later wait for the next.
        self._changed.set()
        self._changed.clear()
