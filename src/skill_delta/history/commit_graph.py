"""Git's commit-graph: the commits of a repository in a form that is read without their objects.

One file, or a chain of files each of which builds on those below it. Nothing is taken from one
that is not whole: the checksum at its end is tried (about 1 ms for each 12,000 commits), which
tells every truncation and every flipped byte. Git spares itself that. A file made to lie, checksum
and all, is believed; but no lookup leaves it, or takes longer for what it says. Two things are
seen neither by git nor here: that a commit's object is lost, and what a date is past the year 2514.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from skill_delta.history.changed_paths import ChangedPaths
from skill_delta.history.commits import Commit
from skill_delta.history.graph_layer import OID, DamagedLayer, GraphLayer
from skill_delta.regular_files import open_followed

_LARGEST_FILE = 256 * 1024 * 1024
"""In bytes: some three million commits. Beyond that, history is read from its objects."""
_MOST_LAYERS = 255
"""As many as a layer can say that it builds on."""
_LAYER_NAME = re.compile(rb"[0-9a-f]{40}")

_Place = tuple[GraphLayer, int]
"""The layer that a commit is in, and its position."""


class CommitGraph:
    """The commits that git's commit-graph of some object folders knows; there may be none.

    It knows nothing of replaced, grafted and shallow commits: in a repository with such it must
    not be asked, and git does not ask it either.
    """

    def __init__(self, layers: Sequence[GraphLayer]) -> None:
        self._layers = layers
        self._places: dict[bytes, _Place | None] = {}

    @classmethod
    def open(cls, folders: Sequence[Path]) -> CommitGraph:
        """That of the first object folder that has one. What is damaged is as if it were not."""
        for folder in folders:
            if layers := _single(folder) or _chain(folder, folders):
                return cls(layers)
        return cls(())

    def commit(self, oid: bytes) -> Commit | None:
        """A commit; None where the graph does not know it, or not well."""
        place = self._place(oid)
        if place is None:
            return None
        layer, position = place
        try:
            tree, positions, date = layer.commit(position)
            return Commit(tree, tuple([self._parent(at, layer) for at in positions]), date)
        except DamagedLayer:
            return None

    def changed_paths(self, oid: bytes) -> ChangedPaths | None:
        """The filter of what a commit changed; None where there is none."""
        place = self._place(oid)
        return None if place is None else place[0].changed_paths(place[1])

    def _place(self, oid: bytes) -> _Place | None:
        """Where a commit is; None for one that is in no layer."""
        if oid not in self._places:
            found = ((layer, layer.find(oid)) for layer in self._layers)
            places = ((layer, position) for layer, position in found if position is not None)
            self._places[oid] = next(places, None)
        return self._places[oid]

    def _parent(self, position: int, child: GraphLayer) -> bytes:
        """The commit at a position, whose child is in that layer: most are in the same one."""
        layer = child
        if not layer.first <= position < layer.end:
            layer = self._layer(position)
        oid = layer.oid(position)
        # A history is walked from commits to their parents, which need not be looked for then.
        self._places[oid] = layer, position
        return oid

    def _layer(self, position: int) -> GraphLayer:
        for layer in self._layers:
            if layer.first <= position < layer.end:
                return layer
        raise DamagedLayer("a parent is in no layer")


def _single(folder: Path) -> list[GraphLayer]:
    try:
        return [GraphLayer(_read(folder / "info" / "commit-graph"))]
    except (OSError, DamagedLayer):
        return []


def _chain(folder: Path, folders: Sequence[Path]) -> list[GraphLayer]:
    """The layers of a chain, the lowest first, as far up as they are whole."""
    layers: list[GraphLayer] = []
    try:
        for name in _chain_names(folder):
            raw = _borrowed(folders, f"info/commit-graphs/graph-{name.hex()}.graph")
            below = [layer.name for layer in layers]
            layer = GraphLayer(raw, below, first=layers[-1].end if layers else 0)
            if layer.name != name:
                break
            layers.append(layer)
    except (OSError, DamagedLayer):
        pass
    return layers


def _chain_names(folder: Path) -> list[bytes]:
    """What the list of a chain names. Raises `DamagedLayer` and `OSError`."""
    with open_followed(folder / "info" / "commit-graphs" / "commit-graph-chain") as file:
        lines = file.read((2 * OID + 1) * _MOST_LAYERS).split()
    if not all(map(_LAYER_NAME.fullmatch, lines)):
        raise DamagedLayer("its list holds something else than names")
    return [bytes.fromhex(line.decode()) for line in lines]


def _borrowed(folders: Sequence[Path], name: str) -> bytes:
    """A layer's file, wherever it lies: the lower ones may be those of whom objects are borrowed.

    Raises `DamagedLayer` and `OSError`.
    """
    for folder in folders:
        try:
            return _read(folder / name)
        except FileNotFoundError:
            continue
    raise DamagedLayer("a layer is missing")


def _read(path: Path) -> bytes:
    with open_followed(path) as file:
        raw = file.read(_LARGEST_FILE + 1)
    if len(raw) > _LARGEST_FILE:
        raise DamagedLayer("it is larger than is sensible to read")
    return raw
