"""The hidden first line by which our own comment is found again, and told old from new."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from skill_delta.errors import UserError

MARKER_CHARACTERS = 256
"""No marker, its line break included, is longer: what a comment's budget sets aside for it."""

_COMMENT_ID = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?"
_SHA = r"[0-9a-f]{64}|[0-9a-f]{40}"

_MARKER = re.compile(
    rf"<!-- skill-delta:v1 id=(?P<id>{_COMMENT_ID}) run=(?P<run>[0-9]{{1,19}})"
    r" attempt=(?P<attempt>[0-9]{1,9})"
    r" started=(?P<started>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})Z"
    rf" head=(?P<head>{_SHA}) -->(?=\r?\n|\Z)"
)


def checked_comment_id(text: str) -> str:
    """The input `comment-id`, which tells the comments of several jobs apart.

    Raises `UserError` for anything but 1 to 64 letters, digits, dots, dashes and underscores.
    """
    if re.fullmatch(_COMMENT_ID, text):
        return text
    raise UserError(
        f"comment-id {text[:80]!r} cannot be written into a comment",
        hint="use 1 to 64 letters, digits, '.', '-' or '_', with a letter or digit at both ends",
    )


@dataclass(frozen=True, slots=True)
class RunIdentity:
    """One attempt of one workflow run, and when that attempt began (to the second)."""

    run_id: int
    attempt: int
    started_at: datetime
    """With a time zone."""

    def is_older_than(self, other: RunIdentity) -> bool:
        """Whether the other run has the last word: attempts of one run count, else the clock."""
        if self.run_id == other.run_id:
            return self.attempt < other.attempt
        return self._order < other._order

    @property
    def _order(self) -> tuple[datetime, int]:
        return self.started_at.astimezone(UTC).replace(microsecond=0), self.run_id


@dataclass(frozen=True, slots=True)
class CommentMarker:
    """Which comment this is, which commit it speaks of, and which run wrote it."""

    comment_id: str
    head_sha: str
    run: RunIdentity

    def __post_init__(self) -> None:
        # One that cannot be read again would be followed by another comment on every push.
        if not _MARKER.fullmatch(str(self)):
            raise ValueError(f"a marker cannot hold {self.comment_id!r} and {self.head_sha!r}")

    def __str__(self) -> str:
        started = self.run.started_at.astimezone(UTC).replace(tzinfo=None).isoformat("T", "seconds")
        return (
            f"<!-- skill-delta:v1 id={self.comment_id} run={self.run.run_id}"
            f" attempt={self.run.attempt} started={started}Z head={self.head_sha} -->"
        )

    def above(self, body: str) -> str:
        """The comment as it is posted."""
        return f"{self}\n{body}"

    @classmethod
    def of(cls, comment: str) -> Self | None:
        """The marker that a comment begins with; None where it begins with anything else.

        Only the very start counts: a marker further down was quoted, or forged.
        """
        found = _MARKER.match(comment)
        if found is None:
            return None
        try:
            started = datetime.fromisoformat(found["started"]).replace(tzinfo=UTC)
        except ValueError:
            return None
        run = RunIdentity(int(found["run"]), int(found["attempt"]), started)
        return cls(found["id"], found["head"], run)
