"""What a pull request changed, measured: both ends are commits, and the work tree is never read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from skill_delta.core.changes import ChangeKind, SkillChange, baselines_for
from skill_delta.core.documents import Document, read_document
from skill_delta.core.policy import Reason, Verdict
from skill_delta.core.report import Provenance, Report, SkippedSkill
from skill_delta.core.selection import Selection
from skill_delta.core.suite import Suite
from skill_delta.core.suite_changes import CaseChange, suite_changes
from skill_delta.core.wording import listed
from skill_delta.errors import UserError, UserErrors, gathered
from skill_delta.formats import read_suite
from skill_delta.history.base import Ends
from skill_delta.history.committed_skills import (
    ChangedSkill,
    folder_bytes,
    read_changed_skills,
)
from skill_delta.history.pull_request_baselines import PullRequestBaselines
from skill_delta.history.repository import Repository
from skill_delta.history.tree_files import TreeFiles
from skill_delta.ports import SourceFiles
from skill_delta.preparation import FoundSkill, labels
from skill_delta.settings.commands import COMMANDS
from skill_delta.settings.model import Settings
from skill_delta.settings.reading import CONFIG_FILES, settle
from skill_delta.wiring.assembly import Candidate, Surroundings, Task, evaluate
from skill_delta.wiring.base_end import BaseEnd, NamedBars
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.records import Keeping
from skill_delta.wiring.report_folder import ReportFolder
from skill_delta.wiring.skill_names import known_skills, labels_by_name
from skill_delta.wiring.terminal import Terminal


@dataclass(frozen=True, slots=True)
class PullRequestChanges:
    """Both ends of a pull request, and what it does to the skills between them.

    `notes` say what a reader should know of how they are measured.
    """

    repository: Repository
    ends: Ends
    skills: tuple[SkillChange, ...]
    notes: tuple[str, ...] = ()

    @property
    def base_files(self) -> TreeFiles:
        """What the base commit has."""
        return TreeFiles(self.repository, self.repository.commit(self.ends.base).tree)

    @property
    def head_files(self) -> TreeFiles:
        """What the head commit has."""
        return TreeFiles(self.repository, self.repository.commit(self.ends.head).tree)


def settings_for(
    changes: PullRequestChanges, command: str, flags: Mapping[str, JsonValue], config: str | None
) -> Settings:
    """The settings of `pr` or `action`, by the config that the base commit has.

    A pull request cannot change its own judge. Raises `UserError` for what is wrong with either.
    """
    at_base = config_at_base(changes.base_files, config)
    try:
        return settle(flags, at_base, COMMANDS[command])
    except UserError as error:
        new = [name for name in CONFIG_FILES if _is_there(changes.head_files, PurePosixPath(name))]
        if at_base is not None or not new:
            raise
        unread = UserError(
            f"{new[0]} is not read: the base commit has none, and its config is the judge",
            hint="merge the config file first, or give its values as flags or inputs",
        )
        raise UserErrors((*error.each, unread)) from None


def config_at_base(files: SourceFiles, named: str | None) -> Document | None:
    """The config file that the base has, or the one `named`; None where it has none.

    Raises `UserError` where there are several, or the file cannot be read.
    """
    if named is not None:
        return read_document(files.read(PurePosixPath(named)), f"{named} (at the base commit)")
    found = [name for name in CONFIG_FILES if _is_there(files, PurePosixPath(name))]
    if len(found) > 1:
        raise UserError(f"the base commit has several config files: {', '.join(found)}")
    if not found:
        return None
    return read_document(files.read(PurePosixPath(found[0])), f"{found[0]} (at the base commit)")


def config_changes(changes: PullRequestChanges, named: str | None) -> Iterator[str]:
    """The config files that the pull request changes: it is judged by the old ones."""
    for name in dict.fromkeys((*CONFIG_FILES, *([named] if named else []))):
        path = PurePosixPath(name)
        if _content(changes.base_files, path) != _content(changes.head_files, path):
            yield f"{name} changes: this run was judged by what the base commit has"


def _content(files: TreeFiles, path: PurePosixPath) -> bytes | str | None:
    """A file's content, what is in its way, or None where there is none."""
    try:
        return files.read(path) if _is_there(files, path) else None
    except UserError as error:
        return str(error)


def selected(changes: PullRequestChanges, settings: Settings) -> PullRequestChanges:
    """The changes in the folders that the settings name; all where none is."""
    if not settings.skills:
        return changes
    folders = [PurePosixPath(folder) for folder in settings.skills]
    for folder in folders:
        if all(files.listing(folder) is None for files in (changes.base_files, changes.head_files)):
            raise UserError(
                f"skills names '{folder}', which is a folder at neither end",
                hint="name folders by their path in the repository, without wildcards",
            )
    inside = tuple(
        change
        for change in changes.skills
        if any(
            place.is_relative_to(folder)
            for place in (change.folder, change.base_folder or change.folder)
            for folder in folders
        )
    )
    return replace(changes, skills=inside)


def record_in(workspace: Path, settings: Settings) -> Path | None:
    """Where trials are kept; None without a report folder.

    Raises `UserError` for a folder that cannot be, before anything is spent.
    """
    if settings.report_dir is None:
        return None
    return ReportFolder(workspace, settings.report_dir).new_record()


def measure(
    changes: PullRequestChanges,
    settings: Settings,
    keys: Keys,
    terminal: Terminal,
    scratch: Path,
    config: str | None,
    keeping: Keeping,
) -> Report:
    """Evaluate the changed skills and decide.

    Raises `UserError` before anything is spent, and `ServiceError` where there is no key.
    Bundles are extracted below `scratch`, whose owner removes them.
    """
    admitted, objections = _capped(changes.skills, settings.max_skills)
    found = read_changed_skills(changes.repository, changes.ends.head, admitted, scratch)
    evaluated = [skill for skill in found if _is_evaluated(skill, settings)]
    before = BaseEnd.of(changes.repository, changes.ends.base, changes.skills)
    candidates = _candidates(changes, evaluated, before, settings)
    history = PullRequestBaselines(changes.repository, changes.ends, evaluated, scratch)
    objections += _refusals(changes, found, candidates, before, settings)
    known = labels_by_name(known_skills([candidate.found for candidate in candidates]))
    bars = NamedBars(settings.barred_skills(), known, changes.skills, before)
    objections += bars.doubts()

    def around() -> Surroundings:
        ends = changes.ends
        return Surroundings(
            Provenance(ends.base.hex(), ends.head.hex(), changes=changes.skills),
            skipped=tuple(_skipped_new(found, settings)),
            first_notes=(
                *changes.notes,
                *config_changes(changes, config),
                *bars.kept(),
                *bars.dropped(),
                *_replacements(changes.skills),
            ),
            notes=tuple(_history_notes(evaluated, candidates, history)),
        )

    task = Task(candidates, settings, history, keys, terminal, objections, around, keeping)
    return evaluate(task)


def _replacements(changes: Sequence[SkillChange]) -> Iterator[str]:
    """A skill that was rewritten under another name is one that is gone and one that is new."""
    gone, new = (
        listed([str(change.folder) for change in changes if change.kind is kind])
        for kind in (ChangeKind.REMOVED, ChangeKind.ADDED)
    )
    if gone and new:
        yield (
            f"{gone} is gone and {new} is new: if one replaces the other, it was compared with no "
            "skill; move it in one pull request and rewrite it in the next to have it compared"
        )


def _is_there(files: SourceFiles, path: PurePosixPath) -> bool:
    return path in (files.listing(path.parent) or ())


def _capped(
    changes: Sequence[SkillChange], max_skills: int | None
) -> tuple[list[SkillChange], list[Reason]]:
    # What is removed or only moved is not run.
    unrun = {ChangeKind.REMOVED, ChangeKind.MOVED}
    present = [change for change in changes if change.kind not in unrun]
    admitted = present[:max_skills]
    return admitted, [
        Reason(
            f"skill {change.folder} not run: max-skills is {max_skills}",
            Verdict.NOT_MEASURED,
            is_cap=True,
        )
        for change in present[len(admitted) :]
    ]


def _is_evaluated(skill: ChangedSkill, settings: Settings) -> bool:
    # One that only moved is what it was: nothing of it could come out otherwise.
    if skill.change.kind is ChangeKind.MOVED:
        return False
    return skill.change.kind is not ChangeKind.ADDED or settings.new_skills == "none"


def _candidates(
    changes: PullRequestChanges,
    skills: Sequence[ChangedSkill],
    before: BaseEnd,
    settings: Settings,
) -> tuple[Candidate, ...]:
    candidates, errors = gathered(
        lambda skill: _candidate(changes, skill, before, settings), skills
    )
    if errors:
        raise UserErrors(errors)
    return candidates


def _candidate(
    changes: PullRequestChanges, skill: ChangedSkill, before: BaseEnd, settings: Settings
) -> Candidate:
    """A changed skill with the cases that judge it, and what was done to them.

    A new skill has no cases at the base, so its own judge it whatever `suite` says.
    """
    change, name = skill.change, skill.working.skill.name
    suite = read_suite(name, changes.head_files, change.folder)
    case_changes: tuple[CaseChange, ...] = ()
    if change.base_folder is not None:
        at_base = before.suite(change.base_folder)
        if not isinstance(at_base, UserError):
            case_changes = suite_changes(at_base, suite, _selection(settings))
        elif suite is not None:
            # A pull request may well be the one that puts broken eval files right.
            suite = replace(suite, notes=(*suite.notes, before.unknown(at_base)))
        if settings.suite == "base":
            suite = before.judging_suite(change.base_folder, name)
    baselines = baselines_for(change, settings.baseline, settings.new_skills)
    former_names = before.names_of(change.base_folder)
    found = FoundSkill(skill.working, suite, baselines, case_changes, former_names)
    return Candidate(found, changes.head_files, change.folder)


def _selection(settings: Settings) -> Selection:
    return Selection(settings.tag, settings.case)


def _refusals(
    changes: PullRequestChanges,
    found: Sequence[ChangedSkill],
    candidates: Sequence[Candidate],
    before: BaseEnd,
    settings: Settings,
) -> list[Reason]:
    """What the pull request may not do, whatever its cases say."""
    reasons = []
    if settings.new_skills == "fail":
        reasons += [
            Reason(f"skill {skill.change.folder} is new, and new-skills is fail")
            for skill in found
            if skill.change.kind is ChangeKind.ADDED
        ]
    reasons += [
        Reason(f"skill {change.folder} was replaced by a link or a submodule")
        for change in changes.skills
        if change.kind is ChangeKind.REMOVED and _is_hidden(changes, change.folder)
    ]
    changed = {skill.working.location: skill.change for skill in found}
    selection = _selection(settings)
    for candidate in candidates:
        if _selected(candidate.found.suite, selection):
            continue
        change = changed[candidate.found.working.location]
        if _had_cases(before, change, selection):
            reasons.append(Reason(f"skill {change.folder}: all of its eval cases were removed"))
        elif settings.uncovered_skills == "fail":
            reasons.append(
                Reason(f"skill {change.folder} has no eval cases, and uncovered-skills is fail")
            )
    return reasons


def _is_hidden(changes: PullRequestChanges, folder: PurePosixPath) -> bool:
    """Whether something that is not followed stands where the skill's folder was, or one above."""
    tree = changes.repository.commit(changes.ends.head).tree
    for place in (folder, *folder.parents)[:-1]:
        entry = changes.repository.entry(tree, folder_bytes(place))
        if entry is not None:
            return not entry.is_tree
    return False


def _selected(suite: Suite | None, selection: Selection) -> bool:
    return suite is not None and any(selection.admits(case) for case in suite.cases)


def _had_cases(before: BaseEnd, change: SkillChange, selection: Selection) -> bool:
    if change.base_folder is None:
        return False
    suite = before.suite(change.base_folder)
    # There were eval files: that they were broken does not excuse removing them.
    return isinstance(suite, UserError) or _selected(suite, selection)


def _skipped_new(found: Sequence[ChangedSkill], settings: Settings) -> Iterator[SkippedSkill]:
    for skill in found:
        if skill.change.kind is ChangeKind.ADDED and settings.new_skills == "skip":
            yield SkippedSkill(skill.working.skill.name, "new, and new-skills is skip")
        elif skill.change.kind is ChangeKind.MOVED:
            yield SkippedSkill(skill.working.skill.name, "moved, and otherwise unchanged")


def _history_notes(
    skills: Sequence[ChangedSkill],
    candidates: Sequence[Candidate],
    history: PullRequestBaselines,
) -> Iterator[str]:
    names = labels([candidate.found for candidate in candidates])
    for label, skill in zip(names, skills, strict=True):
        location = skill.working.location
        if location in history.notes:
            yield f"{label}: {history.notes[location]}"
        if location in history.left_out:
            left_out = ", ".join(history.left_out[location])
            yield f"{label}: not in the baseline's bundle: {left_out}"
