"""The files that a skill ships, as a model may read them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path, PurePosixPath

from skill_delta.core.skills import Bundle
from skill_delta.core.workspace import MAX_FILE_BYTES, path_refusal
from skill_delta.errors import TrialError
from skill_delta.runners.folders import RefusedError, read_below

SCRIPTS = "scripts"
"""The folder of a skill whose files can be run."""


class ShippedFiles:
    """What one version of a skill ships: only what it was read with, and as it was then.

    Eval files and their like are no part of a bundle, so they are not here either.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._root = Path(bundle.root)
        self.files = {file.path: file for file in bundle.files}

    def listing(self) -> tuple[str, ...]:
        """Every file, by its path from the skill's folder."""
        return tuple(str(path) for path in sorted(self.files))

    @property
    def scripts(self) -> tuple[PurePosixPath, ...]:
        """What lies in the skill's folder of scripts, at any depth."""
        return tuple(path for path in sorted(self.files) if path.parts[0] == SCRIPTS)

    def read(self, path: str) -> str:
        """A file's text. Raises `RefusedError`; `TrialError` where the run changed it."""
        file = self.files.get(self.checked(path))
        if file is None:
            raise RefusedError(f"the skill ships no file {path}")
        if file.size > MAX_FILE_BYTES:
            raise RefusedError(
                f"{path} has {file.size:,} bytes; at most {MAX_FILE_BYTES:,} are read"
            )
        try:
            return self.content(file.path).decode()
        except UnicodeDecodeError:
            raise RefusedError(f"the content of {path} is not UTF-8 text") from None

    def content(self, path: PurePosixPath) -> bytes:
        """A shipped file's bytes. Raises `TrialError` where they are not what was shipped."""
        file = self.files[path]
        try:
            content = read_below(self._root, path, file.size)
        except (OSError, RefusedError) as error:
            raise TrialError(f"the skill's file {path} cannot be read: {error}") from None
        if sha256(content).hexdigest() != file.sha256:
            raise TrialError(f"the skill's file {path} was changed while the run ran")
        return content

    def checked(self, path: str) -> PurePosixPath:
        """The path as the bundle spells it. Raises `RefusedError` for what is none."""
        wrong = path_refusal(path)
        if wrong:
            raise RefusedError(wrong)
        return PurePosixPath(path)
