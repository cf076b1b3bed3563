"""The status of a commit: one context, set on the commit that was measured."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from github_repository import Status
from github_scene import HEAD
from github_stand_in import GitHubStandIn
from skill_delta.hosts.github import CommitStatus, GitHubRepository, Published, cut

PAGE = "https://github.com/octo/skills/actions/runs/100"


def test_a_status_goes_from_pending_to_its_end(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Under the one name that branch protection was told."""
    ours.set_status(HEAD, CommitStatus("pending", "measuring", PAGE))
    outcome = ours.set_status(HEAD, CommitStatus("failure", "refunds: worse by 40 points", PAGE))

    assert isinstance(outcome, Published)
    assert github.repository.statuses == [
        Status(HEAD, "pending", "skill-delta", "measuring", PAGE),
        Status(HEAD, "failure", "skill-delta", "refunds: worse by 40 points", PAGE),
    ]


def test_a_status_that_stands_is_not_set_again(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """GitHub keeps a thousand per commit and name, and then takes no more."""
    for _ in range(2):
        ours.set_status(HEAD, CommitStatus("success", "none worse"))

    assert len(github.repository.statuses) == 1


def test_a_status_that_was_overtaken_is_set_again(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """The newest is what counts, also against an equal one before it."""
    for state in ("success", "failure", "success"):
        ours.set_status(HEAD, CommitStatus(state, "said"))

    assert [status.state for status in github.repository.statuses] == [
        "success",
        "failure",
        "success",
    ]


def test_the_status_of_another_check_is_none_of_ours(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """It may say the same under another name."""
    github.repository.statuses.append(Status(HEAD, "success", "lint", "none worse", None))

    ours.set_status(HEAD, CommitStatus("success", "none worse"))

    assert [status.context for status in github.repository.statuses] == ["lint", "skill-delta"]


def test_a_long_description_is_cut(github: GitHubStandIn, ours: GitHubRepository) -> None:
    """GitHub refuses more than 140 characters."""
    outcome = ours.set_status(HEAD, CommitStatus("failure", "worse " * 100))

    assert isinstance(outcome, Published)
    assert github.repository.statuses[0].description == "worse " * 23 + "w…"


@given(st.text(max_size=400))
def test_any_description_becomes_one_short_line(text: str) -> None:
    """Whatever a skill is called."""
    line = cut(text)

    assert len(line) <= 140
    assert line == " ".join(line.split())
