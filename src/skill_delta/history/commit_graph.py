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
from skill_delta.history.regular_files import open_followed

_LARGEST_FILE = 256 * 1024 * 1024
"""In bytes: some three million commits. Beyond that, history is read from its objects."""
_MOST_LAYERS = 255
"""As many as a layer can say that it builds on."""
_LAYER_NAME = re.compile(rb"[0-9a-f]{40}")


class CommitGraph:
    """The commits that git's commit-graph of some object folders knows; there may be none.

    It knows nothing of replaced, grafted and shallow commits: in a repository with such it must
    not be asked, and git does not ask it either.
    """

    def __init__(self, layers: Sequence[GraphLayer]) -> None:
        self._layers = layers
        self._positions: dict[bytes, int] = {}

    @classmethod
    def open(cls, folders: Sequence[Path]) -> CommitGraph:
        """That of the first object folder that has one. What is damaged is as if it were not."""
        for folder in folders:
            if layers := _single(folder) or _chain(folder, folders):
                return cls(layers)
        return cls(())

    def commit(self, oid: bytes) -> Commit | None:
        """A commit; None where the graph does not know it, or not well."""
        position = self._position(oid)
        layer = self._layer(position)
        if layer is None:
            return None
        try:
            tree, positions, date = layer.commit(position)
            parents = tuple([self._oid(parent, layer) for parent in positions])
        except DamagedLayer:
            return None
        # A history is walked from commits to their parents, which need not be looked for then.
        self._positions.update(zip(parents, positions, strict=True))
        return Commit(tree, parents, date)

    def changed_paths(self, oid: bytes) -> ChangedPaths | None:
        """The filter of what a commit changed; None where there is none."""
        position = self._position(oid)
        layer = self._layer(position)
        return None if layer is None else layer.changed_paths(position)

    def _position(self, oid: bytes) -> int:
        """A commit's position; -1 for one that is in no layer."""
        known = self._positions.get(oid)
        if known is None:
            found = (layer.find(oid) for layer in self._layers)
            known = self._positions[oid] = next((at for at in found if at is not None), -1)
        return known

    def _layer(self, position: int) -> GraphLayer | None:
        for layer in self._layers:
            if layer.first <= position < layer.end:
                return layer
        return None

    def _oid(self, position: int, likely: GraphLayer) -> bytes:
        layer = likely if likely.first <= position < likely.end else self._layer(position)
        if layer is None:
            raise DamagedLayer("a parent is in no layer")
        return layer.oid(position)


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
