"""Which comparisons are gated, and what each of them shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Runs, a_report, an_arm, runs
from measurements import untimed
from skill_delta.core.gate import decide
from skill_delta.core.judgements import (
    Evidence,
    Judged,
    all_readings,
    gated_pairs,
    judge,
)
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy, Verdict
from skill_delta.core.readings import Measure, Scope

INTERVAL = GatePolicy(
    method=GateMethod.INTERVAL,
    min_pass_rate=None,
    fail_on_error=False,
    min_delta={"previous": 0.0},
)
LITERAL = replace(INTERVAL, method=GateMethod.POINT)
THREE_LOOKS = replace(INTERVAL, looks=Looks(3, 9, Adaptive.CONFIRM))

SAME = ("PPPPP", "PPPPP")
WORSE = ("FFFFF", "PPPPP")


def cases(
    *suite: tuple[str, str], skill: str = "greeting", runner: str = "openai", of: str = "previous"
) -> Runs:
    return tuple(
        outcome
        for number, (ours, theirs) in enumerate(suite)
        for outcome in runs(
            f"case {number}",
            skill=skill,
            runner=runner,
            costs=None,
            **{"candidate": ours, of: theirs},
        )
    )


def evidence(*skills: Runs, asked: tuple[str, ...] | None = None) -> Evidence:
    outcomes = tuple(outcome for skill in skills for outcome in skill)
    compared = dict.fromkeys((o.trial.arm.baseline, o.trial.skill) for o in outcomes)
    return Evidence(
        outcomes,
        tuple(
            compare(name, [o for o in outcomes if (name, o.trial.skill) in compared], {})
            for name in dict.fromkeys(baseline for baseline, _ in compared if baseline)
        ),
        asked=asked,
    )


def judged(*skills: Runs, policy: GatePolicy = INTERVAL) -> Judged:
    return judge(evidence(*skills), policy)


def test_by_the_interval_one_gate_is_a_skill_a_runner_and_a_baseline() -> None:
    """Each answers for itself."""
    found = evidence(
        cases(SAME),
        cases(SAME, runner="scripted"),
        cases(SAME, skill="refunds"),
        cases(SAME, skill="refunds", of="none"),
    )
    both = replace(INTERVAL, min_delta={"previous": 0.0, "none": 0.0})

    assert {scope for scope, _ in gated_pairs(found, both)} == {
        Scope("previous", "openai", "greeting"),
        Scope("previous", "scripted", "greeting"),
        Scope("previous", "openai", "refunds"),
        Scope("none", "openai", "refunds"),
    }
    assert {s.baseline for s, _ in gated_pairs(found, INTERVAL)} == {"previous"}


def test_literally_one_gate_is_a_runner_and_a_baseline_over_all_skills() -> None:
    """And each skill that has a bar of its own."""
    found = evidence(cases(SAME), cases(SAME, skill="refunds"), cases(SAME, runner="scripted"))
    own = replace(LITERAL, skill_min_delta={"refunds": 0.1})

    assert {scope for scope, _ in gated_pairs(found, LITERAL)} == {
        Scope("previous", "openai"),
        Scope("previous", "scripted"),
    }
    assert {scope for scope, _ in gated_pairs(found, own)} == {
        Scope("previous", "openai"),
        Scope("previous", "scripted"),
        Scope("previous", "openai", "refunds"),
    }


def test_without_a_bar_nothing_is_judged() -> None:
    """A comparison is shown, and decides nothing."""
    for policy in (INTERVAL, LITERAL):
        assert judged(cases(WORSE), policy=replace(policy, min_delta={})) == Judged()


def test_a_skills_own_bar_comes_first() -> None:
    """It is the one that its delta is held against, and that the report names."""
    own = replace(INTERVAL, skill_min_delta={"greeting": -1.0}, margin=0.0)
    (found,) = judged(cases(("PPF", "PPP")), policy=own).judgements

    assert found.reading.rule.min_delta == -1.0
    assert found.verdict is Verdict.PASS


def test_a_bar_that_no_delta_reaches_is_judged_as_one() -> None:
    """A literal bar of 150 % is a person's choice; the interval beside it is still told."""
    (found,) = judged(
        cases(("PP", "FF")), policy=replace(LITERAL, min_delta={"previous": 1.5})
    ).judgements

    assert found.literally is Verdict.FAIL
    assert found.reading.rule.min_delta == 1.0


@pytest.mark.parametrize("bar", [0.1, 1 / 3, 2 / 3 - 1 / 3])
def test_the_literal_bar_is_met_by_equality_however_it_rounds(bar: float) -> None:
    """Both sides are compared to twelve digits."""
    suites = {0.1: ("P" * 3 + "F" * 7, "P" * 2 + "F" * 8)}
    suite = suites.get(bar, ("PPF", "PFF"))
    (found,) = judged(cases(suite), policy=replace(LITERAL, min_delta={"previous": bar})).judgements

    assert found.literally is Verdict.PASS


@pytest.mark.parametrize(
    ("suite", "adaptive", "undecided"),
    [
        (("PPF", "PPP"), Adaptive.CONFIRM, True),
        (("PPF", "PPF"), Adaptive.CONFIRM, False),
        (("PPF", "PPF"), Adaptive.RESOLVE, True),
        (("PPF", "PPP"), Adaptive.OFF, False),
        (("P", "P"), Adaptive.RESOLVE, True),
        (("FFF", "PPP"), Adaptive.RESOLVE, False),
    ],
)
def test_what_is_to_be_looked_at_again(
    suite: tuple[str, str], adaptive: Adaptive, undecided: bool
) -> None:
    """While a regression is possible and not proven, or until it is decided."""
    policy = replace(INTERVAL, looks=Looks(3, 9, adaptive))
    found = judged(cases(*[suite] * 3), policy=policy).undecided(policy)

    assert found == ({Scope("previous", "openai", "greeting")} if undecided else set())


def test_the_literal_gate_never_looks_again() -> None:
    """It has an answer, whatever it is worth."""
    policy = replace(LITERAL, looks=Looks(3, 9, Adaptive.RESOLVE))

    assert not judged(cases(("PPF", "PPP")), policy=policy).undecided(policy)


def test_only_the_undecided_gates_are_looked_at_again() -> None:
    """A skill that failed, and one that passed, are known."""
    found = judged(
        cases(*[WORSE] * 4),
        cases(*[SAME] * 20, skill="refunds"),
        cases(("PPF", "PPP"), skill="unclear"),
        policy=THREE_LOOKS,
    )

    assert found.undecided(THREE_LOOKS) == {Scope("previous", "openai", "unclear")}


def test_a_fail_that_may_be_chance_is_looked_at_again() -> None:
    """One of several gates is not proven yet."""
    weak = cases(("PPF", "PPP"), ("FFF", "PPF"), ("FFF", "PPP"), ("PPF", "PPP"), skill="weak")
    others = [cases(*[SAME] * 20, skill=f"skill {n}") for n in range(60)]
    found = judged(weak, *others, policy=THREE_LOOKS)

    assert judged(weak, policy=THREE_LOOKS).judgements[0].verdict is Verdict.FAIL
    assert found.undecided(THREE_LOOKS) == {Scope("previous", "openai", "weak")}


suites = st.lists(
    st.tuples(st.text("PFE", min_size=1, max_size=4), st.text("PFE", min_size=1, max_size=4)),
    min_size=1,
    max_size=4,
)


@untimed
@given(st.lists(suites, min_size=1, max_size=4))
def test_more_gates_only_weaken_a_fail(skills: Sequence[Sequence[tuple[str, str]]]) -> None:
    """Every verdict but a fail is what it would be alone; a fail stands or becomes doubtful."""
    together = judged(*(cases(*s, skill=f"skill {n}") for n, s in enumerate(skills)))
    alone = {
        j.scope: j
        for n, suite in enumerate(skills)
        for j in judged(cases(*suite, skill=f"skill {n}")).judgements
    }

    assert {j.scope for j in together.judgements} == set(alone)
    for found in together.judgements:
        before = alone[found.scope]
        if found.ruling.note == "one of several gates":
            assert before.verdict is Verdict.FAIL
        else:
            assert found.ruling == before.ruling


def bounded(skills: Evidence) -> set[tuple[str, str]]:
    policy = replace(INTERVAL, max_increase={Measure.TOKENS: 0.5}, max_regressed_cases=0)
    return {(i.scope.baseline, i.scope.skill) for i in judge(skills, policy).increases}


def test_a_bound_is_about_the_baselines_that_were_asked_for() -> None:
    """A new skill is compared with none by itself: it was not there to grow, or to get worse."""
    changed, added = cases(SAME), cases(("FFFFF", "PPPPP"), skill="added", of="none")

    assert bounded(evidence(changed, added)) == {("previous", "greeting"), ("none", "added")}
    assert bounded(evidence(changed, added, asked=("previous",))) == {("previous", "greeting")}
    no_worse = replace(INTERVAL, min_delta={}, method=GateMethod.POINT, max_regressed_cases=0)
    assert decide(evidence(added), no_worse).verdict is Verdict.FAIL
    assert decide(evidence(added, asked=("previous",)), no_worse).verdict is Verdict.PASS


def test_every_comparison_is_read_gated_or_not() -> None:
    """A report shows how sure each is: per runner, over all skills and for each."""
    found = all_readings(
        evidence(cases(SAME), cases(WORSE, skill="refunds"), cases(("P", "E"), skill="lost")),
        replace(INTERVAL, min_delta={}),
        {},
    )

    assert set(found) == {
        Scope("previous", "openai"),
        Scope("previous", "openai", "greeting"),
        Scope("previous", "openai", "refunds"),
    }
    assert found[Scope("previous", "openai")].interval.delta == -0.5


def test_the_cases_that_the_pull_request_left_alone_are_read_apart() -> None:
    """Whoever rewrites the failing case cannot hide what the others say."""
    edited = evidence(cases(("PPP", "FFF"), ("FFF", "PPP")), cases(SAME, skill="refunds"))
    found = all_readings(edited, INTERVAL, {"greeting": frozenset({"case 1"})})
    scope = Scope("previous", "openai", "greeting")

    assert found[scope].interval.delta == 0.0
    assert found[replace(scope, untouched=True)].interval.delta == -1.0
    assert found[Scope("previous", "openai", untouched=True)].interval.delta == -0.5
    assert Scope("previous", "openai", "refunds", untouched=True) not in found


def test_an_evidence_knows_its_candidate_and_whether_it_is_whole() -> None:
    """One trial that never ran is enough to say so."""
    whole, cut = evidence(cases(("PP", "PP"))), evidence(cases(("PN", "PP")))

    assert {o.trial.arm for o in whole.candidate} == {an_arm(skill="greeting")}
    assert (whole.cut_short, cut.cut_short) == (False, True)


def test_judging_twice_says_the_same() -> None:
    """The report's judgements are the gate's own."""
    report = a_report(cases(WORSE), policy=INTERVAL)

    assert report.gate.judged == judge(Evidence(report.outcomes, report.deltas), INTERVAL)
