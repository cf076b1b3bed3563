"""Drives a bare model: our own prompt, our own tool loop, nothing executed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from skill_delta import __version__
from skill_delta.core.conversation import (
    Completion,
    Conversation,
    ModelTurn,
    OfferedTool,
    RequestedCall,
    ToolTurn,
    Turn,
    UserTurn,
)
from skill_delta.core.prompt import offered_skill, system_prompt
from skill_delta.core.suite import MockTool, Mode
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Trial
from skill_delta.errors import TrialError
from skill_delta.ports import Model

MAX_REQUESTS = 50
"""Model requests per trial. A model that still calls tools then is scored on what it said."""


class ModelRunner:
    """One trial is one conversation with `model`, whose calls the case's mock tools answer.

    `model_name` is how reports name the model; empty where there is none to name.
    """

    brings_own_tools = False
    version = __version__

    def __init__(self, name: str, model: Model, costs_money: bool, model_name: str = "") -> None:
        self.name = name
        self.model = model_name
        self.costs_money = costs_money
        self._model = model

    async def run(self, trial: Trial) -> Transcript:
        """Raises `TrialError`, with what was spent until then, when the model gave out."""
        system = system_prompt(trial.arm.skill, trial.case.mode)
        toolbox = _Toolbox(trial)
        turns: tuple[Turn, ...] = (UserTurn(trial.case.task),)
        spent = _Spent()
        said = ""
        for _ in range(MAX_REQUESTS):
            completion = await self._complete(
                Conversation(trial, system, turns, toolbox.offered), spent
            )
            spent += completion
            if not completion.calls:
                said = completion.text
                break
            said = completion.text or said
            answers = (ToolTurn(call, toolbox.answer(call)) for call in completion.calls)
            turns = (*turns, ModelTurn(completion.text, completion.calls), *answers)
        return Transcript(
            answer=said,
            tool_calls=tuple(toolbox.calls),
            skill_triggered=toolbox.skill_triggered,
            usage=spent.usage,
            cost_usd=spent.cost_usd,
            latency_ms=spent.latency_ms,
        )

    async def _complete(self, conversation: Conversation, before: _Spent) -> Completion:
        try:
            return await self._model.complete(conversation)
        except TrialError as lost:
            usage = before.usage + Usage(lost.input_tokens, lost.output_tokens)
            raise TrialError(
                str(lost),
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=_sum(before.cost_usd, lost.cost_usd),
            ) from lost

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._model.close()


@dataclass(frozen=True, slots=True)
class _Spent:
    """What a trial's requests cost so far."""

    usage: Usage = Usage()
    cost_usd: float | None = 0.0
    latency_ms: float = 0.0

    def __add__(self, completion: Completion) -> _Spent:
        return _Spent(
            self.usage + completion.usage,
            _sum(self.cost_usd, completion.cost_usd),
            self.latency_ms + completion.latency_ms,
        )


def _sum(first: float | None, second: float | None) -> float | None:
    """A sum with one unknown part is unknown."""
    return None if first is None or second is None else first + second


class _Toolbox:
    """What one trial offers the model, and what the model made of it."""

    def __init__(self, trial: Trial) -> None:
        skill, case = trial.arm.skill, trial.case
        self._mocks: Mapping[str, MockTool] = {tool.name: tool for tool in case.tools}
        self._skill_tool: OfferedTool | None = None
        self._instructions = skill.instructions
        self._answered: Counter[str] = Counter()
        self._offers_skill = case.mode is Mode.OFFERED
        self.calls: list[ToolCall] = []
        self.offered = tuple(
            OfferedTool(tool.name, tool.description, tool.input_schema) for tool in case.tools
        )
        # An empty skill has nothing to offer; its name alone would leak into the request.
        if self._offers_skill and not skill.is_empty:
            self._skill_tool = offered_skill(skill)
            self.offered = (*self.offered, self._skill_tool)

    @property
    def skill_triggered(self) -> bool | None:
        """Whether the model reached for the skill; None where it was loaded."""
        if not self._offers_skill:
            return None
        return any(self._is_skill(call.name) for call in self.calls)

    def answer(self, call: RequestedCall) -> str:
        """What the model is told in return. The call is recorded whatever it was."""
        answer = self._answer(call)
        # Not an empty object: a check for "called with nothing" must not pass on nonsense.
        arguments = {"_raw": call.raw} if call.arguments is None else call.arguments
        self.calls.append(ToolCall(call.name, arguments, answer))
        return answer

    def _answer(self, call: RequestedCall) -> str:
        if self._is_skill(call.name):
            return self._instructions
        tool = self._mocks.get(call.name)
        if tool is None:
            known = ", ".join(offered.name for offered in self.offered) or "none"
            return f"Error: there is no tool named {json.dumps(call.name)}. Tools: {known}."
        if call.arguments is None:
            return f"Error: the arguments of {call.name} must be one JSON object."
        index = self._answered[call.name]
        self._answered[call.name] += 1
        return tool.returns.answer(call.name, call.arguments, index)

    def _is_skill(self, name: str) -> bool:
        return self._skill_tool is not None and self._skill_tool.name == name
