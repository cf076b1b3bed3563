"""A repository on GitHub: its pull requests, our one comment on each, our status of a commit.

Posting never decides the verdict, so nothing that publishes raises because of GitHub: what could
not be published is a `NotPublished` with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter, ValidationError

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
    """It is not, for this reason: one line, which may quote GitHub.

    `is_outdone` where a newer run of the same commit has the last word, whatever this one found.
    """

    reason: str
    is_outdone: bool = False


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


class _HasSha(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    sha: str


class _Commit(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    parents: list[_HasSha]


class _ListedPullRequest(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    number: int
    state: str
    head: _HasSha


_STATUS = TypeAdapter(_Status)
_STATUSES = TypeAdapter(list[_Status])
_COMMIT = TypeAdapter(_Commit)
_LISTED = TypeAdapter(list[_ListedPullRequest])


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
        return reading(
            self.connection,
            lambda api: self._pull_request(api, number),
            f"pull request {number} of {self.name}",
            "check the number, and that the job has `permissions: pull-requests: write`",
        )

    def open_with_head(self, sha: str, head: str) -> Sequence[int]:
        """The numbers of the open pull requests whose head is this commit, in order.

        GitHub does not always know a fork's commit by the pull request that brought it; then those
        from the branch `head` (`owner:branch`, or empty) are looked at. Raises as `pull_request`.
        """

        def look(api: Api) -> Sequence[int]:
            of_commit = api.read(f"/repos/{self.name}/commits/{sha}/pulls", per_page=100).content
            found = _with_head(of_commit, sha)
            if not found and head:
                path = f"/repos/{self.name}/pulls"
                from_branch = api.read(path, state="open", head=head, per_page=100).content
                found = _with_head(from_branch, sha)
            return sorted(found)

        return reading(
            self.connection,
            look,
            f"the pull request of commit {sha[:7]}",
            "give the job `permissions: contents: read` and `pull-requests: write`",
        )

    def parents(self, sha: str) -> Sequence[str]:
        """The ids of a commit's parents, in order. Raises as `pull_request`."""

        def look(api: Api) -> Sequence[str]:
            content = api.read(f"/repos/{self.name}/git/commits/{sha}").content
            return [parent.sha for parent in read_reply(_COMMIT, content).parents]

        return reading(
            self.connection,
            look,
            f"commit {sha[:7]} of {self.name}",
            "give the job `permissions: contents: read`",
        )

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
            return self._written(api, conversation, own, body, marker)

        return self._published(publish, "pull-requests: write")

    def introduce_comment(
        self, number: int, body: str, marker: CommentMarker
    ) -> Published | NotPublished:
        """As `publish_comment`; but one of ours that speaks of the marker's commit stands.

        So what nobody verified never takes the place of what somebody did.
        """

        def introduce(api: Api) -> Published | NotPublished:
            conversation = Conversation(api, self.name, number)
            own = conversation.own(marker.comment_id)
            for comment in own:
                if comment.marker.head_sha == marker.head_sha:
                    return Published(comment.url)
            return self._written(api, conversation, own, body, marker)

        return self._published(introduce, "pull-requests: write")

    def rewrite_comment_if_present(
        self, number: int, body: str, marker: CommentMarker
    ) -> Published | NotPublished | None:
        """As `publish_comment`, where there is an earlier comment of ours; None where not."""

        def rewrite(api: Api) -> Published | NotPublished | None:
            conversation = Conversation(api, self.name, number)
            own = conversation.own(marker.comment_id)
            return self._written(api, conversation, own, body, marker) if own else None

        return self._published(rewrite, "pull-requests: write")

    def set_status(self, sha: str, status: CommitStatus) -> Published | NotPublished:
        """Set our status of a commit, unless it is what the commit has already."""

        def set_anew(api: Api) -> Published:
            ours = self._our_status(api, sha)
            if ours is None or not ours.says(status):
                ours = self._new_status(api, sha, status)
            return Published(ours.url)

        return self._published(set_anew, "statuses: write")

    def introduce_status(self, sha: str, status: CommitStatus) -> Published | NotPublished:
        """The same where the commit has none of ours; one that it has stands, whatever it says."""

        def introduce(api: Api) -> Published:
            ours = self._our_status(api, sha) or self._new_status(api, sha, status)
            return Published(ours.url)

        return self._published(introduce, "statuses: write")

    def _our_status(self, api: Api, sha: str) -> _Status | None:
        path = f"/repos/{self.name}/commits/{sha}/statuses"
        newest_first = read_reply(_STATUSES, api.read(path, per_page=100).content)
        return next((s for s in newest_first if s.context == STATUS_CONTEXT), None)

    def _new_status(self, api: Api, sha: str, status: CommitStatus) -> _Status:
        body = {
            "state": status.state,
            "description": cut(status.description),
            "context": STATUS_CONTEXT,
            **({"target_url": status.target_url} if status.target_url else {}),
        }
        return read_reply(_STATUS, api.write("POST", f"/repos/{self.name}/statuses/{sha}", body))

    def _pull_request(self, api: Api, number: int) -> PullRequest:
        content = api.read(f"/repos/{self.name}/pulls/{number}").content
        try:
            return read_pull_request(content)
        except ValidationError:
            raise LostAnswerError(UNKNOWN_ANSWER) from None

    def _written(
        self,
        api: Api,
        conversation: Conversation,
        own: Sequence[OwnComment],
        body: str,
        marker: CommentMarker,
    ) -> Published | NotPublished:
        """The comment, in place of `own`, where it still may be written."""
        if stopped := self._overtaken(api, conversation.number, own, marker):
            return stopped
        if not own:
            url = conversation.create(marker.above(body))
            return _looked_back_at(conversation, marker, url)
        return _replaced(conversation, own, marker.above(body))

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
    """Whether a newer run of this commit has commented. One of another commit is not asked.

    Its clock may have been wrong, and which commit counts is GitHub's to say.
    """
    for comment in own:
        newer = comment.marker.run
        if comment.marker.head_sha == marker.head_sha and marker.run.is_older_than(newer):
            return NotPublished(
                f"a newer run ({newer.run_id}, attempt {newer.attempt}) has commented already",
                is_outdone=True,
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


def reading(connection: Connection, step: Callable[[Api], T], what: str, hint: str) -> T:
    """What a step reads, where nothing goes on without it.

    Raises `UserError` where GitHub refuses, `ServiceError` where it gives no answer.
    """
    try:
        return connection.settled(step)
    except RefusalError as refused:
        raise UserError(f"{what} cannot be read: {refused}", hint=hint) from None
    except GitHubError as error:
        raise ServiceError(f"GitHub gave out on {what}: {error}") from None


def _with_head(content: JsonValue, sha: str) -> Sequence[int]:
    listed = read_reply(_LISTED, content)
    return [pull.number for pull in listed if pull.state == "open" and pull.head.sha == sha]


def _replaced(conversation: Conversation, own: Sequence[OwnComment], text: str) -> Published:
    url = conversation.update(own[0], text)
    conversation.collapse(own[1:])
    return Published(url)


def cut(description: str) -> str:
    """One line that GitHub takes as a description."""
    line = " ".join(description.split())
    fits = len(line) <= DESCRIPTION_CHARACTERS
    return line if fits else f"{line[: DESCRIPTION_CHARACTERS - 1]}…"
