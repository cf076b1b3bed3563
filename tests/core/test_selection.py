"""Which cases a run takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import a_case
from skill_delta.core.selection import EVERY_CASE, Selection

CASE = replace(a_case("Refuses a late refund"), tags=frozenset({"smoke", "refund"}))


@pytest.mark.parametrize(
    ("selection", "missed"),
    [
        (EVERY_CASE, ""),
        (Selection(tags=("smoke",)), ""),
        (Selection(tags=("slow", "refund")), ""),
        (Selection(tags=("Smoke",)), "tag Smoke"),
        (Selection(tags=("slow", "nightly")), "tag slow or nightly"),
        (Selection(names=("LATE",)), ""),
        (Selection(names=("early", "late")), ""),
        (Selection(names=("early", "soon")), "case early or soon"),
        (Selection(("smoke",), ("early",)), "case early"),
        (Selection(("slow",), ("late",)), "tag slow"),
        (Selection(("slow",), ("early",)), "tag slow and case early"),
    ],
)
def test_a_case_is_taken_or_what_it_misses_is_told(selection: Selection, missed: str) -> None:
    """Any of the tags, and any of the names in any case of letters."""
    assert selection.misses(CASE) == missed
    assert selection.admits(CASE) == (not missed)
