"""Checks of what the output says once it is read as data: JSON, or a number."""

from __future__ import annotations

import json
import re
from decimal import Decimal, DecimalException, localcontext
from math import isfinite
from typing import Annotated, Literal, NoReturn

from pydantic import AfterValidator, Field, JsonValue, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.schema import check_is_usable, violation
from skill_delta.core.checks.subject import Subject, TextCheck
from skill_delta.core.documents import MAX_DEPTH
from skill_delta.core.wording import clipped, shown
from skill_delta.errors import TrialError


def _usable(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    check_is_usable(schema)
    return schema


def _number(value: object) -> int | float:
    # An integer stays one: as a float it would lose digits.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    raise PydanticCustomError("number_type", "a number is wanted")


class JsonSchema(TextCheck):
    """The output is JSON, and valid by this JSON Schema.

    The dialect is Draft 2020-12 unless `$schema` names another. References lead only to places
    within the schema. `format` is not checked.
    """

    kind: Literal["json-schema"]
    json_schema: Annotated[dict[str, JsonValue], AfterValidator(_usable)]

    def judge(self, subject: Subject) -> Finding:
        """Raises `TrialError` when the schema takes too long to apply."""
        try:
            value = read_json(subject.text)
        except ValueError as error:
            problem = f"expected JSON; {clipped(str(error))}; {subject.content}"
            return Finding.of(False, problem)
        try:
            broken = violation(self.json_schema, value)
        except TrialError as error:
            raise TrialError(f"json-schema: {error}") from None
        if broken is None:
            return Finding.of(True, f"{subject.name} is JSON and valid by the schema")
        return Finding.of(False, f"expected JSON valid by the schema; found {broken}")

    @property
    def may_be_slow(self) -> bool:
        """A schema may take many steps, and its patterns their whole second."""
        return True


class Numeric(TextCheck):
    """The first number in the output is `value`, give or take `tolerance`.

    A number is decimal digits, perhaps with a sign, commas between groups of three, a decimal
    point and an exponent; digits that touch a letter before them (`A1234`) are no number.
    """

    kind: Literal["numeric"]
    value: Annotated[int | float, PlainValidator(_number), WithJsonSchema({"type": "number"})]
    tolerance: Annotated[
        int | float,
        PlainValidator(_number),
        Field(ge=0),
        WithJsonSchema({"type": "number", "minimum": 0}),
    ] = 0

    def judge(self, subject: Subject) -> Finding:
        """Compares decimally, so that 0.4 is within 0.1 of 0.3."""
        margin = f" ± {self.tolerance:,}" if self.tolerance else ""
        wanted = clipped(f"{self.value:,}{margin}")
        number = _NUMBER.search(subject.text)
        if number is None:
            problem = f"expected {wanted}; found no number; {subject.content}"
            return Finding.of(False, problem)
        if self._is_near(number[0]):
            return Finding.of(True, f"the first number is {clipped(number[0])}; wanted {wanted}")
        return Finding.of(False, f"expected {wanted}; the first number is {shown(number[0])}")

    def _is_near(self, written: str) -> bool:
        with localcontext() as context:
            context.prec = _DIGITS
            try:
                found = Decimal(written.replace(",", "").replace(_MINUS, "-"))
                return abs(found - Decimal(str(self.value))) <= Decimal(str(self.tolerance))
            except DecimalException:
                return False  # so large or so small that no written value is near it


_MINUS = "\N{MINUS SIGN}"
_NUMBER = re.compile(
    rf"(?<![\w.])[-+{_MINUS}]?"
    r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:[eE][-+]?[0-9]+)?"
)
_DIGITS = 2_000
"""More than Python prints of an integer, so that no comparison is rounded."""


def read_json(text: str) -> JsonValue:
    """The value that the text is as JSON. Raises ValueError where it is none."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if _depth(value) > MAX_DEPTH:
        raise ValueError(f"it nests deeper than {MAX_DEPTH} levels")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _depth(value: JsonValue) -> int:
    depth, level = 0, [value]
    while level := [
        child
        for item in level
        if isinstance(item, list | dict)
        for child in (item.values() if isinstance(item, dict) else item)
    ]:
        depth += 1
    return depth
