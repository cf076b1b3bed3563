"""Files below one folder, reached step by step: no link is followed, and nothing that blocks."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
# Not waited for if it is, or became meanwhile, a FIFO.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class RefusedError(Exception):
    """What is asked for is no file that may be read or written; says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that is no folder. `name` is the last part of its `path`, as the disk has it."""

    path: PurePosixPath
    size: int
    mode: int

    @property
    def is_regular(self) -> bool:
        return stat.S_ISREG(self.mode)


def read_below(root: Path, path: PurePosixPath, most: int, *, may_be_linked: bool = True) -> bytes:
    """The content of a regular file of at most `most` bytes.

    Unless it `may_be_linked`, a file with a further name is refused: that may lie anywhere.
    Raises `RefusedError`, and `FileNotFoundError` where there is none.
    """
    with _opened(root, path.parts[:-1]) as folder:
        _refuse_special(os.lstat(path.name, dir_fd=folder).st_mode)
        with os.fdopen(os.open(path.name, _READ, dir_fd=folder), "rb") as file:
            status = os.fstat(file.fileno())
            _refuse_special(status.st_mode)  # it may have become another
            if status.st_nlink > 1 and not may_be_linked:
                raise RefusedError("it is a hard link, and no link is followed")
            content = file.read(most + 1) if status.st_size <= most else b""
            if max(status.st_size, len(content)) > most:
                size = max(status.st_size, len(content))
                raise RefusedError(f"it has {size:,} bytes; at most {most:,} are read")
            return content


def write_below(root: Path, path: PurePosixPath, content: bytes, mode: int = 0o644) -> None:
    """Create or replace a regular file, with the folders it is in.

    Raises `RefusedError` where a link, a folder or a special file is in its place.
    """
    with _opened(root, path.parts[:-1], make=True) as folder:
        with suppress(FileNotFoundError):
            _refuse_special(os.lstat(path.name, dir_fd=folder).st_mode)
        # Never into what is there: it may be another name of a file outside.
        new = f".{secrets.token_hex(8)}.new"
        try:
            with os.fdopen(os.open(new, _NEW, mode, dir_fd=folder), "wb") as file:
                file.write(content)
            os.replace(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(new, dir_fd=folder)
            raise


def files_below(root: Path, most: int) -> tuple[Found, ...] | None:
    """All that is no folder, sorted by path; None where there are more than `most` entries."""
    found: list[Found] = []
    pending, seen = [PurePosixPath()], 0
    while pending:
        place = pending.pop()
        with _opened(root, place.parts) as folder, os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > most:
                    return None
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(place / entry.name)
                else:
                    found.append(Found(place / entry.name, status.st_size, status.st_mode))
    return tuple(sorted(found, key=lambda each: each.path.as_posix()))


def special(mode: int) -> str:
    """What something is that is no regular file; empty for one that is."""
    for test, kind in (
        (stat.S_ISREG, ""),
        (stat.S_ISDIR, "it is a folder"),
        (stat.S_ISLNK, "it is a link, and no link is followed"),
        (stat.S_ISFIFO, "it is a named pipe, and no file"),
        (stat.S_ISSOCK, "it is a socket, and no file"),
    ):
        if test(mode):
            return kind
    return "it is a device, and no file"


def _refuse_special(mode: int) -> None:
    kind = special(mode)
    if kind:
        raise RefusedError(kind)


@contextmanager
def _opened(root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
    folder = os.open(root, _FOLDER)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            inner = _step(folder, part)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _step(folder: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        kind = special(os.lstat(part, dir_fd=folder).st_mode) or "it is a file, and no folder"
        raise RefusedError(f"{part} is on the way: {kind}") from None
