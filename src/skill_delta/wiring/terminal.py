"""Where a command speaks."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Terminal:
    """`watched` is whether a person looks on at `err`, `colour` whether `out` takes any."""

    out: TextIO
    err: TextIO
    colour: bool = False
    watched: bool = False

    def say(self, text: str) -> None:
        """Write what was found. That nobody can read it any more does not change the verdict."""
        write(self.out, text)

    def complain(self, text: str) -> None:
        """Write what went wrong."""
        write(self.err, text)


def write(stream: TextIO, text: str) -> None:
    """Write text as far as the stream takes it, in whatever characters it has."""
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except (OSError, ValueError):
        _let_go(stream)


def _let_go(stream: TextIO) -> None:
    """Send the rest nowhere: the interpreter writes what is left as it ends, and would fail."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass  # a stream without a file behind it, or a closed one, holds nothing back
