"""What a skill is at one moment: its text, its version, and the files it ships."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath, PurePosixPath

MAX_BUNDLE_FILES = 1_000
"""The most files one skill ships. A skill at a repository's root ships the repository."""
MAX_BUNDLE_BYTES = 100 * 1024 * 1024
"""The most bytes one skill ships."""

_EVALS = frozenset({"evals", "evals.json", "replies.yaml"})
_EVAL_ENDINGS = (".eval.yaml", ".eval.yml", ".eval.json")
_NEVER_SHIPPED = frozenset(
    {
        *(".git", ".hg", ".svn", "git~1"),  # git~1: what Windows calls .git
        *("node_modules", ".venv", "__pycache__"),
        *(".env", ".npmrc", ".netrc", ".pypirc"),
    }
)

NEVER_SEARCHED = frozenset(
    {
        *(".git", ".hg", ".svn", "node_modules", "__pycache__", "site-packages"),
        *(".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
"""Folders in which nobody keeps skills of their own: version control, dependencies and caches."""

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


SKILL_FILENAMES = ("SKILL.md", "skill.md")
"""The names that make a folder a skill, the standard one first."""


def is_eval(relative: PurePosixPath) -> bool:
    """Whether a path in a skill's folder is an eval file, or lies among them.

    They hold the answers to the very cases that the skill is given. At any depth, in any case.
    """
    return any(part in _EVALS or part.endswith(_EVAL_ENDINGS) for part in _folded(relative))


def withheld(relative: PurePosixPath) -> bool:
    """Whether a path in a skill's folder is never shipped with it, as file or as folder.

    One rule for both arms: SKILL.md itself (it is delivered as instructions), eval files (they
    hold the expected answers), version control, dependency and cache folders, and files that
    hold secrets; at any depth, in any case.
    """
    parts = _folded(relative)
    if parts == ["skill.md"] or is_eval(relative):
        return True
    return any(part in _NEVER_SHIPPED or part.startswith(".env.") for part in parts)


def _folded(relative: PurePosixPath) -> list[str]:
    return [part.casefold() for part in relative.parts]


def unportable(relative: PurePosixPath) -> str:
    """Why a file of this name is left out of both arms; empty where it is not.

    Such names mean something else, or nothing, on another machine, or cannot be written in a
    report. They are named in a warning.
    """
    for part in relative.parts:
        if any(0xD800 <= ord(letter) <= 0xDFFF for letter in part):
            return "its name is not UTF-8"
        if any(ord(letter) < 0x20 or letter in "\\:\x7f" for letter in part):
            return "its name holds a backslash, a colon or a control character"
        if _DEVICE.fullmatch(part):
            return "its name is a device on Windows"
    return ""


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

    def ships_the_same_as(self, other: SkillVersion) -> bool:
        """Whether a model could not tell the two apart: the same words, the same files."""
        ours, theirs = (skill.bundle.files if skill.bundle else () for skill in (self, other))
        return (
            (self.name, self.description, self.instructions)
            == (other.name, other.description, other.instructions)
        ) and set(ours) == set(theirs)

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
