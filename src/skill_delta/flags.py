"""The flags that set a setting: which command takes each, its type and its one line of help.

A table, and not each command's parameters: `run` and `pr` share most of them. It names no default
that it would have to load the settings for: `--help` has to be quick.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import typer

CommandName = Literal["run", "pr", "selfcheck", "publish"]

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `defaults` maps each command that takes it to its default, as help shows it."""

    kind: object
    help: str
    defaults: Mapping[CommandName, str]
    names: tuple[str, ...] = ()

    def option(self, command: CommandName) -> object:
        """The annotation that typer reads."""
        default = self.defaults[command]
        shown = f"{self.help} [{default}]." if default else f"{self.help}."
        return Annotated[self.kind, typer.Option(*self.names, help=shown)]


TEXT, TEXTS = str | None, list[str] | None
WHOLE, NUMBER, SWITCH = int | None, float | None, bool | None


def _both(default: str = "", pr: str | None = None) -> Mapping[CommandName, str]:
    return {"run": default, "pr": default if pr is None else pr}


def _judging(default: str = "", pr: str | None = None) -> Mapping[CommandName, str]:
    """What also judges a run that another job made: as on a pull request."""
    both = _both(default, pr)
    return {**both, "publish": both["pr"]}


def _all(default: str = "") -> Mapping[CommandName, str]:
    return dict.fromkeys(("run", "pr", "selfcheck"), default)


def _every(default: str = "") -> Mapping[CommandName, str]:
    return {**_all(default), "publish": default}


def _run(default: str = "") -> Mapping[CommandName, str]:
    return {"run": default}


def _local() -> Mapping[CommandName, str]:
    return {"run": "", "selfcheck": ""}


def _pr(default: str = "") -> Mapping[CommandName, str]:
    return {"pr": default}


def _of_pull_requests(default: str) -> Mapping[CommandName, str]:
    return {"pr": default, "publish": default}


FLAGS: Mapping[str, Flag] = {
    "runner": Flag(
        TEXTS, "What drives the trials: scripted or openai (repeatable)", _every("openai")
    ),
    "model": Flag(TEXTS, "The model to ask, or RUNNER=MODEL (repeatable)", _every()),
    "base_url": Flag(TEXT, "Base URL of the chat-completions endpoint", _all()),
    "judge": Flag(
        TEXT, "What grades by rubrics: scripted or openai", _every("openai where a model is asked")
    ),
    "judge_model": Flag(TEXT, "The model that judges", _every("the runner's")),
    "judge_base_url": Flag(
        TEXT, "Base URL of the judge's own endpoint", _all("that of --base-url")
    ),
    "baseline": Flag(
        TEXTS,
        "Compare with none, previous, base or a revision (repeatable)",
        _judging("", "previous"),
    ),
    "base": Flag(TEXT, "Revision that `previous` walks from and `base` reads", _run()),
    "repeat": Flag(
        WHOLE,
        "Runs of each case in each arm",
        {"run": "1", "pr": "3", "selfcheck": "3", "publish": "3"},
    ),
    "min_delta": Flag(TEXT, "Required pass-rate delta, or BASELINE=DELTA,…", _judging("", "0")),
    "gate": Flag(
        TEXT, "point judges the bare delta, interval what it may be", _judging("point", "interval")
    ),
    "margin": Flag(
        NUMBER, "Drop below the required delta that a pass must rule out", _every("0.1")
    ),
    "confidence": Flag(NUMBER, "Confidence of the intervals, two-sided", _every("0.9")),
    "adaptive": Flag(
        TEXT,
        "off, confirm or resolve: run more where it may change the verdict",
        _judging("off", "confirm"),
    ),
    "max_repeat": Flag(
        WHOLE, "Runs of each case in each arm at most, where adaptive", _judging("3 x repeat, or 9")
    ),
    "min_repeats": Flag(WHOLE, "Fewer runs of each case than this decide nothing", _judging("2")),
    "on_inconclusive": Flag(TEXT, "pass or fail where the interval cannot tell", _judging("pass")),
    "min_pass_rate": Flag(NUMBER, "Required pass rate of the candidate", _judging("1.0", "none")),
    "per_skill_min": Flag(TEXTS, "SKILL=RATE: one skill's own bar (repeatable)", _judging()),
    "fail_on_error": Flag(
        SWITCH,
        "Lost trials fail the gate",
        _judging("where gate is point"),
        ("--fail-on-error/--no-fail-on-error",),
    ),
    "max_token_increase": Flag(NUMBER, "Allowed increase in tokens, 0.2 = a fifth", _judging()),
    "max_cost_increase": Flag(NUMBER, "Allowed increase in cost, 0.2 = a fifth", _judging()),
    "max_latency_increase": Flag(NUMBER, "Allowed increase in latency, 0.2 = a fifth", _judging()),
    "max_regressed_cases": Flag(WHOLE, "Allowed number of cases that got worse", _judging()),
    "tag": Flag(TEXTS, "Only cases with this tag (repeatable)", _all()),
    "case": Flag(TEXTS, "Only cases whose name has this text (repeatable)", _all()),
    "evals": Flag(TEXT, "Eval file or folder, in place of the skills' own", _local()),
    "skills": Flag(TEXTS, "Only changes in these folders (repeatable)", _pr()),
    "suite": Flag(TEXT, "Run the eval cases of head or base", _pr("head")),
    "new_skills": Flag(
        TEXT, "none, skip or fail for a skill that is new", _of_pull_requests("none")
    ),
    "uncovered_skills": Flag(
        TEXT, "warn or fail for a changed skill without cases", _of_pull_requests("warn")
    ),
    "max_skills": Flag(WHOLE, "Evaluate at most this many changed skills", _pr()),
    "max_cases": Flag(WHOLE, "Run at most this many cases", _pr()),
    "on_unmeasured": Flag(TEXT, "fail or pass where nothing could be measured", _judging("fail")),
    "replies": Flag(TEXT, "What the scripted runner answers", _all()),
    "concurrency": Flag(WHOLE, "Trials at once", _all("8")),
    "max_cost": Flag(NUMBER, "Start no trial once this many US dollars are spent", _all()),
    "max_tokens": Flag(WHOLE, "Start no trial once this many tokens are used", _all()),
    "max_time": Flag(NUMBER, "Start no trial after this many seconds", _all()),
    "json_output": Flag(TEXT, "Write the JSON report here", _local()),
    "junit_output": Flag(TEXT, "Write a JUnit report here", _run()),
    "markdown_output": Flag(TEXT, "Write a Markdown report here", _run()),
    "markdown_max_chars": Flag(WHOLE, "Make that report no longer than this", _run("1000000")),
    "record": Flag(TEXT, "Append each finished trial to this run record", _run()),
    "resume": Flag(TEXT, "Run only what this run record does not hold yet", _run()),
    "allow_scripts": Flag(
        SWITCH,
        "Let the model run the scripts that a skill ships",
        _all("no"),
        ("--allow-scripts/--no-allow-scripts",),
    ),
    "script_sandbox": Flag(TEXT, "Run scripts in a sandbox: auto, required or off", _all("auto")),
    "keep_workspace": Flag(
        SWITCH,
        "Keep working folders, and say where",
        _all("no"),
        ("--keep-workspace/--no-keep-workspace",),
    ),
    "scorecard": Flag(TEXT, "Write the DeltaScorecard here", _run()),
    "baseline_mode": Flag(
        TEXT, "skill-on, skill-off or both: suppress the skill instead of a baseline", _run()
    ),
    "run_id": Flag(TEXT, "What the run is called in its records", _run("a new one")),
    "out": Flag(TEXT, "Run record, suffixed per leg, with the scorecard beside it", _run()),
    "report_dir": Flag(TEXT, "Write all reports here, inside the repository", _pr()),
    "seed": Flag(WHOLE, "Orders the trials", _all("0")),
}
"""Every flag, in the order in which help lists them, by the name of its setting."""


def with_flags(command: CommandName) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a command all the flags that it takes, after the parameters of its own."""

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        own = inspect.signature(function, eval_str=True)
        flags = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=flag.option(command)
            )
            for name, flag in FLAGS.items()
            if command in flag.defaults
        ]

        def called(*args: Any, **given: Any) -> R:
            # The values are read from the context, which knows them by the settings' names.
            return function(*args, **{k: v for k, v in given.items() if k in own.parameters})

        called.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[*own.parameters.values(), *flags]
        )
        called.__name__, called.__doc__ = function.__name__, function.__doc__
        return called

    return decorated
