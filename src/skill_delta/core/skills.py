"""What a skill is at one moment: its text, its version, and the files it ships."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath, PurePosixPath


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One file that a skill ships. `path` is relative to the skill's folder."""

    path: PurePosixPath
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files a skill ships beside SKILL.md, without its eval files.

    `root` is the folder that holds them on this machine: the skill's own for a working copy, a
    temporary one for a version read from history.
    """

    root: PurePath
    files: tuple[BundleFile, ...]


@dataclass(frozen=True, slots=True)
class SkillVersion:
    """A skill as one commit, or the working copy, has it.

    `folder` is the skill's folder relative to the repository's root, as it was at that commit.
    `commit` is None for the working copy. `version` is None where none is declared.
    """

    name: str
    description: str
    instructions: str
    version: str | None = None
    folder: PurePosixPath = PurePosixPath()
    commit: str | None = None
    bundle: Bundle | None = None

    @property
    def is_empty(self) -> bool:
        """Nothing to tell the model. Runners key on this, so that none needs to know its arm."""
        return not self.description.strip() and not self.instructions.strip()

    @classmethod
    def none(cls, name: str) -> SkillVersion:
        """The baseline `none`: the same name, nothing else."""
        return cls(name=name, description="", instructions="")


class UnresolvedReason(StrEnum):
    """Why there is no baseline; each is a fact about the repository, not about the skill."""

    NOT_A_REPOSITORY = "not a git repository"
    NOT_TRACKED = "SKILL.md not tracked"
    WORKING_COPY_UNREADABLE = "working copy unreadable"
    NO_EARLIER_VERSION = "no earlier version"
    COMMIT_UNREADABLE = "commit unreadable"
    BUNDLE_UNREADABLE = "bundle unreadable"


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A baseline that could not be resolved: reported, never taken as "no change"."""

    reason: UnresolvedReason
    message: str


@dataclass(frozen=True, slots=True)
class WorkingSkill:
    """A skill found on this machine, the candidate of a local run.

    `location` is its folder on this machine, links resolved. `text` is SKILL.md as it stands,
    `filename` its real name (`SKILL.md`, or `skill.md` on some machines).
    """

    location: PurePath
    filename: str
    text: bytes
    skill: SkillVersion
    warnings: tuple[str, ...] = ()
