"""A SKILL.md file is read: leniently where a skill still loads, strictly where it would mislead."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from skill_delta.core.documents import Document, DocumentError, decode, parse_yaml
from skill_delta.core.skills import SkillVersion
from skill_delta.errors import Place, UserError

FIELDS = frozenset(
    {"name", "description", "version", "metadata", "license", "compatibility", "allowed-tools"}
)
"""The frontmatter fields that the Agent Skills specification names, and `version`."""

MAX_DESCRIPTION = 1024
"""How many characters of a description every runtime loads."""

_FENCE = re.compile(r"(?:---|\.\.\.)[ \t]*")
_PLAIN_DESCRIPTION = re.compile(r"description:[ \t]+([^\s\"'|>\[{&*!%@`#].*)")


@dataclass(frozen=True, slots=True)
class ParsedSkill:
    """What a SKILL.md says, and what in it other tools may trip over."""

    skill: SkillVersion
    warnings: tuple[str, ...] = ()


def parse_skill(raw: bytes, *, file: str, folder_name: str) -> ParsedSkill:
    """Read a SKILL.md that lies in a folder named `folder_name`.

    `file` is the path that messages name. Raises `UserError` with its place for an empty file, a
    frontmatter that is not closed, not YAML or not a mapping, and a `version` that is not text.
    """
    text = decode(raw, file)
    if not text.strip():
        raise UserError(
            "the file is empty",
            hint="write a frontmatter with `name` and `description`, then the instructions",
            place=Place(file),
        )
    parts = _split(text, file)
    if parts is None:
        return ParsedSkill(
            SkillVersion(name=folder_name, description="", instructions=text.strip()),
            (f"no frontmatter: the skill is called {folder_name!r} after its folder",),
        )
    return _Frontmatter(parts, file, folder_name).read()


@dataclass(frozen=True, slots=True)
class _Parts:
    """A file cut at its fences. `first_line` is where `yaml` begins, counted from 1."""

    yaml: str
    first_line: int
    instructions: str


def _split(text: str, file: str) -> _Parts | None:
    lines = text.split("\n")
    opening = next(number for number, line in enumerate(lines) if line.strip())
    if lines[opening].rstrip(" \t") != "---":
        return None
    for number in range(opening + 1, len(lines)):
        if _FENCE.fullmatch(lines[number]):
            return _Parts(
                yaml="\n".join(lines[opening + 1 : number]),
                first_line=opening + 2,
                instructions="\n".join(lines[number + 1 :]).strip(),
            )
    raise UserError(
        "the frontmatter is not closed",
        hint="end it with a line that holds only `---`",
        place=Place(file, opening + 1, column=1),
    )


class _Frontmatter:
    """Reads one frontmatter, gathering its warnings as it goes."""

    def __init__(self, parts: _Parts, file: str, folder_name: str) -> None:
        self._parts = parts
        self._file = file
        self._folder_name = folder_name
        self._warnings: list[str] = []

    def read(self) -> ParsedSkill:
        if self._parts.first_line > 2:
            line = self._parts.first_line - 1
            self._warn(f"the frontmatter begins on line {line}: some runtimes only look at line 1")
        self._document = self._parse()
        fields = self._fields()
        skill = SkillVersion(
            name=self._name(fields),
            description=self._description(fields),
            instructions=self._parts.instructions,
            version=self._version(fields),
        )
        self._note_unusual(fields)
        return ParsedSkill(skill, tuple(self._warnings))

    def _parse(self) -> Document:
        try:
            return parse_yaml(self._parts.yaml, self._file, first_line=self._parts.first_line)
        except DocumentError as error:
            quoted = _description_quoted(self._parts.yaml)
            if "mapping values are not allowed" not in error.problem or quoted is None:
                raise
            try:
                document = parse_yaml(quoted, self._file, first_line=self._parts.first_line)
            except DocumentError:
                raise error from None
            self._warn("the description holds an unquoted colon: put the text in quotes")
            return document

    def _fields(self) -> Mapping[str, JsonValue]:
        value = self._document.value
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise UserError(
                "the frontmatter is not a mapping",
                hint="write `name: …` and `description: …`, each on a line of its own",
                place=Place(self._file, self._parts.first_line, column=1),
            )
        return value

    def _name(self, fields: Mapping[str, JsonValue]) -> str:
        name = self._text(fields, "name").strip()
        if not name:
            self._warn(f"no name: the skill is called {self._folder_name!r} after its folder")
            return self._folder_name
        if name != self._folder_name:
            self._warn(f"the name {name!r} is not the folder's name {self._folder_name!r}")
        return name

    def _description(self, fields: Mapping[str, JsonValue]) -> str:
        description = self._text(fields, "description").strip()
        if not description:
            self._warn("no description: no runtime knows when to reach for the skill")
        if len(description) > MAX_DESCRIPTION:
            self._warn(
                f"the description has {len(description):,} characters; "
                f"some runtimes cut it at {MAX_DESCRIPTION:,}"
            )
        return description

    def _text(self, fields: Mapping[str, JsonValue], field: str) -> str:
        value = fields.get(field)
        if value is None:
            return ""
        if isinstance(value, dict | list):
            self._warn(f"the {field} is not text, and was ignored")
            return ""
        if not self._is_text(value, field):
            self._warn(f"the {field} is not text: put it in quotes")
        return self._spelling(field, value)

    def _is_text(self, value: JsonValue, *path: str) -> bool:
        return isinstance(value, str) and path not in self._document.dates

    def _version(self, fields: Mapping[str, JsonValue]) -> str | None:
        declared = fields.get("version")
        if declared is not None and not self._is_text(declared, "version"):
            raise self._unquoted_version(declared)
        metadata = fields.get("metadata")
        nested = metadata.get("version") if isinstance(metadata, dict) else None
        if nested is not None and not self._is_text(nested, "metadata", "version"):
            self._warn("metadata.version is not text, and was ignored: put it in quotes")
            nested = None
        for version in (declared, nested):
            if isinstance(version, str) and version.strip():
                return version.strip()
        return None

    def _unquoted_version(self, value: JsonValue) -> UserError:
        place = self._document.place(("version",))
        if isinstance(value, dict | list):
            hint = 'write it as `version: "1.0.0"`'
            return UserError("the version is not text", hint=hint, place=place)
        spelling = self._spelling("version", value)
        return UserError(
            f"YAML reads {spelling} as {_kind(value)}, not as text: two versions that are spelled "
            "differently (1.2 and 1.20) would then be equal, and a new one would go unnoticed",
            hint=f'quote it: `version: "{spelling}"`',
            place=place,
        )

    def _spelling(self, field: str, value: JsonValue) -> str:
        """The value as its author wrote it: `1.20`, where YAML only remembers 1.2."""
        if isinstance(value, str):
            return value
        line = (self._document.place((field,)).line or 0) - self._parts.first_line
        lines = self._parts.yaml.split("\n")
        written = lines[line] if 0 <= line < len(lines) else ""
        found = re.match(rf"(?:{field}|\"{field}\"|'{field}')\s*:\s+([^\s#,{{}}\"'&!]+)", written)
        return found[1] if found else str(value)

    def _note_unusual(self, fields: Mapping[str, JsonValue]) -> None:
        unknown = sorted(set(fields) - FIELDS)
        if unknown:
            self._warn(f"fields that the specification does not know: {', '.join(unknown)}")
        if isinstance(fields.get("allowed-tools"), list):
            self._warn("allowed-tools is a list: the specification has text with spaces between")
        metadata = fields.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            self._warn("metadata is not a mapping, and was ignored")

    def _warn(self, warning: str) -> None:
        self._warnings.append(warning)


def _kind(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a date" if isinstance(value, str) else "a number"


def _description_quoted(text: str) -> str | None:
    """The frontmatter with a plain description in quotes; every line keeps its number."""
    lines = text.split("\n")
    for first, line in enumerate(lines):
        plain = _PLAIN_DESCRIPTION.fullmatch(line)
        if plain is None:
            continue
        end = first + 1
        while end < len(lines) and (not lines[end] or lines[end][0].isspace()):
            end += 1
        value = " ".join([plain[1], *lines[first + 1 : end]]).split()
        quoted = f"description: {json.dumps(' '.join(value), ensure_ascii=False)}"
        return "\n".join([*lines[:first], quoted, *[""] * (end - first - 1), *lines[end:]])
    return None
