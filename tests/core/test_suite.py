"""What a suite's cases demand of each other, of their tools and of the skill's name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.text import Contains
from skill_delta.core.checks.tools import CallArgs, Called, Forbidden, MaxCalls, Order
from skill_delta.core.suite import (
    Case,
    Check,
    FixedReturn,
    MockTool,
    Mode,
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
