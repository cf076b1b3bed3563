"""Our own comments on a pull request: found, told from all others, written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter

from skill_delta.hosts.comment_marker import CommentMarker
from skill_delta.hosts.github_api import (
    UNKNOWN_ANSWER,
    Api,
    GitHubError,
    LostAnswerError,
    RefusalError,
    read_reply,
)

_PER_PAGE = 100
_PAGES = 100
"""GitHub closes a conversation long before that: past it, the pages lead in a circle."""

_COLLAPSED_AT_ONCE = 10
"""More duplicates than this are left to the next run."""

_JOB_LOGIN = "github-actions[bot]"
"""Whom the token of a workflow's job acts as."""

_NODES_AT_ONCE = 100
_STANDING = """
query($ids: [ID!]!) {
  nodes(ids: $ids) { ... on IssueComment { viewerDidAuthor isMinimized } }
}
"""


class _Reply(BaseModel):
    """A part of an answer. Fields that we do not read are left alone."""

    model_config = ConfigDict(frozen=True, strict=True)


class _Account(_Reply):
    login: str
    type: str = "User"


class _Comment(_Reply):
    id: int
    node_id: str
    html_url: str
    body: str | None = None
    user: _Account | None = None
    minimized: JsonValue = None
    """Why it is hidden; only the newest versions of the API say."""


class _Standing(_Reply):
    viewerDidAuthor: bool  # noqa: N815 - GraphQL's name
    isMinimized: bool  # noqa: N815 - GraphQL's name


class _Nodes(_Reply):
    nodes: list[_Standing | None]


_ACCOUNT = TypeAdapter(_Account)
_COMMENT = TypeAdapter(_Comment)
_COMMENTS = TypeAdapter(list[_Comment])
_NODES = TypeAdapter(_Nodes)


@dataclass(frozen=True, slots=True)
class OwnComment:
    """A comment of ours that still stands."""

    id: int
    url: str
    body: str
    marker: CommentMarker


@dataclass(frozen=True, slots=True)
class Conversation:
    """The comments on one pull request."""

    api: Api
    repository: str
    number: int

    def own(self, comment_id: str) -> Sequence[OwnComment]:
        """Ours under this `comment-id`, the oldest first. Raises a `GitHubError`."""
        marked = [
            (comment, marker)
            for comment in self._comments()
            if (marker := CommentMarker.of(comment.body or "")) and marker.comment_id == comment_id
        ]
        ours = self._ours([comment for comment, _ in marked]) if marked else frozenset()
        return sorted(
            (
                OwnComment(comment.id, comment.html_url, comment.body or "", marker)
                for comment, marker in marked
                if comment.id in ours
            ),
            key=lambda own: own.id,
        )

    def create(self, text: str) -> str:
        """A new comment's address. Raises a `GitHubError`."""
        path = f"/repos/{self.repository}/issues/{self.number}/comments"
        return _written(self.api.write("POST", path, {"body": text}))

    def update(self, comment: OwnComment, text: str) -> str:
        """The comment's address, with this text in it. Raises a `GitHubError`."""
        if _as_kept(comment.body) == _as_kept(text):
            return comment.url
        return _written(self.api.write("PATCH", self._path(comment), {"body": text}))

    def collapse(self, duplicates: Sequence[OwnComment]) -> None:
        """Delete them, as far as GitHub lets us: one too many is untidy, not wrong."""
        with suppress(GitHubError):
            for comment in duplicates[:_COLLAPSED_AT_ONCE]:
                self.api.write("DELETE", self._path(comment))

    def _path(self, comment: OwnComment) -> str:
        return f"/repos/{self.repository}/issues/comments/{comment.id}"

    def _comments(self) -> Iterator[_Comment]:
        path = f"/repos/{self.repository}/issues/{self.number}/comments"
        for page in range(1, _PAGES + 1):
            answer = self.api.read(path, per_page=_PER_PAGE, page=page)
            yield from read_reply(_COMMENTS, answer.content)
            if not answer.has_next_page:
                return
        raise RefusalError(f"there are more than {_PAGES * _PER_PAGE:,} comments")

    def _ours(self, marked: Sequence[_Comment]) -> frozenset[int]:
        """Those that we wrote and that nobody has minimised."""
        try:
            standing = [*self._standing(marked)]
        except RefusalError:
            return self._ours_by_login(marked)
        # By place: the two APIs may write the id of one comment in different ways.
        return frozenset(
            comment.id
            for comment, node in zip(marked, standing, strict=True)
            if node is not None and node.viewerDidAuthor and not node.isMinimized
        )

    def _standing(self, marked: Sequence[_Comment]) -> Iterator[_Standing | None]:
        for start in range(0, len(marked), _NODES_AT_ONCE):
            ids: list[JsonValue] = [c.node_id for c in marked[start : start + _NODES_AT_ONCE]]
            nodes = read_reply(_NODES, self.api.query(_STANDING, {"ids": ids})).nodes
            if len(nodes) != len(ids):
                raise LostAnswerError(UNKNOWN_ANSWER)
            yield from nodes

    def _ours_by_login(self, marked: Sequence[_Comment]) -> frozenset[int]:
        """The same where GraphQL refuses.

        REST knows whose token it is, unless that is an installation's (403): a job's acts as
        `github-actions[bot]`. Where the only marked comments are another bot's, that bot may be
        us, under the token of an app, and to guess would overwrite a comment or double it.
        """
        login = self._login()
        by_bots = [c for c in marked if c.user is not None and c.user.type == "Bot"]
        standing = [c for c in marked if c.user is not None and c.user.login == login]
        if by_bots and not standing and login == _JOB_LOGIN:
            raise RefusalError("GraphQL refuses to say whether an earlier comment is ours")
        return frozenset(comment.id for comment in standing if comment.minimized is None)

    def _login(self) -> str:
        try:
            return read_reply(_ACCOUNT, self.api.read("/user").content).login
        except RefusalError:
            return _JOB_LOGIN


def _as_kept(text: str) -> str:
    """GitHub may keep other line breaks than it was sent, and nothing at the end."""
    return text.replace("\r\n", "\n").rstrip()


def _written(content: JsonValue) -> str:
    return read_reply(_COMMENT, content).html_url
