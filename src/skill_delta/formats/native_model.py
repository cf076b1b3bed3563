"""The shapes of the native eval file and of a tool library, as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)
from pydantic_core import PydanticKnownError

from skill_delta.core.checks import AnyAssertion
from skill_delta.core.checks.tools import CallArgs

TOOL_NAME = r"^[A-Za-z0-9_-]{1,64}$"
"""What model vendors take as the name of a tool."""

MAX_DELAY_MS = 60_000
"""How slow a mock tool may be: every trial of the case waits for it."""

NotBlank: TypeAlias = Annotated[str, StringConstraints(pattern=r"\S")]
ArgumentType: TypeAlias = Literal["string", "integer", "number", "boolean"]


def _not_a_boolean(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticKnownError("int_type")
    return value


# Limits are read as skill-lens reads them: `'3'` and `100.0` are whole numbers too.
Whole = Annotated[int, Field(ge=0, strict=False), BeforeValidator(_not_a_boolean)]
Amount = Annotated[
    float, Field(ge=0, allow_inf_nan=False, strict=False), BeforeValidator(_not_a_boolean)
]


class Shape(BaseModel):
    """A mapping in which every field is known and every value has its own type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class WhenShape(Shape):
    """An answer for the calls whose arguments hold `when`; without it, for every call.

    It is either a value, or an error with which the call fails.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["value"]}, {"required": ["error"]}]}
    )

    when: dict[str, JsonValue] | None = None
    value: str | None = None
    error: NotBlank | None = None

    @model_validator(mode="after")
    def _answers_or_fails(self) -> Self:
        if (self.value is None) == (self.error is None):
            raise ValueError("exactly one of value and error says how it answers")
        return self


def _branch_of_returns(value: JsonValue) -> str | None:
    if not isinstance(value, list):
        return "<text>"
    mappings = sum(isinstance(item, dict | WhenShape) for item in value)
    if not value or 0 < mappings < len(value):
        return None
    return "<lookup>" if mappings else "<sequence>"


ReturnsShape: TypeAlias = Annotated[
    Annotated[str, Tag("<text>")]
    | Annotated[list[str], Tag("<sequence>")]
    | Annotated[list[WhenShape], Tag("<lookup>")],
    Discriminator(
        _branch_of_returns,
        custom_error_type="returns_shape",
        custom_error_message="it is neither one text, nor a list of texts (one per call), nor a "
        "list of mappings with value and perhaps when; a list is not empty and of one sort",
    ),
]
"""How a mock tool answers: always the same, call by call, or by the call's arguments."""


class ToolShape(Shape):
    """A mock tool: what the model is shown of it, and what it is answered."""

    name: Annotated[str, StringConstraints(pattern=TOOL_NAME)]
    description: str = ""
    parameters: dict[str, ArgumentType] = Field(default_factory=dict)
    """Arguments by name and type: all required, and no others allowed."""
    input_schema: dict[str, JsonValue] | None = None
    """A JSON Schema in place of `parameters`, shown to the model as it stands."""
    returns: ReturnsShape = ""
    error: NotBlank | None = None
    """In place of `returns`: every call fails with this message."""
    delay_ms: Annotated[Amount, Field(le=MAX_DELAY_MS)] | None = None
    """How long an answer takes."""


class RefShape(Shape):
    """A tool that a library declares, with answers of this case's own."""

    ref: NotBlank
    returns: ReturnsShape | None = None


def _branch_of_tool(value: JsonValue | Shape) -> str:
    refers = "ref" in value if isinstance(value, dict) else isinstance(value, RefShape)
    return "<ref>" if refers else "<tool>"


AnyTool: TypeAlias = Annotated[
    Annotated[ToolShape, Tag("<tool>")] | Annotated[RefShape, Tag("<ref>")],
    Discriminator(_branch_of_tool),
]


class TrajectoryShape(Shape):
    """Which tools the model should call, and how."""

    called: list[NotBlank] = Field(default_factory=list)
    forbidden: list[NotBlank] = Field(default_factory=list)
    order: list[NotBlank] = Field(default_factory=list)
    max_calls: Whole | None = None
    skill_triggered: bool | None = None
    call_args: list[CallArgs] = Field(default_factory=list)


class BudgetShape(Shape):
    """What a trial may cost."""

    max_tokens: Whole | None = None
    max_cost_usd: Amount | None = None
    max_latency_ms: Amount | None = None


class JudgeShape(Shape):
    """What a judge grades the answer by."""

    expected: str = ""
    """What a good answer is like, for the judge to know."""
    rubric: list[NotBlank] = Field(min_length=1)


class WorkspaceShape(Shape):
    """A folder of the trial's own, and the files that it begins with: text by relative path."""

    files: dict[str, str] = Field(default_factory=dict)


class CaseShape(Shape):
    """One task, what the model may use for it, and how the answer is judged.

    In place of one `task` a case may have several `sessions`, which share its working folder.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["task"]}, {"required": ["sessions"]}]}
    )

    name: NotBlank
    task: NotBlank | None = None
    sessions: list[NotBlank] | None = None
    tags: list[NotBlank] = Field(default_factory=list)
    mode: Literal["loaded", "offered"] = "loaded"
    tools: list[AnyTool] = Field(default_factory=list)
    workspace: WorkspaceShape | None = None
    assertions: list[AnyAssertion] = Field(default_factory=list)
    trajectory: TrajectoryShape | None = None
    budget: BudgetShape | None = None
    judge: JudgeShape | None = None


class EnvironmentShape(Shape):
    """Under what the skill's cases run."""

    disable_hooks: bool = False
    """Whether an agent's hooks are told to load no skill, in any arm."""


class EvalFileShape(BaseModel):
    """A native eval file. Other top-level keys are left to other tools, and said."""

    model_config = ConfigDict(title="skill-delta eval file", frozen=True, strict=True)

    tool_libraries: list[NotBlank] = Field(default_factory=list)
    environment: EnvironmentShape = EnvironmentShape()
    cases: list[CaseShape]


class ToolLibraryShape(Shape):
    """A file of mock tools that eval files import."""

    tools: list[ToolShape]


_CHECKS: Mapping[str, type[BaseModel]] = {
    get_args(spec.model_fields["kind"].annotation)[0]: spec
    for spec in get_args(get_args(AnyAssertion)[0])
}
KINDS = tuple(_CHECKS)
"""The kinds of assertion, in the order of their union."""

_SHAPES: Mapping[tuple[str, ...], type[BaseModel]] = {
    (): CaseShape,
    ("tools", "<tool>"): ToolShape,
    ("tools", "<tool>", "returns", "<lookup>"): WhenShape,
    ("tools", "<ref>"): RefShape,
    ("tools", "<ref>", "returns", "<lookup>"): WhenShape,
    ("workspace",): WorkspaceShape,
    ("trajectory",): TrajectoryShape,
    ("trajectory", "call_args"): CallArgs,
    ("budget",): BudgetShape,
    ("judge",): JudgeShape,
    **{("assertions", kind): spec for kind, spec in _CHECKS.items()},
}


def fields_at(loc: tuple[str | int, ...]) -> tuple[str, ...]:
    """The fields of the shape within a case that pydantic's `loc` leads into."""
    shape = _SHAPES.get(tuple(step for step in loc if isinstance(step, str)))
    return () if shape is None else tuple(shape.model_fields)
