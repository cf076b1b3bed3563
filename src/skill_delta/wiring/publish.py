"""`publish`: what a run without write access measured is told by one that has it.

The run's record is data of a stranger, whoever made it. Which pull request it belongs to is asked
of GitHub, by the commit that GitHub says was measured, and from a fork it is not even opened: who
controls a run can make up all that it says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.hosts.events import FinishedRun, PullRequest
from skill_delta.render.commands import Annotation, Level
from skill_delta.render.escape import Markdown
from skill_delta.render.frame import Frame
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.telling import (
    FORK_HELP,
    Audience,
    Host,
    Speaker,
    annotations_of,
    connection_of,
    doubts,
    numbers,
    repository_of,
)
from skill_delta.wiring.terminal import Terminal

if TYPE_CHECKING:
    from pydantic import JsonValue

    from skill_delta.core.report import Report
    from skill_delta.ledger.reader import Record
    from skill_delta.settings.model import Settings

RECORD_BYTES = 100 * 1024 * 1024
"""No larger record is read: a thousand cases, two arms, nine repetitions of 5 kB are 90 MB."""

NOTHING_MEASURED = (
    "that run left no record: either no skill changed, or it stopped before its first trial"
)


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What the workflow asked for.

    `record` is a path below `root`, the job's workspace. `flags` are the settings that were given,
    by field name. `config` is a path on the pull request's base branch.
    """

    audience: Audience
    root: Path
    record: str
    flags: Mapping[str, JsonValue]
    config: str | None = None


def publish(request: PublishRequest, terminal: Terminal) -> ExitCode:
    """Judge another run's record anew and tell GitHub.

    Raises `UserError` for a workflow that is none to publish from, and, as `ServiceError`, where
    the pull request cannot be looked for.
    """
    _refuse_a_path_out(request.record)
    audience, run = request.audience, _run_of(request.audience)
    token = audience.token.get_secret_value() if audience.token else ""
    redactor = Redactor([token] if token else [])
    pull = _pull_request_of(audience, run)
    event = replace(audience.event, run_id=run.run_id, run_attempt=run.attempt)
    if isinstance(pull, str):
        host = Host(replace(audience, event=event), run.started_at)
        return _not_published(Speaker(audience.step, host, terminal, redactor), pull)
    # All that is written speaks of the run that measured, and competes as that run.
    about = replace(audience, event=replace(event, trigger=pull))
    speaker = Speaker(audience.step, Host(about, run.started_at), terminal, redactor)
    return _Publication(request, about, pull, speaker).tell()


def _run_of(audience: Audience) -> FinishedRun:
    run = audience.event.trigger
    if not isinstance(run, FinishedRun):
        raise UserError(
            f"publish follows another workflow's run, and this is {audience.event.name}",
            hint="run it on workflow_run, as examples/workflows/read-only-publish.yml does",
        )
    if not run.is_over:
        raise UserError(
            "the run that this one follows is not over",
            hint="add `types: [completed]` to workflow_run",
        )
    if run.event != "pull_request":
        raise UserError(
            f"the run that this one follows is of the event {run.event!r}, not of a pull request",
            hint="add `if: github.event.workflow_run.event == 'pull_request'` to the job",
        )
    return run


def _pull_request_of(audience: Audience, run: FinishedRun) -> PullRequest | str:
    """The pull request of the commit that was measured, or why there is none to speak to.

    That it is a fork's must be said by the run and by the pull request alike: a fork can bring a
    commit that another pull request has as its head.
    """
    repository = repository_of(audience.event, audience.token)
    found = repository.open_with_head(run.head_sha, run.head)
    commit = run.head_sha[:7]
    if len(found) > 1:
        listed = ", ".join(f"#{number}" for number in found)
        return f"commit {commit} is the head of several open pull requests: {listed}"
    if found:
        pull = repository.pull_request(found[0])
        if pull.head_sha == run.head_sha and pull.is_fork == run.is_fork:
            return pull
    return f"commit {commit} is the head of no open pull request: it moved on, or was closed"


def _not_published(speaker: Speaker, reason: str) -> ExitCode:
    speaker.annotate([Annotation(Level.NOTICE, "Not published", reason)])
    speaker.summarise(f"skill-delta: not published: {reason}")
    return speaker.end(ExitCode.NOT_MEASURED, {"verdict": "not measured"})


@dataclass(frozen=True, slots=True)
class _Publication:
    """What is said on one pull request."""

    request: PublishRequest
    audience: Audience
    pull: PullRequest
    speaker: Speaker

    def tell(self) -> ExitCode:
        """Summary, comment, status, outputs; then the exit code."""
        path = self.request.root / self.request.record
        if self.pull.is_fork:
            return self._unverified(is_reported=os.path.lexists(path))
        if not os.path.lexists(path):
            return self._nothing_measured()
        try:
            return self._verdict(path)
        except (UserError, ServiceError) as error:
            return self._stopped(error)

    @property
    def _run_url(self) -> str:
        return self.audience.event.run_url

    def _unverified(self, *, is_reported: bool) -> ExitCode:
        """From a fork. Where it reported nothing, there is nothing to warn of beside it."""
        from skill_delta.render.comment import UNVERIFIED, render_unverified  # noqa: PLC0415

        speaker, host = self.speaker, self.speaker.host
        frame = Frame(run_url=self._run_url)
        body = render_unverified(Markdown(FORK_HELP), self.pull.head_sha, frame=frame)
        speaker.annotate([Annotation(Level.WARNING, "Not verified", f"{UNVERIFIED}. {FORK_HELP}")])
        speaker.summarise(body)
        url = host.first_comment(body) if is_reported else ""
        host.first_status("pending", f"{UNVERIFIED}: a maintainer can measure it")
        return self._not_measured(url)

    def _nothing_measured(self) -> ExitCode:
        """No record: a comment that stands must not go on speaking of an earlier commit.

        No status either. Where no skill changed, one that waits would wait for ever.
        """
        body = self._not_measured_page(NOTHING_MEASURED)
        self.speaker.annotate([Annotation(Level.NOTICE, "Not published", NOTHING_MEASURED)])
        self.speaker.summarise(body)
        url = self.speaker.host.comment_if_present(body)
        return self._not_measured(url)

    def _verdict(self, path: Path) -> ExitCode:
        from skill_delta.ledger.reader import read_record  # noqa: PLC0415 - not for a fork
        from skill_delta.wiring.check import is_forgiven  # noqa: PLC0415
        from skill_delta.wiring.rejudged import rejudged  # noqa: PLC0415

        settings = self._settings()
        _refuse_links(self.request)
        record = read_record(path, RECORD_BYTES)
        if record is None:
            raise UserError(f"the record {path} holds no run")
        frame = Frame(base_found=self._base_found(record), run_url=self._run_url)
        report = rejudged(record, settings)
        forgiven = is_forgiven(report, settings.on_unmeasured)
        return self._judged(report, frame, ExitCode.PASSED if forgiven else report.gate.exit_code)

    def _judged(self, report: Report, frame: Frame, code: ExitCode) -> ExitCode:
        from skill_delta.render.comment import render_comment, render_summary  # noqa: PLC0415
        from skill_delta.render.status import render_status  # noqa: PLC0415
        from skill_delta.render.terminal import render_terminal  # noqa: PLC0415

        speaker, redact = self.speaker, self.speaker.redactor.redact
        speaker.say(render_terminal(report))
        speaker.summarise(redact(render_summary(report, frame=frame, redact=redact)))
        speaker.annotate(doubts(report, code))
        url = speaker.host.comment(redact(render_comment(report, frame=frame, redact=redact)))
        passed = code is ExitCode.PASSED
        speaker.host.status("success" if passed else "failure", redact(render_status(report)))
        return speaker.end(code, {**numbers(report), "comment-url": url})

    def _settings(self) -> Settings:
        """By the config that the base branch has: neither side of the pull request's."""
        from skill_delta.hosts.github_files import BranchFiles  # noqa: PLC0415 - not for a fork
        from skill_delta.settings.commands import PUBLISH  # noqa: PLC0415
        from skill_delta.settings.reading import settle  # noqa: PLC0415
        from skill_delta.wiring.pull_request import config_at_base  # noqa: PLC0415

        event = self.audience.event
        connection = connection_of(event, self.audience.token)
        files = BranchFiles(connection, event.repository, self.pull.base_ref)
        config = config_at_base(files, self.request.config)
        return settle(self.request.flags, config, PUBLISH)

    def _base_found(self, record: Record) -> str:
        """Which commit the base is, in words. Raises `UserError` for a record of another head.

        A job measures the head itself, or the merge commit that GitHub makes of it.
        """
        base, head, wanted = record.run.base, record.run.head, self.pull.head_sha
        if record.run.is_working_copy or not _is_commit(base) or not _is_commit(head):
            raise UserError("the record is of no commit: it was not made by the action")
        if head == wanted:
            return "as the measuring run says"
        repository = repository_of(self.audience.event, self.audience.token)
        if list(repository.parents(str(head))) != [base, wanted]:
            raise UserError(
                f"the record is of another commit: it measured {str(head)[:7]}, which is neither "
                f"{wanted[:7]} nor its merge into {str(base)[:7]}",
                hint="publish the artifact of the run that this one follows, by its `run-id`",
            )
        return "the first parent of the merge commit that GitHub made"

    def _stopped(self, error: UserError | ServiceError) -> ExitCode:
        # Whoever reads the comment knows the path in the workflow, and not that of the machine.
        reason = self.speaker.redactor.redact(str(error).replace(f"{self.request.root}/", ""))
        body = self._not_measured_page(reason)
        self.speaker.say(f"not measured: {reason}")
        self.speaker.annotate(
            each.redacted(lambda text: text.replace(f"{self.request.root}/", ""))
            for each in annotations_of(error)
        )
        self.speaker.summarise(body)
        url = self.speaker.host.comment(body)
        self.speaker.host.status("error", f"not measured: {reason.splitlines()[0]}")
        is_ours = isinstance(error, UserError)
        return self._not_measured(url, ExitCode.USER_ERROR if is_ours else ExitCode.NOT_MEASURED)

    def _not_measured_page(self, reason: str) -> str:
        from skill_delta.render.comment import render_not_measured  # noqa: PLC0415

        frame = Frame(run_url=self._run_url)
        return render_not_measured(reason, "", head=self.pull.head_sha, frame=frame)

    def _not_measured(self, url: str, code: ExitCode = ExitCode.NOT_MEASURED) -> ExitCode:
        return self.speaker.end(code, {"verdict": "not measured", "comment-url": url})


def _is_commit(text: str | None) -> bool:
    return text is not None and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def _refuse_a_path_out(record: str) -> None:
    name = PurePosixPath(record)
    if name.is_absolute() or not name.parts or ".." in name.parts:
        raise UserError(
            f"publish names '{record}', which is no path in the workspace",
            hint="name the record that was downloaded, such as measured/record.jsonl",
        )


def _refuse_links(request: PublishRequest) -> None:
    """An artifact may hold links, also in the place of a folder."""
    path = request.root
    for part in PurePosixPath(request.record).parts:
        path /= part
        if path.is_symlink():
            raise UserError(f"the record {path} is a link, and is not followed")
