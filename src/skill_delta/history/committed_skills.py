"""The skills that a pull request changes, as its head commit has them: the candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.skill_text import parse_skill
from skill_delta.core.skills import SKILL_FILENAMES, WorkingSkill
from skill_delta.errors import Place, UserError, UserErrors
from skill_delta.history.base import UnknownBase
from skill_delta.history.bundle import BundleError, Limits, extract_bundle
from skill_delta.history.repository import BLOB, Repository, Unreadable
from skill_delta.history.tree_files import TreeFiles
from skill_delta.history.tree_skills import SkillEntry, TreeSkills
from skill_delta.history.versions import NotASkillError, skill_at


@dataclass(frozen=True, slots=True)
class ChangedSkill:
    """A skill that a pull request changes or adds, and how.

    `working` is the candidate as a commit has it. Its `location` says where a checkout puts the
    skill, and is read by nobody: the work tree may hold something else.
    """

    change: SkillChange
    working: WorkingSkill


def read_changed_skills(
    repository: Repository,
    head: bytes,
    changes: Sequence[SkillChange],
    scratch: Path,
    limits: Limits | None = None,
) -> tuple[ChangedSkill, ...]:
    """The candidates, in the order of the changes; a removed skill is none.

    `changes` are those that this head made. Bundles are extracted into new folders under
    `scratch`, whose owner removes them. Raises `UserErrors` with every skill that cannot be read,
    among them one whose SKILL.md is a link, and `UnknownBase` where a part of the commit is not in
    this clone.
    """
    try:
        reader = _Reader(repository, head, scratch, limits or Limits())
        return reader.read([c for c in changes if c.kind is not ChangeKind.REMOVED])
    except Unreadable as error:
        raise UnknownBase(str(error)) from None


def names_at(
    repository: Repository, commit: bytes, folders: Iterable[PurePosixPath]
) -> Mapping[PurePosixPath, str]:
    """What the skills in these folders of a commit are called, by folder.

    One that cannot be read goes by its folder. Raises `UnknownBase` where a part of the commit is
    not in this clone.
    """
    try:
        skills = TreeSkills(repository, repository.commit(commit).tree)
        return {folder: _name_at(repository, commit, folder, skills) for folder in folders}
    except Unreadable as error:
        raise UnknownBase(str(error)) from None


def _name_at(
    repository: Repository, commit: bytes, folder: PurePosixPath, skills: TreeSkills
) -> str:
    entry, root_name = skills.at(folder_bytes(folder)), repository.worktree.name
    try:
        if entry is not None:
            path = folder_bytes(folder / entry.filename)
            return skill_at(repository, commit, path, root_name).skill.name
    except NotASkillError:
        pass
    return folder.name or root_name


class _Reader:
    """Reads skills from one commit."""

    def __init__(self, repository: Repository, head: bytes, scratch: Path, limits: Limits) -> None:
        tree = repository.commit(head).tree
        self._repository = repository
        self._commit = head.hex()
        self._skills = TreeSkills(repository, tree)
        self._files = TreeFiles(repository, tree)
        self._scratch = scratch
        self._limits = limits

    def read(self, changes: Sequence[SkillChange]) -> tuple[ChangedSkill, ...]:
        skills: list[ChangedSkill] = []
        errors: list[UserError] = []
        for change in changes:
            skill = self._skills.at(folder_bytes(change.folder))
            if skill is None:
                raise ValueError(f"{change.folder} is no skill of commit {self._commit}")
            try:
                skills.append(ChangedSkill(change, self._skill(change.folder, skill)))
            except UserError as error:
                errors.append(error)
        if errors:
            raise UserErrors(tuple(errors))
        return tuple(skills)

    def _skill(self, folder: PurePosixPath, entry: SkillEntry) -> WorkingSkill:
        path = folder / entry.filename
        place = Place(self._files.shown(path))
        if not _is_utf_8(folder):
            raise UserError("the folder's name is not UTF-8", hint="rename it", place=place)
        if entry.file.is_file:
            # A partial clone may lack it, which is no fault of the skill.
            self._repository.read(entry.file.oid, BLOB)
        text = self._files.read(path)
        name = folder.name or self._repository.worktree.name
        parsed = parse_skill(text, file=place.file, folder_name=name)
        try:
            bundle, left_out = extract_bundle(
                self._repository, entry.tree, self._scratch, self._limits
            )
        except BundleError as error:
            raise UserError(
                f"the files that the skill ships cannot be extracted: {error}",
                hint="give the skill a folder of its own, with nothing in it that it does not need",
                place=place,
            ) from None
        notes = [f"left out of the files that the skill ships: {name}" for name in left_out]
        if entry.filename != SKILL_FILENAMES[0]:
            notes.append(f"the file is called {entry.filename}: some runtimes only load SKILL.md")
        return WorkingSkill(
            location=self._repository.worktree / folder,
            filename=entry.filename,
            text=text,
            skill=replace(parsed.skill, folder=folder, commit=self._commit, bundle=bundle),
            warnings=(*parsed.warnings, *notes),
        )


def folder_bytes(folder: PurePosixPath) -> bytes:
    """A skill's folder as trees spell it; b"" for the root."""
    return b"" if folder == PurePosixPath() else str(folder).encode("utf-8", "surrogateescape")


def _is_utf_8(folder: PurePosixPath) -> bool:
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        return False
    return True
