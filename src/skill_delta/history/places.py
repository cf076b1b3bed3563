"""Paths on this machine: where they lead, and how a person of this run would write them."""

from __future__ import annotations

import os
from pathlib import Path

from skill_delta.errors import Place, UserError


def resolved(path: Path) -> Path:
    """The path with its links followed, whether there is anything at its end or not.

    Raises `UserError` where a link leads in a circle, or the current folder is gone.
    """
    try:
        return path.resolve()
    except RuntimeError:
        raise UserError(
            "it cannot be read: its links lead in a circle",
            hint="`ls -l` shows where each of them leads",
            place=Place(shown(path)),
        ) from None
    except (OSError, ValueError) as error:
        if not path.is_absolute():
            current_folder()
        reason = error.strerror if isinstance(error, OSError) else None
        raise UserError(f"it cannot be read: {reason or error}", place=Place(shown(path))) from None


def current_folder() -> Path:
    """Where this run was started. Raises `UserError` where that folder is gone."""
    try:
        return Path.cwd()
    except OSError:
        raise UserError(
            "the current folder is not there any more",
            hint="`cd` to one that is",
            place=Place(os.curdir),
        ) from None


def shown(path: Path) -> str:
    """A path as a person of this run would write it, printable whatever its bytes are."""
    relative = _from_here(path)
    text = os.fsencode(relative.as_posix()).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


def _from_here(path: Path) -> Path:
    try:
        here = Path.cwd()
    except OSError:
        return path  # in full: this is also said in the message that the folder is gone
    return path.relative_to(here) if path.is_relative_to(here) else path
