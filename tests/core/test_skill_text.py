"""SKILL.md is read leniently where a skill still loads, strictly where it would mislead."""

from __future__ import annotations

from pathlib import PurePosixPath
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.skill_text import ParsedSkill, parse_skill
from skill_delta.core.skills import unportable, withheld
from skill_delta.errors import Place, UserError

FILE = "skills/order-support/SKILL.md"

WELL_FORMED = """\
---
name: order-support
description: Answers questions about orders.
version: "1.2.0"
---
# Order support

Be kind.
"""


def parsed(text: str | bytes, folder: str = "order-support") -> ParsedSkill:
    raw = text if isinstance(text, bytes) else dedent(text).encode()
    return parse_skill(raw, file=FILE, folder_name=folder)


def with_fields(*lines: str) -> ParsedSkill:
    return parsed("\n".join(["---", "name: order-support", "description: d", *lines, "---", "x"]))


def refusal(text: str | bytes) -> UserError:
    with pytest.raises(UserError) as caught:
        parsed(text)
    return caught.value


# ---------------------------------------------------------------- a skill as it should be


def test_a_well_formed_skill_is_read_without_a_word() -> None:
    """Frontmatter and instructions are taken apart, and nothing is said."""
    read = parsed(WELL_FORMED)

    assert read.skill.name == "order-support"
    assert read.skill.description == "Answers questions about orders."
    assert read.skill.version == "1.2.0"
    assert read.skill.instructions == "# Order support\n\nBe kind."
    assert read.warnings == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf" + WELL_FORMED.encode(),
        WELL_FORMED.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + WELL_FORMED.replace("\n", "\r\n").encode(),
        WELL_FORMED.replace("---\n", "---  \n").encode(),
    ],
    ids=["byte-order mark", "Windows line ends", "both", "blanks after the fence"],
)
def test_the_editor_leaves_no_trace(raw: bytes) -> None:
    """However it was saved, it is the same skill."""
    assert parsed(raw) == parsed(WELL_FORMED)


def test_a_rule_in_the_instructions_is_not_a_fence() -> None:
    """Only the first closing line ends the frontmatter."""
    assert parsed(WELL_FORMED + "\n---\n\nMore.").skill.instructions.endswith("---\n\nMore.")


# ---------------------------------------------------------------- the version


@pytest.mark.parametrize(
    ("lines", "version"),
    [
        (['version: "1.20"'], "1.20"),
        (["version: 1.0.0"], "1.0.0"),
        (["version: v2"], "v2"),
        (["version: '2024-01-05'"], "2024-01-05"),
        (['metadata: {version: "3.1"}'], "3.1"),
        (['version: "1.0"', 'metadata: {version: "3.1"}'], "1.0"),
        (["version:", 'metadata: {version: "3.1"}'], "3.1"),
        (["version: ''"], None),
        (["version: '  '"], None),
        (["version:"], None),
        ([], None),
    ],
)
def test_the_version_is_text(lines: list[str], version: str | None) -> None:
    """`version`, else `metadata.version`; a blank one is none; none is fine."""
    read = with_fields(*lines)

    assert read.skill.version == version
    assert read.warnings == ()


@pytest.mark.parametrize(
    ("written", "spelling"),
    [
        ("version: 1.20", "1.20"),
        ("version: 2", "2"),
        ("version:   1.0   # first", "1.0"),
        ("version: 2024-01-05", "2024-01-05"),
        ("version: true", "true"),
        ("version: 0x10", "0x10"),
        ("version: 1_000", "1_000"),
        ('"version": 1.50', "1.50"),
    ],
)
def test_a_version_that_yaml_does_not_read_as_text_is_refused(written: str, spelling: str) -> None:
    """The message shows the quoted form with the very characters of the file."""
    error = refusal(f"---\nname: order-support\n{written}\n---\nx")

    assert f'`version: "{spelling}"`' in error.hint
    assert "1.2 and 1.20" in error.problem
    assert str(error.place) == "skills/order-support/SKILL.md:3:1: version"


@pytest.mark.parametrize("written", ["version: [1, 0]", "version: {major: 1}"])
def test_a_version_that_is_a_collection_is_refused(written: str) -> None:
    """There is no quoted form to show."""
    assert refusal(f"---\nname: a\n{written}\n---\nx").problem == "the version is not text"


@pytest.mark.parametrize("value", ["1.20", "2", "2024-01-05", "[1]", "true"])
def test_a_version_in_the_metadata_that_is_no_text_is_ignored(value: str) -> None:
    """With a warning: `metadata` belongs to other tools."""
    read = with_fields(f"metadata: {{version: {value}}}")

    assert read.skill.version is None
    assert "metadata.version is not text" in read.warnings[0]


# ---------------------------------------------------------------- read with a warning


def test_without_a_frontmatter_the_folder_gives_the_name() -> None:
    """The whole file is instructions."""
    read = parsed("# Just do it\n", folder="do-it")

    assert read.skill.name == "do-it"
    assert read.skill.description == ""
    assert read.skill.instructions == "# Just do it"
    assert "no frontmatter" in read.warnings[0]


def test_an_empty_frontmatter_names_after_the_folder() -> None:
    """It says nothing, which is said."""
    read = parsed("---\n---\nDo it.", folder="do-it")

    assert read.skill.name == "do-it"
    assert [warning.split(":")[0] for warning in read.warnings] == ["no name", "no description"]


@pytest.mark.parametrize(
    ("lines", "warning"),
    [
        (["model: opus", "context: fork"], "does not know: context, model"),
        (["allowed-tools: [Read, Bash]"], "allowed-tools is a list"),
        (["metadata: none"], "metadata is not a mapping"),
    ],
)
def test_what_the_specification_does_not_know_is_said(lines: list[str], warning: str) -> None:
    """The skill loads all the same."""
    assert warning in with_fields(*lines).warnings[0]


def test_a_name_that_is_not_the_folders_is_said() -> None:
    """The specification wants them to be the same."""
    read = parsed(WELL_FORMED, folder="orders")

    assert read.skill.name == "order-support"
    assert "not the folder's name 'orders'" in read.warnings[0]


@pytest.mark.parametrize(
    ("written", "name"), [("1.50", "1.50"), ("2024-01-05", "2024-01-05"), ("true", "true")]
)
def test_a_name_that_is_not_text_is_taken_as_it_is_spelled(written: str, name: str) -> None:
    """Leniently, with a warning."""
    read = parsed(f"---\nname: {written}\ndescription: d\n---\nx", folder=name)

    assert read.skill.name == name
    assert read.warnings == ("the name is not text: put it in quotes",)


def test_a_name_that_is_a_list_is_ignored() -> None:
    """The folder gives the name."""
    read = parsed("---\nname: [a]\ndescription: d\n---\nx", folder="a")

    assert read.skill.name == "a"
    assert read.warnings[0] == "the name is not text, and was ignored"


def test_a_long_description_is_kept_and_said() -> None:
    """1,024 characters pass without a word, one more does not."""
    short = parsed(f"---\nname: order-support\ndescription: {'x' * 1024}\n---\nx")
    long = parsed(f"---\nname: order-support\ndescription: {'x' * 1025}\n---\nx")

    assert short.warnings == ()
    assert len(long.skill.description) == 1025
    assert "1,025 characters" in long.warnings[0]


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ("description: Use when: orders", "Use when: orders"),
        ('description: Say "hi": then stop', 'Say "hi": then stop'),
        ("description: Use when:", "Use when:"),
        ("description: Use\n  when: now\n\n  or later", "Use when: now or later"),
    ],
)
def test_an_unquoted_colon_in_the_description_is_forgiven(written: str, description: str) -> None:
    """The value is read as if it were quoted, and what follows keeps its line."""
    text = f'---\nname: order-support\n{written}\nversion: "1"\n---\nx'
    read = parsed(text)

    assert read.skill.description == description
    assert read.skill.version == "1"
    assert "unquoted colon" in read.warnings[0]
    line = text.split("\n").index('version: "1"') + 1
    assert refusal(text.replace('"1"', "1")).place == Place(FILE, line, "version", 1)


def test_a_frontmatter_after_blank_lines_is_read_and_said() -> None:
    """Some runtimes would take the file to have none."""
    read = parsed("\n\n" + WELL_FORMED)

    assert read.skill == parsed(WELL_FORMED).skill
    assert "begins on line 3" in read.warnings[0]


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("", "the file is empty", None),
        (" \n\n", "the file is empty", None),
        ("---\nname: a\n", "the frontmatter is not closed", 1),
        ("---\n- a\n- b\n---\nx", "the frontmatter is not a mapping", 2),
        ("---\njust text\n---\nx", "the frontmatter is not a mapping", 2),
        ("---\nname: a\nname: b\n---\nx", "the key 'name' was already given on line 2", 3),
        ("---\nname: [\n---\nx", "did not find expected node content", 3),
        ("---\nname: a: b\n---\nx", "mapping values are not allowed", 2),
        ("---\na: &a {<<: *a}\n---\nx", "nest deeper", None),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(
    text: str, problem: str, line: int | None
) -> None:
    """Nothing is guessed: the author is told what and where."""
    error = refusal(text)

    assert problem in error.problem
    assert error.place is not None
    assert error.place.file == FILE
    assert error.place.line == line


@pytest.mark.parametrize("raw", [b"---\nname: caf\xe9\n---\nx", b"x" * (1024 * 1024 + 1)])
def test_bytes_that_are_no_text_are_refused(raw: bytes) -> None:
    """Not UTF-8, or over a mebibyte: the file is named."""
    assert FILE in str(refusal(raw))


fields = st.sampled_from(["name", "description", "version", "metadata", "allowed-tools", "x"])
values = st.text(alphabet="ab1.:-,?![]{}\"'|># \n", max_size=12)


@given(st.lists(st.tuples(fields, values), max_size=4), st.text(max_size=20))
def test_any_frontmatter_is_a_skill_or_a_user_error(
    pairs: list[tuple[str, str]], body: str
) -> None:
    """No SKILL.md that anyone writes ends in anything but a skill or a message."""
    frontmatter = "\n".join(f"{field}: {value}" for field, value in pairs)
    answer: ParsedSkill | UserError
    try:
        answer = parsed(f"---\n{frontmatter}\n---\n{body}".encode())
    except UserError as error:
        answer = error

    if isinstance(answer, UserError):
        assert answer.place is not None
    else:
        assert answer.skill.name
        assert answer.skill.version != ""


# ---------------------------------------------------------------- what a skill ships


@pytest.mark.parametrize(
    "path",
    [
        *("SKILL.md", "skill.md", "evals/a.yaml", "Evals/a.yaml", "scripts/evals/a.txt"),
        *("a.eval.yaml", "refs/b.EVAL.yml", "c.eval.json", "evals.json", "data/replies.yaml"),
        *(".git/config", ".GIT/config", "git~1/config", "sub/.git", ".hg/x", ".svn/x"),
        *("node_modules/a.js", ".venv/bin/python", "scripts/__pycache__/a.pyc"),
        *(".env", ".env.local", "scripts/.ENV", ".npmrc", ".netrc", ".pypirc"),
    ],
)
def test_answers_secrets_and_machinery_are_withheld(path: str) -> None:
    """At any depth and in any case: macOS and Windows open `Evals/` as `evals/`."""
    assert withheld(PurePosixPath(path))


@pytest.mark.parametrize(
    "path",
    [
        *("scripts/run.py", "reference.md", "assets/logo.png", "templates/SKILL.md"),
        *("evaluation.md", "eval.yaml", "environment.env.md", ".gitignore", "my.envrc"),
    ],
)
def test_everything_else_is_shipped(path: str) -> None:
    """What an install of the skill would copy."""
    assert not withheld(PurePosixPath(path))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("scripts/caf\udce9.py", "UTF-8"),
        ("a\\b.md", "backslash"),
        ("C:x", "colon"),
        ("a\nb.md", "control"),
        ("refs/AUX.md", "device"),
        ("nul", "device"),
    ],
)
def test_names_that_other_machines_misread_are_left_out(path: str, why: str) -> None:
    """Of both arms alike, and with the reason."""
    assert why in unportable(PurePosixPath(path))


@pytest.mark.parametrize("path", ["naïve file.md", "a'b\"c.md", "auxiliary.md", "日本/語.md"])
def test_names_in_any_language_are_shipped(path: str) -> None:
    """Blanks, quotes and other alphabets are fine."""
    assert unportable(PurePosixPath(path)) == ""
