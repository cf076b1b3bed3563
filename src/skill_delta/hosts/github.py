"""A repository on GitHub: its pull requests, our one comment on each, our status of a commit.

Posting never decides the verdict, so nothing that publishes raises because of GitHub: what could
not be published is a `NotPublished` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from skill_delta.errors import ServiceError, UserError
from skill_delta.hosts.comment_marker import CommentMarker
from skill_delta.hosts.events import PullRequest, read_pull_request
from skill_delta.hosts.github_api import (
    UNKNOWN_ANSWER,
    Api,
    Connection,
    GitHubError,
    LimitError,
    LostAnswerError,
    RefusalError,
    read_reply,
)
from skill_delta.hosts.github_comments import Conversation, OwnComment

STATUS_CONTEXT = "skill-delta"
"""Branch protection is told this name, so it never changes."""

DESCRIPTION_CHARACTERS = 140
"""What GitHub takes as a status's description; a longer one is cut."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Published:
    """It is on GitHub, at this address."""

    url: str


@dataclass(frozen=True, slots=True)
class NotPublished:
    """It is not, for this reason: one line, which may quote GitHub."""

    reason: str


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """What is said of a commit beside its name."""

    state: Literal["pending", "success", "failure", "error"]
    description: str
    target_url: str = ""
    """The page with the details; empty for none."""


class _Status(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    url: str
    state: str
    context: str
    description: str | None
    target_url: str | None

    def says(self, status: CommitStatus) -> bool:
        return (self.state, self.description or "", self.target_url or "") == (
            status.state,
            cut(status.description),
            status.target_url,
        )


_STATUS = TypeAdapter(_Status)
_STATUSES = TypeAdapter(list[_Status])


@dataclass(frozen=True, slots=True)
class GitHubRepository:
    """One repository, as the holder of one token sees it."""

    name: str
    """`owner/name`."""
    connection: Connection

    def pull_request(self, number: int) -> PullRequest:
        """A pull request as it is now.

        Raises `UserError` where GitHub refuses, `ServiceError` where it gives no answer.
        """
        try:
            return self.connection.settled(lambda api: self._pull_request(api, number))
        except RefusalError as refused:
            raise UserError(
                f"pull request {number} of {self.name} cannot be read: {refused}",
                hint="check the number, and that the job has `permissions: pull-requests: write`",
            ) from None
        except GitHubError as error:
            raise ServiceError(f"GitHub gave out on pull request {number}: {error}") from None

    def publish_comment(
        self, number: int, body: str, marker: CommentMarker
    ) -> Published | NotPublished:
        """Make this our one comment on a pull request: in place of the earlier one, if any.

        `body` is what people read; the marker is put above it (`MARKER_CHARACTERS` more). Nothing
        is written once the pull request has another head than the marker's, or where a newer run
        has the last word. A write of unknown outcome is never repeated before the comments were
        read again, so that there is one comment however often GitHub fails; and a new one is
        looked back at, as another run may have written one at the same moment.
        """

        def publish(api: Api) -> Published | NotPublished:
            conversation = Conversation(api, self.name, number)
            own = conversation.own(marker.comment_id)
            if stopped := self._overtaken(api, number, own, marker):
                return stopped
            if not own:
                url = conversation.create(marker.above(body))
                return _looked_back_at(conversation, marker, url)
            return _replaced(conversation, own, marker.above(body))

        return self._published(publish, "pull-requests: write")

    def rewrite_comment_if_present(
        self, number: int, body: str, marker: CommentMarker
    ) -> Published | NotPublished | None:
        """As `publish_comment`, where there is an earlier comment of ours; None where not."""

        def rewrite(api: Api) -> Published | NotPublished | None:
            conversation = Conversation(api, self.name, number)
            own = conversation.own(marker.comment_id)
            if not own:
                return None
            if stopped := self._overtaken(api, number, own, marker):
                return stopped
            return _replaced(conversation, own, marker.above(body))

        return self._published(rewrite, "pull-requests: write")

    def set_status(self, sha: str, status: CommitStatus) -> Published | NotPublished:
        """Set our status of a commit, unless it is what the commit has already."""

        def set_anew(api: Api) -> Published:
            path = f"/repos/{self.name}/commits/{sha}/statuses"
            newest_first = read_reply(_STATUSES, api.read(path, per_page=100).content)
            ours = next((s for s in newest_first if s.context == STATUS_CONTEXT), None)
            if ours is None or not ours.says(status):
                body = {
                    "state": status.state,
                    "description": cut(status.description),
                    "context": STATUS_CONTEXT,
                    **({"target_url": status.target_url} if status.target_url else {}),
                }
                written = api.write("POST", f"/repos/{self.name}/statuses/{sha}", body)
                ours = read_reply(_STATUS, written)
            return Published(ours.url)

        return self._published(set_anew, "statuses: write")

    def _pull_request(self, api: Api, number: int) -> PullRequest:
        content = api.read(f"/repos/{self.name}/pulls/{number}").content
        try:
            return read_pull_request(content)
        except ValidationError:
            raise LostAnswerError(UNKNOWN_ANSWER) from None

    def _overtaken(
        self, api: Api, number: int, own: Sequence[OwnComment], marker: CommentMarker
    ) -> NotPublished | None:
        if stopped := _outdone(own, marker):
            return stopped
        # The last thing that is read before the write, so that little can happen in between.
        head = self._pull_request(api, number).head_sha
        if head != marker.head_sha:
            return NotPublished(
                f"the pull request has moved on: commit {marker.head_sha[:7]} was measured, and"
                f" its head is {head[:7]}"
            )
        return None

    def _published(self, step: Callable[[Api], T], permission: str) -> T | NotPublished:
        try:
            return self.connection.settled(step)
        except RefusalError as refused:
            help_ = f": give the job `permissions: {permission}`" if refused.status == 403 else ""
            return NotPublished(f"{refused}{help_}")
        except LimitError as limited:
            return NotPublished(f"{limited}, which is longer than this run waits")
        except GitHubError as error:
            return NotPublished(f"{error}, several times")


def _outdone(own: Sequence[OwnComment], marker: CommentMarker) -> NotPublished | None:
    for comment in own:
        newer = comment.marker.run
        if marker.run.is_older_than(newer):
            return NotPublished(
                f"a newer run ({newer.run_id}, attempt {newer.attempt}) has commented already"
            )
    return None


def _looked_back_at(
    conversation: Conversation, marker: CommentMarker, url: str
) -> Published | NotPublished:
    """What became of our new comment: of several runs that found none, the newest one's stays.

    Each looks after it has written, so the last to write sees all of them.
    """
    with suppress(GitHubError):  # it is written: that is not to be lost any more
        own = conversation.own(marker.comment_id)
        outdone = _outdone(own, marker)
        # A newer run may have written into ours, which is then no longer ours to delete.
        conversation.collapse(
            [
                comment
                for comment in own
                if (comment.url == url) == bool(outdone)
                and not marker.run.is_older_than(comment.marker.run)
            ]
        )
        return outdone or Published(url)
    return Published(url)


def _replaced(conversation: Conversation, own: Sequence[OwnComment], text: str) -> Published:
    url = conversation.update(own[0], text)
    conversation.collapse(own[1:])
    return Published(url)


def cut(description: str) -> str:
    """One line that GitHub takes as a description."""
    line = " ".join(description.split())
    fits = len(line) <= DESCRIPTION_CHARACTERS
    return line if fits else f"{line[: DESCRIPTION_CHARACTERS - 1]}…"
