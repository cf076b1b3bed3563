"""Where a file came from in the commit that created it, and what to tell where it ends there."""

from __future__ import annotations

from collections.abc import Mapping

from skill_delta.history.moves import FileChanges, exact_moves, file_changes
from skill_delta.history.repository import Repository
from skill_delta.history.versions import short, shown

_COPY_SEARCH = 50_000
"""How many folders are looked at in one run to say where files were copied from."""


class Origins:
    """What single commits did to files, each looked at once however many skills ask."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._changes_of: dict[bytes, FileChanges] = {}
        self._moves_of: dict[bytes, Mapping[bytes, bytes]] = {}
        self._copies = _Copies(repository)

    def only_parent(self, commit: bytes) -> bytes | None:
        """The parent of a commit that is no merge; None also for a first commit."""
        parents = self._repository.commit(commit).parents
        return parents[0] if len(parents) == 1 else None

    def creates(self, commit: bytes, path: bytes) -> bool:
        """Whether a commit has a file at the path and none of its parents has."""
        parents = self._repository.commit(commit).parents
        return self._has_file(commit, path) and not any(self._has_file(p, path) for p in parents)

    def moves(self, commit: bytes) -> Mapping[bytes, bytes]:
        """What `exact_moves` says of a commit with one parent."""
        if commit not in self._moves_of:
            self._moves_of[commit] = exact_moves(self._changes(commit))
        return self._moves_of[commit]

    def ending(self, commit: bytes, path: bytes) -> str:
        """Why a file's history is not followed beyond the last commit that touched it."""
        if commit in self._repository.shallow:
            return (
                f"this clone is shallow and ends at commit {short(commit)} "
                "(`fetch-depth: 0` on actions/checkout, or `git fetch --unshallow`)"
            )
        begins = f"its history begins at commit {short(commit)}"
        parent = self.only_parent(commit)
        if parent is None or not self.creates(commit, path):
            return begins
        entry = self._repository.entry(self._repository.commit(commit).tree, path)
        before = self._repository.commit(parent).tree
        if entry and (source := self._copies.find(before, entry.oid)) is not None:
            return f"{begins}, which copied it from {shown(source)}: a copy is never followed"
        for source in sorted(self._changes(commit).deleted):
            if _name(source) == _name(path):
                return (
                    f"{begins}, which deleted {shown(source)}: "
                    "a move is followed only where the same commit did not edit the file"
                )
        return begins

    def _has_file(self, commit: bytes, path: bytes) -> bool:
        entry = self._repository.entry(self._repository.commit(commit).tree, path)
        return entry is not None and not entry.is_tree

    def _changes(self, commit: bytes) -> FileChanges:
        if commit not in self._changes_of:
            after = self._repository.commit(commit)
            before = self._repository.commit(after.parents[0])
            self._changes_of[commit] = file_changes(self._repository, before.tree, after.tree)
        return self._changes_of[commit]


class _Copies:
    """Finds files by their content. Trees are remembered: most commits share nearly all of them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._left = _COPY_SEARCH
        self._files: dict[bytes, dict[bytes, bytes]] = {}
        self._folders: dict[bytes, list[tuple[bytes, bytes]]] = {}

    def find(self, tree: bytes, content: bytes) -> bytes | None:
        """A path with this content, while there is anything left of the run's budget."""
        pending = [(b"", tree)]
        while pending and self._left > 0:
            folder, current = pending.pop()
            self._read(current)
            if (name := self._files[current].get(content)) is not None:
                return folder + name
            self._left -= 1 + len(self._folders[current])
            pending += [(folder + name + b"/", oid) for name, oid in self._folders[current]]
        return None

    def _read(self, tree: bytes) -> None:
        if tree not in self._files:
            entries = self._repository.entries(tree)
            self._files[tree] = {entry.oid: name for name, entry in entries if not entry.is_tree}
            self._folders[tree] = [(name, entry.oid) for name, entry in entries if entry.is_tree]


def _name(path: bytes) -> bytes:
    return path.rsplit(b"/", 1)[-1]
