"""`ports.SourceFiles` from this machine: nothing outside one root is ever read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from skill_delta.core.documents import MAX_BYTES
from skill_delta.errors import Place, UserError
from skill_delta.history.layout import find_git
from skill_delta.history.places import current_folder, resolved, shown
from skill_delta.regular_files import open_regular

__all__ = ["WorkingFiles", "shown", "source_files_for"]


class WorkingFiles:
    """The files below `root`. A link is followed only where it stays below it."""

    def __init__(self, root: Path) -> None:
        self._root = resolved(root)

    @property
    def root(self) -> Path:
        """The folder that paths are relative to, links resolved."""
        return self._root

    def read(self, path: PurePosixPath) -> bytes:
        """The file's bytes. Raises `UserError` where it is missing, outside, no file, or large."""
        real = self._real(path)
        try:
            with open_regular(real) as file:
                content = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise self._refusal(path, error.strerror or str(error)) from None
        if len(content) > MAX_BYTES:
            raise self._refusal(path, f"it has more than {MAX_BYTES:,} bytes")
        return content

    def listing(self, folder: PurePosixPath) -> Sequence[PurePosixPath] | None:
        """The files directly in a folder, sorted; None where there is no such folder.

        A link is listed unless it leads to a folder, so that reading it says what is wrong.
        Raises `UserError` where the folder lies outside, or cannot be read.
        """
        if not (self._root / folder).is_dir():
            return None
        try:
            with os.scandir(self._real(folder)) as entries:
                names = [entry.name for entry in entries if _is_listed(entry)]
        except OSError as error:
            raise self._refusal(folder, error.strerror or str(error)) from None
        return [folder / name for name in sorted(names)]

    def shown(self, path: PurePosixPath) -> str:
        """The path from the current folder where it is below it, else in full."""
        return shown(self._root / path)

    def _real(self, path: PurePosixPath) -> Path:
        try:
            real = Path(os.path.realpath(self._root / path, strict=True))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            raise self._refusal(path, reason or str(error)) from None
        if not real.is_relative_to(self._root):
            raise self._refusal(path, f"it leads out of {shown(self._root)}, and is not followed")
        return real

    def _refusal(self, path: PurePosixPath, reason: str) -> UserError:
        return UserError(f"it cannot be read: {reason}", place=Place(self.shown(path)))


def source_files_for(location: Path) -> tuple[WorkingFiles, PurePosixPath]:
    """The files around a skill's folder, and the folder's path among them.

    Their root is the top of the git work tree; without one, the current folder where the skill
    lies below it; else the folder that the skill's folder lies in. Raises `UserError` where the
    location, or the current folder, leads nowhere.
    """
    real = resolved(location)
    git = find_git(real)
    root = _root_without_git(real) if git is None else git.worktree
    return WorkingFiles(root), PurePosixPath(real.relative_to(root).as_posix())


def _root_without_git(real: Path) -> Path:
    here = resolved(current_folder())
    return here if real.is_relative_to(here) else real.parent


def _is_listed(entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return entry.is_file()
    try:
        return not entry.is_dir()
    except OSError:
        return True  # a link that leads in a circle
