"""skill-lens 0.25 and skill-delta, put into the same situations, measure the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance.check_situations import SITUATIONS as CHECKS
from conformance.history_situations import SITUATIONS as HISTORIES
from conformance.measured import Both, disagreements
from conformance.outcome_situations import SITUATIONS as OUTCOMES
from conformance.situation import Situation


@pytest.mark.parametrize(
    "situation", [*OUTCOMES, *HISTORIES, *CHECKS], ids=lambda situation: situation.name
)
def test_both_measure_the_same(
    situation: Situation, both: Both, snapshot: SnapshotAssertion
) -> None:
    """Counts, checks, tool answers, exclusions, deltas, flags, versions with their files, gate.

    The snapshot says what that is, so that a reader sees that each situation is what it is called.
    """
    ours, theirs = both(situation)
    theirs = replace(theirs, gate=theirs.gate.without(*situation.they_also_say))

    assert disagreements(ours, theirs) == {}
    assert ours.told == snapshot
