"""Eval cases as a record keeps them: whole, so that it needs no repository to be read again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.suite import (
    Case,
    Check,
    FailingReturn,
    FixedReturn,
    LookupEntry,
    LookupReturn,
    MockTool,
    Mode,
    Returns,
    SequenceReturn,
)
from skill_delta.core.wording import shown
from skill_delta.core.workspace import WorkspaceSeed
from skill_delta.errors import Place


def check_kinds() -> Mapping[str, type[CheckSpec]]:
    """Every kind of check, by its name; what several of them share is none."""
    found: dict[str, type[CheckSpec]] = {}
    pending = [CheckSpec]
    while pending:
        inside = pending.pop().__subclasses__()
        found |= {kind.__name__: kind for kind in inside if not kind.__subclasses__()}
        pending += inside
    return found


@dataclass(frozen=True, slots=True)
class RecordedCheck:
    """One check: the name of its kind, and its values as an eval file holds them."""

    id: str
    kind: str
    values: dict[str, JsonValue]

    @classmethod
    def of(cls, check: Check) -> RecordedCheck:
        return cls(check.id, type(check.spec).__name__, check.spec.model_dump(mode="json"))

    def restored(self) -> Check:
        """Raises ValueError for a kind that there is not, or values that it does not take."""
        kind = check_kinds().get(self.kind)
        if kind is None:
            raise ValueError(f"there is no check of the kind {shown(self.kind)}")
        # Strict, as in an eval file; but JSON has no tuples.
        return Check(self.id, kind.model_validate_json(json.dumps(self.values)))


@dataclass(frozen=True, slots=True)
class RecordedTool:
    """One mock tool."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    returns: dict[str, JsonValue]
    delay_ms: float = 0.0

    @classmethod
    def of(cls, tool: MockTool) -> RecordedTool:
        returns = tool.returns.canonical
        assert isinstance(returns, dict)  # noqa: S101 - it names its kind
        schema = dict(tool.input_schema)
        return cls(tool.name, tool.description, schema, returns, tool.delay_ms)

    def restored(self) -> MockTool:
        """Raises ValueError for an answer that is none of ours."""
        returns = _returns(self.returns)
        return MockTool(self.name, self.description, self.input_schema, returns, self.delay_ms)


def _returns(written: Mapping[str, JsonValue]) -> Returns:
    match written:
        case {"fixed": str(value)}:
            return FixedReturn(value)
        case {"error": str(value)}:
            return FailingReturn(value)
        case {"sequence": list(values)}:
            return SequenceReturn(tuple(map(str, values)))
        case {"lookup": list(entries)}:
            return LookupReturn(tuple(map(_entry, entries)))
        case _:
            raise ValueError("a tool answers in no way that is known")


def _entry(written: JsonValue) -> LookupEntry:
    match written:
        case {"when": dict() | None as when, "value": str(value)}:
            return LookupEntry(when, value)
        case {"when": dict() | None as when, "error": str(value)}:
            return LookupEntry(when, value, fails=True)
        case _:
            raise ValueError("a tool's lookup has an entry that is none")


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """One eval case."""

    name: str
    task: str
    mode: Mode
    checks: tuple[RecordedCheck, ...]
    tools: tuple[RecordedTool, ...]
    tags: tuple[str, ...]
    place: Place
    workspace: WorkspaceSeed | None = None
    sessions: tuple[str, ...] = ()

    @classmethod
    def of(cls, case: Case) -> RecordedCase:
        return cls(
            case.name,
            case.task,
            case.mode,
            tuple(map(RecordedCheck.of, case.checks)),
            tuple(map(RecordedTool.of, case.tools)),
            tuple(sorted(case.tags)),
            case.place,
            case.workspace,
            case.sessions,
        )

    def restored(self) -> Case:
        """Raises ValueError as its checks and tools do."""
        return Case(
            name=self.name,
            task=self.task,
            checks=tuple(check.restored() for check in self.checks),
            place=self.place,
            mode=self.mode,
            tools=tuple(tool.restored() for tool in self.tools),
            tags=frozenset(self.tags),
            workspace=self.workspace,
            sessions=self.sessions,
        )
