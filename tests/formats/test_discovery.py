"""Where eval files are found, and what is made of a file that is none."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from skill_delta.core.suite import Suite
from skill_delta.errors import UserError, UserErrors
from skill_delta.formats import FORMATS, read_suite
from source_files import InMemoryFiles

FOLDER = PurePosixPath("skills/greeting")


def a_file(case: str) -> str:
    return f'{{"cases": [{{"name": "{case}", "task": "t", "budget": {{"max_tokens": 1}}}}]}}'


def read(files: dict[str, str], *explicit: str) -> Suite | None:
    paths = {f"skills/greeting/{path}": text for path, text in files.items()}
    return read_suite("greeting", InMemoryFiles(paths), FOLDER, tuple(map(PurePosixPath, explicit)))


def names(suite: Suite | None) -> list[str]:
    assert suite is not None
    return [case.name for case in suite.cases]


def refused(files: dict[str, str], *explicit: str) -> str:
    with pytest.raises(UserErrors) as errors:
        read(files, *explicit)
    return str(errors.value)


def test_both_places_count() -> None:
    """The folder `evals/` first, then the files beside SKILL.md, each in order of its name."""
    suite = read(
        {
            "SKILL.md": "# Greeting",
            "z.eval.yaml": a_file("five"),
            "a.eval.yml": a_file("four"),
            "other.yaml": a_file("never"),
            "evals/b.yml": a_file("two"),
            "evals/a.yaml": a_file("one"),
            "evals/c.json": a_file("three"),
            "evals/deeper/d.yaml": a_file("never"),
            "evals/notes.md": "# Notes",
            "evals/replies.yaml": "replies: []",
            "evals/replies.yml": "replies: []",
        }
    )

    assert names(suite) == ["one", "two", "three", "four", "five"]
    assert suite is not None
    assert suite.notes == ()


@pytest.mark.parametrize("files", [{"SKILL.md": ""}, {"evals/replies.yaml": "replies: []"}])
def test_a_skill_without_eval_files_has_no_suite(files: dict[str, str]) -> None:
    """None is not a suite of no cases: the skill is skipped, and named."""
    assert read(files) is None


def test_files_that_are_named_take_the_place_of_what_is_found() -> None:
    """A file, or a folder."""
    files = {"evals/a.yaml": a_file("a"), "other/b.yaml": a_file("b"), "c.json": a_file("c")}

    assert names(read(files, "skills/greeting/c.json")) == ["c"]
    assert names(read(files, "skills/greeting/other", "skills/greeting/c.json")) == ["b", "c"]
    assert names(read(files, "skills/greeting/evals", "skills/greeting/evals/a.yaml")) == ["a"]


def test_a_named_file_that_is_not_there_is_an_error() -> None:
    """So is a folder without eval files."""
    files = {"docs/a.md": ""}

    assert "there is no such file" in refused(files, "skills/greeting/nope.yaml")
    with pytest.raises(UserError, match="there is no eval file in this folder"):
        read(files, "skills/greeting/docs")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("evals/fixture.json", '{"region": "north"}'),
        ("evals/fixture.json", "[1, 2]"),
        ("evals/rates.json", '{"base": "EUR", "data": []}'),
        ("evals/list.yaml", "- a\n- b\n"),
        ("evals/empty.yaml", ""),
        ("evals/text.yaml", "just text"),
    ],
)
def test_a_file_that_is_no_eval_file_is_named(path: str, text: str) -> None:
    """The run goes on with the others."""
    suite = read({path: text, "evals/z.yaml": a_file("z")})

    assert names(suite) == ["z"]
    assert suite is not None
    assert suite.notes == (f"skills/greeting/{path} is not an eval file",)


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ('{"skill_name": "x", "evals": []}', "evals.json"),
        ('[{"prompt": "a", "expected_output": "b"}]', "evals.json"),
        ('[{"query": "a", "should_trigger": true}]', "trigger list"),
        ('{"stimuli": []}', "Vally"),
        ('{"scenarios": []}', "skill-validator"),
        ('{"skill": "x", "tasks": ["a"]}', "waza"),
        ('{"tasks": [{"instruction": "a"}]}', "skillgrade"),
        ('{"prompts": [], "tests": []}', "promptfoo"),
    ],
)
def test_a_dialect_that_is_not_read_yet_is_named(text: str, dialect: str) -> None:
    """Never silently: the skill has no cases from it, and the report says why."""
    suite = read({"evals/evals.json": text})

    assert suite is not None
    assert suite.cases == ()
    (note,) = suite.notes
    assert note == (
        f"skills/greeting/evals/evals.json is in the dialect {dialect}, "
        "which this version of skill-delta does not read yet"
    )


@pytest.mark.parametrize("text", ["evals: []", "owner: me", "[]", ""])
def test_a_file_that_was_called_an_eval_file_has_to_be_one(text: str) -> None:
    """By its name, or by naming it on the command line."""
    assert "skills/greeting/x.eval.yaml: the file is " in refused({"x.eval.yaml": text})
    assert "skills/greeting/x.yaml: the file is " in refused(
        {"x.yaml": text}, "skills/greeting/x.yaml"
    )
    assert "evals/x.eval.yaml: the file is " in refused({"evals/x.eval.yaml": text})


@pytest.mark.parametrize("key", ["case", "caes", "Cases", "casses", "cases2"])
def test_a_slip_in_the_one_key_does_not_lose_a_skill_its_cases(key: str) -> None:
    """A skipped skill would be a green check."""
    told = refused({"evals/a.yaml": f"\n{key}:\n  - name: x\n"})

    assert f'skills/greeting/evals/a.yaml:2:1: {key}: there is no top-level key "{key}"' in told
    assert "did you mean cases?" in told


def test_a_broken_file_is_an_error_wherever_it_is_found() -> None:
    """It may have been meant as an eval file, and nobody can tell."""
    assert "evals/a.yaml:2:1: did not find" in refused(
        {"evals/a.yaml": "cases: [", "evals/b.yaml": a_file("b")}
    )


def test_a_case_name_is_unique_among_all_files_of_the_skill() -> None:
    """The error names both places."""
    told = refused({"evals/a.yaml": a_file("x"), "b.eval.yaml": a_file("x")})

    assert told == (
        'skills/greeting/b.eval.yaml:1:12: cases[0]: the case name "x" is already taken at '
        "skills/greeting/evals/a.yaml:1:12: cases[0]\n"
        "  help: results are compared by name: give each case of a skill its own"
    )


def test_the_problems_of_all_files_are_told_at_once() -> None:
    """Whatever is wrong with the first does not hide what is wrong with the second."""
    told = refused({"evals/a.yaml": "cases: 5", "evals/b.json": "{", "evals/c.yaml": "cases: [{}]"})

    assert [line.split(":")[0][-6:] for line in told.splitlines() if "help" not in line] == [
        *("a.yaml", "b.json", "c.yaml", "c.yaml"),
    ]


def test_the_notes_of_all_files_are_kept() -> None:
    """In the order of the files."""
    suite = read({"evals/a.yaml": "cases: []", "evals/b.json": "{}"})

    assert suite is not None
    assert suite.notes == (
        "skills/greeting/evals/a.yaml: it has no cases",
        "skills/greeting/evals/b.json is not an eval file",
    )


def test_every_dialect_is_known_by_its_own_key() -> None:
    """Two dialects of one key could not be told apart."""
    keys = [dialect.KEY for dialect in FORMATS.values()]

    assert len(set(keys)) == len(keys)
