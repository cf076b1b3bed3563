"""The skills on this machine: where they are, and what each of them says."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skill_delta.core.skill_text import parse_skill
from skill_delta.core.skills import NEVER_SEARCHED, SKILL_FILENAMES, WorkingSkill
from skill_delta.errors import Place, UserError, UserErrors
from skill_delta.history.layout import find_git
from skill_delta.history.places import resolved
from skill_delta.history.working_bundle import BundleRefusedError, working_bundle
from skill_delta.history.working_files import WorkingFiles, shown, source_files_for

__all__ = ["WorkingFiles", "find_skills", "source_files_for"]


def find_skills(paths: Sequence[Path]) -> tuple[WorkingSkill, ...]:
    """The skills at and below the paths, each once, in the order of their folders.

    A path is a SKILL.md, a skill's folder, or a folder somewhere above skills. Version control,
    dependencies, virtual environments, other work trees of the same repository and eval fixtures
    are not searched. Raises `UserErrors` with every path that is missing and every skill that
    cannot be read.
    """
    errors: list[UserError] = []
    places: dict[Path, str] = {}
    for path in paths:
        try:
            places |= dict(_places(path))
        except UserError as error:
            errors.append(error)
        except OSError as error:
            reason = f"it cannot be read: {error.strerror or error}"
            errors.append(UserError(reason, place=Place(shown(path))))
    skills: list[WorkingSkill] = []
    for folder, filename in sorted(places.items()):
        try:
            skills.append(_read(folder, filename))
        except UserError as error:
            errors.append(error)
    if errors:
        raise UserErrors(tuple(errors))
    return tuple(skills)


def _places(path: Path) -> Iterator[tuple[Path, str]]:
    """The folders at and below a path that hold a skill, each with its file's name."""
    if path.name in SKILL_FILENAMES and not path.is_dir():
        if not os.path.lexists(path):
            raise _missing(path)
        yield resolved(path.parent), path.name
    elif path.is_dir():
        yield from _Search.below(path).places()
    elif path.exists():
        raise UserError(
            "it is not a skill",
            hint="name a SKILL.md, a skill's folder, or a folder with skills in it",
            place=Place(shown(path)),
        )
    else:
        resolved(path)  # says so where it is a link in a circle
        raise _missing(path)


def _missing(path: Path) -> UserError:
    return UserError("there is no such file or folder", place=Place(shown(path)))


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for skills below `root`, following links only where they stay in `boundary`."""

    root: Path
    boundary: Path

    @classmethod
    def below(cls, path: Path) -> _Search:
        root = resolved(path)
        git = find_git(root)
        return cls(root, root if git is None else git.worktree)

    def places(self) -> Iterator[tuple[Path, str]]:
        seen: set[Path] = set()
        pending = [(self.root, False)]
        while pending:
            folder, in_a_skill = pending.pop()
            if folder in seen:
                continue
            seen.add(folder)
            entries = _entries(folder)
            if folder != self.root and _is_foreign(folder, entries):
                continue
            filename = _skill_file(entries)
            if filename is not None:
                yield folder, filename
            in_a_skill = in_a_skill or filename is not None
            pending += [
                (below, in_a_skill)
                for entry in entries.values()
                if (below := self._folder(entry, in_a_skill)) is not None
            ]

    def _folder(self, entry: os.DirEntry[str], in_a_skill: bool) -> Path | None:
        """The real folder behind an entry, None where it is none or is not searched."""
        if entry.name in NEVER_SEARCHED or not _is_folder(entry):
            return None
        if entry.name == "evals" and (in_a_skill or _skill_file(_entries(Path(entry))) is None):
            return None  # fixtures; a skill may be called "evals" all the same
        if not entry.is_symlink():
            return Path(entry)
        real = resolved(Path(entry))
        if not real.is_relative_to(self.boundary):
            return None
        steps = real.relative_to(self.boundary).parts
        return None if NEVER_SEARCHED.intersection(steps) else real


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads in a circle


def _entries(folder: Path) -> dict[str, os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry for entry in entries}
    except OSError:
        return {}  # what this user may not list holds no skill of theirs


def _skill_file(entries: dict[str, os.DirEntry[str]]) -> str | None:
    """The name of the SKILL.md in a folder. A folder of that name is none."""
    for name in SKILL_FILENAMES:
        if name in entries and not entries[name].is_dir(follow_symlinks=False):
            return name
    return None


def _is_foreign(folder: Path, entries: dict[str, os.DirEntry[str]]) -> bool:
    """Whether a folder is a virtual environment, or another work tree of a repository.

    Submodules are searched: what they hold is part of the work tree.
    """
    if "pyvenv.cfg" in entries:
        return True
    git = find_git(folder) if ".git" in entries else None
    return git is not None and git.worktree == folder and git.is_linked


def _read(folder: Path, filename: str) -> WorkingSkill:
    files, place = source_files_for(folder)
    path = files.shown(place / filename)
    if not _is_utf_8(folder):
        raise UserError("the folder's name is not UTF-8", hint="rename it", place=Place(path))
    text = files.read(place / filename)
    parsed = parse_skill(text, file=path, folder_name=folder.name)
    try:
        bundle, left_out = working_bundle(folder)
    except BundleRefusedError as error:
        hint = "give the skill a folder of its own, with nothing in it that it does not need"
        raise UserError(str(error), hint=hint, place=Place(path)) from None
    notes = [f"left out of the files that the skill ships: {name}" for name in left_out]
    if filename != SKILL_FILENAMES[0]:
        notes.append(f"the file is called {filename}: some runtimes only load SKILL.md")
    if (folder / filename).is_symlink():
        notes.append("SKILL.md is a link: no commit holds its text, so there is no earlier version")
    return WorkingSkill(
        location=folder,
        filename=filename,
        text=text,
        skill=replace(parsed.skill, folder=place, bundle=bundle),
        warnings=(*parsed.warnings, *notes),
    )


def _is_utf_8(folder: Path) -> bool:
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        return False
    return True
