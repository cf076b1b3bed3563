"""Running trials under limits: every trial of the plan has exactly one outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Cost, a_transcript, a_trial
from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import Errored, NotRun, Outcome, Scored, Trial
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
    runner, watcher = FakeRunner(behaviour), Watcher()

    async def all_of_it() -> tuple[Outcome, ...]:
        cancelled = asyncio.Event()
        cancel(cancelled)
        outcomes, _ = await run_trials(
            planned,
            runners={"openai": runner},
            at_once=at_once,
            budget=Budget(ceilings, clock),
            progress=watcher,
            ledger=ledger,
            cancelled=cancelled,
        )
        return outcomes

    return asyncio.run(all_of_it()), runner, watcher


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
