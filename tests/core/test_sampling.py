"""Which looks are taken of what, and which outcomes count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from builders import a_case, an_arm, outcome
from measurements import untimed
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.readings import Scope
from skill_delta.core.sampling import Sampling
from skill_delta.core.suite import Case, Mode
from skill_delta.core.trials import Halt, NotRun, Outcome, Role, Skipped, Subject, plan

THREE_LOOKS = Looks(3, 9, Adaptive.CONFIRM)
CEILING = Halt("max-tokens 100 was reached (120 used)", is_ceiling=True)
OUTAGE = Halt("the key was refused")


def offered(name: str) -> Case:
    return replace(a_case(name), mode=Mode.OFFERED)


def a_subject(
    label: str = "greeting", *baselines: str, cases: Sequence[Case] = (a_case("asks"),)
) -> Subject:
    arms = tuple(an_arm(name, label) for name in baselines or ("previous",))
    return Subject(label, an_arm("candidate", label), arms, tuple(cases))


def sampling(
    *subjects: Subject, looks: Looks = THREE_LOOKS, runners: Sequence[str] = ("openai",)
) -> Sampling:
    return Sampling.of(subjects, runners, looks)


def pass_all(_: Outcome) -> bool:
    return True


def look(
    run: Sampling, halt: Halt | None = None, ran: Callable[[Outcome], bool] = pass_all
) -> Sampling:
    """Take the next look; what did not run was stopped by `halt`."""
    planned = plan(run.next_samples, run.repetitions, Random(0))
    came = [outcome("P", trial) for trial in planned.trials]
    if halt is not None:
        came = [each if ran(each) else NotRun(each.trial, halt.reason) for each in came]
    return run.after((*came, *planned.skipped), halt)


def comparison(
    skill: str = "greeting", baseline: str = "previous", runner: str = "openai"
) -> Scope:
    return Scope(baseline, runner, skill)


def sampled(run: Sampling) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    """What the next look samples: skill, runner, baselines, cases."""
    return [
        (
            sample.subject.label,
            sample.runner,
            tuple(arm.name for arm in sample.subject.baselines),
            tuple(case.name for case in sample.subject.cases),
        )
        for sample in run.next_samples
    ]


def repetitions(outcomes: Collection[Outcome], role: Role) -> list[int]:
    return sorted(o.trial.repetition for o in outcomes if o.trial.arm.role is role)


def test_the_first_look_samples_everything() -> None:
    """Every skill under every runner, in the order asked for."""
    run = sampling(a_subject("greeting"), a_subject("refunds"), runners=("openai", "scripted"))

    assert [(skill, runner) for skill, runner, _, _ in sampled(run)] == [
        ("greeting", "openai"),
        ("greeting", "scripted"),
        ("refunds", "openai"),
        ("refunds", "scripted"),
    ]
    assert list(run.repetitions) == [0, 1, 2]


def test_a_further_look_samples_both_arms_afresh() -> None:
    """Under new repetition numbers, so that none is mistaken for one that was run before."""
    run = look(sampling(a_subject())).asking_again({comparison()})
    after = look(run)

    assert list(run.repetitions) == [3, 4, 5]
    for role in Role:
        assert repetitions(after.outcomes, role) == [0, 1, 2, 3, 4, 5]


def test_what_is_settled_is_not_sampled_again() -> None:
    """Nobody pays for what is known: one skill, one runner, one baseline at a time."""
    subjects = (a_subject("greeting", "previous", "none"), a_subject("refunds"))
    run = look(sampling(*subjects, runners=("openai", "scripted")))

    assert sampled(run.asking_again({comparison("greeting", "none", "scripted")})) == [
        ("greeting", "scripted", ("none",), ("asks",))
    ]
    assert sampled(run.asking_again(())) == []


def test_the_last_look_is_followed_by_none() -> None:
    """However undecided it is."""
    run = sampling(a_subject())
    for _ in range(3):
        run = look(run).asking_again({comparison()})

    assert run.is_last_look
    assert not run.next_samples
    assert repetitions(run.outcomes, Role.CANDIDATE) == list(range(9))
    assert run.looks_used[comparison()] == run.looks_used[comparison("")] == 3


def test_a_baselines_comparison_counts_the_looks_it_was_part_of() -> None:
    """Else the candidate would have been run more often than what it is compared with."""
    run = look(sampling(a_subject("greeting", "previous", "none")))
    run = look(run.asking_again({comparison(baseline="none")}))
    settled, further = (run.counted(name, {"greeting"}) for name in ("previous", "none"))

    assert repetitions(settled, Role.CANDIDATE) == repetitions(settled, Role.BASELINE)
    assert repetitions(settled, Role.CANDIDATE) == [0, 1, 2]
    assert repetitions(further, Role.CANDIDATE) == repetitions(further, Role.BASELINE)
    assert repetitions(further, Role.CANDIDATE) == [0, 1, 2, 3, 4, 5]


def test_a_baseline_that_sits_out_a_look_can_come_back() -> None:
    """What it counts is what it took part in, in the last look too."""
    run = look(sampling(a_subject("greeting", "previous", "none")))
    run = look(run.asking_again({comparison(baseline="none")}))
    run = look(run.asking_again({comparison(baseline="previous")}))
    counted = run.counted("previous", {"greeting"})

    assert repetitions(counted, Role.CANDIDATE) == [0, 1, 2, 6, 7, 8]
    assert repetitions(counted, Role.BASELINE) == [0, 1, 2, 6, 7, 8]
    assert run.looks_used[comparison()] == 2


def test_a_case_that_cannot_be_offered_to_the_baseline_is_run_once() -> None:
    """It stands in the candidate arm alone, which more runs would not compare."""
    subject = a_subject("greeting", "none", cases=(a_case("asks"), offered("answers")))
    run = look(sampling(subject)).asking_again({comparison(baseline="none")})

    assert sampled(run) == [("greeting", "openai", ("none",), ("asks",))]
    run = look(run)
    assert Counter(
        (o.trial.case.name, o.trial.arm.role.value)
        for o in run.outcomes
        if not isinstance(o, Skipped)
    ) == {("asks", "candidate"): 6, ("asks", "baseline"): 6, ("answers", "candidate"): 3}
    assert sum(isinstance(o, Skipped) for o in run.counted("none", {"greeting"})) == 1


def test_a_case_is_skipped_once_however_many_looks_follow() -> None:
    """Another baseline has a skill to offer, so the case is sampled again."""
    subject = a_subject("greeting", "none", "previous", cases=(a_case("asks"), offered("answers")))
    both = {comparison(baseline="none"), comparison(baseline="previous")}
    run = look(look(sampling(subject)).asking_again(both))

    assert sum(isinstance(o, Skipped) for o in run.outcomes) == 1
    assert len(repetitions(run.counted("previous", {"greeting"}), Role.BASELINE)) == 12


def test_a_skill_with_no_case_to_compare_is_not_asked_again() -> None:
    """There would be nothing to run."""
    subject = a_subject("greeting", "none", cases=(offered("answers"),))
    run = look(sampling(subject)).asking_again({comparison(baseline="none")})

    assert not run.next_samples


def test_a_further_look_that_a_ceiling_cut_does_not_count() -> None:
    """The verdict is that of the last complete look, and the report says why."""
    run = look(sampling(a_subject())).asking_again({comparison()})
    cut = look(run, CEILING, lambda o: o.trial.arm.role is Role.CANDIDATE)
    counted = cut.counted("previous", {"greeting"})

    assert repetitions(counted, Role.CANDIDATE) == repetitions(counted, Role.BASELINE) == [0, 1, 2]
    assert not any(isinstance(o, NotRun) for o in cut.outcomes)
    assert repetitions(cut.outcomes, Role.CANDIDATE) == [0, 1, 2, 3, 4, 5]
    assert cut.looks_used[comparison()] == 1
    (note,) = cut.notes
    assert note == (
        "greeting: judged by the first look, since the next one was not completed: "
        "max-tokens 100 was reached (120 used)"
    )


def test_a_ceiling_takes_the_look_from_those_alone_that_it_cut() -> None:
    """A skill whose look was complete is judged by it."""
    subjects = (a_subject("greeting"), a_subject("refunds"))
    both = {comparison("greeting"), comparison("refunds")}
    run = look(sampling(*subjects)).asking_again(both)
    cut = look(run, CEILING, lambda o: o.trial.skill == "greeting" or o.trial.repetition < 4)

    assert cut.looks_used[comparison("greeting")] == 2
    assert cut.looks_used[comparison("refunds")] == 1
    assert len(cut.counted("previous", {"greeting"})) == 12
    assert len(cut.counted("previous", {"refunds"})) == 6


def test_what_a_ceiling_cut_of_the_first_look_was_asked_for() -> None:
    """There is no complete look before it, so the run was cut short."""
    cut = look(sampling(a_subject()), CEILING, lambda o: o.trial.repetition == 0)

    assert sum(isinstance(o, NotRun) for o in cut.counted("previous", {"greeting"})) == 4


def test_an_outage_in_a_further_look_is_a_run_cut_short() -> None:
    """Unlike a ceiling nobody asked for it."""
    run = look(sampling(a_subject())).asking_again({comparison()})
    cut = look(run, OUTAGE, lambda o: o.trial.repetition == 3)

    assert sum(isinstance(o, NotRun) for o in cut.outcomes) == 4
    assert not cut.notes


def test_trials_saved_are_those_of_the_looks_not_taken() -> None:
    """Settled after one look of three: two thirds of both arms."""
    subjects = (a_subject("greeting"), a_subject("refunds"))
    once = look(sampling(*subjects))
    assert once.trials_saved == 2 * 12
    assert look(once.asking_again({comparison("greeting")})).trials_saved == 18

    one_look = Looks(3, 9, Adaptive.OFF)
    assert look(sampling(*subjects, looks=one_look)).trials_saved == 0


def test_nothing_is_saved_where_every_look_was_taken() -> None:
    """A case that was never to be sampled again is no saving."""
    cases = (a_case("asks"), offered("answers"))
    run = sampling(a_subject("greeting", "none", cases=cases))
    for _ in range(3):
        run = look(run).asking_again({comparison(baseline="none")})

    assert run.trials_saved == 0


def test_what_a_ceiling_or_an_outage_stopped_was_not_saved() -> None:
    """It was wanted; the skill that was settled before it still saved its looks."""
    subjects = (a_subject("greeting"), a_subject("refunds"))
    run = look(sampling(*subjects)).asking_again({comparison("refunds")})

    for halt in (CEILING, OUTAGE):
        assert look(run, halt, lambda _: False).trials_saved == 12


def test_a_skill_without_a_baseline_saves_nothing() -> None:
    """It is never looked at again."""
    alone = Subject("greeting", an_arm(), (), (a_case("asks"),))

    assert look(sampling(alone)).trials_saved == 0


undecided_each_look = st.lists(
    st.sets(
        st.sampled_from(
            [
                comparison(skill, baseline, runner)
                for skill in ("greeting", "refunds")
                for baseline in ("previous", "none")
                for runner in ("openai", "scripted")
            ]
        )
    ),
    max_size=4,
)


@untimed
@given(
    undecided_each_look,
    st.integers(1, 3),
    st.integers(0, 7),
    st.none() | st.sampled_from([CEILING, OUTAGE]),
    st.randoms(use_true_random=False),
)
def test_both_arms_count_equally_many_repetitions(
    undecided: Sequence[Collection[Scope]], each: int, more: int, halt: Halt | None, rng: Random
) -> None:
    """Of each case and comparison, whatever was settled when, and whatever stopped the run."""
    cases = (a_case("asks"), offered("answers"))
    subjects = [
        a_subject(name, "previous", "none", cases=cases) for name in ("greeting", "refunds")
    ]
    looks = Looks(each, each + min(more, 4 * each), Adaptive.RESOLVE)
    run = look(sampling(*subjects, looks=looks, runners=("openai", "scripted")))
    for number, asked in enumerate(undecided, start=1):
        run = run.asking_again(asked)
        last = number == len(undecided)
        run = look(run, halt, lambda _: rng.random() < 0.5) if last else look(run)

    for baseline in ("previous", "none"):
        counted = run.counted(baseline, {"greeting", "refunds"})
        by_arm = Counter(
            (o.trial.key, o.trial.arm.role, o.trial.repetition)
            for o in counted
            if not isinstance(o, Skipped)
        )
        assert set(by_arm.values()) <= {1}
        compared = {key for key, role, _ in by_arm if role is Role.BASELINE}
        for key in compared:
            ours, theirs = ({n for k, r, n in by_arm if (k, r) == (key, role)} for role in Role)
            assert ours == theirs
    assert run.trials_saved >= 0
