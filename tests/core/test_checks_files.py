"""Checks that look at what a trial left in its working folder."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import TypeAdapter, ValidationError

from skill_delta.core.checks import AnyAssertion
from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.transcript import Transcript
from skill_delta.core.workspace import WorkspaceFile, WorkspaceFiles

ASSERTION: TypeAdapter[CheckSpec] = TypeAdapter(AnyAssertion)

LINK = WorkspaceFile(
    "link.md", 0, problem="it is a link, and no link is followed", is_regular=False
)
LEFT = WorkspaceFiles(
    (
        WorkspaceFile("data.json", 12, '{"total": 7}'),
        WorkspaceFile("empty.md", 0, ""),
        LINK,
        WorkspaceFile("out/one.csv", 4, "a,b\n"),
        WorkspaceFile("out/two.csv", 4, "a,b\n"),
        WorkspaceFile("picture.png", 9, problem="its content is not UTF-8 text"),
        WorkspaceFile("report.md", 17, "The total is 7.\n"),
    )
)


def check(kind: str, **fields: object) -> CheckSpec:
    return ASSERTION.validate_python({"kind": kind, **fields})


def judged(spec: CheckSpec, files: WorkspaceFiles | None = LEFT) -> tuple[bool | None, str]:
    """Of an answer that says nothing of what the files hold."""
    found = spec.grade(Transcript("Done.", files=files))
    return found.passed, found.evidence


HOLDS = [
    check("contains", file="report.md", value="total is 7"),
    check("contains", file="./report.md", value="total is 7"),
    check("contains", file_glob="*port.md", value="total"),
    check("contains", file_glob=["plan.md", "report.md"], value="total"),
    check("not_contains", file="report.md", value="Done"),
    check("icontains", file="report.md", value="TOTAL"),
    check("regex", file="report.md", value=r"\d\.$"),
    check("not_regex", file="report.md", value="Done"),
    check("equals", file="report.md", value="The total is 7."),
    check("equals", file="empty.md", value=""),
    check("any_of", file="report.md", values=["sum", "total"]),
    check("all_of", file="report.md", values=["7", "total"]),
    check("json-schema", file="data.json", json_schema={"required": ["total"]}),
    check("json-path", file="data.json", path="$.total", value=7),
    check("numeric", file="report.md", value=7),
    check("file-produced", file="report.md"),
    check("file-produced", file="picture.png"),
    check("file-produced", file_glob="re*.md"),
]


@pytest.mark.parametrize("spec", HOLDS, ids=lambda spec: type(spec).__name__)
def test_a_check_reads_the_file_it_names(spec: CheckSpec) -> None:
    """And not the output, whatever that says."""
    assert judged(spec)[0] is True


ASKED: Mapping[str, Mapping[str, object]] = {
    "contains": {"value": "x"},
    "not_contains": {"value": "x"},
    "icontains": {"value": "x"},
    "regex": {"value": "x"},
    "not_regex": {"value": "x"},
    "equals": {"value": ""},
    "any_of": {"values": ["x"]},
    "all_of": {"values": ["x"]},
    "json-schema": {"json_schema": {}},
    "json-path": {"path": "$"},
    "numeric": {"value": 0},
}
TEXTS = [check(kind, file="some.md", **fields) for kind, fields in ASKED.items()]


@pytest.mark.parametrize("spec", TEXTS, ids=lambda spec: type(spec).__name__)
@pytest.mark.parametrize(
    ("target", "why"),
    [
        (
            {"file": "gone.md"},
            "there is no file gone.md; the working folder holds data.json, empty",
        ),
        ({"file": "picture.png"}, "picture.png cannot be read: its content is not UTF-8 text"),
        ({"file": "link.md"}, "link.md cannot be read: it is a link"),
        ({"file": "out"}, "there is no file out"),
        ({"file_glob": "*.txt"}, "no file matches *.txt"),
        ({"file_glob": "li*.md"}, "no file matches"),
        (
            {"file_glob": "out/*.csv"},
            "2 files match out/*.csv, and exactly one should: out/one.csv",
        ),
    ],
)
def test_a_file_that_cannot_be_read_fails_whatever_is_asked(
    spec: CheckSpec, target: dict[str, str], why: str
) -> None:
    """`not_contains` included: what nobody could look at was not found to be clean."""
    asked = ASSERTION.validate_python(
        {**spec.model_dump(exclude_unset=True, exclude={"file"}), **target}
    )

    passed, evidence = judged(asked)

    assert passed is False
    assert why in evidence


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (None, "the trial had no working folder"),
        (WorkspaceFiles(), "the working folder is empty"),
        (WorkspaceFiles(problem="the working folder holds more than 1,000 entries"), "1,000"),
    ],
)
def test_a_folder_that_has_nothing_to_look_at_fails(files: WorkspaceFiles | None, why: str) -> None:
    """Even where nothing may be in it."""
    for spec in (check("not_contains", file="a", value="x"), check("file-produced", file="a")):
        passed, evidence = judged(spec, files)

        assert passed is False
        assert why in evidence


def test_a_link_is_no_file_that_was_produced() -> None:
    """It may lead anywhere."""
    assert judged(check("file-produced", file="link.md")) == (
        False,
        "expected the file link.md; it is a link, and no link is followed",
    )


def test_what_a_record_does_not_hold_is_not_evaluated() -> None:
    """A file that no check asked for was not kept: a new check of it can say nothing."""
    left = WorkspaceFiles((WorkspaceFile("report.md", 17),))

    assert judged(check("not_contains", file="report.md", value="x"), left) == (
        None,
        "the record does not hold what report.md was",
    )
    assert judged(check("file-produced", file="report.md"), left)[0] is True


@pytest.mark.parametrize(
    ("spec", "asks_for"),
    [
        (check("contains", value="x"), []),
        (check("contains", file="./report.md", value="x"), ["report.md"]),
        (
            check("contains", file_glob=["data.json", "*/two.csv"], value="x"),
            ["data.json", "out/two.csv"],
        ),
        (check("file-produced", file="report.md"), []),
    ],
)
def test_a_check_says_which_files_it_reads(spec: CheckSpec, asks_for: list[str]) -> None:
    """Only their text is kept."""
    assert [file.path for file in LEFT.files if spec.reads(file.path)] == asks_for


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "file-produced"},
        {"kind": "file-produced", "file": "a", "file_glob": "*"},
        {"kind": "file-produced", "file": "a", "value": "x"},
        {"kind": "contains", "value": "x", "file": "../a"},
        {"kind": "contains", "value": "x", "file_glob": "**"},
        {"kind": "contains", "value": "x", "file": "a", "file_glob": "*"},
    ],
)
def test_a_target_that_makes_no_sense_is_refused(fields: dict[str, object]) -> None:
    """When the file is read."""
    with pytest.raises(ValidationError):
        ASSERTION.validate_python(fields)


PATHS = {
    "$": {"a": [1, {"b c": None}], "é": 2},
    "$.a": [1, {"b c": None}],
    "$.a[0]": 1,
    "$.a[-2]": 1,
    "$['a'][1]['b c']": None,
    '$["a"][1]["b c"]': None,
    "$.é": 2,
}


@pytest.mark.parametrize(("path", "value"), PATHS.items(), ids=PATHS)
def test_a_path_leads_to_one_value(path: str, value: object) -> None:
    """By names and positions, as JSONPath spells them."""
    answer = Transcript('{"a": [1, {"b c": null}], "é": 2}')

    assert check("json-path", path=path).grade(answer).passed is True
    assert check("json-path", path=path, value=value).grade(answer).passed is True
    assert check("json-path", path=path, value="other").grade(answer).passed is False


@pytest.mark.parametrize("path", ["$.b", "$.a[2]", "$.a[-3]", "$.a.b", "$.a[0].b", "$['']", "$[0]"])
def test_nothing_at_a_path_fails(path: str) -> None:
    """Also where null is asked for."""
    answer = Transcript('{"a": [1, {"b c": null}], "é": 2}')

    assert "nothing at that path" in check("json-path", path=path).grade(answer).evidence
    assert check("json-path", path=path, value=None).grade(answer).passed is False


@pytest.mark.parametrize(
    ("value", "answer", "holds"),
    [
        (1, "1.0", True),
        (1, '"1"', False),
        (1, "true", False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
    ],
)
def test_values_are_compared_as_data(value: object, answer: str, holds: bool) -> None:
    """As `call_args` compares them under `equals`."""
    assert check("json-path", path="$", value=value).grade(Transcript(answer)).passed is holds


def test_what_is_no_json_has_no_path() -> None:
    """A fence around it makes it text."""
    assert check("json-path", path="$").grade(Transcript("```json\n1\n```")).passed is False


@pytest.mark.parametrize(
    "path",
    ["", "a", ".a", "$a", "$.", "$..a", "$.*", "$[*]", "$.a[?(@.b)]", "$[1:2]", "$[01]", "$['a"],
)
def test_a_path_that_may_lead_to_several_values_is_refused(path: str) -> None:
    """Which of them should be the one would be anyone's guess."""
    with pytest.raises(ValidationError):
        check("json-path", path=path)
