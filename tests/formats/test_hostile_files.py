"""Whatever a pull request puts into an eval file, reading it ends, and ends in plain words."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from skill_delta.core.suite import Suite
from skill_delta.errors import UserError, UserErrors
from skill_delta.formats import read_suite
from source_files import SKILL, InMemoryFiles, problems_of, suite_of

NAMES = st.sampled_from(["a.yaml", "a.json", "a.eval.yaml"])

VALID: dict[str, JsonValue] = {
    "tool_libraries": ["lib.yaml"],
    "cases": [
        {
            "name": "x",
            "task": "t",
            "tags": ["a"],
            "mode": "offered",
            "tools": [
                {"name": "a", "parameters": {"id": "string"}, "returns": ["x", "y"]},
                {"name": "b", "input_schema": {"type": "object", "properties": {"id": {}}}},
                {"ref": "c", "returns": [{"when": {"id": "1"}, "value": "v"}, {"value": "w"}]},
            ],
            "assertions": [
                {"kind": "contains", "value": "x"},
                {"kind": "regex", "value": "^a+$"},
                {"kind": "any_of", "values": ["a", "b"]},
                {"kind": "numeric", "value": 5, "tolerance": 0.1},
                {"kind": "json-schema", "json_schema": {"type": "object"}},
            ],
            "trajectory": {
                "called": ["a"],
                "order": ["a", "b"],
                "max_calls": 3,
                "skill_triggered": True,
                "call_args": [{"tool": "a", "contains": {"id": 1}, "every": True}],
            },
            "budget": {"max_tokens": 5, "max_cost_usd": 0.5, "max_latency_ms": 5},
        }
    ],
}
LIBRARY = "tools: [{name: c, parameters: {id: string}}]"

WORDS = (
    *(
        "name",
        "task",
        "kind",
        "value",
        "values",
        "tools",
        "ref",
        "returns",
        "when",
        "cases",
        "mode",
    ),
    *(
        "contains",
        "regex",
        "type",
        "$ref",
        "#",
        "object",
        "loaded",
        "(",
        "TODO(skill-lens)",
        "",
        "é",
    ),
    *("tool_libraries", "..", "/", "json_schema", "properties", "sessions", "file", "numeric"),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(WORDS)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def read(raw: bytes | str, name: str) -> Suite | None:
    return suite_of(raw, name, lib=LIBRARY)


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode), NAMES)
def test_any_bytes_are_a_suite_or_an_error(raw: bytes, name: str) -> None:
    """Never another exception, and never a traceback."""
    with suppress(UserError):
        read(raw, name)


@settings(deadline=None)
@given(json_values, NAMES)
def test_any_cases_are_a_suite_or_an_error(cases: JsonValue, name: str) -> None:
    """Also where the file is well-formed."""
    with suppress(UserError):
        read(json.dumps({"cases": cases}), name)


@st.composite
def mutations(draw: st.DrawFn) -> JsonValue:
    """The valid file with one value, anywhere in it, replaced, dropped or doubled."""
    root: JsonValue = json.loads(json.dumps(VALID))
    holder = root
    while True:
        steps = list(holder) if isinstance(holder, dict) else range(len(holder))  # type: ignore[arg-type]
        step = draw(st.sampled_from(steps))
        inner = holder[step]  # type: ignore[index, call-overload]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 3)) == 0:
            break
        holder = inner
    match draw(st.sampled_from(["replace", "drop", "add"])):
        case "replace":
            holder[step] = draw(json_values)  # type: ignore[index, call-overload]
        case "drop":
            del holder[step]  # type: ignore[union-attr, arg-type]
        case _ if isinstance(holder, dict):
            holder[draw(st.sampled_from(WORDS))] = draw(json_values)
        case _:
            holder.append(inner)  # type: ignore[union-attr]
    return root


@settings(max_examples=300, deadline=None)
@given(mutations(), st.booleans())
def test_a_mutated_suite_is_a_suite_or_an_error_with_a_place(
    mutated: JsonValue, as_yaml: bool
) -> None:
    """Every problem says in which file it is, and on which line."""
    text = yaml.safe_dump(mutated, allow_unicode=True) if as_yaml else json.dumps(mutated)
    try:
        read(text, "a.yaml" if as_yaml else "a.json")
    except UserErrors as errors:
        for error in errors.errors:
            assert error.place is not None
            assert error.place.file.startswith("skills/order-support/evals/")
            assert len(str(error)) < 2_000
            assert str(error).replace("\n  help: ", "").isprintable()


def test_the_file_that_is_mutated_is_valid() -> None:
    """Else the mutations would all be of a broken file."""
    suite = read(json.dumps(VALID), "a.json")

    assert suite is not None
    assert len(suite.cases[0].checks) == 13


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"cases: []\n#" + b" " * 2_000_000, "bytes; at most"),
        ("cases: " + "[" * 50_000, "nesting depth"),
        ("cases: " + "[" * 70 + "]" * 70, "nest deeper than"),
        ("cases: " + "{a: " * 5_000, "nesting depth"),
        ("cases: &a [*a]", "nest deeper than"),
        ("cases:\n- &a {name: x, <<: *a}", "nest deeper than"),
        ("cases: []\n---\ncases: []", "it holds several documents"),
        ("? [a]\n: b\ncases: []", "a key must be plain text"),
        ("cases: [\x00]", "control characters are not allowed"),
        (b"\xff\xfec\x00a\x00", "is not UTF-8"),
    ],
)
def test_a_bomb_is_refused_in_plain_words(text: str | bytes, problem: str) -> None:
    """Size, depth and expansion are bounded before anything is made of the file."""
    assert problem in "\n".join(problems_of(text))


def test_the_billion_laughs_are_refused() -> None:
    """Nine lines that would expand to a billion values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 10)]

    assert "expands to more than" in "\n".join(problems_of("\n".join([*lines, "cases: *a9"])))


def test_a_key_as_long_as_the_file_does_not_fill_the_log() -> None:
    """What is wrong is told in a line that a person can read."""
    (told,) = problems_of(f"cases: [{{name: x, task: t, ? {'k' * 500_000} : 1}}]")

    assert len(told) < 1_000


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
@pytest.mark.parametrize(
    "case",
    [
        {"KEY": 1},
        {"tools": [{"name": "a", "parameters": {"KEY": "KEY"}}]},
        {"assertions": [{"kind": "KEY"}]},
        {"assertions": [{"kind": "contains", "value": "a", "KEY": "b"}]},
        {"assertions": [{"kind": "regex", "value": "(?P<KEY"}]},
        {"assertions": [{"kind": "json-schema", "json_schema": {"KEY": {}, "$ref": "#/KEY/KEY"}}]},
        {"trajectory": {"KEY": 1}},
        {"mode": "KEY"},
    ],
)
def test_no_word_of_the_file_gets_a_line_of_its_own(case: dict[str, JsonValue], name: str) -> None:
    """A key with a line break would otherwise speak to whoever reads the log."""
    text = json.dumps({"cases": [{"name": "x", "task": "t", **case}]})
    hostile = json.dumps("k\n::error::\u202e\x1b[1m" + "k" * 500)[1:-1]

    told = problems_of(text.replace("KEY", hostile), name)

    assert told
    for problem in told:
        assert problem.replace("\n  help: ", " ").isprintable()
        assert len(problem) < 1_000


def test_a_file_of_thousands_of_cases_is_read() -> None:
    """And its notes are counted, not all told."""
    suite = suite_of("cases:\n" + "".join(f"- {{name: c{i}, task: t}}\n" for i in range(3_000)))

    assert len(suite.cases) == 3_000
    assert len(suite.notes) == 51
    assert suite.notes[-1].endswith("and 2,950 more notes")


def test_a_file_that_cannot_be_read_is_one_of_the_errors() -> None:
    """It does not hide what is wrong with the others."""

    class Unreadable(InMemoryFiles):
        def read(self, path: object) -> bytes:
            raise UserError(f"{path} is a link out of the repository")

    files = Unreadable({f"{SKILL}/evals/a.yaml": "", f"{SKILL}/evals/b.yaml": ""})
    with pytest.raises(UserErrors, match=r"a\.yaml is a link[^\n]*\n.*b\.yaml is a link"):
        read_suite("x", files, SKILL)
