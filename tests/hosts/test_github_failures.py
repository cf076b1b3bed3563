"""Whatever GitHub does, there is at most one comment, an honest answer, and no exception."""

from __future__ import annotations

import logging
import socketserver
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from traceback import format_exception
from typing import ClassVar

import pytest
from pydantic import SecretStr

from github_repository import JOB, refusal
from github_scene import HEAD, NUMBER, StoppedClock, a_marker, repository_of
from github_stand_in import BAD_GATEWAY, Effect, GitHubStandIn, secondary_limit
from github_wire import Answer, Delivery
from skill_delta.errors import ServiceError, UserError
from skill_delta.hosts.github import CommitStatus, GitHubRepository, NotPublished, Published
from skill_delta.hosts.github_api import Connection, seconds_to_wait

Outcome = Published | NotPublished | None
Flow = Callable[[GitHubRepository], Outcome]


def publish(ours: GitHubRepository) -> Outcome:
    return ours.publish_comment(NUMBER, "now", a_marker(200, minute=30))


def rewrite(ours: GitHubRepository) -> Outcome:
    return ours.rewrite_comment_if_present(NUMBER, "now", a_marker(200, minute=30))


def set_status(ours: GitHubRepository) -> Outcome:
    return ours.set_status(HEAD, CommitStatus("success", "2 skills, none worse"))


def nothing(_: GitHubStandIn) -> None:
    """The pull request has no comment yet."""


def one_of_ours(github: GitHubStandIn) -> None:
    github.repository.comment(NUMBER, JOB, a_marker(100).above("before"))


def two_of_ours(github: GitHubStandIn) -> None:
    one_of_ours(github)
    github.repository.comment(NUMBER, JOB, a_marker(101).above("before, too"))


CREATING = ("issues/list-comments", "pulls/get", "issues/create-comment")
UPDATING = ("issues/list-comments", "graphql", "pulls/get", "issues/update-comment")
STATUS = ("repos/list-commit-statuses-for-ref", "repos/create-commit-status")

CALLS = [
    *((publish, nothing, operation) for operation in CREATING),
    *((publish, one_of_ours, operation) for operation in UPDATING),
    (publish, two_of_ours, "issues/delete-comment"),
    (rewrite, one_of_ours, "issues/update-comment"),
    *((set_status, nothing, operation) for operation in STATUS),
]
"""Every call that each of the flows makes."""

FAULTS = [
    (BAD_GATEWAY, Effect.NONE),
    (BAD_GATEWAY, Effect.DONE),
    (Delivery.RESET, Effect.NONE),
    (Delivery.RESET, Effect.DONE),
    (Delivery.CUT_SHORT, Effect.DONE),
    (Delivery.BROKEN_JSON, Effect.DONE),
    (Answer(200, {"message": "Moved Permanently"}), Effect.NONE),
    (refusal(404, "Not Found"), Effect.NONE),
    (secondary_limit(30), Effect.NONE),
]


def named(value: object) -> str:
    match value:
        case Answer(status=status, body=body):
            return f"{status}-{body['message'].split()[0]}"
        case Delivery() | Effect():
            return value.name
        case _:
            return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("outcome", "effect"), FAULTS, ids=named)
@pytest.mark.parametrize(("flow", "before", "operation"), CALLS, ids=named)
def test_one_failure_anywhere_leaves_at_most_one_comment(
    github: GitHubStandIn,
    ours: GitHubRepository,
    flow: Flow,
    before: Callable[[GitHubStandIn], None],
    operation: str,
    outcome: Answer | Delivery,
    effect: Effect,
) -> None:
    """Each call of each flow fails once in each way: no exception, and no double."""
    before(github)
    github.fail(operation, outcome, effect)

    result = flow(ours)

    assert github.asked(operation), "the fault was met"
    written = [comment for comment in github.repository.comments if "now" in comment.body]
    assert len(written) == (isinstance(result, Published) and flow is not set_status)
    assert len({status.state for status in github.repository.statuses}) <= 1
    if not isinstance(result, Published):
        assert isinstance(result, NotPublished)
        assert "404" in result.reason


@pytest.mark.parametrize(
    ("outcome", "effect"),
    [
        (BAD_GATEWAY, Effect.NONE),
        (BAD_GATEWAY, Effect.DONE),
        (Delivery.RESET, Effect.NONE),
        (Delivery.RESET, Effect.DONE),
        (Delivery.SILENCE, Effect.DONE),
    ],
    ids=named,
)
def test_an_uncertain_post_is_read_again_before_it_is_repeated(
    github: GitHubStandIn,
    ours: GitHubRepository,
    clock: StoppedClock,
    outcome: Answer | Delivery,
    effect: Effect,
) -> None:
    """PyGithub by itself sends a POST three times after a 502: that made three comments."""
    github.fail("issues/create-comment", outcome, effect)

    assert isinstance(publish(ours), Published)
    assert len(github.repository.comments) == 1
    sent = {Effect.DONE: 1, Effect.NONE: 2}[effect]
    assert len(github.asked("issues/create-comment")) == sent
    read = {Effect.DONE: 2, Effect.NONE: 3}[effect]
    assert len(github.asked("issues/list-comments")) == read, "before each try, and after a success"
    assert clock.slept == [2.0], "what was written needs a moment to be readable"


def test_a_github_that_stays_down_is_given_up(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """After four tries; the reason says what GitHub said last."""
    github.fail("pulls/get", BAD_GATEWAY, times=100)

    assert publish(ours) == NotPublished("GitHub failed (502: Server Error), several times")
    assert clock.slept == [2.0, 5.0, 15.0]


def test_a_github_that_is_not_there_is_given_up(clock: StoppedClock) -> None:
    """Nobody listens at the address."""
    with GitHubStandIn() as gone:
        ours = repository_of(gone, clock)

    outcome = publish(ours)

    assert isinstance(outcome, NotPublished)
    assert "GitHub gave no clear answer (ConnectionError)" in outcome.reason


@pytest.mark.parametrize(
    ("flow", "permission", "missing"),
    [
        (publish, "pull_requests", "pull-requests: write"),
        (rewrite, "pull_requests", "pull-requests: write"),
        (set_status, "statuses", "statuses: write"),
    ],
    ids=named,
)
def test_a_refusal_names_the_missing_permission(
    github: GitHubStandIn, ours: GitHubRepository, flow: Flow, permission: str, missing: str
) -> None:
    """The token of a fork's pull request, or of a job without `permissions:`, may only read."""
    one_of_ours(github)
    github.permissions[permission] = "read"

    assert flow(ours) == NotPublished(
        "GitHub refused (403: Resource not accessible by integration):"
        f" give the job `permissions: {missing}`"
    )


def test_a_token_that_github_does_not_know_is_a_reason(github: GitHubStandIn) -> None:
    """It has run out, or was never one."""
    ours = repository_of(github, StoppedClock())
    github.token = "another"

    assert publish(ours) == NotPublished("GitHub refused (401: Bad credentials)")


@pytest.mark.parametrize("token", ["", "  "])
def test_without_a_token_github_is_not_asked(github: GitHubStandIn, token: str) -> None:
    """The input was given as blank."""
    connection = Connection(SecretStr(token), github.api_url, github.graphql_url)

    outcome = publish(GitHubRepository("octo/skills", connection))

    assert outcome == NotPublished("there is no token: set the input github-token")
    assert not github.exchanges


def test_a_comment_that_is_too_long_is_refused_with_githubs_words(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Whoever renders measures first; where that went wrong, the run says so."""
    outcome = ours.publish_comment(NUMBER, "x" * 65_536, a_marker())

    assert isinstance(outcome, NotPublished)
    assert "422: Validation Failed: Body is too long (maximum is 65536" in outcome.reason


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_is_waited_for_as_long_as_github_says(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock, status: int
) -> None:
    """And then everything is read again: the head may have moved meanwhile."""
    github.fail("issues/create-comment", secondary_limit(45, status))

    assert isinstance(publish(ours), Published)
    assert clock.slept == [45.0]
    assert len(github.asked("pulls/get")) == 2


def test_a_secondary_limit_without_a_time_is_waited_for_a_minute(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """The least that GitHub's documentation asks for."""
    github.fail("issues/list-comments", secondary_limit())

    assert isinstance(publish(ours), Published)
    assert clock.slept == [60.0]


def test_the_primary_limit_is_waited_for_until_it_is_reset(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """It ends at some moment within the second that GitHub names."""
    github.remaining, github.resets_at = 0, clock.now + 20

    assert isinstance(publish(ours), Published)
    assert clock.slept == [21.0]


def test_a_limit_beyond_our_patience_is_a_reason(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """A verdict does not wait an hour for its comment."""
    github.remaining, github.resets_at = 0, clock.now + 1_799

    outcome = publish(ours)

    assert outcome == NotPublished(
        "GitHub's rate limit asks to wait 1,800 s, which is longer than this run waits"
    )
    assert clock.slept == []


def test_patience_is_one_for_all_limits_of_a_step(
    github: GitHubStandIn, ours: GitHubRepository, clock: StoppedClock
) -> None:
    """Else a GitHub that always asks for a minute more would keep the job for hours."""
    github.fail("issues/list-comments", secondary_limit(50), times=100)

    assert isinstance(publish(ours), NotPublished)
    assert clock.slept == [50.0, 50.0]


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (403, {}, "Resource not accessible by integration", None),
        (403, {"x-ratelimit-remaining": "0"}, "Resource not accessible by integration", None),
        (404, {"retry-after": "5"}, "Not Found", None),
        (502, {"retry-after": "5"}, "", None),
        (403, {"retry-after": "5"}, "", 5.0),
        (403, {"retry-after": "0"}, "", 1.0),
        (403, {"retry-after": "soon"}, "You have exceeded a secondary rate limit.", 60.0),
        (429, {}, "", 60.0),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1010"}, "", 11.0),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "10"}, "", 1.0),
        (403, {"x-ratelimit-remaining": "0"}, "API rate limit exceeded for user ID 1.", 60.0),
        (403, {"x-ratelimit-remaining": "9"}, "API rate limit exceeded for user ID 1.", 60.0),
    ],
)
def test_what_github_says_of_a_limit(
    status: int, headers: dict[str, str], message: str, seconds: float | None
) -> None:
    """As its documentation puts it; a refusal that names no limit is none."""
    assert seconds_to_wait(status, headers, message, now=1000.0) == seconds


def test_a_pull_request_is_read_as_it_is_now(github: GitHubStandIn, ours: GitHubRepository) -> None:
    """An event that is run again tells the past."""
    github.repository.open_pull_request(8, "d" * 40, head_repository="mallory/skills")
    github.repository.open_pull_request(9, "e" * 40, head_repository=None)
    github.fail("pulls/get", BAD_GATEWAY)

    assert ours.pull_request(NUMBER).head_sha == HEAD
    assert not ours.pull_request(NUMBER).is_fork
    assert ours.pull_request(8).is_fork
    assert ours.pull_request(9).is_fork, "a fork that was deleted is one"


def test_a_pull_request_that_cannot_be_read_is_an_error(
    github: GitHubStandIn, ours: GitHubRepository
) -> None:
    """Whoever asks to measure one cannot go on without it."""
    with pytest.raises(UserError, match=r"pull request 99 of octo/skills .*404: Not Found"):
        ours.pull_request(99)

    github.fail("pulls/get", BAD_GATEWAY, times=100)
    with pytest.raises(ServiceError, match="pull request 7 of octo/skills: GitHub failed"):
        ours.pull_request(NUMBER)


@pytest.mark.parametrize("token", ["job-token-for-tests", "broken\nsecret", "secret-\u2603"])
def test_the_token_is_in_no_message(
    github: GitHubStandIn, clock: StoppedClock, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in a reason, a log of any level, a traceback, or what is shown of our values.

    The libraries below quote a header that cannot be sent, and so the token in it.
    """
    caplog.set_level(logging.DEBUG)
    github.fail("pulls/get", BAD_GATEWAY, times=100)
    ours = repository_of(github, clock)
    ours = replace(ours, connection=replace(ours.connection, token=SecretStr(token)))

    outcomes = [publish(ours), rewrite(ours), set_status(ours)]
    with pytest.raises(ServiceError) as raised:
        ours.pull_request(NUMBER)

    shown = f"{ours!r} {outcomes} {caplog.text} {''.join(format_exception(raised.value))}"
    assert not any(part in shown for part in token.split("\n"))


class Dripping(socketserver.BaseRequestHandler):
    """Answers byte by byte, each well within any timeout of the socket."""

    part: ClassVar[bytes]

    def handle(self) -> None:
        self.request.recv(65_536)
        self.request.sendall(self.part)
        with suppress(OSError):
            for _ in range(100):
                self.request.sendall(b" ")
                time.sleep(0.05)


@pytest.mark.parametrize("part", [b"HTTP/1.1 200 OK\r\nX:", b"HTTP/1.1 200 OK\r\n\r\n[ "])
def test_a_server_that_answers_byte_by_byte_keeps_no_job(part: bytes) -> None:
    """Headers or body: what is not whole in time is no answer."""
    handler = type("Drip", (Dripping,), {"part": part})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        clock = StoppedClock()
        connection = Connection(
            SecretStr("t"), url, url, answer_seconds=0.3, sleep=clock.sleep, clock=clock
        )
        outcome = publish(GitHubRepository("octo/skills", connection))
        server.shutdown()

    assert isinstance(outcome, NotPublished)
    assert "no clear answer (TimeoutError), several times" in outcome.reason
