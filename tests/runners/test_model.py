"""Driving a bare model: the prompt, the tool loop, and what is left when it gives out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from conversations import ORDER_SUPPORT, TASK, a_tool, a_trial_of, run_trial
from skill_delta.core.conversation import (
    Completion,
    Conversation,
    ModelTurn,
    RequestedCall,
    ToolTurn,
    UserTurn,
)
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import (
    FixedReturn,
    LookupEntry,
    LookupReturn,
    Mode,
    Returns,
    SequenceReturn,
)
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Role, Trial
from skill_delta.errors import TrialError
from skill_delta.runners.model import MAX_REQUESTS, ModelRunner

Behaviour = Callable[[Conversation], Completion]


class FakeModel:
    """A model at the port: says what the test says, and remembers what it was told."""

    def __init__(self, behaviour: Behaviour | Sequence[Completion | TrialError]) -> None:
        self._behaviour = behaviour
        self.told: list[Conversation] = []
        self.closed = False

    async def complete(self, conversation: Conversation) -> Completion:
        self.told.append(conversation)
        if callable(self._behaviour):
            return self._behaviour(conversation)
        said = self._behaviour[len(self.told) - 1]
        if isinstance(said, TrialError):
            raise said
        return said

    async def close(self) -> None:
        self.closed = True


def calls(*wanted: RequestedCall, text: str = "") -> Completion:
    return Completion(text, wanted, cost_usd=0.0)


def call(name: str, **arguments: JsonValue) -> RequestedCall:
    return RequestedCall("id", name, arguments)


def run(model: FakeModel, trial: Trial) -> Transcript:
    return run_trial(ModelRunner("openai", model, costs_money=True), trial)


def test_the_model_is_told_the_skill_and_the_task() -> None:
    """The answer is what the model says to them."""
    model = FakeModel([Completion("Order 1234 is refunded.")])

    transcript = run(model, a_trial_of())

    assert transcript.answer == "Order 1234 is refunded."
    assert transcript.skill_triggered is None
    assert model.told[0].system.startswith("# order-support\n\n")
    assert model.told[0].turns == (UserTurn(TASK),)
    assert model.told[0].tools == ()


CASES: Mapping[str, tuple[Returns, Sequence[str]]] = {
    "one text": (FixedReturn("shipped"), ["shipped", "shipped", "shipped"]),
    "one per call": (SequenceReturn(("packed", "shipped")), ["packed", "shipped", "shipped"]),
    "by arguments": (
        LookupReturn((LookupEntry({"order_id": "2"}, "lost"), LookupEntry(None, "shipped"))),
        ["shipped", "lost", "shipped"],
    ),
}


@pytest.mark.parametrize(("returns", "answers"), CASES.values(), ids=CASES)
def test_mock_tools_answer_as_the_case_says(returns: Returns, answers: Sequence[str]) -> None:
    """Each shape of `returns` answers the trial's first, second and third call."""
    orders = ["1", "2", "3"]
    model = FakeModel(
        [*(calls(call("lookup_order", order_id=order)) for order in orders), Completion("Done.")]
    )

    transcript = run(model, a_trial_of(tools=[a_tool(returns=returns)]))

    assert transcript.tool_calls == tuple(
        ToolCall("lookup_order", {"order_id": order}, answer)
        for order, answer in zip(orders, answers, strict=True)
    )
    assert transcript.answer == "Done."


def test_calls_of_one_turn_are_answered_in_order() -> None:
    """Each tool counts its own calls, and the model reads the answers in the order it asked."""
    status = a_tool("status", SequenceReturn(("first", "second")))
    price = a_tool("price", SequenceReturn(("10", "20")))
    asked = (call("status"), call("price"), call("status"))
    model = FakeModel([calls(*asked, text="Let me look."), Completion("Done.")])

    transcript = run(model, a_trial_of(tools=[status, price]))

    assert [made.answer for made in transcript.tool_calls] == ["first", "10", "second"]
    assert model.told[1].turns == (
        UserTurn(TASK),
        ModelTurn("Let me look.", asked),
        ToolTurn(asked[0], "first"),
        ToolTurn(asked[1], "10"),
        ToolTurn(asked[2], "second"),
    )


def test_calls_are_counted_per_trial() -> None:
    """A second trial starts with a tool's first answer again."""
    tool = a_tool(returns=SequenceReturn(("first", "second")))
    model = FakeModel(
        [calls(call("lookup_order")), Completion("a"), calls(call("lookup_order")), Completion("b")]
    )
    trial = a_trial_of(tools=[tool])

    assert run(model, trial).tool_calls == run(model, trial).tool_calls


def test_a_tool_that_does_not_exist_is_answered_as_such() -> None:
    """The model invented it: the call counts, and the trial goes on."""
    model = FakeModel([calls(call("delete_order", order_id="1")), Completion("Sorry.")])

    transcript = run(model, a_trial_of(tools=[a_tool()]))

    [made] = transcript.tool_calls
    assert (made.name, made.arguments) == ("delete_order", {"order_id": "1"})
    assert made.answer == 'Error: there is no tool named "delete_order". Tools: lookup_order.'
    assert transcript.answer == "Sorry."


def test_arguments_that_are_no_object_are_answered_as_such() -> None:
    """The call is recorded as it was sent, and uses up none of the tool's answers."""
    broken = RequestedCall("id", "lookup_order", None, raw='{"order_id": "12')
    tool = a_tool(returns=SequenceReturn(("first", "second")))
    model = FakeModel(
        [calls(broken), calls(call("lookup_order", order_id="1")), Completion("Done.")]
    )

    transcript = run(model, a_trial_of(tools=[tool]))

    assert transcript.tool_calls == (
        ToolCall(
            "lookup_order",
            {"_raw": '{"order_id": "12'},
            "Error: the arguments of lookup_order must be one JSON object.",
        ),
        ToolCall("lookup_order", {"order_id": "1"}, "first"),
    )


def test_a_model_that_never_stops_calling_is_scored_on_what_it_said() -> None:
    """The skill may be the cause, so it is a result and not a lost trial."""

    def forever(conversation: Conversation) -> Completion:
        first = len(conversation.turns) == 1
        return calls(call("lookup_order"), text="Looking." if first else "")

    model = FakeModel(forever)

    transcript = run(model, a_trial_of(tools=[a_tool()]))

    assert len(model.told) == MAX_REQUESTS == 50
    assert transcript.answer == "Looking."
    assert len(transcript.tool_calls) == MAX_REQUESTS


def test_what_a_trial_costs_is_the_sum_of_its_requests() -> None:
    """Tokens, money and time of every request, the last included."""
    model = FakeModel(
        [
            Completion("", (call("lookup_order"),), Usage(100, 10), 0.25, 40.0),
            Completion("Done.", (), Usage(200, 20), 0.5, 60.0),
        ]
    )

    transcript = run(model, a_trial_of(tools=[a_tool()]))

    assert transcript.usage == Usage(300, 30)
    assert transcript.cost_usd == pytest.approx(0.75)
    assert transcript.latency_ms == pytest.approx(100.0)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    """Half a price would read as a whole one."""
    model = FakeModel(
        [Completion("", (call("lookup_order"),), cost_usd=0.25), Completion("Done.", cost_usd=None)]
    )

    assert run(model, a_trial_of(tools=[a_tool()])).cost_usd is None


def test_what_was_spent_before_a_trial_was_lost_is_not_lost() -> None:
    """Ceilings count what lost trials cost, too."""
    model = FakeModel(
        [
            Completion("", (call("lookup_order"),), Usage(100, 10), 0.25),
            TrialError("HTTP 503", input_tokens=7, output_tokens=1, cost_usd=0.5),
        ]
    )

    with pytest.raises(TrialError, match="HTTP 503") as lost:
        run(model, a_trial_of(tools=[a_tool()]))

    spent = lost.value
    assert (spent.input_tokens, spent.output_tokens, spent.cost_usd) == (107, 11, 0.75)


def test_an_offered_skill_that_is_reached_for() -> None:
    """Its instructions are the answer to the call, and the call counts as one."""
    model = FakeModel([calls(call("order_support")), Completion("Order 1234 is refunded.")])

    transcript = run(model, a_trial_of(mode=Mode.OFFERED, tools=[a_tool()]))

    assert transcript.skill_triggered is True
    assert transcript.tool_calls == (ToolCall("order_support", {}, ORDER_SUPPORT.instructions),)
    assert [tool.name for tool in model.told[0].tools] == ["lookup_order", "order_support"]
    assert model.told[0].system == "You are a helpful assistant."


def test_an_offered_skill_that_is_left_alone() -> None:
    """Other calls do not count as reaching for it."""
    model = FakeModel([calls(call("lookup_order")), Completion("Hello.")])

    transcript = run(model, a_trial_of(mode=Mode.OFFERED, tools=[a_tool()]))

    assert transcript.skill_triggered is False


def test_an_empty_skill_is_not_offered() -> None:
    """There is nothing to reach for, and its name alone would be a hint."""
    model = FakeModel([Completion("Hello.")])

    transcript = run(model, a_trial_of(SkillVersion.none("order-support"), mode=Mode.OFFERED))

    assert transcript.skill_triggered is False
    assert model.told[0].tools == ()


def test_a_loaded_skill_cannot_be_called() -> None:
    """It is in the prompt: a call of its name is a call of no tool."""
    model = FakeModel([calls(call("order_support")), Completion("Hello.")])

    transcript = run(model, a_trial_of())

    assert transcript.skill_triggered is None
    assert transcript.tool_calls[0].answer.startswith("Error: there is no tool named")


names = st.text(max_size=80)
requested = st.builds(
    RequestedCall,
    names,
    names | st.just("lookup_order"),
    st.none() | st.dictionaries(names, st.integers() | names, max_size=3),
)


@given(st.lists(st.lists(requested, min_size=1, max_size=3), max_size=5))
def test_whatever_is_called_is_recorded(turns: list[list[RequestedCall]]) -> None:
    """No call is dropped, and none breaks the trial."""
    model = FakeModel([*(calls(*turn) for turn in turns), Completion("Done.")])

    transcript = run(model, a_trial_of(tools=[a_tool()]))

    assert [made.name for made in transcript.tool_calls] == [c.name for t in turns for c in t]
    assert transcript.answer == "Done."


def test_the_runner_does_not_know_its_arm() -> None:
    """Relabelled, an arm is told the same, word for word."""
    told = []
    for role, baseline in ((Role.CANDIDATE, ""), (Role.BASELINE, "previous")):
        model = FakeModel([calls(call("lookup_order")), Completion("Done.")])
        run(model, a_trial_of(role=role, baseline=baseline, tools=[a_tool()]))
        told.append([(each.system, each.turns, each.tools) for each in model.told])

    assert told[0] == told[1]


def test_closing_the_runner_closes_the_model() -> None:
    """Connections are let go of at the end of a run."""
    model = FakeModel([])

    asyncio.run(ModelRunner("openai", model, costs_money=True, model_name="gpt-test").close())

    assert model.closed
