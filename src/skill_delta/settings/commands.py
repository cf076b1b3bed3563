"""What each command takes of the settings, and its own defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from skill_delta.core.trials import ITSELF, NO_SKILL
from skill_delta.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Command:
    """What a command takes: its own settings, its own defaults.

    `foreign` are the fields that it does not read. `also_compares_with` names baselines that it
    may bring in by itself.
    """

    defaults: Mapping[str, JsonValue] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    also_compares_with: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The settings that this command reads."""
        return tuple(name for name in Settings.model_fields if name not in self.foreign)


RUN = Command(
    foreign=frozenset(
        {
            *("new_skills", "uncovered_skills", "max_skills", "max_cases", "skills"),
            "suite",
            "report_dir",
        }
    )
)
"""`run`: the working copy, whatever is asked."""

_OF_A_PULL_REQUEST: Mapping[str, JsonValue] = {
    "baseline": ["previous"],
    "min_delta": 0.0,
    "min_pass_rate": None,
    "repeat": 3,
    "gate": "interval",
    "adaptive": "confirm",
}
# Nothing in a container outlives it but the report folder.
_OF_THIS_MACHINE = frozenset({"keep_workspace"})
# The base is part of what is compared, and the reports go into one folder.
_OF_A_RUN = frozenset(
    {
        *("base", "evals", "json_output", "junit_output", "markdown_output"),
        *("markdown_max_chars", "scorecard", "record", "resume", "baseline_mode", "run_id", "out"),
    }
)

PULL_REQUEST = Command(
    defaults=_OF_A_PULL_REQUEST,
    foreign=_OF_A_RUN,
    also_compares_with=(NO_SKILL,),
)
"""`pr`: what a pull request changed, on this machine. A new skill is compared with none."""

ACTION = Command(
    defaults={**_OF_A_PULL_REQUEST, "report_dir": ".skill-delta"},
    foreign=_OF_A_RUN | _OF_THIS_MACHINE,
    also_compares_with=(NO_SKILL,),
)
"""The action: the same, and told to GitHub."""

PUBLISH = Command(
    defaults=_OF_A_PULL_REQUEST,
    foreign=frozenset(Settings.model_fields)
    - {
        *("runner", "model", "judge", "judge_model"),
        *("baseline", "repeat", "max_repeat", "adaptive", "min_repeats"),
        *("min_delta", "gate", "margin", "confidence", "on_inconclusive", "on_unmeasured"),
        *("min_pass_rate", "per_skill_min", "per_skill", "fail_on_error", "max_regressed_cases"),
        *("max_token_increase", "max_cost_increase", "max_latency_increase"),
        *("new_skills", "uncovered_skills"),
    },
    also_compares_with=(NO_SKILL,),
)
"""`publish`: what another job measured, judged anew. Nothing is run, so only the gate is asked."""

SELFCHECK = Command(
    defaults={"baseline": [ITSELF], "repeat": 3, "gate": "interval", "min_pass_rate": None},
    foreign=frozenset(
        {
            *("baseline", "base", "min_delta", "min_pass_rate", "per_skill_min", "per_skill"),
            *("fail_on_error", "gate", "adaptive", "max_repeat", "min_repeats"),
            *("on_inconclusive", "on_unmeasured", "max_regressed_cases", "max_token_increase"),
            *("max_cost_increase", "max_latency_increase", "suite", "new_skills"),
            *("uncovered_skills", "skills", "max_skills", "max_cases", "report_dir"),
            *("junit_output", "markdown_output", "markdown_max_chars", "scorecard"),
            *("record", "resume"),
            *("baseline_mode", "run_id", "out"),
        }
    ),
)
"""`selfcheck`: the candidate against itself."""

COMMANDS: Mapping[str, Command] = {
    "run": RUN,
    "selfcheck": SELFCHECK,
    "pr": PULL_REQUEST,
    "action": ACTION,
    "publish": PUBLISH,
}
