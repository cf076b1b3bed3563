"""One comment on a pull request: ours, found again, and written only while it is still true."""

from __future__ import annotations

from dataclasses import replace

import pytest

from github_repository import JOB, Account, refusal
from github_scene import HEAD, NUMBER, StoppedClock, a_marker, repository_of
from github_stand_in import GitHubStandIn
from github_wire import Answer
from skill_delta.hosts.github import GitHubRepository, NotPublished, Published

PERSON = Account("mallory")
OTHER_BOT = Account("coverage-reporter[bot]", "Bot")


def bodies(github: GitHubStandIn) -> list[str]:
    """What people read on the pull request: the comments without their first, hidden lines."""
    return [comment.body.partition("\n")[2] for comment in github.repository.comments]


def reason(outcome: Published | NotPublished | None) -> str:
    assert isinstance(outcome, NotPublished)
    return outcome.reason


def test_the_first_run_writes_a_comment(github: GitHubStandIn, ours: GitHubRepository) -> None:
    """The marker stands above the body, and the address of the comment comes back."""
    outcome = ours.publish_comment(NUMBER, "first", a_marker())

    (comment,) = github.repository.comments
    assert comment.body == f"{a_marker()}\nfirst"
    assert comment.author == JOB
    assert outcome == Published(f"https://github.com/octo/skills/pull/7#issuecomment-{comment.id}")


def test_a_second_run_writes_into_the_same_comment(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """One comment per pull request, however many pushes: nobody is told twice."""
    first = ours.publish_comment(NUMBER, "first", a_marker(100))
    second = ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert bodies(github) == ["second"]
    assert first == second


def test_what_stands_there_already_is_not_written_again(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """An edit would be marked as one, and mean nothing."""
    ours.publish_comment(NUMBER, "same", a_marker())
    outcome = ours.publish_comment(NUMBER, "same", a_marker())

    assert isinstance(outcome, Published)
    assert not github.asked("issues/update-comment")


def test_each_comment_id_has_a_comment_of_its_own(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Two jobs of one pull request do not overwrite each other."""
    ours.publish_comment(NUMBER, "of docs", a_marker(comment_id="docs"))
    ours.publish_comment(NUMBER, "of code", a_marker(comment_id="code"))
    ours.publish_comment(NUMBER, "of docs again", a_marker(comment_id="docs"))

    assert bodies(github) == ["of docs again", "of code"]


def test_our_comment_is_found_on_a_later_page(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A lively pull request has more comments than GitHub lists at once."""
    for number in range(150):
        github.repository.comment(NUMBER, PERSON, f"comment {number}")
    ours.publish_comment(NUMBER, "first", a_marker())
    for number in range(60):
        github.repository.comment(NUMBER, PERSON, f"comment {number}")

    ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert bodies(github).count("second") == 1
    assert "first" not in bodies(github)
    pages = [exchange.query["page"] for exchange in github.asked("issues/list-comments")]
    looked_back = ["1", "2"]
    assert pages == ["1", "2", *looked_back, "1", "2", "3"]


@pytest.mark.parametrize("author", [PERSON, OTHER_BOT], ids=["person", "other-bot"])
def test_a_comment_of_someone_else_is_never_touched(
    github: GitHubStandIn, ours: GitHubRepository, author: Account
) -> None:
    """Whoever copies our marker gets neither our comment nor our silence."""
    forged = github.repository.comment(NUMBER, author, a_marker(999, minute=59).above("forged"))

    ours.publish_comment(NUMBER, "real", a_marker())
    ours.publish_comment(NUMBER, "real, again", a_marker(101, minute=5))

    assert forged.body.endswith("forged")
    assert bodies(github) == ["forged", "real, again"]


def test_our_own_comment_that_quotes_a_marker_is_another_comment(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Another workflow of this repository may echo what a person wrote; that is not ours."""
    github.repository.comment(NUMBER, JOB, f"mallory wrote:\n{a_marker()}\nhello")

    ours.publish_comment(NUMBER, "real", a_marker())

    assert len(github.repository.comments) == 2
    (asked,) = github.asked("graphql")
    assert len(asked.body["variables"]["ids"]) == 1, "of the one that begins with a marker"


def test_duplicates_collapse_into_the_oldest(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """Two runs that began together may each have found nothing and written."""
    oldest = github.repository.comment(NUMBER, JOB, a_marker(98).above("one"))
    github.repository.comment(NUMBER, PERSON, "a remark in between")
    github.repository.comment(NUMBER, JOB, a_marker(99).above("two"))

    outcome = ours.publish_comment(NUMBER, "now", a_marker(100, minute=5))

    assert bodies(github) == ["now", ""]
    assert isinstance(outcome, Published)
    assert outcome.url.endswith(f"-{oldest.id}")
    assert clock.slept == [1.0], "GitHub asks for a second between two writes"


def test_a_duplicate_that_cannot_be_deleted_is_left(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """One too many is untidy; the comment is published all the same."""
    for run in (97, 98, 99):
        github.repository.comment(NUMBER, JOB, a_marker(run).above(f"of {run}"))
    github.fail("issues/delete-comment", refusal(403, "Resource not accessible by integration"))

    outcome = ours.publish_comment(NUMBER, "now", a_marker(100, minute=5))

    assert isinstance(outcome, Published)
    assert bodies(github)[0] == "now"
    assert len(github.asked("issues/delete-comment")) == 1, "one refusal is enough to stop"


def test_a_minimised_comment_is_left_alone(github: GitHubStandIn, ours: GitHubRepository) -> None:
    """Someone hid it on purpose; what is new is written where it is seen."""
    hidden = github.repository.comment(NUMBER, JOB, a_marker(99).above("old"))
    hidden.minimised = True

    ours.publish_comment(NUMBER, "new", a_marker(100, minute=5))

    assert bodies(github) == ["old", "new"]


def test_nothing_is_written_once_the_head_has_moved(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """The numbers of an old commit would read as those of the new one."""
    github.repository.pull_requests[NUMBER].head_sha = "c" * 40

    outcome = ours.publish_comment(NUMBER, "stale", a_marker())

    assert "aaaaaaa was measured" in reason(outcome)
    assert "its head is ccccccc" in reason(outcome)
    assert bodies(github) == []


def test_an_older_run_never_overwrites_a_newer_one(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """It began first and finished last, on the same commit."""
    ours.publish_comment(NUMBER, "newer", a_marker(101, minute=5))

    outcome = ours.publish_comment(NUMBER, "older", a_marker(100))

    assert reason(outcome) == "a newer run (101, attempt 1) has commented already"
    assert bodies(github) == ["newer"]


def test_a_run_whose_clock_was_ahead_silences_none_of_a_later_commit(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Which commit counts is GitHub's to say."""
    github.repository.pull_requests[NUMBER].head_sha = "c" * 40
    ahead = replace(a_marker(101, minute=50), head_sha="c" * 40)
    ours.publish_comment(NUMBER, "of an earlier commit", ahead)
    github.repository.pull_requests[NUMBER].head_sha = a_marker().head_sha

    outcome = ours.publish_comment(NUMBER, "of the head", a_marker(102))

    assert isinstance(outcome, Published)
    assert bodies(github) == ["of the head"]


def test_a_rerun_overwrites_what_its_first_attempt_wrote(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """And also what a run in between wrote, as it began after that."""
    ours.publish_comment(NUMBER, "first attempt", a_marker(100))
    ours.publish_comment(NUMBER, "run in between", a_marker(101, minute=5))
    ours.publish_comment(NUMBER, "second attempt", a_marker(100, attempt=2, minute=9))

    assert bodies(github) == ["second attempt"]


def test_a_revert_rewrites_the_earlier_comment(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A pull request that changes no skill any more keeps no red comment."""
    ours.publish_comment(NUMBER, "a regression", a_marker(100))
    outcome = ours.rewrite_comment_if_present(NUMBER, "no skill changed", a_marker(101, minute=5))

    assert isinstance(outcome, Published)
    assert bodies(github) == ["no skill changed"]


def test_where_nothing_was_written_there_is_nothing_to_rewrite(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A pull request that never touched a skill gets no comment."""
    github.repository.comment(NUMBER, PERSON, a_marker().above("forged"))

    assert ours.rewrite_comment_if_present(NUMBER, "no skill changed", a_marker()) is None
    assert bodies(github) == ["forged"]


def test_a_rewrite_too_keeps_to_the_head_that_was_looked_at(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """The next push may have brought the skill back."""
    ours.publish_comment(NUMBER, "a regression", a_marker(100))
    github.repository.pull_requests[NUMBER].head_sha = "c" * 40

    outcome = ours.rewrite_comment_if_present(NUMBER, "no skill changed", a_marker(101, minute=5))

    assert "moved on" in reason(outcome)
    assert bodies(github) == ["a regression"]


def test_github_enterprise_server_has_its_api_elsewhere(clock: StoppedClock) -> None:
    """REST is below `/api/v3` there, GraphQL beside it."""
    with GitHubStandIn(prefix="/api/v3", clock=clock) as github:
        github.repository.open_pull_request(NUMBER, HEAD)
        ours = repository_of(github, clock)
        ours.publish_comment(NUMBER, "first", a_marker(100))
        ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert bodies(github) == ["second"]
    assert github.asked("graphql")
    assert not github.violations


def test_more_marked_comments_than_graphql_tells_of_at_once(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Someone floods the pull request with copies of our marker."""
    for _ in range(120):
        github.repository.comment(NUMBER, PERSON, a_marker().above("forged"))
    ours.publish_comment(NUMBER, "first", a_marker(100))
    ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert [body for body in bodies(github) if body != "forged"] == ["second"]


REFUSED = refusal(403, "Resource not accessible by integration")


def test_a_job_whom_graphql_refuses_knows_its_comment_by_the_author(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A job's token acts as github-actions[bot]; REST will not tell it so, but we know."""
    github.fail("graphql", REFUSED, times=2)
    forged = github.repository.comment(NUMBER, PERSON, a_marker(1).above("forged"))
    ours.publish_comment(NUMBER, "first", a_marker(100))
    ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert bodies(github) == ["forged", "second"]
    assert forged.author == PERSON


def test_a_person_whom_graphql_refuses_is_known_by_rest(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """A personal token may ask who it is."""
    github.viewer = Account("octocat")
    github.fail("graphql", REFUSED, times=2)
    ours.publish_comment(NUMBER, "first", a_marker(100))
    github.repository.comment(NUMBER, PERSON, a_marker(1).above("forged"))
    ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert bodies(github) == ["second", "forged"]


def test_an_app_whom_graphql_refuses_does_not_guess(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """The marked comment of some bot may be ours or not: to overwrite or to double are worse."""
    github.viewer = Account("our-own-app[bot]", "Bot")
    ours.publish_comment(NUMBER, "first", a_marker(100))
    github.fail("graphql", REFUSED)

    outcome = ours.publish_comment(NUMBER, "second", a_marker(101, minute=5))

    assert "GraphQL" in reason(outcome)
    assert bodies(github) == ["first"]


def test_a_comment_that_vanishes_while_we_look_is_no_obstacle(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Someone deletes a marked comment between the list and the question whose it is."""
    body = {"data": {"nodes": [None]}, "errors": [{"type": "NOT_FOUND", "message": "gone"}]}
    github.repository.comment(NUMBER, PERSON, a_marker().above("soon gone"))
    github.fail("graphql", Answer(200, body))

    outcome = ours.publish_comment(NUMBER, "real", a_marker())

    assert isinstance(outcome, Published)
