"""Which folders of a tree are skills: the working copy's rule, for a commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from skill_delta.core.skills import NEVER_SEARCHED, SKILL_FILENAMES
from skill_delta.history.repository import Entry, Repository
from skill_delta.history.tree_changes import REPORT_FOLDER

_NEVER_SEARCHED = frozenset(name.encode() for name in NEVER_SEARCHED)


class SkillEntry(NamedTuple):
    """A skill's folder as a tree has it: the folder's tree, and its SKILL.md by its real name.

    The SKILL.md may be a link or a submodule: then it is a skill that cannot be read.
    """

    tree: bytes
    filename: str
    file: Entry


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder of the tree. `tree` is None where there is none; `owner` is the innermost skill's.

    `is_searched` is whether a SKILL.md in it makes it a skill.
    """

    tree: bytes | None
    skill: SkillEntry | None
    owner: bytes | None
    is_searched: bool


class TreeSkills:
    """The skills of one tree, looked up by their folders. Paths are from the root; b"" is it."""

    def __init__(self, repository: Repository, tree: bytes) -> None:
        self._repository = repository
        root = _skill_entry(repository, tree)
        self._known = {b"": _Folder(tree, root, None if root is None else b"", is_searched=True)}

    def at(self, folder: bytes) -> SkillEntry | None:
        """The skill in a folder, None where there is none. Raises `Unreadable`."""
        return self._folder(folder).skill

    def owner(self, folder: bytes) -> bytes | None:
        """The innermost folder, this one or one above, that is a skill. Raises `Unreadable`."""
        return self._folder(folder).owner

    def tree(self, folder: bytes) -> bytes | None:
        """The tree of a folder, None where there is no such folder. Raises `Unreadable`."""
        return self._folder(folder).tree

    def _folder(self, path: bytes) -> _Folder:
        # By a loop: a hostile path may have more steps than Python has stack.
        unknown = []
        while path not in self._known:
            unknown.append(path)
            path = path.rpartition(b"/")[0]
        known = self._known[path]
        for below in reversed(unknown):
            known = self._known[below] = self._below(known, below)
        return known

    def _below(self, above: _Folder, path: bytes) -> _Folder:
        name = path.rpartition(b"/")[2]
        entry = self._repository.entry(above.tree, name) if above.tree is not None else None
        if entry is None or not entry.is_tree:
            return _Folder(None, None, above.owner, above.is_searched)
        skill = _skill_entry(self._repository, entry.oid)
        if not _is_searched(above, path, name, skill):
            return _Folder(entry.oid, None, above.owner, is_searched=False)
        return _Folder(entry.oid, skill, path if skill else above.owner, is_searched=True)


def _is_searched(above: _Folder, path: bytes, name: bytes, skill: SkillEntry | None) -> bool:
    # A `pyvenv.cfg` hides nothing here, as it does on a machine: anyone could commit one.
    if not above.is_searched or name in _NEVER_SEARCHED or path == REPORT_FOLDER:
        return False
    # Fixtures; a skill may be called "evals" all the same.
    return not (name == b"evals" and (above.owner is not None or skill is None))


def _skill_entry(repository: Repository, tree: bytes) -> SkillEntry | None:
    for name in SKILL_FILENAMES:
        file = repository.entry(tree, name.encode())
        if file is not None and not file.is_tree:
            return SkillEntry(tree, name, file)
    return None
