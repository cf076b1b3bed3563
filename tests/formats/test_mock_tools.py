"""Mock tools: what the model is shown, what it is answered, and what is wrong with them."""

from __future__ import annotations

import pytest

from skill_delta.core.suite import MockTool
from source_files import problems_of, suite_of


def with_tool(declaration: str) -> str:
    return (
        f"cases:\n  - name: x\n    task: t\n    tools:\n      - {{name: lookup, {declaration}}}\n"
    )


def the_tool(declaration: str) -> MockTool:
    (case,) = suite_of(with_tool(declaration)).cases
    (tool,) = case.tools
    return tool


def answers(tool: MockTool, *calls: dict[str, str]) -> list[str]:
    return [tool.returns.answer(tool.name, call, position) for position, call in enumerate(calls)]


def test_parameters_are_a_closed_schema() -> None:
    """Every argument is required and no other allowed: the author wrote every one."""
    tool = the_tool("description: Look it up, parameters: {id: string, all: boolean}")

    assert tool.description == "Look it up"
    assert tool.input_schema == {
        "type": "object",
        "properties": {"id": {"type": "string"}, "all": {"type": "boolean"}},
        "required": ["id", "all"],
        "additionalProperties": False,
    }


def test_a_tool_without_parameters_takes_none() -> None:
    """Closed as well."""
    assert the_tool("returns: ok").input_schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def test_an_input_schema_is_shown_as_it_stands() -> None:
    """Whatever it says, nothing is added: it stands in for a real server's tool."""
    tool = the_tool(
        "input_schema: {type: object, properties: {q: {$ref: 'https://example.com/q'}}, x-a: [1]}"
    )

    assert tool.input_schema == {
        "type": "object",
        "properties": {"q": {"$ref": "https://example.com/q"}},
        "x-a": [1],
    }


def test_one_text_answers_every_call() -> None:
    """And without one, the answer is empty."""
    assert answers(the_tool("returns: ok"), {}, {"id": "1"}) == ["ok", "ok"]
    assert answers(the_tool("description: d"), {}) == [""]


def test_a_list_answers_call_by_call_and_the_last_repeats() -> None:
    """A job that is done stays done."""
    assert answers(the_tool("returns: [running, done]"), {}, {}, {}) == ["running", "done", "done"]


def test_a_lookup_answers_by_the_arguments() -> None:
    """The first entry whose `when` is a part of the arguments; else nothing is scripted."""
    by_id = "{when: {id: '1'}, value: one}, {when: {id: '2'}, value: two}"
    tool = the_tool(f"parameters: {{id: string}}, returns: [{by_id}]")
    with_fallback = the_tool(f"parameters: {{id: string}}, returns: [{by_id}, {{value: none}}]")

    assert answers(tool, {"id": "2", "x": "y"}, {"id": "1"}, {"id": "3"}) == [
        "two",
        "one",
        'no response is scripted for lookup with arguments {"id": "3"}',
    ]
    assert answers(with_fallback, {"id": "3"}) == ["none"]


OPEN = "input_schema: {type: object}"
MANY = ", ".join(f"{{when: {{a: {i}}}, value: v}}" for i in range(501))
NARROWER = "{when: {a: {b: 1, c: 2}, d: 3}, value: b}"
CLOSED = "input_schema: {type: object, properties: {id: {}}, additionalProperties: false}"


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("parameters: {id: strng}", "cases[0].tools[0].parameters.id: the text"),
        ("parameters: {id: string}, input_schema: {type: object}", "it takes one of them"),
        ("input_schema: {type: 5}", "input_schema: it is no valid JSON Schema at type"),
        ("input_schema: {}", "its top level is not of type object"),
        ("input_schema: {type: string}", "its top level is not of type object"),
        ("returns: 5", "tools[0].returns: the number 5 stands where text is wanted"),
        ("returns: [5]", "tools[0].returns[0]: the number 5 stands where text is wanted"),
        ("returns: []", "it is neither one text, nor a list of texts"),
        ("returns: [a, {value: b}]", "it is neither one text, nor a list of texts"),
        ("returns: [{wen: {}, value: b}]", "tools[0].returns[0].wen: there is no field"),
        ("returns: [{when: {a: 1}}]", "tools[0].returns[0]: exactly one of value and error"),
        ("paramters: {}", "did you mean parameters?"),
        (f"{OPEN}, returns: [{{when: {{}}, value: a}}]", "returns[0].when: it names no argument"),
        ("returns: [{when: {id: 1}, value: a}]", "help: the tool declares no arguments"),
        (f"{CLOSED}, returns: [{{when: {{ID: 1}}, value: a}}]", "help: the tool declares id"),
        (f"{OPEN}, returns: [{MANY}]", "returns: it has more than 500 answers by argument"),
        (
            "returns: [{value: a}, {value: b}]",
            "tools[0].returns[1]: it never answers: returns[0] answers every call that it would",
        ),
        (
            f"{OPEN}, returns: [{{value: a}}, {{when: {{id: 1}}, value: b}}]",
            "returns[1]: it never answers",
        ),
        (
            f"{OPEN}, returns: [{{when: {{a: 1}}, value: a}}, {{when: {{a: 1.0}}, value: b}}]",
            "returns[1]: it never answers",
        ),
        (
            f"{OPEN}, returns: [{{when: {{a: {{b: 1}}}}, value: a}}, {NARROWER}]",
            "returns[1]: it never answers",
        ),
    ],
)
def test_a_tool_that_cannot_work_is_refused(declaration: str, problem: str) -> None:
    """An answer that no call can ever get is a slip, not a scenario."""
    (told,) = problems_of(with_tool(declaration))

    assert problem in told


@pytest.mark.parametrize(
    "returns",
    [
        "{when: {a: 1, b: 2}, value: a}, {when: {a: 1}, value: b}, {value: c}",
        "{when: {a: 1}, value: a}, {when: {a: '1'}, value: b}, {when: {a: true}, value: c}",
        "{when: {a: [1]}, value: a}, {when: {a: [1, 2]}, value: b}",
    ],
)
def test_answers_that_can_all_be_given_are_fine(returns: str) -> None:
    """The narrower above the wider; values of different types; an open schema takes any name."""
    assert len(the_tool(f"{OPEN}, returns: [{returns}]").returns.entries)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["a b", "", "é", "x" * 65, "a.b"])
def test_a_name_that_vendors_refuse_is_refused(name: str) -> None:
    """It is never rewritten: the skill's text names it as it is."""
    (told,) = problems_of(f"cases: [{{name: x, task: t, tools: [{{name: '{name}'}}]}}]")

    assert "cases[0].tools[0].name: " in told


def test_one_name_is_one_tool() -> None:
    """The error names both places."""
    (told,) = problems_of(
        "cases:\n- name: x\n  task: t\n  tools:\n  - name: a\n  - name: b\n  - name: a\n"
    )

    assert told == (
        "7: cases[0].tools[2]: the tool a is already declared at "
        "skills/order-support/evals/a.yaml:5: cases[0].tools[0]"
    )


def test_a_tool_cannot_have_the_name_that_the_skill_is_offered_under() -> None:
    """Only where the skill is offered."""
    tools = "task: t, tools: [{name: order_support}]"

    (told,) = problems_of(f"cases: [{{name: x, mode: offered, {tools}}}]")

    assert "has the name under which the skill" in told
    assert suite_of(f"cases: [{{name: x, {tools}}}]").cases
