"""Which files one commit moved, byte for byte: what `git diff-tree --find-renames=100%` says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from skill_delta.history.repository import Entry, Repository, Unreadable
from skill_delta.history.tree_changes import NotComparable, tree_changes

_ALTERNATIVES = 100
"""How many deleted files of the same content git looks at for one added file."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that a commit added and deleted, by path. Edited ones are neither."""

    added: Mapping[bytes, Entry]
    deleted: Mapping[bytes, Entry]


def file_changes(repository: Repository, before: bytes, after: bytes) -> FileChanges:
    """Compare two trees file by file, links and submodules included.

    Raises `Unreadable`, also where more differs than is sensible to look at.
    """
    try:
        changes = tree_changes(repository, before, after)
    except NotComparable as error:
        raise Unreadable(error.problem) from None
    return FileChanges(
        added={one.path: one.after for one in changes if one.after and not one.before},
        deleted={one.path: one.before for one in changes if one.before and not one.after},
    )


def exact_moves(changes: FileChanges) -> Mapping[bytes, bytes]:
    """The old path of each file that was moved unchanged, by its new path.

    A copy has no deleted source and a move that also edited no equal one, so neither is here.
    Of several deleted files with the same content the choice is git's own: in the order of
    paths each added file takes, among those not yet taken, the first with its own file name,
    else the first.
    """
    paths: dict[tuple[bytes, int], list[bytes]] = defaultdict(list)
    for path, entry in sorted(changes.deleted.items()):
        paths[_content(entry)].append(path)
    sources = {content: _Sources(iter(found)) for content, found in paths.items()}
    moves: dict[bytes, bytes] = {}
    for target, entry in sorted(changes.added.items()):
        left = sources.get(_content(entry))
        if left is not None and (source := left.take(_name(target))) is not None:
            moves[target] = source
    return moves


@dataclass(slots=True)
class _Sources:
    """The deleted files of one content that no added file took yet.

    Only the nearest are looked at, so that thousands of empty files cost no more than they should.
    """

    beyond: Iterator[bytes]
    nearest: list[bytes] = field(default_factory=list)

    def take(self, name: bytes) -> bytes | None:
        """The first of the nearest with this file name, else the first; None where none is left."""
        self.nearest += islice(self.beyond, _ALTERNATIVES - len(self.nearest))
        if not self.nearest:
            return None
        same = (index for index, path in enumerate(self.nearest) if _name(path) == name)
        return self.nearest.pop(next(same, 0))


def _content(entry: Entry) -> tuple[bytes, int]:
    """What two entries have in common where one may be the other, moved."""
    return entry.oid, 0o100000 if entry.is_file else entry.mode


def _name(path: bytes) -> bytes:
    return path.rsplit(b"/", 1)[-1]
