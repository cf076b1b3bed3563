"""Fixtures that several folders of tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from command_line import CommandLine
from git_repositories import GitRepository

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")  # a busy machine makes no test fail


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """An empty git repository."""
    return GitRepository.create(tmp_path / "repository")


@pytest.fixture
def skill_delta(
    repository: GitRepository,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """The command, called in that repository."""
    return CommandLine(repository.folder, capsys, monkeypatch)
