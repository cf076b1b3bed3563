"""The kinds of check. Each is one class: its shape in YAML, and how it judges a transcript."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.json_path import JsonPath
from skill_delta.core.checks.structure import JsonSchema, Numeric
from skill_delta.core.checks.text import (
    AllOf,
    AnyOf,
    Contains,
    ContainsIgnoringCase,
    Equals,
    NotContains,
    NotRegex,
    Regex,
)

AnyAssertion: TypeAlias = Annotated[
    Contains
    | NotContains
    | ContainsIgnoringCase
    | Regex
    | NotRegex
    | Equals
    | AnyOf
    | AllOf
    | FileProduced
    | JsonSchema
    | JsonPath
    | Numeric,
    Field(discriminator="kind"),
]
"""One entry of a case's `assertions`, told apart by its `kind`."""
