"""What an eval file says, whatever its dialect: cases, the mock tools they offer, their checks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Protocol

from pydantic import JsonValue

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.matching import matches
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.wording import clipped, shown
from skill_delta.core.workspace import RESERVED_TOOLS, WorkspaceSeed
from skill_delta.errors import Place, UserError


class Mode(StrEnum):
    """How a case gets the skill."""

    LOADED = "loaded"
    """Its instructions are in the system prompt."""
    OFFERED = "offered"
    """Only its name and description are shown; the model may reach for it."""


class Returns(Protocol):
    """How a mock tool answers. Nothing executes."""

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:
        """The answer to the tool's `call`-th call of the trial, counted from 0."""
        ...

    @property
    def canonical(self) -> JsonValue:
        """Its kind and everything it holds: equal only for those that answer alike."""
        ...


@dataclass(frozen=True, slots=True)
class FixedReturn:
    """The same answer to every call."""

    value: str

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        return self.value

    @property
    def canonical(self) -> JsonValue:
        return {"fixed": self.value}


def _failure(message: str) -> str:
    """How a model is told that a tool failed: the same of every vendor."""
    return f"Error: {message}"


@dataclass(frozen=True, slots=True)
class FailingReturn:
    """The same failure in answer to every call."""

    error: str

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        return _failure(self.error)

    @property
    def canonical(self) -> JsonValue:
        return {"error": self.error}


@dataclass(frozen=True, slots=True)
class SequenceReturn:
    """One answer per call, in order; the last repeats."""

    values: tuple[str, ...]

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        return self.values[min(call, len(self.values) - 1)]

    @property
    def canonical(self) -> JsonValue:
        return {"sequence": list(self.values)}


@dataclass(frozen=True, slots=True)
class LookupEntry:
    """An answer for the calls whose arguments hold `when`; None answers every call.

    With `fails` the call fails, and `value` says how.
    """

    when: Mapping[str, JsonValue] | None
    value: str
    fails: bool = False

    @property
    def canonical(self) -> JsonValue:
        when = None if self.when is None else dict(self.when)
        return {"when": when, "error" if self.fails else "value": self.value}


@dataclass(frozen=True, slots=True)
class LookupReturn:
    """The first entry whose `when` is a subset of the arguments answers."""

    entries: tuple[LookupEntry, ...]

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        for entry in self.entries:
            if entry.when is None or matches(entry.when, arguments):
                return _failure(entry.value) if entry.fails else entry.value
        shown = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        return f"no response is scripted for {tool} with arguments {shown}"

    @property
    def canonical(self) -> JsonValue:
        return {"lookup": [entry.canonical for entry in self.entries]}


@dataclass(frozen=True, slots=True)
class MockTool:
    """A tool the model may call. `input_schema` is a JSON Schema whose top level is an object.

    Its answers take `delay_ms` milliseconds.
    """

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    returns: Returns
    delay_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a case. `id` names the same check in both arms: `contains[0]`, `called:x`."""

    id: str
    spec: CheckSpec

    @property
    def demand(self) -> str:
        """What it asks of a transcript, as one text: its kind and values, never its id."""
        kind = type(self.spec).__name__
        return _canonical_json({"kind": kind, "values": self.spec.model_dump(mode="json")})


@dataclass(frozen=True, slots=True)
class Case:
    """One task, what the model may use for it, and how the answer is judged.

    `workspace` is what its working folder begins with, None where it has no folder. `sessions` are
    the tasks of a case that has several, each of a conversation of its own; `task` is then all of
    them as one text.
    """

    name: str
    task: str
    checks: tuple[Check, ...]
    place: Place
    mode: Mode = Mode.LOADED
    tools: tuple[MockTool, ...] = ()
    tags: frozenset[str] = frozenset()
    workspace: WorkspaceSeed | None = None
    sessions: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """What is asked, one conversation after another."""
        return self.sessions or (self.task,)

    def asks_for(self, path: str) -> bool:
        """Whether a check may ask for the text of the file at this path of the working folder."""
        return any(check.spec.reads(path) for check in self.checks)

    @property
    def built_in_tools(self) -> tuple[str, ...]:
        """The tools that come with the working folder; some of them not with every skill."""
        return () if self.workspace is None else RESERVED_TOOLS

    @property
    def rubric(self) -> tuple[RubricLine, ...]:
        """The checks that take a judge, in order."""
        return tuple(check.spec for check in self.checks if isinstance(check.spec, RubricLine))

    @property
    def fingerprint(self) -> str:
        """What tells the case from any other, as 64 hexadecimal digits (SHA-256).

        It stands for everything that reaches a model, a check or the selection. Where the case is
        written, and in what order its tags and the keys of its mappings are, makes no difference.
        """
        whole: dict[str, JsonValue] = {
            "name": self.name,
            "task": self.task,
            "mode": self.mode.value,
            "tools": [_canonical_tool(tool) for tool in self.tools],
            "checks": [{"id": check.id, "demand": check.demand} for check in self.checks],
            "tags": [*sorted(self.tags)],
        }
        if self.workspace is not None:
            whole["workspace"] = dict(self.workspace.files)
        if self.sessions:
            whole["sessions"] = [*self.sessions]
        # A lone surrogate is no UTF-8, and may stand in a text that came from JSON.
        return sha256(_canonical_json(whole).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Suite:
    """All the cases of one skill, in the order of its files.

    `notes` say what a reader of the report should know, such as a case without any check.
    `disable_hooks` asks that an agent's hooks load no skill in either arm.
    """

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()
    disable_hooks: bool = False


MAX_TOOL_NAME = 64
"""The longest tool name that vendors take."""


def offered_tool_name(skill_name: str) -> str:
    """The name a skill is offered under: `order-support` becomes `order_support`.

    Every name gives one that all vendors take: ASCII letters, digits and `_`, no digit first, at
    most `MAX_TOOL_NAME` characters. Different skills may share one.
    """
    plain = re.sub(r"[^A-Za-z0-9_]", "_", skill_name)
    if not plain.strip("_"):
        return "skill"
    return (f"skill_{plain}" if plain[0].isdigit() else plain)[:MAX_TOOL_NAME]


def offered_name_collision(case: Case, skill_name: str) -> UserError | None:
    """What is wrong where a tool of an offered case has the name the skill is offered under.

    The model could not tell the two apart, and no call could be told from reaching for the skill.
    """
    offered = offered_tool_name(skill_name)
    if case.mode is Mode.OFFERED and offered in case.built_in_tools:
        return UserError(
            f"the skill {shown(skill_name)} would be offered as {offered}, which is the name of a "
            "tool of the working folder",
            hint="load the skill (mode: loaded), or drop the workspace",
            place=_within(case, "workspace"),
        )
    if case.mode is not Mode.OFFERED or all(tool.name != offered for tool in case.tools):
        return None
    return UserError(
        f"the tool {offered} has the name under which the skill {shown(skill_name)} is offered",
        hint="rename the tool",
        place=_within(case, "tools"),
    )


def undeclared_tools(case: Case) -> tuple[UserError, ...]:
    """What is wrong with checks that watch a tool which the case does not declare.

    Such a check can never pass, or never fail, where the model gets the declared tools only.
    Agents bring tools of their own, so under them nothing is wrong.
    """
    declared = {*(tool.name for tool in case.tools), *case.built_in_tools}
    named = dict.fromkeys(
        (check.id, tool) for check in case.checks for tool in check.spec.named_tools
    )
    return tuple(
        UserError(
            f"the check {clipped(check)} names {shown(tool)}, which is no tool of the case "
            f"{shown(case.name)}",
            hint=f"the case declares {clipped(', '.join(sorted(declared))) or 'no tools'}",
            place=_within(case, "trajectory"),
        )
        for check, tool in named
        if tool not in declared
    )


def _within(case: Case, field: str) -> Place:
    return replace(case.place, field=f"{case.place.field}.{field}".lstrip("."))


def _canonical_tool(tool: MockTool) -> JsonValue:
    slow: dict[str, JsonValue] = {"delay_ms": tool.delay_ms} if tool.delay_ms else {}
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
        "returns": tool.returns.canonical,
        **slow,
    }


def _canonical_json(value: JsonValue) -> str:
    # Unescaped: as `\ud83d\ude00` an emoji and two lone surrogates would be the same text.
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
