"""What the base of a pull request has of the skills that it changes: names, cases, their bars."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.policy import Reason, Verdict
from skill_delta.core.suite import Suite
from skill_delta.core.wording import clipped, count, listed
from skill_delta.errors import UserError, UserErrors
from skill_delta.formats import read_suite
from skill_delta.history.committed_skills import names_at
from skill_delta.history.repository import Repository
from skill_delta.history.tree_files import TreeFiles
from skill_delta.history.versions import short
from skill_delta.wiring.skill_names import KnownSkills


@dataclass(frozen=True, slots=True)
class BaseEnd:
    """The base commit. `names` has each skill that the pull request changes, by its folder."""

    commit: bytes
    files: TreeFiles
    names: Mapping[PurePosixPath, str]

    @classmethod
    def of(cls, repository: Repository, commit: bytes, changes: Sequence[SkillChange]) -> BaseEnd:
        """Raises `UnknownBase` where a part of the commit is not in this clone."""
        folders = [change.base_folder for change in changes if change.base_folder is not None]
        files = TreeFiles(repository, repository.commit(commit).tree)
        return cls(commit, files, names_at(repository, commit, folders))

    def suite(self, folder: PurePosixPath) -> Suite | UserError | None:
        """The cases of the skill in a folder, or what is wrong with its eval files."""
        try:
            return read_suite(self.names[folder], self.files, folder)
        except UserError as error:
            return error

    def judging_suite(self, folder: PurePosixPath, name: str) -> Suite | None:
        """The same, for the skill under the name that the head gives it.

        Raises `UserErrors` with the base's places: the author of the head may be blameless.
        """
        try:
            return read_suite(name, self.files, folder)
        except UserError as error:
            first = UserError(
                f"the cases of {self} are to judge (suite is base), and cannot be read",
                hint="put them right where the base is, or judge by the head's: suite: head",
            )
            raise UserErrors((first, *map(self._located, error.each))) from None

    def unknown(self, error: UserError) -> str:
        """That nobody knows what became of the base's cases, since they cannot be read."""
        first, *others = error.each
        more = f" (and {count(len(others), 'more problem')})" if others else ""
        return (
            "what the pull request does to its cases is unknown, since those of the base cannot "
            f"be read: {clipped(self._located(first).problem, 500)}{more}"
        )

    def _located(self, error: UserError) -> UserError:
        """The same problem as one of the base: no place in the head's files is at fault."""
        at = f"{error.place} at {self}: " if error.place else f"at {self}: "
        return UserError(f"{at}{error.problem}", hint=error.hint)

    def __str__(self) -> str:
        return f"the base commit {short(self.commit)}"

    def names_of(self, folder: PurePosixPath | None) -> tuple[str, ...]:
        """What the skill in a folder of the base goes by; nothing for a new skill."""
        name = None if folder is None else self.names[folder]
        return () if name is None else (name, f"{name} ({folder})")


@dataclass(frozen=True, slots=True)
class NamedBars:
    """The bars that were set for skills by name, and what a pull request does to these skills.

    `names` are those that have a bar; `known` what the skills of the run go by, now and formerly.
    """

    names: Collection[str]
    known: KnownSkills
    changes: Sequence[SkillChange]
    before: BaseEnd

    def kept(self) -> Iterator[str]:
        """The bars that hold for a skill by the name that it had."""
        now, formerly, _ = self.known
        for name, labels in formerly.items():
            for label in labels:
                if name in self.names and label not in now.get(name, ()):
                    yield f"{label}: called '{name}' at the base, whose bar holds for it"

    def dropped(self) -> Iterator[str]:
        """The bars that hold for nothing any more."""
        for name in () if self._new else self._without_a_skill():
            yield f"{name}: it has a bar of its own and is removed, so that the bar holds for none"

    def doubts(self) -> Iterator[Reason]:
        """A skill that has a bar is gone, and another one came: it may be the same, rewritten."""
        for name in self._without_a_skill() if self._new else ():
            yield Reason(
                f"skill '{name}' has a bar of its own and is gone, and new is {listed(self._new)}: "
                "whether the bar should hold for it cannot be told",
                Verdict.INCONCLUSIVE,
            )

    @property
    def _new(self) -> Sequence[str]:
        return [str(change.folder) for change in self.changes if change.kind is ChangeKind.ADDED]

    def _without_a_skill(self) -> Iterator[str]:
        removed = (change for change in self.changes if change.kind is ChangeKind.REMOVED)
        for name in (name for change in removed for name in self.before.names_of(change.folder)):
            if name in self.names and not (name in self.known.now or name in self.known.formerly):
                yield name
