"""The checks of which tools were called, and with what."""

from __future__ import annotations

import pytest
from pydantic import JsonValue, ValidationError

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.tools import (
    CallArgs,
    Called,
    Forbidden,
    MaxCalls,
    Order,
    SkillTriggered,
)
from skill_delta.core.transcript import ToolCall, Transcript
from skill_delta.errors import TrialError


def calls(*names: str) -> Transcript:
    return Transcript("done", tuple(ToolCall(name, {}) for name in names))


def call(**arguments: JsonValue) -> ToolCall:
    return ToolCall("lookup", arguments)


def with_args(*made: ToolCall) -> Transcript:
    return Transcript("done", made)


@pytest.mark.parametrize(
    ("spec", "transcript", "evidence"),
    [
        (Called(tool="lookup"), calls("a", "lookup"), "lookup was called"),
        (Forbidden(tool="refund"), calls("lookup"), "refund was not called"),
        (Order(tools=("a", "b")), calls("a", "x", "b", "a"), "the calls follow the order a → b"),
        (MaxCalls(limit=2), calls("a", "b"), "2 calls; at most 2"),
        (MaxCalls(limit=0), calls(), "0 calls; at most 0"),
        (
            SkillTriggered(expected=True),
            Transcript("", skill_triggered=True),
            "the skill was triggered",
        ),
        (
            SkillTriggered(expected=False),
            Transcript("", skill_triggered=False),
            "the skill was not triggered",
        ),
    ],
)
def test_what_holds_says_what_was_seen(
    spec: CheckSpec, transcript: Transcript, evidence: str
) -> None:
    """A pass has its evidence too."""
    finding = spec.grade(transcript)

    assert finding.passed is True
    assert finding.evidence == evidence


@pytest.mark.parametrize(
    ("spec", "transcript", "evidence"),
    [
        (Called(tool="lookup"), calls(), "expected a call to lookup; no tool was called"),
        (
            Called(tool="lookup"),
            calls("a", "b"),
            "expected a call to lookup; the calls were a, b",
        ),
        (
            Forbidden(tool="lookup"),
            with_args(call(id="1", all=True)),
            'expected no call to lookup; it was called with {"all": true, "id": "1"}',
        ),
        (
            Order(tools=("a", "b")),
            calls("b", "a"),
            "expected the order a → b; the calls were b, a",
        ),
        (Order(tools=("a", "a")), calls("a"), "expected the order a → a; the calls were a"),
        (
            MaxCalls(limit=1),
            calls("a", "b"),
            "expected at most 1 call, found 2; the calls were a, b",
        ),
        (
            SkillTriggered(expected=True),
            Transcript("", skill_triggered=False),
            "expected the skill to be triggered; it was not",
        ),
        (
            SkillTriggered(expected=False),
            Transcript("", skill_triggered=True),
            "expected the skill not to be triggered; it was",
        ),
    ],
)
def test_what_fails_says_what_was_expected_and_what_was_seen(
    spec: CheckSpec, transcript: Transcript, evidence: str
) -> None:
    """The reader need not open a transcript."""
    finding = spec.grade(transcript)

    assert finding.passed is False
    assert finding.evidence == evidence


def test_an_unseen_trigger_is_neither_triggered_nor_not() -> None:
    """Nobody looked: the trial is lost, and no negative control passes by it."""
    with pytest.raises(TrialError, match="skill_triggered"):
        SkillTriggered(expected=False).grade(Transcript(""))


@pytest.mark.parametrize(
    ("contains", "arguments", "holds"),
    [
        ({"id": "1"}, {"id": "1", "all": True}, True),
        ({"id": 1}, {"id": 1.0}, True),
        ({"id": "1"}, {"id": 1}, False),
        ({"id": 1}, {"id": True}, False),
        ({"id": None}, {}, False),
        ({"at": {"day": 1}}, {"at": {"day": 1, "month": 2}}, True),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, False),
        ({"tags": [{"a": 1}]}, {"tags": [{"a": 1, "b": 2}]}, True),
        ({"name": "ab"}, {"name": ["a", "b"]}, False),
    ],
)
def test_contains_matches_a_part_at_every_level(
    contains: dict[str, JsonValue], arguments: dict[str, JsonValue], holds: bool
) -> None:
    """Mappings by the keys named, lists element by element, nothing coerced."""
    spec = CallArgs(tool="lookup", contains=contains)

    assert spec.grade(with_args(ToolCall("lookup", arguments))).passed is holds


@pytest.mark.parametrize(
    ("equals", "arguments", "holds"),
    [
        ({"id": "1"}, {"id": "1"}, True),
        ({"id": "1"}, {"id": "1", "all": True}, False),
        ({"at": {"day": 1}}, {"at": {"day": 1, "month": 2}}, False),
        ({}, {}, True),
        ({}, {"id": "1"}, False),
    ],
)
def test_equals_matches_the_whole_at_every_level(
    equals: dict[str, JsonValue], arguments: dict[str, JsonValue], holds: bool
) -> None:
    """An argument nobody named breaks it."""
    spec = CallArgs(tool="lookup", equals=equals)

    assert spec.grade(with_args(ToolCall("lookup", arguments))).passed is holds


def test_one_matching_call_is_enough_unless_every_call_must() -> None:
    """`every` tells "it never fetched unfiltered" from "it filtered in the end"."""
    transcript = with_args(call(), call(status="open"), ToolCall("other", {}))
    wanted: dict[str, JsonValue] = {"status": "open"}

    once = CallArgs(tool="lookup", contains=wanted).grade(transcript)
    each = CallArgs(tool="lookup", contains=wanted, every=True).grade(transcript)

    assert once.evidence == '1 of 2 calls match: a call to lookup with {"status": "open"}'
    assert once.passed is True
    assert each.passed is False
    assert each.evidence == (
        'expected each call to lookup with {"status": "open"}; 1 of 2 do not match: {}'
    )


@pytest.mark.parametrize("every", [True, False])
def test_a_tool_that_was_never_called_fails(every: bool) -> None:
    """ "Every call matched" over no calls would be a pass that nobody verified."""
    finding = CallArgs(tool="lookup", equals={}, every=every).grade(calls("other"))

    assert finding.passed is False
    assert finding.evidence.endswith("it was never called")


@pytest.mark.parametrize(
    "fields",
    [{}, {"contains": {"a": 1}, "equals": {"a": 1}}, {"contains": {}}],
)
def test_call_args_expects_exactly_one_thing(fields: dict[str, object]) -> None:
    """Neither, both, and an empty `contains` are slips."""
    with pytest.raises(ValidationError):
        CallArgs.model_validate({"tool": "lookup", **fields})


def test_evidence_of_hostile_calls_is_one_bounded_line() -> None:
    """Names and arguments are the model's own text."""
    hostile = ToolCall("x\n\x1b[2J" * 200, {"a\nb": "\u202e" * 5_000})
    transcript = with_args(hostile, ToolCall("lookup", {"a\nb": "\u202e" * 5_000}))

    for spec in (Called(tool="b"), MaxCalls(limit=0), CallArgs(tool="lookup", equals={})):
        evidence = spec.grade(transcript).evidence
        assert evidence.isprintable()
        assert len(evidence) < 1_500
