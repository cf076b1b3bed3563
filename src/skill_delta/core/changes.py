"""What a pull request does to each skill, from the files that differ between its two ends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Literal

from skill_delta.core.skills import is_eval, withheld


class ChangeKind(StrEnum):
    """How a skill differs between the base and the head of a pull request."""

    ADDED = "added"
    EDITED = "edited"
    """SKILL.md differs, whatever else does."""
    BUNDLE_ONLY = "bundle only"
    """A file that it ships differs, SKILL.md does not."""
    EVALS_ONLY = "evals only"
    MOVED = "moved"
    """Its folder is another one; SKILL.md, all that it ships and its evals are the same."""
    MOVED_AND_EDITED = "moved and edited"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file at both ends. A mark stands for its content and mode, None for its absence.

    Equal marks are a file that stayed while the skill around it came, went, or moved.
    """

    path: PurePosixPath
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A skill's SKILL.md at one end: its real name, and a mark that stands for its content."""

    filename: str
    content: str


@dataclass(frozen=True, slots=True)
class SkillsAt:
    """One end of a pull request: its skills by folder, and how to learn more of one.

    `name_of` gives what it is called, None for a skill that cannot be read; `text_of` its
    instructions, blank for such a one. Both are asked only where a skill may have moved.
    """

    files: Mapping[PurePosixPath, SkillFile]
    name_of: Callable[[PurePosixPath], str | None]
    text_of: Callable[[PurePosixPath], str] = lambda _: ""


@dataclass(frozen=True, slots=True)
class SkillChange:
    """What happened to one skill.

    `folder` is where the head has it, or had been for a removed one. `base_folder` is where the
    base has it, None for an added one. `files` are those of its files that differ, at both ends.
    """

    kind: ChangeKind
    folder: PurePosixPath
    base_folder: PurePosixPath | None
    files: tuple[PurePosixPath, ...] = ()


@dataclass(slots=True)
class _Skill:
    """A skill at one end, with those of its files that are known, by their path inside it."""

    folder: PurePosixPath
    file: SkillFile
    bundle: dict[PurePosixPath, str] = field(default_factory=dict)
    evals: dict[PurePosixPath, str] = field(default_factory=dict)
    changed: set[PurePosixPath] = field(default_factory=set)


_Skills = Mapping[PurePosixPath, _Skill]
_Pair = tuple[_Skill, _Skill]


def skill_changes(
    files: Collection[ChangedFile], base: SkillsAt, head: SkillsAt
) -> tuple[SkillChange, ...]:
    """What happened to each skill, in the order of their folders.

    `files` are all that differ, and of a skill that only one end has, the others too; the order
    does not matter. `base` and `head` hold at least every skill with one of these files in it. A
    file belongs to the innermost skill around it. What neither reaches a model nor grades it (a
    cache folder, a `.env`) changes no skill.
    """
    before = _skills(base, ((file, file.before) for file in files))
    after = _skills(head, ((file, file.after) for file in files))
    kept = [(before[folder], after[folder]) for folder in before.keys() & after.keys()]
    gone = [before[folder] for folder in sorted(before.keys() - after.keys())]
    new = [after[folder] for folder in sorted(after.keys() - before.keys())]
    moved = _moved(gone, new, base, head)
    left = {skill.folder for skill, _ in moved}
    arrived = {skill.folder for _, skill in moved}
    changes = [
        *(_change(kind, *pair) for pair in (*kept, *moved) if (kind := _kind(*pair)) is not None),
        *(_removed(skill) for skill in gone if skill.folder not in left),
        *(_added(skill) for skill in new if skill.folder not in arrived),
    ]
    return tuple(sorted(changes, key=lambda change: (change.folder, change.kind)))


def _skills(end: SkillsAt, files: Iterable[tuple[ChangedFile, str | None]]) -> _Skills:
    skills = {folder: _Skill(folder, file) for folder, file in end.files.items()}
    for file, mark in files:
        folder = next((above for above in file.path.parents if above in skills), None)
        if mark is not None and folder is not None:
            _put(skills[folder], file, mark)
    return skills


def _put(skill: _Skill, file: ChangedFile, mark: str) -> None:
    relative = file.path.relative_to(skill.folder)
    if is_eval(relative):
        skill.evals[relative] = mark
    elif not withheld(relative):
        skill.bundle[relative] = mark
    elif str(relative) != skill.file.filename:
        return
    if file.before != file.after:
        skill.changed.add(file.path)


def _kind(was: _Skill, now: _Skill) -> ChangeKind | None:
    """How one skill differs between the ends; None where it does not."""
    same_text = was.file.content == now.file.content
    same_bundle = was.bundle == now.bundle
    if was.folder != now.folder and not (same_text and same_bundle):
        return ChangeKind.MOVED_AND_EDITED
    if not same_text:
        return ChangeKind.EDITED
    if not same_bundle:
        return ChangeKind.BUNDLE_ONLY
    # Before "moved": a skill that loses its cases on the way is not what it was.
    if was.evals != now.evals:
        return ChangeKind.EVALS_ONLY
    moved = (was.folder, was.file.filename) != (now.folder, now.file.filename)
    return ChangeKind.MOVED if moved else None


def _change(kind: ChangeKind, was: _Skill, now: _Skill) -> SkillChange:
    return SkillChange(kind, now.folder, was.folder, tuple(sorted(was.changed | now.changed)))


def _added(skill: _Skill) -> SkillChange:
    return SkillChange(ChangeKind.ADDED, skill.folder, None, tuple(sorted(skill.changed)))


def _removed(skill: _Skill) -> SkillChange:
    folder = skill.folder
    return SkillChange(ChangeKind.REMOVED, folder, folder, tuple(sorted(skill.changed)))


# ---------------------------------------------------------------- moves


def _moved(
    gone: Sequence[_Skill], new: Sequence[_Skill], base: SkillsAt, head: SkillsAt
) -> tuple[_Pair, ...]:
    """The skills that went from one folder to another.

    The same SKILL.md proves it: among equals first to a folder of the same name, then in order.
    Failing that the same skill name does, where no other skill that went or came has it; and last
    a text of which at least half is the same, the most alike first.
    """
    pairs: list[_Pair] = []
    pairs += _matching(gone, new, lambda skill: (skill.file.content, skill.folder.name))
    gone, new = _unmatched(gone, new, pairs)
    pairs += _matching(gone, new, lambda skill: (skill.file.content, ""))
    gone, new = _unmatched(gone, new, pairs)
    pairs += _same_name(gone, new, base, head)
    gone, new = _unmatched(gone, new, pairs)
    pairs += _alike(gone, new, base, head)
    return tuple(pairs)


def _matching(
    gone: Sequence[_Skill], new: Sequence[_Skill], key: Callable[[_Skill], tuple[str, str]]
) -> Iterator[_Pair]:
    candidates = _grouped(new, key)
    for of_key, skills in _grouped(gone, key).items():
        yield from zip(skills, candidates.get(of_key, ()), strict=False)


def _grouped(
    skills: Sequence[_Skill], key: Callable[[_Skill], tuple[str, str]]
) -> Mapping[tuple[str, str], list[_Skill]]:
    groups: dict[tuple[str, str], list[_Skill]] = defaultdict(list)
    for skill in skills:
        groups[key(skill)].append(skill)
    return groups


def _unmatched(
    gone: Sequence[_Skill], new: Sequence[_Skill], pairs: Sequence[_Pair]
) -> tuple[list[_Skill], list[_Skill]]:
    left = {was.folder for was, _ in pairs}
    arrived = {now.folder for _, now in pairs}
    return (
        [skill for skill in gone if skill.folder not in left],
        [skill for skill in new if skill.folder not in arrived],
    )


def _same_name(
    gone: Sequence[_Skill], new: Sequence[_Skill], base: SkillsAt, head: SkillsAt
) -> Iterator[_Pair]:
    if not gone or not new:
        return
    arrived = _named(new, head)
    for name, skills in _named(gone, base).items():
        if len(skills) == len(arrived.get(name, ())) == 1:
            yield skills[0], arrived[name][0]


def _named(skills: Sequence[_Skill], end: SkillsAt) -> Mapping[str, list[_Skill]]:
    names: dict[str, list[_Skill]] = defaultdict(list)
    for skill in skills:
        name = end.name_of(skill.folder)
        if name is not None:
            names[name].append(skill)
    return names


def _alike(
    gone: Sequence[_Skill], new: Sequence[_Skill], base: SkillsAt, head: SkillsAt
) -> Iterator[_Pair]:
    """Pairs that went and came under another name: each with the one that is most like it."""
    if not gone or not new or len(gone) * len(new) > _MOST_COMPARED:
        return
    before = [(skill, _lines(base.text_of(skill.folder))) for skill in gone]
    after = [(skill, _lines(head.text_of(skill.folder))) for skill in new]
    likeness = [(_likeness(old, now), was, is_) for was, old in before for is_, now in after]
    taken: set[PurePosixPath] = set()
    for share, was, now in sorted(likeness, key=_most_alike_first):
        if share >= _ALIKE and not taken & {was.folder, now.folder}:
            taken |= {was.folder, now.folder}
            yield was, now


def _most_alike_first(found: tuple[float, _Skill, _Skill]) -> tuple[float, Sequence[PurePosixPath]]:
    """Among equals the same order in both directions: what moved there moves back."""
    share, was, now = found
    return -share, sorted((was.folder, now.folder))


_ALIKE = 0.5
"""How much of the longer text has to be the same: as much as git asks of a rename."""
_MOST_COMPARED = 10_000
"""How many pairs of skills are held against each other; git looks at no more for renames."""


def _lines(text: str) -> Counter[str]:
    return Counter(filter(None, map(str.strip, text.splitlines())))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of the longer text that is in both, line by line wherever it stands, in [0, 1]."""
    longer = max(_length(one), _length(other))
    return _length(one & other) / longer if longer else 0.0


def _length(lines: Counter[str]) -> int:
    return sum(len(line) * times for line, times in lines.items())


# ---------------------------------------------------------------- what follows from a kind


def baselines_for(
    change: SkillChange, asked: Sequence[str], new_skills: Literal["none", "skip", "fail"]
) -> tuple[str, ...] | None:
    """What a changed skill is compared with, where that is not what the run was asked for.

    `asked` are the run's baselines. A new skill has neither `previous` nor `base`: it is compared
    with `none`, or with nothing where `new_skills` wants it left out or refused. One whose evals
    alone changed is measured by itself.
    """
    if change.kind is ChangeKind.EVALS_ONLY:
        return ()
    if change.kind is not ChangeKind.ADDED or not asked:
        return None
    if new_skills != "none":
        return ()
    return tuple(dict.fromkeys("none" if name in _AT_BASE else name for name in asked))


_AT_BASE = frozenset({"previous", "base"})
"""The baselines that a skill has only where the base commit has it."""
