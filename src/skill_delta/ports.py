"""The sockets: what the story needs from the world, and nothing about how it is had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from skill_delta.core.conversation import Completion, Conversation
from skill_delta.core.judging import JudgedBy, Question, Rejected
from skill_delta.core.scores import Spend
from skill_delta.core.skills import SkillVersion, Unresolved, WorkingSkill
from skill_delta.core.transcript import Transcript
from skill_delta.core.trials import Halt, Outcome, Trial

if TYPE_CHECKING:
    import httpx


class SourceFiles(Protocol):
    """The files around a skill, read as data: no link is followed out of them.

    Paths are relative to one root (the repository's, or the folder that was searched).
    """

    def read(self, path: PurePosixPath) -> bytes:
        """The file's bytes. Raises `UserError` (with the place) when it cannot be read."""
        ...

    def listing(self, folder: PurePosixPath) -> Sequence[PurePosixPath] | None:
        """The regular files directly in a folder, sorted; None where there is no such folder."""
        ...

    def shown(self, path: PurePosixPath) -> str:
        """The path as a person of this run would write it, for messages."""
        ...


class Baselines(Protocol):
    """Where earlier versions of skills come from."""

    def resolve(
        self, skills: Sequence[WorkingSkill], baseline: str
    ) -> Mapping[PurePath, SkillVersion | Unresolved]:
        """Each skill's version under `previous`, `base` or a revision, by `location`.

        Never raises for a fact about the repository: that is an `Unresolved`.
        """
        ...


class ModelApi(Protocol):
    """How one vendor spells a request and an answer; sends nothing itself."""

    def request(self, conversation: Conversation) -> httpx.Request: ...

    def read(self, response: httpx.Response) -> Completion:
        """The answer. Raises `TrialError` for a body that is none (an error under 200)."""
        ...


class Model(Protocol):
    """A model that answers. Raises `TrialError` when it gave out, `ServiceError` when for all."""

    async def complete(self, conversation: Conversation) -> Completion: ...

    async def close(self) -> None: ...


class Runner(Protocol):
    """Drives one trial from task to transcript."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """The version of what drives the trial, for the report."""
        ...

    @property
    def model(self) -> str:
        """The model asked for, for the report; empty where there is none to name."""
        ...

    @property
    def brings_own_tools(self) -> bool:
        """Whether calls may name tools that no case declares (agents do, bare models do not)."""
        ...

    @property
    def costs_money(self) -> bool:
        """Whether a plan is printed before it starts."""
        ...

    async def run(self, trial: Trial) -> Transcript:
        """Raises `TrialError` when this trial was lost, `ServiceError` when all would be."""
        ...

    async def close(self) -> None: ...


class Judge(Protocol):
    """A model that grades answers by a rubric. It is not told which arm an answer is of."""

    @property
    def by(self) -> JudgedBy: ...

    @property
    def costs_money(self) -> bool:
        """Whether a plan is printed before it starts."""
        ...

    async def ask(self, question: Question, rejected: Sequence[Rejected]) -> Completion:
        """Its reply, which may be no verdict. `rejected` are its replies so far to this question.

        Raises `TrialError` when this one was lost, `ServiceError` when all would be.
        """
        ...

    async def close(self) -> None: ...


class Ledger(Protocol):
    """Where finished trials are kept, so that nothing paid for is lost."""

    @property
    def spent_before(self) -> Spend:
        """What recorded trials cost that had to be run again."""
        ...

    def recall(self, trial: Trial) -> Outcome | None:
        """What this very trial ended as before; None where it has to run.

        One that lacks a judge's verdict has to be judged, and not to run.
        """
        ...

    def record(self, outcome: Outcome) -> None:
        """Keep what one trial ended as. Never raises: a full disk must not end the run."""
        ...

    def finished(self, halt: Halt | None, at: datetime) -> None:
        """No further trial starts; `halt` says why, where some never did."""
        ...


class Progress(Protocol):
    """Someone who watches the run."""

    def begin(self, trials: int) -> None: ...

    def finished(self, outcome: Outcome) -> None: ...

    def end(self) -> None: ...
