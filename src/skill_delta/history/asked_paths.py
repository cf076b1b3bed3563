"""The paths a walk is asked for, as folders in folders, and which of them a filter rules out."""

from __future__ import annotations

from dataclasses import dataclass, field

from skill_delta.history.changed_paths import ChangedPaths, PathHashes, Shape

_REMEMBERED_SHAPES = 64
"""For how many shapes of filter a folder remembers what to look for."""

RawEntries = dict[bytes, tuple[bytes, bytes]]
"""Name → (mode, id), both as a tree has them."""


@dataclass(slots=True)
class AskedFolder:
    """One step on the way down to the paths: the names below it that anyone asks for.

    `trails` is the set of trails that end at or below it, `ends` of those that end at it, each
    as the bits of one integer. `cache` holds what trees have under the names, for the walk.
    """

    path: bytes = b""
    trails: int = 0
    ends: int = 0
    children: dict[bytes, AskedFolder] = field(default_factory=dict)
    cache: dict[bytes, RawEntries] = field(default_factory=dict)
    _hashes: PathHashes | None = None
    _own_masks: dict[Shape, tuple[int, ...]] = field(default_factory=dict)
    _masks_below: dict[Shape, list[tuple[int, AskedFolder]]] = field(default_factory=dict)

    def begin(self, path: bytes, trail: int) -> None:
        """Ask for a path below for one trail more."""
        folder = self
        folder.trails |= trail
        for name in path.split(b"/"):
            if name not in folder.children:
                below = folder.path + b"/" + name if folder.path else name
                folder.children[name] = AskedFolder(below)
                folder._forget()
            folder = folder.children[name]
            folder.trails |= trail
        folder.ends |= trail

    def end(self, path: bytes, trail: int) -> None:
        """Ask for it no longer: what nobody asks for makes every step slower."""
        folder = self
        folder.trails &= ~trail
        for name in path.split(b"/"):
            child = folder.children[name]
            child.trails &= ~trail
            if not child.trails:
                del folder.children[name]
                folder._forget()
                return
            folder = child
        folder.ends &= ~trail

    def _forget(self) -> None:
        self.cache.clear()
        self._masks_below.clear()

    def possible(self, changes: ChangedPaths, trails: int) -> int:
        """Those of the trails below whose path a commit may have changed."""
        possible = 0
        bits, shape = changes
        for mask, child in self._masks_below.get(shape) or self._look_below(shape):
            if bits & mask == mask and child.trails & trails:
                possible |= child.ends | child.possible(changes, trails)
        return possible & trails

    def _look_below(self, shape: Shape) -> list[tuple[int, AskedFolder]]:
        if len(self._masks_below) >= _REMEMBERED_SHAPES:
            self._masks_below.clear()
        children = self.children.values()
        found = [(mask, child) for child in children for mask in child._masks(shape)]
        self._masks_below[shape] = found
        return found

    def _masks(self, shape: Shape) -> tuple[int, ...]:
        if (known := self._own_masks.get(shape)) is not None:
            return known
        if len(self._own_masks) >= _REMEMBERED_SHAPES:
            self._own_masks.clear()
        if self._hashes is None:
            self._hashes = PathHashes(self.path)
        found = self._own_masks[shape] = self._hashes.masks(shape)
        return found
