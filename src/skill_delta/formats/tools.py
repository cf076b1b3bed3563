"""Mock tools: from what an author declares to what the model is shown and answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pydantic import JsonValue

from skill_delta.core.checks.matching import matches
from skill_delta.core.checks.schema import check_is_schema
from skill_delta.core.documents import Path
from skill_delta.core.suite import (
    FailingReturn,
    FixedReturn,
    LookupEntry,
    LookupReturn,
    MockTool,
    Returns,
    SequenceReturn,
)
from skill_delta.core.wording import clipped, shown
from skill_delta.formats.native_model import ToolShape, WhenShape
from skill_delta.formats.problems import Problems

MAX_ANSWERS = 500
"""How many answers by argument a tool may have: each is compared with each above it."""

Answers: TypeAlias = str | list[str] | list[WhenShape]


def mock_tool(contract: ToolShape, answers: Answers) -> MockTool:
    """The tool as declared, with these answers."""
    returns = _returns(answers)
    if contract.error is not None and answers is contract.returns:
        returns = FailingReturn(contract.error)
    schema, delay_ms = _input_schema(contract), contract.delay_ms or 0.0
    return MockTool(contract.name, contract.description, schema, returns, delay_ms)


def note_contract(contract: ToolShape, path: Path, problems: Problems) -> None:
    """Note what is wrong with the arguments and the answers that the tool at `path` declares."""
    if contract.error is not None and contract.returns:
        problems.add((*path, "error"), "the tool has returns and error; it takes one of them")
    if contract.input_schema is None:
        return
    here = (*path, "input_schema")
    if contract.parameters:
        problems.add(here, "the tool has parameters and input_schema; it takes one of them")
    try:
        check_is_schema(contract.input_schema)
    except ValueError as error:
        problems.add(here, str(error))
        return
    if contract.input_schema.get("type") != "object":
        hint = "a tool's arguments are always an object: add `type: object`"
        problems.add(here, "its top level is not of type object", hint)


def note_unreachable(contract: ToolShape, answers: Answers, path: Path, problems: Problems) -> None:
    """Note the answers of the tool at `path` that no call can ever be given."""
    entries = [entry for entry in answers if isinstance(entry, WhenShape)]
    if len(entries) > MAX_ANSWERS:
        problems.add((*path, "returns"), f"it has more than {MAX_ANSWERS} answers by argument")
        return
    names = _argument_names(contract)
    for position, entry in enumerate(entries):
        here = (*path, "returns", position)
        if entry.when is not None and not entry.when:
            hint = "leave `when` out to answer every call"
            problems.add((*here, "when"), "it names no argument", hint)
            continue
        for name in entry.when or ():
            if names is not None and name not in names:
                hint = f"the tool declares {clipped(', '.join(sorted(names))) or 'no arguments'}"
                problem = f"no call can carry the argument {shown(name)}, so it never answers"
                problems.add((*here, "when", name), problem, hint)
        above = _first_that_answers(entry, entries[:position])
        if above is not None:
            problem = f"it never answers: returns[{above}] answers every call that it would"
            problems.add(here, problem, "the first entry that matches answers: move it up")


def _first_that_answers(entry: WhenShape, above: Sequence[WhenShape]) -> int | None:
    for position, other in enumerate(above):
        if other.when is None or (other.when and matches(other.when, entry.when or {})):
            return position
    return None


def _argument_names(contract: ToolShape) -> frozenset[str] | None:
    """The only arguments a call can carry; None where the schema allows others."""
    schema = contract.input_schema
    if schema is None:
        return frozenset(contract.parameters)
    listed = schema.get("properties")
    if schema.get("additionalProperties") is not False or "patternProperties" in schema:
        return None
    return frozenset(listed) if isinstance(listed, dict) else None


def _input_schema(contract: ToolShape) -> dict[str, JsonValue]:
    if contract.input_schema is not None:
        return contract.input_schema
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in contract.parameters.items()},
        "required": list(contract.parameters),
        "additionalProperties": False,
    }


def _returns(answers: Answers) -> Returns:
    if isinstance(answers, str):
        return FixedReturn(answers)
    entries = [entry for entry in answers if isinstance(entry, WhenShape)]
    if entries:
        return LookupReturn(tuple(map(_lookup_entry, entries)))
    return SequenceReturn(tuple(text for text in answers if isinstance(text, str)))


def _lookup_entry(entry: WhenShape) -> LookupEntry:
    if entry.error is not None:
        return LookupEntry(entry.when, entry.error, fails=True)
    return LookupEntry(entry.when, entry.value or "")
