"""A git repository, read through dulwich: never written, never trusted, whoever owns it."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    RefFormatError,
    WrongObjectException,
)
from dulwich.index import Index, UnsupportedIndexFormat
from dulwich.object_format import ObjectFormat
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, RawObjectID
from dulwich.pack import Pack, PackFileDisappeared, UnresolvedDeltas
from dulwich.refs import Ref, SymrefLoop

from skill_delta.history.changed_paths import ChangedPaths
from skill_delta.history.commit_graph import CommitGraph
from skill_delta.history.commits import Commit, parse_commit
from skill_delta.history.git_files import (
    listed_ids,
    loose_object,
    object_folders,
    object_format,
    open_refs,
    raw_id,
    read_config,
    uses_commit_graph,
)
from skill_delta.history.layout import GitFolders, find_git
from skill_delta.regular_files import refuse_special

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
"""Git's numbers for the four kinds of object."""

_KINDS = {COMMIT: "commit", TREE: "tree", BLOB: "blob", TAG: "tag"}

_DAMAGE = (
    *(KeyError, OSError, ValueError, AssertionError, EOFError, RecursionError, MemoryError),
    *(zlib.error, struct.error, PackFileDisappeared, UnresolvedDeltas),
    *(FileFormatException, ChecksumMismatch, WrongObjectException, ApplyDeltaError),
)
"""What dulwich raises for an object, ref or index that is not there, or is damaged."""

_REMEMBERED_FOLDERS = 64
"""How many trees are kept parsed: a commit is asked for many paths, and so is its parent."""
_SYMREF = b"ref: "
_SYMREF_DEPTH = 5


class Unreadable(Exception):  # noqa: N818 - a fact about a repository, not a fault of ours
    """An object that is not in the store, or is damaged there."""


class Entry(NamedTuple):
    """What a tree holds under one name."""

    mode: int
    oid: bytes

    @property
    def is_tree(self) -> bool:
        return self.mode == 0o040000

    @property
    def is_file(self) -> bool:
        """A regular file: neither a link nor a submodule."""
        return self.mode & 0o170000 == 0o100000

    @property
    def is_link(self) -> bool:
        return self.mode == 0o120000


def canonical(mode: bytes) -> int:
    """A tree's octal mode as git compares it: of a file's permissions only "executable" counts."""
    number = int(mode, 8)
    if number & 0o170000 == 0o100000:
        return 0o100755 if number & 0o100 else 0o100644
    return number & 0o170000


class Source(Protocol):
    """Where objects are had from that a clone lacks."""

    def fetch(
        self, oids: Sequence[bytes], kind: int, have: bytes | None, object_format: ObjectFormat
    ) -> Sequence[Pack]:
        """The packs that hold them. Raises `Unreadable`."""
        ...

    def tip(self, ref: bytes) -> bytes | None:
        """What a full ref name leads to there. Raises `Unreadable`."""
        ...

    def close(self) -> None: ...


class Repository:
    """One work tree and the history behind it. Ids are raw bytes throughout.

    A context manager: it holds pack files open.
    """

    def __init__(self, folders: GitFolders) -> None:
        self._folders = folders
        config = read_config(folders.common)
        self._format = object_format(config)
        self._refs = open_refs(config, folders)
        self._object_folders = object_folders(folders.common / "objects")
        self._store = DiskObjectStore(folders.common / "objects", object_format=self._format)
        self._packs = self._store.packs
        self._folders_read: dict[bytes, dict[bytes, Entry]] = {}
        self.entry_pattern = re.compile(
            rb"([0-7]+) ([^\0]+)\0(.{%d})" % self._format.oid_length, re.DOTALL
        )
        self.shallow = frozenset(listed_ids(folders.common / "shallow"))
        """The commits whose parents this clone does not have."""
        grafts = listed_ids(folders.common / "info" / "grafts")
        self._grafts = {**grafts, **dict.fromkeys(self.shallow, ())}
        self._replaced = self._replacements()
        self._may_use_graph = uses_commit_graph(config) and not (self._grafts or self._replaced)
        self._source: Source | None = None

    @classmethod
    def discover(cls, path: Path) -> Self | None:
        """The repository that `path` lies in; None where there is none that can be read.

        Raises `UserError` for a path that leads nowhere.
        """
        folders = find_git(path)
        if folders is None:
            return None
        try:
            return cls.open(folders)
        except Unreadable:
            return None

    @classmethod
    def open(cls, folders: GitFolders) -> Self:
        """The repository in these folders. Raises `Unreadable`, with the reason."""
        try:
            return cls(folders)
        except OSError as error:
            raise Unreadable(error.strerror or "it is damaged") from None
        except _DAMAGE:
            raise Unreadable("it is damaged") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the pack files."""
        self._packs = []
        self._store.close()
        if self._source is not None:
            self._source.close()
        for alternate in self._store.alternates:
            alternate.close()

    @property
    def worktree(self) -> Path:
        """The top folder of the work tree, links resolved."""
        return self._folders.worktree

    # ------------------------------------------------------------ objects

    def complete_from(self, source: Source) -> None:
        """Have what this clone lacks from elsewhere, from now on: then no history ends early."""
        self._source = source
        for oid in self.shallow:
            self._grafts.pop(oid, None)
        self.shallow = frozenset()

    def read(self, oid: bytes, kind: int) -> bytes:
        """The bytes of an object. Raises `Unreadable`, also where it is of another kind."""
        found, raw = self.read_any(oid, kind)
        if found != kind:
            raise Unreadable(f"object {oid.hex()[:8]} is not a {_KINDS[kind]}")
        return raw

    def read_any(self, oid: bytes, kind: int = COMMIT) -> tuple[int, bytes]:
        """The kind and the bytes of an object, fetched as one of `kind` where it is not here.

        Raises `Unreadable`.
        """
        name = RawObjectID(self._replaced.get(oid, oid))
        # The packs are asked directly: the store's own way costs half as much again.
        for pack in self._packs:
            try:
                return pack.get_raw(name)
            except KeyError:
                continue
            except _DAMAGE:
                break
        try:
            loose = loose_object(self._object_folders, name)
            return self._store.get_raw(name) if loose is None else loose
        except KeyError:
            missing = f"object {oid.hex()[:8]} is not in this clone"
            if self._source is None:
                raise Unreadable(missing) from None
            return self._fetched(oid, kind, missing)
        except _DAMAGE as error:
            raise Unreadable(f"object {oid.hex()[:8]} is damaged: {error}") from None

    def _fetched(self, oid: bytes, kind: int, missing: str) -> tuple[int, bytes]:
        try:
            self._fetch([oid], kind)
            name = RawObjectID(oid)
            holding = next(pack for pack in self._packs if name in pack)
            return holding.get_raw(name)
        except Unreadable as error:
            raise Unreadable(f"{missing}, and {error}") from None
        except StopIteration:
            raise Unreadable(f"{missing}, nor where it came from") from None
        except _DAMAGE as error:
            raise Unreadable(f"{missing}, and came damaged: {error}") from None

    def _fetch(self, oids: Sequence[bytes], kind: int) -> None:
        if self._source is not None:
            fetched = self._source.fetch(oids, kind, self.head(), self._format)
            self._packs = [*self._packs, *fetched]

    def fetch_together(self, oids: Iterable[bytes]) -> None:
        """Have those files at once that are not here, where there is somewhere to have them from.

        Raises `Unreadable`.
        """
        if self._source is not None:
            missing = [oid for oid in dict.fromkeys(oids) if not self._is_here(oid)]
            if missing:
                self._fetch(missing, BLOB)

    def _is_here(self, oid: bytes) -> bool:
        name = RawObjectID(self._replaced.get(oid, oid))
        if any(name in pack for pack in self._packs):
            return True
        return loose_object(self._object_folders, name) is not None

    def remote_ref(self, name: bytes) -> bytes | None:
        """What a full ref name leads to where this clone came from; None where that is unknown.

        Raises `Unreadable` where it cannot be asked.
        """
        return None if self._source is None else self._source.tip(name)

    def commit(self, oid: bytes) -> Commit:
        """A commit. Raises `Unreadable`."""
        if (known := self._graph.commit(oid)) is not None:
            return known
        commit = self.recorded_commit(oid)
        parents = self._grafts.get(oid)
        return commit if parents is None else commit._replace(parents=parents)

    def changed_paths(self, oid: bytes) -> ChangedPaths | None:
        """What a commit may have changed against its first parent; None where that is unknown."""
        return self._graph.changed_paths(oid)

    @cached_property
    def _graph(self) -> CommitGraph:
        return CommitGraph.open(self._object_folders if self._may_use_graph else ())

    def recorded_commit(self, oid: bytes) -> Commit:
        """A commit with the parents it names, also where this clone does not have them.

        Raises `Unreadable`.
        """
        try:
            return parse_commit(self.read(oid, COMMIT))
        except ValueError:
            raise Unreadable(f"commit {oid.hex()[:8]} is damaged") from None

    def entries(self, tree: bytes) -> list[tuple[bytes, Entry]]:
        """All of a tree, in its order. Raises `Unreadable`."""
        raw = self.read(tree, TREE)
        found = self.entry_pattern.findall(raw)
        size = sum(len(mode) + len(name) + len(oid) + 2 for mode, name, oid in found)
        if size != len(raw):
            raise Unreadable(f"tree {tree.hex()[:8]} is damaged")
        return [(name, Entry(canonical(mode), oid)) for mode, name, oid in found]

    def entry(self, tree: bytes, path: bytes) -> Entry | None:
        """What a tree holds at a path with slashes; None where nothing. Raises `Unreadable`."""
        entry = Entry(0o040000, tree)
        for name in path.split(b"/") if path else ():
            if not entry.is_tree:
                return None
            found = self.folder(entry.oid).get(name)
            if found is None:
                return None
            entry = found
        return entry

    def folder(self, tree: bytes) -> Mapping[bytes, Entry]:
        """A tree by its names. Raises `Unreadable`."""
        if tree not in self._folders_read:
            if len(self._folders_read) >= _REMEMBERED_FOLDERS:
                self._folders_read.clear()
            self._folders_read[tree] = dict(self.entries(tree))
        return self._folders_read[tree]

    def short_ids(self, prefix: str) -> list[bytes]:
        """The objects whose hexadecimal id begins with `prefix` (four digits at least)."""
        try:
            return sorted({bytes.fromhex(oid.decode()) for oid in self._matching(prefix)})
        except _DAMAGE:
            return []

    def _matching(self, prefix: str) -> list[ObjectID]:
        return list(self._store.iter_prefix(prefix.encode()))

    # ------------------------------------------------------------ refs

    def head(self) -> bytes | None:
        """The commit that is checked out; None where there is no commit yet."""
        return self.ref(b"HEAD")

    def ref(self, name: bytes) -> bytes | None:
        """What a full ref name (`HEAD`, `refs/heads/main`) leads to; None where to nothing."""
        for _ in range(_SYMREF_DEPTH):
            value = self._ref_value(name)
            if value is None:
                return None
            if not value.startswith(_SYMREF):
                return raw_id(value)
            name = value.removeprefix(_SYMREF)
        return None

    def _ref_value(self, name: bytes) -> bytes | None:
        for refs in self._refs:
            try:
                value = refs.read_ref(Ref(name))
            except (*_DAMAGE, RefFormatError, SymrefLoop, StopIteration):
                continue
            if value:
                return value
        return None

    def _replacements(self) -> dict[bytes, bytes]:
        # `git replace`: git's own log reads the replacement, under the name of the replaced.
        base = b"refs/replace/"
        names = {bytes(name) for refs in self._refs for name in refs.subkeys(Ref(base))}
        pairs = {raw_id(name): self.ref(base + name) for name in names}
        return {old: new for old, new in pairs.items() if old is not None and new is not None}

    # ------------------------------------------------------------ the rest

    def is_tracked(self, path: bytes) -> bool:
        """Whether HEAD's tree or the index has a file at this path."""
        head = self.head()
        try:
            if head is not None and self.entry(self.commit(head).tree, path) is not None:
                return True
        except Unreadable:
            pass
        return path in self._indexed

    @cached_property
    def _indexed(self) -> frozenset[bytes]:
        """The paths of the index; none where it is missing or cannot be read."""
        path = self._folders.git / "index"
        try:
            refuse_special(path)
            return frozenset(Index(path, object_format=self._format))
        except (*_DAMAGE, UnsupportedIndexFormat):
            return frozenset()
