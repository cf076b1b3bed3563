"""`ports.Baselines` for the skills that a pull request changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath

from skill_delta.core.documents import decode
from skill_delta.core.skills import SkillVersion, Unresolved, UnresolvedReason, WorkingSkill
from skill_delta.history.base import Ends
from skill_delta.history.bundle import Limits
from skill_delta.history.committed_skills import ChangedSkill, folder_bytes
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.revisions import find_commit
from skill_delta.history.search import Candidate, find_previous, no_earlier_version
from skill_delta.history.tree_skills import TreeSkills
from skill_delta.history.versions import (
    NotASkillError,
    PastSkill,
    short,
    shown,
    skill_at,
    with_bundle,
)

_UNCHANGED = "SKILL.md is unchanged: compared with the base commit"
_NOT_BUMPED = "version not bumped: compared with the base commit"
_MAY_BE_HIDDEN = " (this clone is shallow: an earlier version may lie beyond its end)"


class PullRequestBaselines:
    """Earlier versions of a pull request's skills: `previous` is searched for from its base.

    `repository` stays open while this is used. Bundles are extracted into new folders under
    `scratch`, whose owner removes them when the run ends.
    """

    def __init__(
        self,
        repository: Repository,
        ends: Ends,
        skills: Sequence[ChangedSkill],
        scratch: Path,
        limits: Limits | None = None,
    ) -> None:
        self._repository = repository
        self._base = ends.base
        self._changed = {skill.working.location: skill for skill in skills}
        self._scratch = scratch
        self._limits = limits or Limits()
        self._skills_at: dict[bytes, TreeSkills] = {}
        self.left_out: dict[PurePath, tuple[str, ...]] = {}
        """Links, submodules and unportable names that are in no bundle, by the skill's location."""
        self.notes: dict[PurePath, str] = {}
        """Why `previous` is what it is, where that is not an earlier commit of the skill's own."""

    def resolve(
        self, skills: Sequence[WorkingSkill], baseline: str
    ) -> Mapping[PurePath, SkillVersion | Unresolved]:
        """Each skill's version under `baseline`, by its location.

        Every skill gets an answer; a fact about the repository is an `Unresolved`. Raises
        `UserError` only for a revision that names no commit.
        """
        changed = [self._changed[skill.location] for skill in skills]
        if baseline == "previous":
            found = self._previous(changed)
        elif baseline == "base":
            found = [self._at_base(skill) for skill in changed]
        else:
            commit = find_commit(self._repository, baseline)
            label = f"{baseline} (commit {short(commit)})"
            found = [self._at(skill, commit, label) for skill in changed]
        return {
            skill.working.location: self._with_bundle(skill, version)
            for skill, version in zip(changed, found, strict=True)
        }

    # ------------------------------------------------------------ previous

    def _previous(self, skills: Sequence[ChangedSkill]) -> list[PastSkill | Unresolved]:
        at_base = [self._at_base(skill) for skill in skills]
        searched = {
            skill.working.location: candidate
            for skill, base in zip(skills, at_base, strict=True)
            if (candidate := self._candidate(skill, base)) is not None
        }
        answers = find_previous(self._repository, self._base, list(searched.values()))
        found = dict(zip(searched, answers, strict=True))
        return [
            self._chosen(skill, base, found.get(skill.working.location))
            for skill, base in zip(skills, at_base, strict=True)
        ]

    def _candidate(self, skill: ChangedSkill, base: PastSkill | Unresolved) -> Candidate | None:
        """What to search for; None where `previous` can only be what the base has."""
        working = skill.working
        text = decode(working.text, working.filename)
        if skill.change.base_folder is None or (isinstance(base, PastSkill) and base.text == text):
            return None
        try:
            path = self._path(self._base, skill)
        except Unreadable:
            return None
        if path is None:
            return None
        return Candidate(path, text, working.skill.version, self._root_name)

    def _chosen(
        self,
        skill: ChangedSkill,
        base: PastSkill | Unresolved,
        found: PastSkill | Unresolved | None,
    ) -> PastSkill | Unresolved:
        """What was found; the base's own where SKILL.md is the same, or no commit differs more."""
        if found is None:
            note = _UNCHANGED
        elif isinstance(base, PastSkill) and _found_none(found):
            note = _NOT_BUMPED + (_MAY_BE_HIDDEN if self._repository.shallow else "")
        else:
            return found
        if isinstance(base, PastSkill):
            self.notes[skill.working.location] = note
        return base

    # ------------------------------------------------------------ at one commit

    def _at_base(self, skill: ChangedSkill) -> PastSkill | Unresolved:
        return self._at(skill, self._base, f"the base commit {short(self._base)}")

    def _at(self, skill: ChangedSkill, commit: bytes, label: str) -> PastSkill | Unresolved:
        try:
            path = self._path(commit, skill)
            if path is not None:
                return skill_at(self._repository, commit, path, self._root_name)
        except (Unreadable, NotASkillError) as error:
            return Unresolved(
                UnresolvedReason.COMMIT_UNREADABLE,
                f"the files of commit {short(commit)} cannot be read: {error}",
            )
        folder = shown(folder_bytes(skill.change.base_folder or skill.change.folder))
        return no_earlier_version(f"{label} has no skill in {folder or 'its top folder'}")

    def _path(self, commit: bytes, skill: ChangedSkill) -> bytes | None:
        """Where a commit has the skill's SKILL.md: where the base has it, else where it is now."""
        if commit not in self._skills_at:
            tree = self._repository.commit(commit).tree
            self._skills_at[commit] = TreeSkills(self._repository, tree)
        for folder in (skill.change.base_folder, skill.change.folder):
            if folder is None:
                continue
            place = folder_bytes(folder)
            entry = self._skills_at[commit].at(place)
            if entry is not None:
                name = entry.filename.encode()
                return place + b"/" + name if place else name
        return None

    @property
    def _root_name(self) -> str:
        return self._repository.worktree.name

    # ------------------------------------------------------------ the bundle

    def _with_bundle(
        self, skill: ChangedSkill, past: PastSkill | Unresolved
    ) -> SkillVersion | Unresolved:
        if isinstance(past, Unresolved):
            return past
        answer, left_out = with_bundle(self._repository, past, self._scratch, self._limits)
        if left_out:
            self.left_out[skill.working.location] = left_out
        return answer


def _found_none(found: PastSkill | Unresolved) -> bool:
    """Whether the search ended without an earlier version, rather than being cut short."""
    return isinstance(found, Unresolved) and found.reason is UnresolvedReason.NO_EARLIER_VERSION
