"""The plan: which trials run, in which order, and what is left out on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from builders import a_case, an_arm, scored
from skill_delta.core.suite import Mode
from skill_delta.core.trials import Role, Sample, Subject, Trial, in_report_order, plan


def a_subject(*cases: str, baselines: tuple[str, ...] = ("previous",)) -> Subject:
    return Subject(
        "order-support",
        an_arm(),
        tuple(an_arm(name) for name in baselines),
        tuple(a_case(name) for name in cases),
    )


def samples(*subjects: Subject, runners: Sequence[str] = ("openai",)) -> list[Sample]:
    return [Sample(subject, runner) for subject in subjects for runner in runners]


def test_the_arms_of_a_repetition_run_back_to_back() -> None:
    """Whatever drifts in mid-run meets both arms alike."""
    trials = plan(samples(a_subject("a", "b")), range(3), Random(1)).trials

    pairs = [trials[i : i + 2] for i in range(0, len(trials), 2)]
    assert len(trials) == 2 * 2 * 3
    for candidate, baseline in pairs:
        assert candidate.arm.role is Role.CANDIDATE
        assert baseline.arm.role is Role.BASELINE
        assert (candidate.case, candidate.repetition) == (baseline.case, baseline.repetition)


def test_several_baselines_share_the_candidates_trials() -> None:
    """A second comparison costs one more arm, not two."""
    trials = plan(
        samples(a_subject("a", baselines=("previous", "base"))), range(2), Random(1)
    ).trials

    assert [trial.arm.name for trial in trials] == ["candidate", "previous", "base"] * 2


def test_without_a_baseline_nothing_runs_twice() -> None:
    """A plain run never doubles a bill."""
    trials = plan(samples(a_subject("a", "b", baselines=())), range(1), Random(1)).trials

    assert [trial.arm.role for trial in trials] == [Role.CANDIDATE] * 2


def test_an_empty_skill_is_not_offered() -> None:
    """An offered case under `none` runs the candidate alone, and the plan says why."""
    offered = replace(a_case("asks for it"), mode=Mode.OFFERED)
    subject = Subject("s", an_arm(), (an_arm("none"), an_arm("previous")), (offered,))

    planned = plan(samples(subject), range(2), Random(1))

    assert {trial.arm.name for trial in planned.trials} == {"candidate", "previous"}
    assert [skip.trial.arm.name for skip in planned.skipped] == ["none"]
    assert "cannot be offered" in planned.skipped[0].reason


def test_the_seed_alone_decides_the_order() -> None:
    """The same seed repeats a run; another one shuffles the cases."""
    subjects = [a_subject(*"abcdefgh")]

    def order(seed: int) -> list[Trial]:
        return list(plan(samples(*subjects), range(1), Random(seed)).trials)

    assert order(1) == order(1)
    assert order(1) != order(2)


@given(st.randoms(use_true_random=False))
def test_reports_list_cases_as_their_author_wrote_them(rng: Random) -> None:
    """The order of arrival is irrelevant."""
    subjects = [a_subject("zebra", "ant")]
    planned = plan(samples(*subjects, runners=("scripted", "openai")), range(2), Random(0)).trials
    arrived = [scored(trial) for trial in planned]
    rng.shuffle(arrived)

    listed = in_report_order(arrived, subjects, ["scripted", "openai"])

    assert [
        (o.trial.case.name, o.trial.runner, o.trial.arm.name, o.trial.repetition) for o in listed
    ] == [
        (case, runner, arm, repetition)
        for case in ("zebra", "ant")
        for runner in ("scripted", "openai")
        for arm in ("candidate", "previous")
        for repetition in (0, 1)
    ]
