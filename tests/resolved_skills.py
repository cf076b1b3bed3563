"""Asking for a skill's baseline, and looking at the answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from skill_delta.core.skills import SkillVersion, Unresolved, UnresolvedReason
from skill_delta.history.bundle import Limits


class Resolve(Protocol):
    """The baseline of the skill in a folder of the test's repository."""

    def __call__(
        self,
        folder: str = ...,
        baseline: str = ...,
        *,
        start: str | None = ...,
        limits: Limits | None = ...,
    ) -> SkillVersion | Unresolved: ...


def version(answer: SkillVersion | Unresolved) -> SkillVersion:
    """An answer that must be a version."""
    assert isinstance(answer, SkillVersion), answer
    return answer


def refused(answer: SkillVersion | Unresolved, reason: UnresolvedReason) -> str:
    """The message of an answer that must be none, for this reason."""
    assert isinstance(answer, Unresolved), answer
    assert answer.reason is reason, answer
    return answer.message


def nothing(answer: SkillVersion | Unresolved) -> str:
    """The message where no earlier version was found."""
    return refused(answer, UnresolvedReason.NO_EARLIER_VERSION)


def files_of(skill: SkillVersion) -> Mapping[str, str]:
    """The bundle's files as they lie in its folder, name → text."""
    if skill.bundle is None:
        return {}
    root = Path(skill.bundle.root)
    return {str(file.path): (root / file.path).read_text() for file in skill.bundle.files}
