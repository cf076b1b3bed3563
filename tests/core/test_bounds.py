"""Bounds beside the delta: what a skill may use more, and how many cases may get worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from builders import Cost, Runs, a_report, runs, unresolved
from skill_delta.core.gate import GateVerdict
from skill_delta.core.policy import GateMethod, GatePolicy, Verdict
from skill_delta.core.readings import Measure
from skill_delta.core.skills import Unresolved

NO_BAR = GatePolicy(method=GateMethod.INTERVAL, min_pass_rate=None, fail_on_error=False)
"""No bound at all."""


def cases(suite: Sequence[tuple[str, str]], skill: str = "greeting") -> Runs:
    """Per case, the candidate's and the baseline's repetitions."""
    return tuple(
        outcome
        for number, (ours, theirs) in enumerate(suite)
        for outcome in runs(f"case {number}", skill=skill, candidate=ours, previous=theirs)
    )


def gate(
    *skills: Runs,
    policy: GatePolicy,
    missing: Mapping[str, Mapping[str, Unresolved]] | None = None,
) -> GateVerdict:
    return a_report(*skills, policy=policy, missing=missing, baselines=["previous"]).gate


def texts(found: GateVerdict) -> list[str]:
    return [reason.text for reason in found.reasons]


TOKENS = (
    ((1200, 1500, 1350), (1000, 1100, 1250)),
    ((800, 950, 700), (820, 760, 900)),
    ((4000, 5200, 4100), (3600, 3900, 4500)),
)


def used(tokens: Sequence[tuple[Sequence[int], Sequence[int]]], passed: str = "P") -> Runs:
    """Cases whose repetitions used so many tokens."""
    return tuple(
        replace(outcome, trial=replace(outcome.trial, repetition=repetition))
        for number, (ours, theirs) in enumerate(tokens)
        for arm, amounts in (("candidate", ours), ("previous", theirs))
        for repetition, amount in enumerate(amounts)
        for outcome in runs(f"case {number}", costs={arm: Cost(tokens=amount)}, **{arm: passed})
    )


def bounded(more: float, measure: Measure = Measure.TOKENS) -> GatePolicy:
    return replace(NO_BAR, max_increase={measure: more})


def test_more_tokens_fail_only_beyond_doubt() -> None:
    """The specification's vector: nine per cent more, which may be none."""
    (found,) = gate(used(TOKENS), policy=bounded(0.0)).judged.increases

    assert found.ratio is not None
    assert [round(n, 4) for n in (found.ratio.ratio, found.ratio.low, found.ratio.high)] == [
        1.0950,
        0.9883,
        1.2132,
    ]
    for more in (0.0, 0.2):
        assert gate(used(TOKENS), policy=bounded(more)).verdict is Verdict.PASS


def test_far_more_tokens_fail() -> None:
    """All of the ratio's interval lies above the bar."""
    doubled = [([2 * n for n in ours], theirs) for ours, theirs in TOKENS]
    found = gate(used(doubled), policy=bounded(0.2))

    assert found.verdict is Verdict.FAIL
    (reason,) = texts(found)
    assert reason == (
        "tokens of skill 'order-support' against 'previous': "
        "+119% [+98%, +143%] is more than the allowed +20%"
    )
    assert gate(used(doubled), policy=bounded(1.5)).verdict is Verdict.PASS


def test_an_increase_under_several_runners_names_its_runner() -> None:
    """Which of them grew is the first question."""
    one = [([2 * n for n in ours], theirs) for ours, theirs in TOKENS]
    grown = used(one)
    other = tuple(
        replace(outcome, trial=replace(outcome.trial, runner="scripted"))
        for outcome in used(TOKENS)
    )

    (reason,) = texts(gate(grown, other, policy=bounded(0.2)))
    assert reason == (
        "tokens of skill 'order-support' against 'previous' under runner 'openai': "
        "+119% [+98%, +143%] is more than the allowed +20%"
    )


def test_one_increase_among_many_gates_has_to_be_surer() -> None:
    """Holm's correction is over every gate of one status, whatever it is about."""
    slightly_more = [([round(1.12 * n) for n in ours], theirs) for ours, theirs in TOKENS]
    alone = bounded(0.1)
    among = replace(alone, min_delta={"previous": 0.0})
    unchanged = [cases([("PPP", "PPP")] * 4, f"skill {number}") for number in range(19)]

    assert gate(used(slightly_more), policy=alone).verdict is Verdict.FAIL
    assert all(
        not increase.exceeds
        for increase in gate(used(slightly_more), *unchanged, policy=among).judged.increases
    )


@pytest.mark.parametrize("method", GateMethod)
@pytest.mark.parametrize(
    "measured",
    [
        pytest.param(used([((1200,), (1000,))]), id="too few repetitions"),
        pytest.param(used([((0, 0, 0), (0, 0, 0))]), id="nothing used"),
    ],
)
def test_an_increase_without_an_interval_is_inconclusive(
    measured: Runs, method: GateMethod
) -> None:
    """Unknown is never within the bar."""
    found = gate(measured, policy=replace(bounded(0.5), method=method))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no interval" in texts(found)[0]


def test_an_unknown_price_is_not_within_the_bar() -> None:
    """Nor is it taken for free."""
    unpriced = runs(candidate="PPP", previous="PPP", costs={"previous": Cost(cost_usd=None)})
    found = gate(unpriced, policy=bounded(0.5, Measure.COST))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert "a price is unknown" in texts(found)[0]


BOUNDED = (
    bounded(0.5),
    replace(bounded(0.5), method=GateMethod.POINT),
    replace(NO_BAR, max_regressed_cases=0),
    replace(NO_BAR, max_regressed_cases=0, method=GateMethod.POINT),
)


@pytest.mark.parametrize("policy", BOUNDED, ids=["more", "more, point", "cases", "cases, point"])
def test_a_bound_on_what_was_not_compared_is_not_measured(policy: GatePolicy) -> None:
    """No increase and no regressed case is no news where nothing was compared."""
    for suite in ([("PPP", "EEE")], [("PPP", "S")], [("PPP", "")]):
        found = gate(cases(suite), policy=policy)
        assert found.verdict is Verdict.NOT_MEASURED
    gone = {"previous": {"greeting": unresolved("not a git repository")}}
    lost = gate(runs(skill="greeting", candidate="PPP"), policy=policy, missing=gone)

    assert lost.verdict is Verdict.FAIL
    assert "skill 'greeting' has no resolvable baseline: not a git repository" in texts(lost)


def test_regressed_cases_are_counted_as_the_gate_sees_them() -> None:
    """To the literal gate each that fell; by the interval only where chance explains them not."""
    suite = (("PPPPPP", "PPPPPP"), ("FFFFFF", "PPPPPP"), ("PF", "FF"))
    interval = replace(NO_BAR, max_regressed_cases=0)
    literal = replace(interval, method=GateMethod.POINT)

    for policy in (interval, literal):
        found = gate(cases(suite), policy=policy)
        assert found.verdict is Verdict.FAIL
        assert texts(found) == ["1 case got worse against 'previous', and max-regressed-cases is 0"]
        assert gate(cases(suite), policy=replace(policy, max_regressed_cases=1)).passed


def test_falls_that_may_be_chance_are_neither_a_fail_nor_a_pass() -> None:
    """With twenty cases some fall by chance: nobody is accused, and nothing is called fine."""
    suite = [("PPF", "PPP")] * 20
    found = gate(cases(suite), policy=replace(NO_BAR, max_regressed_cases=0))

    assert found.verdict is Verdict.INCONCLUSIVE
    (reason,) = texts(found)
    assert reason == (
        "20 cases got worse against 'previous' and max-regressed-cases is 0, "
        "but chance alone may explain it"
    )


@pytest.mark.parametrize("suite", [[("FFF", "PPP")] * 5, [("F", "P")] * 5, [("FF", "PP")] * 2])
def test_a_bound_that_no_result_could_break_never_passes_what_breaks_it(
    suite: Sequence[tuple[str, str]],
) -> None:
    """Few repetitions: every case fell as far as it can, and no test calls that beyond chance."""
    found = gate(cases(suite), policy=replace(NO_BAR, max_regressed_cases=0))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert replace(found, inconclusive_passes=False).exit_code == 3


def test_single_runs_keep_within_no_bound() -> None:
    """One run of a case is no evidence that it did not get worse."""
    found = gate(cases([("P", "P")] * 3), policy=replace(NO_BAR, max_regressed_cases=0))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert "one run is no evidence" in texts(found)[0]


@pytest.mark.parametrize("ours", ["EEEEEE", "PPPPEE"])
@pytest.mark.parametrize("policy", BOUNDED[::2], ids=["more", "cases"])
def test_what_the_candidate_lost_keeps_within_no_bound(policy: GatePolicy, ours: str) -> None:
    """A case that gave no answer may be the one that got worse, or the one that used the most."""
    whole = [("PPPPPP", "PPPPPP")] * 2
    assert gate(cases(whole), policy=policy).passed

    found = gate(cases([*whole, (ours, "PPPPPP")]), policy=policy)

    assert found.verdict is Verdict.INCONCLUSIVE
    assert "trials were lost" in texts(found)[0]


def test_an_increase_that_lost_trials_could_take_back_is_in_doubt() -> None:
    """What they would have used is not known in either direction."""
    doubled = [([2 * n for n in ours], theirs) for ours, theirs in TOKENS]
    lost = runs("case 9", candidate="PPP", previous="EEE")

    assert gate(used(doubled), policy=bounded(0.2)).verdict is Verdict.FAIL
    assert gate((*used(doubled), *lost), policy=bounded(0.2)).verdict is Verdict.INCONCLUSIVE


def test_to_the_literal_gate_the_lost_half_of_a_case_is_not_regressed() -> None:
    """A case that one arm never measured has no change to count; `fail-on-error` speaks for it."""
    policy = replace(NO_BAR, max_regressed_cases=0, method=GateMethod.POINT)

    assert gate(cases([("EEE", "PPP"), ("PPP", "PPP")]), policy=policy).passed


@pytest.mark.parametrize("ours", ["EEE", "PPE"])
@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(replace(NO_BAR, min_pass_rate=0.9), id="over all"),
        pytest.param(replace(NO_BAR, skill_min_pass_rate={"greeting": 0.9}), id="of a skill"),
    ],
)
def test_lost_trials_reach_no_pass_rate_by_the_interval(policy: GatePolicy, ours: str) -> None:
    """The case that gave no answer may be the one that fails."""
    whole = [("PPP", "PPP")] * 2
    found = gate(cases([*whole, (ours, "PPP")]), policy=policy)

    assert gate(cases(whole), policy=policy).passed
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "100%, but trials were lost" in texts(found)[0]
    assert gate(cases([("P" * 20, "P")] * 5 + [("PE", "P")]), policy=policy).passed
    lenient = replace(policy, min_pass_rate=0.5, skill_min_pass_rate={})
    assert gate(cases([*whole, (ours, "PPP")]), policy=lenient).passed
    literal = replace(policy, method=GateMethod.POINT)
    assert gate(cases([*whole, (ours, "PPP")]), policy=literal).passed
