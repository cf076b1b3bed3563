"""Tool libraries: mock tools declared once, for many eval files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from skill_delta.core.documents import Document, Path, read_document
from skill_delta.core.wording import shown, visible
from skill_delta.errors import Place, UserError
from skill_delta.formats.json_document import read_json
from skill_delta.formats.native_model import ToolShape, fields_at
from skill_delta.formats.problems import Problems, did_you_mean, placeholders
from skill_delta.formats.tools import note_contract, note_unreachable
from skill_delta.ports import SourceFiles

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_LIBRARIES = 100
"""How many library files one eval file may import."""
COPIED = (
    "a library's path is relative to this file and stays in its repository: a copy of the file "
    "needs its libraries copied along"
)
SUFFIXES = frozenset({".yaml", ".yml"})


@dataclass(frozen=True, slots=True)
class LibraryTool:
    """A tool and where its library declares it."""

    shape: ToolShape
    place: Place


@dataclass(frozen=True, slots=True)
class Library:
    """Every tool that an eval file imports, by name."""

    tools: Mapping[str, LibraryTool] = field(default_factory=dict)
    errors: tuple[UserError, ...] = ()
    """What is wrong with the library files themselves."""
    is_whole: bool = True
    """Whether all could be imported: else a tool that is not there may be in what could not."""


def import_libraries(
    document: Document, files: SourceFiles, folder: PurePosixPath, problems: Problems
) -> Library:
    """Read what the eval file's `tool_libraries` names, relative to the file's `folder`.

    What is wrong with an entry is noted with the eval file's `problems`.
    """
    entries = document.value.get("tool_libraries") if isinstance(document.value, dict) else None
    importer, before = _Importer(files, problems), len(problems.errors)
    if isinstance(entries, list):
        for position, entry in enumerate(entries):
            importer.add(entry, folder, ("tool_libraries", position))
    elif entries is not None:
        problems.add(("tool_libraries",), "it is no list", "write it as a list: [ … ]")
    is_whole = len(problems.errors) == before and not importer.errors
    return Library(importer.tools, tuple(importer.errors), is_whole)


class _Importer:
    def __init__(self, files: SourceFiles, problems: Problems) -> None:
        self._files = files
        self._problems = problems
        self._origins: dict[PurePosixPath, Path] = {}
        self.tools: dict[str, LibraryTool] = {}
        self.errors: list[UserError] = []

    def add(self, entry: JsonValue, folder: PurePosixPath, path: Path) -> None:
        if not isinstance(entry, str) or not entry.strip():
            hint = "name a file or a folder, relative to this file"
            self._problems.add(path, "it is no path", hint)
            return
        location = relative_to(folder, entry)
        if location is None:
            problem = f"{shown(entry)} is absolute or leads out of the files that are read"
            self._problems.add(path, problem, COPIED)
            return
        for file in self._expanded(location, path):
            self._add_file(file, path)

    def _expanded(self, location: PurePosixPath, path: Path) -> list[PurePosixPath]:
        inside = self._files.listing(location)
        if inside is None:
            return [location]
        found = [file for file in inside if file.suffix.lower() in SUFFIXES]
        if not found:
            where = visible(self._files.shown(location))
            self._problems.add(path, f"the folder {where} has no YAML files in it")
        return found

    def _add_file(self, file: PurePosixPath, path: Path) -> None:
        where = visible(self._files.shown(file))
        if file in self._origins:
            earlier = self._problems.place(self._origins[file])
            self._problems.add(path, f"{where} is already imported at {earlier}")
            return
        if len(self._origins) >= MAX_LIBRARIES:
            self._problems.add(path, f"more than {MAX_LIBRARIES} library files are imported")
            return
        self._origins[file] = path
        try:
            raw = self._files.read(file)
        except UserError as error:
            problem = f"the tool library {where}: {error.problem}"
            self._problems.add(path, problem, error.hint or COPIED)
            return
        try:
            read = read_json if file.suffix.lower() == ".json" else read_document
            document = read(raw, where)
        except UserError as error:
            self.errors.append(error)
            return
        problems = Problems(document)
        for tool in _declared(document, problems):
            self._declare(tool, problems)
        self.errors += problems.errors

    def _declare(self, tool: tuple[Path, ToolShape], problems: Problems) -> None:
        path, shape = tool
        if shape.name in self.tools:
            earlier = self.tools[shape.name].place
            problem = f"the tool {shape.name} is already declared at {earlier}"
            problems.add(path, problem, "a ref can mean only one of them")
            return
        self.tools[shape.name] = LibraryTool(shape, problems.place(path))


def relative_to(folder: PurePosixPath, entry: str) -> PurePosixPath | None:
    """The file that `entry` names from `folder`; None where it leads out of the root.

    A path is read textually: `..` goes up one folder, whatever links there are.
    """
    windows = PureWindowsPath(entry)
    if "\\" in entry or "\0" in entry or windows.drive or windows.root:
        return None
    parts: list[str] = []
    for part in (*folder.parts, *PurePosixPath(entry).parts):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return None
    return PurePosixPath(*parts)


def _declared(document: Document, problems: Problems) -> Iterator[tuple[Path, ToolShape]]:
    value = document.value
    tools = value.get("tools") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(tools, list):
        problems.add(("tools",), "a tool library has one top-level list, `tools`")
        return
    for key in value:
        if key != "tools":
            problems.add((key,), "a tool library has nothing beside `tools`")
    unfilled = tuple(placeholders(value))
    for field_path in unfilled:
        problems.add(field_path, "a placeholder is still to be filled in")
    if unfilled:
        return
    for position, tool in enumerate(tools):
        path: Path = ("tools", position)
        try:
            shape = ToolShape.model_validate(tool)
        except ValidationError as error:
            problems.add_invalid(path, error, _explain)
            continue
        note_contract(shape, path, problems)
        note_unreachable(shape, shape.returns, path, problems)
        yield path, shape


def _explain(details: ErrorDetails, _value: JsonValue) -> tuple[str, str] | None:
    if details["type"] != "extra_forbidden":
        return None
    key = str(details["loc"][-1])
    known = fields_at(("tools", "<tool>", *details["loc"][:-1]))
    return f"there is no field {shown(key)} here", did_you_mean(key, known)
