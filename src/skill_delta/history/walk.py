"""One walk of the history for any number of files, with the answer that `git log -- PATH` gives."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from skill_delta.history.asked_paths import AskedFolder, RawEntries
from skill_delta.history.commits import Commit
from skill_delta.history.repository import TREE, Entry, Repository, Unreadable, canonical

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
        self._root = AskedFolder()
        self._trails = count()
        self._paths: dict[int, bytes] = {}
        self._wanted = 0
        self._order = count()
        self._queue: list[tuple[int, int, bytes, int]] = []
        self._seen: dict[bytes, int] = {}
        self._commits: dict[bytes, Commit] = {}

    def begin(self, commit: bytes, path: bytes) -> int:
        """Start a trail at a commit, itself included; gives its number. Raises `Unreadable`."""
        trail = next(self._trails)
        bit = 1 << trail
        self._push(commit, self._commit(commit).date, bit)
        self._wanted |= bit
        self._paths[trail] = path
        self._root.begin(path, bit)
        return trail

    def end(self, trail: int) -> None:
        """Follow a trail no further."""
        if trail in self._paths:
            self._wanted &= ~(1 << trail)
            self._root.end(self._paths.pop(trail), 1 << trail)

    def __iter__(self) -> Iterator[Touch | Lost]:
        while self._queue and self._wanted:
            oid, trails = self._pop()
            trails &= self._wanted
            if not trails:
                continue
            try:
                touched = self._step(oid, trails)
            except Unreadable as error:
                for trail in _bits(trails):
                    self.end(trail)
                    yield Lost(trail, oid, str(error))
                continue
            yield from (Touch(trail, oid) for trail in _bits(touched) if self._wanted >> trail & 1)

    def _push(self, oid: bytes, date: int, trails: int) -> None:
        seen = self._seen.get(oid, 0)
        fresh = trails & ~seen
        if fresh:
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
        possible = self._possible(oid, trails)
        unchanged: list[tuple[bytes, int, int]] = []
        for parent in commit.parents:
            before = self._commit(parent)
            if possible:
                possible = self._changed(commit.tree, before.tree, self._root, possible)
            unchanged.append((parent, before.date, changed & ~possible))
            changed = possible
            if not changed:
                break
        if not commit.parents:
            changed = self._changed(commit.tree, None, self._root, possible)
        for parent, date, same in unchanged:
            self._push(parent, date, same | changed)
        return changed

    def _possible(self, oid: bytes, trails: int) -> int:
        """The trails whose path a commit may have changed against its first parent."""
        changes = self._repository.changed_paths(oid)
        return trails if changes is None else self._root.possible(changes, trails)

    def _commit(self, oid: bytes) -> Commit:
        if (known := self._commits.get(oid)) is not None:
            return known
        commit = self._commits[oid] = self._repository.commit(oid)
        return commit

    def _changed(
        self, ours: bytes | None, theirs: bytes | None, folder: AskedFolder, trails: int
    ) -> int:
        """The trails whose path leads to another entry in the one tree than in the other."""
        if not trails or ours == theirs:
            return 0
        here, there = self._entries(ours, folder), self._entries(theirs, folder)
        changed = 0
        for name in {name for name, _ in here.items() ^ there.items()}:
            child = folder.children[name]
            if child.trails & trails:
                one, other = _entry(here.get(name)), _entry(there.get(name))
                if one != other:
                    changed |= child.ends & trails
                if child.children:
                    changed |= self._changed(_subtree(one), _subtree(other), child, trails)
        return changed

    def _entries(self, tree: bytes | None, folder: AskedFolder) -> RawEntries:
        """What a tree holds under the names that the folder's trails ask for."""
        if tree is None:
            return {}
        if (known := folder.cache.get(tree)) is not None:
            return known
        wanted = folder.children
        entries = {
            name: (mode, oid)
            for mode, name, oid in self._entry.findall(self._repository.read(tree, TREE))
            if name in wanted
        }
        if len(folder.cache) * len(wanted) >= _CACHED_ENTRIES:
            folder.cache.clear()
        folder.cache[tree] = entries
        return entries


def _entry(raw: tuple[bytes, bytes] | None) -> Entry | None:
    return None if raw is None else Entry(canonical(raw[0]), raw[1])


def _subtree(entry: Entry | None) -> bytes | None:
    return entry.oid if entry is not None and entry.is_tree else None


def _bits(trails: int) -> Iterator[int]:
    while trails:
        lowest = trails & -trails
        yield lowest.bit_length() - 1
        trails ^= lowest
