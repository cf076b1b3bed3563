"""The checks that read the output as JSON, or as a number."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.schema import check_is_usable, violation
from skill_delta.core.checks.structure import JsonSchema, Numeric
from skill_delta.core.transcript import Transcript
from skill_delta.errors import TrialError

BOMB = "^(a|aa)+$"
SLOW = "a" * 60 + "!"

REPORT: dict[str, JsonValue] = {
    "type": "object",
    "required": ["total"],
    "properties": {"total": {"type": "integer"}, "regions": {"items": {"type": "string"}}},
}


def valid(schema: dict[str, JsonValue], answer: str) -> Finding:
    return JsonSchema(kind="json-schema", json_schema=schema).grade(Transcript(answer))


def near(answer: str, value: float, tolerance: float = 0) -> Finding:
    return Numeric(kind="numeric", value=value, tolerance=tolerance).grade(Transcript(answer))


def test_json_valid_by_the_schema_passes() -> None:
    """Blanks around the JSON do not matter."""
    assert valid(REPORT, ' {"total": 200}\n').passed is True


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ('{"total": "200"}', """found ["total"]: '200' is not of type 'integer'"""),
        ('{"regions": [1]}', "'total' is a required property"),
        ('{"total": 1, "regions": [1]}', """["regions"][0]: 1 is not of type 'string'"""),
        ('```json\n{"total": 200}\n```', "expected JSON; Expecting value"),
        ("", "the output is empty"),
        ('{"total": NaN}', "NaN is not JSON"),
        ("[" * 70 + "]" * 70, "it nests deeper than 64 levels"),
        ("[" * 100_000, "it nests too deeply"),
        ("1" * 5_000, "expected JSON"),
    ],
)
def test_what_breaks_the_schema_is_told(answer: str, why: str) -> None:
    """The evidence says where in the JSON, and how."""
    finding = valid(REPORT, answer)

    assert finding.passed is False
    assert why in finding.evidence
    assert finding.evidence.isprintable()
    assert len(finding.evidence) < 700


def test_a_huge_value_does_not_make_huge_evidence() -> None:
    """What is wrong stands at the end of the message, and stays."""
    evidence = valid({"type": "integer"}, json.dumps("x" * 50_000)).evidence

    assert len(evidence) < 400
    assert evidence.endswith("is not of type 'integer'")


def test_an_older_dialect_is_honoured() -> None:
    """In Draft 4 `exclusiveMinimum` is a boolean; in 2020-12 it is a number."""
    schema: dict[str, JsonValue] = {"minimum": 3, "exclusiveMinimum": True}
    draft4: dict[str, JsonValue] = {"$schema": "http://json-schema.org/draft-04/schema#"}

    assert valid({**draft4, **schema}, "3").passed is False
    with pytest.raises(ValidationError, match="no valid JSON Schema at exclusiveMinimum"):
        valid(schema, "3")


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "objekt"}, "it is no valid JSON Schema at type"),
        ({"$schema": "https://example.com/mine"}, "is no JSON Schema dialect known here"),
        ({"$ref": "https://example.com/schema.json"}, "leads out of it, and nothing is fetched"),
        ({"$ref": "other.json#/x"}, "leads out of it"),
        ({"$ref": "#/$defs/nowhere"}, "leads nowhere"),
        ({"allOf": [True], "$ref": "#/allOf/x"}, 'the reference "#/allOf/x" leads nowhere'),
        ({"allOf": [True], "$ref": "#/allOf/7"}, "leads nowhere"),
        ({"minimum": 5, "$ref": "#/minimum/x"}, "leads nowhere"),
        ({"title": "abc", "$ref": "#/title/x"}, "leads nowhere"),
        ({"title": "abc", "$ref": "#/title/0"}, "leads to no schema"),
        ({"default": None, "$ref": "#/default/x"}, "leads nowhere"),
        ({"const": {"type": 5}, "$ref": "#/const"}, "leads to no schema"),
        ({"part": {"type": 5}, "$ref": "#/part"}, "it is no valid JSON Schema at type"),
        ({"properties": {"x": {"$id": "x.json"}}}, "$id can only stand at its top"),
        ({"pattern": "("}, "the regular expression cannot be read"),
        ({"patternProperties": {"(": True}}, "the regular expression cannot be read"),
        ({"$ref": "#"}, "refers to itself without end"),
        (
            {"anyOf": [{"items": {}}, {"$ref": "#"}], "type": "null", "not": {"$ref": "#"}},
            "without",
        ),
        ({"enum": list(range(20_000))}, "it holds more than 10,000 values"),
        (
            {"unevaluatedProperties": False, "patternProperties": {"a": True}},
            "unevaluatedProperties cannot be used together with patternProperties",
        ),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_when_read(
    schema: dict[str, JsonValue], problem: str
) -> None:
    """Before any money is spent."""
    with pytest.raises(ValidationError) as refused:
        valid(schema, "{}")

    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "answer"),
    [
        ({"patternProperties": {BOMB: True}}, json.dumps({SLOW: 1})),
        ({"additionalProperties": False, "patternProperties": {BOMB: True}}, f'{{"{SLOW}": 1}}'),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "items": {"pattern": BOMB}},
            json.dumps([SLOW]),
        ),
    ],
)
def test_a_catastrophic_pattern_within_a_schema_loses_the_trial(
    schema: dict[str, JsonValue], answer: str
) -> None:
    """It is bounded in time wherever it stands, and the check is named."""
    with pytest.raises(TrialError, match=r"json-schema: regex .* took longer than 1 s"):
        valid(schema, answer)


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"anyOf": [{"pattern": "^(a|aa)+$"}, True]}},
        {"items": {"patternProperties": {"^(a|aa)+$": True}}},
        {"items": {"additionalProperties": True, "patternProperties": {"^(a|aa)+$": True}}},
    ],
)
def test_all_searches_of_a_schema_share_one_second(schema: dict[str, JsonValue]) -> None:
    """Forty values that take a tenth of a second each are four seconds."""
    text = "a" * 27 + "!"
    value: list[JsonValue] = [text, {text: 1}]
    spec = JsonSchema(kind="json-schema", json_schema=schema)

    with pytest.raises(TrialError, match=r"json-schema: regex .* took longer than 1 s"):
        spec.grade(Transcript(json.dumps(value * 40)))


def test_a_schema_of_doubling_references_is_bounded() -> None:
    """Forty lines can ask for a trillion steps."""
    doubling: dict[str, JsonValue] = {
        f"a{i}": {"items": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2}} for i in range(40)
    }
    schema: dict[str, JsonValue] = {
        "$defs": {**doubling, "a40": {"type": "null"}},
        "$ref": "#/$defs/a0",
    }

    with pytest.raises(TrialError, match="json-schema: the JSON Schema takes more than"):
        valid(schema, "[" * 40 + "]" * 40)


def test_a_reference_within_the_schema_is_followed() -> None:
    """A tree is a schema that refers to itself, one level further down."""
    tree: dict[str, JsonValue] = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#"}}},
        "additionalProperties": False,
    }

    assert valid(tree, '{"children": [{"children": []}]}').passed is True
    assert '["children"][0]: "name"' in valid(tree, '{"children": [{"name": 1}]}').evidence


def test_unique_items_counts_numbers_as_json_does() -> None:
    """1 and 1.0 are the same number; 1 and true are not the same value."""
    unique: dict[str, JsonValue] = {"uniqueItems": True}

    assert valid(unique, '[{"a": 1}, {"a": 1.0}]').passed is False
    assert valid(unique, '[1, true, "1", [1], {"a": 1}]').passed is True


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYWORDS = (
    *("$ref", "$defs", "$id", "$schema", "$anchor", "$dynamicRef", "type", "enum", "const"),
    *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
    *("items", "prefixItems", "contains", "minContains", "uniqueItems", "multipleOf", "minimum"),
    *("allOf", "anyOf", "not", "if", "then", "pattern", "required", "dependencies", "format"),
)
schema_values = st.recursive(
    st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(["#", "#/$defs/a", "string", "object", "a", "", "x.json"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=3)
        | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYWORDS), schema_values, max_size=4), json_values)
def test_any_schema_is_refused_or_answers(schema: dict[str, JsonValue], value: JsonValue) -> None:
    """Whatever an author writes and a model says, nothing but the two known errors is raised."""
    try:
        check_is_usable(schema)
    except ValueError:
        return
    with suppress(TrialError):
        violation(schema, value)


@pytest.mark.parametrize(
    ("answer", "value", "tolerance"),
    [
        ("42", 42, 0),
        ("The total is 1,234.50 USD.", 1234.5, 0),
        ("about 0.4", 0.3, 0.1),
        ("\N{MINUS SIGN}5 degrees", -5, 0),
        ("+5", 5, 0),
        ("order A1234 costs 7", 7, 0),
        ("v2: 10", 10, 0),
        (".5", 0.5, 0),
        ("6.02e23", 6.02e23, 0),
        ("100000000000000000000001", 100000000000000000000001, 0),
        ("$19.99", 20, 0.01),
        ("10-20", 10, 0),
        ("1,2,3", 1, 0),
    ],
)
def test_the_first_number_is_compared_decimally(
    answer: str, value: float, tolerance: float
) -> None:
    """The comparison is that of a person with pen and paper."""
    assert near(answer, value, tolerance).passed is True


@pytest.mark.parametrize(
    ("answer", "value", "evidence"),
    [
        ("of 42 orders, 7 are late", 7, 'expected 7; the first number is "42"'),
        ("100000000000000000000002", 100000000000000000000001, "the first number is"),
        ("none", 0, 'expected 0; found no number; the output is "none"'),
        ("", 0, "expected 0; found no number; the output is empty"),
        ("1e999999999999999999", 1, 'the first number is "1e999999999999999999"'),
        ("9" * 10_000, 1, "the first number is"),
        ("A1234", 1234, "found no number"),
    ],
)
def test_another_number_or_none_fails(answer: str, value: float, evidence: str) -> None:
    """The evidence says which number was taken for the answer."""
    finding = near(answer, value)

    assert finding.passed is False
    assert evidence in finding.evidence


@given(st.integers(), st.integers(0, 10**6))
def test_a_written_number_is_near_itself(value: int, tolerance: int) -> None:
    """However an integer is written, it is found again."""
    assert near(f"it is {value:,}.", value, tolerance).passed is True
    assert near(f"{value + tolerance + 1}", value, tolerance).passed is False


@given(st.text(alphabet="0123456789,.-+eE \N{MINUS SIGN}a"))
def test_any_output_is_searched_for_a_number(answer: str) -> None:
    """Nothing that looks like a number raises."""
    assert near(answer, 1, 0.5).passed in {True, False}


@pytest.mark.parametrize("value", ["3", True, None, float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_refused(value: object) -> None:
    """Text in quotation marks is not compared as a number."""
    with pytest.raises(ValidationError):
        Numeric.model_validate({"kind": "numeric", "value": value})
