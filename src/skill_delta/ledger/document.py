"""The lines of a run record, version 1: JSON Lines, told apart by their `line`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    AwareDatetime,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    WrapSerializer,
)

from skill_delta.core.changes import SkillChange
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.looks import MOST_REPETITIONS
from skill_delta.core.policy import Reason
from skill_delta.core.report import BaselineSource, Environment, SkippedSkill
from skill_delta.core.scores import Spend, spend_of_judging
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite_changes import CaseChange
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import (
    Arm,
    CheckResult,
    Errored,
    Role,
    Scored,
    Subject,
    Trial,
)
from skill_delta.ledger.cases import RecordedCase

RECORD_VERSION: Literal[1] = 1

LONGEST_LINE = 64 * 1024 * 1024
"""In bytes. No longer one is written, or read."""


MOST_TOKENS = 10**15
MOST_DOLLARS = 1e12
MOST_MILLISECONDS = 1e12
MOST_BYTES = 10**15
"""More than any run comes to. A record may hold any number, and sums of them have to be numbers."""

Dollars: TypeAlias = Annotated[float, Field(ge=0, le=MOST_DOLLARS)]


def _usage(usage: Usage) -> Usage:
    if not all(0 <= count <= MOST_TOKENS for count in (usage.input_tokens, usage.output_tokens)):
        raise ValueError("no run takes so many tokens")
    return usage


def _transcript(transcript: Transcript) -> Transcript:
    _usage(transcript.usage)
    if not 0 <= (transcript.cost_usd or 0.0) <= MOST_DOLLARS:
        raise ValueError("no run costs so much")
    if not 0 <= transcript.latency_ms <= MOST_MILLISECONDS:
        raise ValueError("no run takes so long")
    if transcript.files and not all(
        0 <= file.size <= MOST_BYTES for file in transcript.files.files
    ):
        raise ValueError("no file has so many bytes")
    return transcript


def _judging(judging: Judging) -> Judging:
    _spend(spend_of_judging(judging))
    return judging


def _result(result: CheckResult) -> CheckResult:
    if not 0 <= result.score <= 1:
        raise ValueError("a check's score is from 0 to 1")
    return result


def _spend(spend: Spend) -> Spend:
    _usage(spend.usage)
    if not 0 <= (spend.cost_usd or 0.0) <= MOST_DOLLARS:
        raise ValueError("no run costs so much")
    return spend


class _Line:
    """A later version may add keys: what this one does not know it does not read."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="ignore")


@dataclass(frozen=True, slots=True)
class RecordedArm:
    """One arm. Its files are named with their hashes, and kept nowhere."""

    role: Role
    skill: SkillVersion
    baseline: str

    @classmethod
    def of(cls, arm: Arm) -> RecordedArm:
        return cls(arm.role, portable(arm.skill), arm.baseline)

    def restored(self) -> Arm:
        # A record that someone else wrote leads to no folder of this machine.
        return Arm(self.role, portable(self.skill), self.baseline)


def portable(skill: SkillVersion) -> SkillVersion:
    """The same version without the folder that holds its files on this machine."""
    if skill.bundle is None:
        return skill
    return replace(skill, bundle=replace(skill.bundle, root=PurePosixPath()))


def _portable(source: BaselineSource) -> BaselineSource:
    if not isinstance(source.version, SkillVersion):
        return source
    return replace(source, version=portable(source.version))


def _written_portably(
    source: BaselineSource, serialise: SerializerFunctionWrapHandler
) -> dict[str, JsonValue]:
    written: dict[str, JsonValue] = serialise(_portable(source))
    return written


RecordedSource: TypeAlias = Annotated[
    BaselineSource, AfterValidator(_portable), WrapSerializer(_written_portably)
]
"""Where a baseline came from, as portable as the arms are."""


@dataclass(frozen=True, slots=True)
class RecordedSubject:
    """A skill of the run, its arms and its cases."""

    label: str
    candidate: RecordedArm
    baselines: tuple[RecordedArm, ...]
    cases: tuple[RecordedCase, ...]

    @classmethod
    def of(cls, subject: Subject) -> RecordedSubject:
        return cls(
            subject.label,
            RecordedArm.of(subject.candidate),
            tuple(map(RecordedArm.of, subject.baselines)),
            tuple(map(RecordedCase.of, subject.cases)),
        )

    def restored(self) -> Subject:
        """Raises ValueError for a case that this version cannot read."""
        return Subject(
            self.label,
            self.candidate.restored(),
            tuple(arm.restored() for arm in self.baselines),
            tuple(case.restored() for case in self.cases),
        )


def _without_what_is_not_there(
    environment: Environment, serialise: SerializerFunctionWrapHandler
) -> dict[str, JsonValue]:
    """`hooks_disabled` is there only where it is true, `judge` only where there is one.

    Records without the keys stay as they are.
    """
    written: dict[str, JsonValue] = serialise(environment)
    if not environment.hooks_disabled:
        written.pop("hooks_disabled", None)
    if environment.judge is None:
        written.pop("judge", None)
    return written


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine(_Line):
    """The head of a record: all that was settled before the first trial.

    `request` is what was asked for, as the command that writes and reads it spells it.
    """

    line: Literal["run"] = "run"
    record_version: Literal[1] = RECORD_VERSION
    skill_delta_version: str
    run_id: str
    started_at: AwareDatetime
    request: JsonValue
    environment: Annotated[Environment, WrapSerializer(_without_what_is_not_there)]
    subjects: tuple[RecordedSubject, ...]
    sources: tuple[RecordedSource, ...] = ()
    skipped: tuple[SkippedSkill, ...] = ()
    notes: tuple[str, ...] = ()
    objections: tuple[Reason, ...] = ()
    suite_changes: dict[str, tuple[CaseChange, ...]] = field(default_factory=dict)
    base: str | None = None
    head: str | None = None
    is_working_copy: bool = False
    changes: tuple[SkillChange, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Which trial of a run. `baseline` is blank for the candidate."""

    skill: str
    case: str
    runner: str
    baseline: str
    repetition: Annotated[int, Field(ge=0, lt=MOST_REPETITIONS)]

    @classmethod
    def of(cls, trial: Trial) -> TrialKey:
        return cls(trial.skill, trial.case.name, trial.runner, trial.arm.baseline, trial.repetition)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLine(_Line):
    """One finished trial. Without `error` it was scored; `cost_usd` is null where unknown.

    `judging` is what the judge was asked beside the task and the answer, all that it said, and what
    that cost; null where none was asked.
    """

    line: Literal["trial"] = "trial"
    key: TrialKey
    fingerprint: str
    error: str | None = None
    checks: tuple[Annotated[CheckResult, AfterValidator(_result)], ...] = ()
    transcript: Annotated[Transcript, AfterValidator(_transcript)] | None
    usage: Annotated[Usage, AfterValidator(_usage)] = Usage()
    cost_usd: Dollars | None = None
    judging: Annotated[Judging, AfterValidator(_judging)] | None = None

    @classmethod
    def of(cls, outcome: Scored | Errored, fingerprint: str) -> TrialLine:
        key = TrialKey.of(outcome.trial)
        match outcome:
            case Scored(transcript=transcript, checks=checks, judging=judging):
                return cls(
                    key=key,
                    fingerprint=fingerprint,
                    checks=checks,
                    transcript=transcript,
                    judging=judging,
                )
            case Errored():
                return cls(
                    key=key,
                    fingerprint=fingerprint,
                    error=outcome.reason,
                    transcript=outcome.transcript,
                    usage=outcome.usage,
                    cost_usd=outcome.cost_usd,
                    judging=outcome.judging,
                )

    @property
    def spend(self) -> Spend:
        """What the trial cost, answered or lost, its judge included."""
        judged = spend_of_judging(self.judging)
        if self.error is not None or self.transcript is None:
            return Spend(self.usage, self.cost_usd) + judged
        return Spend(self.transcript.usage, self.transcript.cost_usd) + judged

    @property
    def lacks_a_verdict(self) -> bool:
        """It was answered, and is lost for want of the judge's verdict alone."""
        is_unjudged = self.judging is not None and bool(self.judging.error)
        return self.error is not None and self.transcript is not None and is_unjudged

    def outcome_of(self, trial: Trial) -> Scored | Errored:
        """What the trial ended as. Raises ValueError for a line that says neither."""
        if self.error is not None:
            return Errored(
                trial, self.error, self.usage, self.cost_usd, self.transcript, self.judging
            )
        if self.transcript is None:
            raise ValueError("a trial has neither an answer nor an error")
        return Scored(trial, self.transcript, self.checks, self.judging)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndLine(_Line):
    """The end of a run that ended by itself. `halted` says why some trials were not run.

    `spent_before` is what recorded trials cost that were lost and are not among the outcomes.
    """

    line: Literal["end"] = "end"
    finished_at: AwareDatetime
    halted: str
    by_ceiling: bool
    spent_before: Annotated[Spend, AfterValidator(_spend)] = Spend()


AnyLine: TypeAlias = Annotated[RunLine | TrialLine | EndLine, Field(discriminator="line")]

LINES: TypeAdapter[RunLine | TrialLine | EndLine] = TypeAdapter(AnyLine)


def fingerprint_of(
    trial: Trial, runner_version: str, model: str, judge: JudgedBy | None = None
) -> str:
    """What a trial's outcome depends on, as 64 hexadecimal digits.

    The arm, the skill with the hashes of its files, the case, the runner and its version, the
    model, which repetition it is, and the judge where the case has a rubric: with any of them
    another, it is another trial.
    """
    judged_by = (judge.name, judge.model) if judge and trial.case.rubric else ()
    skill = trial.arm.skill
    files = skill.bundle.files if skill.bundle else ()
    parts = (
        TrialKey.of(trial),
        (skill.name, skill.description, skill.instructions),
        sorted((str(file.path), file.sha256) for file in files),
        trial.case.fingerprint,
        runner_version,
        model,
        *judged_by,
    )
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
