"""What to do about a verdict that is not a pass."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import Runs, a_report, runs
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.policy import GateMethod, GatePolicy, Verdict
from skill_delta.core.report import Report
from skill_delta.render.advice import next_steps
from skill_delta.settings.model import Settings

AS_THE_ACTION = GatePolicy(
    method=GateMethod.INTERVAL,
    min_pass_rate=None,
    fail_on_error=False,
    min_delta={"previous": 0.0},
    looks=Looks(3, 9, Adaptive.CONFIRM),
)


def suite(ours: str, theirs: str, cases: int = 8) -> Runs:
    return tuple(
        outcome
        for number in range(cases)
        for outcome in runs(f"case {number}", candidate=ours, previous=theirs)
    )


def advice(report: Report) -> str:
    return " ".join(step.title for step in next_steps(report).items)


def test_following_the_advice_narrows_the_interval() -> None:
    """`confirm` has stopped at a delta on the bar: what more looks would take is never run."""
    report = a_report(suite("PPF", "PPF"), policy=AS_THE_ACTION)
    assert report.gate.verdict is Verdict.INCONCLUSIVE
    assert "raise `repeat`" in advice(report)
    assert "max-repeat" not in advice(report)

    (judgement,) = report.gate.judgements
    before = judgement.reading.interval
    more = judgement.reading.settlement.repetitions or 0
    looks = Settings(gate="interval", adaptive="confirm", repeat=more).looks()
    followed = a_report(
        suite(("PPF" * more)[:more], ("PPF" * more)[:more]),
        policy=replace(AS_THE_ACTION, looks=looks),
    )
    (now,) = followed.gate.judgements

    assert now.reading.interval.low > before.low
    assert now.reading.interval.high < before.high
    assert followed.gate.verdict is Verdict.PASS


@pytest.mark.parametrize("most", [15, 9, 6])
def test_planning_more_looks_narrows_nothing(most: int) -> None:
    """Why the advice does not name `max-repeat`."""
    few = a_report(suite("PPF", "PPF"), policy=replace(AS_THE_ACTION, looks=Looks(3, 3)))
    policy = replace(AS_THE_ACTION, looks=Looks(3, most, Adaptive.CONFIRM))
    more = a_report(suite("PPF", "PPF"), policy=policy)

    assert (
        more.gate.judgements[0].reading.interval.low < few.gate.judgements[0].reading.interval.low
    )


def test_single_runs_are_to_be_repeated() -> None:
    """No number of cases makes one run of each an evidence."""
    told = advice(a_report(suite("P", "P"), policy=AS_THE_ACTION))

    assert "more than once" in told
    assert "Add cases" not in told


def test_lost_trials_are_to_be_run_again() -> None:
    """More of them would not bring back those that were lost."""
    report = a_report(suite("PPPEE", "PPPPP", cases=40), policy=AS_THE_ACTION)

    assert report.gate.verdict is Verdict.INCONCLUSIVE
    assert "run again where the provider gave out" in advice(report)
    assert "Add cases" not in advice(report)
