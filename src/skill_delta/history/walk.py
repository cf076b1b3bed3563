"""One walk of the history for any number of files, with the answer that `git log -- PATH` gives."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from skill_delta.history.repository import TREE, Commit, Entry, Repository, Unreadable, canonical

_CACHED_ENTRIES = 20_000
"""How many tree entries one folder remembers: a commit's tree is soon its child's parent's tree."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A commit that `git log -- PATH` would print for the path of a trail."""

    trail: int
    commit: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """A trail that cannot be followed past a commit, because something there is not readable."""

    trail: int
    commit: bytes
    why: str


@dataclass(slots=True)
class _Folder:
    """One step on the way down to the paths: the names below it that anyone asks for.

    `trails` is the set of trails that end at or below it, `ends` of those that end at it, each
    as the bits of one integer.
    """

    trails: int = 0
    ends: int = 0
    children: dict[bytes, _Folder] = field(default_factory=dict)
    cache: dict[bytes, dict[bytes, Entry]] = field(default_factory=dict)


class Walk:
    """Follows trails, each one path from one commit backwards, in one pass over the commits.

    Iterating yields, trail by trail in git's order, the commits that touched the path: those in
    which it differs from what it was in every parent. Where it equals what it was in one of
    several parents, only the first such parent is followed: git's default simplification.
    Commits come by date, the newest first, and among equals the one that was met first.

    `begin` and `end` may be called while iterating. The walk stops once no trail is left, and a
    trail that was not ended may run out before it, at the first commit or a shallow boundary.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._entry = repository.entry_pattern
        self._root = _Folder()
        self._trails = count()
        self._wanted = 0
        self._order = count()
        self._queue: list[tuple[int, int, bytes, int]] = []
        self._seen: dict[bytes, int] = {}
        self._commits: dict[bytes, Commit] = {}

    def begin(self, commit: bytes, path: bytes) -> int:
        """Start a trail at a commit, itself included; gives its number. Raises `Unreadable`."""
        trail = next(self._trails)
        bit = 1 << trail
        self._push(commit, bit)
        self._wanted |= bit
        folder = self._root
        folder.trails |= bit
        for name in path.split(b"/"):
            if name not in folder.children:
                folder.children[name] = _Folder()
                folder.cache.clear()
            folder = folder.children[name]
            folder.trails |= bit
        folder.ends |= bit
        return trail

    def end(self, trail: int) -> None:
        """Follow a trail no further."""
        self._wanted &= ~(1 << trail)

    def __iter__(self) -> Iterator[Touch | Lost]:
        while self._queue and self._wanted:
            oid, trails = self._pop()
            trails &= self._wanted
            if not trails:
                continue
            try:
                touched = self._step(oid, trails)
            except Unreadable as error:
                self._wanted &= ~trails
                yield from (Lost(trail, oid, str(error)) for trail in _bits(trails))
                continue
            yield from (Touch(trail, oid) for trail in _bits(touched) if self._wanted >> trail & 1)

    def _push(self, oid: bytes, trails: int) -> None:
        seen = self._seen.get(oid, 0)
        fresh = trails & ~seen
        if fresh:
            date = self._commit(oid).date
            self._seen[oid] = seen | fresh
            heapq.heappush(self._queue, (-date, next(self._order), oid, fresh))

    def _pop(self) -> tuple[bytes, int]:
        # A commit may be queued several times, each time for other trails. They are taken
        # together only where no other commit of the same second stands between them: for a
        # trail of its own, git would have met that one first.
        _, _, oid, trails = heapq.heappop(self._queue)
        while self._queue and self._queue[0][2] == oid:
            trails |= heapq.heappop(self._queue)[3]
        return oid, trails

    def _step(self, oid: bytes, trails: int) -> int:
        """Queue the parents that each trail goes on to; gives the trails whose path changed."""
        commit = self._commit(oid)
        del self._commits[oid]
        changed = trails
        unchanged: list[tuple[bytes, int]] = []
        for parent in commit.parents:
            still = self._changed(commit.tree, self._commit(parent).tree, self._root, changed)
            unchanged.append((parent, changed & ~still))
            changed = still
            if not changed:
                break
        if not commit.parents:
            changed = self._changed(commit.tree, None, self._root, changed)
        for parent, same in unchanged:
            self._push(parent, same | changed)
        return changed

    def _commit(self, oid: bytes) -> Commit:
        if (known := self._commits.get(oid)) is not None:
            return known
        commit = self._commits[oid] = self._repository.commit(oid)
        return commit

    def _changed(
        self, ours: bytes | None, theirs: bytes | None, folder: _Folder, trails: int
    ) -> int:
        """The trails whose path leads to another entry in the one tree than in the other."""
        if ours == theirs:
            return 0
        here, there = self._entries(ours, folder), self._entries(theirs, folder)
        if here == there:
            return 0
        changed = 0
        for name in {name for name, _ in here.items() ^ there.items()}:
            child = folder.children[name]
            if child.trails & trails:
                changed |= child.ends & trails
                if child.children:
                    below = (_subtree(here.get(name)), _subtree(there.get(name)))
                    changed |= self._changed(*below, child, trails)
        return changed

    def _entries(self, tree: bytes | None, folder: _Folder) -> dict[bytes, Entry]:
        """What a tree holds under the names that the folder's trails ask for."""
        if tree is None:
            return {}
        if (known := folder.cache.get(tree)) is not None:
            return known
        wanted = folder.children
        entries = {
            name: Entry(canonical(mode), oid)
            for mode, name, oid in self._entry.findall(self._repository.read(tree, TREE))
            if name in wanted
        }
        if len(folder.cache) * len(wanted) >= _CACHED_ENTRIES:
            folder.cache.clear()
        folder.cache[tree] = entries
        return entries


def _subtree(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.is_tree else None


def _bits(trails: int) -> Iterator[int]:
    while trails:
        lowest = trails & -trails
        yield lowest.bit_length() - 1
        trails ^= lowest
