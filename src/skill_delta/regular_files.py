"""Files opened only where they are regular: a FIFO or a device may never end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

# Not waited for if it is, or became meanwhile, a FIFO.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)


class NotRegularError(OSError):
    """What lies at a path is no regular file: a folder, FIFO, device or socket."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. Raises `OSError`, also where it is a link or no file."""
    return os.fdopen(_opened(path, _READ | _NO_LINK), "rb")


def open_followed(path: Path) -> BinaryIO:
    """As `open_regular`, but a link is followed."""
    return os.fdopen(_opened(path, _READ), "rb")


def append_to_regular(path: Path) -> int:
    """A descriptor to append to the file with, and to read it; made where there is none.

    Raises `OSError`, also where it is a link or no file. What is made is for its owner to write.
    """
    return _opened(path, _APPEND | _NO_LINK)


def is_regular(path: Path) -> bool:
    """Whether a regular file lies at the path, or behind the link there."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def refuse_special(path: Path) -> None:
    """Raise `NotRegularError` where something lies at the path that is no regular file."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise NotRegularError(0, f"{path.name} is {_kind(mode)}, not a file")


def _opened(path: Path, flags: int) -> int:
    descriptor = os.open(path, flags, 0o644)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise NotRegularError(0, f"it is {_kind(mode)}, not a file")
    return descriptor


def _kind(mode: int) -> str:
    for test, kind in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return kind
    return "a device"
