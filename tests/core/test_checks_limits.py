"""The checks of tokens, money and time."""

from __future__ import annotations

import pytest

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.limits import MaxCostUsd, MaxLatencyMs, MaxTokens
from skill_delta.core.transcript import Transcript, Usage

RUN = Transcript("", usage=Usage(1_200, 34), cost_usd=0.0042, latency_ms=1_500.4)


@pytest.mark.parametrize(
    ("spec", "passed", "evidence"),
    [
        (MaxTokens(limit=1_234), True, "1,234 tokens; at most 1,234"),
        (MaxTokens(limit=1_233), False, "1,234 tokens; at most 1,233"),
        (MaxCostUsd(limit=0.0042), True, "cost $0.004200; at most $0.004200"),
        (MaxCostUsd(limit=0.004), False, "cost $0.004200; at most $0.004000"),
        (MaxLatencyMs(limit=2_000), True, "took 1,500 ms; at most 2,000 ms"),
        (MaxLatencyMs(limit=1_500), False, "took 1,500 ms; at most 1,500 ms"),
    ],
)
def test_a_limit_is_met_at_or_below_it(spec: CheckSpec, passed: bool, evidence: str) -> None:
    """The limit itself is still allowed."""
    finding = spec.grade(RUN)

    assert (finding.passed, finding.evidence) == (passed, evidence)


def test_an_unknown_cost_is_neither_a_pass_nor_a_fail() -> None:
    """Unknown is never 0: a limit that nobody could check is not evaluated."""
    finding = MaxCostUsd(limit=0.01).grade(Transcript("", cost_usd=None))

    assert finding.passed is None
    assert finding.evidence.startswith("no price is known")
