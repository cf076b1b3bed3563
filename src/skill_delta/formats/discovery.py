"""Where a skill's eval files are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skill_delta.core.wording import visible
from skill_delta.errors import Place, UserError
from skill_delta.ports import SourceFiles

FOLDER = "evals"
"""The folder beside SKILL.md whose YAML and JSON files are tried as eval files."""
_YAML = frozenset({".yaml", ".yml"})
_SUFFIXES = _YAML | {".json"}
_REPLIES = frozenset({"replies.yaml", "replies.yml"})
"""What the scripted runner answers: it lies among the eval files and is none."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be an eval file.

    `is_meant` says that someone called it one, by its name or by naming it: then it has to be.
    """

    path: PurePosixPath
    is_meant: bool


def candidates(
    files: SourceFiles, folder: PurePosixPath, explicit: Sequence[PurePosixPath]
) -> tuple[Candidate, ...]:
    """The skill's candidates: those in `evals/` first, then `*.eval.yaml` beside SKILL.md.

    `explicit` files, and the files of `explicit` folders, take the place of both. Raises
    `UserError` for an explicit folder without any.
    """
    if not explicit:
        return tuple(_beside(files, folder))
    found: dict[PurePosixPath, Candidate] = {}
    for path in explicit:
        for each in _named(files, path):
            earlier = found.get(each.path)
            found[each.path] = earlier if earlier and earlier.is_meant else each
    return tuple(found.values())


def _named(files: SourceFiles, path: PurePosixPath) -> Iterator[Candidate]:
    inside = files.listing(path)
    if inside is None:
        yield Candidate(path, is_meant=True)
        return
    found = tuple(_in_folder(inside))
    if not found:
        hint = "name a folder with .yaml, .yml or .json files in it, or a file"
        place = Place(visible(files.shown(path)))
        raise UserError("there is no eval file in this folder", hint=hint, place=place)
    yield from found


def _beside(files: SourceFiles, folder: PurePosixPath) -> Iterator[Candidate]:
    yield from _in_folder(files.listing(folder / FOLDER) or ())
    for path in files.listing(folder) or ():
        if _is_named_eval(path):
            yield Candidate(path, is_meant=True)


def _in_folder(inside: Sequence[PurePosixPath]) -> Iterator[Candidate]:
    for path in inside:
        if path.suffix.lower() in _SUFFIXES and path.name.lower() not in _REPLIES:
            yield Candidate(path, is_meant=_is_named_eval(path))


def _is_named_eval(path: PurePosixPath) -> bool:
    return path.suffix.lower() in _YAML and path.stem.lower().endswith(".eval")
