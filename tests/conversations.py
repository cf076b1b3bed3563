"""Trials to run and conversations to hold with a model, and time that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from pydantic import JsonValue, SecretStr

from builders import a_trial
from model_stand_in import ModelStandIn
from skill_delta.core.conversation import Completion, Conversation, OfferedTool, Turn, UserTurn
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import FixedReturn, MockTool, Mode, Returns
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import Arm, Role, Trial
from skill_delta.ports import Runner
from skill_delta.providers.http import HttpModel
from skill_delta.providers.openai import OpenAiChat

KEY = "sk-test-0123456789abcdef"
TASK = "I want a refund for order 1234."

SHIPPED = FixedReturn("shipped")

T = TypeVar("T")

ORDER_SUPPORT = SkillVersion(
    name="order-support",
    description="Answers questions about orders.",
    instructions="Name the order in the first sentence.",
)


def a_tool(name: str = "lookup_order", returns: Returns = SHIPPED) -> MockTool:
    schema: Mapping[str, JsonValue] = {
        "type": "object",
        "properties": {"order_id": {"type": "string"}},
        "required": ["order_id"],
        "additionalProperties": False,
    }
    return MockTool(name, f"What {name} knows.", schema, returns)


def a_trial_of(
    skill: SkillVersion = ORDER_SUPPORT,
    *,
    role: Role = Role.CANDIDATE,
    baseline: str = "",
    case: str = "refund-request",
    mode: Mode = Mode.LOADED,
    tools: Sequence[MockTool] = (),
    repetition: int = 0,
) -> Trial:
    trial = a_trial(case, repetition=repetition)
    told = replace(trial.case, task=TASK, mode=mode, tools=tuple(tools))
    return replace(trial, arm=Arm(role, skill, baseline), case=told)


def a_conversation(
    *turns: Turn, tools: Sequence[OfferedTool] = (), trial: Trial | None = None
) -> Conversation:
    return Conversation(
        trial or a_trial_of(),
        "You are a helpful assistant.",
        (UserTurn(TASK), *turns),
        tuple(tools),
    )


class Time:
    """A clock that only sleeping moves. `waits` are the seconds slept, in order."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        self.waits.append(seconds)
        await asyncio.sleep(0)
        self.now = max(self.now, until)


def a_dollar_per_token(usage: Usage) -> float | None:
    return float(usage.tokens)


def a_model(
    server: ModelStandIn,
    *,
    time: Time | None = None,
    workers: int = 8,
    key: str | None = KEY,
    price: Callable[[Usage], float | None] = a_dollar_per_token,
    timeout: float = 10.0,
) -> HttpModel:
    time = time or Time()
    return HttpModel(
        OpenAiChat(server.url, "gpt-test", None if key is None else SecretStr(key)),
        price=price,
        workers=workers,
        rng=Random(7),
        timeout=timeout,
        clock=time.clock,
        sleep=time.sleep,
    )


def ask(model: HttpModel, conversation: Conversation | None = None) -> Completion:
    """One question, asked in a loop of its own."""

    async def asked() -> Completion:
        try:
            return await model.complete(conversation or a_conversation())
        finally:
            await model.close()

    return asyncio.run(asked())


def ask_at_once(model: HttpModel, times: int) -> list[Completion | BaseException]:
    """Many questions at once; what went wrong stands in place of its answer."""

    async def asked() -> list[Completion | BaseException]:
        try:
            asking = (model.complete(a_conversation()) for _ in range(times))
            return await asyncio.gather(*asking, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(asked())


def run_trial(runner: Runner, trial: Trial) -> Transcript:
    """One trial from its beginning to its end, with a runner that is closed afterwards."""

    async def whole() -> Transcript:
        try:
            return await runner.run(trial)
        finally:
            await runner.close()

    return asyncio.run(whole())


def run(awaited: Callable[[], Awaitable[T]]) -> T:
    """Run one coroutine function to its end."""

    async def whole() -> T:
        return await awaited()

    return asyncio.run(whole())
