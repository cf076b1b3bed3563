"""The working copy: its config, its skills with their cases, and what it stands on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from skill_delta.core.documents import Document, read_document
from skill_delta.core.report import Provenance
from skill_delta.core.skills import WorkingSkill
from skill_delta.core.suite import Suite
from skill_delta.core.trials import NO_SKILL
from skill_delta.errors import UserError, UserErrors, gathered
from skill_delta.formats import read_suite
from skill_delta.history.layout import find_git
from skill_delta.history.places import current_folder, resolved
from skill_delta.history.previous import GitBaselines
from skill_delta.history.repository import Repository
from skill_delta.history.revisions import find_commit
from skill_delta.history.working_files import shown, source_files_for
from skill_delta.preparation import FoundSkill, labels
from skill_delta.settings.model import Settings
from skill_delta.settings.reading import CONFIG_FILES
from skill_delta.wiring.assembly import Candidate, Surroundings, read_named


def config_of(paths: Sequence[Path], named: Path | None) -> Document | None:
    """The config file named, else that of the repository around the first path."""
    if named is not None:
        return read_document(*read_named(named))
    root = _root_of(paths)
    found = [root / name for name in CONFIG_FILES if (root / name).is_file()]
    if len(found) > 1:
        raise UserError(
            f"there are several config files: {', '.join(shown(path) for path in found)}",
            hint="keep one, or name one with --config",
        )
    return read_document(*read_named(found[0])) if found else None


def _root_of(paths: Sequence[Path]) -> Path:
    folders = find_git(resolved(paths[0]))
    return current_folder() if folders is None else folders.worktree


def candidates_of(skills: Sequence[WorkingSkill], settings: Settings) -> tuple[Candidate, ...]:
    """Every eval file is read before the first trial: a broken one ends the run unspent."""
    if settings.evals is not None and len(skills) > 1:
        raise UserError(
            f"--evals names the cases of one skill, but {len(skills)} were found",
            hint="run one skill at a time, or drop --evals",
        )
    found, errors = gathered(lambda working: _candidate(working, settings.evals), skills)
    if errors:
        raise UserErrors(errors)
    return found


def _candidate(working: WorkingSkill, evals: str | None) -> Candidate:
    files, folder = source_files_for(Path(working.location))
    name = working.skill.name
    suite = named_suite(name, Path(evals)) if evals else read_suite(name, files, folder)
    return Candidate(FoundSkill(working, suite), files, folder)


def named_suite(skill_name: str, evals: Path) -> Suite | None:
    """The cases of an eval file, or of a folder of them, that a person named."""
    path = evals.absolute()
    files, folder = source_files_for(path if path.is_dir() else path.parent)
    explicit = folder if path.is_dir() else folder / path.name
    return read_suite(skill_name, files, folder, (explicit,))


def surroundings(
    candidates: Sequence[Candidate], history: GitBaselines, settings: Settings
) -> Surroundings:
    """Both ends of the comparison, where there is a repository, and what no bundle holds."""
    skills = [candidate.found for candidate in candidates]
    notes = tuple(
        f"{label}: not in the baseline's bundle: {', '.join(names)}"
        for label, skill in zip(labels(skills), skills, strict=True)
        if (names := history.left_out.get(skill.working.location))
    )
    repository = Repository.discover(Path(skills[0].working.location)) if skills else None
    if repository is None:
        return Surroundings(notes=notes)
    with repository:
        head = repository.head()
        start = find_commit(repository, settings.base) if settings.base else head
    compared = any(name != NO_SKILL for name in settings.baseline)
    base = start.hex() if start and compared else None
    return Surroundings(Provenance(base, head.hex() if head else None, True), notes=notes)
