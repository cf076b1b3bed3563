"""The run, in the order in which it happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random

from skill_delta.core.gate import decide
from skill_delta.core.judgements import Evidence, all_readings, judge
from skill_delta.core.paired import compare
from skill_delta.core.readings import Scope
from skill_delta.core.report import NO_CASES, Environment, Report
from skill_delta.core.sampling import Sampling
from skill_delta.core.selection import Selection
from skill_delta.core.trials import Halt, in_report_order, plan
from skill_delta.execution import Budget, run_trials
from skill_delta.ports import Judge, Ledger, Progress, Runner
from skill_delta.preparation import Prepared, RunRequest


@dataclass(frozen=True, slots=True)
class Ports:
    """The run's collaborators. `started_at` is its beginning, `now` tells the date.

    Trials that `ledger` recalls are not run again; what finishes is recorded there. `judge` is None
    where no case has a rubric, or nobody is to be asked.
    """

    runners: Mapping[str, Runner]
    budget: Budget
    progress: Progress
    ledger: Ledger
    cancelled: asyncio.Event
    started_at: datetime
    now: Callable[[], datetime]
    judge: Judge | None = None


async def evaluate(
    ready: Prepared, request: RunRequest, environment: Environment, ports: Ports
) -> Report:
    """Run both arms over the skills' cases, look by look, compare them, and decide."""
    sampling = Sampling.of(ready.subjects, tuple(environment.runners), request.policy.looks)
    rng = Random(request.seed)  # noqa: S311 - the order of trials is no secret
    halt: Halt | None = None
    while samples := sampling.next_samples:
        planned = plan(samples, sampling.repetitions, rng)
        arrived, halt = await run_trials(
            planned.trials,
            runners=ports.runners,
            at_once=request.at_once,
            budget=ports.budget,
            progress=ports.progress,
            ledger=ports.ledger,
            cancelled=ports.cancelled,
            judge=ports.judge,
        )
        sampling = sampling.after((*arrived, *planned.skipped), halt)
        if halt is not None:
            break
        sampling = sampling.asking_again(_undecided(ready, sampling, request))
    finished_at = ports.now()
    ports.ledger.finished(halt, finished_at)
    times = (ports.started_at, finished_at)
    report = conclude(ready, sampling, request, environment, times)
    return replace(report, spent_before=ports.ledger.spent_before)


def _undecided(ready: Prepared, sampling: Sampling, request: RunRequest) -> Collection[Scope]:
    if sampling.is_last_look:
        return ()
    evidence = _evidence(ready, sampling, request)
    return judge(evidence, request.policy).undecided(request.policy)


def conclude(
    ready: Prepared,
    sampling: Sampling,
    request: RunRequest,
    environment: Environment,
    times: tuple[datetime, datetime],
) -> Report:
    """What the outcomes come to. `times` are when the run started and when it was finished."""
    evidence = _evidence(ready, sampling, request)
    started_at, finished_at = times
    provenance = ready.provenance
    return Report(
        started_at=started_at,
        finished_at=finished_at,
        base=provenance.base,
        head=provenance.head,
        is_working_copy=provenance.is_working_copy,
        changes=provenance.changes,
        subjects=ready.subjects,
        outcomes=evidence.outcomes,
        deltas=evidence.deltas,
        readings=all_readings(evidence, request.policy, ready.untouched),
        gate=decide(evidence, request.policy),
        environment=replace(environment, repetitions=_repetitions(evidence, request)),
        sources=ready.sources,
        skipped=ready.skipped,
        notes=(*ready.notes, *sampling.notes),
        suite_changes=ready.suite_changes,
        trials_saved=sampling.trials_saved,
    )


def _repetitions(evidence: Evidence, request: RunRequest) -> int:
    """How often the case that was run most was run in one arm."""
    looks = request.policy.looks
    return max((o.trial.repetition + 1 for o in evidence.outcomes), default=looks.repetitions)


def _evidence(ready: Prepared, sampling: Sampling, request: RunRequest) -> Evidence:
    runners = sampling.runners
    unresolved = ready.unresolved
    return Evidence(
        in_report_order(sampling.outcomes, ready.subjects, runners),
        tuple(
            compare(
                baseline,
                in_report_order(sampling.counted(baseline, skills), ready.subjects, runners),
                unresolved.get(baseline, {}),
            )
            for baseline, skills in (ready.compared or _compared_with_nothing(request)).items()
        ),
        unresolved,
        why_empty=_why_empty(ready, request.selection),
        objections=ready.objections,
        looks_used=sampling.looks_used,
        asked=request.baselines,
    )


def _compared_with_nothing(request: RunRequest) -> Mapping[str, Collection[str]]:
    """Where no case ran: a run that was to be compared has a comparison that says so."""
    return dict.fromkeys(request.baselines, ()) if request.policy.needs_cases else {}


def _why_empty(ready: Prepared, selection: Selection) -> str:
    if not ready.skipped:
        return "no SKILL.md was found"
    reasons = {skipped.reason for skipped in ready.skipped}
    names = ", ".join(skipped.skill for skipped in ready.skipped)
    if reasons == {NO_CASES}:
        return f"no skill has an eval case ({names})"
    return f"no case matches {selection} ({names})"
