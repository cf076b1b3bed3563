"""The files a skill ships as they lie on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

from skill_delta.core.skills import (
    MAX_BUNDLE_BYTES,
    MAX_BUNDLE_FILES,
    SKILL_FILENAMES,
    Bundle,
    BundleFile,
    unportable,
    withheld,
)
from skill_delta.regular_files import open_regular

_CHUNK = 1024 * 1024


class BundleRefusedError(Exception):
    """The skill ships more than is delivered, or a file that cannot be read; says which."""


def working_bundle(folder: Path) -> tuple[Bundle | None, tuple[str, ...]]:
    """What the skill in `folder` ships, None where it is nothing.

    Also the names of links, special files and unportable names, which are left out of both arms.
    Folders of nested skills are theirs. Raises `BundleRefusedError`.
    """
    left_out: list[str] = []
    files: list[BundleFile] = []
    size = 0
    for path in _shipped(folder, left_out):
        if len(files) == MAX_BUNDLE_FILES:
            raise BundleRefusedError(f"it ships more than {MAX_BUNDLE_FILES:,} files")
        try:
            files.append(_measured(folder, path, MAX_BUNDLE_BYTES - size))
        except OSError as error:
            raise BundleRefusedError(f"{path} cannot be read: {error.strerror}") from None
        size += files[-1].size
    files.sort(key=lambda file: file.path)
    return Bundle(folder, tuple(files)) if files else None, tuple(sorted(left_out))


def _shipped(root: Path, left_out: list[str]) -> Iterator[PurePosixPath]:
    pending = [PurePosixPath()]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as entries:
                found = list(entries)
        except OSError as error:
            raise BundleRefusedError(f"{folder} cannot be read: {error.strerror}") from None
        if folder.parts and any(_makes_a_skill(entry) for entry in found):
            continue
        for entry in found:
            path = folder / entry.name
            if withheld(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif reason := _left_out(path, entry):
                left_out.append(f"{_shown(path)} ({reason})")
            else:
                yield path


def _makes_a_skill(entry: os.DirEntry[str]) -> bool:
    return entry.name in SKILL_FILENAMES and not entry.is_dir(follow_symlinks=False)


def _left_out(path: PurePosixPath, entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "a link"
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    return unportable(path)


def _measured(root: Path, path: PurePosixPath, most: int) -> BundleFile:
    digest = sha256()
    size = 0
    with open_regular(root / path) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
            if size > most:
                raise BundleRefusedError(f"it ships more than {MAX_BUNDLE_BYTES:,} bytes")
    return BundleFile(path, size, digest.hexdigest())


def _shown(path: PurePosixPath) -> str:
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")
