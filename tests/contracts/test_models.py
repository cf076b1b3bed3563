"""What every model keeps to, whoever answers: one suite over all of them.

Each is given the same script in its own form: the scripted model as a file, the others as a
server on loopback that plays it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from conversations import KEY, ORDER_SUPPORT, Time, a_dollar_per_token, a_tool, a_trial_of
from model_stand_in import Answer, ModelStandIn, Received, refuses, says
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode, SequenceReturn
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Role, Trial
from skill_delta.errors import TrialError
from skill_delta.ports import Model
from skill_delta.providers import PROVIDERS
from skill_delta.providers.http import HttpModel
from skill_delta.providers.scripted import ScriptedModel, read_replies
from skill_delta.runners.model import ModelRunner


@dataclass(frozen=True)
class Script:
    """What the model does in one trial: calls, one per turn, then the answer or the error."""

    text: str = "Order 1234 is refunded."
    calls: Sequence[tuple[str, dict[str, str]]] = ()
    error: bool = False


@contextmanager
def scripted(script: Script) -> Iterator[Model]:
    ending = {"error": "HTTP 400"} if script.error else {"text": script.text}
    calls = [{"name": name, "arguments": arguments} for name, arguments in script.calls]
    usage = {"input_tokens": 120, "output_tokens": 8}
    reply = {**ending, "tool_calls": calls, "usage": usage, "cost_usd": 128.0}
    yield ScriptedModel(read_replies(yaml.safe_dump({"replies": [reply]}).encode(), "r.yaml"))


@contextmanager
def openai(script: Script) -> Iterator[Model]:
    calls = [says(None, calls=[(name, json.dumps(args))]) for name, args in script.calls]
    ending = refuses(400) if script.error else says(script.text)
    with ModelStandIn([*calls, ending]) as server:
        yield over_http("openai", server)


def over_http(vendor: str, server: ModelStandIn) -> HttpModel:
    time = Time()
    return HttpModel(
        PROVIDERS[vendor].api(server.url, "gpt-test", SecretStr(KEY)),
        price=a_dollar_per_token,
        workers=4,
        rng=Random(1),
        clock=time.clock,
        sleep=time.sleep,
    )


MODELS = {"scripted": scripted, "openai": openai}


def play(model: Model, trial: Trial) -> Transcript:
    runner = ModelRunner("any", model, costs_money=False)

    async def story() -> Transcript:
        try:
            return await runner.run(trial)
        finally:
            await runner.close()

    return asyncio.run(story())


@pytest.fixture(params=MODELS)
def staged(request: pytest.FixtureRequest) -> Callable[[Script, Trial], Transcript]:
    """Play a script through one of the models."""
    stage = MODELS[request.param]

    def run(script: Script, trial: Trial) -> Transcript:
        with stage(script) as model:
            return play(model, trial)

    return run


Staged = Callable[[Script, Trial], Transcript]


def test_an_answer_is_an_answer(staged: Staged) -> None:
    """Its text, its tokens, its price."""
    transcript = staged(Script(), a_trial_of())

    assert transcript.answer == "Order 1234 is refunded."
    assert (transcript.usage, transcript.cost_usd) == (Usage(120, 8), 128.0)
    assert transcript.tool_calls == ()
    assert transcript.skill_triggered is None


def test_calls_are_answered_and_then_the_model(staged: Staged) -> None:
    """Each turn's call gets the tool's next answer."""
    calls = [("lookup_order", {"order_id": "1"}), ("lookup_order", {"order_id": "2"})]
    tool = a_tool(returns=SequenceReturn(("packed", "shipped")))

    transcript = staged(Script(calls=calls), a_trial_of(tools=[tool]))

    assert transcript.tool_calls == (
        ToolCall("lookup_order", {"order_id": "1"}, "packed"),
        ToolCall("lookup_order", {"order_id": "2"}, "shipped"),
    )
    assert transcript.answer == "Order 1234 is refunded."


def test_an_offered_skill_may_be_reached_for(staged: Staged) -> None:
    """Under its tool name, and its instructions come back."""
    transcript = staged(Script(calls=[("order_support", {})]), a_trial_of(mode=Mode.OFFERED))

    assert transcript.skill_triggered is True
    assert transcript.tool_calls[0].answer == ORDER_SUPPORT.instructions


def test_an_offered_skill_may_be_left_alone(staged: Staged) -> None:
    """Answering is not reaching for it."""
    assert staged(Script(), a_trial_of(mode=Mode.OFFERED)).skill_triggered is False


def test_a_trial_lost_midway_keeps_what_it_spent(staged: Staged) -> None:
    """The first request was answered and billed, the second was refused."""
    script = Script(calls=[("lookup_order", {"order_id": "1"})], error=True)

    with pytest.raises(TrialError, match="HTTP 400") as lost:
        staged(script, a_trial_of(tools=[a_tool()]))

    assert Usage(lost.value.input_tokens, lost.value.output_tokens) == Usage(120, 8)
    assert lost.value.cost_usd == 128.0


def sent(vendor: str, *trials: Trial) -> list[list[bytes]]:
    """The bodies of every request that each trial sends; it calls a tool before it answers."""

    def script(request: Received) -> Answer:
        first = request.json["messages"][-1]["role"] == "user"
        return says(None, calls=[("lookup_order", "{}")]) if first else says("Done.")

    bodies = []
    for trial in trials:
        with ModelStandIn(script) as server:
            play(over_http(vendor, server), trial)
        bodies.append([request.body for request in server.requests])
    return bodies


@pytest.mark.parametrize("vendor", PROVIDERS)
@pytest.mark.parametrize("mode", Mode)
def test_relabelling_the_arms_changes_no_request(vendor: str, mode: Mode) -> None:
    """No byte of a request tells which arm it serves."""
    candidate = a_trial_of(mode=mode, tools=[a_tool()])
    baseline = a_trial_of(mode=mode, tools=[a_tool()], role=Role.BASELINE, baseline="previous")
    again = replace(baseline, repetition=3, skill="another label")

    first, second, third = sent(vendor, candidate, baseline, again)

    assert len(first) == 2
    assert first == second == third


@pytest.mark.parametrize("vendor", PROVIDERS)
@given(
    name=st.text(min_size=1, max_size=40),
    blank=st.text(alphabet=" \n", max_size=2),
    mode=st.sampled_from(Mode),
)
@settings(max_examples=15, deadline=None)
def test_an_empty_skill_leaves_no_trace_in_a_request(
    vendor: str, name: str, blank: str, mode: Mode
) -> None:
    """Whatever the skill is called, the requests are those of a nameless one."""
    named = SkillVersion(name, description=blank, instructions=blank)
    nameless = SkillVersion.none("")

    ours, theirs = sent(
        vendor,
        a_trial_of(named, mode=mode, tools=[a_tool()]),
        a_trial_of(nameless, mode=mode, tools=[a_tool()]),
    )

    assert ours == theirs


@pytest.mark.parametrize("vendor", PROVIDERS)
def test_the_baseline_none_is_told_of_no_skill(vendor: str) -> None:
    """Not its name, not its description, not a word of its instructions."""
    none = a_trial_of(SkillVersion.none("order-support"), role=Role.BASELINE, baseline="none")

    [[first, *_]] = sent(vendor, none)

    for secret in (b"order-support", b"order_support", b"Answers questions", b"Name the order"):
        assert secret not in first
    assert b"You are a helpful assistant." in first
