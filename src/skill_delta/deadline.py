"""An end for what may never come to one."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar, cast

T = TypeVar("T")


def within(seconds: float, ask: Callable[[], T]) -> T:
    """What is answered in that time. Raises `TimeoutError`, and whatever asking raises.

    In a thread, since no timeout of a socket is one for all that comes out of it. What comes too
    late is left alone, and ends with the process.
    """
    answered: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def work() -> None:
        try:
            answered.put((ask(), None))
        except Exception as error:  # noqa: BLE001 - it is raised where it was asked
            answered.put((None, error))

    Thread(target=work, daemon=True).start()
    try:
        found, error = answered.get(timeout=seconds)
    except Empty:
        raise TimeoutError(f"no whole answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return cast("T", found)
