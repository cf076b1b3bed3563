"""The skills that a pull request changes, told from its two trees alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from skill_delta.core.changes import ChangedFile, SkillChange, SkillFile, SkillsAt, skill_changes
from skill_delta.core.skills import SkillVersion
from skill_delta.history.base import Ends, UnknownBase
from skill_delta.history.repository import Entry, Repository, Unreadable
from skill_delta.history.tree_changes import FileChange, tree_changes
from skill_delta.history.tree_skills import SkillEntry, TreeSkills


def changed_skills(repository: Repository, ends: Ends) -> tuple[SkillChange, ...]:
    """What the pull request does to each skill, in the order of their folders.

    A skill is new only where the base's tree was read and does not have it. Raises `UnknownBase`
    where a part of either tree is not in this clone.
    """
    try:
        return _Comparison(repository, ends).changes()
    except Unreadable as error:
        raise UnknownBase(str(error)) from None


class _Comparison:
    """Both trees, and the files that differ between them."""

    def __init__(self, repository: Repository, ends: Ends) -> None:
        self._repository = repository
        self._ends = ends
        self._trees = [repository.commit(oid).tree for oid in (ends.base, ends.head)]
        self._base, self._head = (TreeSkills(repository, tree) for tree in self._trees)

    def changes(self) -> tuple[SkillChange, ...]:
        files = {change.path: change for change in tree_changes(self._repository, *self._trees)}
        self._add_those_that_stayed(files)
        folders = _folders_above(files)
        base = {folder: skill for folder in folders if (skill := self._base.at(folder))}
        head = {folder: skill for folder in folders if (skill := self._head.at(folder))}
        return skill_changes(
            [_changed_file(change) for change in files.values() if self._is_in_a_skill(change)],
            self._skills_at(self._ends.base, base),
            self._skills_at(self._ends.head, head),
        )

    def _add_those_that_stayed(self, files: dict[bytes, FileChange]) -> None:
        """What lay beside a SKILL.md that came or went is now another skill's, or no skill's."""
        for folder in _folders_above(files):
            ends = self._base.at(folder), self._head.at(folder)
            skill = ends[0] or ends[1]
            if skill is None or None not in ends:
                continue
            if None in (self._base.tree(folder), self._head.tree(folder)):
                continue  # the whole folder came or went, so all of it differs
            prefix = folder + b"/" if folder else b""
            for file in tree_changes(self._repository, None, skill.tree):
                path = prefix + file.path
                files.setdefault(path, FileChange(path, file.after, file.after))

    def _is_in_a_skill(self, change: FileChange) -> bool:
        folder = change.path.rpartition(b"/")[0]
        return self._base.owner(folder) is not None or self._head.owner(folder) is not None

    def _skills_at(self, commit: bytes, skills: dict[bytes, SkillEntry]) -> SkillsAt:
        by_folder = {_place(folder): (folder, skill) for folder, skill in skills.items()}

        def read(place: PurePosixPath) -> SkillVersion | None:
            return _skill(self._repository, commit, *by_folder[place])

        def name_of(place: PurePosixPath) -> str | None:
            skill = read(place)
            return skill.name if skill else None

        def text_of(place: PurePosixPath) -> str:
            skill = read(place)
            return skill.instructions if skill else ""

        return SkillsAt(
            {
                place: SkillFile(skill.filename, _content(skill.file))
                for place, (_, skill) in by_folder.items()
            },
            name_of,
            text_of,
        )


def _folders_above(paths: Iterable[bytes]) -> list[bytes]:
    """Every folder that one of the files lies in, at any depth; the root is one."""
    found: set[bytes] = set()
    for path in paths:
        folder = path
        while folder:
            folder = folder.rpartition(b"/")[0]
            if folder in found:
                break
            found.add(folder)
    return sorted(found)


def _skill(
    repository: Repository, commit: bytes, folder: bytes, skill: SkillEntry
) -> SkillVersion | None:
    # Only a skill that may have moved is parsed here, and the parser takes long to load.
    from skill_delta.history.versions import NotASkillError, skill_at  # noqa: PLC0415

    path = b"/".join([*([folder] if folder else []), skill.filename.encode()])
    try:
        return skill_at(repository, commit, path, repository.worktree.name).skill
    except NotASkillError:
        return None


def _changed_file(change: FileChange) -> ChangedFile:
    return ChangedFile(_place(change.path), _mark(change.before), _mark(change.after))


def _place(path: bytes) -> PurePosixPath:
    return PurePosixPath(path.decode("utf-8", "surrogateescape"))


def _mark(entry: Entry | None) -> str | None:
    return None if entry is None else f"{entry.mode:o} {entry.oid.hex()}"


def _content(entry: Entry) -> str:
    """A mark of what SKILL.md says: whether it is executable says nothing."""
    return entry.oid.hex() if entry.is_file else f"{entry.mode:o} {entry.oid.hex()}"
