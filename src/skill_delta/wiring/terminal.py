"""Where a command speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Terminal:
    """`watched` is whether a person looks on at `err`, `colour` whether `out` takes any."""

    out: TextIO
    err: TextIO
    colour: bool = False
    watched: bool = False
