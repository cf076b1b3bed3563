"""A GitHub on loopback: it remembers, refuses and fails as GitHub does, and checks both sides.

Shapes, required fields, enums and statuses are GitHub's: every exchange is checked against its
OpenAPI description (`github_contract.py`). Permissions, limits and failures are not in that
description; they are written here from GitHub's documentation.

    with GitHubStandIn() as github:
        github.repository.open_pull_request(7, head_sha)
        github.fail("issues/create-comment", BAD_GATEWAY, Effect.DONE)
        ...  # point the code under test at github.api_url and github.graphql_url
        assert [comment.body for comment in github.repository.comments] == [...]
        assert not github.violations
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from github_contract import contract
from github_repository import JOB, NO_PERMISSION, Account, Call, Repository, refusal
from github_wire import Answer, Delivery, LoopbackServer

NEEDS: Mapping[str, tuple[str, str]] = {
    "pulls/get": ("pull_requests", "read"),
    "pulls/list": ("pull_requests", "read"),
    "repos/list-pull-requests-associated-with-commit": ("pull_requests", "read"),
    "repos/get-branch": ("contents", "read"),
    "git/get-commit": ("contents", "read"),
    "git/get-tree": ("contents", "read"),
    "git/get-blob": ("contents", "read"),
    "issues/list-comments": ("pull_requests", "read"),
    "issues/create-comment": ("pull_requests", "write"),
    "issues/update-comment": ("pull_requests", "write"),
    "issues/delete-comment": ("pull_requests", "write"),
    "repos/create-commit-status": ("statuses", "write"),
    "repos/list-commit-statuses-for-ref": ("statuses", "read"),
}
"""What a job's token must be allowed."""

_INCLUDED = {"read": {"read", "write"}, "write": {"write"}}
"""The permissions that are enough for a level."""

BAD_GATEWAY = Answer(502, {"message": "Server Error"})


def secondary_limit(retry_after: int | None = None, status: int = 403) -> Answer:
    """GitHub asks for patience, with or without saying for how many seconds."""
    message = (
        "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    )
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return refusal(status, message, headers)


class Effect(Enum):
    """Whether a request that fails was carried out before its answer was lost."""

    NONE = "before"
    DONE = "after"


@dataclass(slots=True)
class Fault:
    """What becomes of the next `times` requests for one operation."""

    operation: str
    outcome: Answer | Delivery
    effect: Effect
    times: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request as it arrived, and the answer that it got or would have got."""

    operation: str
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    answer: Answer


@dataclass
class GitHubStandIn:
    """One repository's GitHub. Change the fields to arrange a scene."""

    repository: Repository = field(default_factory=lambda: Repository("octo/skills"))
    token: str = "job-token-for-tests"
    viewer: Account = JOB
    """Whom the token acts as."""
    permissions: dict[str, str] = field(
        default_factory=lambda: {
            "contents": "read",
            "pull_requests": "write",
            "statuses": "write",
        }
    )
    prefix: str = ""
    """`/api/v3` makes it a GitHub Enterprise Server."""
    remaining: int = 1000
    """Requests left before the primary rate limit, until the clock reaches `resets_at`."""
    resets_at: float = 0.0
    clock: Callable[[], float] = time.time
    exchanges: list[Exchange] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """Where either side left GitHub's description. A test fails on any."""

    def __post_init__(self) -> None:
        self._contract = contract()
        self._faults: list[Fault] = []
        self._interludes: list[tuple[str, Effect, Callable[[], object]]] = []
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._respond, self.violations.append)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    @property
    def api_url(self) -> str:
        return f"{self._server.url}{self.prefix}"

    @property
    def graphql_url(self) -> str:
        return f"{self._server.url}{self.prefix.removesuffix('/v3')}/graphql"

    def fail(
        self,
        operation: str,
        outcome: Answer | Delivery,
        effect: Effect = Effect.NONE,
        times: int = 1,
    ) -> None:
        """The next `times` requests for this operation (GitHub's `operationId`) go wrong."""
        self._faults.append(Fault(operation, outcome, effect, times))

    def meanwhile(self, operation: str, effect: Effect, act: Callable[[], object]) -> None:
        """Let something happen once, before or after the next request for this operation."""
        self._interludes.append((operation, effect, act))

    def _let_happen(self, operation: str, effect: Effect) -> None:
        for interlude in [each for each in self._interludes if each[:2] == (operation, effect)]:
            self._interludes.remove(interlude)
            interlude[2]()

    def asked(self, operation: str) -> Sequence[Exchange]:
        """What was asked of one operation so far."""
        return [exchange for exchange in self.exchanges if exchange.operation == operation]

    def _respond(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        path, query = urlsplit(target).path, dict(parse_qsl(urlsplit(target).query))
        call = self._call(method, path, query, body)
        # Not under the lock: what happens meanwhile may well be another request.
        self._let_happen(call.operation, Effect.NONE)
        answer = self._exchange(call, method, path, query, headers, body)
        self._let_happen(call.operation, Effect.DONE)
        return answer

    def _exchange(
        self,
        call: Call,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> Answer:
        with self._lock:
            problem = None
            if call.operation != "graphql":
                short = path.removeprefix(self.prefix)
                problem = self._contract.request_problem(method, short, query, body)
            self._note(f"{method} {path}", problem)
            # Not what GitHub says to each of them, but a test that sees a violation fails anyway.
            answer = refusal(422, problem) if problem else self._outcome(call, headers)
            answer = replace(answer, headers={**self._limits(), **answer.headers})
            self.exchanges.append(Exchange(call.operation, method, path, query, call.body, answer))
        return answer

    def _call(self, method: str, path: str, query: Mapping[str, str], body: bytes | None) -> Call:
        operation, arguments = self._contract.operation(method, path.removeprefix(self.prefix))
        if (method, path) == ("POST", urlsplit(self.graphql_url).path):
            operation = "graphql"
        content = None if body is None else json.loads(body)
        url = f"{self._server.url}{path}"
        return Call(operation, arguments, query, content, self.viewer, self.api_url, url)

    def _outcome(self, call: Call, headers: Mapping[str, str]) -> Answer:
        fault = next((f for f in self._faults if f.operation == call.operation and f.times), None)
        if fault is None:
            return self._checked(call, self._refused(call, headers) or self.repository.answer(call))
        fault.times -= 1
        real = BAD_GATEWAY
        if fault.effect is Effect.DONE:
            real = self._checked(call, self.repository.answer(call))
        if isinstance(fault.outcome, Answer):
            return fault.outcome
        return replace(real, delivery=fault.outcome)

    def _checked(self, call: Call, answer: Answer) -> Answer:
        """Faults aside, this GitHub answers as the real one does."""
        if call.operation != "graphql":
            problem = self._contract.response_problem(
                call.operation, answer.status, answer.content, answer.headers
            )
            self._note(f"{answer.status} of {call.operation}", problem)
        return answer

    def _note(self, what: str, problem: str | None) -> None:
        if problem is not None:
            self.violations.append(f"{what}: {problem}")

    def _refused(self, call: Call, headers: Mapping[str, str]) -> Answer | None:
        if headers.get("authorization") not in {f"token {self.token}", f"Bearer {self.token}"}:
            return refusal(401, "Bad credentials")
        if self.remaining == 0:
            if self.clock() < self.resets_at:
                return refusal(403, "API rate limit exceeded for installation ID 1234567.")
            self.remaining = 1000
        self.remaining -= 1
        permission, level = NEEDS.get(call.operation, ("metadata", "read"))
        granted = self.permissions.get(permission, "read" if permission == "metadata" else "none")
        return None if granted in _INCLUDED[level] else NO_PERMISSION

    def _limits(self) -> Mapping[str, str]:
        return {
            "x-ratelimit-limit": "1000",
            "x-ratelimit-remaining": str(self.remaining),
            "x-ratelimit-reset": str(int(self.resets_at)),
        }
