"""What an eval file says, whatever its dialect: cases, the mock tools they offer, their checks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import JsonValue

from skill_delta.core.checks.base import CheckSpec
from skill_delta.errors import Place


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


@dataclass(frozen=True, slots=True)
class FixedReturn:
    """The same answer to every call."""

    value: str

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        return self.value


@dataclass(frozen=True, slots=True)
class SequenceReturn:
    """One answer per call, in order; the last repeats."""

    values: tuple[str, ...]

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        return self.values[min(call, len(self.values) - 1)]


@dataclass(frozen=True, slots=True)
class LookupEntry:
    """An answer for the calls whose arguments hold `when`; None answers every call."""

    when: Mapping[str, JsonValue] | None
    value: str


@dataclass(frozen=True, slots=True)
class LookupReturn:
    """The first entry whose `when` is a subset of the arguments answers."""

    entries: tuple[LookupEntry, ...]

    def answer(self, tool: str, arguments: Mapping[str, JsonValue], call: int) -> str:  # noqa: ARG002
        for entry in self.entries:
            if entry.when is None or matches(entry.when, arguments):
                return entry.value
        shown = json.dumps(arguments, sort_keys=True, ensure_ascii=False)
        return f"no response is scripted for {tool} with arguments {shown}"


@dataclass(frozen=True, slots=True)
class MockTool:
    """A tool the model may call. `input_schema` is a JSON Schema whose top level is an object."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]
    returns: Returns


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a case. `id` names the same check in both arms: `contains[0]`, `called:x`."""

    id: str
    spec: CheckSpec


@dataclass(frozen=True, slots=True)
class Case:
    """One task, what the model may use for it, and how the answer is judged."""

    name: str
    task: str
    checks: tuple[Check, ...]
    place: Place
    mode: Mode = Mode.LOADED
    tools: tuple[MockTool, ...] = ()
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Suite:
    """All the cases of one skill, in the order of its files.

    `notes` say what a reader of the report should know, such as a case without any check.
    """

    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()


def matches(
    wanted: JsonValue | Mapping[str, JsonValue], got: object, *, exact: bool = False
) -> bool:
    """Whether `got` holds everything that `wanted` names.

    Mappings match on the keys that `wanted` has (under `exact`, on exactly those keys), at every
    level; lists element by element at equal length; a boolean only ever equals a boolean; other
    scalars compare as JSON does, so that `1` equals `1.0` and never `"1"`.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping) or (exact and set(wanted) != set(got)):
            return False
        return all(
            key in got and matches(value, got[key], exact=exact) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, Sequence)
            and not isinstance(got, str)
            and len(wanted) == len(got)
            and all(matches(w, g, exact=exact) for w, g in zip(wanted, got, strict=True))
        )
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    return type(got) in (str, int, float, type(None)) and bool(wanted == got)
