"""Git's changed-path Bloom filters: which paths a commit surely left as its first parent has them.

A filter holds every file that the commit changed and every folder above it. Of a path that is in
it, it says so; of one that is not, it says so nearly always.
"""

from __future__ import annotations

from typing import NamedTuple

_WORD = 0xFFFFFFFF
_SEEDS = 0x293AE76F, 0x7E646E2C


class Shape(NamedTuple):
    """How a filter was made: its length in bytes, the hash's version, and bits set per path."""

    size: int
    version: int
    hashes: int


class ChangedPaths(NamedTuple):
    """The filter of one commit; its bits are those of one integer."""

    bits: int
    shape: Shape


class PathHashes:
    """What is looked for in filters to tell whether one path is in them."""

    def __init__(self, path: bytes) -> None:
        hashes = [_hashes(path, signed=False)]
        if not path.isascii():
            hashes.append(_hashes(path, signed=True))
        self._hashes = tuple(hashes)

    def masks(self, shape: Shape) -> tuple[int, ...]:
        """The path may be in a filter of the shape that has all the bits of one of these.

        Version 1 hashed bytes beyond ASCII as the machine's C compiler took them, with a sign or
        without, and a filter does not tell which: there are two masks then.
        """
        used = self._hashes if shape.version == 1 else self._hashes[:1]
        return tuple(_mask(hashes, shape) for hashes in used)


def _hashes(path: bytes, *, signed: bool) -> tuple[int, ...]:
    return tuple(murmur3(path, seed, signed=signed) for seed in _SEEDS)


def _mask(hashes: tuple[int, ...], shape: Shape) -> int:
    first, step = hashes
    mask = 0
    for number in range(shape.hashes):
        mask |= 1 << (first + number * step & _WORD) % (shape.size * 8)
    return mask


def murmur3(data: bytes, seed: int, *, signed: bool) -> int:
    """The 32-bit murmur3 hash; `signed` spreads a byte's top bit over all that are above it."""
    values = [byte - 256 if signed and byte > 127 else byte for byte in data]
    whole = len(values) // 4 * 4
    mixed = seed
    for at in range(0, whole, 4):
        mixed ^= _scrambled(_number(values[at : at + 4]))
        mixed = _rotated(mixed, 13) * 5 + 0xE6546B64 & _WORD
    rest = 0
    for place, value in enumerate(values[whole:]):
        rest ^= value << 8 * place & _WORD
    mixed ^= _scrambled(rest) ^ len(data)
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _WORD
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _WORD
    return mixed ^ mixed >> 16


def _number(values: list[int]) -> int:
    number = 0
    for place, value in enumerate(values):
        number |= value << 8 * place & _WORD
    return number


def _scrambled(number: int) -> int:
    return _rotated(number * 0xCC9E2D51 & _WORD, 15) * 0x1B873593 & _WORD


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _WORD
