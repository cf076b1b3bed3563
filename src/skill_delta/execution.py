"""Runs trials with a limit on concurrency, time, tokens and money.

A lost trial becomes an `Errored` value; what a ceiling, a cancellation or a dead provider keeps
from starting becomes `NotRun`. Every trial of the plan has exactly one outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skill_delta.core.scores import Spend, spend_of
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, NotRun, Outcome, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.grading import grade
from skill_delta.ports import Progress, Runner

CANCELLED = "the run was cancelled"


@dataclass(frozen=True, slots=True)
class Ceilings:
    """When no further trial starts. US dollars, tokens, seconds; None is no limit."""

    cost_usd: float | None = None
    tokens: int | None = None
    seconds: float | None = None

    def reached(self, spend: Spend, elapsed: float) -> str:
        """Which ceiling was reached, in words; empty where none was."""
        if self.tokens is not None and spend.usage.tokens >= self.tokens:
            return f"max-tokens {self.tokens:,} was reached ({spend.usage.tokens:,} used)"
        if self.cost_usd is not None:
            if spend.cost_usd is None:
                return "max-cost cannot be enforced: the price of a finished trial is unknown"
            if spend.cost_usd >= self.cost_usd:
                return f"max-cost ${self.cost_usd:g} was reached (${spend.cost_usd:.4f} spent)"
        if self.seconds is not None and elapsed >= self.seconds:
            return f"max-time {self.seconds:g} s was reached"
        return ""


async def run_trials(
    trials: Sequence[Trial],
    *,
    runners: Mapping[str, Runner],
    at_once: int,
    ceilings: Ceilings,
    progress: Progress,
    cancelled: asyncio.Event,
    clock: Callable[[], float],
) -> tuple[Outcome, ...]:
    """Run the plan in its order, `at_once` trials at a time; outcomes in order of arrival.

    `clock` counts seconds. Once `cancelled` is set, running trials are cancelled and what has
    finished is returned.
    """
    run = _Run(trials, runners, ceilings, progress, clock)
    progress.begin(len(trials))
    try:
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(run.work()) for _ in range(min(at_once, len(trials)))]
            watch = asyncio.create_task(_cancel_on(cancelled, workers, run))
        watch.cancel()
    finally:
        progress.end()
    return run.all_outcomes()


async def _cancel_on(
    cancelled: asyncio.Event, workers: Sequence[asyncio.Task[None]], run: _Run
) -> None:
    await cancelled.wait()
    run.halt(CANCELLED)
    for worker in workers:
        worker.cancel()


class _Run:
    """The state that the workers share: what is next, what was spent, why it stopped."""

    def __init__(
        self,
        trials: Sequence[Trial],
        runners: Mapping[str, Runner],
        ceilings: Ceilings,
        progress: Progress,
        clock: Callable[[], float],
    ) -> None:
        self._trials = trials
        self._next: Iterator[tuple[int, Trial]] = enumerate(trials)
        self._runners = runners
        self._ceilings = ceilings
        self._progress = progress
        self._clock = clock
        self._began = clock()
        self._spend = Spend()
        self._outcomes: dict[int, Outcome] = {}
        self._halted = ""

    def halt(self, why: str) -> None:
        """Start nothing more. The first reason stands."""
        self._halted = self._halted or why

    def all_outcomes(self) -> tuple[Outcome, ...]:
        """What arrived, in that order, then what never started."""
        left = [trial for place, trial in enumerate(self._trials) if place not in self._outcomes]
        return (*self._outcomes.values(), *(NotRun(trial, self._halted) for trial in left))

    async def work(self) -> None:
        """Run trials until none is left or none may start."""
        while not self._may_not_start():
            place, trial = next(self._next, (0, None))
            if trial is None:
                return
            self._record(place, await self._outcome(trial))
            # A runner that never waits would leave no turn for a cancellation.
            await asyncio.sleep(0)

    def _may_not_start(self) -> str:
        if not self._halted:
            self._halted = self._ceilings.reached(self._spend, self._clock() - self._began)
        return self._halted

    async def _outcome(self, trial: Trial) -> Outcome:
        try:
            transcript = await self._runners[trial.runner].run(trial)
        except TrialError as lost:
            usage = Usage(lost.input_tokens, lost.output_tokens)
            return Errored(trial, str(lost), usage=usage, cost_usd=lost.cost_usd)
        except ServiceError as gone:
            self.halt(str(gone))
            return Errored(trial, str(gone))
        return await grade(trial, transcript)

    def _record(self, place: int, outcome: Outcome) -> None:
        self._outcomes[place] = outcome
        self._spend += spend_of(outcome)
        self._progress.finished(outcome)
