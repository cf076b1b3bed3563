"""The files around a skill, held in memory, and what is read from them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from skill_delta.core.suite import Suite
from skill_delta.errors import Place, UserError, UserErrors
from skill_delta.formats import read_suite

SKILL = PurePosixPath("skills/order-support")
EVALS = "skills/order-support/evals"


class InMemoryFiles:
    """A `SourceFiles` over a mapping from path to text or bytes."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._files = {
            PurePosixPath(path): held.encode() if isinstance(held, str) else held
            for path, held in files.items()
        }

    def read(self, path: PurePosixPath) -> bytes:
        if path not in self._files:
            raise UserError("there is no such file", place=Place(str(path)))
        return self._files[path]

    def listing(self, folder: PurePosixPath) -> Sequence[PurePosixPath] | None:
        if all(folder not in path.parents for path in self._files):
            return None
        return sorted(path for path in self._files if path.parent == folder)

    def shown(self, path: PurePosixPath) -> str:
        return str(path)


def suite_of(evals: str | bytes, name: str = "a.yaml", **others: str) -> Suite:
    """The suite of a skill with one eval file, and perhaps `other` files in the same folder."""
    files = {
        f"{EVALS}/{name}": evals,
        **{f"{EVALS}/{key}.yaml": text for key, text in others.items()},
    }
    suite = read_suite("order-support", InMemoryFiles(files), SKILL)
    assert suite is not None
    return suite


def problems_of(evals: str | bytes, name: str = "a.yaml", **others: str) -> list[str]:
    """What is wrong with the skill's eval files: `line: field: problem`, and the hint if any.

    Columns are left out: `places_of` has them.
    """
    try:
        suite_of(evals, name, **others)
    except UserErrors as errors:
        return [_told(error) for error in errors.errors]
    return []


def places_of(evals: str | bytes, name: str = "a.yaml") -> list[tuple[int | None, int | None]]:
    """Where each problem is: its line and column."""
    try:
        suite_of(evals, name)
    except UserErrors as errors:
        return [(e.place.line, e.place.column) for e in errors.errors if e.place is not None]
    return []


def _told(error: UserError) -> str:
    return without_columns(str(error).removeprefix(f"{EVALS}/a.yaml:"))


def without_columns(text: str) -> str:
    """The text with every `:line:column:` cut down to `:line:`."""
    return re.sub(
        r"(^|\.(?:ya?ml|json|md|eval):)(\d+):\d+(?=\D|$)", r"\1\2", text, flags=re.MULTILINE
    )
