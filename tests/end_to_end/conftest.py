"""Fixtures that the end-to-end tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checkouts import with_history
from git_repositories import GitRepository
from github_stand_in import GitHubStandIn


@pytest.fixture
def github() -> Iterator[GitHubStandIn]:
    """GitHub, on loopback; a test fails where either side left its description."""
    with GitHubStandIn() as stand_in:
        yield stand_in
    assert not stand_in.violations


@pytest.fixture(scope="session")
def repository_with_history(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """Made once, to be copied: it is seconds of commits."""
    return with_history(tmp_path_factory.mktemp("with-history") / "skills")
