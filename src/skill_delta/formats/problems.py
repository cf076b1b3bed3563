"""What is wrong with one file, told so that its author can put it right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from skill_delta.core.documents import Document, Path
from skill_delta.core.wording import clipped, shown
from skill_delta.errors import Place, UserError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_PROBLEMS = 50
"""How many problems of one file are told before the rest is only counted."""
TYPO = 2
"""How many edits away from a known word an unknown one is taken for a slip."""
PLACEHOLDERS = ("TODO(skill-delta)", "TODO(skill-lens)")
"""What a scaffold leaves in a field that its author has yet to fill in."""

Explain = Callable[["ErrorDetails", JsonValue], tuple[str, str] | None]
"""A dialect's own words for what pydantic found wrong with a value (or with a field of it): the
problem and a hint. None leaves it to the words that serve everywhere."""


class Problems:
    """The problems of one file, in the order in which they were found."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._errors: list[UserError] = []
        self._untold = 0

    def add(self, path: Path, problem: str, hint: str = "") -> None:
        """Note what is wrong with the value at `path`."""
        if len(self._errors) >= MAX_PROBLEMS:
            self._untold += 1
            return
        self._errors.append(UserError(problem, hint=hint, place=self.place(path)))

    def add_invalid(self, path: Path, error: ValidationError, explain: Explain) -> None:
        """Note everything that pydantic found wrong with the value at `path`."""
        value = value_at(self._document.value, path)
        for details in error.errors(include_url=False):
            steps = tuple(_steps(details, value))
            concerned = value_at(value, steps)
            if details["type"] == "extra_forbidden":
                concerned = value_at(value, steps[:-1])
            problem, hint = explain(details, concerned) or _explained(details)
            self.add((*path, *steps), problem, hint)

    def place(self, path: Path) -> Place:
        """Where the value at `path` is."""
        return self._document.place(path)

    @property
    def errors(self) -> tuple[UserError, ...]:
        """In the order of the file's lines; where there are too many, the last counts the rest."""
        told = sorted(self._errors, key=_line)
        if not self._untold:
            return tuple(told)
        more = UserError(f"and {self._untold:,} more problems", place=self._document.place())
        return (*told, more)


def value_at(value: JsonValue, path: Path) -> JsonValue:
    """The value at `path`; None where there is none."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def placeholders(value: JsonValue, path: Path = ()) -> Iterator[Path]:
    """Where a scaffold's placeholder still stands, in a key or in a value."""
    if isinstance(value, str) and any(mark in value for mark in PLACEHOLDERS):
        yield path
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from placeholders(item, (*path, position))
    elif isinstance(value, dict):
        for key, item in value.items():
            if any(mark in key for mark in PLACEHOLDERS):
                yield (*path, key)
            else:
                yield from placeholders(item, (*path, key))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is a slip of: within `TYPO` edits, in any case."""
    distances = ((edit_distance(word.casefold(), each.casefold()), each) for each in known)
    distance, best = min(distances, default=(TYPO + 1, ""))
    return best if distance <= TYPO else None


def edit_distance(one: str, other: str) -> int:
    """How many letters to insert, drop or replace; `TYPO + 1` stands for "too many"."""
    if abs(len(one) - len(other)) > TYPO:
        return TYPO + 1
    row = list(range(len(other) + 1))
    for position, letter in enumerate(one, start=1):
        diagonal, row[0] = row[0], position
        for column, wanted in enumerate(other, start=1):
            replaced = diagonal + (letter != wanted)
            diagonal = row[column]
            row[column] = min(replaced, row[column] + 1, row[column - 1] + 1)
    return min(row[-1], TYPO + 1)


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The hint for an unknown word: the one it is a slip of, or all there are."""
    close = nearest(word, known)
    return f"did you mean {close}?" if close else f"it can be: {clipped(', '.join(known))}"


def _line(error: UserError) -> int:
    return (error.place and error.place.line) or 0


def _steps(details: ErrorDetails, value: JsonValue) -> Iterator[str | int]:
    # pydantic also names the branch it took where one of several shapes was meant; only the
    # steps that the author can see in the file are told.
    before: str | int = ""
    for step in details["loc"]:
        branch = isinstance(before, int) and isinstance(value, dict) and value.get("kind") == step
        if not branch and not str(step).startswith("<"):
            yield step
            value = value_at(value, (step,))
        before = "" if branch else step


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "number_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _explained(details: ErrorDetails) -> tuple[str, str]:
    kind, value, context = details["type"], details.get("input"), details.get("ctx", {})
    if kind in _WANTED:
        return f"{_described(value)} stands where {_WANTED[kind]} is wanted", _quoting(kind, value)
    told = _TOLD.get(kind)
    return told(value, context) if told else (details["msg"], "")


def _no_match(value: object, context: Mapping[str, object]) -> tuple[str, str]:
    if not str(value).strip():
        return "it is blank", ""
    return f"{_described(value)} does not match {context['pattern']}", ""


def _no_choice(value: object, context: Mapping[str, object]) -> tuple[str, str]:
    known = re.findall(r"'([^']+)'", str(context["expected"]))
    return f"{_described(value)} is not one of its values", did_you_mean(str(value), known)


_TOLD: Mapping[str, Callable[[object, Mapping[str, object]], tuple[str, str]]] = {
    "missing": lambda _, __: ("this field is missing", ""),
    "literal_error": _no_choice,
    "string_pattern_mismatch": _no_match,
    "too_short": lambda _, __: ("it is empty", ""),
    "string_too_short": lambda _, __: ("it is empty", ""),
    "greater_than_equal": lambda value, context: (
        f"{_described(value)} is less than {context['ge']}",
        "",
    ),
    "less_than_equal": lambda value, context: (
        f"{_described(value)} is more than {context['le']}",
        "",
    ),
    "value_error": lambda _, context: (str(context["error"]), ""),
}


def _described(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {shown(value)}"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def _quoting(wanted: str, value: object) -> str:
    if wanted == "string_type" and isinstance(value, int | float):
        return "put it in quotes, so that it is read as text"
    if wanted in {"int_type", "float_type", "number_type", "bool_type"} and isinstance(value, str):
        return "write it without quotes"
    if wanted in {"list_type", "tuple_type"} and isinstance(value, str):
        return "write it as a list: [ … ]"
    return ""
