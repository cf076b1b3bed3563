"""What one conversation offers a model, and how each call is answered."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from skill_delta.core.conversation import OfferedTool, RequestedCall
from skill_delta.core.prompt import offered_skill
from skill_delta.core.suite import MockTool, Mode
from skill_delta.core.transcript import ToolCall
from skill_delta.core.trials import Trial
from skill_delta.runners.bundle import ShippedFiles
from skill_delta.runners.folders import RefusedError
from skill_delta.runners.workspace import Workspace

Sleep = Callable[[float], Awaitable[None]]
Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A tool that really does something. It answers every call: a refusal is an answer too.

    How long one takes that `is_slow` counts as the trial's time.
    """

    offered: OfferedTool
    answer: Callable[[Arguments], Awaitable[str]]
    is_slow: bool = False


class Toolbox:
    """What one conversation offers the model, and what the model made of it."""

    def __init__(
        self, trial: Trial, workspace: Workspace | None, sleep: Sleep, more: Iterable[BuiltIn] = ()
    ) -> None:
        skill, case = trial.arm.skill, trial.case
        self._mocks: Mapping[str, MockTool] = {tool.name: tool for tool in case.tools}
        self._built_in = {tool.offered.name: tool for tool in _built_in(trial, workspace)}
        self._built_in |= {tool.offered.name: tool for tool in more}
        self._skill_tool: OfferedTool | None = None
        self._instructions = skill.instructions
        self._answered: Counter[str] = Counter()
        self._offers_skill = case.mode is Mode.OFFERED
        self._sleep = sleep
        self.waited_ms = 0.0
        """How long the model has waited for answers."""
        self.calls: list[ToolCall] = []
        self.offered = (
            *(OfferedTool(tool.name, tool.description, tool.input_schema) for tool in case.tools),
            *(tool.offered for tool in self._built_in.values()),
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

    async def answer(self, call: RequestedCall) -> str:
        """What the model is told in return. The call is recorded whatever it was.

        Raises `TrialError` where answering was impossible, which is no fault of the model's.
        """
        answer = await self._answer(call)
        # Not an empty object: a check for "called with nothing" must not pass on nonsense.
        arguments = {"_raw": call.raw} if call.arguments is None else call.arguments
        self.calls.append(ToolCall(call.name, arguments, answer))
        return answer

    async def _answer(self, call: RequestedCall) -> str:
        if self._is_skill(call.name):
            return self._instructions
        tool = self._mocks.get(call.name)
        built_in = self._built_in.get(call.name)
        if tool is None and built_in is None:
            known = ", ".join(offered.name for offered in self.offered) or "none"
            return f"Error: there is no tool named {json.dumps(call.name)}. Tools: {known}."
        if call.arguments is None:
            return f"Error: the arguments of {call.name} must be one JSON object."
        if tool is None:
            assert built_in is not None  # noqa: S101 - one of them is there
            return await self._timed(built_in, call.arguments)
        index = self._answered[call.name]
        self._answered[call.name] += 1
        if tool.delay_ms:
            await self._sleep(tool.delay_ms / 1000)
            self.waited_ms += tool.delay_ms
        return tool.returns.answer(call.name, call.arguments, index)

    async def _timed(self, tool: BuiltIn, arguments: Arguments) -> str:
        began = time.monotonic()
        answer = await tool.answer(arguments)
        if tool.is_slow:
            self.waited_ms += (time.monotonic() - began) * 1000
        return answer

    def _is_skill(self, name: str) -> bool:
        return self._skill_tool is not None and self._skill_tool.name == name


def _built_in(trial: Trial, workspace: Workspace | None) -> Iterator[BuiltIn]:
    if workspace is None:
        return
    yield from _file_tools(workspace)
    bundle = trial.arm.skill.bundle
    if bundle is not None:
        yield from _bundle_tools(ShippedFiles(bundle), workspace)


def _file_tools(workspace: Workspace) -> Iterator[BuiltIn]:
    def listed(_: Arguments) -> str:
        return workspace.told("\n".join(workspace.listing()) or "(empty)")

    def read(arguments: Arguments) -> str:
        return workspace.told(workspace.read(text_of(arguments, "path")))

    def write(arguments: Arguments) -> str:
        path = text_of(arguments, "path")
        size = workspace.write(path, text_of(arguments, "content"))
        return f"wrote {path} ({size:,} bytes)"

    yield _tool("list_files", "List the files in the working directory, one path per line.", listed)
    yield _tool(
        "read_file",
        "Read a text file from the working directory. `path` is relative to it.",
        read,
        "path",
    )
    yield _tool(
        "write_file",
        "Create or replace a text file in the working directory. `path` is relative to it.",
        write,
        "path",
        "content",
    )


def _bundle_tools(shipped: ShippedFiles, workspace: Workspace) -> Iterator[BuiltIn]:
    def listed(_: Arguments) -> str:
        return workspace.told("\n".join(shipped.listing()))

    def read(arguments: Arguments) -> str:
        return workspace.told(shipped.read(text_of(arguments, "path")))

    yield _tool(
        "list_skill_files", "List the files that come with the skill, one path per line.", listed
    )
    yield _tool(
        "read_skill_file",
        "Read a text file that comes with the skill. `path` is relative to the skill.",
        read,
        "path",
    )


def _tool(name: str, description: str, answer: Callable[[Arguments], str], *texts: str) -> BuiltIn:
    """A tool that takes these texts and is done at once."""

    async def answered(arguments: Arguments) -> str:
        try:
            return answer(arguments)
        except RefusedError as refused:
            return f"refused: {refused}"

    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {text: {"type": "string"} for text in texts},
        "required": list(texts),
        "additionalProperties": False,
    }
    return BuiltIn(OfferedTool(name, description, schema), answered)


def text_of(arguments: Arguments, name: str) -> str:
    """The argument, which has to be text. Raises `RefusedError`."""
    value = arguments.get(name)
    if not isinstance(value, str):
        raise RefusedError(f"the argument {name} should be text")
    return value
