"""Which files one commit moved, byte for byte: what `git diff-tree --find-renames=100%` says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from skill_delta.history.repository import Entry, Repository

_ALTERNATIVES = 100
"""How many deleted files of the same content git looks at for one added file."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The files that a commit added and deleted, by path. Edited ones are neither."""

    added: Mapping[bytes, Entry]
    deleted: Mapping[bytes, Entry]


def file_changes(repository: Repository, before: bytes, after: bytes) -> FileChanges:
    """Compare two trees file by file, links and submodules included. Raises `Unreadable`."""
    added: dict[bytes, Entry] = {}
    deleted: dict[bytes, Entry] = {}
    pending: list[tuple[bytes, bytes | None, bytes | None]] = [(b"", before, after)]
    while pending:
        folder, old_tree, new_tree = pending.pop()
        old = dict(repository.entries(old_tree)) if old_tree else {}
        new = dict(repository.entries(new_tree)) if new_tree else {}
        for name in {name for name, _ in old.items() ^ new.items()}:
            path = folder + name
            trees = _tree(old.get(name)), _tree(new.get(name))
            if trees != (None, None):
                pending.append((path + b"/", *trees))
            was, now = _file(old.get(name)), _file(new.get(name))
            if was and not now:
                deleted[path] = was
            if now and not was:
                added[path] = now
    return FileChanges(added, deleted)


def _tree(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.is_tree else None


def _file(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.is_tree else entry


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
