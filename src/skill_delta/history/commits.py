"""What a commit says, read from its object."""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMIT = re.compile(
    rb"tree ([0-9a-f]+)\n((?:parent [0-9a-f]+\n)*)"
    rb"(?:author [^\n]*\n(?:committer [^\n>]*> *(\d+))?)?"
)
_LATEST = 2**64 - 1
"""Git's latest date. What a forged commit claims beyond it is this date too."""


class Commit(NamedTuple):
    """What the walk needs of a commit. Ids are raw bytes; `date` is the committer's, in seconds.

    Beyond a shallow boundary there are no parents.
    """

    tree: bytes
    parents: tuple[bytes, ...]
    date: int


def parse_commit(raw: bytes) -> Commit:
    """A commit from the bytes of its object. Raises `ValueError` where it is none."""
    found = _COMMIT.match(raw)
    if found is None:
        raise ValueError("it names no tree")
    tree = bytes.fromhex(found[1].decode())
    parents = tuple(bytes.fromhex(line[7:].decode()) for line in found[2].split(b"\n")[:-1])
    return Commit(tree, parents, _seconds(found[3] or b"0"))


def _seconds(digits: bytes) -> int:
    # Python refuses to read thousands of digits, and git counts in 64 bits.
    return _LATEST if len(digits) > 20 else min(int(digits), _LATEST)
