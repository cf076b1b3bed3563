"""What can be chosen: each setting, its type, its range and its default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from skill_delta.core.judging import JudgedBy
from skill_delta.core.looks import MOST_REPETITIONS, Adaptive, Looks
from skill_delta.core.readings import Measure

MODEL_RUNNERS = ("openai",)
"""Runners that are told which model to ask."""

RUNNERS = ("scripted", *MODEL_RUNNERS)

JUDGES = ("scripted", *MODEL_RUNNERS)
"""What can grade by a rubric: whatever answers a bare question."""

INCREASES: Mapping[Measure, str] = {
    Measure.TOKENS: "max_token_increase",
    Measure.COST: "max_cost_increase",
    Measure.LATENCY: "max_latency_increase",
}
"""The setting that bounds how much more of each the candidate may use."""


def kebab(name: str) -> str:
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
Increase = Annotated[float, Field(ge=0, allow_inf_nan=False)] | None


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


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Checked(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=kebab,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _texts_are_utf8(cls, value: object) -> object:
        # What an argument or a variable has of other bytes comes as halves of surrogate pairs,
        # which no report, record or request can hold.
        texts = value if isinstance(value, list | Mapping) else [value]
        if not all(_is_utf8(text) for text in texts if isinstance(text, str)):
            raise PydanticCustomError("utf8", "should be text in UTF-8")
        return value


class PerSkill(_Checked):
    """Bars of one skill's own."""

    min_pass_rate: Rate | None = None
    """The pass rate that this skill must reach, in [0, 1]."""
    min_delta: Number | None = None
    """The pass-rate delta that this skill must reach against every baseline."""


class Settings(_Checked):
    """What a run was asked for. Each field is a flag and a config key of the same name."""

    evals: str | None = None
    """An eval file, or a folder of them, to use in place of each skill's own."""
    runner: Texts = ("openai",)
    """What drives the trials; every case runs through each."""
    model: Texts = ()
    """The model to ask, or RUNNER=MODEL."""
    base_url: str | None = None
    """The chat-completions endpoint's base URL."""
    judge: str | None = None
    """What grades by rubrics: by default what asks the model; scripted where none is asked."""
    judge_model: str | None = None
    """The model that judges; by default the one that is judged, which a note warns of."""
    judge_base_url: str | None = None
    """The base URL of the judge's own endpoint; by default the runners'."""
    tag: Texts = ()
    """Only cases with one of these tags."""
    case: Texts = ()
    """Only cases whose name contains this text, in any case."""
    baseline: Texts = ()
    """What to compare with: none, previous, base, or a revision."""
    base: str | None = None
    """The revision from which `previous` walks, and which `base` reads."""
    repeat: Annotated[int, Field(ge=1, le=MOST_REPETITIONS)] = 1
    """How often each arm runs each case."""
    min_delta: Mapping[str, Number] = Field(default_factory=dict)
    """The pass-rate delta to reach, for every baseline ("") or by baseline name."""
    gate: Literal["point", "interval"] = "point"
    """How a required delta is judged: by the bare difference, or by its confidence interval."""
    margin: Annotated[float, Field(ge=0, le=1)] = 0.10
    """The drop below min-delta that a pass has to rule out, in points of rate (0.1 = ten)."""
    confidence: Annotated[float, Field(ge=0.5, le=0.999)] = 0.90
    """Two-sided: each wrong verdict happens at most (1 - confidence)/2 of the time."""
    max_repeat: Annotated[int, Field(ge=1, le=MOST_REPETITIONS)] | None = None
    """How often each arm runs each case at most, over all looks."""
    adaptive: Literal["off", "confirm", "resolve"] = "off"
    """Whether a suite is run again: never, while the delta is below its bar, or until decided."""
    on_inconclusive: Literal["pass", "fail"] = "pass"
    """What the check is where the interval gate cannot tell."""
    min_repeats: Annotated[int, Field(ge=1)] = 2
    """Below so many repetitions no verdict of the interval gate is more than inconclusive."""
    max_token_increase: Increase = None
    """How much more tokens the candidate may use (0.2 = a fifth more)."""
    max_cost_increase: Increase = None
    """How much more money the candidate may cost (0.2 = a fifth more)."""
    max_latency_increase: Increase = None
    """How much longer the candidate may take (0.2 = a fifth longer)."""
    max_regressed_cases: Annotated[int, Field(ge=0)] | None = None
    """How many cases may get worse."""
    min_pass_rate: Rate | None = 1.0
    """The candidate's pass rate to reach, in [0, 1]; none where it does not decide."""
    per_skill_min: Mapping[str, Rate] = Field(default_factory=dict)
    """A pass rate to reach per skill name."""
    per_skill: Mapping[str, PerSkill] = Field(default_factory=dict)
    """Bars per skill name (config file only)."""
    fail_on_error: bool | None = None
    """Whether a lost trial of the candidate fails the gate: by default under gate point alone."""
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
    markdown_max_chars: Annotated[int, Field(ge=1_000)] | None = None
    """How long the Markdown report may be; what does not fit is left out and counted."""
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
    suite: Literal["head", "base"] = "head"
    """Whose eval cases are run: the pull request's, or those of its base."""
    on_unmeasured: Literal["fail", "pass"] = "fail"
    """Whether the check fails where nothing could be measured."""
    max_skills: Annotated[int, Field(ge=1)] | None = None
    """Evaluate no more changed skills than this."""
    max_cases: Annotated[int, Field(ge=1)] | None = None
    """Run no more cases than this, over all skills."""
    report_dir: str | None = None
    """The folder that all reports are written into, and nothing else is."""
    record: str | None = None
    """Append each finished trial to this run record."""
    resume: str | None = None
    """Run only what this run record does not hold yet, and append to it."""
    allow_scripts: bool = False
    """Whether a model may run the scripts that a skill ships: code of whoever wrote the skill."""
    script_sandbox: Literal["auto", "required", "off"] = "auto"
    """Whether scripts run in a sandbox: where one works, always, or never."""
    keep_workspace: bool = False
    """Whether working folders stay when the run is over."""
    scorecard: str | None = None
    """Write the DeltaScorecard here."""
    baseline_mode: Literal["skill-on", "skill-off", "both"] | None = None
    """Hook suppression: run with the skill, without it, or both."""
    run_id: str | None = None
    """What the run is called in its records; a default is made up."""
    out: str | None = None
    """The run record's path under baseline-mode, suffixed per leg."""

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

    @field_validator("judge")
    @classmethod
    def _known_judge(cls, name: str | None) -> str | None:
        if name is not None and name not in JUDGES:
            raise PydanticCustomError(
                "judge",
                "there is no judge '{name}'; the judges are {known}",
                {"name": name, "known": ", ".join(JUDGES)},
            )
        return name

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

    @property
    def judge_name(self) -> str:
        """What grades by rubrics, where a case of the run has one."""
        if self.judge is not None:
            return self.judge
        is_described = self.judge_model is not None or self.judge_base_url is not None
        return next(iter(self.asking_runners), MODEL_RUNNERS[0] if is_described else "scripted")

    @property
    def judged_by(self) -> JudgedBy:
        """What is asked for as a judge, as a record names it."""
        name = self.judge_name
        return JudgedBy(name, self.judging_model if name in MODEL_RUNNERS else "")

    @property
    def judging_model(self) -> str:
        """The model that judges; empty where none was given, or none is asked."""
        if self.judge_model is not None:
            return self.judge_model.strip()
        name = self.judge_name
        return self.model_of(name) if name in self.asking_runners else ""

    def model_of(self, runner: str) -> str:
        """The model that `runner` asks; empty where none was given."""
        own = [m.partition("=")[2] for m in self.model if m.partition("=")[0] == runner]
        general = [m for m in self.model if m.partition("=")[0] not in RUNNERS]
        if len(own) > 1 or len(general) > 1:
            raise PydanticCustomError(
                "model", "several models are named for runner '{runner}'", {"runner": runner}
            )
        return next(iter((*own, *general)), "")

    def looks(self) -> Looks:
        """The looks that are planned. Only the interval gate looks again.

        Where an inconclusive run fails, confirming is not enough: it samples until decided.
        """
        adaptive = Adaptive(self.adaptive) if self.gate == "interval" else Adaptive.OFF
        if adaptive is Adaptive.CONFIRM and self.on_inconclusive == "fail":
            adaptive = Adaptive.RESOLVE
        if adaptive is Adaptive.OFF:
            return Looks(self.repeat, self.repeat)
        return Looks(
            self.repeat, self.max_repeat or max(self.repeat, min(9, 3 * self.repeat)), adaptive
        )

    def increases(self) -> Mapping[Measure, float]:
        """How much more of each the candidate may use, where that is bounded."""
        bounds = {measure: getattr(self, name) for measure, name in INCREASES.items()}
        return {measure: bound for measure, bound in bounds.items() if bound is not None}

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

    def barred_skills(self) -> frozenset[str]:
        """The names of the skills that have a bar of their own."""
        return frozenset((*self.skill_bars(), *self.skill_rates()))


def config_schema() -> dict[str, JsonValue]:
    """The JSON Schema of the config file, for editors. It is kept in `schemas/`."""
    schema: dict[str, JsonValue] = Settings.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
