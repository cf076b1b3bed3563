"""Settings from where people write them: flags and the config file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from skill_delta.core.documents import Document, Path
from skill_delta.core.intervals import MOST_LOOKS
from skill_delta.errors import UserError, UserErrors
from skill_delta.settings.commands import RUN, Command
from skill_delta.settings.model import INCREASES, Settings, kebab

CONFIG_FILES = tuple(
    f"{folder}skill-delta.{ending}" for folder in (".github/", "") for ending in ("yml", "yaml")
)
"""Where the config file is looked for, relative to the repository's root."""


def settle(
    flags: Mapping[str, JsonValue], config: Document | None, command: Command = RUN
) -> Settings:
    """The run's settings: what a flag says, else the config file, else the command's default.

    `flags` maps field names to the values given, and only those. Raises `UserErrors` with the
    flag, or the file and line, of everything that is wrong.
    """
    written = _config_values(config)
    _checked({**command.defaults, **written, **flags}, flags, config)
    # A config file holds what several commands need, and each is to find what is wrong with it.
    written = {name: value for name, value in written.items() if name not in command.foreign}
    values = {**command.defaults, **written, **flags}
    # Where the mode is a flag, a config file's baseline is for other runs.
    beside_mode = flags if "baseline_mode" in flags else {**written, **flags}
    has_both = values.get("baseline_mode") is not None and "baseline" in beside_mode
    if values.get("baseline_mode") == "both" and not has_both:
        values["baseline"] = ["none"]
    settings = _checked(values, flags, config)
    if "min_delta" not in flags and settings.baseline:
        settings = _without_bars_of_others(settings, command)
    problems = (
        *_contradictions(settings, command),
        *_about_records(settings, has_both=has_both),
        *_unread(settings, flags),
    )
    if problems:
        raise UserErrors(problems)
    return settings


def _without_bars_of_others(settings: Settings, command: Command) -> Settings:
    """Those of a config file that name a baseline which this run does not have are for others."""
    own = {"", *settings.baseline, *command.also_compares_with}
    bars = {name: bar for name, bar in settings.min_delta.items() if name in own}
    return settings.model_copy(update={"min_delta": bars})


def _config_values(config: Document | None) -> Mapping[str, JsonValue]:
    if config is None or config.value is None:
        return {}
    if not isinstance(config.value, dict):
        raise UserError("the config must be a mapping of settings", place=config.place())
    problems = tuple(
        UserError(f"unknown setting '{key}'", hint=_did_you_mean(key), place=config.place((key,)))
        for key in config.value
        if key not in _CONFIG_KEYS
    )
    if problems:
        raise UserErrors(problems)
    # A blank value is an absent one: `min-pass-rate:` must not switch a bar off.
    return {k.replace("-", "_"): value for k, value in config.value.items() if value is not None}


_CONFIG_KEYS = tuple(kebab(name) for name in Settings.model_fields)


def _did_you_mean(key: str) -> str:
    close = difflib.get_close_matches(key.replace("_", "-").lower(), _CONFIG_KEYS, n=1)
    return f"did you mean '{close[0]}'?" if close else f"the settings are {', '.join(_CONFIG_KEYS)}"


def _checked(
    values: Mapping[str, JsonValue], flags: Mapping[str, JsonValue], config: Document | None
) -> Settings:
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise UserErrors(
            tuple(_problem(detail, flags, config) for detail in error.errors())
        ) from None


def _problem(
    detail: ErrorDetails, flags: Mapping[str, JsonValue], config: Document | None
) -> UserError:
    path: Path = tuple(detail["loc"])
    name = str(path[0]) if path else "model"
    field = name.replace("-", "_")
    message = _MESSAGES.get(detail["type"], detail["msg"].replace("Input should", "should"))
    got = f" (got {shown(detail['input'])})" if path else ""
    if field in flags or config is None or not path:
        return UserError(f"--{kebab(field)}: {message}{got}")
    place = config.place((kebab(field), *path[1:]))
    return UserError(f"{message}{got}", place=place)


_MESSAGES = {
    "extra_forbidden": "there is no such setting",
    "bool_type": "should be true or false",
    "string_type": "should be text; put it in quotes",
    "tuple_type": "should be text in quotes, or a list of texts",
}
"""What is wrong in our words, where pydantic's are about Python."""


def _contradictions(settings: Settings, command: Command) -> Sequence[UserError]:
    problems = []
    if (settings.min_delta or settings.skill_bars()) and not settings.baseline:
        problems.append(
            UserError(
                "--min-delta has nothing to compare with: no baseline was named",
                hint="add --baseline previous (or none, base, a revision), or drop --min-delta",
            )
        )
    problems += _about_looks(settings)
    problems += [
        UserError(f"--{name} has nothing to compare with: no baseline was named")
        for name, asked in (
            *((kebab(INCREASES[measure]), True) for measure in settings.increases()),
            ("max-regressed-cases", settings.max_regressed_cases is not None),
            ("scorecard", settings.scorecard is not None),
        )
        if asked and not settings.baseline
    ]
    problems += [
        UserError(
            f"--min-delta names the baseline '{name}', which this run does not have",
            hint=f"add --baseline {name}",
        )
        for name in settings.min_delta
        if settings.baseline
        and name
        and name not in (*settings.baseline, *command.also_compares_with)
    ]
    problems += [
        UserError(
            f"runner '{runner}' needs a model",
            hint="name one with --model, as the provider spells it",
        )
        for runner in settings.asking_runners
        if not settings.model_of(runner)
    ]
    return problems


def _about_records(settings: Settings, *, has_both: bool) -> Iterator[UserError]:
    """`has_both` says that a mode and a baseline were named side by side."""
    mode = settings.baseline_mode
    wanted = ("none",) if mode == "both" else ()
    if has_both or (mode is not None and settings.baseline != wanted):
        yield UserError(
            f"--baseline-mode {mode} says what is compared, and so does --baseline",
            hint="drop one of them: context variants are another axis than hook suppression",
        )
    if settings.record is not None and settings.resume is not None:
        yield UserError("--resume appends to the record that it names, so --record has no effect")
    if settings.out is not None and (settings.record or settings.resume):
        yield UserError("--out is the run record's path, and so is that of --record or --resume")
    if mode == "both" and (settings.record or settings.resume):
        yield UserError(
            "--baseline-mode both keeps a record of each leg", hint="name them with --out"
        )


def _about_looks(settings: Settings) -> Iterator[UserError]:
    looks = settings.looks()
    if looks.most < looks.repetitions:
        yield UserError(
            f"--max-repeat {looks.most} is less than --repeat {looks.repetitions}",
            hint="raise --max-repeat, or lower --repeat",
        )
    if looks.planned > MOST_LOOKS:
        yield UserError(
            f"--max-repeat {looks.most} at --repeat {looks.repetitions} plans "
            f"{looks.planned} looks, and more than {MOST_LOOKS} make each of them say too little",
            hint=f"raise --repeat to {-(-looks.most // MOST_LOOKS)}, or lower --max-repeat",
        )
    for bar in (*settings.bars().values(), *settings.skill_bars().values()):
        if settings.gate == "interval" and not -1 <= bar <= 1:
            yield UserError(
                f"--min-delta {bar:g} is no difference of two rates: none is below -1 or above 1",
                hint="0 asks for no regression, 0.1 for ten points more",
            )


def _unread(settings: Settings, flags: Mapping[str, JsonValue]) -> Sequence[UserError]:
    """Flags that nothing in this run would read: silence would look like obedience."""
    barred = bool(settings.bars() or settings.skill_bars())
    counted = settings.gate == "interval" and settings.max_regressed_cases is not None
    bounded = settings.max_regressed_cases is not None or bool(settings.increases())
    gated = settings.gate == "interval" and barred
    readers = {
        "model": bool(settings.asking_runners),
        "base_url": bool(settings.asking_runners),
        "replies": "scripted" in (*settings.runner, settings.judge_name),
        **dict.fromkeys(("judge_model", "judge_base_url"), settings.judge_name != "scripted"),
        "base": not {"previous", "base"}.isdisjoint(settings.baseline),
        "adaptive": gated,
        "min_repeats": gated or counted,
        "gate": barred or bounded,
        "margin": barred,
        "confidence": bool(settings.baseline),
        "on_inconclusive": settings.gate == "interval" or bool(settings.increases()),
        "markdown_max_chars": settings.markdown_output is not None,
        "script_sandbox": settings.allow_scripts,
        "max_repeat": gated and settings.adaptive != "off",
    }
    why = {
        "model": "no runner of this run asks a model",
        "base_url": "no runner of this run asks a model",
        "replies": "the scripted runner is not part of this run",
        **dict.fromkeys(("judge_model", "judge_base_url"), "the scripted judge asks no model"),
        "base": "neither previous nor base is a baseline of this run",
        "adaptive": "only gate interval with a min-delta looks again",
        "on_inconclusive": "only gate interval can be inconclusive, or a bound on an increase",
        "min_repeats": "only gate interval with a min-delta asks for repetitions",
        **dict.fromkeys(("gate", "margin"), "nothing is required of a delta without --min-delta"),
        "confidence": "nothing is compared without a baseline",
        "markdown_max_chars": "no Markdown report is written",
        "script_sandbox": "no script runs without allow-scripts",
        "max_repeat": "only adaptive repetition samples again",
    }
    return [
        UserError(f"--{kebab(name)} has no effect: {why[name]}", hint=f"drop --{kebab(name)}")
        for name, read in readers.items()
        if name in flags and not read
    ]


def shown(value: object) -> str:
    parts = value if isinstance(value, list | tuple) else [value]
    text = ", ".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= 60 else f"{text[:57]}…"
