"""What a measured difference allows one to say."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from measurements import any_measurements, measured, pass_fail_measurements, swapped, untimed
from skill_delta.core.inference import (
    DecisionRule,
    Ruling,
    fails_that_stand,
    holm,
    losses_matter,
    p_exact,
    p_regression,
    rule_despite_losses,
    rule_on,
)
from skill_delta.core.intervals import CaseScores, Interval, Measurement, summarise
from skill_delta.core.wording import bounds

WORKED = measured("PPP/PPP", "PPF/PPP", "PPF/PPF", "FFF/PPP", "PFF/PFF")

bars = st.floats(-1, 1)


def ruled(measurement: Measurement, rule: DecisionRule | None = None) -> Ruling:
    return rule_on(summarise(measurement), rule or DecisionRule())


def test_clear_harm_fails() -> None:
    """Every case fell from passing to failing: the whole interval lies below the bar."""
    assert ruled(measured(*["FFF/PPP"] * 4)).verdict == "fail"


def test_clear_gain_passes_as_improved() -> None:
    """The whole interval lies above the bar, and the reader is told so."""
    ruling = ruled(measured(*["PPP/FFF"] * 4))

    assert (ruling.verdict, ruling.note) == ("pass", "improved")


def test_no_change_over_enough_runs_passes_without_a_note() -> None:
    """Fifty agreeing runs of each arm rule out a drop of ten points."""
    ruling = ruled(measured(*["PPPPP/PPPPP"] * 10))

    assert (ruling.verdict, ruling.note) == ("pass", "")


def test_a_small_certain_drop_passes_with_its_note() -> None:
    """A regression that is shown to stay within the margin is tolerated, and named."""
    ruling = ruled(measured(*["P" * 200 + "/" + "P" * 200] * 19, "F" * 200 + "/" + "P" * 200))

    assert (ruling.verdict, ruling.note) == ("pass", "regression within margin")


def test_noise_is_inconclusive() -> None:
    """A drop of 27 points over fifteen runs of each arm can still be nothing."""
    assert ruled(WORKED).verdict == "inconclusive"


@untimed
@given(any_measurements, bars, st.floats(0, 1), st.sampled_from((0.8, 0.9, 0.95)))
def test_a_verdict_is_what_its_interval_says(
    measurement: Measurement, bar: float, margin: float, confidence: float
) -> None:
    """It passes where a drop beyond the margin is ruled out, and fails where no drop is."""
    ruling = ruled(measurement, DecisionRule(bar, margin, confidence))
    line, found = bar - margin, ruling.interval
    assume(min(abs(found.low - line), abs(found.high - bar)) > 1e-9)

    assert (ruling.verdict == "pass") == (found.low > line)
    assert (ruling.verdict == "fail") == (found.low < line and found.high < bar)


@untimed
@given(any_measurements, st.floats(-1, 0), st.integers(1, 5))
def test_identical_arms_never_fail(measurement: Measurement, bar: float, looks: int) -> None:
    """A skill that scored exactly as before is never accused, however few the runs."""
    same = Measurement(tuple(CaseScores(c.candidate, c.candidate) for c in measurement.cases))

    assert ruled(same, DecisionRule(bar, looks=looks)).verdict != "fail"
    assert p_regression(summarise(same), bar) == 0.5


def test_a_bound_that_rounding_moved_is_given_to_the_author() -> None:
    """A lower bound that misses the line by a last bit still passes."""
    low = ruled(WORKED).interval.low

    assert ruled(WORKED, DecisionRule(0.0, -low - 1e-13)).verdict == "pass"
    assert ruled(WORKED, DecisionRule(0.0, -low - 1e-9)).verdict == "inconclusive"


@pytest.mark.parametrize(
    "rule",
    [{"min_delta": 1.5}, {"margin": -0.1}, {"margin": float("nan")}, {"confidence": 1.0}],
    ids=str,
)
def test_an_impossible_rule_is_refused(rule: dict[str, float]) -> None:
    """No rule can be built that would rule nonsense."""
    with pytest.raises(ValueError, match=next(iter(rule))):
        DecisionRule(**rule)  # type: ignore[arg-type]  # none of them is the looks


@untimed
@given(any_measurements, bars, st.floats(0.5, 0.999))
def test_p_regression_and_the_interval_never_disagree(
    measurement: Measurement, bar: float, confidence: float
) -> None:
    """At or below the error rate exactly where the same data fail in one look."""
    rule = DecisionRule(bar, 0.0, confidence)
    p = p_regression(summarise(measurement), bar)
    assume(abs(p - rule.error_rate) > 1e-9)
    upper_bound_below = rule.interval(summarise(measurement)).high < bar - 1e-12

    assert 0 < p <= 0.5
    assert (p < rule.error_rate) == upper_bound_below


def test_lost_trials_that_could_save_the_skill_hold_back_a_fail() -> None:
    """Had the lost runs passed, there would be no harm: so there is none to report."""
    some_lost = measured(*["FFLLL/PPPFF"] * 6)

    assert ruled(some_lost).verdict == "fail"
    assert rule_despite_losses(some_lost, DecisionRule()).verdict == "inconclusive"
    assert rule_despite_losses(some_lost, DecisionRule()).note == "lost trials could change it"


def test_lost_trials_that_could_sink_the_skill_hold_back_a_pass() -> None:
    """A crash of every hard case is not a pass over the easy ones."""
    hard_case_lost = measured(*["PPPPP/PPPPP"] * 10, "LLLLL/PPPPP")

    assert ruled(hard_case_lost).verdict == "pass"
    assert rule_despite_losses(hard_case_lost, DecisionRule()).verdict == "inconclusive"


def test_harm_beyond_what_was_lost_still_fails() -> None:
    """Losing a few trials is no way out of a regression."""
    some_lost = measured(*["FFFFL/PPPPP"] * 10)

    assert losses_matter(some_lost)
    assert rule_despite_losses(some_lost, DecisionRule()).verdict == "fail"


def test_a_tenth_of_the_runs_may_be_lost() -> None:
    """Outages happen: up to a tenth of an arm, spread out, changes no verdict."""
    assert not losses_matter(measured("PPPPL/PPPPP", "PPPPP/PPPPP"))
    assert losses_matter(measured("PPPPL/PPPPP", "PPPPL/PPPPP"))
    assert losses_matter(measured("PPPPP/PPPPL", "PPPPP/PPPPL"))


def test_a_case_left_out_on_purpose_was_not_lost() -> None:
    """A skipped baseline, or one that never was, says nothing about outages."""
    assert not losses_matter(measured("PPP/PPP", "PPP/"))
    assert not losses_matter(measured("PPP/"))
    assert losses_matter(measured(*["PPPPP/PPPPP"] * 10, "PPPPP/L"))


def by_hand(measurement: Measurement) -> float:
    """Deal each case's runs to the arms in every possible way, and count."""
    deals = [_deals(case) for case in measurement.cases]
    sums = [sum(deal) for deal in product(*deals)]
    observed = sum(case.delta for case in measurement.cases)
    return sum(found <= observed + 1e-9 for found in sums) / len(sums)


def _deals(case: CaseScores) -> list[float]:
    runs = (*case.candidate, *case.baseline)
    ours = len(case.candidate)
    chosen = [c for c in product((0, 1), repeat=len(runs)) if sum(c) == ours]
    passes = [sum(x for x, mine in zip(runs, c, strict=True) if mine) for c in chosen]
    return [p / ours - (sum(runs) - p) / len(case.baseline) for p in passes]


@pytest.mark.parametrize(
    "measurement",
    [measured("PF/PP", "FF/PF"), measured("P/PPF", "FF/P", "F/PP"), measured("PPF/PF", "F/PPP")],
    ids=["even", "uneven", "two cases"],
)
def test_the_exact_p_counts_every_way_to_deal_the_runs(measurement: Measurement) -> None:
    """The convolution is a shortcut, not an approximation."""
    assert p_exact(measurement) == pytest.approx(by_hand(measurement), abs=1e-12)


@untimed
@given(pass_fail_measurements)
def test_the_exact_p_of_both_directions_covers_all_deals(measurement: Measurement) -> None:
    """At or below, together with at or above, is everything, and what was observed counts twice."""
    below, above = p_exact(measurement), p_exact(swapped(measurement))

    assert below is not None
    assert above is not None
    assert 1 - 1e-9 <= below + above <= 2


def test_no_exact_p_for_graded_scores_or_nothing() -> None:
    """Permuting passes needs passes to permute."""
    assert p_exact(Measurement((CaseScores((0.5,), (1.0,)),))) is None
    assert p_exact(measured("PPP/")) is None


def test_the_exact_p_of_a_huge_uneven_suite_is_not_attempted() -> None:
    """Where every case lost different runs the sums explode: none is better than no end."""
    cases = [
        f"{'P' * (n % 9)}{'F' * (20 - n % 13)}/{'P' * 7}{'F' * (9 + n % 7)}" for n in range(80)
    ]

    assert p_exact(measured(*cases)) is None


def test_holm_rejects_step_by_step() -> None:
    """The smallest p is held against the whole, each next against what is left."""
    assert holm([0.04, 0.01, 0.03], 0.05) == (False, True, False)
    assert holm([0.01, 0.02, 0.04], 0.05) == (True, True, True)
    assert holm([], 0.05) == ()


def test_a_single_gate_keeps_its_fail() -> None:
    """Pocock's constant has already paid for its looks."""
    assert fails_that_stand([0.02], DecisionRule(looks=3)) == (True,)


def test_several_gates_must_each_be_surer() -> None:
    """A fail that one gate in twenty would show by chance does not stand among three."""
    assert fails_that_stand([0.04, 0.5, 0.5], DecisionRule()) == (False, False, False)
    assert fails_that_stand([0.001, 0.5, 0.5], DecisionRule()) == (True, False, False)
    assert fails_that_stand([0.01, 0.5], DecisionRule(looks=3)) == (False, False)


@untimed
@given(st.lists(st.floats(0, 0.5), max_size=8, unique=True))
def test_the_order_of_the_gates_is_irrelevant(p_values: list[float]) -> None:
    """Holm never rejects a p while it keeps a smaller one, wherever either stands."""
    stand = holm(p_values, 0.05)
    rejected = [p for p, gone in zip(p_values, stand, strict=True) if gone]
    kept = [p for p, gone in zip(p_values, stand, strict=True) if not gone]

    assert holm(p_values[::-1], 0.05) == stand[::-1]
    assert max(rejected, default=0.0) <= min(kept, default=1.0)


@untimed
@given(
    st.lists(st.floats(-1, 1), min_size=2, max_size=2).map(sorted),
    st.integers(-100, 100),
    st.integers(0, 50),
    st.floats(-0.006, 0.006),
)
def test_no_end_is_rounded_onto_what_it_is_said_to_lie_beyond(
    ends: list[float], bar: int, margin: int, nudge: float
) -> None:
    """`[-10%, …]` beside "a drop below -10% is not ruled out" would contradict itself."""
    rule = DecisionRule(bar / 100, margin / 100)
    for low, high in (ends, (rule.min_delta - rule.margin + nudge, rule.min_delta + nudge)):
        shown = bounds(low, high, rule.beyond(Interval(low, low, high)))
        told_low, told_high = (float(end.rstrip("%")) / 100 for end in shown[1:-1].split(", "))
        for line in rule.lines:
            assert told_low < line - 1e-6 or low >= line - 1e-6
            assert told_high < line - 1e-6 or high >= line - 1e-6
        assert told_low > rule.min_delta + 1e-6 or low <= rule.min_delta + 1e-6
