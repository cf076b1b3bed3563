"""Two runs at once: wherever one comes in between, what is left is one comment, the newest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from github_repository import JOB, refusal
from github_scene import NUMBER, a_marker
from github_stand_in import BAD_GATEWAY, Effect, GitHubStandIn
from github_wire import Answer
from skill_delta.hosts.comment_marker import CommentMarker
from skill_delta.hosts.github import GitHubRepository, NotPublished, Published

OLDER, NEWER = a_marker(100), a_marker(101, minute=5)
NEW_HEAD = "c" * 40


def bodies(github: GitHubStandIn) -> list[str]:
    return [comment.body.partition("\n")[2] for comment in github.repository.comments]


def publishing(
    ours: GitHubRepository, marker: CommentMarker
) -> Callable[[], Published | NotPublished]:
    body = "newer" if marker.run == NEWER.run else "older"
    return lambda: ours.publish_comment(NUMBER, body, marker)


MOMENTS = [
    ("issues/list-comments", Effect.NONE),
    ("issues/list-comments", Effect.DONE),
    ("pulls/get", Effect.NONE),
    ("pulls/get", Effect.DONE),
    ("issues/create-comment", Effect.NONE),
    ("issues/create-comment", Effect.DONE),
]


@pytest.mark.parametrize(("operation", "effect"), MOMENTS)
@pytest.mark.parametrize(("first", "second"), [(OLDER, NEWER), (NEWER, OLDER)], ids=["old", "new"])
def test_of_two_first_comments_the_newest_stays(
    github: GitHubStandIn,
    ours: GitHubRepository,
    first: CommentMarker,
    second: CommentMarker,
    operation: str,
    effect: Effect,
) -> None:
    """Both found none: a pull request that was opened and labelled starts two runs at once."""
    github.meanwhile(operation, effect, publishing(ours, second))

    publishing(ours, first)()

    assert bodies(github) == ["newer"]


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_what_comes_back_says_whose_comment_stands(
    github: GitHubStandIn, ours: GitHubRepository, moment: tuple[str, Effect]
) -> None:
    """An address is given only for a comment that is there."""
    outcomes: list[Published | NotPublished] = []
    second = publishing(ours, NEWER)
    github.meanwhile(*moment, lambda: outcomes.append(second()))

    outcome = ours.publish_comment(NUMBER, "older", OLDER)

    (comment,) = github.repository.comments
    assert isinstance(outcomes[0], Published)
    assert outcomes[0].url.endswith(f"-{comment.id}")
    assert isinstance(outcome, NotPublished)
    assert outcome.reason == "a newer run (101, attempt 1) has commented already"


@pytest.mark.parametrize(
    ("operation", "effect"),
    [
        ("issues/list-comments", Effect.NONE),
        ("issues/list-comments", Effect.DONE),
        ("graphql", Effect.NONE),
        ("graphql", Effect.DONE),
        ("pulls/get", Effect.NONE),
    ],
)
def test_a_run_that_a_push_overtook_writes_nothing(
    github: GitHubStandIn, ours: GitHubRepository, operation: str, effect: Effect
) -> None:
    """The head is read last, so it stops a run that has just read the earlier comment."""
    github.repository.comment(NUMBER, JOB, a_marker(99).above("before"))

    def push() -> None:
        github.repository.pull_requests[NUMBER].head_sha = NEW_HEAD
        publishing(ours, a_marker(101, minute=5, head=NEW_HEAD))()

    github.meanwhile(operation, effect, push)

    assert isinstance(ours.publish_comment(NUMBER, "older", OLDER), NotPublished)
    assert bodies(github) == ["newer"]


@pytest.mark.parametrize(
    "failure", [BAD_GATEWAY, refusal(403, "Forbidden"), refusal(404, "Not Found")]
)
def test_a_comment_that_cannot_be_looked_back_at_is_published(
    github: GitHubStandIn, ours: GitHubRepository, failure: Answer
) -> None:
    """It was written, whatever GitHub says then."""
    github.meanwhile(
        "issues/create-comment",
        Effect.DONE,
        lambda: github.fail("issues/list-comments", failure, times=100),
    )

    assert isinstance(ours.publish_comment(NUMBER, "now", OLDER), Published)
    assert bodies(github) == ["now"]
