"""The `run` command: the working copy against its baselines."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills
from skill_delta.preparation import FoundSkill, labels
from skill_delta.render import RENDERERS
from skill_delta.render.terminal import ANSI, PLAIN, render_terminal
from skill_delta.settings.reading import settle
from skill_delta.wiring.assembly import evaluate, redactor_for
from skill_delta.wiring.check import is_forgiven
from skill_delta.wiring.output_files import outputs_of, write
from skill_delta.wiring.terminal import Terminal
from skill_delta.wiring.working_copy import candidates_of, completed, config_of


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
    settings = settle(flags, config_of(paths, config_file))
    outputs = outputs_of(settings)
    candidates = candidates_of(find_skills(paths), settings)
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
    report = completed(report, [candidate.found for candidate in candidates], history, settings)
    redactor = redactor_for(settings.base_url, key)
    # The files first: a terminal that gives out takes nothing with it.
    unwritten = [
        problem
        for name, path in outputs.items()
        if (problem := write(path, redactor.redact(RENDERERS[name](report))))
    ]
    style = ANSI if terminal.colour else PLAIN
    terminal.say(redactor.redact(render_terminal(report, style)))
    for problem in unwritten:
        terminal.complain(f"error: {problem}\n")
    code = report.gate.exit_code
    if is_forgiven(report, settings.on_unmeasured):
        code = ExitCode.PASSED
    return ExitCode.USER_ERROR if unwritten and code is ExitCode.PASSED else code


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
