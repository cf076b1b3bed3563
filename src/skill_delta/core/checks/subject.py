"""What a check reads: the output, or one file that the trial left in its working folder."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Self, TypeAlias

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.checks.evidence import clipped_list
from skill_delta.core.transcript import Transcript
from skill_delta.core.wording import clipped, shown
from skill_delta.core.workspace import (
    WorkspaceFile,
    WorkspaceFiles,
    glob_matches,
    glob_refusal,
    normal,
    path_refusal,
)


def _usable_path(path: str) -> str:
    wrong = path_refusal(path)
    if wrong:
        raise ValueError(wrong)
    return path


def _usable_glob(patterns: str | tuple[str, ...]) -> str | tuple[str, ...]:
    wrong = glob_refusal(patterns)
    if wrong:
        raise ValueError(wrong)
    return patterns


FilePath: TypeAlias = Annotated[str, AfterValidator(_usable_path)]
"""The path of a file in the working folder."""
FileGlob: TypeAlias = Annotated[
    Annotated[
        Annotated[str, Tag("<text>")]
        | Annotated[tuple[str, ...], Field(strict=False), Tag("<list>")],
        Discriminator(
            lambda value: "<text>" if isinstance(value, str) else "<list>",
        ),
    ],
    AfterValidator(_usable_glob),
]
"""A pattern, or several, that together match exactly one file."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The text that is judged. `name` is how evidence calls it: `the output`, or a path."""

    text: str
    name: str = "the output"

    @property
    def content(self) -> str:
        """What it is, as the second half of a sentence."""
        return (
            f"{self.name} is {shown(self.text)}" if self.text.strip() else f"{self.name} is empty"
        )


class FileCheck(CheckSpec):
    """A check that may look at a file: one by its path, or the only one that a pattern matches."""

    file: FilePath | None = None
    file_glob: FileGlob | None = None

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if self.file is not None and self.file_glob is not None:
            raise ValueError("it has file and file_glob; it takes one of them")
        return self

    @property
    def target(self) -> tuple[str, ...]:
        """The paths or patterns of the file it looks at; empty where that is the output."""
        if self.file is not None:
            return (normal(self.file),)
        globs = self.file_glob
        return (globs,) if isinstance(globs, str) else globs or ()

    def names(self, path: str) -> bool:
        """Whether the file at the path may be the one it looks at."""
        if self.file is not None:
            return normal(self.file) == path
        return any(glob_matches(pattern, path) for pattern in self.target)

    def located(self, files: WorkspaceFiles | None) -> WorkspaceFile | str:
        """The file it looks at, or why there is none."""
        if files is None:
            return "the trial had no working folder"
        if files.problem:
            return files.problem
        if self.file is not None:
            missing = f"there is no file {clipped(self.file)}; {_left(files)}"
            return files.find(self.file) or missing
        matches = files.matching(self.target)
        if len(matches) == 1:
            return matches[0]
        wanted = clipped(" or ".join(self.target))
        if not matches:
            return f"no file matches {wanted}; {_left(files)}"
        names = clipped_list([file.path for file in matches])
        return f"{len(matches):,} files match {wanted}, and exactly one should: {names}"


class TextCheck(FileCheck):
    """A check of a text: of the output, or with `file` or `file_glob` of a file."""

    def grade(self, transcript: Transcript) -> Finding:
        """Judge the text. A file that is not there, or cannot be read, fails whatever is asked."""
        if not self.target:
            return self.judge(Subject(transcript.answer))
        found = self.located(transcript.files)
        if isinstance(found, str):
            return Finding.of(False, found)
        if found.problem:
            return Finding.of(False, f"{clipped(found.path)} cannot be read: {found.problem}")
        if found.text is None:
            return Finding.not_evaluated(f"the record does not hold what {clipped(found.path)} was")
        return self.judge(Subject(found.text, clipped(found.path)))

    @abstractmethod
    def judge(self, subject: Subject) -> Finding:
        """Judge the text. Raises `TrialError` when judging itself failed."""

    def reads(self, path: str) -> bool:
        return self.names(path)


def _left(files: WorkspaceFiles) -> str:
    if not files.files:
        return "the working folder is empty"
    return f"the working folder holds {clipped_list([file.path for file in files.files])}"
