"""Where skill-delta was once wrong, by the seed page or by skill-lens 0.25."""

from __future__ import annotations

from conformance.measured import Both, disagreements
from conformance.outcome_situations import three_skills
from conformance.situation import Bars, Situation, case, model, says, two_versions


def test_a_bar_of_a_skill_that_was_never_measured_is_not_met(both: Both) -> None:
    """A gate that verified nothing never passes, and one skill's bar is a gate of its own."""
    lost = {"billing one": says("E"), "billing two": says("E")}
    kept = {"shipping one": says("P"), "shipping two": says("P")}
    bars = Bars(min_pass_rate=0.5, per_skill={"billing": 0.5}, fail_on_error=False)
    ours, theirs = both(
        Situation("", three_skills, model({**lost, **kept}), baseline="", bars=bars)
    )

    assert not theirs.gate.passed
    assert not ours.gate.passed


def test_a_required_delta_is_named_where_nothing_ran(both: Both) -> None:
    """The seed's first reason: no baseline arm ran at all."""
    story = two_versions(case("a"))
    ours, theirs = both(
        Situation("", story, model({"a": says("P")}), tag="smoek", bars=Bars(min_delta=0.0))
    )

    assert disagreements(ours, theirs) == {}
