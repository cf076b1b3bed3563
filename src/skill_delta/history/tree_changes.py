"""The files that differ between two trees: what `git diff-tree -r --no-renames` says."""

from __future__ import annotations

from typing import NamedTuple

from skill_delta.errors import UserError
from skill_delta.history.repository import Entry, Repository

REPORT_FOLDER = b".skill-delta"
"""Where runs leave their reports, at the repository's root. It is no part of what changed."""

_MOST_PATHS = 250_000
_LONGEST_PATH = 4096
"""In bytes."""


class FileChange(NamedTuple):
    """A file, link or submodule that differs; None stands for its absence.

    `path` is from the root, as the repository spells it.
    """

    path: bytes
    before: Entry | None
    after: Entry | None


class NotComparable(UserError):  # noqa: N818 - it is one
    """Two trees that are not looked at: more differs than is sensible, or in a way nothing can be.

    A tree that repeats itself is small, and has no end.
    """


def tree_changes(
    repository: Repository, before: bytes | None, after: bytes | None
) -> tuple[FileChange, ...]:
    """Compare two trees, in the order of the paths. None is the empty tree.

    Only folders that differ are read. Raises `Unreadable`, and `NotComparable` past 250,000 paths
    (folders included) and for a path that no system could check out.
    """
    changes: list[FileChange] = []
    pending = [(b"", before, after)]
    seen = 0
    while pending:
        folder, *trees = pending.pop()
        old, new = (repository.folder(tree) if tree else {} for tree in trees)
        for name in {name for name, _ in old.items() ^ new.items()}:
            path = folder + name
            if path == REPORT_FOLDER:
                continue
            was, now = old.get(name), new.get(name)
            below = _tree(was), _tree(now)
            seen += 1
            _refuse(path, name, seen)
            if below != (None, None):
                pending.append((path + b"/", *below))
            file = FileChange(path, _file(was), _file(now))
            if file.before or file.after:
                changes.append(file)
    return tuple(sorted(changes, key=lambda change: change.path))


def _refuse(path: bytes, name: bytes, seen: int) -> None:
    if seen > _MOST_PATHS:
        raise NotComparable(
            f"more than {_MOST_PATHS:,} paths differ between the two commits",
            hint="compare commits that lie nearer to each other",
        )
    if name in {b".", b".."} or b"/" in name or len(path) > _LONGEST_PATH:
        shown = path[:200].decode("utf-8", "backslashreplace")
        raise NotComparable(
            f"the path {shown!r} differs, which no system could check out",
            hint="a damaged or hostile commit: `git fsck` says more",
        )


def _tree(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.is_tree else None


def _file(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.is_tree else entry
