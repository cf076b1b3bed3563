"""One door to GitHub's API: PyGithub sends a request once, and what came of it has a name.

An answer, or one of three failures: GitHub said no (`RefusalError`), it asked for patience
(`LimitError`), or nobody knows what happened (`LostAnswerError`). What to do about each is decided
in `Connection.settled`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, JsonValue, SecretStr, TypeAdapter, ValidationError

from skill_delta import __version__
from skill_delta.deadline import within

if TYPE_CHECKING:
    from github import Github, GithubException

T = TypeVar("T")

UNKNOWN_ANSWER = "GitHub gave an answer that makes no sense"

_PAUSES = (2.0, 5.0, 15.0)
"""Seconds before an uncertain step is taken again: what was written is not at once to be read."""

_SECONDS_BETWEEN_WRITES = 1.0
"""GitHub asks for it, lest it take a burst of writes for abuse."""

_UNSAID_SECONDS = 60.0
"""The least that GitHub asks for where it limits a client without saying for how long."""


class GitHubError(Exception):
    """A request came to nothing; the text says why, in one line."""


class RefusalError(GitHubError):
    """GitHub said no: nothing was written, and asking again would not help."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class LimitError(GitHubError):
    """GitHub said not now: nothing was written."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"GitHub's rate limit asks to wait {seconds:,.0f} s")
        self.seconds = seconds


class LostAnswerError(GitHubError):
    """No clear answer came: what was to be written may have been written or not."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where GitHub is, who we are there, and how long we wait for it."""

    token: SecretStr
    api_url: str
    graphql_url: str
    timeout_seconds: int = 20
    """For each part of an answer."""
    answer_seconds: float = 60.0
    """For one whole answer: a server that sends a byte now and then would keep a job for hours."""
    patience_seconds: float = 120.0
    """For all rate limits of one step together."""
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def settled(self, step: Callable[[Api], T]) -> T:
        """Take a step, again from its beginning if need be, until its outcome is certain.

        So whatever a step writes, it has just read what an earlier try left. Raises a
        `GitHubError`: at once where GitHub refuses, else when pauses or patience are used up.
        """
        pauses, patience = list(_PAUSES), self.patience_seconds
        with self._session() as github:
            api = Api(self, github)
            while True:
                try:
                    return step(api)
                except LostAnswerError:
                    if not pauses:
                        raise
                    self.sleep(pauses.pop(0))
                except LimitError as limit:
                    if limit.seconds > patience:
                        raise
                    patience -= limit.seconds
                    self.sleep(limit.seconds)

    def _session(self) -> AbstractContextManager[Github]:
        from github import Auth, Github  # noqa: PLC0415 - 0.2 s that most runs have no use for

        token = self.token.get_secret_value().strip()
        if not token:
            raise RefusalError("there is no token: set the input github-token")
        return Github(
            base_url=self.api_url,
            auth=Auth.Token(token),
            user_agent=f"skill-delta/{__version__}",
            timeout=self.timeout_seconds,
            # By default PyGithub sends a POST again after a 502, which may have written already,
            # and sleeps for as long as GitHub says.
            retry=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What GitHub answered, as JSON."""

    content: JsonValue
    has_next_page: bool


class Api:
    """Sends one request at a time, each once. Every method raises a `GitHubError`."""

    def __init__(self, connection: Connection, github: Github) -> None:
        self._connection = connection
        self._requester = github.requester
        self._wrote_at = -_SECONDS_BETWEEN_WRITES

    def read(self, path: str, **query: int | str) -> Answer:
        """GET a path below the API's own address."""
        return self._send("GET", path, query=query)

    def write(self, verb: str, path: str, body: Mapping[str, JsonValue] | None = None) -> JsonValue:
        """POST, PATCH or DELETE, not too soon after the last one."""
        since = self._connection.clock() - self._wrote_at
        if since < _SECONDS_BETWEEN_WRITES:
            self._connection.sleep(_SECONDS_BETWEEN_WRITES - max(since, 0.0))
        self._wrote_at = self._connection.clock()
        return self._send(verb, path, body=body).content

    def query(self, query: str, variables: Mapping[str, JsonValue]) -> JsonValue:
        """A GraphQL query's data, with null for what does not exist."""
        body: Mapping[str, JsonValue] = {"query": query, "variables": dict(variables)}
        answer = self._send("POST", self._connection.graphql_url, body=body)
        reply = read_reply(_GRAPHQL_REPLY, answer.content)
        if reply.data is None or any(error.type != "NOT_FOUND" for error in reply.errors):
            raise RefusalError("GitHub's GraphQL API refused the query")
        return reply.data

    def _send(
        self,
        verb: str,
        path: str,
        *,
        body: Mapping[str, JsonValue] | None = None,
        query: Mapping[str, int | str] | None = None,
    ) -> Answer:
        from github import GithubException  # noqa: PLC0415 - as in `_session`

        def ask() -> tuple[Mapping[str, str], JsonValue]:
            return self._requester.requestJsonAndCheck(
                verb, path, parameters=dict(query or {}), input=body
            )

        try:
            headers, content = within(self._connection.answer_seconds, ask)
        except GithubException as error:
            raise _meaning(error, self._connection.clock()) from None
        except Exception as error:  # noqa: BLE001 - PyGithub trips in many ways over a broken answer
            # The error's own text is left out: it may quote a header, and with it the token.
            raise LostAnswerError(f"GitHub gave no clear answer ({type(error).__name__})") from None
        return Answer(content, 'rel="next"' in headers.get("link", ""))


def _meaning(error: GithubException, now: float) -> GitHubError:
    message = _message(error.data)
    seconds = seconds_to_wait(error.status, error.headers or {}, message, now)
    if seconds is not None:
        return LimitError(seconds)
    said = f"{error.status}: {message}" if message else f"{error.status}"
    if error.status >= 500:
        return LostAnswerError(f"GitHub failed ({said})")
    return RefusalError(f"GitHub refused ({said})", error.status)


def seconds_to_wait(
    status: int, headers: Mapping[str, str], message: str, now: float
) -> float | None:
    """How long GitHub asks a limited client to wait; None where a refusal is no limit.

    `headers` have lower-case names, `now` is in seconds since the epoch. At least a second, so
    that waits come to an end.
    """
    if status not in {403, 429}:
        return None
    after = headers.get("retry-after", "")
    if _is_number(after):
        return max(float(after), 1.0)
    if status == 403 and "rate limit" not in message.lower():
        return None
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and _is_number(reset):
        # One more, as the limit ends at some moment within that second.
        return max(float(reset) - now + 1.0, 1.0)
    return _UNSAID_SECONDS


def _is_number(text: str) -> bool:
    return re.fullmatch("[0-9]{1,12}", text) is not None


def read_reply(adapter: TypeAdapter[T], content: JsonValue) -> T:
    """An answer as a value. Raises `LostAnswerError` for one that is none of GitHub's."""
    try:
        return adapter.validate_python(content)
    except ValidationError:
        raise LostAnswerError(UNKNOWN_ANSWER) from None


class _Problem(BaseModel):
    message: str = ""
    type: str = ""


class _Refusal(BaseModel):
    message: str = ""
    errors: list[_Problem] = []


class _GraphQLReply(BaseModel):
    data: JsonValue = None
    errors: list[_Problem] = []


_REFUSAL = TypeAdapter(_Refusal)
_GRAPHQL_REPLY = TypeAdapter(_GraphQLReply)


def _message(content: object) -> str:
    """GitHub's own words, in one short line."""
    try:
        refusal = _REFUSAL.validate_python(content)
    except ValidationError:
        return ""
    words = (refusal.message, *(problem.message for problem in refusal.errors))
    line = re.sub(r"[^\x20-\x7e]+", " ", ": ".join(filter(None, words)))
    return line if len(line) <= 200 else f"{line[:199]}…"
