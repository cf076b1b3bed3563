"""What made the workflow run: the event's payload and a few variables become one value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
)

from skill_delta.errors import Place, UserError

PAYLOAD_BYTES = 25 * 1024 * 1024
"""GitHub sends no larger payload."""

_DEPENDABOT = "dependabot[bot]"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request as GitHub describes it.

    Its `base.sha` is left out on purpose: it lags behind the branch, and so is no base.
    """

    number: int
    head_sha: str
    base_ref: str
    """A branch's name."""
    is_fork: bool
    """Whether its head is in another repository, or in none that still exists."""
    comments: int


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """A merge queue's trial merge."""

    head_sha: str
    base_sha: str
    base_ref: str
    """`refs/heads/…`."""


@dataclass(frozen=True, slots=True)
class Push:
    """A branch or tag that moved."""

    ref: str
    before: str | None
    """None for a new one."""
    after: str | None
    """None for one that was deleted."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Someone started the workflow by hand; what they asked for comes as the action's inputs."""

    ref: str


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """Another workflow's run, which this one follows: what GitHub says of it, not what it says."""

    run_id: int
    attempt: int
    """From 1."""
    started_at: datetime
    """When that attempt began."""
    is_over: bool
    """False where this run was started by the other's beginning."""
    event: str
    head_sha: str
    head: str
    """`owner:branch`, as pull requests are searched by; empty where either is gone."""
    is_fork: bool
    """Whether its head is in another repository, or in none that still exists."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The clock."""

    cron: str


Trigger = PullRequest | MergeGroup | Push | Dispatch | FinishedRun | Schedule


@dataclass(frozen=True, slots=True)
class Event:
    """Why, where and as whom this run runs."""

    name: str
    """As `on:` spells it."""
    trigger: Trigger
    repository: str
    """`owner/name`."""
    default_branch: str
    """Empty where the payload does not say."""
    actor: str
    """Who caused the run; for a re-run still the one who caused the first."""
    sha: str
    """The commit that the workflow runs on: on a pull request, GitHub's merge commit."""
    run_id: int
    run_attempt: int
    """From 1."""
    server_url: str
    api_url: str
    graphql_url: str

    @property
    def head_sha(self) -> str:
        """The commit that this run speaks of: what is measured, and what a status is set on."""
        match self.trigger:
            case PullRequest(head_sha=sha) | MergeGroup(head_sha=sha) | FinishedRun(head_sha=sha):
                return sha
            case Push(after=str(sha)):
                return sha
            case _:
                return self.sha

    @property
    def is_dependabot(self) -> bool:
        """Whether GitHub withholds the secrets and write permissions, as from a fork."""
        return self.actor == _DEPENDABOT

    @property
    def run_url(self) -> str:
        """The page of this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def load_event(environment: Mapping[str, str]) -> Event:
    """The event that `GITHUB_EVENT_PATH` holds. Raises `UserError` as `read_event` does."""
    file = _variable(environment, "GITHUB_EVENT_PATH")
    try:
        with Path(file).open("rb") as stream:
            payload = stream.read(PAYLOAD_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"the event's payload cannot be read: {error.strerror}",
            hint=_RUN_ELSEWHERE,
            place=Place(file),
        ) from None
    return read_event(payload, environment)


def read_event(payload: bytes, environment: Mapping[str, str]) -> Event:
    """The event of a run, from its payload and GitHub's variables.

    Raises `UserError` for an event that nothing can be measured on, a variable that is missing or
    malformed, and a payload that is not what GitHub sends for the event.
    """
    name = _variable(environment, "GITHUB_EVENT_NAME")
    if name not in _TRIGGERS:
        raise UserError(f"the event '{name}' is not one to measure on", hint=_hint(name))
    place = Place(environment.get("GITHUB_EVENT_PATH", "the event's payload"))
    if len(payload) > PAYLOAD_BYTES:
        raise UserError(f"the payload is larger than {PAYLOAD_BYTES:,} bytes", place=place)
    try:
        trigger = _TRIGGERS[name](payload)
        repository = _Payload.model_validate_json(payload).repository
    except ValidationError as error:
        raise UserError(
            f"this is not the payload of the event '{name}'{_first(error)}",
            hint=_RUN_ELSEWHERE,
            place=place,
        ) from None
    return Event(
        name=name,
        trigger=trigger,
        repository=_variable(environment, "GITHUB_REPOSITORY", r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+"),
        default_branch=repository.default_branch if repository else "",
        actor=_variable(environment, "GITHUB_ACTOR"),
        sha=_variable(environment, "GITHUB_SHA", _SHA),
        run_id=int(_variable(environment, "GITHUB_RUN_ID", "[0-9]{1,19}")),
        run_attempt=int(_variable(environment, "GITHUB_RUN_ATTEMPT", "[0-9]{1,9}")),
        server_url=_url(environment, "GITHUB_SERVER_URL"),
        api_url=_url(environment, "GITHUB_API_URL"),
        graphql_url=_url(environment, "GITHUB_GRAPHQL_URL"),
    )


def read_pull_request(content: JsonValue) -> PullRequest:
    """A pull request from the API, which describes it as an event does.

    Raises pydantic's `ValidationError` for anything else.
    """
    return _PullRequest.model_validate(content).value()


_SHA = "[0-9a-f]{40}|[0-9a-f]{64}"
_RUN_ELSEWHERE = "this reads a GitHub workflow run; on your own machine use `skill-delta pr`"

Sha = Annotated[str, StringConstraints(pattern=f"^(?:{_SHA})$")]
Count = Annotated[int, Field(ge=0)]


def _variable(environment: Mapping[str, str], name: str, pattern: str = "(?s:.+)") -> str:
    value = environment.get(name, "")
    if not value:
        raise UserError(f"{name} is not set", hint=_RUN_ELSEWHERE)
    if not re.fullmatch(pattern, value):
        raise UserError(f"{name} is {value[:80]!r}, which is not what GitHub sets it to")
    return value


def _url(environment: Mapping[str, str], name: str) -> str:
    return _variable(
        environment, name, r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._/-]*)?"
    ).rstrip("/")


def _hint(name: str) -> str:
    if name == "pull_request_target":
        return "use pull_request: pull_request_target would hand your secrets to a fork's skills"
    return f"run the workflow on one of {', '.join(_TRIGGERS)}"


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, detail["loc"]))
    return f": {field}: {detail['msg']}" if field else f": {detail['msg']}"


class _Described(BaseModel):
    """A part of a payload. GitHub adds fields as it likes, so unknown ones are left alone."""

    # Built where it is used: one run reads one of them, and building all takes 0.05 s.
    model_config = ConfigDict(defer_build=True, frozen=True, strict=True)


class _Repository(_Described):
    id: int
    default_branch: str = ""


class _Payload(_Described):
    repository: _Repository | None = None


class _Head(_Described):
    sha: Sha
    repo: _Repository | None


class _Base(_Described):
    ref: str
    repo: _Repository


class _PullRequest(_Described):
    number: Count
    head: _Head
    base: _Base
    comments: Count = 0

    def value(self) -> PullRequest:
        return PullRequest(
            self.number,
            self.head.sha,
            self.base.ref,
            is_fork=not _same(self.head.repo, self.base.repo),
            comments=self.comments,
        )


class _PullRequestPayload(_Described):
    pull_request: _PullRequest


class _MergeGroup(_Described):
    head_sha: Sha
    base_sha: Sha
    base_ref: str


class _MergeGroupPayload(_Described):
    merge_group: _MergeGroup


class _PushPayload(_Described):
    ref: str
    before: Sha
    after: Sha


class _DispatchPayload(_Described):
    ref: str


class _Owner(_Described):
    login: str


class _HeadRepository(_Repository):
    owner: _Owner


class _WorkflowRun(_Described):
    id: int
    run_attempt: Count = 1
    created_at: AwareDatetime
    run_started_at: AwareDatetime | None = None
    event: str
    head_sha: Sha
    head_branch: str | None = None
    head_repository: _HeadRepository | None
    repository: _Repository


class _WorkflowRunPayload(_Described):
    action: str
    workflow_run: _WorkflowRun


class _SchedulePayload(_Described):
    schedule: str


def _same(head: _Repository | None, base: _Repository) -> bool:
    return head is not None and head.id == base.id


def _pull_request(payload: bytes) -> Trigger:
    return _PullRequestPayload.model_validate_json(payload).pull_request.value()


def _merge_group(payload: bytes) -> Trigger:
    group = _MergeGroupPayload.model_validate_json(payload).merge_group
    return MergeGroup(group.head_sha, group.base_sha, group.base_ref)


def _push(payload: bytes) -> Trigger:
    push = _PushPayload.model_validate_json(payload)
    return Push(push.ref, _or_none(push.before), _or_none(push.after))


def _or_none(sha: str) -> str | None:
    """GitHub writes the commit of a branch that is not there as zeros."""
    return sha if sha.strip("0") else None


def _dispatch(payload: bytes) -> Trigger:
    return Dispatch(_DispatchPayload.model_validate_json(payload).ref)


def _workflow_run(payload: bytes) -> Trigger:
    read = _WorkflowRunPayload.model_validate_json(payload)
    run, home = read.workflow_run, read.workflow_run.head_repository
    return FinishedRun(
        run_id=run.id,
        attempt=run.run_attempt,
        started_at=run.run_started_at or run.created_at,
        is_over=read.action == "completed",
        event=run.event,
        head_sha=run.head_sha,
        head=f"{home.owner.login}:{run.head_branch}" if home and run.head_branch else "",
        is_fork=not _same(home, run.repository),
    )


def _schedule(payload: bytes) -> Trigger:
    return Schedule(_SchedulePayload.model_validate_json(payload).schedule)


_TRIGGERS: Mapping[str, Callable[[bytes], Trigger]] = {
    "pull_request": _pull_request,
    "merge_group": _merge_group,
    "push": _push,
    "workflow_dispatch": _dispatch,
    "workflow_run": _workflow_run,
    "schedule": _schedule,
}
