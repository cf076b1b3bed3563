"""Runs trials with a limit on concurrency, time, tokens and money.

A lost trial becomes an `Errored` value; what a ceiling, a cancellation or a dead provider keeps
from starting becomes `NotRun`. Every trial of the plan has exactly one outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from skill_delta.core.scores import Spend, spend_of
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, Halt, NotRun, Outcome, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.grading import grade
from skill_delta.ports import Judge, Ledger, Progress, Runner

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


class Budget:
    """What a run may still spend, over all of its looks. `clock` counts seconds.

    With `closed` nothing may start at all, for that reason. `spent` is what the run cost before
    it was resumed, trials that are recalled included; the seconds are those of this process.
    """

    def __init__(
        self,
        ceilings: Ceilings,
        clock: Callable[[], float],
        closed: Halt | None = None,
        spent: Spend = Spend(),
    ) -> None:
        self._ceilings = ceilings
        self._clock = clock
        self._closed = closed
        self._began = clock()
        self._spend = spent

    def add(self, spend: Spend) -> None:
        """Count what was spent."""
        self._spend += spend

    def halt(self) -> Halt | None:
        """Why no further trial may start; None where one may."""
        if self._closed is not None:
            return self._closed
        reason = self._ceilings.reached(self._spend, self._clock() - self._began)
        return Halt(reason, is_ceiling=True) if reason else None


class NoLedger:
    """Keeps nothing: a run without a record."""

    @property
    def spent_before(self) -> Spend:
        return Spend()

    def recall(self, trial: Trial) -> Outcome | None:  # noqa: ARG002
        return None

    def record(self, outcome: Outcome) -> None:
        """Nothing keeps it."""

    def finished(self, halt: Halt | None, at: datetime) -> None:
        """Nothing is open."""


async def run_trials(  # noqa: PLR0913 - the judge goes with the runners
    trials: Sequence[Trial],
    *,
    runners: Mapping[str, Runner],
    at_once: int,
    budget: Budget,
    progress: Progress,
    ledger: Ledger,
    cancelled: asyncio.Event,
    judge: Judge | None = None,
) -> tuple[tuple[Outcome, ...], Halt | None]:
    """Run the plan in its order, `at_once` trials at a time; outcomes in order of arrival.

    A trial is over once it is judged, where its case has a rubric and there is a `judge`.

    With them comes why some were not run, where some were not. Once `cancelled` is set, running
    trials are cancelled and what has finished is returned.
    """
    recalled = {place: found for place, t in enumerate(trials) if (found := ledger.recall(t))}
    run = _Run(trials, recalled, runners, judge, budget, progress, ledger)
    left = run.left
    progress.begin(left)
    try:
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(run.work()) for _ in range(min(at_once, left))]
            watch = asyncio.create_task(_cancel_on(cancelled, workers, run))
        watch.cancel()
    finally:
        progress.end()
    return run.all_outcomes()


async def _cancel_on(
    cancelled: asyncio.Event, workers: Sequence[asyncio.Task[None]], run: _Run
) -> None:
    await cancelled.wait()
    run.halt(Halt(CANCELLED))
    for worker in workers:
        worker.cancel()


class _Run:
    """The state that the workers share: what is next, what came, why it stopped."""

    def __init__(
        self,
        trials: Sequence[Trial],
        recalled: Mapping[int, Outcome],
        runners: Mapping[str, Runner],
        judge: Judge | None,
        budget: Budget,
        progress: Progress,
        ledger: Ledger,
    ) -> None:
        self._trials = trials
        self._unjudged = {
            place: outcome
            for place, outcome in recalled.items()
            if judge is not None and isinstance(outcome, Errored) and outcome.lacks_a_verdict
        }
        self._outcomes: dict[int, Outcome] = {
            place: outcome for place, outcome in recalled.items() if place not in self._unjudged
        }
        self.left = len(trials) - len(self._outcomes)
        """How many trials there are to run, or to be judged."""
        done = frozenset(self._outcomes)
        self._next: Iterator[tuple[int, Trial]] = (
            (place, trial) for place, trial in enumerate(trials) if place not in done
        )
        self._runners = runners
        self._judge = judge
        self._budget = budget
        self._progress = progress
        self._ledger = ledger
        self._halt: Halt | None = None

    def halt(self, why: Halt) -> None:
        """Start nothing more. The first reason stands."""
        self._halt = self._halt or why

    def all_outcomes(self) -> tuple[tuple[Outcome, ...], Halt | None]:
        """What arrived, in that order, then what never started, and why."""
        left = [place for place in range(len(self._trials)) if place not in self._outcomes]
        if not left or self._halt is None:
            return tuple(self._outcomes.values()), None
        halt = self._halt
        # What was answered before, and was not judged now either, is what it was.
        never = (
            self._unjudged.get(place) or NotRun(self._trials[place], halt.reason, halt.is_outage)
            for place in left
        )
        return (*self._outcomes.values(), *never), halt

    async def work(self) -> None:
        """Run trials until none is left or none may start."""
        while self._may_start():
            place, trial = next(self._next, (0, None))
            if trial is None:
                return
            self._record(place, await self._outcome(place, trial))
            # A runner that never waits would leave no turn for a cancellation.
            await asyncio.sleep(0)

    def _may_start(self) -> bool:
        self._halt = self._halt or self._budget.halt()
        return self._halt is None

    async def _outcome(self, place: int, trial: Trial) -> Outcome:
        unjudged = self._unjudged.get(place)
        if unjudged is not None and unjudged.transcript is not None:
            transcript, before = unjudged.transcript, unjudged.judging
            return await grade(trial, transcript, self._judge, self.halt, before)
        try:
            transcript = await self._runners[trial.runner].run(trial)
        except TrialError as lost:
            usage = Usage(lost.input_tokens, lost.output_tokens)
            return Errored(trial, str(lost), usage=usage, cost_usd=lost.cost_usd)
        except ServiceError as gone:
            self.halt(Halt(str(gone), is_outage=True))
            return Errored(trial, str(gone))
        return await grade(trial, transcript, self._judge, self.halt)

    def _record(self, place: int, outcome: Outcome) -> None:
        self._outcomes[place] = outcome
        self._ledger.record(outcome)
        # What it cost before it was judged is among what the record's trials cost.
        unjudged = self._unjudged.get(place)
        counted = spend_of(unjudged) if unjudged else Spend()
        self._budget.add(spend_of(outcome) - counted)
        self._progress.finished(outcome)
