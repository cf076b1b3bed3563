"""Fixtures that the end-to-end tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkouts import with_history
from git_repositories import GitRepository
from github_job import Job
from github_stand_in import GitHubStandIn
from read_only_run import Measure, ReadOnlyRuns


@pytest.fixture
def github() -> Iterator[GitHubStandIn]:
    """GitHub, on loopback; a test fails where either side left its description."""
    with GitHubStandIn() as stand_in:
        yield stand_in
    assert not stand_in.violations


@pytest.fixture
def measured(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Measure:
    """Measures a pull request with a token that only reads, and gives what that leaves."""
    for name in ("SKILL_DELTA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    job = Job(repository, github, tmp_path / "runner", capsys, monkeypatch)
    return ReadOnlyRuns(repository, job, github, tmp_path / "publisher").measured


@pytest.fixture(scope="session")
def repository_with_history(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """Made once, to be copied: it is seconds of commits."""
    return with_history(tmp_path_factory.mktemp("with-history") / "skills")
