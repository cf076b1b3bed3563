"""The run, look by look: what is sampled, what ends it, and what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import unresolved
from evaluations import CONFIRM, FakeRunner, Letters, Memory, a_skill, asks, prepared, run
from measurements import untimed
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.policy import GatePolicy, Reason, Verdict
from skill_delta.core.readings import Measure, Scope
from skill_delta.core.report import NO_CASES, Report, SkippedSkill
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode
from skill_delta.core.trials import Halt, NotRun, Skipped
from skill_delta.errors import ExitCode
from skill_delta.execution import CANCELLED, Ceilings
from skill_delta.preparation import Prepared

RESOLVE = replace(CONFIRM, looks=Looks(3, 9, Adaptive.RESOLVE))
ONE_LOOK = replace(CONFIRM, looks=Looks(3, 3))

GOOD, BAD, MIXED = "PPP" * 3, "FFF" * 3, "PPF" * 3


def one_skill(
    letters: Letters, cases: int = 4, runner: str = "openai"
) -> tuple[Prepared, FakeRunner]:
    """`greeting` with so many cases that all go alike."""
    names = [f"case {number}" for number in range(cases)]
    baselines = [arm for arm in letters if arm != "candidate"]
    ready = prepared(a_skill("greeting", [asks(name) for name in names], baselines))
    return ready, FakeRunner(dict.fromkeys(names, letters), runner)


def looks_used(report: Report, skill: str = "greeting", runner: str = "openai") -> int:
    return report.readings[Scope("previous", runner, skill)].looks_used


def repetitions_of(report: Report) -> tuple[set[int], set[int]]:
    """How often the comparable cases were run in either arm, as the comparison counts them."""
    pairs = [pair for delta in report.deltas for pair in delta.pairs if pair.comparable]
    return (
        {len(pair.candidate_outcomes) for pair in pairs},
        {len(pair.baseline_outcomes) for pair in pairs},
    )


def test_a_clear_answer_takes_one_look() -> None:
    """Nobody pays for what is known."""
    ready, runner = one_skill({"candidate": BAD, "previous": GOOD})
    report = run(ready, runner)

    assert report.gate.verdict is Verdict.FAIL
    assert set(runner.runs.values()) == {3}
    assert looks_used(report) == 1
    assert report.trials_saved == 4 * 2 * 6


def test_a_regression_that_is_possible_is_looked_at_again() -> None:
    """Both arms are sampled afresh until it is proven."""
    ready, runner = one_skill({"candidate": "PPFFFFFFF", "previous": GOOD}, cases=2)
    report = run(ready, runner)

    assert report.gate.verdict is Verdict.FAIL
    assert looks_used(report) == 2
    assert set(runner.runs.values()) == {6}
    assert repetitions_of(report) == ({6}, {6})
    assert {t.repetition for t in runner.started} == set(range(6))
    assert report.trials_saved == 2 * 2 * 3


def test_the_first_look_is_over_before_the_next_one_begins() -> None:
    """A verdict that depended on which trial came first would be none."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=2)
    run(ready, runner, at_once=8)
    looks = [trial.repetition // 3 for trial in runner.started]

    assert looks == sorted(looks)


def test_nobody_pays_to_confirm_that_there_is_no_regression() -> None:
    """`confirm` ends at a delta on the bar; `resolve` goes on to the last look."""
    ready, confirming = one_skill({"candidate": MIXED, "previous": MIXED})
    confirmed = run(ready, confirming)
    ready, resolving = one_skill({"candidate": MIXED, "previous": MIXED})
    resolved = run(ready, resolving, policy=RESOLVE)

    assert (looks_used(confirmed), looks_used(resolved)) == (1, 3)
    assert confirmed.gate.shows_no_regression
    assert set(resolving.runs.values()) == {9}
    assert resolved.trials_saved == 0


def test_what_no_look_decides_is_inconclusive() -> None:
    """After the last one the exit code is what the author chose."""
    for passes, code in ((True, ExitCode.PASSED), (False, ExitCode.NOT_MEASURED)):
        ready, runner = one_skill({"candidate": MIXED, "previous": "PPP" * 2 + "PPF"}, cases=1)
        policy = replace(CONFIRM, inconclusive_passes=passes)
        report = run(ready, runner, policy=policy)

        assert report.gate.verdict is Verdict.INCONCLUSIVE
        assert report.gate.exit_code is code
        assert looks_used(report) == 3


def test_without_adaptive_repetition_there_is_one_look() -> None:
    """However undecided it leaves the gate."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=1)
    report = run(ready, runner, policy=ONE_LOOK)

    assert report.gate.verdict is Verdict.INCONCLUSIVE
    assert set(runner.runs.values()) == {3}


def test_the_last_look_may_be_shorter() -> None:
    """`max-repeat` is what a person may be charged for."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=1)
    run(ready, runner, policy=replace(CONFIRM, looks=Looks(3, 7, Adaptive.RESOLVE)))

    assert set(runner.runs.values()) == {7}


def two_skills() -> tuple[Prepared, FakeRunner]:
    """`greeting` broke; of `refunds` it is not clear."""
    said = {
        **{f"greeting {n}": {"candidate": BAD, "previous": GOOD} for n in range(4)},
        **{f"refunds {n}": {"candidate": MIXED, "previous": GOOD} for n in range(2)},
    }
    ready = prepared(
        *(
            a_skill(skill, [asks(name) for name in said if name.startswith(skill)])
            for skill in ("greeting", "refunds")
        )
    )
    return ready, FakeRunner(said)


def test_a_settled_skill_is_not_sampled_again() -> None:
    """Each skill has its own looks."""
    ready, runner = two_skills()
    report = run(ready, runner)

    assert {runs for (case, _), runs in runner.runs.items() if case.startswith("greeting")} == {3}
    assert {runs for (case, _), runs in runner.runs.items() if case.startswith("refunds")} == {9}
    assert (looks_used(report), looks_used(report, "refunds")) == (1, 3)
    assert looks_used(report, "") == 3


def test_a_settled_baseline_is_not_sampled_again() -> None:
    """The candidate's further runs count where they have something to be compared with."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD, "none": BAD}, cases=2)
    both = replace(CONFIRM, min_delta={"previous": 0.0, "none": 0.0})
    report = run(ready, runner, policy=both, baselines=("previous", "none"))
    pairs = {
        delta.baseline: {
            (len(pair.candidate_outcomes), len(pair.baseline_outcomes)) for pair in delta.pairs
        }
        for delta in report.deltas
    }

    assert pairs == {"previous": {(9, 9)}, "none": {(3, 3)}}
    assert {arm: runs for (_, arm), runs in runner.runs.items()} == {
        "candidate": 9,
        "previous": 9,
        "none": 3,
    }
    assert report.readings[Scope("none", "openai", "greeting")].looks_used == 1
    assert len(report.outcomes) == 2 * (9 + 9 + 3)


def test_a_case_that_only_the_candidate_can_run_is_run_in_the_first_look() -> None:
    """More runs of it would be compared with nothing."""
    ready = prepared(a_skill("greeting", [asks("answers"), asks("offers", Mode.OFFERED)], ["none"]))
    runner = FakeRunner(
        {
            "answers": {"candidate": MIXED, "none": GOOD},
            "offers": {"candidate": GOOD},
        }
    )
    policy = replace(CONFIRM, min_delta={"none": 0.0})
    report = run(ready, runner, policy=policy, baselines=("none",))

    assert runner.runs == {("answers", "candidate"): 9, ("answers", "none"): 9} | {
        ("offers", "candidate"): 3
    }
    assert sum(isinstance(outcome, Skipped) for outcome in report.outcomes) == 1
    assert report.trials_saved == 0


def test_each_runner_has_its_own_looks() -> None:
    """One may be sure while the other is not."""
    ready, sure = one_skill({"candidate": GOOD, "previous": BAD}, cases=2)
    _, unsure = one_skill({"candidate": MIXED, "previous": GOOD}, cases=2, runner="scripted")
    report = run(ready, sure, unsure)

    assert set(sure.runs.values()) == {3}
    assert set(unsure.runs.values()) == {9}
    assert [looks_used(report, runner=name) for name in ("openai", "scripted")] == [1, 3]


def test_only_gated_comparisons_are_looked_at_again() -> None:
    """Another baseline without a bar is shown, and paid for once."""
    ready, runner = one_skill({"candidate": MIXED, "previous": MIXED, "none": GOOD}, cases=2)
    run(ready, runner, baselines=("previous", "none"))

    assert set(runner.runs.values()) == {3}


TOKENS_OF_A_LOOK = 2 * 2 * 3 * 100
"""Two cases in both arms, three repetitions of a hundred tokens."""


@pytest.mark.parametrize("into_the_next_look", [0, 500])
def test_a_ceiling_after_the_first_look_leaves_its_verdict(into_the_next_look: int) -> None:
    """Between two looks or inside the second: the last complete one counts, and a note says so."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=2)
    ceiling = TOKENS_OF_A_LOOK + into_the_next_look
    memory = Memory()
    report = run(ready, runner, ceilings=Ceilings(tokens=ceiling), ledger=memory)
    reason = f"max-tokens {ceiling:,} was reached ({ceiling:,} used)"

    assert report.gate.verdict is Verdict.INCONCLUSIVE
    assert not any(isinstance(outcome, NotRun) for outcome in report.outcomes)
    assert repetitions_of(report) == ({3}, {3})
    assert looks_used(report) == 1
    assert report.notes == (
        f"greeting: judged by the first look, since the next one was not completed: {reason}",
    )
    assert len(runner.started) * 100 == ceiling
    assert report.summary.spend.usage.tokens == ceiling
    assert memory.ended == [Halt(reason, is_ceiling=True)]
    assert report.trials_saved == 0


def test_a_ceiling_that_the_last_look_meets_is_no_matter() -> None:
    """There was nothing left to start."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=2)
    memory = Memory()
    ceilings = Ceilings(tokens=3 * TOKENS_OF_A_LOOK)
    report = run(ready, runner, ceilings=ceilings, ledger=memory)

    assert looks_used(report) == 3
    assert not report.notes
    assert memory.ended == [None]


def test_a_ceiling_in_the_first_look_is_not_measured() -> None:
    """Less was run than was asked for."""
    ready, runner = one_skill({"candidate": BAD, "previous": GOOD}, cases=2)
    report = run(ready, runner, ceilings=Ceilings(tokens=500))

    assert report.gate.verdict is Verdict.NOT_MEASURED
    assert report.gate.exit_code is ExitCode.NOT_MEASURED
    assert sum(isinstance(outcome, NotRun) for outcome in report.outcomes) == 12 - 5


def test_a_cancelled_later_look_is_not_measured() -> None:
    """What has finished is reported."""
    ready, runner = one_skill({"candidate": MIXED, "previous": GOOD}, cases=2)
    memory = Memory()
    report = run(ready, runner, ledger=memory, cancelled_after=lambda trial: trial.repetition == 4)

    assert report.gate.verdict is Verdict.NOT_MEASURED
    assert CANCELLED in report.gate.reasons[0].text
    assert memory.ended == [Halt(CANCELLED)]
    assert len(report.outcomes) == 2 * TOKENS_OF_A_LOOK // 100


def test_an_outage_in_a_later_look_is_not_measured() -> None:
    """The service gave out: nobody asked for that."""
    ready, runner = one_skill({"candidate": "PPFX" + "P" * 5, "previous": GOOD}, cases=2)
    report = run(ready, runner)

    assert report.gate.verdict is Verdict.NOT_MEASURED
    assert "the key was refused" in report.gate.reasons[0].text
    assert max(trial.repetition for trial in runner.started) < 6


def test_lost_trials_are_looked_at_again() -> None:
    """A fail that the lost ones could turn is undecided, and the next look has none lost."""
    ready, runner = one_skill({"candidate": "FFE" + BAD, "previous": "EPP" + GOOD}, cases=1)
    policy = replace(CONFIRM, looks=Looks(3, 12, Adaptive.CONFIRM))
    report = run(ready, runner, policy=policy)

    assert looks_used(report) > 1
    assert report.gate.verdict is Verdict.FAIL


def test_nothing_comparable_after_the_first_look_ends_the_run() -> None:
    """An outage that took one arm is not paid for twice."""
    ready, runner = one_skill({"candidate": GOOD, "previous": "E" * 9}, cases=2)
    report = run(ready, runner)

    assert report.gate.verdict is Verdict.NOT_MEASURED
    assert set(runner.runs.values()) == {3}


def test_an_unresolved_baseline_fails_whatever_the_others_show() -> None:
    """Its skill runs by itself, in one look."""
    gone = a_skill("gone", [asks("gone 0")], gaps={"previous": unresolved("not tracked")})
    good = a_skill("good", [asks(f"good {n}") for n in range(20)])
    said = {"gone 0": {"candidate": GOOD}} | {
        f"good {n}": {"candidate": GOOD, "previous": GOOD} for n in range(20)
    }
    report = run(prepared(gone, good), FakeRunner(said))

    assert report.gate.verdict is Verdict.FAIL
    assert [reason.text for reason in report.gate.reasons] == [
        "skill 'gone' has no resolvable baseline: not tracked"
    ]


def test_a_new_skill_is_held_to_no_bound_that_it_was_not_asked_to_keep() -> None:
    """It comes with the empty skill beside it, against which every skill grows."""
    new = a_skill("new", [asks("new 0")], ["none"])
    ready, runner = one_skill({"candidate": GOOD, "previous": GOOD}, cases=20)
    changed = (ready.subjects[0], ready.sources)
    runner.said = {**runner.said, "new 0": {"candidate": BAD, "none": GOOD}}
    bounds = replace(CONFIRM, max_increase={Measure.TOKENS: 0.1}, max_regressed_cases=0)
    report = run(prepared(changed, new), runner, policy=bounds)

    assert report.gate.verdict is Verdict.PASS
    assert {found.scope.skill for found in report.gate.judged.increases} == {"greeting"}


def test_a_run_without_a_case_says_why() -> None:
    """There is a comparison that says that nothing ran; a pull request has nothing to do."""
    empty = replace(prepared(), skipped=(SkippedSkill("greeting", NO_CASES),))
    needed = run(empty, FakeRunner({}))
    allowed = run(empty, FakeRunner({}), policy=replace(CONFIRM, needs_cases=False))

    assert [reason.text for reason in needed.gate.reasons] == [
        "no eval case ran: no skill has an eval case (greeting)",
        "no baseline arm ran, so the required delta of +0% was not measured",
    ]
    assert needed.gate.verdict is Verdict.FAIL
    assert allowed.gate.passed


def test_what_was_known_before_the_first_trial_is_part_of_the_verdict() -> None:
    """A cap that cut cases is no pass."""
    ready, runner = one_skill({"candidate": GOOD, "previous": GOOD}, cases=20)
    capped = replace(ready, objections=(Reason("max-cases is 20", Verdict.NOT_MEASURED),))

    assert run(ready, runner).gate.passed
    assert run(capped, runner).gate.verdict is Verdict.NOT_MEASURED


def test_what_a_ledger_recalls_is_not_run_again() -> None:
    """Every look is taken as before, and the report is the same."""
    ready, runner = two_skills()
    memory = Memory()
    first = run(ready, runner, ledger=memory)
    _, nobody = two_skills()
    again = run(ready, nobody, ledger=memory)

    assert again == first
    assert not nobody.started


@untimed
@given(st.integers(0, 47), st.integers(1, 4))
def test_a_run_that_was_interrupted_goes_on_where_it_was(kept: int, at_once: int) -> None:
    """After any number of recorded trials, in any look."""
    ready, runner = two_skills()
    memory = Memory()
    whole = run(ready, runner, ledger=memory)
    some = Memory(dict(list(memory.kept.items())[:kept]))
    _, further = two_skills()

    assert run(ready, further, ledger=some, at_once=at_once) == whole
    assert len(further.started) == len(memory.kept) - kept


@untimed
@given(st.integers(1, 8), st.integers(0, 1000))
def test_neither_the_seed_nor_how_many_run_at_once_decides(at_once: int, seed: int) -> None:
    """The report is the same but for the seed it names."""
    ready, runner = two_skills()
    expected = run(ready, runner)
    _, other = two_skills()
    found = run(ready, other, at_once=at_once, seed=seed)

    assert replace(found, environment=expected.environment) == expected


@untimed
@given(
    st.lists(
        st.tuples(st.text("PFE", min_size=9, max_size=9), st.text("PFE", min_size=9, max_size=9)),
        min_size=1,
        max_size=3,
    ),
    st.none() | st.integers(1, 60),
    st.sampled_from([CONFIRM, RESOLVE]),
)
def test_whatever_comes_both_arms_are_measured_alike(
    suite: Sequence[tuple[str, str]], ceiling: int | None, policy: GatePolicy
) -> None:
    """No ceiling and no loss lets one arm count trials that the other was not given."""
    said = {
        f"case {n}": {"candidate": ours, "previous": theirs}
        for n, (ours, theirs) in enumerate(suite)
    }
    ready = prepared(a_skill("greeting", [asks(name) for name in said]))
    ceilings = Ceilings(tokens=ceiling * 100 if ceiling else None)
    report = run(ready, FakeRunner(said), policy=policy, ceilings=ceilings)
    (delta,) = report.deltas

    for pair in delta.pairs:
        ours, theirs = (
            [o.trial.repetition for o in arm]
            for arm in (pair.candidate_outcomes, pair.baseline_outcomes)
        )
        assert ours == theirs
    cut = any(isinstance(outcome, NotRun) for outcome in report.outcomes)
    assert not cut or report.gate.verdict is Verdict.NOT_MEASURED


def test_versions_are_named_beside_the_delta() -> None:
    """A reader of the report knows what was compared."""
    ready, runner = one_skill({"candidate": GOOD, "previous": GOOD}, cases=1)
    (source,) = run(ready, runner).sources

    assert isinstance(source.version, SkillVersion)
    assert source.version.version == "1.0.0"
