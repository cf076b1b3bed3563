"""A skill as one commit has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from skill_delta.core.documents import decode
from skill_delta.core.skill_text import parse_skill
from skill_delta.core.skills import (
    SKILL_FILENAMES,
    SkillVersion,
    Unresolved,
    UnresolvedReason,
)
from skill_delta.errors import UserError
from skill_delta.history.bundle import BundleError, Limits, extract_bundle
from skill_delta.history.repository import BLOB, Repository, Unreadable


@dataclass(frozen=True, slots=True)
class PastSkill:
    """A SKILL.md read from a commit, without its bundle.

    `text` is what the parser saw: without a byte-order mark, line ends as `\\n`. `tree` is the
    skill's folder at that commit, None where the file was not yet called SKILL.md: what lay beside
    it then was not shipped with it.
    """

    skill: SkillVersion
    text: str
    tree: bytes | None


class NotASkillError(Exception):
    """The commit has no SKILL.md at the path that could be read as one; says why."""


def skill_at(repository: Repository, commit: bytes, path: bytes, root_name: str) -> PastSkill:
    """The skill whose SKILL.md a commit has at `path`; `root_name` names one without a folder.

    A link is never followed. Raises `NotASkillError`, and `Unreadable` where the repository lacks
    an object.
    """
    top = repository.commit(commit).tree
    folder, _, name = path.rpartition(b"/")
    tree = repository.entry(top, folder)
    entry = repository.entry(tree.oid, name) if tree is not None and tree.is_tree else None
    if tree is None or entry is None:
        raise NotASkillError(f"there is no {shown(path)}")
    if not entry.is_file:
        kind = "a link" if entry.is_link else "a folder" if entry.is_tree else "a submodule"
        raise NotASkillError(f"{shown(path)} is {kind}")
    raw = repository.read(entry.oid, BLOB)
    place = PurePosixPath(folder.decode("utf-8", "surrogateescape"))
    try:
        text = decode(raw, shown(path))
        parsed = parse_skill(raw, file=shown(path), folder_name=place.name or root_name)
    except UserError as error:
        raise NotASkillError(f"{error.place}: {error.problem}") from None
    skill = replace(parsed.skill, folder=place, commit=commit.hex())
    return PastSkill(skill, text, tree.oid if shown(name) in SKILL_FILENAMES else None)


def with_bundle(
    repository: Repository, past: PastSkill, scratch: Path, limits: Limits
) -> tuple[SkillVersion | Unresolved, tuple[str, ...]]:
    """The skill with the files that its commit shipped, and the names of what is in no bundle.

    The files are extracted into a new folder under `scratch`. `Unresolved` where they cannot be:
    old instructions are never paired with anything but their own files.
    """
    if past.tree is None:
        return past.skill, ()
    try:
        bundle, left_out = extract_bundle(repository, past.tree, scratch, limits)
    except (BundleError, Unreadable) as error:
        commit = (past.skill.commit or "")[:8]
        message = f"the bundle of commit {commit} cannot be extracted: {error}"
        return Unresolved(UnresolvedReason.BUNDLE_UNREADABLE, message), ()
    return replace(past.skill, bundle=bundle), left_out


def shown(path: bytes) -> str:
    """A path from a tree as text that can be printed anywhere."""
    return path.decode("utf-8", "backslashreplace")


def short(commit: bytes) -> str:
    """A commit as messages name it."""
    return commit.hex()[:8]
