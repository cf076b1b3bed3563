"""What was found is told to GitHub: a comment, a status, the step's log, outputs and summary."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from skill_delta.core.policy import Verdict
from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.hosts.comment_marker import CommentMarker, RunIdentity
from skill_delta.hosts.events import Event, PullRequest
from skill_delta.hosts.workflow import StepFiles
from skill_delta.render.commands import Annotation, Level, stopped
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.terminal import Terminal

if TYPE_CHECKING:
    from pydantic import SecretStr

    from skill_delta.core.readings import Reading
    from skill_delta.core.report import Report
    from skill_delta.hosts.github import CommitStatus, GitHubRepository, NotPublished, Published
    from skill_delta.hosts.github_api import Connection

State: TypeAlias = Literal["pending", "success", "failure", "error"]

FORK_HELP = (
    "A maintainer can measure it: read it first, then run the workflow by hand "
    "(`workflow_dispatch`) with the input `pull-request`."
)


@dataclass(frozen=True, slots=True)
class Audience:
    """Whom to tell, and in whose name.

    `sets_status` asks for a commit status beside the job's own check.
    """

    event: Event
    step: StepFiles
    comment_id: str
    sets_status: bool = False
    token: SecretStr | None = None


def connection_of(event: Event, token: SecretStr | None) -> Connection:
    """The event's GitHub, as the token's holder sees it."""
    from pydantic import SecretStr  # noqa: PLC0415 - where it is used

    from skill_delta.hosts.github_api import Connection  # noqa: PLC0415

    return Connection(token or SecretStr(""), event.api_url, event.graphql_url)


def repository_of(event: Event, token: SecretStr | None) -> GitHubRepository:
    """The event's repository, as the token's holder sees it."""
    from skill_delta.hosts.github import GitHubRepository  # noqa: PLC0415 - where it is used

    return GitHubRepository(event.repository, connection_of(event, token))


class Host:
    """GitHub, where there is something to tell it and a token to do so with."""

    def __init__(self, audience: Audience, started_at: datetime) -> None:
        """`started_at` is when the measuring began: of two runs the later has the last word."""
        self._audience = audience
        event = audience.event
        self._run = RunIdentity(event.run_id, event.run_attempt, started_at)
        self.refusals: list[str] = []
        """Why something was not published, each in one sentence."""
        self._is_outdone = False

    def begin(self) -> None:
        """Some skill changed: it is being measured."""
        if self._audience.sets_status:
            status = self._status("pending", "measuring the changed skills")
            self._noted("commit status", self._repository().set_status(self._sha, status))

    def status(self, state: State, description: str) -> None:
        """Set the commit status, where one is asked for, and no newer run has set it."""
        if self._audience.sets_status and not self._is_outdone:
            repository, status = self._repository(), self._status(state, description)
            self._posted("commit status", lambda: repository.set_status(self._sha, status))

    def first_status(self, state: State, description: str) -> None:
        """The same where the commit has none of ours."""
        if self._audience.sets_status:
            repository, status = self._repository(), self._status(state, description)
            self._posted("commit status", lambda: repository.introduce_status(self._sha, status))

    def comment(self, body: str) -> str:
        """Make this our comment on the pull request. Its address; empty where there is none."""
        pull = self._pull_request
        if pull is None:
            return ""
        repository, number = self._repository(), pull.number
        return self._posted(
            "comment", lambda: repository.publish_comment(number, body, self._marker())
        )

    def first_comment(self, body: str) -> str:
        """The same where none of ours speaks of this commit yet."""
        pull = self._pull_request
        if pull is None:
            return ""
        repository, number = self._repository(), pull.number
        return self._posted(
            "comment", lambda: repository.introduce_comment(number, body, self._marker())
        )

    def comment_if_present(self, body: str) -> str:
        """The same where there is an earlier one: a revert must not leave a red comment behind."""
        pull = self._pull_request
        if pull is None or not pull.comments:
            return ""
        repository, number = self._repository(), pull.number
        return self._posted(
            "comment", lambda: repository.rewrite_comment_if_present(number, body, self._marker())
        )

    @property
    def _pull_request(self) -> PullRequest | None:
        trigger = self._audience.event.trigger
        return trigger if isinstance(trigger, PullRequest) else None

    @property
    def _sha(self) -> str:
        return self._audience.event.head_sha

    def _status(self, state: State, description: str) -> CommitStatus:
        from skill_delta.hosts.github import CommitStatus  # noqa: PLC0415 - where it is used

        return CommitStatus(state, description, self._audience.event.run_url)

    def _marker(self) -> CommentMarker:
        return CommentMarker(self._audience.comment_id, self._sha, self._run)

    def _repository(self) -> GitHubRepository:
        return repository_of(self._audience.event, self._audience.token)

    def _posted(self, what: str, post: Callable[[], Published | NotPublished | None]) -> str:
        """The address of what is posted. A cancelled job no longer waits, and tells the rest."""
        try:
            found = post()
        except KeyboardInterrupt:
            self.refusals.append(f"the {what} may not have been written: the run was cancelled")
            return ""
        return self._noted(what, found) if found else ""

    def _noted(self, what: str, found: Published | NotPublished) -> str:
        from skill_delta.hosts.github import Published  # noqa: PLC0415 - where it is used

        if isinstance(found, Published):
            return found.url
        self._is_outdone = self._is_outdone or found.is_outdone
        self.refusals.append(f"the {what} was not written: {found.reason}")
        return ""


@dataclass(frozen=True, slots=True)
class Speaker:
    """The step's own log, summary and outputs. No secret leaves by them."""

    step: StepFiles
    host: Host
    terminal: Terminal
    redactor: Redactor

    def say(self, text: str) -> None:
        """Print text that others may have written: no line of it is taken for a command."""
        self.order(stopped(self.redactor.redact(text), secrets.token_hex(16)))

    def annotate(self, annotations: Iterable[Annotation]) -> None:
        """Put a few lines on the page of the run."""
        redacted = (annotation.redacted(self.redactor.redact) for annotation in annotations)
        self.order("".join(f"{annotation}\n" for annotation in redacted))

    def order(self, commands: str) -> None:
        """Print commands to the runner, as they are."""
        self.terminal.say(commands)

    def summarise(self, markdown: str) -> None:
        """Add to what the run's page shows of this step."""
        self.host.refusals.append(self.step.add_summary(markdown))

    def end(self, code: ExitCode, outputs: Mapping[str, str]) -> ExitCode:
        """Set the outputs and say what could not be told: the last thing that a step does."""
        passed = str(code is ExitCode.PASSED).lower()
        written = self.step.set_outputs({"passed": passed, "exit-code": str(int(code)), **outputs})
        refusals = filter(None, (*self.host.refusals, written))
        self.annotate(Annotation(Level.WARNING, "Not told", refusal) for refusal in refusals)
        return code


def annotations_of(error: UserError | ServiceError) -> Iterable[Annotation]:
    """What stopped a run, for its page."""
    if isinstance(error, ServiceError):
        return [Annotation(Level.ERROR, "Not measured", str(error))]
    return [
        Annotation(Level.ERROR, "skill-delta", f"{each.problem}\n{each.hint}".strip(), each.place)
        for each in error.each[:10]
    ]


def doubts(report: Report, code: ExitCode) -> Iterable[Annotation]:
    """A run that gave no verdict says so on the job's page, whatever the exit code makes of it."""
    verdict = report.gate.verdict
    level = Level.WARNING if code is ExitCode.PASSED else Level.ERROR
    if verdict in {Verdict.INCONCLUSIVE, Verdict.NOT_MEASURED}:
        reasons = "\n".join(reason.text for reason in report.gate.reasons)
        yield Annotation(level, verdict.value.capitalize(), reasons)


def numbers(report: Report) -> Mapping[str, str]:
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
