"""A check of one value within JSON."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
)

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.evidence import shown_json
from skill_delta.core.checks.matching import matches
from skill_delta.core.checks.structure import read_json
from skill_delta.core.checks.subject import Subject, TextCheck
from skill_delta.core.wording import clipped, shown

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*)
      | \[(?P<index>-?(?:0|[1-9]\d{0,9}))\]
      | \['(?P<single>(?:[^'\\]|\\['\\])*)'\]
      | \["(?P<double>(?:[^"\\]|\\["\\])*)"\]
    """,
    re.VERBOSE,
)


def _steps(path: str) -> tuple[str | int, ...]:
    """The keys and positions that the path leads through. Raises ValueError for what is none."""
    if not path.startswith("$"):
        raise ValueError(f"the path {shown(path)} does not begin with $, the whole value")
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(
                f"the path {shown(path)} cannot be read from character {at + 1} on: after $ it "
                "has .name, ['any name'] and [position], and leads to one value"
            )
        quoted = step["single"] if step["double"] is None else step["double"]
        key = step["name"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        steps.append(int(step["index"]) if step["index"] is not None else key)
        at = step.end()
    return tuple(steps)


def _readable(path: str) -> str:
    _steps(path)
    return path


Path: TypeAlias = Annotated[str, Field(max_length=1_000), AfterValidator(_readable)]
"""Where one value is, as JSONPath (RFC 9535) spells it."""


class JsonPath(TextCheck):
    """The output is JSON that has a value at this path: the one that is named, or any."""

    kind: Literal["json-path"]
    path: Path
    value: JsonValue = None

    @model_serializer(mode="wrap")
    def _without_what_was_left_out(
        self, serialise: SerializerFunctionWrapHandler
    ) -> dict[str, JsonValue]:
        # A value of null is another demand than no value.
        written: dict[str, JsonValue] = serialise(self)
        return written if self._wants_value else {k: v for k, v in written.items() if k != "value"}

    @property
    def _wants_value(self) -> bool:
        return "value" in self.model_fields_set

    def judge(self, subject: Subject) -> Finding:
        """Compares data, never text: `1` equals `1.0` and never `"1"`."""
        try:
            found = read_json(subject.text)
        except ValueError as error:
            return Finding.of(False, f"expected JSON; {clipped(str(error))}; {subject.content}")
        wanted = f" to be {shown_json(self.value)}" if self._wants_value else ""
        try:
            for step in _steps(self.path):
                found = _inside(found, step)
        except LookupError:
            missing = f"expected {clipped(self.path)}{wanted}; there is nothing at that path"
            return Finding.of(False, missing)
        holds = not self._wants_value or matches(self.value, found, exact=True)
        is_there = f"{clipped(self.path)} is {shown_json(found)}"
        return Finding.of(holds, is_there if holds else f"expected it{wanted}; {is_there}")


def _inside(value: JsonValue, step: str | int) -> JsonValue:
    """What is at one step of a path. Raises LookupError where there is nothing."""
    if isinstance(step, str) and isinstance(value, dict):
        return value[step]
    if isinstance(step, int) and isinstance(value, list):
        return value[step]
    raise LookupError
