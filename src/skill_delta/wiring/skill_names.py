"""What skills go by where something is asked of one by its name, such as a bar of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from skill_delta.core.skills import SkillVersion
from skill_delta.preparation import FoundSkill, labels

LabelsByName: TypeAlias = Mapping[str, Sequence[str]]

KnownSkill: TypeAlias = tuple[str, SkillVersion, Collection[str] | None]
"""A skill's label, the skill, and what it was called before a pull request; None without one."""


class KnownSkills(NamedTuple):
    """The labels of the skills by what they go by now, and by what they went by formerly.

    `renamed` are those that did not go formerly by each name that they go by now, new ones
    included.
    """

    now: LabelsByName
    formerly: LabelsByName
    renamed: frozenset[str]


def known_skills(skills: Sequence[FoundSkill]) -> Iterator[KnownSkill]:
    """The skills that were found, with their labels."""
    for label, found in zip(labels(skills), skills, strict=True):
        yield label, found.working.skill, found.former_names


def labels_by_name(skills: Iterable[KnownSkill]) -> KnownSkills:
    """What a bar's name stands for.

    A skill goes by its label, and by its name with and without its folder: a second skill of the
    name takes it from none.
    """
    now: dict[str, list[str]] = {}
    formerly: dict[str, list[str]] = {}
    renamed = set[str]()
    for label, skill, former_names in skills:
        if former_names is not None and skill.name not in former_names:
            renamed.add(label)
        for name in dict.fromkeys((label, *names_of(skill))):
            now.setdefault(name, []).append(label)
        for name in dict.fromkeys(former_names or ()):
            formerly.setdefault(name, []).append(label)
    return KnownSkills(now, formerly, frozenset(renamed))


def names_of(skill: SkillVersion) -> tuple[str, ...]:
    """Its name, with and without its folder."""
    return skill.name, f"{skill.name} ({skill.folder})"
