"""Drives a bare model: our own prompt, our own tool loop, nothing executed but what is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from skill_delta import __version__
from skill_delta.core.conversation import (
    Completion,
    Conversation,
    ModelTurn,
    ToolTurn,
    Turn,
    UserTurn,
)
from skill_delta.core.prompt import system_prompt
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Trial
from skill_delta.errors import TrialError
from skill_delta.ports import Model
from skill_delta.runners.bundle import ShippedFiles
from skill_delta.runners.scripts import Scripts
from skill_delta.runners.toolbox import BuiltIn, Sleep, Toolbox
from skill_delta.runners.workspace import Workspace, Workspaces

MAX_REQUESTS = 50
"""Model requests per conversation. One that goes on then is scored on what it said."""


class ModelRunner:
    """One trial is a conversation with `model`, whose calls the case's mock tools answer.

    A case of several sessions has a conversation for each, in one working folder. `scripts` runs
    what skills ship; without it no script is offered.
    `model_name` is how reports name the model; empty where there is none to name.
    """

    brings_own_tools = False

    def __init__(
        self,
        name: str,
        model: Model,
        costs_money: bool,
        model_name: str = "",
        *,
        workspaces: Workspaces | None = None,
        scripts: Scripts | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.name = name
        self.model = model_name
        self.costs_money = costs_money
        self._model = model
        self._workspaces = workspaces or Workspaces()
        # What is measured with scripts is another thing than without them.
        self.version = f"{__version__} with scripts" if scripts else __version__
        self._scripts = scripts
        self._sleep = sleep

    async def run(self, trial: Trial) -> Transcript:
        """Raises `TrialError`, with what was spent until then, when the model gave out."""
        with self._workspaces.opened(trial) as workspace:
            ended: list[_Session] = []
            for position in range(len(trial.case.tasks)):
                before = ended[-1].spent if ended else _Spent()
                ended.append(await self._session(trial, position, workspace, before))
            left = None if workspace is None else workspace.left(trial.case.asks_for)
        spent = ended[-1].spent
        triggered = [s.skill_triggered for s in ended if s.skill_triggered is not None]
        return Transcript(
            answer=ended[-1].said,
            tool_calls=tuple(call for session in ended for call in session.calls),
            skill_triggered=any(triggered) if triggered else None,
            usage=spent.usage,
            cost_usd=spent.cost_usd,
            latency_ms=spent.latency_ms,
            triggered_in=tuple(triggered) if trial.case.sessions else (),
            files=left,
        )

    async def _session(
        self, trial: Trial, position: int, workspace: Workspace | None, spent: _Spent
    ) -> _Session:
        """One conversation. `spent` is what those before it cost; the result holds both."""
        case = trial.case
        system = system_prompt(trial.arm.skill, case.mode, has_workspace=case.workspace is not None)
        toolbox = Toolbox(trial, workspace, self._sleep, self._scripts_of(trial, workspace))
        turns: tuple[Turn, ...] = (UserTurn(case.tasks[position]),)
        said = ""
        for _ in range(MAX_REQUESTS):
            asked = Conversation(trial, system, turns, toolbox.offered, position)
            completion = await self._complete(asked, spent)
            spent += completion
            if not completion.calls:
                said = completion.text
                break
            said = completion.text or said
            with _billed(spent):
                answers = [ToolTurn(c, await toolbox.answer(c)) for c in completion.calls]
            turns = (*turns, ModelTurn(completion.text, completion.calls), *answers)
        spent = replace(spent, latency_ms=spent.latency_ms + toolbox.waited_ms)
        return _Session(said, tuple(toolbox.calls), toolbox.skill_triggered, spent)

    def _scripts_of(self, trial: Trial, workspace: Workspace | None) -> Iterator[BuiltIn]:
        bundle = trial.arm.skill.bundle
        if self._scripts is not None and workspace is not None and bundle is not None:
            tool = self._scripts.tool(ShippedFiles(bundle), workspace)
            if tool is not None:
                yield tool

    async def _complete(self, conversation: Conversation, before: _Spent) -> Completion:
        with _billed(before):
            return await self._model.complete(conversation)

    async def close(self) -> None:
        """Let go of the model's connections, and of what is left of working folders."""
        try:
            await self._model.close()
        finally:
            self._workspaces.close()


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


@dataclass(frozen=True, slots=True)
class _Session:
    """One conversation that ended. `spent` is the trial's bill up to its end."""

    said: str
    calls: tuple[ToolCall, ...]
    skill_triggered: bool | None
    spent: _Spent


@contextmanager
def _billed(before: _Spent) -> Iterator[None]:
    """Adds to what a lost request cost what the trial had cost before it."""
    try:
        yield
    except TrialError as lost:
        usage = before.usage + Usage(lost.input_tokens, lost.output_tokens)
        raise TrialError(
            str(lost),
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cost_usd=_sum(before.cost_usd, lost.cost_usd),
        ) from lost


def _sum(first: float | None, second: float | None) -> float | None:
    """A sum with one unknown part is unknown."""
    return None if first is None or second is None else first + second
