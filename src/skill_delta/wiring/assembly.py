"""The parts that every command is put together from: request, runners, the one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from skill_delta import pipeline
from skill_delta.core.inference import DecisionRule
from skill_delta.core.judging import kinship
from skill_delta.core.policy import GateMethod, GatePolicy, Reason
from skill_delta.core.power import pass_is_reachable
from skill_delta.core.readings import Scope
from skill_delta.core.report import Environment, Provenance, Report, SkippedSkill
from skill_delta.core.scorecard import effective_disable_hooks
from skill_delta.core.selection import Selection
from skill_delta.core.trials import nothing_to_offer
from skill_delta.core.wording import count, percent
from skill_delta.errors import Place, UserError
from skill_delta.execution import Budget, Ceilings
from skill_delta.history.working_files import WorkingFiles
from skill_delta.hosts.terminal import BarProgress, LineProgress
from skill_delta.pipeline import Ports
from skill_delta.ports import Baselines, Judge, Ledger, Runner, SourceFiles
from skill_delta.preparation import (
    FoundSkill,
    Prepared,
    RunRequest,
    ceiling_of_runs,
    chosen_cases,
    labels,
    plan_of_judging,
    prepare,
)
from skill_delta.providers import PROVIDERS
from skill_delta.providers.scripted import (
    JudgeReply,
    Reply,
    ScriptedJudge,
    ScriptedModel,
    read_judge_replies,
    read_replies,
)
from skill_delta.runners.model import ModelRunner
from skill_delta.settings.model import Settings
from skill_delta.wiring.endpoints import asking_judge, asking_runner, redactor_for
from skill_delta.wiring.grounds import Grounds, grounds_of
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.records import Keeping, kept, notes_of
from skill_delta.wiring.skill_names import KnownSkills, known_skills, labels_by_name
from skill_delta.wiring.terminal import Terminal

REPLY_FILES = ("evals/replies.yaml", "evals/replies.yml")
"""Where a skill keeps what the scripted runner answers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill of this run, the files around it, and its folder among them."""

    found: FoundSkill
    files: SourceFiles
    folder: PurePosixPath


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a command knows of its run beside the skills: known once they are prepared.

    `notes` come after those of the skills, `first_notes` before.
    """

    provenance: Provenance = Provenance()
    skipped: tuple[SkippedSkill, ...] = ()
    first_notes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A run to be made: what to evaluate, what with, and who is told.

    `objections` are what a pull request brings; None for a run, which needs cases to pass.
    `keeping` says where trials are kept.
    """

    candidates: Sequence[Candidate]
    settings: Settings
    baselines: Baselines
    keys: Keys
    terminal: Terminal
    objections: Sequence[Reason] | None = None
    surroundings: Callable[[], Surroundings] = Surroundings
    keeping: Keeping = Keeping()


def evaluate(task: Task) -> Report:
    """Run both arms and decide. Raises `UserError` and `ServiceError` before anything is spent."""
    settings, skills = task.settings, [candidate.found for candidate in task.candidates]
    request = request_of(settings, labels_by_name(known_skills(skills)))
    if task.objections is not None:
        policy = replace(request.policy, needs_cases=False)
        request = replace(request, policy=policy, objections=tuple(task.objections))
    grounds = grounds_of(settings, skills)
    runners = runners_of(settings, task.candidates, task.keys, grounds)
    ready = _surrounded(prepare(skills, request, runners, task.baselines), task.surroundings())
    ready = replace(ready, notes=(*ready.notes, *grounds.notes))
    is_judged = any(case.rubric for subject in ready.subjects for case in subject.cases)
    judge = judge_of(settings, task.candidates, task.keys) if is_judged else None
    if settings.on_inconclusive == "fail":
        _refuse_unreachable(ready, request.policy, settings)
    if any(asked.costs_money for asked in _asked(runners, judge)):
        cases = chosen_cases(skills, request.selection)
        task.terminal.say(f"{ceiling_of_runs(request, cases, len(runners))}\n")
    if judge is not None and judge.costs_money:
        task.terminal.say(f"{plan_of_judging(ready.subjects, judge.by)}\n")
    environment = Environment(
        seed=request.seed,
        runners={name: runner.version for name, runner in runners.items()},
        models={name: runner.model for name, runner in runners.items()},
        judge=judge.by if judge else None,
        repetitions=request.policy.looks.repetitions,
        hooks_disabled=effective_disable_hooks(
            any(skill.suite.disable_hooks for skill in skills if skill.suite),
            override=settings.baseline_mode == "skill-off",
        ),
    )
    started_at = datetime.now(UTC)
    if environment.judge is not None:
        ready = replace(
            ready, notes=(*ready.notes, *kinship(environment.judge, environment.models))
        )
    redact = redactor_for(settings, task.keys, *task.keeping.secrets).redact
    with kept(task.keeping, ready, request, environment, redact, started_at) as ledger:
        ports = _Opened(task, runners, judge, ledger, started_at)
        report = asyncio.run(ports.evaluate(ready, request, environment))
    if grounds.workspaces.kept_in is not None:
        task.terminal.complain(f"working folders are in {grounds.workspaces.kept_in}\n")
    further = (*notes_of(ledger), *grounds.workspaces.problems)
    return replace(report, notes=(*report.notes, *further))


def _asked(runners: Mapping[str, Runner], judge: Judge | None) -> Sequence[Runner | Judge]:
    """All that a run asks something of."""
    return (*runners.values(), judge) if judge else tuple(runners.values())


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is open while a run runs."""

    task: Task
    runners: Mapping[str, Runner]
    judge: Judge | None
    ledger: Ledger
    started_at: datetime

    async def evaluate(
        self, ready: Prepared, request: RunRequest, environment: Environment
    ) -> Report:
        """Run it, and close every runner and the judge whatever comes."""
        cancelled, terminal = asyncio.Event(), self.task.terminal
        with _cancelled_by_signals(cancelled):
            ports = Ports(
                runners=self.runners,
                budget=Budget(
                    _ceilings(self.task.settings), time.monotonic, spent=self.task.keeping.spent
                ),
                progress=(BarProgress if terminal.watched else LineProgress)(terminal.err),
                ledger=self.ledger,
                cancelled=cancelled,
                started_at=self.started_at,
                now=lambda: datetime.now(UTC),
                judge=self.judge,
            )
            try:
                return await pipeline.evaluate(ready, request, environment, ports)
            finally:
                for asked in _asked(self.runners, self.judge):
                    await asked.close()


def _surrounded(ready: Prepared, around: Surroundings) -> Prepared:
    return replace(
        ready,
        provenance=around.provenance,
        skipped=(*ready.skipped, *around.skipped),
        notes=(*around.first_notes, *ready.notes, *around.notes),
    )


def _ceilings(settings: Settings) -> Ceilings:
    return Ceilings(settings.max_cost, settings.max_tokens, settings.max_time)


_MOST_ADVISED = 50
"""No more repetitions than these are named as the way out: more cases are the better one."""


def _enough(cases: int, rule: DecisionRule, settings: Settings) -> str:
    """`set --repeat 5, `: the fewest repetitions by which a pass can be reached."""
    for repeat in range(settings.repeat + 1, _MOST_ADVISED):
        looks = settings.model_copy(update={"repeat": repeat, "max_repeat": None}).looks()
        if pass_is_reachable(cases, looks.most_repetitions, replace(rule, looks=looks.planned)):
            return f"set --repeat {repeat}, "
    return ""


def _refuse_unreachable(ready: Prepared, policy: GatePolicy, settings: Settings) -> None:
    """A gate that no data could pass is refused before it costs anything."""
    most = policy.looks.most_repetitions
    if policy.method is GateMethod.POINT:
        return
    arms = ((subject, arm) for subject in ready.subjects for arm in subject.baselines)
    for subject, arm in arms:
        cases = sum(not nothing_to_offer(arm, case) for case in subject.cases)
        rule = policy.rule(Scope(arm.name, "", subject.label))
        if policy.bar(arm.name, subject.label) is None or not cases:
            continue
        if most < policy.min_repeats or not pass_is_reachable(cases, most, rule):
            raise UserError(
                f"no result could pass: {count(cases, 'case')} of skill '{subject.label}', "
                f"{count(most, 'repetition')} of each, cannot rule out a drop of "
                f"{percent(policy.margin)}, and on-inconclusive is fail",
                hint=f"{_enough(cases, rule, settings)}add cases, raise --margin, "
                "or let on-inconclusive pass",
            )


@contextlib.contextmanager
def _cancelled_by_signals(cancelled: asyncio.Event) -> Iterator[None]:
    """The first Ctrl-C (or a cancelled job's SIGTERM) asks for the partial report.

    The second is the ordinary one again: it ends the process.
    """
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    ordinary = signal.getsignal(signal.SIGTERM)

    def leave() -> None:
        for number in signals:
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGTERM, ordinary)  # the loop puts the system's own in its place

    def ask() -> None:
        cancelled.set()
        leave()

    with contextlib.suppress(NotImplementedError):  # an event loop without signals: Windows
        for number in signals:
            loop.add_signal_handler(number, ask)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            leave()


def request_of(settings: Settings, known: KnownSkills) -> RunRequest:
    """What the settings ask of a run of these skills. Bars of other skills are for other runs.

    Of the bars that a skill has by its names now, by its former ones and by none the highest
    holds: no change of name gets around one, nor does a new skill by taking a name.
    """

    def of_these(bars: Mapping[str, float]) -> Mapping[str, float]:
        highest: dict[str, float] = {}
        for names in (known.now, known.formerly):
            own = {label: bar for name, bar in bars.items() for label in names.get(name, ())}
            highest |= {label: max(bar, highest.get(label, bar)) for label, bar in own.items()}
        return highest

    bars = settings.skill_bars()
    had_own_bar = {label for name in bars for label in known.formerly.get(name, ())}
    interval = settings.gate == "interval"
    fails_on_error = settings.fail_on_error
    return RunRequest(
        baselines=settings.baseline,
        selection=Selection(settings.tag, settings.case),
        policy=GatePolicy(
            method=GateMethod(settings.gate),
            min_pass_rate=settings.min_pass_rate,
            skill_min_pass_rate=of_these(settings.skill_rates()),
            fail_on_error=not interval if fails_on_error is None else fails_on_error,
            min_delta=settings.bars(),
            skill_min_delta=of_these(bars),
            no_looser=known.renamed - had_own_bar,
            margin=settings.margin,
            confidence=settings.confidence,
            looks=settings.looks(),
            min_repeats=settings.min_repeats,
            inconclusive_passes=settings.on_inconclusive == "pass",
            max_increase=settings.increases(),
            max_regressed_cases=settings.max_regressed_cases,
        ),
        at_once=settings.concurrency,
        seed=settings.seed,
        max_cases=settings.max_cases,
        on_unmeasured=settings.on_unmeasured,
    )


def runners_of(
    settings: Settings, candidates: Sequence[Candidate], keys: Keys, grounds: Grounds
) -> Mapping[str, Runner]:
    """The runners asked for, in that order. Nothing is sent yet."""
    runners: dict[str, Runner] = {}
    for name in settings.runner:
        if name in PROVIDERS:
            runners[name] = asking_runner(name, settings, keys, grounds)
        else:
            replies = _replies(settings, candidates)
            runners[name] = ModelRunner(
                name,
                ScriptedModel(replies),
                costs_money=False,
                workspaces=grounds.workspaces,
                scripts=grounds.scripts,
            )
    return runners


def judge_of(settings: Settings, candidates: Sequence[Candidate], keys: Keys) -> Judge:
    """The judge asked for. Nothing is sent yet."""
    if settings.judge_name == "scripted":
        return ScriptedJudge(_judge_replies(settings, candidates))
    return asking_judge(settings, keys)


def _replies(settings: Settings, candidates: Sequence[Candidate]) -> tuple[Reply, ...]:
    return tuple(
        # A skill's own file speaks for that skill alone.
        reply.model_copy(update={"skill": label}) if label and not reply.skill else reply
        for label, raw, file in _reply_files(settings, candidates)
        for reply in read_replies(raw, file)
    )


def _judge_replies(settings: Settings, candidates: Sequence[Candidate]) -> tuple[JudgeReply, ...]:
    return tuple(
        reply.model_copy(update={"skill": label}) if label and not reply.skill else reply
        for label, raw, file in _reply_files(settings, candidates)
        for reply in read_judge_replies(raw, file)
    )


def _reply_files(
    settings: Settings, candidates: Sequence[Candidate]
) -> Iterator[tuple[str, bytes, str]]:
    """The skill each file speaks for (blank: all), its bytes, and its name in messages."""
    if settings.replies is not None:
        yield "", *read_named(Path(settings.replies))
        return
    names = labels([candidate.found for candidate in candidates])
    for label, candidate in zip(names, candidates, strict=True):
        if candidate.found.suite is not None and candidate.found.suite.cases:
            yield label, *_own_replies(label, candidate)


def _own_replies(label: str, candidate: Candidate) -> tuple[bytes, str]:
    for name in REPLY_FILES:
        path = candidate.folder / name
        if path in (candidate.files.listing(path.parent) or ()):
            return candidate.files.read(path), candidate.files.shown(path)
    raise UserError(
        f"skill '{label}' has no {REPLY_FILES[0]} for the scripted runner to answer from",
        hint="write one, or name a file with --replies",
        place=Place(candidate.files.shown(candidate.folder)),
    )


def read_named(path: Path) -> tuple[bytes, str]:
    """A file that a person named, and its name in messages."""
    files, name = WorkingFiles(path.absolute().parent), PurePosixPath(path.name)
    return files.read(name), files.shown(name)
