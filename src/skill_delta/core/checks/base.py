"""What every check is: a shape in YAML and a judgement of a transcript, in one class."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from skill_delta.core.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check says of one transcript.

    `passed` is None when the check could not be evaluated (a cost limit where no price is known):
    that is neither a pass nor a fail. `score` is in [0, 1]. `evidence` is one line for a person.
    """

    passed: bool | None
    evidence: str
    score: float

    @classmethod
    def of(cls, passed: bool, evidence: str) -> Finding:
        """A check that either holds or does not."""
        return cls(passed, evidence, float(passed))

    @classmethod
    def not_evaluated(cls, evidence: str) -> Finding:
        """A check that says nothing here; `evidence` says why."""
        return cls(None, evidence, 0.0)


class CheckSpec(BaseModel):
    """A check as it is written in an eval file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @abstractmethod
    def grade(self, transcript: Transcript) -> Finding:
        """Judge the transcript. Raises `TrialError` when judging itself failed."""

    @property
    def may_be_slow(self) -> bool:
        """Whether judging may take long enough to be felt by trials that run beside it."""
        return False

    @property
    def always_holds(self) -> bool:
        """Whether no transcript can fail it, so that it measures nothing."""
        return False

    @property
    def never_holds(self) -> bool:
        """Whether every transcript fails it, so that it measures nothing either."""
        return False

    def reads(self, path: str) -> bool:  # noqa: ARG002 - what most of them answer
        """Whether it may ask for the text of the file at this path of the working folder."""
        return False

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The tools it watches. One that the model was never given can never be called."""
        return ()
