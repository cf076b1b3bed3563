"""The action: a pull request's check, told in a comment, a summary and the step's outputs.

Reports come first and the exit code last: whatever cannot be told, the verdict stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.history.base import MergeGroupRefs, PullRequestRefs, PushRefs, Refs, RevisionRefs
from skill_delta.hosts.events import Dispatch, Event, FinishedRun, MergeGroup, PullRequest, Push
from skill_delta.hosts.workflow import StepFiles
from skill_delta.render.commands import Annotation, Level
from skill_delta.render.frame import Frame, render_unchanged
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.check import (
    CheckOutcome,
    CheckRequest,
    Evaluated,
    RemoteRepository,
    Stopped,
    Unchanged,
    check,
)
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.telling import (
    FORK_HELP,
    Audience,
    Host,
    Speaker,
    State,
    annotations_of,
    doubts,
    numbers,
    repository_of,
)
from skill_delta.wiring.terminal import Terminal

if TYPE_CHECKING:
    from pydantic import JsonValue, SecretStr

    from skill_delta.core.report import Report

FORK = (
    "this pull request comes from a fork or from Dependabot, whose runs get no secrets: "
    "without a key no model can be asked"
)
SCRIPTS_OF_OTHERS = (
    "allow-scripts was not followed: the pull request is a fork's, Dependabot's, or was named by "
    "hand, and nothing of such a one is run"
)


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What the workflow asked for.

    `flags` gives the settings among the inputs. `base` is a revision to compare with in place of
    the event's. `sets_status` asks for a commit status beside the job's own check.
    """

    event: Event
    workspace: Path
    step: StepFiles
    flags: Callable[[], Mapping[str, JsonValue]]
    comment_id: str
    sets_status: bool = False
    base: str | None = None
    pull_request: int | None = None
    """The pull request that a maintainer wants measured, where a dispatch names one."""
    config: str | None = None
    keys: Keys = field(default_factory=Keys)
    token: SecretStr | None = None


def act(request: ActionRequest, terminal: Terminal) -> ExitCode:
    """Check what the event brought, and tell GitHub.

    Raises `UserError`, and `ServiceError` where the pull request asked for cannot be read.
    """
    request = _as_dispatched(request)
    if request.event.run_attempt > 1:
        _refuse_another_target(request)
    audience = Audience(
        request.event, request.step, request.comment_id, request.sets_status, request.token
    )
    host = Host(audience, datetime.now(UTC))
    trigger = request.event.trigger
    # A run that a maintainer dispatched has the secrets, whoever wrote the pull request.
    from_outside = (
        isinstance(trigger, PullRequest) and trigger.is_fork and request.pull_request is None
    )

    def starting() -> None:
        _refuse_another_target(request)
        host.begin()

    outcome = check(
        CheckRequest(
            workspace=request.workspace,
            refs=_refs(request),
            command="action",
            flags=request.flags,
            config=request.config,
            keys=request.keys,
            without_key=FORK if from_outside or request.event.is_dependabot else "",
            scripts_refused=SCRIPTS_OF_OTHERS if _is_of_others(request) else "",
            starting=starting,
            remote=_remote(request),
        ),
        terminal,
    )
    token = request.token.get_secret_value() if request.token else None
    speaker = Speaker(request.step, host, terminal, _redactor(outcome, request.keys, token))
    return _Teller(request, speaker).tell(outcome)


def _is_of_others(request: ActionRequest) -> bool:
    """Whether the head may be anyone's: it is data, whatever the workflow allows."""
    trigger = request.event.trigger
    is_fork = isinstance(trigger, PullRequest) and trigger.is_fork
    return request.pull_request is not None or is_fork or request.event.is_dependabot


def _as_dispatched(request: ActionRequest) -> ActionRequest:
    """The request with the pull request that it names in place of the event.

    This is how a maintainer measures a fork's: the head is fetched as data, and nothing of it is
    checked out or run.
    """
    event, number = request.event, request.pull_request
    if number is None:
        return request
    if not isinstance(event.trigger, Dispatch):
        raise UserError(
            f"input 'pull-request' goes with workflow_dispatch, and this is {event.name}",
            hint="leave it blank: the event says which pull request it is about",
        )
    found = repository_of(event, request.token).pull_request(number)
    return replace(request, event=replace(event, trigger=found))


def _refuse_another_target(request: ActionRequest) -> None:
    """What a job has checked out was made of the base that its event names.

    Run again, or after a wait, the pull request may be to go elsewhere: raises `UserError` then.
    Where GitHub does not say, the event stands.
    """
    event, trigger = request.event, request.event.trigger
    if not isinstance(trigger, PullRequest) or request.token is None or request.pull_request:
        return
    now = trigger.base_ref
    with suppress(UserError, ServiceError):
        now = repository_of(event, request.token).pull_request(trigger.number).base_ref
    if now != trigger.base_ref:
        raise UserError(
            f"the pull request goes into '{now}' now, and this run was made for "
            f"'{trigger.base_ref}': it would be compared with the wrong base",
            hint="start a new run: push a commit, or close the pull request and reopen it",
        )


def _remote(request: ActionRequest) -> RemoteRepository | None:
    """The repository on the server that the event came from."""
    event = request.event
    if not event.server_url or not event.repository:
        return None
    token = request.token.get_secret_value() if request.token else ""
    return RemoteRepository(f"{event.server_url}/{event.repository}", token)


def _redactor(outcome: CheckOutcome, keys: Keys, token: str | None) -> Redactor:
    settings = None if isinstance(outcome, Unchanged) else outcome.settings
    if settings is None:
        return Redactor(filter(None, (*keys.given, token)))
    from skill_delta.wiring.endpoints import redactor_for  # noqa: PLC0415 - it is loaded by now

    return redactor_for(settings, keys, token)


def _refs(request: ActionRequest) -> Refs:
    event = request.event
    if isinstance(event.trigger, FinishedRun):
        raise UserError(
            "on workflow_run there is nothing to measure: it follows another workflow's run",
            hint="name that run's record with the input publish, or run on pull_request",
        )
    if request.base is not None:
        return RevisionRefs(request.base, event.head_sha, event.default_branch)
    match event.trigger:
        case PullRequest(head_sha=head, base_ref=branch):
            return PullRequestRefs(head, branch)
        case MergeGroup(base_sha=base, head_sha=head):
            return MergeGroupRefs(base, head)
        case Push(before=before, after=str(after)):
            return PushRefs(before, after, event.default_branch)
        case _:
            return RevisionRefs(head=event.sha, default_branch=event.default_branch)


class _Teller:
    """Says what came of the check, in every place where someone may look for it."""

    def __init__(self, request: ActionRequest, speaker: Speaker) -> None:
        self._request = request
        self._speaker = speaker
        self._host = speaker.host
        self._redactor = speaker.redactor

    def tell(self, outcome: CheckOutcome) -> ExitCode:
        """Reports, summary, comment, status, outputs; then the exit code."""
        match outcome:
            case Unchanged():
                code, outputs = self._unchanged(outcome)
            case Evaluated():
                code, outputs = self._evaluated(outcome)
            case Stopped():
                code, outputs = self._stopped(outcome)
        return self._speaker.end(code, outputs)

    def _unchanged(self, outcome: Unchanged) -> tuple[ExitCode, Mapping[str, str]]:
        ends = outcome.ends
        frame = Frame(base_found=ends.how, run_url=self._request.event.run_url)
        body = render_unchanged(
            ends.base.hex(), ends.head.hex(), frame=frame, elsewhere=outcome.elsewhere
        )
        self._speaker.say(body.replace("### ", ""))
        self._speaker.summarise(body)
        url = self._host.comment_if_present(body)
        self._host.status("success", "no skill changed")
        return outcome.exit_code, {"skills": "[]", "comment-url": url}

    def _evaluated(self, outcome: Evaluated) -> tuple[ExitCode, Mapping[str, str]]:
        from skill_delta.render.annotations import render_annotations  # noqa: PLC0415
        from skill_delta.render.comment import render_comment, render_summary  # noqa: PLC0415
        from skill_delta.render.status import render_status  # noqa: PLC0415
        from skill_delta.render.terminal import render_terminal  # noqa: PLC0415
        from skill_delta.wiring.report_folder import FILES  # noqa: PLC0415

        report, redact = outcome.report, self._redactor.redact
        folder = outcome.settings.report_dir or ""
        frame = Frame(
            base_found=outcome.ends.how,
            report_path=f"{folder}/{FILES['markdown']}",
            run_url=self._request.event.run_url,
        )
        self._speaker.say(render_terminal(report))
        unwritten = write_reports(self._request.workspace, folder, report, redact)
        self._speaker.summarise(redact(render_summary(report, frame=frame, redact=redact)))
        self._speaker.annotate(doubts(report, outcome.exit_code))
        self._speaker.order(render_annotations(report, redact=redact))
        url = self._host.comment(redact(render_comment(report, frame=frame, redact=redact)))
        code = outcome.exit_code
        if unwritten:
            self._speaker.annotate([Annotation(Level.ERROR, "Reports not written", unwritten)])
            code = ExitCode.USER_ERROR if code is ExitCode.PASSED else code
        passed = code is ExitCode.PASSED
        self._host.status("success" if passed else "failure", redact(render_status(report)))
        paths = {f"{name}-report": f"{folder}/{file}" for name, file in FILES.items()}
        return code, {
            **numbers(report),
            "comment-url": url,
            **({} if unwritten else paths),
        }

    def _stopped(self, outcome: Stopped) -> tuple[ExitCode, Mapping[str, str]]:
        from skill_delta.render.comment import render_not_measured  # noqa: PLC0415

        error, ends = outcome.error, outcome.ends
        reason = self._redactor.redact(str(error))
        body = render_not_measured(
            reason,
            FORK_HELP if str(error) == FORK else "",
            changes=outcome.changes,
            base=ends.base.hex() if ends else None,
            head=ends.head.hex() if ends else None,
            frame=Frame(base_found=ends.how if ends else "", run_url=self._request.event.run_url),
        )
        self._speaker.say(f"not measured: {reason}")
        self._speaker.annotate(annotations_of(error))
        self._speaker.summarise(body)
        url = self._host.comment(body)
        failed = outcome.exit_code is not ExitCode.PASSED
        state: State = "error" if failed else "success"
        self._host.status(state, f"not measured: {reason.splitlines()[0]}")
        return outcome.exit_code, {"verdict": "not measured", "comment-url": url}


def write_reports(
    workspace: Path, folder: str, report: Report, redact: Callable[[str], str]
) -> str:
    """All reports, into one folder. What went wrong, in words, where something did."""
    from skill_delta.render import RENDERERS  # noqa: PLC0415 - for a run that has a report
    from skill_delta.wiring.report_folder import ReportFolder  # noqa: PLC0415

    try:
        place = ReportFolder(workspace, folder)
    except UserError as error:
        return str(error)
    return place.write({name: redact(render(report)) for name, render in RENDERERS.items()})
