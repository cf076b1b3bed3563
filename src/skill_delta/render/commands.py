"""Workflow commands: how a line of the log becomes an annotation, and how no other line does.

What the runner takes for one: a line that begins, after white space, with `::name …::`, and a
line with `##[name …]` anywhere in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import PurePosixPath

from skill_delta.errors import Place
from skill_delta.render.escape import plain

_MOST_LINES = 10
_LINE_CHARACTERS = 300
_TITLE_CHARACTERS = 100


class Level(StrEnum):
    """How loud an annotation is."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is to be said, and where. `place` is None for the whole run."""

    level: Level
    title: str
    message: str
    place: Place | None = None

    def redacted(self, redact: Callable[[str], str]) -> Annotation:
        """The same without secrets, which the spelling of a command would hide from `redact`."""
        return replace(self, title=redact(self.title), message=redact(self.message))

    def __str__(self) -> str:
        """The workflow command: one line and one command, whatever is in the texts.

        A place is left out where its file is not in the repository, or has an unprintable name.
        """
        properties = [("title", plain(self.title, _TITLE_CHARACTERS))]
        if self.place is not None and _is_inside(self.place.file):
            column = self.place.column if self.place.line else None
            properties += [("file", self.place.file), ("line", str(self.place.line or ""))]
            properties += [("col", str(column or ""))]
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties if value)
        lines = self.message.splitlines()[:_MOST_LINES]
        shown = "\n".join(plain(line, _LINE_CHARACTERS) for line in lines)
        return f"::{self.level} {listed}".rstrip() + f"::{_data(shown)}"


def stopped(text: str, token: str) -> str:
    """Text for the log in which no line is a workflow command, whoever wrote it.

    Until `token` comes by again the runner takes no commands, so it must be new, and hard to
    guess. Should the text hold it all the same, no line of it looks like a command either.
    """
    lines = (_inert(line) for line in re.split("\r\n|\r|\n", text.removesuffix("\n")))
    return "\n".join((f"::stop-commands::{token}", *lines, f"::{token}::")) + "\n"


def _inert(line: str) -> str:
    return re.sub(r"^(\s*):(?=:)", r"\1: ", line).replace("##[", "## [")


def _is_inside(file: str) -> bool:
    path = PurePosixPath(file)
    return not path.is_absolute() and ".." not in path.parts and file.isprintable()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
