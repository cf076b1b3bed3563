"""The interval says how far the measured difference can be from the true one."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurements import (
    any_measurements,
    evenly_repeated_measurements,
    measured,
    swapped,
    unanimous_measurements,
    untimed,
    with_an_agreeing_repetition,
)
from skill_delta.core.inference import DecisionRule, p_exact, p_regression, rule_on
from skill_delta.core.intervals import (
    POCOCK,
    CaseAmounts,
    CaseScores,
    Interval,
    Measurement,
    critical_value,
    newcombe_interval,
    population_band,
    ratio_interval,
    summarise,
    t_quantile,
    wilson_interval,
)

VECTORS: dict[str, Any] = json.loads(
    Path(__file__).with_name("interval_vectors.json").read_text(encoding="utf-8")
)

FOUR_DECIMALS = 0.500001e-4

Z_90 = critical_value(0.90)

WORKED = measured("PPP/PPP", "PPF/PPP", "PPF/PPF", "FFF/PPP", "PFF/PFF")

TOKENS = (
    CaseAmounts((1200, 1500, 1350), (1000, 1100, 1250)),
    CaseAmounts((800, 950, 700), (820, 760, 900)),
    CaseAmounts((4000, 5200, 4100), (3600, 3900, 4500)),
)


def vector(name: str) -> Measurement:
    arms = zip(VECTORS[name]["candidate"], VECTORS[name]["baseline"], strict=True)
    return Measurement(tuple(CaseScores(tuple(ours), tuple(theirs)) for ours, theirs in arms))


def interval(measurement: Measurement, z: float = Z_90) -> Interval:
    return newcombe_interval(summarise(measurement), z)


def everything_said_about(measurement: Measurement) -> dict[str, object]:
    """All numbers of a test vector, at 90 % and 95 % confidence."""
    summary = summarise(measurement)
    at_90, at_95 = interval(measurement), interval(measurement, critical_value(0.95))
    band = population_band(measurement, 0.90)
    return {
        "pc": summary.candidate.rate,
        "pb": summary.baseline.rate,
        "delta": summary.delta,
        "nc": summary.candidate.effective_runs,
        "nb": summary.baseline.effective_runs,
        "nu": summary.degrees_of_freedom,
        "deff": summary.design_effect,
        "lo": at_90.low,
        "hi": at_90.high,
        "lo95": at_95.low,
        "hi95": at_95.high,
        "pop_lo": band.low,
        "pop_hi": band.high,
        "verdict": rule_on(summary, DecisionRule()).verdict,
        "p_regression": p_regression(summary),
        "p_exact": p_exact(measurement),
    }


@pytest.mark.parametrize("name", VECTORS)
def test_every_vector_is_met_to_four_decimals(name: str) -> None:
    """The method is the one that was specified, whatever the shape of the data."""
    assert everything_said_about(vector(name)) == {
        key: pytest.approx(value, abs=FOUR_DECIMALS) if isinstance(value, float) else value
        for key, value in VECTORS[name]["expected_90"].items()
    }


def test_three_planned_looks_widen_the_worked_example() -> None:
    """Looking at the data more than once costs width, so that it does not cost false alarms."""
    found = interval(WORKED, critical_value(0.90, looks=3))

    assert found.low == pytest.approx(-0.5296, abs=FOUR_DECIMALS)
    assert found.high == pytest.approx(0.0624, abs=FOUR_DECIMALS)


def test_the_largest_drop_is_the_far_end_of_the_interval() -> None:
    """A reader is told how bad it could be, and 0 where the interval excludes any drop."""
    assert interval(WORKED).largest_drop == pytest.approx(0.4904, abs=FOUR_DECIMALS)
    assert interval(measured(*["PPP/FFF"] * 4)).largest_drop == 0.0


@untimed
@given(any_measurements)
def test_swapping_the_arms_mirrors_the_interval(measurement: Measurement) -> None:
    """Nothing in the comparison favours either arm."""
    ours, mirror = interval(measurement), interval(swapped(measurement))

    assert mirror.delta == -ours.delta
    assert mirror.low == pytest.approx(-ours.high, abs=1e-9)
    assert mirror.high == pytest.approx(-ours.low, abs=1e-9)


@untimed
@given(any_measurements, st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_irrelevant(measurement: Measurement, rng: Random) -> None:
    """Which case or repetition finished first cannot reach even the last bit of any number."""

    def shuffled(scores: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(rng.sample(scores, len(scores)))

    cases = [CaseScores(shuffled(c.candidate), shuffled(c.baseline)) for c in measurement.cases]
    rng.shuffle(cases)

    assert everything_said_about(Measurement(tuple(cases))) == everything_said_about(measurement)


@untimed
@given(any_measurements, st.floats(0.01, 0.9999), st.integers(1, 5))
def test_no_data_give_nonsense(measurement: Measurement, confidence: float, looks: int) -> None:
    """One case, one repetition, all pass, graded, uneven: always numbers, in order, in [-1, 1]."""
    found = interval(measurement, critical_value(confidence, looks))

    assert -1 <= found.low <= found.delta <= found.high <= 1
    said = everything_said_about(measurement).values()
    assert not any(isnan(value) for value in said if isinstance(value, float))


@untimed
@given(st.one_of(evenly_repeated_measurements, unanimous_measurements), st.integers(1, 5))
def test_one_agreeing_repetition_of_every_case_never_widens(
    measurement: Measurement, looks: int
) -> None:
    """More of the same evidence is never less, at any number of cases and planned looks."""
    z = critical_value(0.90, looks)
    before, after = interval(measurement, z), interval(with_an_agreeing_repetition(measurement), z)

    assert before.low - 1e-9 <= after.low
    assert after.high <= before.high + 1e-9


@untimed
@given(any_measurements)
def test_the_design_effect_never_widens_a_comparison(measurement: Measurement) -> None:
    """Pairing by case takes noise out of the difference and never puts any in."""
    assert 0 < summarise(measurement).design_effect <= 1


def test_a_case_that_one_arm_never_measured_is_in_neither_half() -> None:
    """Half a pair is no evidence: the numbers are those without it."""
    assert interval(measured("PPF/PPP", "PPP/", "/FFF")) == interval(measured("PPF/PPP"))


def test_nothing_comparable_has_no_summary_and_no_band() -> None:
    """There is no number for a comparison that did not happen."""
    with pytest.raises(ValueError, match="no case is comparable"):
        summarise(measured("PPP/"))
    with pytest.raises(ValueError, match="no case is comparable"):
        population_band(measured("PPP/"), 0.90)


@pytest.mark.parametrize("score", [-0.1, 1.1, float("nan")])
def test_a_score_outside_its_range_is_refused(score: float) -> None:
    """A value that is no score would quietly spoil every number after it."""
    with pytest.raises(ValueError, match="outside"):
        CaseScores((score,), (1.0,))


def test_a_negative_number_of_lost_runs_is_refused() -> None:
    """Trials can be lost, not gained."""
    with pytest.raises(ValueError, match="negative"):
        CaseScores((1.0,), (1.0,), candidate_lost=-1)


@pytest.mark.parametrize("confidence", POCOCK)
def test_each_planned_look_raises_the_critical_value(confidence: float) -> None:
    """More looks ask more, and never more than Bonferroni would."""
    values = [critical_value(confidence, looks) for looks in range(1, 6)]
    bonferroni = [critical_value(1 - (1 - confidence) / looks) for looks in range(1, 6)]

    assert values == sorted(values)
    assert all(ours <= theirs + 5e-4 for ours, theirs in zip(values, bonferroni, strict=True))


def test_an_untabulated_confidence_shares_its_errors_among_the_looks() -> None:
    """Bonferroni's bound holds where Pocock's table ends."""
    assert critical_value(0.99, looks=2) == pytest.approx(critical_value(0.995))


@pytest.mark.parametrize(("confidence", "looks"), [(0.0, 1), (1.0, 1), (0.9, 0), (0.9, 6)])
def test_an_impossible_plan_is_refused(confidence: float, looks: int) -> None:
    """Certainty, or more looks than the table holds, cannot be had."""
    with pytest.raises(ValueError, match=r"confidence|looks"):
        critical_value(confidence, looks)


@pytest.mark.parametrize(
    ("degrees", "tabulated"), [(4, 2.132), (8, 1.860), (24, 1.711), (84, 1.663)]
)
def test_the_t_quantile_is_the_tabulated_one(degrees: int, tabulated: float) -> None:
    """The expansion agrees with printed tables to three decimals."""
    assert t_quantile(Z_90, degrees) == pytest.approx(tabulated, abs=0.0006)


def test_too_few_degrees_of_freedom_are_refused() -> None:
    """Below three the expansion is not a quantile any more."""
    with pytest.raises(ValueError, match="degrees"):
        t_quantile(Z_90, 2)


@untimed
@given(st.floats(0, 1), st.floats(0, 1e6))
def test_a_wilson_interval_holds_its_rate(rate: float, kappa: float) -> None:
    """At 0, at 1 and in between, the rate lies inside and the interval inside [0, 1]."""
    low, high = wilson_interval(rate, kappa)

    assert 0 <= low <= rate <= high <= 1


def test_the_worked_token_ratio() -> None:
    """Nine runs of each arm, a tenth more tokens, and it could be nothing."""
    found = ratio_interval(TOKENS, Z_90)

    assert found is not None
    assert found.ratio == pytest.approx(1.0950, abs=FOUR_DECIMALS)
    assert found.low == pytest.approx(0.9883, abs=FOUR_DECIMALS)
    assert found.high == pytest.approx(1.2132, abs=FOUR_DECIMALS)


def test_a_ratio_has_no_unit() -> None:
    """Seconds or milliseconds, dollars or cents: the same ratio."""
    rescaled = [
        CaseAmounts(tuple(x / 1e6 for x in c.candidate), tuple(x / 1e6 for x in c.baseline))
        for c in TOKENS
    ]
    ours, theirs = ratio_interval(TOKENS, Z_90), ratio_interval(rescaled, Z_90)

    assert ours is not None
    assert theirs is not None
    assert theirs.low == pytest.approx(ours.low)
    assert theirs.high == pytest.approx(ours.high)


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [CaseAmounts((1.0,), (1.0,))] * 9,
        [CaseAmounts((1.0, 2.0), (1.0, 2.0))],
        [CaseAmounts((1.0, 2.0, 3.0), ())],
        [CaseAmounts((1.0, 2.0, 0.0), (1.0, 2.0, 3.0))],
    ],
    ids=["nothing", "no repetition", "two degrees", "one arm", "a free run"],
)
def test_too_little_to_tell_a_ratio(cases: list[CaseAmounts]) -> None:
    """Without repetitions to judge by, or with a zero, there is no ratio rather than a bad one."""
    assert ratio_interval(cases, Z_90) is None


def test_a_ratio_never_overflows() -> None:
    """A wild spread at near certainty gives a wide interval and no error."""
    wild = [CaseAmounts((1e-9, 1e12), (1e12, 1e-9)), CaseAmounts((1.0, 1.0), (1.0,))]
    found = ratio_interval(wild, critical_value(1 - 1e-15))

    assert found is not None
    assert 0 < found.low < found.ratio < found.high < float("inf")
