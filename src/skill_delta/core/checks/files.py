"""A check of which files a trial left behind."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.subject import FileCheck
from skill_delta.core.transcript import Transcript
from skill_delta.core.wording import clipped


class FileProduced(FileCheck):
    """A file is in the working folder at the end."""

    kind: Literal["file-produced"]

    @model_validator(mode="after")
    def _has_target(self) -> Self:
        if not self.target:
            raise ValueError("it names no file: add file or file_glob")
        return self

    def grade(self, transcript: Transcript) -> Finding:
        """Holds where a regular file is there; what it holds does not matter."""
        found = self.located(transcript.files)
        if isinstance(found, str):
            return Finding.of(False, found)
        if not found.is_regular:
            return Finding.of(False, f"expected the file {clipped(found.path)}; {found.problem}")
        return Finding.of(True, f"{clipped(found.path)} is there ({found.size:,} bytes)")
