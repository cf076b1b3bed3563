"""The interval gate as a whole: what it passes, fails, cannot tell, and did not measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import Runs, a_report, runs, unresolved
from measurements import untimed
from skill_delta.core.gate import GateVerdict, decide
from skill_delta.core.judgements import Evidence, Judgement
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy, Reason, Verdict
from skill_delta.core.readings import Measure
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import NotRun
from skill_delta.errors import ExitCode

NO_DROP = GatePolicy(
    method=GateMethod.INTERVAL,
    min_pass_rate=None,
    fail_on_error=False,
    min_delta={"previous": 0.0},
)
"""The gate of a pull request."""

NO_BAR = replace(NO_DROP, min_delta={})
LITERAL = replace(NO_DROP, method=GateMethod.POINT)
BOTH = (NO_DROP, LITERAL)

Suite: TypeAlias = Sequence[tuple[str, str]]
"""Per case, the candidate's and the baseline's repetitions."""

WORKED = (("PPP", "PPP"), ("PPF", "PPP"), ("PPF", "PPF"), ("FFF", "PPP"), ("PFF", "PFF"))
WORSE = (("FFF", "PPP"),) * 4
SAME = (("PPPPP", "PPPPP"),) * 10

letters = st.text(alphabet="PFEI", min_size=1, max_size=5)
suites = st.lists(st.tuples(letters, letters), min_size=1, max_size=6)
measured_letters = st.text(alphabet="PF", min_size=1, max_size=5)
measured_suites = st.lists(st.tuples(measured_letters, measured_letters), min_size=1, max_size=6)
bars = st.floats(-1, 1)
policies = st.builds(
    lambda bar, margin, confidence, looks: replace(
        NO_DROP, min_delta={"previous": bar}, margin=margin, confidence=confidence, looks=looks
    ),
    bars,
    st.floats(0, 1),
    st.sampled_from((0.8, 0.9, 0.95, 0.99)),
    st.builds(lambda planned: Looks(1, planned, Adaptive.RESOLVE), st.integers(1, 5)),
)


def cases(suite: Suite, skill: str = "greeting", runner: str = "openai") -> Runs:
    return tuple(
        outcome
        for number, (ours, theirs) in enumerate(suite)
        for outcome in runs(
            f"case {number}", skill=skill, runner=runner, candidate=ours, previous=theirs
        )
    )


def gate(
    *skills: Runs,
    policy: GatePolicy = NO_DROP,
    missing: dict[str, dict[str, Unresolved]] | None = None,
    baselines: Sequence[str] | None = None,
) -> GateVerdict:
    return a_report(*skills, policy=policy, missing=missing, baselines=baselines).gate


def judgement(suite: Suite, policy: GatePolicy = NO_DROP) -> Judgement:
    (found,) = gate(cases(suite), policy=policy).judgements
    return found


def texts(found: GateVerdict) -> list[str]:
    return [reason.text for reason in found.reasons]


def mirrored(suite: Suite) -> Suite:
    return [(theirs, ours) for ours, theirs in suite]


def test_the_worked_example_is_inconclusive() -> None:
    """The specification's numbers, through the whole gate."""
    found = gate(cases(WORKED))
    (judged,) = found.judgements
    interval = judged.reading.interval

    assert found.verdict is Verdict.INCONCLUSIVE
    assert round(interval.delta, 4) == -0.2667
    assert (round(interval.low, 4), round(interval.high, 4)) == (-0.4904, 0.0037)
    assert round(judged.reading.p_regression, 4) == 0.0523
    assert round(judged.reading.p_exact or 0, 4) == 0.1060
    (reason,) = texts(found)
    assert reason == (
        "pass-rate delta -26.7% [-49%, +0%] is within the noise: "
        "neither +0% nor a drop below -10% is ruled out"
    )


def test_planned_looks_widen_the_interval() -> None:
    """Who looks three times may err three times: Pocock's constant pays for it."""
    three_looks = replace(NO_DROP, looks=Looks(3, 9, Adaptive.CONFIRM))
    interval = judgement(WORKED, three_looks).reading.interval

    assert (round(interval.low, 4), round(interval.high, 4)) == (-0.5296, 0.0624)


def test_the_literal_gate_answers_beside_the_interval() -> None:
    """A reader sees what the bare difference alone would have said, and when that is noise."""
    by_interval, literal = judgement(WORKED), judgement(WORKED, LITERAL)

    assert (by_interval.verdict, by_interval.literally) == (Verdict.INCONCLUSIVE, Verdict.FAIL)
    assert (literal.verdict, literal.literally) == (Verdict.FAIL, Verdict.FAIL)
    assert literal.is_within_noise
    assert not judgement(WORSE, LITERAL).is_within_noise


def test_harm_fails_and_no_harm_passes() -> None:
    """Fail only on evidence of harm, pass only on evidence of none."""
    worse, same, better = gate(cases(WORSE)), gate(cases(SAME)), gate(cases(mirrored(WORSE)))

    assert (worse.verdict, worse.exit_code) == (Verdict.FAIL, ExitCode.FAILED)
    assert (same.verdict, same.exit_code) == (Verdict.PASS, ExitCode.PASSED)
    assert (better.verdict, better.judgements[0].ruling.note) == (Verdict.PASS, "improved")
    assert texts(worse) == ["pass-rate delta -100% [-100%, -72%] lies below the required +0%"]


def test_a_delta_on_the_bar_that_proves_nothing_shows_no_regression() -> None:
    """The heading is not the one of a skill that may have become worse."""
    found = gate(cases([("PPF", "PPF")] * 3))

    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.shows_no_regression
    assert not gate(cases(WORKED)).shows_no_regression
    assert not gate(cases(SAME)).shows_no_regression


@untimed
@given(suites, policies)
def test_whatever_was_measured_has_a_verdict_and_its_bounds(
    suite: Suite, policy: GatePolicy
) -> None:
    """One case, one run, all passed, all failed, lost and uneven runs: numbers, and no crash."""
    found = gate(cases(suite), policy=policy)
    comparable = any({*ours} & {*"PF"} and {*theirs} & {*"PF"} for ours, theirs in suite)

    assert len(found.judgements) == comparable
    assert comparable or found.verdict is Verdict.NOT_MEASURED
    for judged in found.judgements:
        interval, bar = judged.reading.interval, policy.min_delta["previous"]
        assert -1 <= interval.low <= interval.delta <= interval.high <= 1
        assert 0 < judged.reading.p_regression <= 0.5
        if judged.verdict is Verdict.PASS:
            assert interval.low >= bar - policy.margin - 1e-9
        if judged.verdict is Verdict.FAIL:
            assert interval.high < bar
            assert interval.low < bar - policy.margin


@untimed
@given(measured_suites, st.sampled_from((0.0, 0.1)))
def test_swapping_the_arms_mirrors_the_interval(suite: Suite, margin: float) -> None:
    """Nothing favours either arm: what fails one way round is an improvement the other."""
    policy = replace(NO_DROP, margin=margin, min_repeats=1)
    ours, mirror = judgement(suite, policy), judgement(mirrored(suite), policy)
    interval, other = ours.reading.interval, mirror.reading.interval
    assume(abs(interval.high) > 1e-9)

    assert other.delta == pytest.approx(-interval.delta, abs=1e-12)
    assert other.low == pytest.approx(-interval.high, abs=1e-12)
    assert other.high == pytest.approx(-interval.low, abs=1e-12)
    if ours.verdict is Verdict.FAIL:
        assert mirror.ruling.note == "improved"
    if mirror.ruling.note == "improved" and interval.low < -margin - 1e-9:
        assert ours.verdict is Verdict.FAIL


def of_one_arrival(outcomes: Runs) -> tuple[object, ...]:
    found = decide(Evidence(outcomes, (compare("previous", outcomes, {}),)), NO_DROP)
    return tuple(
        (
            judged.scope,
            judged.ruling,
            judged.reading.p_regression,
            judged.reading.p_exact,
            [judged.reading.ratio(measure) for measure in Measure],
        )
        for judged in sorted(found.judgements, key=lambda judged: judged.scope.skill)
    )


@untimed
@given(suites, suites, st.randoms(use_true_random=False))
def test_the_order_of_arrival_is_irrelevant(first: Suite, second: Suite, rng: Random) -> None:
    """To the last digit, of p values too: trials finish when they finish."""
    outcomes = [*cases(first, "greeting"), *cases(second, "refunds")]
    as_planned = of_one_arrival(tuple(outcomes))
    rng.shuffle(outcomes)

    assert of_one_arrival(tuple(outcomes)) == as_planned


@untimed
@given(st.lists(st.lists(letters, min_size=1, max_size=4), min_size=1, max_size=4), policies)
def test_skills_that_scored_exactly_as_before_are_never_failed(
    skills: Sequence[Sequence[str]], policy: GatePolicy
) -> None:
    """However few the runs and however many the skills, identical arms are no regression."""
    assume(policy.min_delta["previous"] <= 0)
    found = gate(
        *(
            cases([(case, case) for case in suite], f"skill {number}")
            for number, suite in enumerate(skills)
        ),
        policy=policy,
    )

    assert found.verdict is not Verdict.FAIL


unanimous_suites = st.lists(
    st.tuples(st.sampled_from("PF"), st.sampled_from("PF"), st.integers(1, 5)),
    min_size=1,
    max_size=6,
)


@untimed
@given(unanimous_suites)
def test_an_agreeing_repetition_of_every_case_never_widens(
    suite: Sequence[tuple[str, str, int]],
) -> None:
    """More of the same is more evidence."""
    policy = replace(NO_DROP, min_repeats=1)
    before = judgement([(a * n, b * n) for a, b, n in suite], policy).reading.interval
    after = judgement([(a * (n + 1), b * (n + 1)) for a, b, n in suite], policy).reading.interval

    assert after.low >= before.low - 1e-12
    assert after.high <= before.high + 1e-12


@untimed
@given(measured_suites, policies)
def test_an_unrelated_skill_that_passes_never_makes_a_fail(
    suite: Suite, policy: GatePolicy
) -> None:
    """More gates only ask for more certainty of each."""
    alone = gate(cases(suite), policy=policy)
    beside = gate(cases(suite), cases([("PPPPP", "FFFFF")] * 4, "better"), policy=policy)

    if alone.verdict is not Verdict.FAIL:
        assert beside.verdict is not Verdict.FAIL


def many_skills(worst: Suite) -> list[Runs]:
    return [cases(worst, "worst"), *(cases(SAME[:4], f"skill {n}") for n in range(19))]


def test_one_weak_fail_among_twenty_gates_does_not_stand() -> None:
    """One of twenty fails by chance: it is told as what it is."""
    weak = (("PPF", "PPP"), ("FFF", "PPF"), ("PFF", "PPP"), ("PPF", "PPP"))
    alone, among = gate(cases(weak)), gate(*many_skills(weak))
    found = next(j for j in among.judgements if j.scope.skill == "worst")

    assert alone.verdict is Verdict.FAIL
    assert (found.verdict, found.ruling.note) == (Verdict.INCONCLUSIVE, "one of several gates")
    assert among.verdict is Verdict.INCONCLUSIVE
    assert any("one of several gates" in text for text in texts(among))


def test_a_strong_fail_among_twenty_gates_stands() -> None:
    """A skill that broke is not hidden by those that did not."""
    among = gate(*many_skills(WORSE))

    assert among.verdict is Verdict.FAIL
    assert [j.scope.skill for j in among.judgements if j.verdict is Verdict.FAIL] == ["worst"]


def test_the_runs_verdict_is_the_worst_of_its_gates() -> None:
    """One gate per skill and runner: what improved carries nothing that broke."""
    found = gate(
        cases(SAME, "good"),
        cases(WORSE, "bad"),
        cases(SAME, "bad", "scripted"),
        cases([("PPF", "PPF")] * 2, "unclear"),
    )

    assert found.verdict is Verdict.FAIL
    assert {(j.scope.skill, j.scope.runner): j.verdict.value for j in found.judgements} == {
        ("good", "openai"): "pass",
        ("bad", "openai"): "fail",
        ("bad", "scripted"): "pass",
        ("unclear", "openai"): "inconclusive",
    }


def test_single_runs_are_no_evidence_either_way() -> None:
    """A live run is not repeatable: below `min-repeats` nothing is more than inconclusive."""
    for suite in ([("F", "P")] * 12, [("P", "F")] * 12, [("P", "P")] * 60):
        found = gate(cases(suite))

        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.judgements[0].ruling.note == "single-shot"
        assert "rests on single runs" in texts(found)[0]

    assert gate(cases([("F", "P")] * 12), policy=replace(NO_DROP, min_repeats=1)).verdict is (
        Verdict.FAIL
    )
    assert gate(cases(WORSE), policy=replace(NO_DROP, min_repeats=4)).verdict is (
        Verdict.INCONCLUSIVE
    )


def test_lost_trials_that_could_turn_the_verdict_hold_it_back() -> None:
    """A crash of every hard case is no pass over the easy ones, nor a way out of a regression."""
    hard_case_lost = gate(cases([*SAME, ("EEEEE", "PPPPP")]))
    saved_by_the_lost = gate(cases([("FFEEE", "PPPFF")] * 6))
    beyond_doubt = gate(cases([("FFFFE", "PPPPP")] * 10))

    for found in (hard_case_lost, saved_by_the_lost):
        assert found.verdict is Verdict.INCONCLUSIVE
        assert found.judgements[0].ruling.note == "lost trials could change it"
        assert "could turn the verdict" in texts(found)[0]
    assert beyond_doubt.verdict is Verdict.FAIL
    assert gate(cases([("PPPPE", "PPPPP"), *SAME])).verdict is Verdict.PASS


def test_an_answer_that_could_not_be_graded_is_lost() -> None:
    """It is no fail and no pass, and as good as an outage for the comparison."""
    assert gate(cases([*SAME, ("IIIII", "PPPPP")])).judgements[0].ruling.note == (
        "lost trials could change it"
    )


@pytest.mark.parametrize("suite", [[("PPP", "EEE")], [("EEE", "PPP")], [("PPP", "III")]], ids=str)
def test_nothing_comparable_is_no_pass(suite: Suite) -> None:
    """The literal gate calls it a failure, the interval gate not measured."""
    found, literal = gate(cases(suite)), gate(cases(suite), policy=LITERAL)

    assert (found.verdict, found.exit_code) == (Verdict.NOT_MEASURED, ExitCode.NOT_MEASURED)
    assert literal.verdict is Verdict.FAIL
    assert texts(found)[-1] == texts(literal)[-1]
    assert texts(found)[-1] == (
        "no case was comparable, so the required delta of +0% was not measured"
    )


def test_a_skipped_baseline_alone_is_not_measured() -> None:
    """There was no skill to offer in any case, so nothing was compared."""
    found = gate(runs(candidate="PPP", none="S"), policy=replace(NO_DROP, min_delta={"none": 0.0}))

    assert found.verdict is Verdict.NOT_MEASURED
    assert texts(found) == ["no baseline arm ran, so the required delta of +0% was not measured"]


@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.method.value)
def test_an_unresolved_baseline_fails_by_either_method(policy: GatePolicy) -> None:
    """A repository must not pass by deleting its history."""
    gone = {"previous": {"refunds": unresolved("not a git repository")}}
    found = gate(cases(SAME), runs(skill="refunds", candidate="PPP"), missing=gone, policy=policy)

    assert found.verdict is Verdict.FAIL
    assert texts(found) == ["skill 'refunds' has no resolvable baseline: not a git repository"]


@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.method.value)
@given(suite=measured_suites)
def test_a_run_that_was_cut_short_is_not_measured(policy: GatePolicy, suite: Suite) -> None:
    """Whatever its half shows."""
    cut = gate(cases([*suite, ("N", "N")]), policy=policy)

    assert cut.verdict is Verdict.NOT_MEASURED
    assert cut.exit_code is ExitCode.NOT_MEASURED


def test_a_skill_of_which_nothing_was_compared_is_named() -> None:
    """The other skill's pass does not speak for it."""
    found = gate(cases(SAME), cases([("PPP", "EEE")], "refunds"))

    assert found.verdict is Verdict.NOT_MEASURED
    assert texts(found) == [
        "no case of skill 'refunds' under runner 'openai' had a comparable baseline"
    ]


def test_a_skills_own_bar_is_not_passed_by_an_outage() -> None:
    """Also where it is the only bar there is."""
    own = replace(NO_BAR, skill_min_delta={"greeting": 0.0})

    for suite in ([("PPP", "EEE")], [("EEE", "PPP")], [("PPP", "S")]):
        assert gate(cases(suite), policy=own).verdict is Verdict.NOT_MEASURED
    never_ran = gate(cases([("PPP", "")]), policy=own, baselines=["previous"])
    assert never_ran.verdict is Verdict.NOT_MEASURED


def test_a_skills_own_bar_holds_against_each_baseline_it_has() -> None:
    """It comes before the baseline's, and a baseline that is another skill's is none of its."""
    policy = replace(NO_DROP, skill_min_delta={"greeting": -0.5})
    changed = cases([("PPF", "PPP")] * 5)
    added = runs(skill="added", candidate="PPP", none="FFF")
    found = a_report(
        changed, added, own={"greeting": ["previous"], "added": ["none"]}, policy=policy
    ).gate

    assert found.verdict is Verdict.PASS
    assert [(j.scope.baseline, j.scope.skill) for j in found.judgements] == [
        ("previous", "greeting")
    ]
    assert gate(changed).verdict is not Verdict.PASS


@pytest.mark.parametrize("policy", BOTH, ids=lambda policy: policy.method.value)
def test_a_skill_that_never_ran_does_not_reach_its_bar(policy: GatePolicy) -> None:
    """Said once, however many baselines there are."""
    own = replace(policy, skill_min_delta={"absent": 0.1})
    found = gate(runs(candidate="PPPPP", previous="PPPPP", none="PPPPP"), cases(SAME), policy=own)

    assert (
        texts(found).count("skill 'absent' must reach a delta of +10%, but none of its cases ran")
        == 1
    )
    assert found.verdict is (
        Verdict.FAIL if policy.method is GateMethod.POINT else Verdict.NOT_MEASURED
    )


def test_each_baseline_has_its_own_bar() -> None:
    """Equal to the one before is enough, equal to no skill at all is not."""
    both = tuple(
        outcome
        for number in range(10)
        for outcome in runs(f"case {number}", candidate="PPPPP", previous="PPPPP", none="PPPPP")
    )
    found = gate(both, policy=replace(NO_DROP, min_delta={"previous": 0.0, "none": 0.2}))

    assert {j.scope.baseline: j.verdict.value for j in found.judgements} == {
        "previous": "pass",
        "none": "fail",
    }
    assert texts(found) == [
        "pass-rate delta +0% [-5%, +5%] against 'none' lies below the required +20%"
    ]


@pytest.mark.parametrize(
    ("inconclusive_passes", "code"), [(True, ExitCode.PASSED), (False, ExitCode.NOT_MEASURED)]
)
def test_on_inconclusive_says_what_the_check_is(inconclusive_passes: bool, code: ExitCode) -> None:
    """The verdict is the same; `gate.passed` is for a pass alone."""
    policy = replace(NO_DROP, inconclusive_passes=inconclusive_passes)
    found = gate(cases(WORKED), policy=policy)

    assert (found.verdict, found.exit_code) == (Verdict.INCONCLUSIVE, code)
    assert not found.passed
    assert gate(cases([("PPP", "EEE")]), policy=policy).exit_code is ExitCode.NOT_MEASURED
    assert gate(cases(WORSE), policy=policy).exit_code is ExitCode.FAILED


def test_an_outage_may_be_let_through_and_nothing_else_may() -> None:
    """`on-unmeasured: pass` forgives a run that measured nothing: no cap, no missing history."""
    lost = cases([("EEE", "EEE")])
    gone = {"previous": {"greeting": unresolved("not a git repository")}}

    assert a_report(lost, policy=NO_DROP).measured_nothing
    assert not a_report(cases([("EEE", "PPP")]), policy=LITERAL).measured_nothing
    assert not a_report(cases([("PPN", "PPP")]), policy=NO_DROP).measured_nothing
    alone = runs(skill="greeting", candidate="EEE")
    assert not a_report(alone, policy=NO_DROP, missing=gone).measured_nothing


@pytest.mark.parametrize("suite", [[("EEE", "PPP")], [("EEE", "FFF")], [("NNN", "NNN")]])
def test_what_is_no_outage_is_not_let_through(suite: list[tuple[str, str]]) -> None:
    """A skill that alone breaks, as by outgrowing the model, or a ceiling that nothing got past."""
    assert not a_report(cases(suite), policy=NO_DROP).measured_nothing


def test_a_run_that_a_dead_provider_ended_is_an_outage() -> None:
    """What never started then was cut by nobody."""
    outcomes = tuple(
        replace(o, by_outage=True) if isinstance(o, NotRun) else o
        for o in cases([("EEE", "EEE"), ("NNN", "NNN")])
    )

    assert a_report(outcomes, policy=NO_DROP).measured_nothing


@pytest.mark.parametrize("is_cap", [False, True])
def test_what_a_cap_left_out_is_not_let_through(is_cap: bool) -> None:
    """The author of a pull request may choose what comes first."""
    left_out = Reason("skill b not run: max-skills is 1", Verdict.NOT_MEASURED, is_cap=is_cap)
    report = a_report(cases([("EEE", "EEE")]), policy=NO_DROP)
    reasons = (*report.gate.reasons, left_out)

    told = replace(report, gate=replace(report.gate, reasons=reasons))
    assert told.measured_nothing != is_cap


def test_a_baseline_that_no_skill_has_is_said_once() -> None:
    """That nothing was comparable follows from it."""
    gone = {"previous": {"greeting": unresolved("not a git repository")}}
    found = gate(runs(skill="greeting", candidate="PPP"), missing=gone)

    assert found.verdict is Verdict.FAIL
    assert [reason.text for reason in found.reasons] == [
        "skill 'greeting' has no resolvable baseline: not a git repository"
    ]
