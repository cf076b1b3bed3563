"""A trial's working folder as data: what it begins with, which paths are in it, what is left."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath

from skill_delta.core.wording import shown

MAX_FILE_BYTES = 1_000_000
"""The largest file that is seeded, written by the model, or read."""
MAX_FILES = 200
"""How many files the folder may hold when one more is written."""
MAX_TOTAL_BYTES = 5_000_000
"""How many bytes all its files may have together."""
MAX_ENTRIES = 1_000
"""How many files and folders are looked at. Of a folder that holds more, nothing is read."""
MAX_DEPTH = 20
"""How many folders a path may lead through."""
MAX_PATH = 500
"""How many characters a path may have."""

FILE_TOOLS = ("list_files", "read_file", "write_file")
"""What a model can do with the folder."""
BUNDLE_TOOLS = ("list_skill_files", "read_skill_file")
"""What it can do with the files that its skill ships."""
RUN_SCRIPT = "run_script"
RESERVED_TOOLS = (*FILE_TOOLS, *BUNDLE_TOOLS, RUN_SCRIPT)
"""The tools' names: in a case with a working folder no mock tool has one of them."""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAMES = range(1, 256)
"""How many bytes the name of a file or a folder has."""
_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class WorkspaceSeed:
    """The files that a case's folder begins with: text by relative path."""

    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """One file that a trial left in its folder.

    `text` is there for the files that a check of the case reads, as far as they can be read.
    `problem` says why one cannot: it is no UTF-8, too large, a link. Without either, nobody asked
    for its text, so it was not kept.
    """

    path: str
    size: int
    text: str | None = None
    problem: str = ""
    is_regular: bool = True


@dataclass(frozen=True, slots=True)
class WorkspaceFiles:
    """Everything that a trial left in its folder, sorted by path.

    `problem` says why nothing of it was looked at: it holds more than is read.
    """

    files: tuple[WorkspaceFile, ...] = ()
    problem: str = ""

    def find(self, path: str) -> WorkspaceFile | None:
        """The file at the path, as an author writes it; None where there is none."""
        wanted = normal(path)
        return next((file for file in self.files if file.path == wanted), None)

    def matching(self, patterns: Iterable[str]) -> tuple[WorkspaceFile, ...]:
        """The regular files that one of the patterns matches; a literal path matches itself."""
        tried = tuple(patterns)
        return tuple(
            file
            for file in self.files
            if file.is_regular and any(glob_matches(pattern, file.path) for pattern in tried)
        )


def normal(path: str) -> str:
    """The path without what leads nowhere: `./a//b` is `a/b`."""
    return PurePosixPath(path).as_posix()


def path_refusal(path: str) -> str:
    """Why the text is no path of a file in the folder, wherever that is; empty where it is one."""
    if not path.strip():
        return "the path is empty"
    parts, windows = PurePosixPath(path).parts, PureWindowsPath(path)
    is_long = len(path) > MAX_PATH or len(parts) > MAX_DEPTH
    for is_wrong, why in (
        (_CONTROL.search(path) or _SURROGATE.search(path), "holds a character no name should"),
        ("\\" in path, "holds a backslash; folders are separated by /"),
        (
            path.startswith("/") or windows.drive or windows.root,
            "is absolute; paths are relative to the working folder",
        ),
        (not parts, "is the working folder itself, and no file in it"),
        (".." in parts, 'holds ".."; no path leads out of the working folder'),
        (is_long or any(_size(part) not in _NAMES for part in parts), "is too long"),
    ):
        if is_wrong:
            return f"the path {shown(path)} {why}"
    return ""


def glob_refusal(patterns: str | tuple[str, ...]) -> str:
    """Why a `file_glob` could never match what its author meant; empty where it may."""
    if isinstance(patterns, str):
        is_literal = not _WILDCARDS & set(patterns)
        wrong = _pattern_refusal(patterns)
        if not wrong and is_literal:
            return f"{shown(patterns)} has no wildcard (*, ?, […]): write `file` for one path"
        return wrong
    if len(patterns) < 2:
        return "a list of patterns has two entries or more: write one as text"
    if len({normal(pattern) for pattern in patterns}) < len(patterns):
        return "a pattern is named twice"
    return next(filter(None, map(_pattern_refusal, patterns)), "")


def _pattern_refusal(pattern: str) -> str:
    wrong = path_refusal(pattern)
    if wrong:
        return wrong
    if pattern.endswith(("/", "/.")):
        return f"the pattern {shown(pattern)} names a folder; a pattern names files"
    if "**" in pattern:
        return (
            f"the pattern {shown(pattern)} holds **; a wildcard stays within one folder, "
            "so write one * for each level"
        )
    return next(filter(None, map(_set_refusal, PurePosixPath(pattern).parts)), "")


def _set_refusal(segment: str) -> str:
    """What is wrong with a `[…]` in one level of a pattern, which would look for a bracket."""
    at = segment.find("[")
    while at >= 0:
        first = at + 2 if segment[at + 1 : at + 2] == "!" else at + 1
        end = segment.find("]", first + 1)
        if end < 0:
            return f"the pattern {shown(segment)} has a [ that no ] closes"
        at = segment.find("[", end)
    if "(?!)" in fnmatch.translate(segment):
        return f"the pattern {shown(segment)} has a […] that matches nothing"
    return ""


def glob_matches(pattern: str, path: str) -> bool:
    """Whether the pattern matches the path, level by level: `*` stays within one folder."""
    wanted, found = PurePosixPath(pattern).parts, PurePosixPath(path).parts
    return len(wanted) == len(found) and all(
        fnmatch.fnmatchcase(name, segment) for name, segment in zip(found, wanted, strict=True)
    )


def seed_refusals(files: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """What is wrong with the files a case would begin with: a path (empty for all) and why."""
    taken: dict[str, str] = {}
    for path, text in files.items():
        wrong = path_refusal(path)
        if wrong:
            yield path, wrong
            continue
        place = normal(path)
        if place in taken:
            yield path, f"the file is the same as {shown(taken[place])}"
        taken[place] = path
        size = _size(text)
        if size is None:
            yield path, "its text holds half a character (a lone surrogate)"
        elif size > MAX_FILE_BYTES:
            yield path, f"it has {size:,} bytes; a file has at most {MAX_FILE_BYTES:,}"
    for place, path in taken.items():
        inside = next((p for p in taken if p.startswith(f"{place}/")), None)
        if inside is not None:
            yield path, f"it is a file and a folder: there is {shown(taken[inside])} too"
    if len(files) > MAX_FILES:
        yield "", f"it has {len(files):,} files; a folder begins with at most {MAX_FILES}"
    total = sum(_size(text) or 0 for text in files.values())
    if total > MAX_TOTAL_BYTES:
        yield "", f"its files have {total:,} bytes; together they have at most {MAX_TOTAL_BYTES:,}"


def _size(text: str) -> int | None:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        return None
