"""What is run: two arms, the same cases, and what each trial ended as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TypeAlias, assert_never

from skill_delta.core.judging import Judging
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Case, Mode
from skill_delta.core.transcript import Transcript, Usage

NO_SKILL = "none"
"""The baseline that is an empty skill."""

ITSELF = "itself"
"""The baseline that is the candidate: what differs is noise."""


class Role(StrEnum):
    """The side of the comparison that an arm stands on."""

    CANDIDATE = "candidate"
    BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of the comparison: same cases, same model, a different skill.

    `baseline` is what a person asked for (`none`, `previous`, `base` or a revision), and empty for
    the candidate.
    """

    role: Role
    skill: SkillVersion
    baseline: str = ""

    @property
    def name(self) -> str:
        """`candidate`, or the baseline's name."""
        return self.baseline or self.role.value

    @property
    def answers_to(self) -> tuple[str, ...]:
        """What a scripted reply may call it: its name, and `baseline` for any of them.

        The candidate that stands in for its own baseline is given the candidate's replies.
        """
        role = Role.CANDIDATE if self.baseline == ITSELF else self.role
        return (role.value, self.name)


@dataclass(frozen=True, slots=True)
class Subject:
    """A skill to evaluate: its arms and its cases.

    `label` is how reports name it: the candidate's name, with its folder where two share a name.
    """

    label: str
    candidate: Arm
    baselines: tuple[Arm, ...]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class CaseKey:
    """What is compared: one case of one skill under one runner."""

    skill: str
    case: str
    runner: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One case, once, in one arm. `repetition` counts from 0."""

    skill: str
    arm: Arm
    case: Case
    runner: str
    repetition: int

    @property
    def key(self) -> CaseKey:
        return CaseKey(self.skill, self.case.name, self.runner)


class Status(StrEnum):
    """How a trial ended, in the words of the reports."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"
    INCONCLUSIVE = "inconclusive"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check of one trial. `passed` is None where it could not be evaluated; score in [0, 1]."""

    id: str
    passed: bool | None
    evidence: str
    score: float


@dataclass(frozen=True, slots=True)
class Scored:
    """The trial ran and its checks were read. `judging` is there where a judge was asked."""

    trial: Trial
    transcript: Transcript
    checks: tuple[CheckResult, ...]
    judging: Judging | None = None
    status: Status = field(init=False)
    """Fail on any failed check; inconclusive where one could not be evaluated; else pass."""

    def __post_init__(self) -> None:
        # Read many times by every report, so it is worked out once.
        verdicts = {check.passed for check in self.checks}
        status = Status.FAIL if False in verdicts else Status.PASS
        if status is Status.PASS and None in verdicts:
            status = Status.INCONCLUSIVE
        object.__setattr__(self, "status", status)

    @property
    def score(self) -> float:
        """The share of checks passed, in [0, 1]; 1 for a case without checks."""
        if not self.checks:
            return 1.0
        return sum(check.score for check in self.checks) / len(self.checks)


@dataclass(frozen=True, slots=True)
class Errored:
    """The harness, the provider, a check or the judge gave out: it says nothing about the skill.

    `usage` and `cost_usd` are what was spent before it was lost (None: price unknown), without what
    `judging` cost.
    """

    trial: Trial
    reason: str
    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    transcript: Transcript | None = None
    judging: Judging | None = None

    @property
    def lacks_a_verdict(self) -> bool:
        """It was answered, and is lost for want of the judge's verdict alone."""
        return self.transcript is not None and self.judging is not None and bool(self.judging.error)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Left out on purpose: running it would prove nothing."""

    trial: Trial
    reason: str


@dataclass(frozen=True, slots=True)
class NotRun:
    """A ceiling, a cancellation or (`by_outage`) a dead provider came first."""

    trial: Trial
    reason: str
    by_outage: bool = False


@dataclass(frozen=True, slots=True)
class Halt:
    """Why no further trial starts. A ceiling was asked for, unlike an outage or a cancellation."""

    reason: str
    is_ceiling: bool = False
    is_outage: bool = False


Outcome: TypeAlias = Scored | Errored | Skipped | NotRun


def status_of(outcome: Outcome) -> Status:
    """The outcome's status, as reports name it."""
    match outcome:
        case Scored():
            return outcome.status
        case Errored():
            return Status.ERROR
        case Skipped():
            return Status.SKIPPED
        case NotRun():
            return Status.NOT_RUN
        case _:
            assert_never(outcome)


@dataclass(frozen=True, slots=True)
class Sample:
    """A skill to run under one runner: its arms, its cases."""

    subject: Subject
    runner: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Every trial in the order in which it starts, and what is skipped on purpose."""

    trials: tuple[Trial, ...]
    skipped: tuple[Skipped, ...]


def plan(samples: Sequence[Sample], repetitions: Sequence[int], rng: Random) -> Plan:
    """Lay out a look: cases in a seeded order, the arms of a repetition back to back.

    An offered case has no baseline run under `none`: there is no skill to offer, so it would be
    "not triggered" by construction.
    """
    blocks: list[tuple[Trial, ...]] = []
    skipped: list[Skipped] = []
    for subject, runner in ((sample.subject, sample.runner) for sample in samples):
        for case in subject.cases:
            arms = (subject.candidate, *subject.baselines)
            run = tuple(arm for arm in arms if not nothing_to_offer(arm, case))
            skipped += [
                Skipped(Trial(subject.label, arm, case, runner, 0), NOTHING_TO_OFFER)
                for arm in arms
                if arm not in run
            ]
            # The arms of a repetition run back to back: if the provider slows down or
            # changes mid-run, every arm meets it alike and the difference stays fair.
            blocks += [
                tuple(Trial(subject.label, arm, case, runner, repetition) for arm in run)
                for repetition in repetitions
            ]
    rng.shuffle(blocks)
    return Plan(tuple(trial for block in blocks for trial in block), tuple(skipped))


NOTHING_TO_OFFER = "an empty skill cannot be offered, so the case runs in the candidate arm only"


def nothing_to_offer(arm: Arm, case: Case) -> bool:
    """Whether the arm's skill is empty though the case only offers it."""
    return arm.role is Role.BASELINE and case.mode is Mode.OFFERED and arm.skill.is_empty


def in_report_order(
    outcomes: Sequence[Outcome], subjects: Sequence[Subject], runners: Sequence[str]
) -> tuple[Outcome, ...]:
    """Outcomes as their authors wrote the cases, whatever the order in which they arrived."""
    rank: Mapping[tuple[str, str], int] = {
        (subject.label, case.name): position
        for position, (subject, case) in enumerate(
            (subject, case) for subject in subjects for case in subject.cases
        )
    }
    arms: Mapping[tuple[str, str], int] = {
        (subject.label, arm.name): position
        for subject in subjects
        for position, arm in enumerate((subject.candidate, *subject.baselines))
    }

    def place(outcome: Outcome) -> tuple[int, int, int, int]:
        trial = outcome.trial
        return (
            rank[trial.skill, trial.case.name],
            runners.index(trial.runner),
            arms[trial.skill, trial.arm.name],
            trial.repetition,
        )

    return tuple(sorted(outcomes, key=place))
