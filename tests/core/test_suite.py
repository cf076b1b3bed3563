"""What a suite's cases demand of each other, of their tools and of the skill's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.text import Contains
from skill_delta.core.checks.tools import CallArgs, Called, Forbidden, MaxCalls, Order
from skill_delta.core.suite import (
    Case,
    Check,
    FixedReturn,
    LookupEntry,
    LookupReturn,
    MockTool,
    Mode,
    Returns,
    SequenceReturn,
    offered_name_collision,
    offered_tool_name,
    undeclared_tools,
)
from skill_delta.errors import Place


def a_case(*checks: CheckSpec, tools: tuple[str, ...] = (), mode: Mode = Mode.LOADED) -> Case:
    return Case(
        name="refund-request",
        task="I want a refund.",
        checks=tuple(Check(f"check[{i}]", spec) for i, spec in enumerate(checks)),
        place=Place("evals/a.yaml", 3, "cases[0]"),
        mode=mode,
        tools=tuple(MockTool(name, "", {"type": "object"}, FixedReturn("")) for name in tools),
    )


def test_checks_of_declared_tools_are_fine() -> None:
    """So are checks that watch no tool."""
    case = a_case(
        Called(tool="a"),
        Order(tools=("a", "b")),
        CallArgs(tool="b", equals={}),
        MaxCalls(limit=3),
        Contains(kind="contains", value="c"),
        tools=("a", "b"),
    )

    assert undeclared_tools(case) == ()


def test_a_check_of_a_tool_that_nobody_has_is_told() -> None:
    """It could never pass, or never fail; each of its tools is told once."""
    case = a_case(Forbidden(tool="refnd"), Order(tools=("a", "x", "x")), tools=("a", "refund"))

    first, second = undeclared_tools(case)

    assert str(first) == (
        'evals/a.yaml:3: cases[0].trajectory: the check check[0] names "refnd", which is no tool '
        'of the case "refund-request"\n  help: the case declares a, refund'
    )
    assert second.problem.startswith('the check check[1] names "x"')


@pytest.mark.parametrize(
    ("skill", "tool"),
    [
        ("order-support", "order_support"),
        ("café", "caf_"),
        ("Order Support 2", "Order_Support_2"),
        ("x" * 100, "x" * 64),
        ("3d-print", "skill_3d_print"),
        ("文書", "skill"),
    ],
)
def test_a_skill_is_offered_under_a_name_that_vendors_take(skill: str, tool: str) -> None:
    """Every character that is no ASCII letter, digit or `_` becomes `_`."""
    assert offered_tool_name(skill) == tool


@given(st.text())
def test_every_skill_name_gives_a_tool_name(skill: str) -> None:
    """No name is left without one."""
    assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", offered_tool_name(skill))


def test_an_offered_skill_and_a_tool_cannot_share_a_name() -> None:
    """The model could not tell them apart; under `loaded` nothing is offered."""
    offered = a_case(tools=("order_support",), mode=Mode.OFFERED)
    loaded = a_case(tools=("order_support",))

    collision = offered_name_collision(offered, "order-support")

    assert "has the name under which the skill" in str(collision)
    assert offered_name_collision(offered, "another-skill") is None
    assert offered_name_collision(loaded, "order-support") is None


# ---------------------------------------------------------------- fingerprints

JsonObject: TypeAlias = dict[str, JsonValue]

texts = st.text(max_size=3)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
mappings: st.SearchStrategy[JsonObject] = st.dictionaries(texts, values, max_size=3)
returns: st.SearchStrategy[Returns] = st.one_of(
    texts.map(FixedReturn),
    st.lists(texts, max_size=2).map(lambda answers: SequenceReturn(tuple(answers))),
    st.lists(st.builds(LookupEntry, st.none() | mappings, texts), max_size=2).map(
        lambda entries: LookupReturn(tuple(entries))
    ),
)
specs: st.SearchStrategy[CheckSpec] = st.one_of(
    st.builds(Contains, kind=st.just("contains"), value=texts),
    st.builds(Called, tool=texts),
    st.builds(Forbidden, tool=texts),
    st.builds(CallArgs, tool=st.just("a"), equals=mappings, every=st.booleans()),
)
cases = st.builds(
    Case,
    name=texts,
    task=texts,
    checks=st.lists(st.builds(Check, texts, specs), max_size=2).map(tuple),
    place=st.just(Place("evals/a.yaml")),
    mode=st.sampled_from(Mode),
    tools=st.lists(st.builds(MockTool, texts, texts, mappings, returns), max_size=2).map(tuple),
    tags=st.frozensets(texts, max_size=2),
)


def reordered(value: JsonValue) -> JsonValue:
    """The same value, with the keys of every mapping the other way round."""
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(each) for each in value] if isinstance(value, list) else value


def reordered_mapping(mapping: JsonObject) -> JsonObject:
    return {key: reordered(mapping[key]) for key in reversed(mapping)}


def a_tool(schema: JsonObject, when: JsonObject) -> MockTool:
    return MockTool("lookup", "", schema, LookupReturn((LookupEntry(when, "paid"),)))


@given(mappings, mappings, st.frozensets(texts, max_size=5))
def test_a_fingerprint_ignores_what_has_no_order(
    schema: JsonObject, when: JsonObject, tags: frozenset[str]
) -> None:
    """The keys of a schema, of arguments and of a check, and the tags, come in any order."""
    case = replace(a_case(CallArgs(tool="a", equals=when)), tools=(a_tool(schema, when),))
    turned = reordered_mapping(when)
    same = replace(
        a_case(CallArgs(tool="a", equals=turned)),
        tools=(a_tool(reordered_mapping(schema), turned),),
    )

    ours = replace(case, tags=tags).fingerprint

    assert ours == replace(same, tags=frozenset(reversed([*tags]))).fingerprint
    assert re.fullmatch("[0-9a-f]{64}", ours)


@given(cases, st.builds(Place, texts, st.integers(1, 9), texts))
def test_a_fingerprint_ignores_where_the_case_is_written(case: Case, elsewhere: Place) -> None:
    """A case that moved down the file, or to another, is the same case."""
    assert replace(case, place=elsewhere).fingerprint == case.fingerprint


def edits(case: Case) -> Iterator[Case]:
    """The case with one thing changed, for each thing it has."""
    yield replace(case, name=case.name + "!")
    yield replace(case, task=case.task + "!")
    yield replace(case, mode=Mode.LOADED if case.mode is Mode.OFFERED else Mode.OFFERED)
    yield replace(case, tags=case.tags ^ {"smoke"})
    yield replace(case, checks=(*case.checks, Check("x", MaxCalls(limit=1))))
    yield replace(case, tools=(*case.tools, a_tool({}, {})))
    for at, check in enumerate(case.checks):
        before, after = case.checks[:at], case.checks[at + 1 :]
        other = MaxCalls(limit=2)
        yield replace(case, checks=(*before, *after))
        yield replace(case, checks=(*before, replace(check, id=check.id + "!"), *after))
        yield replace(case, checks=(*before, replace(check, spec=other), *after))
    for at, tool in enumerate(case.tools):
        before_it, after_it = case.tools[:at], case.tools[at + 1 :]
        for edit in (
            replace(tool, name=tool.name + "!"),
            replace(tool, description=tool.description + "!"),
            replace(tool, input_schema={"the schema": tool.input_schema.get("the schema") is None}),
            replace(tool, returns=SequenceReturn(("a", "b", "c"))),
        ):
            yield replace(case, tools=(*before_it, edit, *after_it))


@given(cases)
def test_a_fingerprint_changes_with_anything_else(case: Case) -> None:
    """Whatever reaches a model, a check or the selection."""
    fingerprints = [case.fingerprint, *(edit.fingerprint for edit in edits(case))]

    assert fingerprints.count(case.fingerprint) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FixedReturn("a"), SequenceReturn(("a",))),
        (SequenceReturn(("a", "b")), SequenceReturn(("b", "a"))),
        (LookupReturn((LookupEntry(None, "a"),)), LookupReturn((LookupEntry({}, "a"),))),
        (
            LookupReturn((LookupEntry({"a": 1}, "a"),)),
            LookupReturn((LookupEntry({"a": True}, "a"),)),
        ),
    ],
)
def test_a_fingerprint_tells_how_a_tool_answers(one: Returns, other: Returns) -> None:
    """Even where Python calls two values equal, and where only the order differs."""
    tools = [MockTool("lookup", "", {"type": "object"}, each) for each in (one, other)]

    first, second = (replace(a_case(), tools=(tool,)).fingerprint for tool in tools)

    assert first != second


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Called(tool="a"), Forbidden(tool="a")),
        (CallArgs(tool="a", contains={"b": 1}), CallArgs(tool="a", equals={"b": 1})),
        (CallArgs(tool="a", equals={"b": 1}), CallArgs(tool="a", equals={"b": True})),
    ],
)
def test_a_fingerprint_tells_kinds_of_check_apart(one: CheckSpec, other: CheckSpec) -> None:
    """The same values ask for something else in another kind, or as another type."""
    assert a_case(one).fingerprint != a_case(other).fingerprint


def test_a_fingerprint_tells_a_character_from_its_halves() -> None:
    """JSON can spell half an emoji, which no encoding can write."""
    emoji, halves = "\U0001f600", "\ud83d\ude00"

    assert replace(a_case(), task=emoji).fingerprint != replace(a_case(), task=halves).fingerprint
