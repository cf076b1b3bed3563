"""What will run, settled before the first trial: nothing is spent yet."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from skill_delta.core.judging import JudgedBy
from skill_delta.core.policy import GatePolicy, Reason, Verdict
from skill_delta.core.report import NO_CASES, BaselineSource, Provenance, SkippedSkill
from skill_delta.core.selection import Selection
from skill_delta.core.skills import SkillVersion, Unresolved, WorkingSkill
from skill_delta.core.suite import Case, Suite, undeclared_tools
from skill_delta.core.suite_changes import (
    CaseChange,
    CaseChangeKind,
    untouched,
)
from skill_delta.core.trials import NO_SKILL, Arm, Role, Subject
from skill_delta.core.wording import count, listed, shown
from skill_delta.errors import UserErrors
from skill_delta.ports import Baselines, Runner


@dataclass(frozen=True, slots=True)
class FoundSkill:
    """A skill of this run and its cases; `suite` is None where it has no eval file.

    `baselines` are the skill's own where they are not the run's: a new skill has no previous
    version, and one whose evals alone changed is measured by itself.
    """

    working: WorkingSkill
    suite: Suite | None
    baselines: tuple[str, ...] | None = None
    case_changes: tuple[CaseChange, ...] = ()
    """What a pull request did to each case; empty where there is no pull request."""
    former_names: tuple[str, ...] | None = None
    """What it was called before a pull request: what was asked of it by these names still is.

    Empty for a new skill; None where there is no pull request.
    """


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a person asked for. `at_once` trials run at the same time.

    `max_cases` caps the cases over all skills. `objections` speak against a pass from the start.
    `on_unmeasured` says whether a run that measured nothing is let through.
    """

    baselines: tuple[str, ...] = ()
    selection: Selection = field(default_factory=Selection)
    policy: GatePolicy = field(default_factory=GatePolicy)
    at_once: int = 8
    seed: int = 0
    max_cases: int | None = None
    objections: tuple[Reason, ...] = ()
    on_unmeasured: Literal["fail", "pass"] = "fail"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What will run, settled before the first trial; nothing was spent yet."""

    subjects: tuple[Subject, ...]
    sources: tuple[BaselineSource, ...]
    skipped: tuple[SkippedSkill, ...]
    notes: tuple[str, ...]
    objections: tuple[Reason, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    suite_changes: Mapping[str, tuple[CaseChange, ...]] = field(default_factory=dict)
    """Per skill whose cases a pull request changed, what became of each."""

    @property
    def untouched(self) -> Mapping[str, frozenset[str]]:
        """The cases that the pull request left as they were, per skill of which it changed some."""
        return {skill: untouched(changes) for skill, changes in self.suite_changes.items()}

    @property
    def compared(self) -> Mapping[str, Collection[str]]:
        """The skills that each baseline is for. One comparison never pools another's skills."""
        skills: dict[str, set[str]] = {}
        for source in self.sources:
            skills.setdefault(source.baseline, set()).add(source.skill)
        return skills

    @property
    def unresolved(self) -> Mapping[str, Mapping[str, Unresolved]]:
        """Per baseline and skill, why there is no such version."""
        gaps: dict[str, dict[str, Unresolved]] = {}
        for source in self.sources:
            if isinstance(source.version, Unresolved):
                gaps.setdefault(source.baseline, {})[source.skill] = source.version
        return gaps


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A skill with the cases that the selection admits."""

    label: str
    found: FoundSkill
    cases: tuple[Case, ...]

    def has(self, baseline: str, of_the_run: Sequence[str]) -> bool:
        """Whether this skill is compared with `baseline`."""
        own = self.found.baselines
        return baseline in (of_the_run if own is None else own)


def ceiling_of_runs(request: RunRequest, cases: int, runners: int) -> str:
    """The plan in one line: a ceiling, since baselines are not resolved for it."""
    arms = 1 + len(request.baselines)
    repetitions = request.policy.looks.most_repetitions
    total = arms * repetitions * runners * cases
    return (
        f"Plan: up to {arms} arm(s) x {repetitions} repeat(s) x {runners} runner(s) "
        f"x {cases} case(s) = {total} runs"
    )


def plan_of_judging(subjects: Sequence[Subject], judge: JudgedBy) -> str:
    """Who judges, and how many of the cases, in one line beside the plan."""
    judged = sum(bool(case.rubric) for subject in subjects for case in subject.cases)
    return f"Judge: {judge.title} judges every run of {count(judged, 'case')}"


def chosen_cases(skills: Sequence[FoundSkill], selection: Selection) -> int:
    """How many cases the selection admits, over all skills."""
    return sum(len(chosen.cases) for chosen in _choose(skills, selection))


def prepare(
    skills: Sequence[FoundSkill],
    request: RunRequest,
    runners: Mapping[str, Runner],
    history: Baselines,
) -> Prepared:
    """Settle cases, arms and baselines.

    Raises `UserErrors` for a trajectory that names a tool which no runner of this run would offer.
    """
    admitted = _choose(skills, request.selection)
    _refuse_undeclared_tools(admitted, runners)
    chosen = _capped(admitted, request.max_cases)
    run = [skill for skill in chosen if skill.cases]
    sources = tuple(_resolve(run, request.baselines, history))
    return Prepared(
        subjects=tuple(_subject(skill, sources) for skill in run),
        sources=sources,
        skipped=tuple(_skipped(admitted, request.selection)),
        notes=(*_notes(chosen), *_same_in_both_arms(run, sources)),
        objections=(*request.objections, *_cut(admitted, chosen, request.max_cases)),
        suite_changes=dict(_suite_changes(admitted)),
    )


def labels(skills: Sequence[FoundSkill]) -> tuple[str, ...]:
    """How reports name each skill: its name, with its folder where two share one."""
    names = Counter(skill.working.skill.name for skill in skills)
    return _distinct(
        [
            f"{skill.working.skill.name} ({skill.working.skill.folder})"
            if names[skill.working.skill.name] > 1
            else skill.working.skill.name
            for skill in skills
        ]
    )


def _distinct(wanted: Sequence[str]) -> tuple[str, ...]:
    """Every label once: a name may be chosen to look like another skill's label."""
    counts = Counter(wanted)
    taken: dict[str, None] = {}
    for label in wanted:
        numbered = (f"{label} #{number}" for number in itertools.count(1))
        free = (each for each in numbered if each not in counts and each not in taken)
        taken[label if counts[label] == 1 else next(free)] = None
    return tuple(taken)


def _choose(skills: Sequence[FoundSkill], selection: Selection) -> list[_Chosen]:
    return [
        _Chosen(
            label,
            found,
            tuple(filter(selection.admits, found.suite.cases)) if found.suite else (),
        )
        for label, found in zip(labels(skills), skills, strict=True)
    ]


def _capped(chosen: Sequence[_Chosen], max_cases: int | None) -> list[_Chosen]:
    left = max_cases if max_cases is not None else sum(len(skill.cases) for skill in chosen)
    capped = []
    for skill in chosen:
        capped.append(replace(skill, cases=skill.cases[:left]))
        left -= len(capped[-1].cases)
    return capped


def _cut(
    admitted: Sequence[_Chosen], chosen: Sequence[_Chosen], max_cases: int | None
) -> Iterator[Reason]:
    """What a cap cut is named, and is no pass."""
    for whole, rest in zip(admitted, chosen, strict=True):
        missing = len(whole.cases) - len(rest.cases)
        if missing:
            what = f"{count(missing, 'case')} of skill '{whole.label}'"
            names = listed([shown(case.name) for case in whole.cases[len(rest.cases) :]])
            text = f"{what} not run: max-cases is {max_cases}: {names}"
            yield Reason(text, Verdict.NOT_MEASURED, is_cap=True)


def _refuse_undeclared_tools(chosen: Sequence[_Chosen], runners: Mapping[str, Runner]) -> None:
    if all(runner.brings_own_tools for runner in runners.values()):
        return
    problems = tuple(
        problem for skill in chosen for case in skill.cases for problem in undeclared_tools(case)
    )
    if problems:
        raise UserErrors(problems)


def _resolve(
    chosen: Sequence[_Chosen], baselines: Sequence[str], history: Baselines
) -> Iterator[BaselineSource]:
    own = (name for skill in chosen for name in skill.found.baselines or ())
    for baseline in dict.fromkeys((*baselines, *own)):
        skills = [skill for skill in chosen if skill.has(baseline, baselines)]
        if baseline == NO_SKILL:
            for skill in skills:
                empty = SkillVersion.none(skill.found.working.skill.name)
                yield BaselineSource(skill.label, baseline, empty)
        else:
            versions = history.resolve([skill.found.working for skill in skills], baseline)
            for skill in skills:
                version = versions[skill.found.working.location]
                yield BaselineSource(skill.label, baseline, version)


def _subject(chosen: _Chosen, sources: Sequence[BaselineSource]) -> Subject:
    arms = tuple(
        Arm(Role.BASELINE, source.version, source.baseline)
        for source in sources
        if source.skill == chosen.label and isinstance(source.version, SkillVersion)
    )
    candidate = Arm(Role.CANDIDATE, chosen.found.working.skill)
    return Subject(chosen.label, candidate, arms, chosen.cases)


def _suite_changes(chosen: Sequence[_Chosen]) -> Iterator[tuple[str, tuple[CaseChange, ...]]]:
    for skill in chosen:
        changes = skill.found.case_changes
        if any(change.kind is not CaseChangeKind.UNCHANGED for change in changes):
            yield skill.label, changes


def _skipped(chosen: Sequence[_Chosen], selection: Selection) -> Iterator[SkippedSkill]:
    for skill in chosen:
        if skill.cases:
            continue
        has_cases = skill.found.suite is not None and skill.found.suite.cases
        reason = f"no case matches {selection}" if has_cases else NO_CASES
        yield SkippedSkill(skill.label, reason)


def _notes(chosen: Sequence[_Chosen]) -> Iterator[str]:
    for skill in chosen:
        yield from (f"{skill.label}: {warning}" for warning in skill.found.working.warnings)
        if skill.found.suite is not None:
            yield from (f"{skill.label}: {note}" for note in skill.found.suite.notes)


def _same_in_both_arms(
    chosen: Sequence[_Chosen], sources: Sequence[BaselineSource]
) -> Iterator[str]:
    """A comparison of a skill with itself would otherwise read as "the edit changed nothing"."""
    candidates = {skill.label: skill.found.working.skill for skill in chosen}
    for source in sources:
        version = source.version
        if isinstance(version, SkillVersion) and version.ships_the_same_as(
            candidates[source.skill]
        ):
            yield (
                f"{source.skill}: baseline {source.baseline} is the same skill, its version aside: "
                "what differs is the model's own variation"
            )
