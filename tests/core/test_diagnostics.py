"""What a comparison says of the suite itself: flags that rest on runs, and decide nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_report, a_transcript, a_trial, runs
from skill_delta.core.diagnostics import CheckFlag, Diagnostics, HighVariance, diagnose
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy, Verdict
from skill_delta.core.trials import CheckResult, Outcome, Role, Scored

Ends: TypeAlias = Sequence[bool | None]
"""How one check ended in each repetition of one arm; None where it could not be evaluated."""

Checks: TypeAlias = Mapping[str, tuple[Ends, Ends]]
"""The checks of one case: how they ended in the candidate, and in the baseline."""


def trials(arm: str, checks: Mapping[str, Ends]) -> list[Scored]:
    """One scored trial per repetition of one arm."""
    return [
        Scored(
            a_trial("case", *checks, arm=arm, repetition=number),
            a_transcript(),
            tuple(
                CheckResult(name, end, "", float(end or 0))
                for name, end in zip(checks, ends, strict=True)
            ),
        )
        for number, ends in enumerate(zip(*checks.values(), strict=True))
    ]


def case(checks: Checks, baseline: str = "none") -> list[Scored]:
    """All trials of one case."""
    ours = {name: ends[0] for name, ends in checks.items()}
    theirs = {name: ends[1] for name, ends in checks.items()}
    return [*trials("candidate", ours), *trials(baseline, theirs)]


def flags(baseline: str = "none", **checks: tuple[Ends, Ends]) -> Diagnostics:
    """The flags of one case whose checks ended so."""
    return diagnosed(case(checks, baseline), baseline)


def diagnosed(outcomes: Sequence[Outcome], baseline: str = "none") -> Diagnostics:
    return diagnose(compare(baseline, outcomes, {}))


def suspect(found: Diagnostics, flag: CheckFlag) -> set[tuple[str, int, str]]:
    """The checks that were flagged so, and what the flag rests on."""
    return {(each.check, each.runs, each.other) for each in found.suspect if each.flag is flag}


YES, NO = [True] * 3, [False] * 3


def test_a_check_that_always_holds_is_low_signal() -> None:
    """It held in every measured repetition of both arms, so it tells them not apart."""
    same = diagnosed(runs(candidate="PP", none="PP"))
    lost = diagnosed(runs(candidate="PE", none="PP"))
    apart = diagnosed(runs(candidate="PP", none="PF"))

    assert [(found.check, found.runs) for found in same.low_signal] == [("contains[0]", 4)]
    assert [(found.check, found.runs) for found in lost.low_signal] == [("contains[0]", 3)]
    assert not apart.low_signal


def test_low_signal_is_told_in_the_order_of_the_checks() -> None:
    """Of thousands of checks those that some run failed are left out, and only those."""
    wanted = [f"contains[{i}]" for i in range(4_000)]
    failed = {"contains[7]", "contains[3999]"}
    outcomes = [
        replace(run, checks=tuple(CheckResult(c, c not in broken, "", 1.0) for c in listed))
        for run, listed, broken in zip(
            runs(candidate="P", none="P"), (wanted, wanted[::-1]), (set(), failed), strict=True
        )
        if isinstance(run, Scored)
    ]

    found = diagnosed(outcomes).low_signal

    assert [signal.check for signal in found] == [check for check in wanted if check not in failed]


def test_a_check_that_never_held_always_fails() -> None:
    """In both arms, in every repetition."""
    (found,) = flags(broken=(NO, NO), fine=(YES, NO)).suspect

    assert (found.check, found.flag, found.runs) == ("broken", CheckFlag.ALWAYS_FAILS, 6)


@pytest.mark.parametrize("baseline", ["none", "previous"])
def test_a_check_that_is_better_in_the_baseline_is_inverse(baseline: str) -> None:
    """Three of three against none of three is one chance in twenty; less than that may be luck."""
    (sure,) = flags(baseline, inverse=(NO, YES)).suspect
    (unsure,) = flags(baseline, inverse=([True, True, False], YES)).suspect

    assert (sure.flag, sure.may_be_chance) == (CheckFlag.INVERSE, False)
    assert (sure.rate_candidate, sure.rate_baseline) == (0.0, 1.0)
    assert unsure.may_be_chance


def test_a_check_that_ends_as_another_does_is_derived() -> None:
    """It names the first of the two; that both always pass is another flag."""
    varies = ([True, False, True], [True, False, True])
    (found,) = flags(first=varies, second=varies, steady=(YES, YES), too=(YES, YES)).suspect

    assert (found.check, found.flag, found.other) == ("second", CheckFlag.DERIVED, "first")


@pytest.mark.parametrize(
    ("ends", "chance"),
    [
        # One way in 3 x 3 to fail the same repetition of each arm; one in 4 x 6.
        (([True, False, True], [False, True, False]), True),
        (([True, True, True, False], [True, True, False, False]), False),
        # Both pass with the skill and fail without it: so do checks of different things.
        (([True] * 9, [False] * 9), True),
    ],
)
def test_checks_that_a_skill_moves_alike_may_be_alike_by_chance(
    ends: tuple[Ends, Ends], chance: bool
) -> None:
    """What tells is that they agree on which repetitions of one arm pass."""
    (found,) = flags(first=ends, second=ends).suspect

    assert found.may_be_chance is chance


def test_a_check_that_was_not_always_evaluated_is_not_flagged() -> None:
    """What it would have said is not known."""
    never_fails = (YES, [True, None, True])
    fails_too = ([False, None, False], NO)
    found = flags(broken=(NO, NO), unknown=never_fails, unknown_too=fails_too)

    assert not found.low_signal
    assert [each.check for each in found.suspect] == ["broken"]


@pytest.mark.parametrize("letters", ["PP", "FF"])
def test_what_one_arm_never_measured_flags_no_check(letters: str) -> None:
    """Half a pair says nothing of a check."""
    found = diagnosed(runs(candidate=letters, none="EE"))

    assert not found.low_signal
    assert not found.suspect


def test_repetitions_that_disagree_are_high_variance() -> None:
    """The seed's numbers: three of five is 60 %, with a population deviation of 0.49."""
    (found,) = diagnosed(runs(candidate="PPPFF", none="PPPPP")).high_variance

    assert found.role is Role.CANDIDATE
    assert found.pass_rate == 0.6
    assert found.stddev == pytest.approx(0.49, abs=0.005)


@pytest.mark.parametrize("letters", ["P", "F", "PPP", "FFF", "PEE", "FE"])
def test_unanimous_repetitions_are_not_high_variance(letters: str) -> None:
    """One run, or several that agree, say nothing of variance."""
    assert not diagnosed(runs(candidate=letters, none=letters)).high_variance


@pytest.mark.parametrize(
    ("passed", "count", "chance"),
    [(2, 3, True), (2, 4, True), (3, 5, False), (5, 10, False), (9, 10, True), (4, 5, True)],
)
def test_repetitions_that_disagree_may_do_so_by_chance(
    passed: int, count: int, chance: bool
) -> None:
    """Fewer than five runs, or a rate that may as well be nearly 0 or 1, tell nothing."""
    found = HighVariance(a_trial().key, Role.CANDIDATE, passed / count, 0.4, count)

    assert found.may_be_chance is chance


@st.composite
def any_checks(draw: st.DrawFn) -> Checks:
    """Up to four checks of one case, in one to four repetitions of each arm."""
    ours, theirs = draw(st.integers(1, 4)), draw(st.integers(1, 4))

    def ends(count: int) -> st.SearchStrategy[list[bool]]:
        return st.lists(st.booleans(), min_size=count, max_size=count)

    names = st.sampled_from(["first", "second", "third", "fourth"])
    return draw(st.dictionaries(names, st.tuples(ends(ours), ends(theirs)), min_size=1))


@given(any_checks(), st.randoms(use_true_random=False))
def test_the_order_of_repetitions_is_irrelevant(checks: Checks, rng: Random) -> None:
    """Trials finish when they finish."""
    outcomes = case(checks)
    found = diagnosed(outcomes)
    rng.shuffle(outcomes)

    assert diagnosed(outcomes) == found


@given(any_checks())
def test_no_check_is_both_low_signal_and_always_failing(checks: Checks) -> None:
    """Nor does one that always ends alike tell nothing beside another."""
    found = diagnosed(case(checks))
    passing = {each.check for each in found.low_signal}
    failing = {check for check, _, _ in suspect(found, CheckFlag.ALWAYS_FAILS)}
    derived = {check for check, _, _ in suspect(found, CheckFlag.DERIVED)}

    assert not passing & failing
    assert not derived & (passing | failing)


@given(any_checks())
def test_swapping_the_arms_keeps_what_is_said_of_both(checks: Checks) -> None:
    """And of two arms a check is better in one at most."""
    found = diagnosed(case(checks))
    swapped = {name: (theirs, ours) for name, (ours, theirs) in checks.items()}
    mirror = diagnosed(case(swapped))

    assert mirror.low_signal == found.low_signal
    assert len(mirror.high_variance) == len(found.high_variance)
    for flag in (CheckFlag.ALWAYS_FAILS, CheckFlag.DERIVED):
        assert suspect(mirror, flag) == suspect(found, flag)
    assert not suspect(mirror, CheckFlag.INVERSE) & suspect(found, CheckFlag.INVERSE)


@given(any_checks(), st.sampled_from(GateMethod))
def test_no_flag_decides(checks: Checks, method: GateMethod) -> None:
    """The gate sees whether a trial passed, and nothing of the checks that flags are about."""
    policy = GatePolicy(method=method, min_pass_rate=None, min_delta={"none": 0.0})
    outcomes = tuple(case(checks))
    told_apart = a_report(outcomes, policy=policy).gate
    at_once = a_report(tuple(map(with_one_check, outcomes)), policy=policy).gate

    assert told_apart.verdict is at_once.verdict
    assert told_apart.exit_code is at_once.exit_code
    assert told_apart.reasons == at_once.reasons


def with_one_check(outcome: Scored) -> Scored:
    """The same trial, had one check asked for everything."""
    passed = all(check.passed for check in outcome.checks)
    return replace(outcome, checks=(CheckResult("everything", passed, "", float(passed)),))


def test_a_suite_with_every_flag_passes_the_gate() -> None:
    """A flag that could block a merge teaches people to ignore flags."""
    varies = ([True, False, True], [True, False, True])
    outcomes = case(
        {
            "low signal": (YES, YES),
            "broken": (NO, NO),
            "inverse": (NO, YES),
            "varies": varies,
            "derived": varies,
        }
    )
    policy = GatePolicy(min_pass_rate=None, min_delta={"none": 0.0})
    unstable = runs("unstable", candidate="PF", none="PF")
    report = a_report((*outcomes, *unstable), policy=policy)
    found = diagnose(report.deltas[0])

    assert {each.flag for each in found.suspect} == {*CheckFlag}
    assert found.low_signal
    assert found.high_variance
    assert report.gate.verdict is Verdict.PASS
