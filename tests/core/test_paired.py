"""The difference between the arms, over the cases that both of them measured."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Cost, runs, unresolved
from skill_delta.core.paired import PairedDelta, compare
from skill_delta.core.trials import Outcome

LETTERS = st.text(alphabet="PFEI", min_size=1, max_size=5)
CASES = st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=6)


def compared(*cases: tuple[Outcome, ...], baseline: str = "previous") -> PairedDelta:
    return compare(baseline, [outcome for case in cases for outcome in case], {})


def case_pairs(letters: list[tuple[str, str]], *, swapped: bool = False) -> PairedDelta:
    return compared(
        *(
            runs(f"case {i}", candidate=ours, previous=theirs)
            for i, (ours, theirs) in enumerate((b, a) if swapped else (a, b) for a, b in letters)
        )
    )


def test_the_delta_is_candidate_minus_baseline() -> None:
    """Five of five against two of five is sixty points better; less of the rest is negative."""
    delta = compared(
        runs(
            candidate="PPPPP",
            previous="PPFFF",
            costs={"candidate": Cost(240, 0.0003, 680), "previous": Cost(300, 0.0005, 800)},
        )
    ).overall

    assert delta.pass_rate_candidate == 1.0
    assert delta.pass_rate_baseline == 0.4
    assert delta.pass_rate == pytest.approx(0.6)
    assert delta.tokens == -60
    assert delta.cost_usd == pytest.approx(-0.0002)
    assert delta.latency_ms == -120


@given(CASES)
def test_swapping_the_arms_mirrors_the_result(letters: list[tuple[str, str]]) -> None:
    """Nothing in the comparison favours either arm."""
    ours = case_pairs(letters).overall
    mirror = case_pairs(letters, swapped=True).overall

    assert ours.comparable_cases == mirror.comparable_cases
    assert ours.pass_rate == (
        None if mirror.pass_rate is None else pytest.approx(-mirror.pass_rate)
    )


@given(CASES, st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_irrelevant(letters: list[tuple[str, str]], rng: Random) -> None:
    """Trials finish when they finish."""
    outcomes = [
        outcome
        for i, (ours, theirs) in enumerate(letters)
        for outcome in runs(f"case {i}", candidate=ours, previous=theirs)
    ]
    shuffled = list(outcomes)
    rng.shuffle(shuffled)

    first, second = compare("previous", outcomes, {}), compare("previous", shuffled, {})

    assert first.overall.comparable_cases == second.overall.comparable_cases
    assert first.overall.pass_rate == pytest.approx(second.overall.pass_rate)


@given(CASES)
def test_a_case_that_one_arm_never_measured_is_in_neither_half(
    letters: list[tuple[str, str]],
) -> None:
    """Dropping such a case changes nothing: half a pair would bias the number."""
    both = [(a, b) for a, b in letters if {*a} & {*"PF"} and {*b} & {*"PF"}]

    with_all, with_both = case_pairs(letters).overall, case_pairs(both).overall

    assert with_all.comparable_cases == len(both)
    assert with_all.pass_rate == with_both.pass_rate


@pytest.mark.parametrize(
    ("candidate", "previous", "reason"),
    [
        ("PP", "EE", "every baseline repetition errored"),
        ("EE", "PP", "every candidate repetition errored"),
        ("EE", "EE", "every candidate repetition errored"),
        ("P", "I", "no baseline repetition could be evaluated in full"),
        ("P", "NN", "no baseline repetition was measured: the ceiling of $1.00 was reached"),
        ("P", "", "no baseline trial ran"),
        ("P", "S", "baseline skipped: an empty skill cannot be offered"),
    ],
)
def test_an_excluded_case_says_why(candidate: str, previous: str, reason: str) -> None:
    """A number that is missing is explained."""
    (pair,) = compared(runs(candidate=candidate, previous=previous)).pairs

    assert not pair.comparable
    assert pair.excluded == reason


@pytest.mark.parametrize(("candidate", "previous"), [("PE", "PF"), ("PN", "EF"), ("PI", "P")])
def test_one_measured_repetition_in_each_arm_is_enough(candidate: str, previous: str) -> None:
    """Lost repetitions are left out; what was measured counts."""
    (pair,) = compared(runs(candidate=candidate, previous=previous)).pairs

    assert pair.comparable


def test_an_unresolved_baseline_excludes_the_skills_cases_with_its_reason() -> None:
    """It is not taken for "no change"."""
    outcomes = runs(skill="greeting", candidate="P")

    delta = compare("previous", outcomes, {"greeting": unresolved("SKILL.md is not tracked")})

    assert delta.pairs[0].excluded == "baseline unresolved: SKILL.md is not tracked"
    assert not delta.ran
    assert delta.overall.pass_rate is None


def test_runners_are_never_mixed() -> None:
    """A runner that got better cannot hide one that got worse."""
    delta = compared(
        runs(runner="scripted", candidate="PP", previous="FF"),
        runs(runner="openai", candidate="F", previous="P"),
        runs("other", runner="command", candidate="P", previous="E"),
    )

    assert [*delta.runners] == ["scripted", "openai", "command"]
    assert delta.runners["scripted"].pass_rate == 1.0
    assert delta.runners["openai"].pass_rate == -1.0
    assert delta.runners["command"].pass_rate is None


def test_an_unknown_price_makes_the_cost_unknown() -> None:
    """Unknown is never zero."""
    delta = compared(
        runs(candidate="P", previous="P", costs={"previous": Cost(cost_usd=None)})
    ).overall

    assert delta.cost_usd is None
    assert delta.tokens == 0
