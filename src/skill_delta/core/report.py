"""Everything that a run found out, before any format draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from skill_delta.core.agreement import Agreement
from skill_delta.core.changes import SkillChange
from skill_delta.core.diagnostics import Diagnostics, diagnose
from skill_delta.core.gate import GateVerdict
from skill_delta.core.judging import JudgedBy
from skill_delta.core.paired import PairedDelta
from skill_delta.core.policy import Verdict
from skill_delta.core.readings import Reading, Scope
from skill_delta.core.scores import Spend, judge_spend_of, pass_rate, total_spend
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.core.suite_changes import CaseChange
from skill_delta.core.trials import (
    Errored,
    NotRun,
    Outcome,
    Role,
    Scored,
    Skipped,
    Status,
    Subject,
)

NO_CASES = "no eval cases in evals/*.yaml, or in *.eval.yaml beside SKILL.md"
"""Why a skill is not evaluated that nobody wrote a case for."""


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A skill that was found and not evaluated."""

    skill: str
    reason: str


@dataclass(frozen=True, slots=True)
class BaselineSource:
    """Which version of a skill a baseline stood for: what the report names beside the delta."""

    skill: str
    baseline: str
    version: SkillVersion | Unresolved


@dataclass(frozen=True, slots=True)
class Environment:
    """What a reader needs to measure again.

    `runners` maps each runner, in the order asked for, to its version; `models` to its model.
    """

    seed: int
    runners: Mapping[str, str]
    models: Mapping[str, str] = field(default_factory=dict)
    repetitions: int = 1
    hooks_disabled: bool = False
    """Whether the candidate's agent was told to load no skills by its hooks."""
    judge: JudgedBy | None = None
    """Who judged by rubrics; None where no case has one."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The run in numbers.

    `passed`, `failed`, `errored` and `inconclusive` count trials of the candidate; `skipped`
    counts baseline cases left out on purpose, `not_run` trials of any arm. `pass_rate` is the
    candidate's, None where nothing ran. `spend` is the whole bill, every arm; `judge_spend` is the
    part of it that judging these trials cost.
    """

    passed: int
    failed: int
    errored: int
    inconclusive: int
    skipped: int
    not_run: int
    pass_rate: float | None
    spend: Spend
    judge_spend: Spend = Spend()


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a run was made of, known before its first trial.

    `base` and `head` are full commit ids, None where there is no repository. `changes` are what a
    pull request did, removed skills and skills that were not evaluated included.
    """

    base: str | None = None
    head: str | None = None
    is_working_copy: bool = False
    changes: tuple[SkillChange, ...] = ()


@dataclass(frozen=True)  # without slots, for what every renderer asks is worked out once
class Report:
    """One run. `base` and `head` are full commit ids, None where there is no repository.

    `deltas` is in the order of the baselines asked for; empty where none was. `notes` are for the
    reader and never decide. `changes` are what a pull request did, removed skills and skills that
    were not evaluated included; empty where there is no pull request.
    """

    started_at: datetime
    finished_at: datetime
    subjects: tuple[Subject, ...]
    outcomes: tuple[Outcome, ...]
    deltas: tuple[PairedDelta, ...]
    gate: GateVerdict
    environment: Environment
    sources: tuple[BaselineSource, ...] = ()
    skipped: tuple[SkippedSkill, ...] = ()
    notes: tuple[str, ...] = ()
    base: str | None = None
    head: str | None = None
    is_working_copy: bool = False
    """The candidates are the working copy on top of `head`, uncommitted edits included."""
    changes: tuple[SkillChange, ...] = ()
    readings: Mapping[Scope, Reading] = field(default_factory=dict)
    """How sure each comparison is: per baseline and runner, over all skills and for each."""
    suite_changes: Mapping[str, tuple[CaseChange, ...]] = field(default_factory=dict)
    """What a pull request did to the cases of each skill of which it changed some."""
    trials_saved: int = 0
    """How many trials fewer were run than every planned look would have taken."""
    spent_before: Spend = Spend()
    """What trials cost that were lost in an earlier run and had to be run again."""
    agreement: Agreement | None = None
    """How recorded answers fared that a judge was asked about again; None where none was."""

    @cached_property
    def candidate(self) -> tuple[Outcome, ...]:
        """The outcomes of the skills as they are now."""
        return tuple(o for o in self.outcomes if o.trial.arm.role is Role.CANDIDATE)

    @property
    def measured_nothing(self) -> bool:
        """An outage took everything: no trial of any arm ran to an answer, and nothing was cut.

        A cap, a ceiling or a cancellation is none, nor is a candidate that alone breaks.
        """
        reasons = self.gate.reasons
        unmeasured = all(r.verdict is Verdict.NOT_MEASURED and not r.is_cap for r in reasons)
        return unmeasured and not any(
            isinstance(o, Scored) or (isinstance(o, NotRun) and not o.by_outage)
            for o in self.outcomes
        )

    @cached_property
    def flags(self) -> Mapping[str, Diagnostics]:
        """What may be wrong with the checks and cases, for each baseline."""
        return {delta.baseline: diagnose(delta) for delta in self.deltas}

    @cached_property
    def summary(self) -> Summary:
        scored = [outcome.status for outcome in self.candidate if isinstance(outcome, Scored)]
        return Summary(
            passed=scored.count(Status.PASS),
            failed=scored.count(Status.FAIL),
            errored=sum(isinstance(outcome, Errored) for outcome in self.candidate),
            inconclusive=scored.count(Status.INCONCLUSIVE),
            skipped=sum(isinstance(outcome, Skipped) for outcome in self.outcomes),
            not_run=sum(isinstance(outcome, NotRun) for outcome in self.outcomes),
            pass_rate=pass_rate(self.candidate),
            spend=total_spend(self.outcomes) + self.spent_before,
            judge_spend=sum(map(judge_spend_of, self.outcomes), Spend()),
        )
