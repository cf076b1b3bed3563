"""Running trials under limits: every trial of the plan has exactly one outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Cost, a_transcript, a_trial, scored
from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.scores import Spend, total_spend
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import Errored, Halt, NotRun, Outcome, Scored, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.execution import CANCELLED, Budget, Ceilings, NoLedger, run_trials
from skill_delta.ports import Ledger

Behaviour = Callable[[Trial], Awaitable[Transcript]]


class Watcher:
    """A progress that remembers."""

    def __init__(self) -> None:
        self.seen: list[Outcome] = []
        self.begun = 0
        self.ended = 0

    def begin(self, trials: int) -> None:
        self.begun = trials

    def finished(self, outcome: Outcome) -> None:
        self.seen.append(outcome)

    def end(self) -> None:
        self.ended += 1


class FakeRunner:
    """A runner at the port: does what the test says, and counts how many it does at once."""

    name = "openai"
    version = "1"
    model = ""
    brings_own_tools = False
    costs_money = False

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self.running = 0
        self.most = 0
        self.started: list[Trial] = []

    async def run(self, trial: Trial) -> Transcript:
        self.started.append(trial)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._behaviour(trial)
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Nothing is open."""


def trials(count: int) -> list[Trial]:
    return [a_trial(f"case {number}") for number in range(count)]


async def answers(trial: Trial) -> Transcript:
    await asyncio.sleep(0)
    return a_transcript(trial.case.name, Cost(tokens=100, cost_usd=0.01))


def run(
    planned: Sequence[Trial],
    behaviour: Behaviour = answers,
    *,
    at_once: int = 4,
    ceilings: Ceilings = Ceilings(),
    clock: Callable[[], float] = lambda: 0.0,
    cancel: Callable[[asyncio.Event], None] = lambda _: None,
    ledger: Ledger = NoLedger(),
) -> tuple[tuple[Outcome, ...], FakeRunner, Watcher]:
    budget = Budget(ceilings, clock)
    outcomes, _, runner, watcher = run_within(
        budget, planned, behaviour, at_once=at_once, cancel=cancel, ledger=ledger
    )
    return outcomes, runner, watcher


def run_within(
    budget: Budget,
    planned: Sequence[Trial],
    behaviour: Behaviour = answers,
    *,
    at_once: int = 1,
    cancel: Callable[[asyncio.Event], None] = lambda _: None,
    ledger: Ledger = NoLedger(),
) -> tuple[tuple[Outcome, ...], Halt | None, FakeRunner, Watcher]:
    """As `run`, with a budget that may have been spent from, and why some were not run."""
    runner, watcher = FakeRunner(behaviour), Watcher()

    async def all_of_it() -> tuple[tuple[Outcome, ...], Halt | None]:
        cancelled = asyncio.Event()
        cancel(cancelled)
        return await run_trials(
            planned,
            runners={"openai": runner},
            at_once=at_once,
            budget=budget,
            progress=watcher,
            ledger=ledger,
            cancelled=cancelled,
        )

    outcomes, halt = asyncio.run(all_of_it())
    return outcomes, halt, runner, watcher


def of_kind(outcomes: Sequence[Outcome], kind: type[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if isinstance(outcome, kind)]


@given(st.integers(0, 12), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_every_trial_has_exactly_one_outcome(count: int, at_once: int, rng: Random) -> None:
    """Whatever is lost on the way, nothing is counted twice or forgotten."""

    async def anything(trial: Trial) -> Transcript:
        await asyncio.sleep(0)
        if rng.random() < 0.3:
            raise TrialError("503 after 6 attempts")
        if rng.random() < 0.1:
            raise ServiceError("the key was refused")
        return a_transcript(trial.case.name)

    planned = trials(count)

    outcomes, _, _ = run(planned, anything, at_once=at_once)

    assert sorted(o.trial.case.name for o in outcomes) == sorted(t.case.name for t in planned)


def test_no_more_than_asked_run_at_once() -> None:
    """A provider's limit is not ours to break."""
    _, runner, _ = run(trials(20), at_once=3)

    assert runner.most == 3


def test_a_lost_trial_keeps_what_it_spent_and_the_run_goes_on() -> None:
    """An outage is a value: not a zero, and not the end."""

    async def flaky(trial: Trial) -> Transcript:
        if trial.case.name == "case 1":
            raise TrialError("reset", input_tokens=50, output_tokens=2, cost_usd=0.5)
        return await answers(trial)

    outcomes, _, watcher = run(trials(3), flaky)

    (lost,) = of_kind(outcomes, Errored)
    assert isinstance(lost, Errored)
    assert (lost.reason, lost.usage, lost.cost_usd) == ("reset", Usage(50, 2), 0.5)
    assert len(of_kind(outcomes, Scored)) == 2
    assert len(watcher.seen) == watcher.begun == 3
    assert watcher.ended == 1


def test_a_dead_provider_starts_nothing_more() -> None:
    """A refused key would be refused a hundred times."""

    async def refused(trial: Trial) -> Transcript:
        raise ServiceError("the key was refused")

    outcomes, runner, _ = run(trials(10), refused, at_once=1)

    assert len(runner.started) == 1
    assert len(of_kind(outcomes, NotRun)) == 9
    assert {o.reason for o in outcomes if isinstance(o, NotRun)} == {"the key was refused"}


@pytest.mark.parametrize(
    ("ceilings", "reason"),
    [
        (Ceilings(tokens=250), "max-tokens 250 was reached (300 used)"),
        (Ceilings(cost_usd=0.03), "max-cost $0.03 was reached ($0.0300 spent)"),
    ],
)
def test_a_ceiling_lets_running_trials_finish_and_starts_no_other(
    ceilings: Ceilings, reason: str
) -> None:
    """What it cut is named."""
    outcomes, runner, _ = run(trials(5), at_once=1, ceilings=ceilings)

    assert len(runner.started) == 3
    assert [o.reason for o in outcomes if isinstance(o, NotRun)] == [reason] * 2


def test_time_is_a_ceiling_too() -> None:
    """The clock counts from the start of the run."""
    ticks = iter(range(100, 200))

    outcomes, _, _ = run(
        trials(5), at_once=1, ceilings=Ceilings(seconds=3), clock=lambda: float(next(ticks))
    )

    assert len(of_kind(outcomes, Scored)) == 2
    assert [o.reason for o in outcomes if isinstance(o, NotRun)] == ["max-time 3 s was reached"] * 3


def test_a_ceiling_that_the_last_trial_crosses_cuts_nothing() -> None:
    """There was nothing left to start."""
    outcomes, _, _ = run(trials(3), at_once=1, ceilings=Ceilings(tokens=300))

    assert len(of_kind(outcomes, Scored)) == 3


def test_an_unknown_price_is_not_taken_for_free() -> None:
    """A cost ceiling that cannot see the spend stops, and says so."""

    async def unpriced(trial: Trial) -> Transcript:
        return a_transcript(cost=Cost(cost_usd=None))

    outcomes, runner, _ = run(trials(4), unpriced, at_once=1, ceilings=Ceilings(cost_usd=1.0))

    assert len(runner.started) == 1
    assert all("price" in o.reason for o in outcomes if isinstance(o, NotRun))


def test_cancelling_keeps_what_is_finished() -> None:
    """Ctrl-C ends running trials at once; the report says what never ran."""
    gate = asyncio.Event

    async def first_two_then_hang(trial: Trial) -> Transcript:
        if trial.case.name in {"case 0", "case 1"}:
            return await answers(trial)
        await gate().wait()
        raise AssertionError("never reached")

    def soon(cancelled: asyncio.Event) -> None:
        asyncio.get_running_loop().call_later(0.05, cancelled.set)

    outcomes, runner, watcher = run(trials(6), first_two_then_hang, at_once=2, cancel=soon)

    assert len(of_kind(outcomes, Scored)) == 2
    assert [o.reason for o in outcomes if isinstance(o, NotRun)] == [CANCELLED] * 4
    assert runner.running == 0
    assert watcher.ended == 1


def test_a_fault_of_ours_is_no_outcome() -> None:
    """A bug ends the run loudly: it must not look like a lost trial."""

    async def broken(trial: Trial) -> Transcript:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        run(trials(3), broken)

    assert raised.group_contains(ZeroDivisionError)


def test_a_runner_that_never_waits_can_be_cancelled() -> None:
    """Each trial leaves a turn to the rest of the program."""

    async def at_once(trial: Trial) -> Transcript:
        return a_transcript()

    def soon(cancelled: asyncio.Event) -> None:
        asyncio.get_running_loop().call_soon(cancelled.set)

    outcomes, runner, _ = run(trials(500), at_once, at_once=1, cancel=soon)

    assert len(runner.started) < 500
    assert of_kind(outcomes, NotRun)


class Slow(CheckSpec):
    """A check that takes its time, and says in which thread."""

    @property
    def may_be_slow(self) -> bool:
        return True

    def grade(self, transcript: Transcript) -> Finding:
        return Finding.of(True, threading.current_thread().name)


def test_a_slow_check_does_not_hold_up_the_trials_beside_it() -> None:
    """Their time is being measured."""
    trial = a_trial("slow")
    object.__setattr__(trial.case, "checks", (Check("regex[0]", Slow()),))

    (outcome,), _, _ = run([trial])

    assert isinstance(outcome, Scored)
    assert outcome.checks[0].evidence != threading.main_thread().name


class GivesOut(CheckSpec):
    """A check that cannot be read."""

    def grade(self, transcript: Transcript) -> Finding:
        raise TrialError("regex '(a+)+$' took longer than 1 s")


def test_a_check_that_gives_out_loses_the_trial_and_keeps_the_bill() -> None:
    """A hostile pattern is no verdict on the skill."""
    trial = a_trial("bomb")
    object.__setattr__(trial.case, "checks", (Check("regex[0]", GivesOut()),))

    (outcome,), _, _ = run([trial])

    assert isinstance(outcome, Errored)
    assert outcome.reason == "check regex[0]: regex '(a+)+$' took longer than 1 s"
    assert outcome.usage.tokens == 100
    assert outcome.cost_usd == 0.01


class Memory:
    """A ledger that knows some trials, and notes what it is told."""

    spent_before = Spend()

    def __init__(self, *known: Outcome) -> None:
        self._known = {outcome.trial: outcome for outcome in known}
        self.recorded: list[Outcome] = []

    def recall(self, trial: Trial) -> Outcome | None:
        return self._known.get(trial)

    def record(self, outcome: Outcome) -> None:
        self.recorded.append(outcome)

    def finished(self, halt: Halt | None, at: datetime) -> None:
        """Not told by one look."""


def test_what_the_ledger_recalls_is_not_run_again() -> None:
    """It is an outcome as if it had just come; only the rest is run, watched and recorded."""
    planned = trials(4)
    known = [scored(planned[1], False), scored(planned[3])]
    memory = Memory(*known)

    outcomes, runner, watcher = run(planned, ledger=memory)

    assert {t.case.name for t in runner.started} == {"case 0", "case 2"}
    assert watcher.begun == len(watcher.seen) == 2
    assert {o.trial for o in outcomes} == set(planned)
    assert all(outcome in outcomes for outcome in known)
    assert [o.trial.case.name for o in memory.recorded] == ["case 0", "case 2"]


def test_nothing_is_started_where_everything_is_recalled() -> None:
    """The outcomes are those of the record, and nothing is missing."""
    planned = trials(3)
    known = tuple(scored(trial) for trial in planned)

    outcomes, halt, runner, _ = run_within(
        Budget(Ceilings(tokens=1), lambda: 0.0), planned, ledger=Memory(*known)
    )

    assert outcomes == known
    assert halt is None
    assert not runner.started


def test_every_outcome_that_came_is_recorded_and_no_other() -> None:
    """A lost trial was paid for; one that never started was not."""

    async def flaky(trial: Trial) -> Transcript:
        if trial.case.name == "case 1":
            raise TrialError("reset")
        return await answers(trial)

    memory = Memory()
    outcomes, _, _ = run(trials(5), flaky, at_once=1, ceilings=Ceilings(tokens=200), ledger=memory)

    assert [type(outcome) for outcome in memory.recorded] == [Scored, Errored, Scored]
    assert memory.recorded == [o for o in outcomes if not isinstance(o, NotRun)]


@pytest.mark.parametrize("superseded", [0, 150])
def test_what_was_spent_before_counts_towards_the_ceiling(superseded: int) -> None:
    """A resumed run keeps the ceiling of the whole; what is recalled is counted once."""
    planned = trials(4)
    known = [scored(trial, cost=Cost(tokens=100)) for trial in planned[:2]]
    spent = total_spend(known) + Spend(Usage(superseded, 0))
    budget = Budget(Ceilings(tokens=300 + superseded), lambda: 0.0, spent=spent)

    outcomes, _, runner, _ = run_within(budget, planned, at_once=1, ledger=Memory(*known))

    assert len(runner.started) == 1
    assert [o.reason for o in outcomes if isinstance(o, NotRun)] == [
        f"max-tokens {300 + superseded} was reached ({300 + superseded} used)"
    ]


def test_a_closed_budget_starts_nothing() -> None:
    """A record that is told again calls no model: what it lacks was not run, for its reason."""
    why = Halt("the run was cancelled")
    planned = trials(3)
    known = scored(planned[1])

    outcomes, halt, runner, _ = run_within(
        Budget(Ceilings(), lambda: 0.0, closed=why), planned, ledger=Memory(known)
    )

    assert halt == why
    assert not runner.started
    assert outcomes == (known, *(NotRun(planned[n], why.reason) for n in (0, 2)))


def test_a_budget_is_one_over_all_looks() -> None:
    """What the first look spent is missing in the second, which names the ceiling."""
    budget = Budget(Ceilings(tokens=300), lambda: 0.0)

    first, no_halt, _, _ = run_within(budget, trials(2))
    second, halt, runner, _ = run_within(budget, trials(2))

    assert no_halt is None
    assert len(runner.started) == 1
    assert halt == Halt("max-tokens 300 was reached (300 used)", is_ceiling=True)
    assert len(of_kind((*first, *second), NotRun)) == 1


def test_the_first_reason_to_stop_is_the_one_that_is_told() -> None:
    """Trials that are still running may fail for another."""

    async def refused_late(trial: Trial) -> Transcript:
        if trial.case.name == "case 1":
            await asyncio.sleep(0.01)
            raise ServiceError("the key was refused")
        return await answers(trial)

    _, halt, _, _ = run_within(
        Budget(Ceilings(tokens=100), lambda: 0.0), trials(4), refused_late, at_once=2
    )

    assert halt == Halt("max-tokens 100 was reached (100 used)", is_ceiling=True)
