"""The `run` command: the working copy against its baselines."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from skill_delta.core.documents import Document, read_document
from skill_delta.core.report import Report
from skill_delta.core.skills import WorkingSkill
from skill_delta.core.suite import Suite
from skill_delta.core.trials import NO_SKILL
from skill_delta.errors import ExitCode, ServiceError, UserError, UserErrors
from skill_delta.formats import read_suite
from skill_delta.history.layout import find_git
from skill_delta.history.places import current_folder, resolved
from skill_delta.history.previous import GitBaselines
from skill_delta.history.repository import Repository
from skill_delta.history.revisions import find_commit
from skill_delta.history.working_copy import find_skills
from skill_delta.history.working_files import shown, source_files_for
from skill_delta.preparation import FoundSkill, labels
from skill_delta.render import RENDERERS
from skill_delta.render.terminal import ANSI, PLAIN, render_terminal
from skill_delta.settings.model import Settings
from skill_delta.settings.reading import CONFIG_FILES, settle
from skill_delta.wiring.assembly import Candidate, evaluate, read_named, redactor_for
from skill_delta.wiring.check import is_forgiven
from skill_delta.wiring.terminal import Terminal


def run(
    paths: Sequence[Path],
    flags: Mapping[str, JsonValue],
    config_file: Path | None,
    key: str | None,
    terminal: Terminal,
) -> ExitCode:
    """Evaluate, print, write the reports. `flags` are those given, by field name; `key` the key.

    Raises `UserError` before anything is spent, and `ServiceError` where there is no key.
    """
    settings = settle(flags, _config(paths, config_file))
    outputs = _outputs(settings)
    candidates = _candidates(find_skills(paths), settings)
    if "per_skill_min" in flags:
        _refuse_unknown_skills(settings.per_skill_min, [c.found for c in candidates])
    with tempfile.TemporaryDirectory(prefix="skill-delta-") as scratch:
        history = GitBaselines(Path(scratch), settings.base)
        try:
            report = evaluate(candidates, settings, history, key, terminal)
        except ServiceError as gone:
            if settings.on_unmeasured == "fail":
                raise
            terminal.complain(f"not measured: {gone}\n")
            return ExitCode.PASSED
    report = _completed(report, [candidate.found for candidate in candidates], history, settings)
    redactor = redactor_for(settings.base_url, key)
    # The files first: a terminal that gives out takes nothing with it.
    unwritten = [
        problem
        for name, path in outputs.items()
        if (problem := _write(path, redactor.redact(RENDERERS[name](report))))
    ]
    style = ANSI if terminal.colour else PLAIN
    terminal.say(redactor.redact(render_terminal(report, style)))
    for problem in unwritten:
        terminal.complain(f"error: {problem}\n")
    code = report.gate.exit_code
    if is_forgiven(report, settings.on_unmeasured):
        code = ExitCode.PASSED
    return ExitCode.USER_ERROR if unwritten and code is ExitCode.PASSED else code


def _config(paths: Sequence[Path], named: Path | None) -> Document | None:
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


def _refuse_unknown_skills(named: Iterable[str], skills: Sequence[FoundSkill]) -> None:
    """A bar for a skill that this run does not have would be checked by nobody."""
    known = labels(skills)
    for name in named:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            raise UserError(
                f"--per-skill-min names the skill '{name}', which was not found",
                hint=f"did you mean '{close[0]}'?" if close else f"found: {', '.join(known)}",
            )


def _candidates(skills: Sequence[WorkingSkill], settings: Settings) -> tuple[Candidate, ...]:
    """Every eval file is read before the first trial: a broken one ends the run unspent."""
    if settings.evals is not None and len(skills) > 1:
        raise UserError(
            f"--evals names the cases of one skill, but {len(skills)} were found",
            hint="run one skill at a time, or drop --evals",
        )
    found: list[Candidate] = []
    errors: list[UserError] = []
    for working in skills:
        try:
            found.append(_candidate(working, settings.evals))
        except UserError as error:
            errors += error.each
    if errors:
        raise UserErrors(tuple(errors))
    return tuple(found)


def _candidate(working: WorkingSkill, evals: str | None) -> Candidate:
    files, folder = source_files_for(Path(working.location))
    suite = _named_suite(working, evals) if evals else read_suite(working.skill.name, files, folder)
    return Candidate(FoundSkill(working, suite), files, folder)


def _named_suite(working: WorkingSkill, evals: str) -> Suite | None:
    path = Path(evals).absolute()
    files, folder = source_files_for(path if path.is_dir() else path.parent)
    explicit = folder if path.is_dir() else folder / path.name
    return read_suite(working.skill.name, files, folder, (explicit,))


def _completed(
    report: Report, skills: Sequence[FoundSkill], history: GitBaselines, settings: Settings
) -> Report:
    """Name both ends of the comparison, where there is a repository, and what no bundle holds."""
    notes = tuple(
        f"{label}: not in the baseline's bundle: {', '.join(names)}"
        for label, skill in zip(labels(skills), skills, strict=True)
        if (names := history.left_out.get(skill.working.location))
    )
    report = replace(report, notes=(*report.notes, *notes))
    repository = Repository.discover(Path(skills[0].working.location)) if skills else None
    if repository is None:
        return report
    with repository:
        head = repository.head()
        start = find_commit(repository, settings.base) if settings.base else head
    compared = any(name != NO_SKILL for name in settings.baseline)
    return replace(
        report,
        head=head.hex() if head else None,
        base=start.hex() if start and compared else None,
        is_working_copy=True,
    )


def _outputs(settings: Settings) -> Mapping[str, Path]:
    """The reports to write, their folders made: a path that cannot be is found unspent."""
    named = {
        "json": settings.json_output,
        "junit": settings.junit_output,
        "markdown": settings.markdown_output,
    }
    outputs = {name: Path(path) for name, path in named.items() if path is not None}
    for name, path in outputs.items():
        _refuse_output(f"--{name}-output", path)
    places = [path.parent.resolve() / path.name for path in outputs.values()]
    if len(set(places)) < len(places):
        raise UserError(f"two reports would be written to {shown(max(places, key=places.count))}")
    return outputs


def _refuse_output(flag: str, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.lstat()  # names what cannot be the name of a file
        is_folder, is_link = path.is_dir(), path.is_symlink()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"{flag}: {path}: {reason}") from None
    if is_link:
        # What it leads to may be anything, and the repository may have put it there.
        raise UserError(
            f"{flag}: {path} is a link, and is not followed", hint="name the file itself"
        )
    if is_folder:
        raise UserError(f"{flag}: {path} is a folder", hint="name a file in it")


def _write(path: Path, text: str) -> str:
    """Write a report; what went wrong, in words, where something did."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"the report {path} could not be written: {error.strerror}"
    return ""
