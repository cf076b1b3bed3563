"""The one folder that a pull request's check writes, in a checkout that others have filled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from skill_delta.errors import UserError

FILES: Mapping[str, str] = {
    "json": "report.json",
    "junit": "junit.xml",
    "markdown": "report.md",
}
"""The reports in it, by format."""

RECORD = "record.jsonl"
"""The run record in it."""


class ReportFolder:
    """A folder inside the workspace that git ignores. Nothing is ever written through a link."""

    def __init__(self, workspace: Path, name: str) -> None:
        """Raises `UserError` where the folder would not be inside the workspace, or is a link."""
        self._path = _inside(workspace, PurePosixPath(name))
        self.name = PurePosixPath(name)

    def write(self, files: Mapping[str, str]) -> str:
        """Write the reports, by format. What went wrong, in words, where something did."""
        try:
            self._prepare()
            for report, text in files.items():
                self._replace(FILES[report], text)
        except OSError as error:
            return f"the reports could not be written into {self.name}: {error.strerror}"
        return ""

    def new_record(self) -> Path:
        """Where the run record goes. What stood there was none of ours. Raises `UserError`."""
        try:
            self._prepare()
            record = self._path / RECORD
            record.unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"{self.name}/{RECORD} cannot be written: {error.strerror}") from None
        return record

    def _prepare(self) -> None:
        self._path.mkdir(parents=True, exist_ok=True)
        if not (self._path / ".gitignore").exists():
            self._replace(".gitignore", "*\n")

    def _replace(self, name: str, text: str) -> None:
        # Written beside and moved over: a link of that name, put there by a pull request, is
        # replaced and not followed.
        handle, temporary = tempfile.mkstemp(dir=self._path)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(temporary).chmod(0o644)  # later steps may run as someone else
            Path(temporary).replace(self._path / name)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise


def _inside(workspace: Path, name: PurePosixPath) -> Path:
    if name.is_absolute() or not name.parts or {"..", ".git"} & {p.lower() for p in name.parts}:
        raise UserError(
            f"report-dir '{name}' is not a folder inside the repository",
            hint="name one by its path from the top, such as .skill-delta",
        )
    path = workspace
    for part in name.parts:
        path /= part
        if len(os.fsencode(part)) > 255:
            raise UserError(f"report-dir '{name.parts[0][:40]}…' has a part that is too long")
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise UserError(
                f"report-dir '{name}' cannot be used: "
                f"{path.relative_to(workspace)} is a link or a file",
                hint="remove it from the repository, or name another folder",
            )
    return path
