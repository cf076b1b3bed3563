"""A JSON file, read strictly, that remembers where every value stands."""

from __future__ import annotations

import json
import math
import re
from typing import NoReturn

from pydantic import JsonValue

from skill_delta.core.documents import (
    MAX_DEPTH,
    MAX_INTEGER_BITS,
    MAX_VALUES,
    Document,
    DocumentError,
    Mark,
    Path,
    decode,
    dotted,
    mark_at,
)
from skill_delta.core.wording import shown
from skill_delta.errors import Place

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NUMERIC = frozenset("-0123456789NI")
"""How a number begins, or a word that JSON's reader takes for one."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_json(raw: bytes, file: str) -> Document:
    """Read one JSON document.

    YAML reads nearly all of JSON, but also what is none: comments, trailing commas, text without
    quotes. Raises `DocumentError`, with line and column, for those; and for anything over the
    limits of `skill_delta.core.documents`, not UTF-8, or with duplicate keys.
    """
    text = decode(raw, file)
    try:
        value: JsonValue = json.loads(
            text, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_number
        )
    except json.JSONDecodeError as error:
        problem = f"{error.msg[:1].lower()}{error.msg[1:]}"
        hint = "JSON has no comments and no trailing commas, and its text stands in double quotes"
        raise DocumentError(
            problem, hint=hint, place=Place(file, error.lineno, column=error.colno)
        ) from None
    except ValueError as error:
        raise DocumentError(str(error), place=_place_of_number(text, file)) from None
    except RecursionError:
        problem = f"values nest deeper than {MAX_DEPTH} levels"
        raise DocumentError(problem, place=Place(file)) from None
    return Document(file, value, frozenset(), _Marks(text, file).read())


def _place_of_number(text: str, file: str) -> Place:
    """Where the first number stands that cannot be read: what is before it is JSON."""
    for token in _TOKEN.finditer(text):
        if token[0][0] in _NUMERIC:
            try:
                json.loads(
                    token[0],
                    parse_constant=_refuse_constant,
                    parse_int=_integer,
                    parse_float=_number,
                )
            except ValueError:
                line, column = mark_at(text, token.start())
                return Place(file, line, column=column)
    return Place(file)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    # The length first: Python's own limit is a `ValueError` about its settings.
    if len(digits) > MAX_INTEGER_BITS or int(digits).bit_length() > MAX_INTEGER_BITS:
        raise ValueError("a number is too large")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is not a finite number")
    return value


class _Marks:
    """Walks the tokens of a text known to be JSON, noting where each value stands."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._marks: dict[Path, Mark] = {}
        self._path: list[str | int] = []
        self._keys: list[dict[str, int]] = []
        """For each open container, the lines of its keys."""
        self._line, self._begin = 1, 0
        """The line, and the position at which it begins."""
        self._at = 0

    def read(self) -> dict[Path, Mark]:
        position, expects_key = 0, False
        for token in _TOKEN.finditer(self._text):
            self._line += self._text.count("\n", position, token.start())
            last = self._text.rfind("\n", position, token.start())
            self._begin = last + 1 if last >= 0 else self._begin
            self._at = position = token.start()
            match token[0]:
                case "{" | "[" as opening:
                    self._note()
                    self._open(opening)
                    expects_key = opening == "{"
                case "}" | "]":
                    self._path.pop()
                    self._keys.pop()
                case ",":
                    expects_key = self._next_item()
                case ":":
                    pass
                case written if expects_key:
                    self._key(written)
                    expects_key = False
                case written:
                    self._note()
                    self._refuse_half_characters(written)
        return self._marks

    def _open(self, opening: str) -> None:
        if len(self._path) >= MAX_DEPTH:
            raise self._refused(f"values nest deeper than {MAX_DEPTH} levels")
        self._keys.append({})
        self._path.append("" if opening == "{" else 0)

    def _next_item(self) -> bool:
        last = self._path[-1]
        if isinstance(last, int):
            self._path[-1] = last + 1
        return not isinstance(last, int)

    def _key(self, written: str) -> None:
        self._refuse_half_characters(written)
        key = self._path[-1] = json.loads(written)
        seen = self._keys[-1]
        if key in seen:
            raise self._refused(f"the key {shown(key)} was already given on line {seen[key]}")
        seen[key] = self._line
        self._marks[tuple(self._path)] = self._mark

    def _note(self) -> None:
        self._marks.setdefault(tuple(self._path), self._mark)
        if len(self._marks) > MAX_VALUES:
            raise self._refused(f"it holds more than {MAX_VALUES:,} values")

    def _refuse_half_characters(self, written: str) -> None:
        # An escaped surrogate without its other half is text that cannot be sent anywhere.
        if "\\u" in written and _SURROGATE.search(json.loads(written)):
            raise self._refused("an escape names half a character (a lone surrogate)")

    def _refused(self, problem: str) -> DocumentError:
        field = dotted(tuple(self._path[:8]))
        line, column = self._mark
        return DocumentError(problem, place=Place(self._file, line, field, column))

    @property
    def _mark(self) -> Mark:
        return self._line, self._at - self._begin + 1
