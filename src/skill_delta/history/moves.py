"""Which files one commit moved, byte for byte: what `git diff-tree --find-renames=100%` says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

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
    sources: dict[bytes, list[bytes]] = defaultdict(list)
    for path, entry in sorted(changes.deleted.items()):
        sources[entry.oid].append(path)
    moves: dict[bytes, bytes] = {}
    for target, entry in sorted(changes.added.items()):
        left = sources.get(entry.oid, [])
        fitting = [path for path in left if _same_kind(changes.deleted[path], entry)]
        if fitting:
            source = _choice(fitting[:_ALTERNATIVES], _name(target))
            left.remove(source)
            moves[target] = source
    return moves


def _choice(sources: list[bytes], name: bytes) -> bytes:
    return next((path for path in sources if _name(path) == name), sources[0])


def _same_kind(one: Entry, other: Entry) -> bool:
    return (one.is_file and other.is_file) or one.mode == other.mode


def _name(path: bytes) -> bytes:
    return path.rsplit(b"/", 1)[-1]
