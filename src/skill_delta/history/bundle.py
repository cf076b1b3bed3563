"""The files a skill shipped at one commit, put into a folder of their own."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
from skill_delta.history.repository import BLOB, Entry, Repository

_MOST_FOLDERS = 10_000
"""A tree that repeats itself is small, and has no end."""

_WRITE_ONCE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a bundle is extracted, and for how long, before it is given up."""

    files: int = MAX_BUNDLE_FILES
    bytes: int = MAX_BUNDLE_BYTES
    seconds: float = 10.0


class BundleError(Exception):
    """The bundle cannot be extracted; says why."""


@dataclass(slots=True)
class _Extraction:
    """One bundle on its way out of the repository."""

    repository: Repository
    limits: Limits
    deadline: float
    left_out: list[str] = field(default_factory=list)
    size: int = 0
    folders: int = 0

    def files(self, tree: bytes) -> Iterator[tuple[PurePosixPath, Entry]]:
        """The regular files that are shipped, by path; what is left out is noted."""
        pending = [(PurePosixPath(), tree)]
        while pending:
            self.check_time()
            folder, current = pending.pop()
            entries = self.repository.entries(current)
            if folder.parts and any(_makes_a_skill(name, entry) for name, entry in entries):
                continue  # a nested skill ships its own files
            for name, entry in entries:
                path = folder / _component(name)
                if withheld(path):
                    continue
                if entry.is_tree:
                    self._count_folder()
                    pending.append((path, entry.oid))
                elif reason := _left_out(path, entry):
                    self.left_out.append(f"{_shown(path)} ({reason})")
                else:
                    yield path, entry

    def write(self, path: PurePosixPath, entry: Entry, root: Path) -> BundleFile:
        self.check_time()
        content = self.repository.read(entry.oid, BLOB)
        self.size += len(content)
        if self.size > self.limits.bytes:
            raise BundleError(f"it has more than {self.limits.bytes:,} bytes")
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        executable = entry.mode & 0o111
        # Created, never opened: a name that a case-folding disk takes for an earlier one fails.
        with os.fdopen(os.open(target, _WRITE_ONCE, 0o755 if executable else 0o644), "wb") as file:
            file.write(content)
        return BundleFile(path, len(content), sha256(content).hexdigest())

    def _count_folder(self) -> None:
        self.folders += 1
        if self.folders > _MOST_FOLDERS:
            raise BundleError(f"it has more than {_MOST_FOLDERS:,} folders")

    def check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise BundleError(f"it takes longer than {self.limits.seconds:g} seconds")


def extract_bundle(
    repository: Repository, tree: bytes, scratch: Path, limits: Limits
) -> tuple[Bundle | None, tuple[str, ...]]:
    """Write the files that the skill's folder `tree` ships into a new folder under `scratch`.

    Gives the bundle, None where it ships nothing, and the names of links, submodules and
    unportable files that were left out. Nothing is written outside the new folder, and it is
    removed again when anything fails. Raises `BundleError`, and `Unreadable` where the repository
    lacks one of the files.
    """
    extraction = _Extraction(repository, limits, time.monotonic() + limits.seconds)
    try:
        files = _at_most(limits.files, extraction.files(tree))
        if not files:
            return None, tuple(sorted(extraction.left_out))
        repository.fetch_together(entry.oid for _, entry in files)
        with _new_folder(scratch) as root:
            written = tuple(extraction.write(path, entry, root) for path, entry in sorted(files))
    except RecursionError:
        raise BundleError("it cannot be written: its folders are too deep") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise BundleError(f"it cannot be written: {reason or error}") from None
    return Bundle(root, written), tuple(sorted(extraction.left_out))


def _at_most(
    limit: int, files: Iterator[tuple[PurePosixPath, Entry]]
) -> list[tuple[PurePosixPath, Entry]]:
    found = []
    for file in files:
        found.append(file)
        if len(found) > limit:
            raise BundleError(f"it has more than {limit:,} files")
    return found


@contextmanager
def _new_folder(scratch: Path) -> Iterator[Path]:
    """A fresh folder, which does not outlive a failure."""
    root = Path(tempfile.mkdtemp(prefix="bundle-", dir=scratch)).resolve()
    try:
        yield root
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise


def _component(name: bytes) -> str:
    """One step of a path. Raises `BundleError` where it would lead out of the folder."""
    if name in {b".", b".."} or b"/" in name:
        raise BundleError(f"the name {_shown_bytes(name)!r} leads out of the skill's folder")
    return name.decode("utf-8", "surrogateescape")


def _makes_a_skill(name: bytes, entry: Entry) -> bool:
    return not entry.is_tree and name.decode("utf-8", "replace") in SKILL_FILENAMES


def _left_out(path: PurePosixPath, entry: Entry) -> str:
    if entry.is_link:
        return "a link"
    return unportable(path) if entry.is_file else "a submodule"


def _shown(path: PurePosixPath) -> str:
    return _shown_bytes(str(path).encode("utf-8", "surrogateescape"))


def _shown_bytes(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")
