"""The skills that a pull request changed, and what was made of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.report import Report, SkippedSkill
from skill_delta.core.trials import NO_SKILL
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.page import Item, Listing

_IN_SIGHT = 10
_MOST_NAMES = 20

_COMPARED_AS_ASKED = frozenset({ChangeKind.EDITED, ChangeKind.MOVED_AND_EDITED})
"""The changes of which the table says all there is to say."""


@dataclass(frozen=True, slots=True)
class _Fate:
    """What happened to a skill, and what was made of it; the latter empty where the table says it.

    `name` is the skill's, or its folder where it was not evaluated.
    """

    name: str
    change: Markdown
    outcome: Markdown

    @classmethod
    def of(cls, change: SkillChange, name: str = "", outcome: str = "") -> _Fate:
        return cls(name or _place(change.folder), _kind(change), Markdown(outcome))


def changed_skills(report: Report) -> Listing:
    """Every change and what was made of it, those first of which the table does not speak."""
    return _listed(sorted(_fates(report), key=lambda fate: not fate.outcome))


def changes_alone(changes: Sequence[SkillChange]) -> Listing:
    """The changes of a pull request that was not measured."""
    return _listed(map(_Fate.of, changes))


def skipped_changes(report: Report) -> Iterator[tuple[SkillChange, SkippedSkill]]:
    """The changes that were not evaluated, with the reason."""
    skipped = _skipped_by_place(report)
    for change in report.changes:
        found = _skipped(change, skipped)
        if found is not None:
            yield change, found


def skipped_elsewhere(report: Report) -> Iterator[SkippedSkill]:
    """The skills that were not evaluated and are none of the changes."""
    named = {id(skipped) for _, skipped in skipped_changes(report)}
    return (skipped for skipped in report.skipped if id(skipped) not in named)


def _listed(fates: Iterable[_Fate]) -> Listing:
    """One bullet for all skills that fared alike."""
    alike: dict[tuple[Markdown, Markdown], list[_Fate]] = {}
    for fate in fates:
        alike.setdefault((fate.change, fate.outcome), []).append(fate)
    return Listing.of("changed skills", list(alike.values()), _drawn, _IN_SIGHT)


def _drawn(fates: Sequence[_Fate]) -> Item:
    names = ", ".join(f"**{untrusted(fate.name)}**" for fate in fates[:_MOST_NAMES])
    more = f" and {len(fates) - _MOST_NAMES:,} more" if len(fates) > _MOST_NAMES else ""
    outcome = f", {fates[0].outcome}" if fates[0].outcome else ""
    return Item(Markdown(f"{names}{more}: {fates[0].change}{outcome}"))


def _fates(report: Report) -> Iterator[_Fate]:
    labels = {subject.candidate.skill.folder: subject.label for subject in report.subjects}
    baselines: dict[str, list[str]] = {}
    for source in report.sources:
        baselines.setdefault(source.skill, []).append(source.baseline)
    skipped = _skipped_by_place(report)
    for change in report.changes:
        label = labels.get(change.folder)
        if change.kind is ChangeKind.REMOVED:
            yield _Fate.of(change, outcome="nothing to run")
        elif label is None:
            yield _Fate.of(change, outcome=_not_evaluated(_skipped(change, skipped)))
        else:
            yield _Fate.of(change, label, _compared(change, baselines.get(label, ())))


def _skipped_by_place(report: Report) -> Mapping[str, SkippedSkill]:
    """What a report says of skills that it knows by label: a name, or a name and `(folder)`."""
    places: dict[str, SkippedSkill] = {}
    for skipped in report.skipped:
        places.setdefault(skipped.skill, skipped)
        places.setdefault(skipped.skill.rpartition("(")[2].removesuffix(")"), skipped)
    return places


def _skipped(change: SkillChange, places: Mapping[str, SkippedSkill]) -> SkippedSkill | None:
    return places.get(str(change.folder)) or places.get(change.folder.name)


def _not_evaluated(skipped: SkippedSkill | None) -> str:
    return f"**not evaluated**: {untrusted(skipped.reason)}" if skipped else "**not evaluated**"


def _compared(change: SkillChange, baselines: Sequence[str]) -> str:
    if not baselines:
        return "measured alone"
    if change.kind in _COMPARED_AS_ASKED:
        return ""
    names = ("no skill" if name == NO_SKILL else untrusted(name) for name in baselines)
    return f"compared with {', '.join(names)}"


def _kind(change: SkillChange) -> Markdown:
    came_from = untrusted(_place(change.base_folder or change.folder))
    match change.kind:
        case ChangeKind.MOVED if change.base_folder == change.folder:
            return Markdown("SKILL.md renamed")
        case ChangeKind.MOVED:
            return Markdown(f"moved from {came_from}")
        case ChangeKind.MOVED_AND_EDITED:
            return Markdown(f"moved from {came_from} and edited")
        case kind:
            return Markdown(kind.value)


def _place(folder: PurePosixPath) -> str:
    return "the repository's root" if folder == PurePosixPath() else str(folder)
