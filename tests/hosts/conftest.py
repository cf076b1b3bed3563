"""A GitHub for each test of this room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from github_scene import HEAD, NUMBER, StoppedClock, repository_of
from github_stand_in import GitHubStandIn
from skill_delta.hosts.github import GitHubRepository


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest.fixture
def github(clock: StoppedClock) -> Iterator[GitHubStandIn]:
    """A GitHub with one open pull request. Whoever leaves its description fails the test."""
    with GitHubStandIn(clock=clock) as stand_in:
        stand_in.repository.open_pull_request(NUMBER, HEAD)
        yield stand_in
    assert not stand_in.violations


@pytest.fixture
def ours(github: GitHubStandIn, clock: StoppedClock) -> GitHubRepository:
    return repository_of(github, clock)
