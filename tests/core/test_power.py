"""What a suite can show, said before and after it was run."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given

from measurements import any_measurements, measured, untimed
from skill_delta.core.inference import DecisionRule, rule_on
from skill_delta.core.intervals import (
    CaseScores,
    Measurement,
    critical_value,
    summarise,
    t_quantile,
)
from skill_delta.core.power import (
    detectable_drop,
    minimum_detectable_drop,
    pass_is_reachable,
    settlement,
)

RULE = DecisionRule()

WORKED = measured("PPP/PPP", "PPF/PPP", "PPF/PPF", "FFF/PPP", "PFF/PFF")


def drop(rate: float, runs: float) -> float:
    q = t_quantile(critical_value(0.90), 24)
    return minimum_detectable_drop(rate, rate * (1 - rate), runs, q)


def test_the_worked_detectable_drop() -> None:
    """Five cases, three repetitions, a baseline of 80 %: a drop of 42 points can be seen."""
    assert drop(0.8, 15) == pytest.approx(0.4151, abs=0.5e-4)


def test_more_runs_detect_smaller_drops() -> None:
    """The price of certainty is visible beforehand."""
    drops = [drop(0.8, runs) for runs in (5, 15, 50, 200, 1000)]

    assert drops == sorted(drops, reverse=True)


def test_repetitions_that_agree_detect_smaller_drops() -> None:
    """Where the spread lies between the cases, pairing takes it out."""
    steady = detectable_drop(summarise(measured("PPP/PPP", "PPP/PPP", "PPP/PPP", "FFF/FFF")), RULE)
    shaky = detectable_drop(summarise(measured("PPF/PPF", "PPF/PPF", "PPP/PPP", "FPP/FPP")), RULE)

    assert steady is not None
    assert shaky is not None
    assert steady < shaky


@pytest.mark.parametrize("measurement", [measured("FF/FF"), measured("PF/PF")], ids=["0", "low"])
def test_a_baseline_too_low_to_drop_has_no_detectable_drop(measurement: Measurement) -> None:
    """Nothing can be seen to fall from the floor, and no small number claims that it could."""
    assert detectable_drop(summarise(measurement), RULE) is None


@untimed
@given(any_measurements)
def test_a_detectable_drop_is_one_that_could_happen(measurement: Measurement) -> None:
    """It is above 0 and not larger than the rate it falls from."""
    summary = summarise(measurement)
    found = detectable_drop(summary, RULE)

    assert found is None or 0 < found <= summary.baseline.rate


@pytest.mark.parametrize(("cases", "repetitions"), [(10, 5), (5, 5), (30, 1), (5, 3), (1, 9)])
def test_reachable_means_that_all_pass_data_pass(cases: int, repetitions: int) -> None:
    """What is promised before spending is what the rule then says."""
    runs = "P" * repetitions
    verdict = rule_on(summarise(measured(*[f"{runs}/{runs}"] * cases)), RULE).verdict

    assert pass_is_reachable(cases, repetitions, RULE) == (verdict == "pass")


def test_five_cases_of_three_cannot_pass_and_of_nine_can() -> None:
    """The defaults reach a pass at `max-repeat` only."""
    looks = DecisionRule(looks=3)

    assert not pass_is_reachable(5, 3, looks)
    assert pass_is_reachable(5, 9, looks)


def test_a_bar_above_zero_is_reached_by_improving() -> None:
    """All-pass data in both arms is no improvement; a failing baseline leaves room for one."""
    assert pass_is_reachable(10, 5, DecisionRule(min_delta=0.3))
    assert not pass_is_reachable(1, 1, DecisionRule(min_delta=0.9))


@pytest.mark.parametrize(("cases", "repetitions"), [(0, 1), (1, 0)])
def test_an_empty_suite_reaches_nothing(cases: int, repetitions: int) -> None:
    """There is no best result of no run."""
    with pytest.raises(ValueError, match="at least one"):
        pass_is_reachable(cases, repetitions, RULE)


def test_all_pass_data_are_settled_by_the_first_size_that_passes() -> None:
    """Nothing varied, so the number named is exactly where the same data would pass."""
    advised = settlement(measured(*["PPP/PPP"] * 5), RULE)

    assert advised.repetitions is not None
    assert pass_is_reachable(5, advised.repetitions, RULE)
    assert not pass_is_reachable(5, advised.repetitions - 1, RULE)
    assert advised.cases is not None
    assert pass_is_reachable(advised.cases, 3, RULE)
    assert not pass_is_reachable(advised.cases - 1, 3, RULE)


def test_the_advised_repetitions_settle_it_about_four_times_out_of_five() -> None:
    """Run as advised, a suite whose true rates are the observed ones decides."""
    observed = measured("PPFF/PPPF", "PFFF/PPFF", "PPPF/PPPP", "PPFF/PPPF", "FFFF/PFFF")
    advised = settlement(observed, RULE).repetitions
    assert advised is not None
    rng = Random(4)

    def again(scores: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(float(rng.random() < sum(scores) / len(scores)) for _ in range(advised))

    decided = sum(
        rule_on(
            summarise(
                Measurement(
                    tuple(CaseScores(again(c.candidate), again(c.baseline)) for c in observed.cases)
                )
            ),
            RULE,
        ).verdict
        != "inconclusive"
        for _ in range(200)
    )

    assert 0.7 <= decided / 200 <= 0.95


def test_a_delta_on_the_very_line_is_never_settled() -> None:
    """With no margin and no change there is no number of runs that tells above from below."""
    unchanged = measured(*["PPF/PFP"] * 6)
    advised = settlement(unchanged, DecisionRule(margin=0.0))

    assert (advised.repetitions, advised.cases) == (None, None)


@untimed
@given(any_measurements)
def test_advice_is_always_more_than_there_was(measurement: Measurement) -> None:
    """A size named is larger than the one measured, for any data and without a NaN."""
    advised = settlement(measurement, RULE)
    most = max(max(len(c.candidate), len(c.baseline)) for c in measurement.cases)

    assert advised.repetitions is None or most < advised.repetitions <= 1000
    assert advised.cases is None or len(measurement.cases) < advised.cases <= 1000
