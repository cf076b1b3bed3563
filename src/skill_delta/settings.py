"""Every choice of a run, checked once: flag over config file over default."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from skill_delta.core.documents import Document, Path
from skill_delta.core.trials import NO_SKILL
from skill_delta.errors import UserError, UserErrors

CONFIG_FILES = tuple(
    f"{folder}skill-delta.{ending}" for folder in (".github/", "") for ending in ("yml", "yaml")
)
"""Where the config file is looked for, relative to the repository's root."""

MODEL_RUNNERS = ("openai",)
"""Runners that are told which model to ask."""

RUNNERS = ("scripted", *MODEL_RUNNERS)


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _without_doubles(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not value.strip():
            raise PydanticCustomError("blank", "must not be blank")
        if values.count(value) > 1:
            raise PydanticCustomError("double", "'{value}' is named twice", {"value": value})
    return values


Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_tuple),
    BeforeValidator(_as_list, json_schema_input_type=str | list[str]),
    AfterValidator(_without_doubles),
]
Number = Annotated[float, Field(allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _named_numbers(parts: Sequence[object]) -> dict[str, float]:
    """`["previous=0.0", "none=0.1"]`, or a bare number for all, which is named ""."""
    numbers: dict[str, float] = {}
    for part in parts:
        name, equals, number = str(part).rpartition("=")
        try:
            numbers[name.strip()] = float(number)
        except ValueError:
            wanted = "a number, or NAME=NUMBER"
            raise PydanticCustomError(
                "number", "'{part}' is not {wanted}", {"part": str(part), "wanted": wanted}
            ) from None
        if equals and not name.strip():
            raise PydanticCustomError("name", "'{part}' names nothing", {"part": str(part)})
    if len(numbers) < len(parts):
        raise PydanticCustomError("double", "a name is given twice")
    return numbers


class PerSkill(BaseModel):
    """Bars of one skill's own."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=_kebab,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    min_pass_rate: Rate | None = None
    """The pass rate that this skill must reach, in [0, 1]."""
    min_delta: Number | None = None
    """The pass-rate delta that this skill must reach against every baseline."""


class Settings(BaseModel):
    """What a run was asked for. Each field is a flag and a config key of the same name."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=_kebab,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    evals: str | None = None
    """An eval file, or a folder of them, to use in place of each skill's own."""
    runner: Texts = ("openai",)
    """What drives the trials; every case runs through each."""
    model: Texts = ()
    """The model to ask, or RUNNER=MODEL."""
    base_url: str | None = None
    """The chat-completions endpoint's base URL."""
    tag: Texts = ()
    """Only cases with one of these tags."""
    case: Texts = ()
    """Only cases whose name contains this text, in any case."""
    baseline: Texts = ()
    """What to compare with: none, previous, base, or a revision."""
    base: str | None = None
    """The revision from which `previous` walks, and which `base` reads."""
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often each arm runs each case."""
    min_delta: Mapping[str, Number] = Field(default_factory=dict)
    """The pass-rate delta to reach, for every baseline ("") or by baseline name."""
    min_pass_rate: Rate | None = 1.0
    """The candidate's pass rate to reach, in [0, 1]; none where it does not decide."""
    per_skill_min: Mapping[str, Rate] = Field(default_factory=dict)
    """A pass rate to reach per skill name."""
    per_skill: Mapping[str, PerSkill] = Field(default_factory=dict)
    """Bars per skill name (config file only)."""
    fail_on_error: bool = True
    """Whether a lost trial of the candidate fails the gate."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    """How many trials run at once."""
    max_cost: Amount | None = None
    """No new trial starts once this many US dollars are spent."""
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    """No new trial starts once this many tokens are used."""
    max_time: Amount | None = None
    """No new trial starts after this many seconds."""
    json_output: str | None = None
    """Write the JSON report here."""
    junit_output: str | None = None
    """Write the JUnit report here."""
    markdown_output: str | None = None
    """Write the Markdown report here."""
    replies: str | None = None
    """What the scripted runner answers, in place of each skill's evals/replies.yaml."""
    seed: int = 0
    """Orders the trials."""
    new_skills: Literal["none", "skip", "fail"] = "none"
    """A skill that a pull request adds: compared with none, left out, or refused."""
    uncovered_skills: Literal["warn", "fail"] = "warn"
    """A changed skill without eval cases: named, or refused."""
    skills: Texts = ()
    """Only changes of skills in these folders of the repository."""
    on_unmeasured: Literal["fail", "pass"] = "fail"
    """Whether the check fails where nothing could be measured."""
    max_skills: Annotated[int, Field(ge=1)] | None = None
    """Evaluate no more changed skills than this."""
    max_cases: Annotated[int, Field(ge=1)] | None = None
    """Run no more cases than this, over all skills."""
    report_dir: str | None = None
    """The folder that all reports are written into, and nothing else is."""

    @field_validator("runner")
    @classmethod
    def _known_runners(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in RUNNERS:
                raise PydanticCustomError(
                    "runner",
                    "there is no runner '{name}'; the runners are {known}",
                    {"name": name, "known": ", ".join(RUNNERS)},
                )
        if not names:
            raise PydanticCustomError("runner", "name at least one runner")
        return names

    @field_validator(
        "min_delta", mode="before", json_schema_input_type=float | str | dict[str, float]
    )
    @classmethod
    def _one_bar_or_one_each(cls, value: object) -> object:
        if isinstance(value, str):
            return _named_numbers(value.split(","))
        return {"": value} if isinstance(value, int | float) else value

    @field_validator("per_skill_min", mode="before")
    @classmethod
    def _one_rate_each(cls, value: object) -> object:
        return _named_numbers(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _models_name_their_runner(self) -> Self:
        if self.model and self.asking_runners:
            for runner in self.asking_runners:
                self.model_of(runner)
        return self

    @property
    def asking_runners(self) -> tuple[str, ...]:
        """The runners of this run that need a model's name."""
        return tuple(name for name in self.runner if name in MODEL_RUNNERS)

    def model_of(self, runner: str) -> str:
        """The model that `runner` asks; empty where none was given."""
        own = [m.partition("=")[2] for m in self.model if m.partition("=")[0] == runner]
        general = [m for m in self.model if m.partition("=")[0] not in RUNNERS]
        if len(own) > 1 or len(general) > 1:
            raise PydanticCustomError(
                "model", "several models are named for runner '{runner}'", {"runner": runner}
            )
        return next(iter((*own, *general)), "")

    def bars(self) -> Mapping[str, float]:
        """The delta to reach per baseline, where one is."""
        general = self.min_delta.get("")
        bars = {name: self.min_delta.get(name, general) for name in self.baseline}
        named = {name: bar for name, bar in self.min_delta.items() if name}
        return {name: bar for name, bar in {**bars, **named}.items() if bar is not None}

    def skill_bars(self) -> Mapping[str, float]:
        """The delta to reach per skill that has a bar of its own."""
        own = {name: skill.min_delta for name, skill in self.per_skill.items()}
        return {name: bar for name, bar in own.items() if bar is not None}

    def skill_rates(self) -> Mapping[str, float]:
        """The pass rate to reach per skill that has one of its own."""
        own = {name: skill.min_pass_rate for name, skill in self.per_skill.items()}
        return {**{n: rate for n, rate in own.items() if rate is not None}, **self.per_skill_min}


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
            "on_unmeasured",
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
}
# The base is part of what is compared, and the reports go into one folder.
_OF_A_RUN = frozenset({"base", "evals", "json_output", "junit_output", "markdown_output"})

PULL_REQUEST = Command(
    defaults=_OF_A_PULL_REQUEST,
    foreign=_OF_A_RUN,
    also_compares_with=(NO_SKILL,),
)
"""`pr`: what a pull request changed, on this machine. A new skill is compared with none."""

ACTION = Command(
    defaults={**_OF_A_PULL_REQUEST, "report_dir": ".skill-delta"},
    foreign=_OF_A_RUN,
    also_compares_with=(NO_SKILL,),
)
"""The action: the same, and told to GitHub."""

COMMANDS: Mapping[str, Command] = {"run": RUN, "pr": PULL_REQUEST, "action": ACTION}


def settle(
    flags: Mapping[str, JsonValue], config: Document | None, command: Command = RUN
) -> Settings:
    """The run's settings: what a flag says, else the config file, else the command's default.

    `flags` maps field names to the values given, and only those. Raises `UserErrors` with the
    flag, or the file and line, of everything that is wrong.
    """
    written = _config_values(config)
    settings = _checked({**command.defaults, **written, **flags}, flags, config)
    problems = (*_contradictions(settings, command), *_unread(settings, flags))
    if problems:
        raise UserErrors(problems)
    return settings


def from_texts(texts: Mapping[str, str], command: Command) -> Mapping[str, JsonValue]:
    """The command's settings, as inputs give them: always as text, lists one a line.

    A blank text is an absent one, and what is no setting is left out. Raises `UserErrors`.
    """
    values: dict[str, JsonValue] = {}
    problems = []
    for name in command.fields:
        text = texts.get(name, "").strip()
        if text:
            try:
                values[name] = _typed(name, text)
            except ValueError as error:
                problems.append(UserError(f"input '{_kebab(name)}': {error} (got {_shown(text)})"))
    if problems:
        raise UserErrors(tuple(problems))
    return values


def _typed(name: str, text: str) -> JsonValue:
    kinds = _kinds(Settings.model_fields[name].annotation)
    if tuple in kinds or name == "per_skill_min":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if bool in kinds:
        return _boolean(text)
    if int in kinds:
        return _number(int, text, "a whole number")
    if float in kinds and Mapping not in kinds:
        return _number(float, text, "a number")
    return text


def _kinds(annotation: object) -> set[object]:
    """The types that an annotation is made of."""
    origin = get_origin(annotation)
    parts = {kind for part in get_args(annotation) for kind in _kinds(part)}
    return parts | {annotation if origin is None else origin}


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("should be true or false")
    return text.lower() == "true"


def _number(kind: type[int | float], text: str, wanted: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"should be {wanted}") from None


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
    return {key.replace("-", "_"): value for key, value in config.value.items()}


_CONFIG_KEYS = tuple(_kebab(name) for name in Settings.model_fields)


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
    got = f" (got {_shown(detail['input'])})" if path else ""
    if field in flags or config is None or not path:
        return UserError(f"--{_kebab(field)}: {message}{got}")
    place = config.place((_kebab(field), *path[1:]))
    return UserError(f"{message}{got}", place=place)


_MESSAGES = {
    "extra_forbidden": "there is no such setting",
    "bool_type": "should be true or false",
    "string_type": "should be text; put it in quotes",
    "tuple_type": "should be text in quotes, or a list of texts",
}
"""What is wrong in our words, where pydantic's are about Python."""


def _shown(value: object) -> str:
    parts = value if isinstance(value, list | tuple) else [value]
    text = ", ".join(str(part) if isinstance(part, str) else json.dumps(part) for part in parts)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _contradictions(settings: Settings, command: Command) -> Sequence[UserError]:
    problems = []
    if (settings.min_delta or settings.skill_bars()) and not settings.baseline:
        problems.append(
            UserError(
                "--min-delta has nothing to compare with: no baseline was named",
                hint="add --baseline previous (or none, base, a revision), or drop --min-delta",
            )
        )
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


def _unread(settings: Settings, flags: Mapping[str, JsonValue]) -> Sequence[UserError]:
    """Flags that nothing in this run would read: silence would look like obedience."""
    readers = {
        "model": bool(settings.asking_runners),
        "base_url": bool(settings.asking_runners),
        "replies": "scripted" in settings.runner,
        "base": bool({*settings.baseline} - {NO_SKILL}),
    }
    why = {
        "model": "no runner of this run asks a model",
        "base_url": "no runner of this run asks a model",
        "replies": "the scripted runner is not part of this run",
        "base": "no baseline of this run comes from history",
    }
    return [
        UserError(f"--{_kebab(name)} has no effect: {why[name]}", hint=f"drop --{_kebab(name)}")
        for name, read in readers.items()
        if name in flags and not read
    ]


def config_schema() -> dict[str, JsonValue]:
    """The JSON Schema of the config file, for editors. It is kept in `schemas/`."""
    schema: dict[str, JsonValue] = Settings.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
