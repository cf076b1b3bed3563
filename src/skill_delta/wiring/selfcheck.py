"""`selfcheck`: the candidate against itself, which shows how noisy a suite is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from random import Random

from pydantic import JsonValue

from skill_delta.core.noise_floor import noise_floors
from skill_delta.core.skills import SkillVersion, Unresolved, WorkingSkill
from skill_delta.core.trials import ITSELF
from skill_delta.errors import ExitCode
from skill_delta.history.working_copy import find_skills
from skill_delta.render.noise_floor import render_noise_floors
from skill_delta.render.terminal import Style, render_terminal
from skill_delta.settings.commands import SELFCHECK
from skill_delta.settings.reading import settle
from skill_delta.wiring.assembly import Task, evaluate
from skill_delta.wiring.endpoints import redactor_for
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.output_files import deliver, outputs_of, rendered
from skill_delta.wiring.terminal import Terminal
from skill_delta.wiring.working_copy import candidates_of, config_of

EXPERIMENTS = 2_000
"""Simulated pull requests per suite: shares are known to about two points."""


class Itself:
    """The baselines of a skill that is compared with itself."""

    def resolve(
        self,
        skills: Sequence[WorkingSkill],
        baseline: str,  # noqa: ARG002 - there is only one
    ) -> Mapping[PurePath, SkillVersion | Unresolved]:
        return {skill.location: skill.skill for skill in skills}


def selfcheck(
    paths: Sequence[Path],
    flags: Mapping[str, JsonValue],
    config_file: Path | None,
    keys: Keys,
    terminal: Terminal,
) -> ExitCode:
    """Run the same skill in both arms, print what the gate made of it and the noise floor.

    Fails where the gate failed: that is a false alarm, of which there may be few. Raises
    `UserError` before anything is spent, and `ServiceError` where there is no key.
    """
    settings = settle(flags, config_of(paths, config_file), SELFCHECK)
    # Whatever a config asks of pull requests: here the arms are the same, and nothing else counts.
    settings = settings.model_copy(
        update={
            "baseline": (ITSELF,),
            "min_delta": {"": 0.0},
            "min_pass_rate": None,
            "per_skill": {},
            "per_skill_min": {},
            "gate": "interval",
            "adaptive": "off",
            "fail_on_error": False,
        }
    )
    outputs = outputs_of(settings)
    candidates = candidates_of(find_skills(paths), settings)
    report = evaluate(Task(candidates, settings, Itself(), keys, terminal))

    def text(style: Style) -> str:
        floors = noise_floors(report.readings, Random(settings.seed), EXPERIMENTS)  # noqa: S311
        return render_terminal(report, style) + "\n" + render_noise_floors(floors)

    redact = redactor_for(settings, keys).redact
    return deliver(rendered(report, outputs), text, redact, terminal, report.gate.exit_code)
