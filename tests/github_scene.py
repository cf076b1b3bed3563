"""The scene of the tests of posting: one pull request, one token, a clock that only sleep moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from pydantic import SecretStr

from github_stand_in import GitHubStandIn
from skill_delta.hosts.comment_marker import CommentMarker, RunIdentity
from skill_delta.hosts.github import GitHubRepository
from skill_delta.hosts.github_api import Connection

NUMBER = 7
HEAD = "a" * 40
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass
class StoppedClock:
    """Nothing really sleeps: the time goes by at once, and is written down."""

    now: float = NOON.timestamp()
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def repository_of(github: GitHubStandIn, clock: StoppedClock) -> GitHubRepository:
    """The code under test, as a job on that GitHub has it."""
    connection = Connection(
        token=SecretStr(github.token),
        api_url=github.api_url,
        graphql_url=github.graphql_url,
        timeout_seconds=1,
        patience_seconds=120,
        sleep=clock.sleep,
        clock=clock,
    )
    return GitHubRepository(github.repository.name, connection)


def a_marker(
    run_id: int = 100,
    *,
    attempt: int = 1,
    minute: int = 0,
    head: str = HEAD,
    comment_id: str = "default",
) -> CommentMarker:
    """Of a run that began `minute` minutes past noon."""
    run = RunIdentity(run_id, attempt, NOON.replace(minute=minute))
    return CommentMarker(comment_id, head, run)
