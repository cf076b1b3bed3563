"""`ports.Baselines` from git: `previous`, `base`, or whatever revision a person names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from skill_delta.core.documents import decode
from skill_delta.core.skills import (
    SKILL_FILENAMES,
    SkillVersion,
    Unresolved,
    UnresolvedReason,
    WorkingSkill,
)
from skill_delta.errors import UserError
from skill_delta.history.bundle import Limits
from skill_delta.history.layout import GitFolders, find_git
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.revisions import default_branch, find_commit, merge_base
from skill_delta.history.search import Candidate, find_previous, no_earlier_version
from skill_delta.history.versions import (
    NotASkillError,
    PastSkill,
    short,
    shown,
    skill_at,
    with_bundle,
)
from skill_delta.history.working_files import shown as shown_here
from skill_delta.history.working_files import source_files_for

Answer = SkillVersion | Unresolved


@dataclass(frozen=True, slots=True)
class _Asked:
    """A skill of one repository, by its place there."""

    skill: WorkingSkill
    folder: bytes

    def path(self, filename: str) -> bytes:
        name = os.fsencode(filename)
        return self.folder + b"/" + name if self.folder else name

    @property
    def own_path(self) -> bytes:
        return self.path(self.skill.filename)


class GitBaselines:
    """Earlier versions of skills, read with dulwich; no `git` program is run.

    `start` is the revision whose history is searched (and what `base` means); without one that is
    HEAD, and `base` is where HEAD left the default branch. Bundles are extracted into new folders
    under `scratch`, whose owner removes them when the run ends.
    """

    def __init__(self, scratch: Path, start: str | None, limits: Limits | None = None) -> None:
        self._scratch = scratch
        self._start = start
        self._limits = limits or Limits()
        self.left_out: dict[PurePath, tuple[str, ...]] = {}
        """Links, submodules and unportable names that are in no bundle, by the skill's location."""

    def resolve(
        self, skills: Sequence[WorkingSkill], baseline: str
    ) -> Mapping[PurePath, SkillVersion | Unresolved]:
        """Each skill's version under `baseline`, by its location.

        Every skill gets an answer; a fact about the repository is an `Unresolved`. Raises
        `UserError` only for a revision that names no commit.
        """
        answers: dict[PurePath, Answer] = {}
        for folders, members in _by_repository(skills).items():
            if folders is None:
                answers |= {skill.location: _not_a_repository(skill) for skill in members}
                continue
            try:
                repository = Repository.open(folders)
            except Unreadable as error:
                problem = _not_readable(folders, error)
                answers |= {skill.location: problem for skill in members}
                continue
            with repository:
                answers |= self._in_repository(repository, members, baseline)
        return answers

    def _in_repository(
        self, repository: Repository, skills: Sequence[WorkingSkill], baseline: str
    ) -> dict[PurePath, Answer]:
        answers: dict[PurePath, Answer] = {}
        asked: list[_Asked] = []
        for skill in skills:
            if (problem := _unreadable(skill)) is not None:
                answers[skill.location] = problem
            else:
                folder = Path(skill.location).relative_to(repository.worktree).as_posix()
                asked.append(_Asked(skill, b"" if folder == "." else os.fsencode(folder)))
        found = (
            self._previous(repository, asked)
            if baseline == "previous"
            else self._at_revision(repository, asked, baseline)
        )
        for one, version in zip(asked, found, strict=True):
            answers[one.skill.location] = (
                self._with_bundle(repository, one, version)
                if isinstance(version, PastSkill)
                else version
            )
        return answers

    # ------------------------------------------------------------ previous

    def _previous(
        self, repository: Repository, asked: Sequence[_Asked]
    ) -> list[PastSkill | Unresolved]:
        start = find_commit(repository, self._start) if self._start else repository.head()
        tracked = [one for one in asked if repository.is_tracked(one.own_path)]
        found: list[PastSkill | Unresolved]
        if start is None:
            found = [no_earlier_version("the repository has no commit yet") for _ in tracked]
        else:
            found = find_previous(repository, start, [_candidate(one) for one in tracked])
        by_path = dict(zip((one.own_path for one in tracked), found, strict=True))
        return [by_path.get(one.own_path) or _not_tracked(one) for one in asked]

    # ------------------------------------------------------------ base, or a named revision

    def _at_revision(
        self, repository: Repository, asked: Sequence[_Asked], baseline: str
    ) -> list[PastSkill | Unresolved]:
        if baseline != "base":
            commit = find_commit(repository, baseline)
            label = f"{baseline} (commit {short(commit)})"
        elif self._start:
            commit = find_commit(repository, self._start)
            label = f"the base commit {short(commit)}"
        else:
            base = _fork_point(repository)
            if isinstance(base, Unresolved):
                return [base for _ in asked]
            commit = base
            label = f"the base commit {short(commit)}"
        return [self._at(repository, one, commit, label) for one in asked]

    def _at(
        self, repository: Repository, one: _Asked, commit: bytes, label: str
    ) -> PastSkill | Unresolved:
        try:
            tree = repository.commit(commit).tree
            names = dict.fromkeys((one.skill.filename, *SKILL_FILENAMES))
            there = [name for name in names if repository.entry(tree, one.path(name)) is not None]
            if there:
                return skill_at(repository, commit, one.path(there[0]), _root_name(one))
            if not repository.is_tracked(one.own_path):
                return _not_tracked(one)
        except (Unreadable, NotASkillError) as error:
            return Unresolved(
                UnresolvedReason.COMMIT_UNREADABLE,
                f"the files of commit {short(commit)} cannot be read: {error}",
            )
        return no_earlier_version(f"{label} has no {shown(one.own_path)}")

    # ------------------------------------------------------------ the bundle

    def _with_bundle(self, repository: Repository, one: _Asked, past: PastSkill) -> Answer:
        answer, left_out = with_bundle(repository, past, self._scratch, self._limits)
        if left_out:
            self.left_out[one.skill.location] = left_out
        return answer


def _by_repository(
    skills: Sequence[WorkingSkill],
) -> dict[GitFolders | None, list[WorkingSkill]]:
    groups: dict[GitFolders | None, list[WorkingSkill]] = {}
    for skill in skills:
        groups.setdefault(find_git(Path(skill.location)), []).append(skill)
    return groups


def _fork_point(repository: Repository) -> bytes | Unresolved:
    """Where HEAD left the default branch."""
    head, branch = repository.head(), default_branch(repository)
    if head is None or branch is None:
        return no_earlier_version("the repository has no commit yet")
    try:
        base = merge_base(repository, head, branch)
    except Unreadable as error:
        return Unresolved(
            UnresolvedReason.COMMIT_UNREADABLE, f"the base commit cannot be found: {error}"
        )
    if base is not None:
        return base
    shallow = "; this clone is shallow, which may be why" if repository.shallow else ""
    return no_earlier_version(f"HEAD and the default branch share no commit{shallow}")


def _candidate(one: _Asked) -> Candidate:
    skill = one.skill
    text = decode(skill.text, skill.filename)
    return Candidate(one.own_path, text, skill.skill.version, _root_name(one))


def _root_name(one: _Asked) -> str:
    return one.skill.location.name


def _unreadable(skill: WorkingSkill) -> Unresolved | None:
    """The working copy is what is compared: where it is gone, or no text, nothing can be."""
    files, folder = source_files_for(Path(skill.location))
    try:
        files.read(folder / skill.filename)
        decode(skill.text, files.shown(folder / skill.filename))
    except UserError as error:
        return Unresolved(
            UnresolvedReason.WORKING_COPY_UNREADABLE,
            f"the working copy's SKILL.md cannot be read: {error.place}: {error.problem}",
        )
    return None


def _not_a_repository(skill: WorkingSkill) -> Unresolved:
    place = shown_here(Path(skill.location))
    return Unresolved(UnresolvedReason.NOT_A_REPOSITORY, f"{place} is not in a git repository")


def _not_readable(folders: GitFolders, error: Unreadable) -> Unresolved:
    place = shown_here(folders.worktree)
    return Unresolved(
        UnresolvedReason.NOT_A_REPOSITORY,
        f"the git repository {place} cannot be read: {error} (`git status` may say more)",
    )


def _not_tracked(one: _Asked) -> Unresolved:
    return Unresolved(
        UnresolvedReason.NOT_TRACKED,
        f"{shown(one.own_path)} is not tracked by git (`git add` and commit it first)",
    )
