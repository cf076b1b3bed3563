"""JSON files: read strictly, with the line of every value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.documents import MAX_DEPTH, DocumentError
from skill_delta.formats.json_document import read_json
from source_files import problems_of, suite_of

TEXT = """\
{
\t"cases": [
\t\t{"name": "x", "task": "\\ud83d\\ude42 \\/",
\t\t "budget": {
\t\t\t"max_tokens": 5}}
\t]
}
"""


def refused(text: str | bytes) -> str:
    with pytest.raises(DocumentError) as error:
        read_json(text if isinstance(text, bytes) else text.encode(), "a.json")
    return str(error.value)


def test_a_json_eval_file_is_an_eval_file() -> None:
    """Tabs, escaped slashes and escaped emoji are JSON, though not all of them are YAML."""
    (case,) = suite_of(TEXT, "a.json").cases

    assert (case.name, case.task) == ("x", "🙂 /")
    assert case.place.line == 3


def test_every_value_has_its_line() -> None:
    """Of a mapping's entry it is the line of the key."""
    document = read_json(TEXT.encode(), "a.json")

    assert document.place(("cases",)).line == 2
    assert document.place(("cases", 0, "task")).line == 3
    assert document.place(("cases", 0, "budget", "max_tokens")).line == 5
    assert str(document.place(("cases", 0, "nope"))) == "a.json:3:3: cases[0].nope"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"cases": [],}', "a.json:1:14: "),
        ('{\n  "cases": [1, 2,]\n}', "a.json:2:18: "),
        ('{"cases": [] // all\n}', "a.json:1:14: expecting ',' delimiter"),
        (
            "{'cases': []}",
            "a.json:1:2: expecting property name enclosed in double",
        ),
        ("cases: []", "a.json:1:1: expecting value"),
        ("", "a.json:1:1: expecting value"),
        ('{"a": "\n"}', "a.json:1:8: invalid control character"),
        ('{"a": 1} {}', "a.json:1:10: extra data"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": 1e999}', "1e999 is not a finite number"),
        ('{"a": ' + "1" * 5_000 + "}", "a number is too large"),
        ('{\n"a": 1,\n"a": 2}', 'a.json:3:1: a: the key "a" was already given on line 2'),
        ('{"a": {"\\u0061": 1, "a": 2}}', 'a.json:1:21: a.a: the key "a" was already given'),
        ('{\n"a": "\\ud800"}', "a.json:2:6: a: an escape names half a character"),
        ('{"\\udc00": 1}', "an escape names half a character"),
        ("[" * 100 + "]" * 100, f"values nest deeper than {MAX_DEPTH} levels"),
        ("[" * 100_000, f"values nest deeper than {MAX_DEPTH} levels"),
        ("[" + "1," * 250_000 + "1]", "it holds more than 200,000 values"),
        (b'{"a": "\xff"}', "a.json:1:8: byte 0xff is not UTF-8"),
        (b" " * 2_000_000, "the file has 2,000,000 bytes"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(text: str | bytes, problem: str) -> None:
    """YAML would have read some of these, each in its own way."""
    assert problem in refused(text)


def test_a_slip_in_a_json_eval_file_stops_the_run() -> None:
    """It is told like every other problem."""
    (told,) = problems_of('{"cases": [],}', "a.json")

    assert "a.json:1:" in told


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(json_values, st.sampled_from([None, 1]), st.booleans())
def test_what_python_writes_is_read_back(value: object, indent: int | None, ascii_: bool) -> None:
    """Every JSON value, however it is laid out."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)

    assert read_json(text.encode(), "a.json").value == value


@given(st.dictionaries(st.text(), st.lists(st.integers(), max_size=3), min_size=1))
def test_lines_are_those_of_the_text(value: dict[str, list[int]]) -> None:
    """Written with one value a line, every value's line can be counted."""
    text = json.dumps(value, indent=1)
    document = read_json(text.encode(), "a.json")

    line = 1
    for key, items in value.items():
        line += 1
        assert document.place((key,)).line == line
        for position in range(len(items)):
            line += 1
            assert document.place((key, position)).line == line
        line += 1 if items else 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n "é": [1, NaN]}', "a.json:2:11: NaN is not JSON"),
        ('{"a": [-1, "1e999", 1e999]}', "a.json:1:21: 1e999 is not a finite number"),
        (f'{{"a":\n  {"9" * 5_000}}}', "a.json:2:3: a number is too large"),
    ],
)
def test_a_number_that_cannot_be_read_is_told_with_its_place(text: str, place: str) -> None:
    """What looks like one in a text is none."""
    assert refused(text) == place
