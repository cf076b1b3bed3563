"""Checks of which tools were called, in what order, and with which arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field, JsonValue, model_validator

from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.checks.evidence import shown_json
from skill_delta.core.checks.matching import matches
from skill_delta.core.transcript import ToolCall, Transcript
from skill_delta.core.wording import clipped
from skill_delta.errors import TrialError


class Called(CheckSpec):
    """The tool was called at least once."""

    tool: str

    def grade(self, transcript: Transcript) -> Finding:
        """Holds where any call of the trial names the tool."""
        if any(call.name == self.tool for call in transcript.tool_calls):
            return Finding.of(True, f"{clipped(self.tool)} was called")
        return Finding.of(
            False, f"expected a call to {clipped(self.tool)}; {_calls_made(transcript.tool_calls)}"
        )

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The tool itself."""
        return (self.tool,)


class Forbidden(CheckSpec):
    """The tool was never called."""

    tool: str

    def grade(self, transcript: Transcript) -> Finding:
        """Holds where no call of the trial names the tool."""
        call = next((call for call in transcript.tool_calls if call.name == self.tool), None)
        if call is None:
            return Finding.of(True, f"{clipped(self.tool)} was not called")
        return Finding.of(
            False,
            f"expected no call to {clipped(self.tool)}; it was called with "
            f"{shown_json(call.arguments)}",
        )

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The tool itself."""
        return (self.tool,)


class Order(CheckSpec):
    """The tools were called in this order; other calls may come between."""

    tools: tuple[str, ...]

    def grade(self, transcript: Transcript) -> Finding:
        """Holds where the names are a subsequence of the trial's calls."""
        order = clipped(" → ".join(self.tools))
        calls = iter(call.name for call in transcript.tool_calls)
        if all(tool in calls for tool in self.tools):
            return Finding.of(True, f"the calls follow the order {order}")
        return Finding.of(
            False, f"expected the order {order}; {_calls_made(transcript.tool_calls)}"
        )

    @property
    def named_tools(self) -> tuple[str, ...]:
        """Every tool of the order."""
        return self.tools


class MaxCalls(CheckSpec):
    """At most this many calls were made, whichever tools they name."""

    limit: int = Field(ge=0)

    def grade(self, transcript: Transcript) -> Finding:
        """Counts every call, the one that reaches for an offered skill included."""
        made = len(transcript.tool_calls)
        if made <= self.limit:
            return Finding.of(True, f"{_count(made)}; at most {self.limit:,}")
        made_calls = _calls_made(transcript.tool_calls)
        return Finding.of(
            False, f"expected at most {_count(self.limit)}, found {made:,}; {made_calls}"
        )


class SkillTriggered(CheckSpec):
    """The model reached for the offered skill, or left it alone: in every session."""

    expected: bool

    def grade(self, transcript: Transcript) -> Finding:
        """Raises `TrialError` where nobody saw whether the model reached for the skill."""
        triggered = transcript.skill_triggered
        if triggered is None:
            raise TrialError("skill_triggered: the runner did not see whether the skill was used")
        saw = "the skill was triggered" if triggered else "the skill was not triggered"
        if triggered is self.expected and (not triggered or all(transcript.triggered_in)):
            return Finding.of(True, saw)
        if triggered and self.expected:
            last = [n for n, was in enumerate(transcript.triggered_in, start=1) if not was]
            named = ", ".join(map(str, last))
            return Finding.of(False, f"expected the skill to be triggered; not in session {named}")
        wanted = "to be triggered; it was not" if self.expected else "not to be triggered; it was"
        return Finding.of(False, f"expected the skill {wanted}")


class CallArgs(CheckSpec):
    """A tool was called with these arguments.

    `contains` names some of the arguments, at every level; `equals` names all of them. With
    `every`, each call to the tool must match, not just one. A tool that was never called fails.
    """

    tool: str = Field(min_length=1)
    contains: dict[str, JsonValue] | None = None
    equals: dict[str, JsonValue] | None = None
    every: bool = False

    @model_validator(mode="after")
    def _one_expectation(self) -> Self:
        if (self.contains is None) == (self.equals is None):
            raise ValueError("exactly one of contains and equals says what to expect")
        if self.contains is not None and not self.contains:
            raise ValueError(
                "an empty contains holds for every call; name an argument, or use called"
            )
        return self

    def grade(self, transcript: Transcript) -> Finding:
        """Compares structures, never their text: see `matches`."""
        calls = [call for call in transcript.tool_calls if call.name == self.tool]
        wanted = f"{'each' if self.every else 'a'} call to {clipped(self.tool)} with {self._wanted}"
        if not calls:
            return Finding.of(False, f"expected {wanted}; it was never called")
        wrong = [call for call in calls if not self._holds(call)]
        if not wrong or (not self.every and len(wrong) < len(calls)):
            right = len(calls) - len(wrong)
            return Finding.of(True, f"{right:,} of {_count(len(calls))} match: {wanted}")
        seen = shown_json(wrong[0].arguments)
        return Finding.of(
            False, f"expected {wanted}; {len(wrong):,} of {len(calls):,} do not match: {seen}"
        )

    @property
    def named_tools(self) -> tuple[str, ...]:
        """The tool whose calls are looked at."""
        return (self.tool,)

    @property
    def _wanted(self) -> str:
        if self.contains is not None:
            return shown_json(self.contains)
        return f"exactly {shown_json(self.equals)}"

    def _holds(self, call: ToolCall) -> bool:
        if self.contains is not None:
            return matches(self.contains, call.arguments)
        return matches(self.equals, call.arguments, exact=True)


def _calls_made(calls: Sequence[ToolCall]) -> str:
    if not calls:
        return "no tool was called"
    return f"the calls were {clipped(', '.join(call.name for call in calls))}"


def _count(calls: int) -> str:
    return "1 call" if calls == 1 else f"{calls:,} calls"
