"""A person, or a CI log, that watches the run on standard error."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from skill_delta.core.scores import Spend, spend_of
from skill_delta.core.trials import Errored, Outcome

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

LINE_EVERY_SECONDS = 5.0
"""How often a log gets a line: often enough to see life, seldom enough to be read."""


class Tally:
    """What is done so far, in one line."""

    def __init__(self, trials: int, clock: Callable[[], float]) -> None:
        self.trials = trials
        self.done = 0
        self.errors = 0
        self._spend = Spend()
        self._clock = clock
        self._began = clock()

    def add(self, outcome: Outcome) -> None:
        self.done += 1
        self.errors += isinstance(outcome, Errored)
        self._spend += spend_of(outcome)

    def __str__(self) -> str:
        parts = [f"{self.done}/{self.trials} trials"]
        if self.errors:
            parts.append(f"{self.errors} errored")
        parts.append(f"{self._spend.usage.tokens:,} tokens")
        cost = self._spend.cost_usd
        parts.append("cost unknown" if cost is None else f"${cost:.4f}")
        if 0 < self.done < self.trials:
            elapsed = self._clock() - self._began
            parts.append(f"about {elapsed / self.done * (self.trials - self.done):.0f} s left")
        return ", ".join(parts)


class LineProgress:
    """A line every few seconds, for logs. Short runs leave none."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._tally = Tally(0, clock)
        self._said = clock()

    def begin(self, trials: int) -> None:
        self._tally = Tally(trials, self._clock)
        self._said = self._clock()

    def finished(self, outcome: Outcome) -> None:
        self._tally.add(outcome)
        if self._clock() - self._said >= LINE_EVERY_SECONDS:
            self._said = self._clock()
            with contextlib.suppress(OSError, ValueError):  # nobody reads along any more
                print(f"skill-delta: {self._tally}", file=self._stream, flush=True)

    def end(self) -> None:
        """Nothing is left on the screen, so there is nothing to clear."""


class BarProgress:
    """A bar that is gone when the run is over, for terminals."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._tally = Tally(0, clock)
        self._bar: RichProgress | None = None
        self._task: TaskID | None = None

    def begin(self, trials: int) -> None:
        from rich.console import Console  # noqa: PLC0415 - only a terminal pays for rich
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

        self._tally = Tally(trials, self._clock)
        columns = (BarColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(file=self._stream), transient=True)
        self._task = self._bar.add_task(str(self._tally), total=trials)
        self._bar.start()

    def finished(self, outcome: Outcome) -> None:
        self._tally.add(outcome)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, description=str(self._tally))

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
