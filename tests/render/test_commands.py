"""What a line of the log may make the runner do."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skill_delta.errors import Place
from skill_delta.render.commands import Annotation, Level, stopped

TOKEN = "b1946ac92492d2347c6235b4d2611184"

KNOWN = {
    *(
        "stop-commands",
        "set-env",
        "set-output",
        "save-state",
        "add-path",
        "add-mask",
        "add-matcher",
    ),
    *("remove-matcher", "warning", "error", "notice", "debug", "group", "endgroup", "echo"),
}
"""The commands that the runner knows of."""

HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *(
                    "::",
                    ":",
                    "##[",
                    "##",
                    "[",
                    "]",
                    " ",
                    "\t",
                    "\u00a0",
                    "\u3000",
                    "\u2028",
                    "\x85",
                ),
                *("\n", "\r", "\r\n", "\x0b", "\x0c", "\x1b[31m", "%0A", "%", ",", "=", ";"),
                *("::error::x", "::stop-commands::", f"::{TOKEN}::", f"##[{TOKEN}]", TOKEN),
                *("##[set-output name=x]y", "::set-output name=x::y", "error", "ERROR", "title=x"),
            ]
        ),
        st.text(max_size=3),
    ),
    max_size=14,
).map("".join)


class Runner:
    """The rules by which GitHub's runner reads a log, written again from what it does."""

    def __init__(self) -> None:
        self._token = ""

    def obeys(self, log: str) -> Iterator[tuple[str, str]]:
        """Each command that it would carry out: its name and the rest."""
        for line in re.split("\r\n|\r|\n", log):
            command = self._command(line)
            if command is None:
                continue
            name, rest = command
            if self._token:
                if name.casefold() == self._token.casefold():
                    self._token = ""
                    yield "resume", ""
            else:
                if name.casefold() == "stop-commands":
                    self._token = rest
                yield name, rest

    def _command(self, line: str) -> tuple[str, str] | None:
        found = re.match(r"::(.*?)::(.*)", line.lstrip(), re.DOTALL)
        if found and self._knows(found[1]):
            return found[1].split(" ")[0], found[2]
        found = re.search(r"##\[(.*?)\](.*)", line, re.DOTALL)
        if found and self._knows(found[1]):
            return found[1].split(" ")[0], found[2]
        return None

    def _knows(self, information: str) -> bool:
        name = information.split(" ", maxsplit=1)[0].casefold()
        return name in KNOWN or (self._token != "" and name == self._token.casefold())


def properties(command: str) -> tuple[dict[str, str], str]:
    """An annotation as the runner reads it: its properties and its message."""
    found = re.fullmatch(r"::\w+(?: (.*?))?::(.*)", command)
    assert found, f"not one command: {command!r}"
    read = {}
    for pair in filter(None, (found[1] or "").split(",")):
        name, _, value = pair.partition("=")
        read[name] = unescaped(
            value, {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
        )
    return read, unescaped(found[2], {"%0D": "\r", "%0A": "\n", "%25": "%"})


def unescaped(text: str, spellings: dict[str, str]) -> str:
    for spelled, meant in spellings.items():
        text = text.replace(spelled, meant)
    return text


@settings(deadline=None)
@given(HOSTILE)
@example("::error::x")
@example(f"::{TOKEN}::\n::set-output name=x::y")
@example(f"a ##[{TOKEN}]\r##[set-output name=x]y")
@example("\u3000::add-mask::a")
@example("\r\n::error::x\r")
@example(":::error::x")
@example("####[error]x")
def test_nothing_that_is_printed_is_a_command(text: str) -> None:
    """The runner stops, prints, and goes on: whatever was printed."""
    assert list(Runner().obeys(stopped(text, TOKEN))) == [("stop-commands", TOKEN), ("resume", "")]


@settings(deadline=None)
@given(HOSTILE)
@example(":::error::x")
@example(" ::::x")
def test_no_line_looks_like_a_command_even_where_none_was_stopped(text: str) -> None:
    """A token that was guessed, or a runner that does not heed it, changes nothing."""
    inside = stopped(text, TOKEN).split("\n", 1)[1].rsplit("\n", 2)[0]

    assert list(Runner().obeys(inside)) == []


@given(st.text(st.characters(exclude_characters=":#\r\n")))
def test_plain_text_is_printed_as_it_is(text: str) -> None:
    """Colours and indents of a log stay."""
    assert stopped(f"  {text}\n", TOKEN) == f"::stop-commands::{TOKEN}\n  {text}\n::{TOKEN}::\n"


@settings(deadline=None)
@given(HOSTILE, HOSTILE, HOSTILE)
def test_an_annotation_is_one_command_whatever_is_in_it(
    title: str, message: str, file: str
) -> None:
    """No text ends the line, adds a property or begins the message."""
    command = str(Annotation(Level.ERROR, title, message, Place(file, 3)))
    read, _ = properties(command)

    assert len(command.splitlines()) == 1
    assert [name for name, _ in Runner().obeys(command)] == ["error"]
    assert set(read) <= {"title", "file", "line"}


def test_an_annotation_says_what_it_was_given() -> None:
    """Percent signs, colons and commas come out as they went in."""
    place = Place("skills/a,b:c/100%/evals.yaml", 7, "cases[0]")
    command = str(Annotation(Level.WARNING, "50%: a, b", "first: 100%\nsecond, ::x", place))

    assert properties(command) == (
        {"title": "50%: a, b", "file": "skills/a,b:c/100%/evals.yaml", "line": "7"},
        "first: 100%\nsecond, ::x",
    )


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (None, "::notice title=t::m"),
        (Place("a.yaml"), "::notice title=t,file=a.yaml::m"),
        (Place("/etc/passwd", 1), "::notice title=t::m"),
        (Place("../a.yaml", 1), "::notice title=t::m"),
        (Place("a\u202e.yaml", 1), "::notice title=t::m"),
        (Place("a\n::error::b", 1), "::notice title=t::m"),
    ],
)
def test_a_place_is_a_file_of_the_repository(place: Place | None, shown: str) -> None:
    """GitHub shows no other, and no name is more than it seems."""
    assert str(Annotation(Level.NOTICE, "t", "m", place)) == shown


def test_a_long_message_is_cut() -> None:
    """A whole answer belongs in the report."""
    command = str(Annotation(Level.ERROR, "x" * 500, ("y" * 500 + "\n") * 50))

    assert len(command) < 4_000
