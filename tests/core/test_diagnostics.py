"""What a comparison says of the suite itself: flags that rest on runs, and decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_report, a_transcript, a_trial, runs
from skill_delta.core.diagnostics import CheckFlag, FlaggedCheck, flagged_checks, is_chance
from skill_delta.core.paired import HighVariance, compare
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.trials import CheckResult, Role, Scored

Ends = Sequence[bool]


def trials(arm: str, **checks: Ends) -> list[Scored]:
    """One scored trial per repetition, each check ending as it says there."""
    count = len(next(iter(checks.values())))
    return [
        Scored(
            a_trial("case", *checks, arm=arm, repetition=number),
            a_transcript(),
            tuple(
                CheckResult(name, ends[number], "", float(ends[number]))
                for name, ends in checks.items()
            ),
        )
        for number in range(count)
    ]


def flags(baseline: str = "none", **checks: tuple[Ends, Ends]) -> list[FlaggedCheck]:
    """The flags of one case whose checks ended so in the candidate, and so in the baseline."""
    ours = trials("candidate", **{name: ends[0] for name, ends in checks.items()})
    theirs = trials(baseline, **{name: ends[1] for name, ends in checks.items()})
    return list(flagged_checks(compare(baseline, [*ours, *theirs], {})))


YES, NO = [True] * 3, [False] * 3


def test_a_check_that_never_held_always_fails() -> None:
    """In both arms, in every repetition."""
    (found,) = flags(broken=(NO, NO), fine=(YES, NO))

    assert (found.check, found.flag, found.runs) == ("broken", CheckFlag.ALWAYS_FAILS, 6)


def test_a_check_that_passes_more_often_without_the_skill_is_inverse() -> None:
    """Three of three against none of three is one chance in twenty; less than that may be luck."""
    (sure,) = flags(inverse=(NO, YES))
    (unsure,) = flags(inverse=([True, True, False], YES))

    assert (sure.flag, sure.may_be_chance) == (CheckFlag.INVERSE, False)
    assert (sure.rate_candidate, sure.rate_baseline) == (0.0, 1.0)
    assert unsure.may_be_chance


def test_against_an_earlier_version_that_is_a_regression_and_no_flaw_of_the_check() -> None:
    """It is what the check is for."""
    assert not flags("previous", guards=(NO, YES))


def test_a_check_that_ends_as_another_does_is_derived() -> None:
    """It names the first of the two; that both always pass is another flag."""
    varies = ([True, False, True], [False, True, False])
    (found,) = flags("previous", first=varies, second=varies, steady=(YES, YES), too=(YES, YES))

    assert (found.check, found.flag, found.other) == ("second", CheckFlag.DERIVED, "first")


def test_what_one_arm_never_measured_flags_nothing() -> None:
    """Half a pair says nothing of a check."""
    report = a_report(runs(candidate="FF", none="EE"))

    assert flagged_checks(report.deltas[0]) == ()


@pytest.mark.parametrize(
    ("rate", "count", "chance"),
    [(2 / 3, 3, True), (0.6, 5, False), (0.5, 10, False), (0.9, 10, True), (0.8, 5, True)],
)
def test_repetitions_that_disagree_may_do_so_by_chance(
    rate: float, count: int, chance: bool
) -> None:
    """Fewer than five runs, or a rate that may as well be nearly 0 or 1, tell nothing."""
    key = a_trial().key

    assert is_chance(HighVariance(key, Role.CANDIDATE, rate, 0.4, count)) is chance


ENDS = st.lists(st.booleans(), min_size=1, max_size=5)


@given(st.lists(st.tuples(ENDS, ENDS), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_repetitions_is_irrelevant(
    checks: list[tuple[list[bool], list[bool]]], rng: Random
) -> None:
    """And no check is both low-signal and always failing."""
    count = [min(len(arm) for arm in arms) for arms in zip(*checks, strict=True)]
    named = {f"c{n}": (a[: count[0]], b[: count[1]]) for n, (a, b) in enumerate(checks)}
    ours = trials("candidate", **{name: ends[0] for name, ends in named.items()})
    theirs = trials("none", **{name: ends[1] for name, ends in named.items()})
    delta = compare("none", [*ours, *theirs], {})
    rng.shuffle(ours)
    rng.shuffle(theirs)

    assert set(flagged_checks(compare("none", [*ours, *theirs], {}))) == set(flagged_checks(delta))
    failing = {f.check for f in flagged_checks(delta) if f.flag is CheckFlag.ALWAYS_FAILS}
    assert failing.isdisjoint(found.check for found in delta.low_signal)


@given(st.text("PF", min_size=2, max_size=6), st.sampled_from(GateMethod))
def test_no_flag_decides(letters: str, method: GateMethod) -> None:
    """The gate reads passes and fails, and never which check they are from."""
    policy = GatePolicy(method=method, min_pass_rate=None, min_delta={"none": 0.0})
    one = a_report(runs("case", "a", candidate=letters, none=letters), policy=policy)
    two = a_report(runs("case", "a", "b", candidate=letters, none=letters), policy=policy)

    assert one.gate.verdict is two.gate.verdict
