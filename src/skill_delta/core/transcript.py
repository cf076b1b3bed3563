"""What a trial left behind: the answer, the tool calls, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from skill_delta.core.workspace import WorkspaceFiles


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counted them, summed over the trial's requests."""

    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens
        )

    def __sub__(self, part: Usage) -> Usage:
        return Usage(self.input_tokens - part.input_tokens, self.output_tokens - part.output_tokens)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call the model made, with the arguments it sent and the answer it was given."""

    name: str
    arguments: Mapping[str, JsonValue]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Transcript:
    """All that a trial left behind.

    `cost_usd` is None where no price is known: unknown is never 0. `latency_ms` is the wall time
    from the first request to the last answer, without waits for rate limits. `skill_triggered` is
    None where the skill was loaded, not offered, so that there was nothing to trigger.

    Of several sessions, `answer` is the last one's and the rest is that of all of them together;
    `triggered_in` tells of each whether the model reached for the skill in it. `files` is what the
    working folder held at the end, None where the case has none.
    """

    answer: str
    tool_calls: tuple[ToolCall, ...] = ()
    skill_triggered: bool | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    latency_ms: float = 0.0
    triggered_in: tuple[bool, ...] = ()
    files: WorkspaceFiles | None = None
