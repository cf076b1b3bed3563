"""A YAML or JSON document, read strictly, that remembers where every value stands."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, field

import yaml
from pydantic import JsonValue

from skill_delta.core.wording import clipped
from skill_delta.errors import Place, UserError

MAX_BYTES = 1024 * 1024
"""The largest file read, in bytes: no real skill or eval file comes near it."""
MAX_DEPTH = 64
"""How deep values may nest. Deeper ones exhaust the stack of whoever reads them."""
MAX_VALUES = 200_000
"""How many values a document may hold once its aliases are expanded ("billion laughs")."""
MAX_INTEGER_BITS = 4096
"""How large an integer may be: Python refuses to print much larger ones."""
MAX_QUOTED = 100
"""How many characters of a file's own words (a key, a tag, a value) one message repeats."""

Path = tuple[str | int, ...]
"""The way from the document's root to a value: mapping keys and list positions."""


Mark = tuple[int, int]
"""A line and a column, counted from 1; the column in characters."""


class DocumentError(UserError):
    """The text is not a document that can be read; says where and why."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: its plain value and where each part of it stands."""

    file: str
    value: JsonValue
    dates: frozenset[Path] = frozenset()
    """Values written as unquoted dates. They are kept as text, as they were spelled."""
    _marks: dict[Path, Mark] = field(default_factory=dict, repr=False)

    def place(self, path: Path = ()) -> Place:
        """The file, line, column and field of the value at `path`, or of its nearest ancestor.

        Of what stands under a key, the place is the key's.
        """
        known = path
        while known and known not in self._marks:
            known = known[:-1]
        line, column = self._marks.get(known, (None, None))
        return Place(self.file, line, dotted(path), column)


def dotted(path: Path) -> str:
    """`("cases", 0, "task")` as a person writes it, on one line: `cases[0].task`.

    Keys are someone else's text: their control characters are spelled out, and a way of more than
    `MAX_QUOTED` characters is cut.
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return clipped(text, MAX_QUOTED)


def decode(raw: bytes, file: str) -> str:
    """The text of a file, without its byte-order mark, line ends as `\\n`.

    Raises `DocumentError` when it is over `MAX_BYTES` or not UTF-8.
    """
    if len(raw) > MAX_BYTES:
        raise DocumentError(
            f"the file has {len(raw):,} bytes; at most {MAX_BYTES:,} are read",
            hint="split it, or move large inputs into files of their own",
            place=Place(file),
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = mark_at(raw[: error.start].decode("utf-8-sig"), None)
        raise DocumentError(
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            hint="save the file as UTF-8",
            place=Place(file, line, column=column),
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def mark_at(text: str, position: int | None) -> Mark:
    """The line and column of a position in a text; of its end where that is None."""
    before = text if position is None else text[:position]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


class _StrictLoader(yaml.CSafeLoader):
    """PyYAML's safe loader, with booleans as YAML 1.2 has them: `yes`, `no`, `on` are text."""


_BOOLEAN = re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$")
_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOLEAN, list("tTfF"))
# As YAML 1.2, JSON and people write it; YAML 1.1 wants a point in `5e-05`.
_EXPONENT = re.compile(r"^[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+$")
_StrictLoader.add_implicit_resolver("tag:yaml.org,2002:float", _EXPONENT, list("-+0123456789"))

_CONTAINER_TAGS = frozenset({"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"})
_TEXT_TAGS = frozenset(
    {"tag:yaml.org,2002:str", "tag:yaml.org,2002:value", "tag:yaml.org,2002:merge"}
)
"""A plain `=` or `<<` that stands as a value is text: YAML 1.1 gave them meanings nobody uses."""


def read_document(raw: bytes, file: str) -> Document:
    """Read one YAML (or JSON, its subset) document.

    Raises `DocumentError` for anything over `MAX_BYTES`, not UTF-8, not YAML, with duplicate
    keys, keys that are not text, tags that name objects, or more nesting or expansion than
    `MAX_DEPTH` and `MAX_VALUES` allow.
    """
    return parse_yaml(decode(raw, file), file)


_SURROGATES = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE)


def parse_yaml(text: str, file: str, *, first_line: int = 1) -> Document:
    """`read_document` for text that starts on line `first_line` of its file."""
    try:
        return _parse(text, file, first_line)
    except DocumentError as error:
        # JSON writers spell an emoji as two escapes, which YAML does not know.
        joined = _SURROGATES.sub(_character, text)
        if "Unicode character escape" not in error.problem or joined == text:
            raise
    return _parse(joined, file, first_line)


def _character(pair: re.Match[str]) -> str:
    return bytes.fromhex(pair[1] + pair[2]).decode("utf-16-be")


def _parse(text: str, file: str, first_line: int) -> Document:
    loader = _StrictLoader(text)
    try:
        node = loader.get_single_node()
        reader = _Reader(loader, text, file, first_line)
        value = None if node is None else reader.read(node, ())
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, file, first_line) from None
    except yaml.YAMLError as error:
        raise _not_text(error, text, file, first_line) from None
    except RecursionError:
        raise DocumentError(
            f"values nest deeper than {MAX_DEPTH} levels", place=Place(file)
        ) from None
    finally:
        loader.dispose()
    return Document(file, value, frozenset(reader.dates), reader.marks)


def _not_text(error: yaml.YAMLError, text: str, file: str, first_line: int) -> DocumentError:
    """The reader met a character that YAML does not have."""
    problem = clipped(" ".join(str(error).split()), 2 * MAX_QUOTED)
    found = _UNREADABLE.search(text)
    if found is None:
        return DocumentError(problem, place=Place(file))
    line, column = mark_at(text, found.start())
    place = Place(file, line + first_line - 1, column=column)
    problem = f"control characters are not allowed (U+{ord(found[0]):04X})"
    return DocumentError(problem, place=place)


_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML's reader takes for no text: control characters, most of all."""


_HINTS = {
    "did not find expected '-' indicator": (
        "check the indentation of this line: the items of a list begin in the same column, and "
        "what belongs to an item stands further right"
    ),
    "did not find expected key": (
        "check the indentation of this line; a value that begins with a quotation mark ends with it"
    ),
    "mapping values are not allowed in this context": (
        'text that holds ": " needs quotes; if it is no text, check the indentation of this line'
    ),
    "could not find expected ':'": (
        "check the indentation of this line and of the one above: a key is followed by a colon"
    ),
    "block sequence entries are not allowed in this context": (
        "a list begins on the line below its key; text that begins with - needs quotes"
    ),
    "did not find expected ',' or ']'": "a list that begins with [ ends with ]",
    "did not find expected ',' or '}'": "a mapping that begins with { ends with }",
    "found unexpected end of stream": "a quotation mark is not closed",
    "found a tab character that violates indentation": "tabs cannot indent: use spaces",
    "found undefined alias": "text that begins with * needs quotes",
    "did not find expected alphabetic or numeric character": "text that begins with * or & "
    "needs quotes",
    "found undefined tag handle": "text that begins with ! needs quotes",
    "found unknown escape character": "write a backslash within double quotes as two",
}
"""What the parser's commonest complaints mean to the author of the file."""


def _not_yaml(error: yaml.MarkedYAMLError, text: str, file: str, first_line: int) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    place = Place(file)
    if mark is not None:
        place = Place(file, mark.line + first_line, column=mark.column + 1)
    problem = error.problem or error.context or "the YAML cannot be read"
    if problem == "but found another document":
        return DocumentError("it holds several documents (---): keep one", place=place)
    hint = _HINTS.get(problem, "")
    if mark is not None and problem == "found character that cannot start any token":
        hint = _quoting(text[mark.index : mark.index + 1])
    if (error.context or "").endswith(" a tag") or "a constructor for the tag" in problem:
        hint = "text that begins with ! needs quotes"
    return DocumentError(clipped(problem, 2 * MAX_QUOTED), hint=hint, place=place)


def _quoting(first: str) -> str:
    if first == "\t":
        return "tabs cannot indent: use spaces"
    return f"text that begins with {clipped(first)} needs quotes"


_MARK = re.compile(r"(?:&\S+\s+)?!(?:\s|$)")
"""A tag that names nothing, perhaps behind an anchor."""


def _quoted(text: str) -> str:
    return f"'{clipped(text, MAX_QUOTED)}'"


class _Reader:
    """Turns YAML nodes into plain values, counting them and noting where they stand."""

    def __init__(self, loader: _StrictLoader, text: str, file: str, first_line: int) -> None:
        self._loader = loader
        self._text = text
        self._file = file
        self._first_line = first_line
        self._count = 0
        self.marks: dict[Path, Mark] = {}
        self.dates: set[Path] = set()

    def read(self, node: yaml.Node, path: Path) -> JsonValue:
        self._count_one(node, path)
        self.marks.setdefault(path, self._mark(node))
        if len(path) > MAX_DEPTH:
            raise self._refuse(node, path[:4], f"values nest deeper than {MAX_DEPTH} levels")
        if not isinstance(node, yaml.ScalarNode) and node.tag not in _CONTAINER_TAGS:
            raise self._refuse(node, path, f"the tag {_quoted(node.tag)} cannot be used")
        match node:
            case yaml.MappingNode():
                return self._mapping(node, path)
            case yaml.SequenceNode():
                return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
            case _:
                return self._scalar(node, path)

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, JsonValue]:
        seen: dict[str, int] = {}
        merged: list[yaml.Node] = []
        result: dict[str, JsonValue] = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged.append(value_node)
                continue
            key = self._key(key_node, path)
            if key in seen:
                problem = f"the key {_quoted(key)} was already given on line {seen[key]}"
                raise self._refuse(key_node, (*path, key), problem)
            mark = self._mark(key_node)
            seen[key], _ = mark
            self.marks.setdefault((*path, key), mark)
            result[key] = self.read(value_node, (*path, key))
        for source in merged:
            self._merge(result, source, path)
        return result

    def _merge(self, result: dict[str, JsonValue], node: yaml.Node, path: Path) -> None:
        # YAML's merge key: what is written in place wins, then the earlier of several sources.
        # A source that loses leaves no trace: neither its line nor that it was a date.
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            self._count_one(source, path)
            if not isinstance(source, yaml.MappingNode):
                raise self._refuse(source, path, "<< takes a mapping, or a list of mappings")
            dates = self.dates
            self.dates = set()
            for key, value in self._mapping(source, path).items():
                if key not in result:
                    result[key] = value
                    here = (*path, key)
                    dates |= {date for date in self.dates if date[: len(here)] == here}
            self.dates = dates

    def _key(self, node: yaml.Node, path: Path) -> str:
        # The key's own spelling: `404:` in a mapping of replies names "404", not the number.
        if isinstance(node, yaml.ScalarNode):
            self._refuse_lost_mark(node, path)
            return str(node.value)
        raise self._refuse(node, path, "a key must be plain text")

    def _refuse_lost_mark(self, node: yaml.Node, path: Path) -> None:
        # `! text` asks YAML for no more than to take the text as text, and loses its first letter.
        source = self._text[node.start_mark.index : node.end_mark.index]
        plain = isinstance(node, yaml.ScalarNode) and not node.style
        if not plain or not _MARK.match(source):
            return
        if not node.value:
            problem = 'it is empty text; an unquoted ! is a YAML tag: write "!"'
        else:
            problem = "the ! is lost; unquoted it is a YAML tag: put the text in quotes"
        raise self._refuse(node, path, problem)

    def _scalar(self, node: yaml.Node, path: Path) -> JsonValue:
        self._refuse_lost_mark(node, path)
        if node.tag == "tag:yaml.org,2002:timestamp":
            self.dates.add(path)
            return str(node.value)
        if node.tag in _TEXT_TAGS:
            return str(node.value)
        try:
            value: Hashable = self._loader.construct_object(node)
        except (ValueError, OverflowError, LookupError) as error:
            # LookupError: `!!bool maybe` and `!!int ""` are met by PyYAML with those.
            problem = f"the value cannot be read: {clipped(str(error), MAX_QUOTED)}"
            raise self._refuse(node, path, problem) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self._refuse(
                node, path, f"{clipped(node.value, MAX_QUOTED)} is not a finite number"
            )
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise self._refuse(node, path, "the number is too large")
        if value is None or isinstance(value, str | bool | int | float):
            return value
        raise self._refuse(node, path, f"a value of type {type(value).__name__} cannot be used")

    def _count_one(self, node: yaml.Node, path: Path) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._refuse(node, path, f"it expands to more than {MAX_VALUES:,} values")

    def _mark(self, node: yaml.Node) -> Mark:
        return node.start_mark.line + self._first_line, node.start_mark.column + 1

    def _refuse(self, node: yaml.Node, path: Path, problem: str) -> DocumentError:
        line, column = self._mark(node)
        return DocumentError(problem, place=Place(self._file, line, dotted(path), column))
