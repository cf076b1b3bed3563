"""One comparison, read: the scores behind it, how sure it is, what the arms used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Cost, Runs, runs, unresolved
from measurements import measured, untimed
from skill_delta.core.inference import DecisionRule
from skill_delta.core.paired import CasePair, pair_by_case
from skill_delta.core.readings import Measure, Reading, measurement_of, read
from skill_delta.core.skills import Unresolved

letters = st.text(alphabet="PFEISN", max_size=4)
suites = st.lists(st.tuples(letters, letters), max_size=5)


def pairs(*cases: Runs, missing: dict[str, Unresolved] | None = None) -> tuple[CasePair, ...]:
    outcomes = [outcome for case in cases for outcome in case]
    return pair_by_case("previous", outcomes, missing or {})


def case(candidate: str, previous: str, number: int = 0) -> Runs:
    return runs(f"case {number}", candidate=candidate, previous=previous)


def reading(*cases: tuple[str, str], rule: DecisionRule | None = None) -> Reading:
    found = read(
        pairs(*(case(ours, theirs, n) for n, (ours, theirs) in enumerate(cases))),
        rule or DecisionRule(),
    )
    assert found is not None
    return found


def test_a_pass_scores_one_and_a_fail_none() -> None:
    """What was started and gave no answer to grade is lost, and is in no mean."""
    assert measurement_of(pairs(case("PFEI", "PPE"))) == measured("PFLL/PPL")


def test_what_was_left_out_on_purpose_is_not_lost() -> None:
    """A skipped or missing baseline is not meant to be measured; an unstarted trial is unpaid."""
    assert measurement_of(pairs(case("PP", "S"))) == measured()
    assert measurement_of(pairs(case("PP", ""))) == measured()
    assert measurement_of(pairs(case("PPN", "PFN"))) == measured("PP/PF")


def test_an_unresolved_baseline_is_nothing_to_measure() -> None:
    """No trial of it was ever planned."""
    gone = pairs(runs(skill="greeting", candidate="PP"), missing={"greeting": unresolved()})

    assert measurement_of(gone) == measured()
    assert read(gone, DecisionRule()) is None


@untimed
@given(suites)
def test_there_is_a_reading_where_a_case_is_comparable(suite: list[tuple[str, str]]) -> None:
    """The pairs and the measurement agree on which cases those are."""
    compared = pairs(*(case(ours, theirs, n) for n, (ours, theirs) in enumerate(suite)))
    found = read(compared, DecisionRule())
    comparable = sum(pair.comparable for pair in compared)

    assert (found is not None) == bool(comparable)
    if found is not None:
        assert len(found.measurement.comparable) == comparable
        assert found.difference.comparable_cases == comparable


@untimed
@given(suites)
def test_whatever_was_measured_can_be_told(suite: list[tuple[str, str]]) -> None:
    """Every number of a reading is one, in its range, however little there is."""
    compared = pairs(*(case(ours, theirs, n) for n, (ours, theirs) in enumerate(suite)))
    found = read(compared, DecisionRule())
    if found is None:
        return

    assert -1 <= found.band.low <= found.band.high <= 1
    assert 0 < found.p_regression <= 0.5
    assert 0 < (found.p_exact or 1.0) <= 1
    assert 0 < (found.detectable_drop or 1.0) <= 1
    assert found.repetitions >= 1
    assert (found.settlement.cases or 1_000) > len(found.measurement.comparable)
    for measure in Measure:
        ratio = found.ratio(measure)
        assert ratio is None or ratio.low <= ratio.ratio <= ratio.high


def test_repetitions_are_those_of_the_best_measured_case() -> None:
    """As often as it was run in both arms; a case that an outage spoiled says nothing of that."""
    assert reading(("PPP", "PPF")).repetitions == 3
    assert reading(("PPP", "P")).repetitions == 1
    assert reading(("PEE", "PPP"), ("PPP", "PPP")).repetitions == 3


def test_the_delta_is_over_case_means_and_the_difference_over_all_runs() -> None:
    """A case that was run more often counts no more, except in the pooled difference."""
    found = reading(("PPPPPP", "PPPPPP"), ("FF", "PP"))

    assert found.interval.delta == -0.5
    assert found.difference.pass_rate == -0.25


def test_the_largest_drop_counts_what_was_lost_against_the_candidate() -> None:
    """Where so much was lost that it matters: the case without an answer may be the worst one."""
    whole = reading(("PPP", "PPP"), ("PPP", "PPP"))
    lost = reading(("PPP", "PPP"), ("PPP", "PPP"), ("EEE", "PPP"))
    failed = reading(("PPP", "PPP"), ("PPP", "PPP"), ("FFF", "PPP"))
    few = reading(*[("P" * 20, "P" * 20)] * 2, ("P" * 19 + "E", "P" * 20))

    assert whole.largest_drop == whole.interval.largest_drop < lost.largest_drop
    assert lost.largest_drop == failed.largest_drop
    assert few.largest_drop == few.interval.largest_drop


TOKENS = (
    ((1200, 1500, 1350), (1000, 1100, 1250)),
    ((800, 950, 700), (820, 760, 900)),
    ((4000, 5200, 4100), (3600, 3900, 4500)),
)


def used(*cases: tuple[tuple[int, ...], tuple[int, ...]]) -> Reading:
    """What each repetition used, which all passed."""
    found = read(
        pairs(
            *(
                tuple(
                    outcome
                    for arm, amounts in (("candidate", ours), ("previous", theirs))
                    for amount in amounts
                    for outcome in runs(
                        f"case {n}",
                        costs={arm: Cost(amount, amount / 1e6, amount / 10)},
                        **{arm: "P"},
                    )
                )
                for n, (ours, theirs) in enumerate(cases)
            )
        ),
        DecisionRule(),
    )
    assert found is not None
    return found


@pytest.mark.parametrize("measure", Measure)
def test_the_ratio_of_what_the_arms_used(measure: Measure) -> None:
    """The specification's vector, whatever the unit."""
    found = used(*TOKENS).ratio(measure)

    assert found is not None
    assert [round(value, 4) for value in (found.ratio, found.low, found.high)] == [
        1.0950,
        0.9883,
        1.2132,
    ]


@pytest.mark.parametrize("measure", Measure)
def test_an_increase_is_as_surprising_as_its_interval_says(measure: Measure) -> None:
    """At the error rate exactly where the interval's lower bound is the bar."""
    found = used(*TOKENS)
    ratio = found.ratio(measure)

    assert ratio is not None
    assert found.p_increase(measure, ratio.low) == pytest.approx(0.05, abs=1e-6)
    assert found.p_increase(measure, 1.2) == 0.5


def test_a_ratio_needs_repetitions_and_amounts() -> None:
    """Three degrees of freedom, and no zero."""
    assert used(((1200,), (1000,)), ((800,), (820,))).ratio(Measure.TOKENS) is None
    assert used(((0, 0, 0), (1, 1, 1))).ratio(Measure.TOKENS) is None
    assert used(((1200, 1300, 1100), (1000,))).p_increase(Measure.TOKENS, 1.0) is None


def test_an_unknown_price_leaves_the_ratio_unknown() -> None:
    """One of them is enough: the mean of the others is another quantity."""
    costs = {"candidate": Cost(cost_usd=None)}
    found = read(pairs(runs(candidate="PPP", previous="PPP", costs=costs)), DecisionRule())

    assert found is not None
    assert found.ratio(Measure.COST) is None
    assert found.ratio(Measure.TOKENS) is not None


def test_a_case_outside_the_comparison_does_not_make_the_price_unknown() -> None:
    """It is in neither half of anything."""
    compared = runs("compared", candidate="PPP", previous="PPP")
    apart = runs("apart", candidate="P", previous="E", costs={"candidate": Cost(cost_usd=None)})
    found = read(pairs(compared, apart), DecisionRule())

    assert found is not None
    assert found.ratio(Measure.COST) is not None
