"""A small language for runs and reports, so that a test says what happened and nothing else.

    a_report(runs("refund-request", candidate="PPPPP", previous="PPFFF"))

One letter is one repetition: P passed, F failed, E errored, I inconclusive, S skipped, N not run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import TypeAlias

from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.gate import decide
from skill_delta.core.judgements import Evidence, all_readings
from skill_delta.core.paired import compare
from skill_delta.core.policy import GatePolicy
from skill_delta.core.report import BaselineSource, Environment, Report, SkippedSkill
from skill_delta.core.skills import SkillVersion, Unresolved, UnresolvedReason
from skill_delta.core.suite import Case, Check
from skill_delta.core.suite_changes import CaseChange, CaseChangeKind, CasePart, untouched
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import (
    NO_SKILL,
    Arm,
    CheckResult,
    Errored,
    NotRun,
    Outcome,
    Role,
    Scored,
    Skipped,
    Subject,
    Trial,
)
from skill_delta.errors import Place

SKILL = "order-support"
CASE = "refund-request"
RUNNER = "openai"
CHECK = "contains[0]"

BASE = "b45e" * 10
HEAD = "4ead" * 10
PREVIOUS = "1a2b3c4d" * 5


class Anything(CheckSpec):
    """A check that holds whatever was said: what it found is written in the outcome."""

    def grade(self, transcript: Transcript) -> Finding:
        return Finding.of(True, "")


@dataclass(frozen=True)
class Cost:
    """What each trial of one arm used."""

    tokens: int = 100
    cost_usd: float | None = 0.0005
    latency_ms: float = 800.0

    @property
    def usage(self) -> Usage:
        output = min(self.tokens, 20)
        return Usage(self.tokens - output, output)


Runs: TypeAlias = tuple[Outcome, ...]
"""Every trial of one case under one runner."""


def a_skill(
    name: str = SKILL, *, version: str | None = "1.1.0", commit: str | None = None
) -> SkillVersion:
    return SkillVersion(
        name=name,
        description="Answers questions about orders.",
        instructions="Name the order in the first sentence.",
        version=version,
        folder=PurePosixPath("skills") / name.replace("/", "-"),
        commit=commit,
    )


def an_arm(name: str = "candidate", skill: str = SKILL) -> Arm:
    """`candidate`, or the baseline of that name."""
    if name == "candidate":
        return Arm(Role.CANDIDATE, a_skill(skill))
    if name == NO_SKILL:
        return Arm(Role.BASELINE, SkillVersion.none(skill), NO_SKILL)
    return Arm(Role.BASELINE, a_skill(skill, version="1.0.0", commit=PREVIOUS), name)


def a_case(name: str = CASE, *checks: str, skill: str = SKILL) -> Case:
    place = Place(f"skills/{skill}/evals/cases.yaml", 4)
    named = tuple(Check(check, Anything()) for check in checks or (CHECK,))
    return Case(name, "I want a refund for order 1234.", named, place)


def a_trial(
    case: str = CASE,
    *checks: str,
    arm: str = "candidate",
    skill: str = SKILL,
    runner: str = RUNNER,
    repetition: int = 0,
) -> Trial:
    return Trial(skill, an_arm(arm, skill), a_case(case, *checks, skill=skill), runner, repetition)


def a_transcript(answer: str = "I have refunded order 1234.", cost: Cost = Cost()) -> Transcript:
    return Transcript(
        answer=answer,
        tool_calls=(ToolCall("lookup_order", {"order_id": "1234"}, "paid"),),
        usage=cost.usage,
        cost_usd=cost.cost_usd,
        latency_ms=cost.latency_ms,
    )


def scored(
    trial: Trial,
    passed: bool | None = True,
    *,
    evidence: str = "'1234' missing",
    answer: str = "I have refunded order 1234.",
    cost: Cost = Cost(),
) -> Scored:
    """All checks of the trial end alike."""
    results = tuple(
        CheckResult(check.id, passed, "found" if passed else evidence, float(passed or 0))
        for check in trial.case.checks
    )
    return Scored(trial, a_transcript(answer, cost), results)


def outcome(
    letter: str, trial: Trial, *, cost: Cost = Cost(), evidence: str = "'1234' missing"
) -> Outcome:
    """One trial, ended as its letter says."""
    match letter:
        case "P":
            return scored(trial, True, cost=cost)
        case "F":
            return scored(trial, False, evidence=evidence, cost=cost)
        case "I":
            return scored(trial, None, evidence="no price is known", cost=cost)
        case "E":
            return Errored(trial, "503 from the provider after 5 attempts", Usage(40, 0), 0.0002)
        case "S":
            return Skipped(trial, "an empty skill cannot be offered")
        case "N":
            return NotRun(trial, "the ceiling of $1.00 was reached")
        case _:
            raise ValueError(f"no outcome is spelled {letter!r}")


def runs(
    case: str = CASE,
    *checks: str,
    skill: str = SKILL,
    runner: str = RUNNER,
    costs: Mapping[str, Cost] | None = None,
    evidence: str = "'1234' missing",
    **arms: str,
) -> Runs:
    """One case, with one letter per repetition for each arm that is named."""
    return tuple(
        outcome(
            letter,
            a_trial(case, *checks, arm=arm, skill=skill, runner=runner, repetition=repetition),
            cost=(costs or {}).get(arm, Cost()),
            evidence=evidence,
        )
        for arm, letters in arms.items()
        for repetition, letter in enumerate(letters)
    )


def unresolved(message: str = "no earlier version found in the last 50 commits") -> Unresolved:
    return Unresolved(UnresolvedReason.NO_EARLIER_VERSION, message)


def a_report(
    *cases: Runs,
    baselines: Sequence[str] | None = None,
    missing: Mapping[str, Mapping[str, Unresolved]] | None = None,
    policy: GatePolicy | None = None,
    models: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
    skipped: Sequence[SkippedSkill] = (),
    own: Mapping[str, Sequence[str]] | None = None,
    changes: Sequence[SkillChange] = (),
    suite_changes: Mapping[str, tuple[CaseChange, ...]] | None = None,
) -> Report:
    """The report of a whole run, compared and gated by the real thing.

    `baselines` are those that were asked for: by default all that have an outcome. `missing` holds,
    per baseline and skill, why it could not be resolved, and `own` the baselines of those skills
    that are not compared with all of them.
    """
    outcomes = tuple(outcome for case in cases for outcome in case)
    missing = missing or {}
    if baselines is None:
        baselines = list(dict.fromkeys([*_baselines_of(outcomes), *missing]))
    skills = list(dict.fromkeys(outcome.trial.skill for outcome in outcomes))
    of_skill = {skill: (own or {}).get(skill, baselines) for skill in skills}
    deltas = tuple(
        compare(
            name,
            [each for each in outcomes if name in of_skill[each.trial.skill]],
            missing.get(name, {}),
        )
        for name in baselines
    )
    runners = list(dict.fromkeys(outcome.trial.runner for outcome in outcomes)) or [RUNNER]
    started = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    evidence, policy = Evidence(outcomes, deltas, missing), policy or GatePolicy()
    cases_changed = suite_changes or {}
    left_alone = {skill: untouched(each) for skill, each in cases_changed.items()}
    return Report(
        started_at=started,
        finished_at=started + timedelta(seconds=90),
        subjects=tuple(_subject(skill, outcomes, of_skill[skill]) for skill in skills),
        outcomes=outcomes,
        deltas=deltas,
        gate=decide(evidence, policy),
        readings=all_readings(evidence, policy, left_alone),
        suite_changes=cases_changed,
        environment=Environment(
            seed=7,
            runners=dict.fromkeys(runners, "0.1.0"),
            models=dict.fromkeys(runners, "gpt-test") if models is None else models,
            repetitions=max((o.trial.repetition + 1 for o in outcomes), default=1),
        ),
        sources=tuple(
            BaselineSource(skill, name, missing.get(name, {}).get(skill, an_arm(name, skill).skill))
            for name in baselines
            for skill in skills
            if name in of_skill[skill]
        ),
        skipped=tuple(skipped),
        notes=tuple(notes),
        base=BASE if baselines or changes else None,
        head=HEAD if baselines or changes else None,
        changes=tuple(changes),
    )


def a_change(kind: ChangeKind, skill: str = SKILL, came_from: str = "") -> SkillChange:
    """What a pull request did to a skill; `came_from` is its folder at the base, where it moved."""
    folder = PurePosixPath("skills") / skill
    added = kind is ChangeKind.ADDED
    before = PurePosixPath(came_from) if came_from else folder
    return SkillChange(kind, folder, None if added else before)


def a_case_change(
    name: str = CASE,
    kind: CaseChangeKind = CaseChangeKind.EDITED,
    *,
    loosened: tuple[str, ...] = (),
    altered: tuple[CasePart, ...] = (),
    deselected_by: str = "",
    renamed_from: str | None = None,
    renamed_to: str | None = None,
) -> CaseChange:
    place = Place("evals/cases.yaml", 3)
    return CaseChange(name, kind, place, loosened, renamed_from, renamed_to, altered, deselected_by)


def _baselines_of(outcomes: Sequence[Outcome]) -> list[str]:
    arms = (outcome.trial.arm for outcome in outcomes)
    return [arm.baseline for arm in arms if arm.role is Role.BASELINE]


def _subject(skill: str, outcomes: Sequence[Outcome], baselines: Sequence[str]) -> Subject:
    own = (outcome.trial.case for outcome in outcomes if outcome.trial.skill == skill)
    cases = tuple({case.name: case for case in own}.values())
    arms = tuple(an_arm(name, skill) for name in baselines)
    return Subject(skill, an_arm("candidate", skill), arms, cases)
