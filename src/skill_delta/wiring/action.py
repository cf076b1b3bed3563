"""The action: a pull request's check, told in a comment, a summary and the step's outputs.

Reports come first and the exit code last: whatever cannot be told, the verdict stands.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from skill_delta.core.policy import Verdict
from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.history.base import MergeGroupRefs, PullRequestRefs, PushRefs, Refs, RevisionRefs
from skill_delta.hosts.comment_marker import CommentMarker, RunIdentity
from skill_delta.hosts.events import Dispatch, Event, FinishedRun, MergeGroup, PullRequest, Push
from skill_delta.hosts.workflow import StepFiles
from skill_delta.render.commands import Annotation, Level, stopped
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
from skill_delta.wiring.terminal import Terminal

if TYPE_CHECKING:
    from pydantic import JsonValue, SecretStr

    from skill_delta.core.readings import Reading
    from skill_delta.core.report import Report
    from skill_delta.hosts.github import GitHubRepository, NotPublished, Published

State: TypeAlias = Literal["pending", "success", "failure", "error"]

FORK = (
    "this pull request comes from a fork or from Dependabot, whose runs get no secrets: "
    "without a key no model can be asked"
)
SCRIPTS_OF_OTHERS = (
    "allow-scripts was not followed: the pull request is a fork's, Dependabot's, or was named by "
    "hand, and nothing of such a one is run"
)
FORK_HELP = (
    "A maintainer can measure it: read it first, then run the workflow by hand "
    "(`workflow_dispatch`) with the input `pull-request`."
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
    key: SecretStr | None = None
    token: SecretStr | None = None


def act(request: ActionRequest, terminal: Terminal) -> ExitCode:
    """Check what the event brought, and tell GitHub.

    Raises `UserError`, and `ServiceError` where the pull request asked for cannot be read.
    """
    request = _as_dispatched(request)
    host = _Host(request, datetime.now(UTC))
    key = request.key.get_secret_value() if request.key else None
    trigger = request.event.trigger
    # A run that a maintainer dispatched has the secrets, whoever wrote the pull request.
    from_outside = (
        isinstance(trigger, PullRequest) and trigger.is_fork and request.pull_request is None
    )
    outcome = check(
        CheckRequest(
            workspace=request.workspace,
            refs=_refs(request),
            command="action",
            flags=request.flags,
            config=request.config,
            key=key,
            without_key=FORK if from_outside or request.event.is_dependabot else "",
            scripts_refused=SCRIPTS_OF_OTHERS if _is_of_others(request) else "",
            starting=host.begin,
            remote=_remote(request),
        ),
        terminal,
    )
    token = request.token.get_secret_value() if request.token else None
    teller = _Teller(request, host, terminal, _redactor(outcome, key, token))
    return teller.tell(outcome)


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
    found = _github(request).pull_request(number)
    return replace(request, event=replace(event, trigger=found))


def _github(request: ActionRequest) -> GitHubRepository:
    """The event's repository, as the token's holder sees it."""
    from pydantic import SecretStr  # noqa: PLC0415 - where it is used

    from skill_delta.hosts.github import GitHubRepository  # noqa: PLC0415
    from skill_delta.hosts.github_api import Connection  # noqa: PLC0415

    event = request.event
    token = request.token or SecretStr("")
    return GitHubRepository(event.repository, Connection(token, event.api_url, event.graphql_url))


def _remote(request: ActionRequest) -> RemoteRepository | None:
    """The repository on the server that the event came from."""
    event = request.event
    if not event.server_url or not event.repository:
        return None
    token = request.token.get_secret_value() if request.token else ""
    return RemoteRepository(f"{event.server_url}/{event.repository}", token)


def _redactor(outcome: CheckOutcome, key: str | None, token: str | None) -> Redactor:
    settings = None if isinstance(outcome, Unchanged) else outcome.settings
    if settings is None:
        return Redactor(filter(None, (key, token)))
    from skill_delta.wiring.assembly import redactor_for  # noqa: PLC0415 - it is loaded by now

    return redactor_for(settings.base_url, key, token)


def _refs(request: ActionRequest) -> Refs:
    event = request.event
    if isinstance(event.trigger, FinishedRun):
        raise UserError(
            "the action does not follow another workflow's run (`on: workflow_run`)",
            hint="run it on pull_request, merge_group, push, workflow_dispatch or schedule",
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


class _Host:
    """GitHub, where there is something to tell it and a token to do so with."""

    def __init__(self, request: ActionRequest, started_at: datetime) -> None:
        self._request = request
        self._run = RunIdentity(request.event.run_id, request.event.run_attempt, started_at)
        self.refusals: list[str] = []
        """Why something was not published, each in one sentence."""

    def begin(self) -> None:
        """Some skill changed: it is being measured."""
        self.status("pending", "measuring the changed skills")

    def status(self, state: State, description: str) -> None:
        """Set the commit status, where one is asked for."""
        if not self._request.sets_status:
            return
        from skill_delta.hosts.github import CommitStatus  # noqa: PLC0415 - where it is used

        event = self._request.event
        status = CommitStatus(state, description, event.run_url)
        self._noted("commit status", self._repository().set_status(event.head_sha, status))

    def comment(self, body: str) -> str:
        """Make this our comment on the pull request. Its address; empty where there is none."""
        trigger = self._request.event.trigger
        if not isinstance(trigger, PullRequest):
            return ""
        found = self._repository().publish_comment(trigger.number, body, self._marker())
        return self._noted("comment", found)

    def comment_if_present(self, body: str) -> str:
        """The same where there is an earlier one: a revert must not leave a red comment behind."""
        trigger = self._request.event.trigger
        if not isinstance(trigger, PullRequest) or not trigger.comments:
            return ""
        found = self._repository().rewrite_comment_if_present(trigger.number, body, self._marker())
        return self._noted("comment", found) if found else ""

    def _marker(self) -> CommentMarker:
        return CommentMarker(self._request.comment_id, self._request.event.head_sha, self._run)

    def _repository(self) -> GitHubRepository:
        return _github(self._request)

    def _noted(self, what: str, found: Published | NotPublished) -> str:
        from skill_delta.hosts.github import Published  # noqa: PLC0415 - where it is used

        if isinstance(found, Published):
            return found.url
        self.refusals.append(f"the {what} was not written: {found.reason}")
        return ""


class _Teller:
    """Says what came of the check, in every place where someone may look for it."""

    def __init__(
        self, request: ActionRequest, host: _Host, terminal: Terminal, redactor: Redactor
    ) -> None:
        self._request = request
        self._host = host
        self._terminal = terminal
        self._redactor = redactor

    def tell(self, outcome: CheckOutcome) -> ExitCode:
        """Reports, summary, comment, status, outputs; then the exit code."""
        match outcome:
            case Unchanged():
                code, outputs = self._unchanged(outcome)
            case Evaluated():
                code, outputs = self._evaluated(outcome)
            case Stopped():
                code, outputs = self._stopped(outcome)
        passed = str(code is ExitCode.PASSED).lower()
        written = self._request.step.set_outputs(
            {"passed": passed, "exit-code": str(int(code)), **outputs}
        )
        refusals = filter(None, (*self._host.refusals, written))
        self._annotate(Annotation(Level.WARNING, "Not told", refusal) for refusal in refusals)
        return code

    def _summarise(self, markdown: str) -> None:
        self._host.refusals.append(self._request.step.add_summary(markdown))

    def _unchanged(self, outcome: Unchanged) -> tuple[ExitCode, Mapping[str, str]]:
        ends = outcome.ends
        frame = Frame(base_found=ends.how, run_url=self._request.event.run_url)
        body = render_unchanged(
            ends.base.hex(), ends.head.hex(), frame=frame, elsewhere=outcome.elsewhere
        )
        self._say(body.replace("### ", ""))
        self._summarise(body)
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
        self._say(render_terminal(report))
        unwritten = write_reports(self._request.workspace, folder, report, redact)
        self._summarise(redact(render_summary(report, frame=frame, redact=redact)))
        self._annotate(_doubts(report, outcome.exit_code))
        self._print(render_annotations(report, redact=redact))
        url = self._host.comment(redact(render_comment(report, frame=frame, redact=redact)))
        code = outcome.exit_code
        if unwritten:
            self._annotate([Annotation(Level.ERROR, "Reports not written", unwritten)])
            code = ExitCode.USER_ERROR if code is ExitCode.PASSED else code
        passed = code is ExitCode.PASSED
        self._host.status("success" if passed else "failure", redact(render_status(report)))
        paths = {f"{name}-report": f"{folder}/{file}" for name, file in FILES.items()}
        return code, {
            **_numbers(report),
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
        self._say(f"not measured: {reason}")
        self._annotate(_annotations_of(error))
        self._summarise(body)
        url = self._host.comment(body)
        failed = outcome.exit_code is not ExitCode.PASSED
        state: State = "error" if failed else "success"
        self._host.status(state, f"not measured: {reason.splitlines()[0]}")
        return outcome.exit_code, {"verdict": "not measured", "comment-url": url}

    def _say(self, text: str) -> None:
        """Print text that others may have written: no line of it is taken for a command."""
        self._print(stopped(self._redactor.redact(text), secrets.token_hex(16)))

    def _annotate(self, annotations: Iterable[Annotation]) -> None:
        redacted = (annotation.redacted(self._redactor.redact) for annotation in annotations)
        self._print("".join(f"{annotation}\n" for annotation in redacted))

    def _print(self, commands: str) -> None:
        self._terminal.say(commands)


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


def _annotations_of(error: UserError | ServiceError) -> Iterable[Annotation]:
    if isinstance(error, ServiceError):
        return [Annotation(Level.ERROR, "Not measured", str(error))]
    return [
        Annotation(Level.ERROR, "skill-delta", f"{each.problem}\n{each.hint}".strip(), each.place)
        for each in error.each[:10]
    ]


def _doubts(report: Report, code: ExitCode) -> Iterable[Annotation]:
    """A run that gave no verdict says so on the job's page, whatever the exit code makes of it."""
    verdict = report.gate.verdict
    level = Level.WARNING if code is ExitCode.PASSED else Level.ERROR
    if verdict in {Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED}:
        reasons = "\n".join(reason.text for reason in report.gate.reasons)
        yield Annotation(level, verdict.value.capitalize(), reasons)


def _numbers(report: Report) -> Mapping[str, str]:
    """The outputs that are numbers; blank where there is none. The delta is the worst gate's."""
    worst = _worst(report)
    found = worst.difference if worst else None
    summary = report.summary
    cost = summary.spend.cost_usd
    return {
        "verdict": report.gate.verdict.value,
        "delta": _number(found.pass_rate if found else None),
        "interval-low": _number(worst.interval.low if worst else None),
        "interval-high": _number(worst.interval.high if worst else None),
        "pass-rate": _number(summary.pass_rate),
        "baseline-pass-rate": _number(found.pass_rate_baseline if found else None),
        "skills": json.dumps([subject.label for subject in report.subjects]),
        "cost-usd": _number(cost),
    }


def _worst(report: Report) -> Reading | None:
    """The gate with the worst verdict, of several the lowest delta; where none, any comparison."""
    order = list(Verdict)
    gates = [
        (-order.index(judgement.verdict), judgement.reading) for judgement in report.gate.judgements
    ]
    found = gates or [(0, reading) for reading in report.readings.values()]
    return min(found, key=lambda gate: (gate[0], gate[1].interval.delta), default=(0, None))[1]


def _number(value: float | None) -> str:
    return "" if value is None else f"{round(value, 6) + 0.0:g}"
