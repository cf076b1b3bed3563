"""The JSON report's shape, version 1: what a program may rely on.

Within a version keys are only ever added. Rates are in [0, 1], costs in US dollars, times in
milliseconds; null means unknown or not measured, and never zero.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from skill_delta.core.policy import GateMethod, Verdict
from skill_delta.core.readings import Measure
from skill_delta.core.suite_changes import CaseChangeKind, CasePart
from skill_delta.core.trials import Role
from skill_delta.render.document_part import Count, DocumentPart, Rate, is_absent
from skill_delta.render.judge_document import Agreement, Judge, Spend

SCHEMA_VERSION: Literal[1] = 1

Delta = Annotated[float, Field(ge=-1, le=1)]
OutcomeStatus = Literal["pass", "fail", "error", "skipped", "inconclusive", "not_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleGate(DocumentPart):
    """One gate on a delta. `skill` is null where it is over all skills.

    `note` qualifies the verdict, or says what kept it inconclusive; `literally` is what the bare
    difference alone would say, `within_noise` whether the interval allows for another verdict.
    """

    skill: str | None
    runner: str
    baseline: str
    method: GateMethod
    min_delta: float
    margin: float
    verdict: Verdict
    note: str
    literally: Verdict
    within_noise: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(DocumentPart):
    """The gate's answer. `passed` is true where the verdict is `pass`.

    `gates` are the single gates on a delta, of which the verdict is the worst.
    """

    passed: bool
    verdict: Verdict
    exit_code: Count
    reasons: list[str]
    gates: list[SingleGate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary(DocumentPart):
    """The candidate's trials by how they ended, and the whole bill, every arm's.

    `judge` is the part of the bill that judging these trials cost, and there only with a judge.
    """

    passed: Count
    failed: Count
    errored: Count
    inconclusive: Count
    skipped: Count
    not_run: Count
    pass_rate: Rate | None
    tokens: Count
    cost_usd: float | None
    judge: Annotated[Spend | None, Field(exclude_if=is_absent)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(DocumentPart):
    """The delta over case means, and the deltas that it is compatible with."""

    delta: Delta
    low: Delta
    high: Delta
    confidence: Rate
    method: str
    looks_used: Count
    looks_planned: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Band(DocumentPart):
    """Where the delta may lie over other cases like these."""

    low: Delta
    high: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio(DocumentPart):
    """Candidate over baseline, per run: 1.1 is ten per cent more."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Metrics(DocumentPart):
    """Candidate minus baseline over the comparable cases' outcomes.

    A higher pass rate is better; for tokens, cost and latency, negative is better. What follows
    `comparable_cases` is null with several runners, which are never pooled, or where nothing was
    comparable; `verdict` also where nothing gates on it. `ratios` has those that can be known.
    """

    pass_rate_baseline: Rate | None
    pass_rate_candidate: Rate | None
    pass_rate_delta: Delta | None
    tokens_delta: float | None
    cost_delta_usd: float | None
    latency_delta_ms: float | None
    comparable_cases: Count
    interval: Interval | None
    p_regression: Rate | None
    p_exact: Rate | None
    mde: Rate | None
    verdict: Verdict | None
    population_band: Band | None
    ratios: dict[Measure, Ratio]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOfRunner(DocumentPart):
    """One case of one skill under one runner."""

    skill: str
    case: str
    runner: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded(CaseOfRunner):
    """A case that is in neither half of the delta, and why."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LowSignal(CaseOfRunner):
    """A check that passed in every measured repetition of both arms (`runs` of them)."""

    check: str
    runs: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class HighVariance(CaseOfRunner):
    """An arm of a case whose repetitions disagreed. `stddev` is the population's."""

    arm: Role
    pass_rate: Rate
    stddev: float
    runs: Count
    noise: bool
    """Whether so few runs may disagree by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectCheck(CaseOfRunner):
    """A check that may be wrong, as `runs` repetitions of both arms say.

    `other` is the check that a derived one repeats, else null. `noise` is whether a check that
    nothing is wrong with looks like it more often than one time in twenty.
    """

    check: str
    runs: Count
    pass_rate_candidate: Rate
    pass_rate_baseline: Rate
    other: str | None
    noise: bool


@dataclass(frozen=True, kw_only=True)
class _Against(DocumentPart):
    baseline: str


# A second base, and so no slots, because the name has to come before the metrics.
@dataclass(frozen=True, kw_only=True)
class BaselineDelta(Metrics, _Against):
    """One baseline against the candidate: over all runners, per runner, per skill.

    `untouched` is over the cases that a pull request left as they were, null where it left all.
    """

    runners: dict[str, Metrics]
    skills: dict[str, Metrics]
    untouched: Metrics | None
    excluded: list[Excluded]
    low_signal: list[LowSignal]
    high_variance: list[HighVariance]
    always_fail: list[SuspectCheck]
    inverse: list[SuspectCheck]
    derived: list[SuspectCheck]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(DocumentPart):
    """One check of one trial. `passed` is null where it could not be evaluated."""

    id: str
    passed: bool | None
    evidence: str
    score: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(DocumentPart):
    """Tokens, as the server counted them."""

    input_tokens: Count
    output_tokens: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(DocumentPart):
    """One tool call and the answer it was given."""

    name: str
    arguments: dict[str, JsonValue]
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(DocumentPart):
    """What a trial left behind. `skill_triggered` is null where the skill was not offered."""

    answer: str
    tool_calls: list[ToolCall]
    skill_triggered: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging(DocumentPart):
    """What the judge of one trial was: its model, how often it was asked, what that cost."""

    model: str
    attempts: Count
    usage: Usage
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(CaseOfRunner):
    """One trial. `repetition` counts from 0; `baseline` is null for the candidate.

    `error` says why there is no score: the error, or why the trial was skipped or not run. `usage`
    and `cost_usd` are without those of `judge`, which is there only where a judge was asked.
    """

    arm: Role
    baseline: str | None
    repetition: Count
    status: OutcomeStatus
    score: Rate | None
    checks: list[Check]
    usage: Usage
    cost_usd: float | None
    latency_ms: float | None
    error: str | None
    transcript: Transcript | None
    judge: Annotated[Judging | None, Field(exclude_if=is_absent)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline(DocumentPart):
    """Which version of a skill a baseline stood for. `unresolved` says why there is none."""

    skill: str
    baseline: str
    version: str | None
    commit: str | None
    unresolved: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(DocumentPart):
    """A skill that was found and not evaluated."""

    skill: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment(DocumentPart):
    """What it takes to measure again. `model` and `runner_versions` are by runner.

    `hooks_disabled` is there only where it is true: the candidate ran with its hooks suppressed.
    `judge` is there only where a case has a rubric.
    """

    runner_versions: dict[str, str]
    model: dict[str, str]
    repetitions: Count
    seed: int
    hooks_disabled: Annotated[bool, Field(exclude_if=operator.not_)] = False
    judge: Annotated[Judge | None, Field(exclude_if=is_absent)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteChange(DocumentPart):
    """What a pull request did to one eval case.

    `loosened` says what it no longer asks for, `altered` which parts of it read otherwise, and
    `deselected_by` what of the run's selection took it at the base and takes it no longer.
    """

    skill: str
    case: str
    change: CaseChangeKind
    loosened: list[str]
    renamed_from: str | None
    renamed_to: str | None
    altered: list[CasePart]
    deselected_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument(DocumentPart):
    """One run of skill-delta. `delta` is the first of `deltas`, null without a baseline.

    `judge_agreement` is there only where recorded answers were judged again.
    """

    schema_version: Literal[1]
    skill_delta_version: str
    started_at: datetime
    finished_at: datetime
    base: str | None
    head: str | None
    is_working_copy: bool
    """Whether the candidates are the working copy on top of `head`."""
    gate: Gate
    summary: Summary
    delta: BaselineDelta | None
    deltas: list[BaselineDelta]
    baselines: list[Baseline]
    outcomes: Iterable[Outcome]
    skipped: list[Skipped]
    notes: list[str]
    suite_changes: list[SuiteChange]
    trials_saved: Count
    """How many trials fewer were run than every planned look would have taken."""
    environment: Environment
    judge_agreement: Annotated[Agreement | None, Field(exclude_if=is_absent)] = None
