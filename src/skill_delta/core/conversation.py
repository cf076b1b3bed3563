"""What is said to a model and what it says back, before any vendor spells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Trial


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model sees it. `input_schema` is a JSON Schema, sent as it stands."""

    name: str
    description: str
    input_schema: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A tool call the model asked for. `id` is the vendor's, echoed with the answer.

    `arguments` is None where the model's text was not a JSON object; `raw` is that text.
    """

    id: str
    name: str
    arguments: Mapping[str, JsonValue] | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the person asked."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What the model said, and the calls it asked for."""

    text: str
    calls: tuple[RequestedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """The answer to one call."""

    call: RequestedCall
    answer: str


Turn: TypeAlias = UserTurn | ModelTurn | ToolTurn


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that a model is told.

    `trial` and `session` (the position of this conversation among the trial's, from 0) are never
    sent: only the scripted model reads them.

    A judge's conversation has none: it is not to know which trial it grades.
    """

    trial: Trial | None
    system: str
    turns: tuple[Turn, ...]
    tools: tuple[OfferedTool, ...] = ()
    session: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer of a model.

    `cost_usd` is None where no price is known. `latency_ms` is the wall time of the request that
    was answered, without earlier attempts and waits.
    """

    text: str
    calls: tuple[RequestedCall, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_ms: float = 0.0
