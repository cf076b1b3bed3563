"""A small language for whole runs: skills whose cases are answered as letters say.

run(prepared(a_skill("greeting", [asks("hello")])), FakeRunner({"hello": {...}}))
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from builders import Cost, a_case, a_transcript, an_arm
from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.report import BaselineSource, Environment, Report
from skill_delta.core.scores import Spend
from skill_delta.core.skills import Unresolved
from skill_delta.core.suite import Case, Check, Mode
from skill_delta.core.transcript import Transcript
from skill_delta.core.trials import Halt, Outcome, Subject, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.execution import Budget, Ceilings, NoLedger
from skill_delta.pipeline import Ports, evaluate
from skill_delta.ports import Ledger
from skill_delta.preparation import Prepared, RunRequest

CONFIRM = GatePolicy(
    method=GateMethod.INTERVAL,
    min_pass_rate=None,
    fail_on_error=False,
    min_delta={"previous": 0.0},
    looks=Looks(3, 9, Adaptive.CONFIRM),
)
"""The gate of a pull request: three runs each, nine where a regression is possible."""

Letters = Mapping[str, str]
"""Per arm, one letter per repetition: P passes, F fails, E is lost, X ends it for every trial."""


class SaidYes(CheckSpec):
    """The answer is yes."""

    def grade(self, transcript: Transcript) -> Finding:
        return Finding.of(transcript.answer == "yes", "")


class Watcher:
    """A progress that nobody watches."""

    def begin(self, trials: int) -> None:
        """Nothing to show."""

    def finished(self, outcome: Outcome) -> None:
        """Nothing to show."""

    def end(self) -> None:
        """Nothing to show."""


@dataclass
class FakeRunner:
    """A runner at the port: answers each case as its letters say, for 100 tokens."""

    said: Mapping[str, Letters]
    name: str = "openai"
    version: str = "1"
    model: str = ""
    brings_own_tools: bool = False
    costs_money: bool = False
    before: Callable[[Trial], None] = lambda _: None
    started: list[Trial] = field(default_factory=list)

    async def run(self, trial: Trial) -> Transcript:
        self.started.append(trial)
        self.before(trial)
        await asyncio.sleep(0)
        match self.said[trial.case.name][trial.arm.name][trial.repetition]:
            case "E":
                raise TrialError("503 after 6 attempts")
            case "X":
                raise ServiceError("the key was refused")
            case letter:
                return a_transcript("yes" if letter == "P" else "no", Cost(100, 0.001))

    async def close(self) -> None:
        """Nothing is open."""

    @property
    def runs(self) -> Counter[tuple[str, str]]:
        """How often each case was started in each arm."""
        return Counter((trial.case.name, trial.arm.name) for trial in self.started)


@dataclass
class Memory:
    """A ledger that remembers."""

    kept: dict[tuple[object, ...], Outcome] = field(default_factory=dict)
    ended: list[Halt | None] = field(default_factory=list)
    spent_before: Spend = Spend()

    def recall(self, trial: Trial) -> Outcome | None:
        return self.kept.get(_identity(trial))

    def record(self, outcome: Outcome) -> None:
        self.kept[_identity(outcome.trial)] = outcome

    def finished(self, halt: Halt | None, at: datetime) -> None:
        self.ended.append(halt)


def _identity(trial: Trial) -> tuple[object, ...]:
    return trial.key, trial.arm.name, trial.repetition


def asks(name: str, mode: Mode = Mode.LOADED) -> Case:
    return replace(a_case(name), checks=(Check("yes", SaidYes()),), mode=mode)


def a_skill(
    label: str,
    cases: Sequence[Case],
    baselines: Sequence[str] = ("previous",),
    gaps: Mapping[str, Unresolved] | None = None,
) -> tuple[Subject, tuple[BaselineSource, ...]]:
    """A skill and where its baselines come from; `gaps` are those that are none."""
    gaps = gaps or {}
    arms = tuple(an_arm(name, label) for name in baselines if name not in gaps)
    sources = tuple(
        BaselineSource(label, name, gaps.get(name, an_arm(name, label).skill)) for name in baselines
    )
    return Subject(label, an_arm("candidate", label), arms, tuple(cases)), sources


def prepared(*skills: tuple[Subject, tuple[BaselineSource, ...]]) -> Prepared:
    return Prepared(
        subjects=tuple(subject for subject, _ in skills),
        sources=tuple(source for _, sources in skills for source in sources),
        skipped=(),
        notes=(),
    )


def run(
    ready: Prepared,
    *runners: FakeRunner,
    policy: GatePolicy = CONFIRM,
    baselines: Sequence[str] = ("previous",),
    ceilings: Ceilings = Ceilings(),
    ledger: Ledger = NoLedger(),
    at_once: int = 1,
    seed: int = 0,
    cancelled_after: Callable[[Trial], bool] = lambda _: False,
) -> Report:
    request = RunRequest(tuple(baselines), policy=policy, at_once=at_once, seed=seed)
    named = {runner.name: runner for runner in runners}
    start = datetime(2026, 3, 1, tzinfo=UTC)

    async def all_of_it() -> Report:
        cancelled = asyncio.Event()
        for runner in runners:
            runner.before = lambda t: cancelled.set() if cancelled_after(t) else None
        ports = Ports(
            runners=named,
            budget=Budget(ceilings, lambda: 0.0),
            progress=Watcher(),
            ledger=ledger,
            cancelled=cancelled,
            started_at=start,
            now=lambda: start,
        )
        environment = Environment(seed, dict.fromkeys(named, "1"))
        return await evaluate(ready, request, environment, ports)

    return asyncio.run(all_of_it())
