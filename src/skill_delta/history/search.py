"""The search for each skill's previous version: which commit is read, and which qualifies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skill_delta.core.skills import Unresolved, UnresolvedReason
from skill_delta.history.origins import Origins
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.versions import NotASkillError, PastSkill, short, shown, skill_at
from skill_delta.history.walk import Lost, Walk

SEARCHED = 50
"""How many commits are read for one skill, across all the paths it has had."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What a commit must differ from to be an earlier version.

    `path` is SKILL.md's, from the repository's root. `text` is compared as the parser sees it:
    line ends and a byte-order mark never reach a model, and a checkout that turns `\\n` into
    `\\r\\n` would otherwise differ from its own commit. `root_name` is the skill's folder name
    while it lies at the root.
    """

    path: bytes
    text: str
    version: str | None
    root_name: str

    def is_earlier(self, past: PastSkill) -> bool:
        """A declared version is the authority: an edit that did not bump it is this version.

        Without one, other content is the best evidence there is.
        """
        if self.version is not None:
            return past.skill.version != self.version
        return past.text != self.text

    @property
    def what_differs(self) -> str:
        """What an earlier version would have, in words."""
        return "other content" if self.version is None else f"a version other than {self.version}"


@dataclass(slots=True)
class _Search:
    """How far the search for one candidate has come."""

    candidate: Candidate
    path: bytes
    read: int = 0
    last: bytes | None = None
    answer: PastSkill | Unresolved | None = None


def find_previous(
    repository: Repository, start: bytes, candidates: Sequence[Candidate]
) -> list[PastSkill | Unresolved]:
    """Each candidate's earlier version in the history of `start`, or why there is none.

    The first qualifying of the commits that touched SKILL.md at its path, newest first. Where
    one of them moved it there byte for byte, the search goes on at the old path, before the move.
    """
    return _Searches(repository).run(start, candidates)


class _Searches:
    """All searches of one walk."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.walk = Walk(repository)
        self.origins = Origins(repository)
        self.searches: dict[int, _Search] = {}

    def run(self, start: bytes, candidates: Sequence[Candidate]) -> list[PastSkill | Unresolved]:
        searches = [_Search(candidate, candidate.path) for candidate in candidates]
        for search in searches:
            self._begin(search, start, search.path)
        for event in self.walk:
            search = self.searches[event.trail]
            if isinstance(event, Lost):
                search.answer = _commit_unreadable(event.commit, event.why)
            else:
                self._read(event.trail, search, event.commit)
        return [search.answer or self._not_found(search, start) for search in searches]

    def _not_found(self, search: _Search, start: bytes) -> Unresolved:
        if search.last is None:
            path = shown(search.path)
            return no_earlier_version(f"no commit up to {short(start)} touched {path}")
        try:
            ending = self.origins.ending(search.last, search.path)
        except Unreadable as error:
            return _commit_unreadable(search.last, str(error))
        other = search.candidate.what_differs
        return no_earlier_version(
            f"no commit that touched it has {other} ({search.read} read); {ending}"
        )

    def _begin(self, search: _Search, commit: bytes, path: bytes) -> None:
        search.path = path
        try:
            self.searches[self.walk.begin(commit, path)] = search
        except Unreadable as error:
            search.answer = _commit_unreadable(commit, str(error))

    def _read(self, trail: int, search: _Search, commit: bytes) -> None:
        search.read += 1
        search.last = commit
        try:
            search.answer = self._judge(search, commit)
            origin = None if search.answer else self._moved_from(commit, search.path)
        except Unreadable as error:
            search.answer = _commit_unreadable(commit, str(error))
            origin = None
        if search.answer is not None:
            self.walk.end(trail)
        elif origin is not None:
            self.walk.end(trail)
            self._begin(search, *origin)

    def _judge(self, search: _Search, commit: bytes) -> PastSkill | Unresolved | None:
        """The answer that this commit gives, None where the search goes on."""
        candidate = search.candidate
        try:
            past = skill_at(self.repository, commit, search.path, candidate.root_name)
        except NotASkillError:
            past = None  # it cannot qualify, and counts
        if past is not None and candidate.is_earlier(past):
            return past
        if search.read == SEARCHED:
            return no_earlier_version(
                f"none of the {SEARCHED} commits searched has {candidate.what_differs}"
            )
        return None

    def _moved_from(self, commit: bytes, path: bytes) -> tuple[bytes, bytes] | None:
        """The commit and path to go on at, where this commit moved the file here unchanged."""
        origins = self.origins
        parent = origins.only_parent(commit)
        if parent is None or not origins.creates(commit, path):
            return None
        source = origins.moves(commit).get(path)
        return None if source is None else (parent, source)


def no_earlier_version(reason: str) -> Unresolved:
    return Unresolved(
        UnresolvedReason.NO_EARLIER_VERSION, f"no earlier version of SKILL.md: {reason}"
    )


def _commit_unreadable(commit: bytes, why: str) -> Unresolved:
    return Unresolved(
        UnresolvedReason.COMMIT_UNREADABLE,
        f"the files of commit {short(commit)} cannot be read: {why}",
    )
