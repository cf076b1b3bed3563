"""The `run` command: the working copy against its baselines."""

from __future__ import annotations

import difflib
import itertools
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from skill_delta.core.report import Report
from skill_delta.core.scorecard import (
    BaselineMode,
    Leg,
    leg_path,
    leg_run_id,
    scorecard,
    scorecard_path,
)
from skill_delta.core.skills import SkillVersion, WorkingSkill
from skill_delta.core.suite import Mode
from skill_delta.core.trials import NOTHING_TO_OFFER
from skill_delta.core.wording import count
from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills
from skill_delta.ledger.reader import read_record
from skill_delta.preparation import FoundSkill, labels
from skill_delta.render import RENDERERS, Renderer
from skill_delta.render.scorecard import render_scorecard
from skill_delta.render.terminal import render_terminal
from skill_delta.settings.model import Settings
from skill_delta.settings.reading import settle
from skill_delta.wiring.assembly import Candidate, Task, evaluate
from skill_delta.wiring.check import is_forgiven
from skill_delta.wiring.endpoints import redactor_for
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.output_files import deliver, outputs_of, rendered
from skill_delta.wiring.records import Keeping, new_run_id
from skill_delta.wiring.terminal import Terminal
from skill_delta.wiring.working_copy import candidates_of, config_of, surroundings


def run(
    paths: Sequence[Path],
    flags: Mapping[str, JsonValue],
    config_file: Path | None,
    keys: Keys,
    terminal: Terminal,
) -> ExitCode:
    """Evaluate, print, write the reports. `flags` are those given, by field name.

    Raises `UserError` before anything is spent, and `ServiceError` where there is no key.
    """
    settings = settle(flags, config_of(paths, config_file))
    keeping = _keeping(settings)
    outputs = outputs_of(settings, _records(settings, keeping))
    skills = find_skills(paths)
    _refuse_records_in(skills, keeping)
    candidates = _as_asked(candidates_of(skills, settings), settings)
    if "per_skill_min" in flags:
        _refuse_unknown_skills(settings.per_skill_min, [c.found for c in candidates])
    with tempfile.TemporaryDirectory(prefix="skill-delta-") as scratch:
        history = GitBaselines(Path(scratch), settings.base)
        task = Task(
            candidates,
            settings,
            history,
            keys,
            terminal,
            surroundings=lambda: surroundings(candidates, history, settings),
            keeping=keeping,
        )
        try:
            report = evaluate(task)
        except ServiceError as gone:
            if settings.on_unmeasured == "fail":
                raise
            terminal.complain(f"not measured: {gone}\n")
            return ExitCode.PASSED
    files = itertools.chain(
        rendered(report, outputs, {**RENDERERS, **_shortened(settings)}),
        _scorecards(report, settings, paths, keeping.run_id),
    )
    redact = redactor_for(settings, keys).redact
    forgiven = is_forgiven(report, settings.on_unmeasured)
    code = ExitCode.PASSED if forgiven else report.gate.exit_code
    return deliver(files, partial(render_terminal, report), redact, terminal, code)


def _shortened(settings: Settings) -> Mapping[str, Renderer]:
    """The renderers that were told how long they may be."""
    if settings.markdown_max_chars is None:
        return {}
    from skill_delta.render.markdown import render_markdown  # noqa: PLC0415 - as RENDERERS do

    return {"markdown": partial(render_markdown, characters=settings.markdown_max_chars)}


def _keeping(settings: Settings) -> Keeping:
    """Where the trials go. Raises `UserError` for a record that holds another run already."""
    run_id = settings.run_id or new_run_id()
    if settings.resume is not None:
        path = Path(settings.resume)
        return Keeping(path, resumed=read_record(path), run_id=run_id)
    if settings.out is not None:
        out = Path(settings.out)
        on, off = (leg_path(out, leg) for leg in LEGS)
        match settings.baseline_mode:
            case "both":
                return Keeping(legs=(_new(on, ALONE), _new(off, ALONE)), run_id=run_id)
            case "skill-off":
                leg_id = leg_run_id(run_id, BaselineMode.SKILL_OFF)
                return Keeping(_new(off, IN_PLACE), run_id=leg_id)
            case _:
                return Keeping(_new(out, IN_PLACE), run_id=run_id)
    record = Path(settings.record) if settings.record else None
    return Keeping(_new(record, RESUME) if record else None, run_id=run_id)


LEGS: Final[tuple[Leg, Leg]] = (BaselineMode.SKILL_ON, BaselineMode.SKILL_OFF)


RESUME: Final = "go on with it by --resume {record}, or name another file"
IN_PLACE: Final = "go on with it by --resume {record} in place of --out, or name another file"
ALONE: Final = (
    "name another file; each leg by itself can be gone on with: `--resume {record}` in place of "
    "--out, and --baseline-mode with that leg alone"
)


def _new(record: Path, how_to_go_on: str) -> Path:
    try:
        is_taken = record.stat().st_size > 0
    except (OSError, ValueError):
        is_taken = False  # there is none yet, or opening it will say what is wrong
    if is_taken:
        raise UserError(
            f"the record {record} holds a run already", hint=how_to_go_on.format(record=record)
        )
    return record


def _records(settings: Settings, keeping: Keeping) -> Iterator[Path]:
    """The files that the run's trials go into, and the scorecard beside them."""
    yield from (path for path in (keeping.record, *(keeping.legs or ())) if path is not None)
    if settings.out is not None:
        yield scorecard_path(Path(settings.out))


def _refuse_records_in(skills: Sequence[WorkingSkill], keeping: Keeping) -> None:
    """A record among a skill's files would make another skill of it with every trial."""
    for record in keeping.records:
        place = record.parent.resolve() / record.name
        for skill in skills:
            if place.is_relative_to(skill.location):
                raise UserError(
                    f"the record {record} lies in the folder of the skill '{skill.skill.name}', "
                    "and would be taken for a part of it, or for an eval file",
                    hint="name a file outside of that folder",
                )


def _as_asked(candidates: Sequence[Candidate], settings: Settings) -> Sequence[Candidate]:
    """The skill as it is, or suppressed: then what offers it has nothing to offer."""
    if settings.baseline_mode != "skill-off":
        return candidates
    return [replace(candidate, found=_suppressed(candidate.found)) for candidate in candidates]


def _suppressed(found: FoundSkill) -> FoundSkill:
    skill = found.working.skill
    working = replace(
        found.working, skill=replace(SkillVersion.none(skill.name), folder=skill.folder)
    )
    if found.suite is None:
        return replace(found, working=working)
    kept = tuple(case for case in found.suite.cases if case.mode is not Mode.OFFERED)
    left_out = len(found.suite.cases) - len(kept)
    notes = (f"{count(left_out, 'case')} left out: {NOTHING_TO_OFFER}",) if left_out else ()
    suite = replace(found.suite, cases=kept, notes=(*found.suite.notes, *notes))
    return replace(found, working=working, suite=suite)


def _scorecards(
    report: Report, settings: Settings, paths: Sequence[Path], run_id: str
) -> Iterator[tuple[Path, str]]:
    """The files of the DeltaScorecard, where one is asked for."""
    places = [Path(settings.scorecard)] if settings.scorecard else []
    if settings.out and settings.baseline_mode == "both":
        places.append(scorecard_path(Path(settings.out)))
    if not places or not report.deltas:
        return
    found = scorecard(
        report.deltas[0],
        suite_id=", ".join(subject.label for subject in report.subjects),
        suite_path=", ".join(map(str, paths)),
        generated_at=report.finished_at,
        run_id=run_id,
        live=bool(settings.asking_runners),
    )
    yield from ((place, render_scorecard(found)) for place in places)


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
