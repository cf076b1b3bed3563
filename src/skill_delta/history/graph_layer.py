"""One file of git's commit-graph."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha1

from skill_delta.history.changed_paths import ChangedPaths, Shape

OID = 20
"""The length of an id in bytes: only SHA-1 files are read."""

_SIGNATURE, _VERSION, _SHA1 = b"CGPH", 1, 1
_HEADER = struct.Struct(">4sBBBB")
_CHUNK = struct.Struct(">4sQ")
_FANOUT = struct.Struct(">256I")
_COMMIT = struct.Struct(f">{OID}sIIII")
_WORD = struct.Struct(">I")
_FILTERS = struct.Struct(">III")
_ENDS = struct.Struct(">II")

_NO_PARENT = 0x70000000
_TOP_BIT = 0x80000000
_DATE_BITS = 3
"""Of the word before the date's own: a date has 34 bits here, and git too forgets what is above."""

_MOST_PARENTS = 1_000
"""Of a commit. One with more is read from its object."""
_LARGEST_FILTER = 4_096
"""In bytes. Git makes one for 512 paths at most, and of 640 bytes."""
_MOST_HASHES = 64
_FILTER_VERSIONS = (1, 2)


class DamagedLayer(Exception):  # noqa: N818 - a fact about a repository, not a fault of ours
    """A file that is not whole, or not of the kind that is read here."""


class GraphLayer:
    """The commits of one file, in the order of their ids.

    A commit's position counts from the first commit of the lowest layer: `first` is that of this
    layer's first commit, `end` the one after its last. No method looks beyond the file.
    """

    def __init__(self, raw: bytes, below: Sequence[bytes] = (), first: int = 0) -> None:
        """`below` are the names of the layers that it builds on. Raises `DamagedLayer`."""
        self.name = raw[-OID:]
        """The checksum that the file ends with, which is the one of the rest of it."""
        if sha1(memoryview(raw)[:-OID], usedforsecurity=False).digest() != self.name:
            raise DamagedLayer("its checksum is wrong")
        self._raw = raw
        chunks = _chunks(raw, len(below))
        self._fanout: tuple[int, ...] = _FANOUT.unpack(raw[_sized(chunks, b"OIDF", _FANOUT.size)])
        count = self._fanout[-1]
        if any(one > other for one, other in zip(self._fanout, self._fanout[1:], strict=False)):
            raise DamagedLayer("its table of first bytes does not ascend")
        if raw[_sized(chunks, b"BASE", len(below) * OID)] != b"".join(below):
            raise DamagedLayer("it builds on other layers than those below it")
        self.first, self.end = first, first + count
        self._oids = _sized(chunks, b"OIDL", count * OID).start
        self._commits = _sized(chunks, b"CDAT", count * _COMMIT.size).start
        self._edges = chunks.get(b"EDGE", _NOTHING)
        if (self._edges.stop - self._edges.start) % _WORD.size:
            raise DamagedLayer("its lists of parents end in the middle of one")
        self._filters = _Filters(raw, chunks, count) if b"BDAT" in chunks else None

    def find(self, oid: bytes) -> int | None:
        """The position of a commit; None where it is not in this layer."""
        low = self._fanout[oid[0] - 1] if oid[0] else 0
        high = self._fanout[oid[0]]
        while low < high:
            middle = (low + high) // 2
            position = self.first + middle
            found = self.oid(position)
            if found == oid:
                return position
            low, high = (middle + 1, high) if found < oid else (low, middle)
        return None

    def oid(self, position: int) -> bytes:
        """The commit at a position of this layer."""
        at = self._oids + (position - self.first) * OID
        return self._raw[at : at + OID]

    def commit(self, position: int) -> tuple[bytes, Sequence[int], int]:
        """The tree, the positions of the parents, and the date. Raises `DamagedLayer`."""
        at = self._commits + (position - self.first) * _COMMIT.size
        tree, first, second, high, low = _COMMIT.unpack_from(self._raw, at)
        date = (high & _DATE_BITS) << 32 | low
        if second == _NO_PARENT:
            return tree, () if first == _NO_PARENT else (first,), date
        if second & _TOP_BIT:
            return tree, (first, *self._further_parents(second & ~_TOP_BIT)), date
        return tree, (first, second), date

    def _further_parents(self, index: int) -> Iterator[int]:
        """The parents of an octopus after its first; the last of them is marked."""
        start = self._edges.start + index * _WORD.size
        stop = min(self._edges.stop, start + _MOST_PARENTS * _WORD.size)
        for (parent,) in _WORD.iter_unpack(self._raw[start:stop]):
            yield parent & ~_TOP_BIT
            if parent & _TOP_BIT:
                return
        raise DamagedLayer("a commit's list of parents does not end")

    def changed_paths(self, position: int) -> ChangedPaths | None:
        """The filter of a commit; None where it has none."""
        return None if self._filters is None else self._filters.of(position - self.first)


class _Filters:
    """The changed-path filters of a layer."""

    def __init__(self, raw: bytes, chunks: Mapping[bytes, slice], count: int) -> None:
        """Raises `DamagedLayer`."""
        self._raw = raw
        self._ends = _sized(chunks, b"BIDX", count * _WORD.size).start
        data = chunks[b"BDAT"]
        if data.stop - data.start < _FILTERS.size:
            raise DamagedLayer("its filters are cut short")
        self._version, self._hashes, _ = _FILTERS.unpack_from(raw, data.start)
        self._known = self._version in _FILTER_VERSIONS and self._hashes <= _MOST_HASHES
        self._start, self._stop = data.start + _FILTERS.size, data.stop
        self._shapes: dict[int, Shape] = {}

    def of(self, index: int) -> ChangedPaths | None:
        at = self._ends + index * _WORD.size
        begin, end = _ENDS.unpack_from(self._raw, at - _WORD.size)
        if not index:
            begin = 0
        size = end - begin
        # None: of commits that changed too much, or that git was not told to look at.
        if not self._known or not 0 < size <= _LARGEST_FILTER or self._start + end > self._stop:
            return None
        bits = int.from_bytes(self._raw[self._start + begin : self._start + end], "little")
        shape = self._shapes.get(size)
        if shape is None:
            shape = self._shapes[size] = Shape(size, self._version, self._hashes)
        return ChangedPaths(bits, shape)


_NOTHING = slice(0, 0)


def _chunks(raw: bytes, below: int) -> dict[bytes, slice]:
    """Where the parts of a file lie, by their names. Raises `DamagedLayer`."""
    if len(raw) < _HEADER.size + OID:
        raise DamagedLayer("it is cut short")
    *kind, number, bases = _HEADER.unpack_from(raw)
    if kind != [_SIGNATURE, _VERSION, _SHA1]:
        raise DamagedLayer("it is no commit-graph of SHA-1 ids")
    if bases != below:
        raise DamagedLayer("it builds on another number of layers")
    begin = _HEADER.size + (number + 1) * _CHUNK.size
    if len(raw) < begin + OID:
        raise DamagedLayer("it is cut short")
    table = list(_CHUNK.iter_unpack(raw[_HEADER.size : begin]))
    starts = [start for _, start in table]
    bounds = [begin, *starts, len(raw) - OID]
    if sorted(bounds) != bounds:
        raise DamagedLayer("its parts lie outside of it, or overlap")
    chunks = {
        name: slice(start, stop) for (name, start), stop in zip(table[:-1], starts[1:], strict=True)
    }
    if len(chunks) != number:
        raise DamagedLayer("it has two parts of one name")
    return chunks


def _sized(chunks: Mapping[bytes, slice], name: bytes, size: int) -> slice:
    """A part that must have so many bytes. Raises `DamagedLayer`."""
    part = chunks.get(name, _NOTHING)
    if part.stop - part.start != size:
        raise DamagedLayer(f"its part {name.decode()} has another length")
    return part
