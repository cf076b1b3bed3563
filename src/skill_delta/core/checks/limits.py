"""Checks of what a trial cost: tokens, money and time."""

from __future__ import annotations

from pydantic import Field

from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.transcript import Transcript


class MaxTokens(CheckSpec):
    """Input and output together took at most this many tokens."""

    limit: int = Field(ge=0)

    def grade(self, transcript: Transcript) -> Finding:
        """Counts the tokens of every request of the trial."""
        used = transcript.usage.tokens
        return Finding.of(used <= self.limit, f"{used:,} tokens; at most {self.limit:,}")


class MaxCostUsd(CheckSpec):
    """The trial cost at most this many US dollars."""

    limit: float = Field(ge=0, allow_inf_nan=False)

    def grade(self, transcript: Transcript) -> Finding:
        """Not evaluated where no price is known: unknown is neither cheap nor dear."""
        cost = transcript.cost_usd
        if cost is None:
            return Finding.not_evaluated(
                f"no price is known for the model; at most ${self.limit:.6f}"
            )
        return Finding.of(cost <= self.limit, f"cost ${cost:.6f}; at most ${self.limit:.6f}")


class MaxLatencyMs(CheckSpec):
    """The trial took at most this many milliseconds, without waits for rate limits."""

    limit: float = Field(ge=0, allow_inf_nan=False)

    def grade(self, transcript: Transcript) -> Finding:
        """Measures from the first request to the last answer."""
        took = transcript.latency_ms
        return Finding.of(took <= self.limit, f"took {took:,.0f} ms; at most {self.limit:,.0f} ms")
