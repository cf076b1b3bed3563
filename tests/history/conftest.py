"""What the history tests share."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from git_repositories import GitRepository
from resolved_skills import Resolve
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.history.bundle import Limits
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Where bundles go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def resolve(repository: GitRepository, scratch: Path) -> Resolve:
    """The baseline of one skill of the repository, as its work tree stands."""

    def one(
        folder: str = "skills/orders",
        baseline: str = "previous",
        *,
        start: str | None = None,
        limits: Limits | None = None,
    ) -> SkillVersion | Unresolved:
        skills = find_skills([repository.folder / folder / "SKILL.md"])
        found = GitBaselines(scratch, start, limits).resolve(skills, baseline)
        return found[PurePath((repository.folder / folder).resolve())]

    return one
