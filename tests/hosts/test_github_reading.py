"""What a job that has checked out nothing asks of GitHub: pull requests, commits, files."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from github_repository import Account, refusal
from github_scene import HEAD, NUMBER, StoppedClock, a_marker, repository_of
from github_stand_in import BAD_GATEWAY, GitHubStandIn
from github_wire import Answer
from skill_delta.errors import ServiceError, UserError
from skill_delta.hosts.github import CommitStatus, GitHubRepository, Published
from skill_delta.hosts.github_files import MOST_BYTES, BranchFiles

OTHER = "c" * 40


def files_of(github: GitHubStandIn, clock: StoppedClock, branch: str = "main") -> BranchFiles:
    connection = repository_of(github, clock).connection
    return BranchFiles(connection, github.repository.name, branch)


# ---------------------------------------------------------------- pull requests


def test_open_pull_requests_are_found_by_their_head(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Not one that has the commit further down, nor one that was closed."""
    github.repository.open_pull_request(8, HEAD)
    github.repository.open_pull_request(9, HEAD).state = "closed"
    github.repository.open_pull_request(10, OTHER)
    github.repository.git.parents[OTHER] = [HEAD]

    assert ours.open_with_head(HEAD, "octo:topic") == [NUMBER, 8]
    assert not ours.open_with_head("e" * 40, "octo:topic")


@pytest.mark.parametrize("home", ["mallory/skills", None])
def test_a_fork_that_github_does_not_know_by_the_commit_is_found_by_its_branch(
    home: str | None, github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Where it still exists."""
    github.repository.knows_pull_requests_of_commits = False
    github.repository.open_pull_request(8, OTHER, home).head_ref = "a/b&state=closed"

    assert ours.open_with_head(OTHER, "mallory:a/b&state=closed") == ([8] if home else [])
    assert not ours.open_with_head(OTHER, "")


def test_a_commits_parents_are_given_in_order(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """The first is what was merged into."""
    github.repository.git.parents[OTHER] = ["d" * 40, HEAD]
    github.fail("git/get-commit", BAD_GATEWAY)

    assert ours.parents(OTHER) == ["d" * 40, HEAD]
    with pytest.raises(UserError, match="commit eeeeeee of octo/skills cannot be read"):
        ours.parents("e" * 40)


def test_an_answer_that_makes_no_sense_is_asked_for_again(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """And in the end it is GitHub that gave out."""
    of_commit = "repos/list-pull-requests-associated-with-commit"
    github.fail(of_commit, Answer(200, {"message": "?"}), times=100)
    github.fail("git/get-commit", Answer(200, {"parents": HEAD}), times=100)

    with pytest.raises(ServiceError, match="makes no sense"):
        ours.parents(HEAD)
    with pytest.raises(ServiceError, match="makes no sense"):
        ours.open_with_head(HEAD, "")


# ---------------------------------------------------------------- what gives way


def test_a_first_comment_gives_way_to_one_on_the_same_commit(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """However old that one is."""
    verdict = ours.publish_comment(NUMBER, "failed", a_marker(100))

    stands = ours.introduce_comment(NUMBER, "not verified", a_marker(101, minute=9))

    (comment,) = github.repository.comments
    assert comment.body.endswith("failed")
    assert stands == verdict


def test_a_first_comment_takes_the_place_of_one_on_another_commit(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """What it said was of what is no longer there."""
    ours.publish_comment(NUMBER, "failed", a_marker(100))
    github.repository.pull_requests[NUMBER].head_sha = OTHER

    ours.introduce_comment(NUMBER, "not verified", a_marker(101, minute=9, head=OTHER))

    (comment,) = github.repository.comments
    assert comment.body.endswith("not verified")


def test_a_comment_that_another_pretends_to_have_from_us_stops_nothing(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A fork's author can write our marker into a comment of their own."""
    github.repository.comment(NUMBER, Account("mallory"), a_marker(1).above("gate passed"))

    ours.introduce_comment(NUMBER, "not verified", a_marker(101))

    forged, own = github.repository.comments
    assert forged.body.endswith("gate passed")
    assert own.body.endswith("not verified")


def test_a_first_status_gives_way_to_any(github: GitHubStandIn, ours: GitHubRepository) -> None:
    """It is neither raised nor lowered."""
    ours.introduce_status(HEAD, CommitStatus("pending", "not verified"))
    ours.set_status(HEAD, CommitStatus("failure", "worse"))

    stands = ours.introduce_status(HEAD, CommitStatus("pending", "not verified"))

    assert isinstance(stands, Published)
    assert [status.state for status in github.repository.statuses] == ["pending", "failure"]


# ---------------------------------------------------------------- files


def test_files_of_a_branch_are_read(github: GitHubStandIn, clock: StoppedClock) -> None:
    """At any depth."""
    github.repository.git.files["main"] = {"README.md": b"Hi.", ".github/a/b.yml": b"a: 1\n"}
    files = files_of(github, clock)

    assert files.listing(PurePosixPath()) == [PurePosixPath("README.md")]
    assert files.listing(PurePosixPath(".github/a")) == [PurePosixPath(".github/a/b.yml")]
    assert files.listing(PurePosixPath("README.md")) is None
    assert files.listing(PurePosixPath("nowhere/at/all")) is None
    assert files.read(PurePosixPath(".github/a/b.yml")) == b"a: 1\n"
    assert len(github.asked("repos/get-branch")) == 1, "all of one moment"


def test_what_is_no_file_is_not_read(github: GitHubStandIn, clock: StoppedClock) -> None:
    """Nor is a link followed."""
    git = github.repository.git
    git.files["main"] = {"a/b.yml": b"x", "link": b"a/b.yml", "big": b"x" * (MOST_BYTES + 1)}
    git.links.add("link")
    files = files_of(github, clock)

    for name, said in (
        ("nowhere.yml", "no such file"),
        ("a", "a link or a folder"),
        ("link", "a link or a folder"),
        ("big", "larger than 1,048,576 bytes"),
    ):
        with pytest.raises(UserError, match=said):
            files.read(PurePosixPath(name))
    assert not github.asked("git/get-blob")


def test_a_token_that_may_not_read_is_not_told_that_nothing_is_there(
    github: GitHubStandIn, clock: StoppedClock
) -> None:
    """A config that cannot be read may be stricter than none."""
    github.permissions = {"contents": "none"}

    with pytest.raises(UserError, match="403") as refused:
        files_of(github, clock).listing(PurePosixPath())
    assert "contents: read" in refused.value.hint
    github.fail("repos/get-branch", refusal(404, "Not Found"))
    with pytest.raises(UserError, match="branch main of octo/skills cannot be read"):
        files_of(github, clock).listing(PurePosixPath())


def test_a_list_that_was_cut_is_not_taken_for_all(
    github: GitHubStandIn, clock: StoppedClock
) -> None:
    """What is missing may be the config."""
    entry = {"path": "a", "mode": "100644", "type": "blob", "sha": "a" * 40, "size": 1}
    cut = {"sha": "b" * 40, "url": "https://x.example", "tree": [entry], "truncated": True}
    github.fail("git/get-tree", Answer(200, cut))

    with pytest.raises(UserError, match="too many files"):
        files_of(github, clock).listing(PurePosixPath())


def test_a_file_that_arrives_broken_is_asked_for_again(
    github: GitHubStandIn, clock: StoppedClock
) -> None:
    """Half a config is none."""
    github.repository.git.files["main"] = {"a.yml": b"a: 1\n"}
    github.fail("git/get-blob", Answer(200, {"content": "%%%", "encoding": "utf-8"}))
    github.fail("git/get-blob", Answer(200, {"content": "a", "encoding": "base64"}))

    assert files_of(github, clock).read(PurePosixPath("a.yml")) == b"a: 1\n"
