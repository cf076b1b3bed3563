"""Which paths and patterns stay within a working folder."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.workspace import (
    MAX_FILE_BYTES,
    MAX_FILES,
    WorkspaceFile,
    WorkspaceFiles,
    glob_matches,
    glob_refusal,
    normal,
    path_refusal,
    seed_refusals,
)


@pytest.mark.parametrize("path", ["a", "a/b.txt", "./a", "a//b", "résumé.md", "a b", "~/x", "..a"])
def test_a_plain_path_is_taken(path: str) -> None:
    """Whatever its letters: it stays within the folder."""
    assert path_refusal(path) == ""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        *(("", "is empty"), ("  ", "is empty")),
        *((".", "working folder itself"), ("./", "working folder itself")),
        *(("/etc/passwd", "absolute"), ("//host/x", "absolute"), ("C:x", "absolute")),
        *(("..", '".."'), ("../a", '".."'), ("a/../b", '".."'), ("a/..", '".."')),
        *(("a\\b", "backslash"), ("..\\a", "backslash")),
        *(("a\0b", "character"), ("a\nb", "character"), ("\ud800", "character")),
        *(("a" * 256, "too long"), ("é" * 128, "too long"), ("a/" * 300 + "b", "too long")),
    ],
)
def test_any_other_is_refused(path: str, why: str) -> None:
    """Before anything is looked at on a disk, and with the reason."""
    assert why in path_refusal(path)


@given(st.text())
def test_what_is_taken_stays_below_the_folder(path: str) -> None:
    """For every text there is."""
    if path_refusal(path) == "":
        parts = PurePosixPath("/folder", path).parts
        assert parts[:2] == ("/", "folder")
        assert len(parts) > 2
        assert ".." not in parts
        assert path.encode()


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.md", "report.md", True),
        ("*.md", "out/report.md", False),
        ("out/*.md", "out/report.md", True),
        ("*/*.md", "out/report.md", True),
        ("out/*", "out/a/b", False),
        ("report-?.md", "report-1.md", True),
        ("report-[!0].md", "report-1.md", True),
        ("report-[0].md", "report-1.md", False),
        ("*.MD", "report.md", False),
        ("./*.md", "report.md", True),
        ("report.md", "report.md", True),
    ],
)
def test_a_wildcard_stays_within_one_folder(pattern: str, path: str, matches: bool) -> None:
    """So that nobody matches by luck what lies deeper."""
    assert glob_matches(pattern, path) is matches


@pytest.mark.parametrize(
    "pattern", ["*.md", "plans/*/plan.md", "[a-c]?.txt", ("plan.md", "*/p.md")]
)
def test_a_usable_pattern_is_taken(pattern: str | tuple[str, ...]) -> None:
    """One with a wildcard, or several of which each may be a path."""
    assert glob_refusal(pattern) == ""


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        *(("**/a", "**"), ("a/**", "**"), ("a**b", "**")),
        *(("../*", '".."'), ("/tmp/*", "absolute"), ("a\\*", "backslash"), ("", "empty")),
        *(("plan.md", "no wildcard"), ("plans/*/", "names a folder"), ("*/.", "names a folder")),
        *(("a[1.md", "closes"), ("[z-a].md", "matches nothing"), ("[]", "closes")),
        *((("*.md",), "two entries"), ((), "two entries"), (("*.md", "./*.md"), "twice")),
        (("*.md", "../x"), '".."'),
    ],
)
def test_one_that_cannot_mean_what_it_says_is_refused(
    pattern: str | tuple[str, ...], why: str
) -> None:
    """When the file is read, not when a paid trial is judged."""
    assert why in glob_refusal(pattern)


def test_only_regular_files_match() -> None:
    """A link that a script left cannot stand in for what the model should have written."""
    link = WorkspaceFile("a.md", 0, problem="it is a link", is_regular=False)
    left = WorkspaceFiles((link, WorkspaceFile("b.md", 3)))

    assert [file.path for file in left.matching(["*.md"])] == ["b.md"]
    assert left.find("./a.md") is link


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"../a": ""}, '".."'),
        ({"a": "", "./a": ""}, "the same as"),
        ({"a": "", "a/b": ""}, "a file and a folder"),
        ({"a": "é" * MAX_FILE_BYTES}, "2,000,000 bytes"),
        ({"a": "\ud800"}, "surrogate"),
        ({f"{n}": "" for n in range(MAX_FILES + 1)}, "201 files"),
        ({f"{n}": "a" * MAX_FILE_BYTES for n in range(6)}, "6,000,000 bytes"),
    ],
)
def test_what_cannot_be_put_into_a_folder_is_told(files: dict[str, str], why: str) -> None:
    """By its author's file, before anything is spent."""
    assert any(why in told for _, told in seed_refusals(files))


def test_what_can_be_is_not() -> None:
    """As many as there may be, in folders too."""
    assert not [*seed_refusals({f"{n}/{n}": "a" for n in range(MAX_FILES)})]
    assert normal("./a//b") == "a/b"
