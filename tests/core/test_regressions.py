"""How many cases got worse, and whether chance explains it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb, prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import runs
from measurements import any_measurements, measured, untimed
from skill_delta.core.intervals import CaseScores, Measurement
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.readings import Scope
from skill_delta.core.regressions import Regressions, chance_of_more, count_regressions

INTERVAL = GatePolicy(method=GateMethod.INTERVAL, min_pass_rate=None, fail_on_error=False)
LITERAL = replace(INTERVAL, method=GateMethod.POINT)
FIVE_LOOKS = replace(INTERVAL, looks=Looks(3, 15, Adaptive.RESOLVE))

SCOPE = Scope("previous", "openai")


def regressions(*suite: str, allowed: int = 0, policy: GatePolicy = INTERVAL) -> Regressions:
    """Per case, the candidate's repetitions, a slash, the baseline's."""
    outcomes = [
        outcome
        for number, case in enumerate(suite)
        for ours, theirs in [case.split("/")]
        for outcome in runs(f"case {number}", candidate=ours, previous=theirs)
    ]
    found, _ = count_regressions(SCOPE, compare("previous", outcomes, {}).pairs, allowed, policy)
    return found


def test_by_the_literal_gate_each_case_that_fell_is_counted() -> None:
    """However little; a case that stayed, or has no other half, did not."""
    found = regressions("PPF/PPP", "FFF/FFF", "PPP/FFF", "FFF/EEE", "PF/PPFF", policy=LITERAL)

    assert found == Regressions(SCOPE, 0, 1, exceeds=True)


@pytest.mark.parametrize(
    ("suite", "allowed", "expected"),
    [
        pytest.param(["PPP/PPP"] * 3, 0, (0, False, ""), id="none fell"),
        pytest.param(["FFFFFF/PPPPPP"], 0, (1, True, ""), id="one fell for sure"),
        pytest.param(["FFFFFF/PPPPPP"], 1, (1, False, ""), id="one may"),
        pytest.param(
            ["FFFFFF/PPPPPP", "PPF/PPP"], 1, (2, False, "chance"), id="the second may not"
        ),
        pytest.param(["FFFFFF/PPPPPP"] * 2, 1, (2, True, ""), id="both for sure"),
        pytest.param(["FFFFFF/PPPPPP", *["PF/PP"] * 60], 0, (61, False, "chance"), id="of many"),
        pytest.param(["EEE/PPP"], 0, (0, False, ""), id="nothing comparable"),
        pytest.param(["F/P"], 0, (1, False, "single-shot"), id="single"),
        pytest.param(["PPP/PPP", "EEE/PPP"], 0, (0, False, "lost trials"), id="one was lost"),
        pytest.param(["PPP/PPP", "EEE/PPP"], 1, (0, False, ""), id="one may be lost"),
        pytest.param(["FFFFFF/PPPPPP", "EEE/FFF"], 0, (1, True, ""), id="no loss saves it"),
        pytest.param(["FFFEEE/PPPPPP"], 0, (1, False, "lost trials"), id="a loss could save it"),
    ],
)
def test_by_the_interval_a_bound_is_kept_broken_or_in_doubt(
    suite: list[str], allowed: int, expected: tuple[int, bool, str]
) -> None:
    """Broken only beyond chance, and kept only where nothing unknown could break it."""
    found = regressions(*suite, allowed=allowed)

    assert (found.fell, found.exceeds, found.doubt) == expected


def test_more_planned_looks_ask_for_more_evidence() -> None:
    """Each look is another chance to be wrong."""
    suite = ["FFFFF/PPPPP", *["PPPPF/PPPPF"] * 6]

    assert regressions(*suite).exceeds
    assert not regressions(*suite, policy=FIVE_LOOKS).exceeds


def test_cases_that_always_end_alike_are_no_hypotheses() -> None:
    """They could show no fall, so they make no other fall less surprising."""
    fallen = measured("FFFFF/PPPPP")
    quiet = measured("FFFFF/PPPPP", *["PPPPP/PPPPP"] * 50, *["FFFFF/FFFFF"] * 50)

    assert chance_of_more(fallen, 0) == chance_of_more(quiet, 0) == pytest.approx(1 / 252)


@untimed
@given(any_measurements, st.integers(0, 4))
def test_allowing_more_never_makes_a_fail_likelier(found: Measurement, allowed: int) -> None:
    """A bound that is broken at two is broken at one."""
    assert 0 < chance_of_more(found, allowed) <= chance_of_more(found, allowed + 1) <= 1


RATES = st.floats(0.05, 0.95)


@settings(deadline=None, max_examples=15)
@given(RATES, RATES, st.integers(3, 6))
def test_an_unchanged_suite_breaks_no_bound_more_often_than_it_may(
    first: float, second: float, repetitions: int
) -> None:
    """Every way in which two unchanged cases can end, weighted by its chance."""
    allowed = INTERVAL.rule(SCOPE).error_rate
    broken = 0.0
    for passes in product(range(repetitions + 1), repeat=4):
        suite = measured(
            *(
                "/".join("P" * n + "F" * (repetitions - n) for n in case)
                for case in (passes[:2], passes[2:])
            )
        )
        if chance_of_more(suite, 0) <= allowed:
            rates = (first, first, second, second)
            broken += prod(map(binomial, passes, [repetitions] * 4, rates))

    assert broken <= allowed


def binomial(passes: int, runs: int, rate: float) -> float:
    """The chance of so many passes."""
    return comb(runs, passes) * rate**passes * (1 - rate) ** (runs - passes)


def test_graded_scores_prove_no_fall() -> None:
    """The exact test counts passes."""
    assert chance_of_more(Measurement((CaseScores((0.1,) * 9, (0.9,) * 9),)), 0) == 1.0
