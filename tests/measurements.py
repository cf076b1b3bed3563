"""A small language for measurements, and strategies that make every shape of one.

measured("PPP/PPF", "PFF/PPF")      two cases of three repetitions, candidate / baseline
"""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

from hypothesis import settings
from hypothesis import strategies as st

from skill_delta.core.intervals import CaseScores, Measurement

untimed = settings(deadline=None, max_examples=60)
"""For properties: a busy machine makes no test fail."""

SCORES = {"P": 1.0, "F": 0.0}


def measured(*cases: str) -> Measurement:
    """One text per case: the candidate's repetitions, a slash, the baseline's. L was lost."""
    return Measurement(tuple(_case(*case.split("/")) for case in cases))


def _case(candidate: str, baseline: str) -> CaseScores:
    return CaseScores(
        tuple(SCORES[letter] for letter in candidate if letter != "L"),
        tuple(SCORES[letter] for letter in baseline if letter != "L"),
        candidate.count("L"),
        baseline.count("L"),
    )


def swapped(measurement: Measurement) -> Measurement:
    """The same runs with the arms' names exchanged."""
    return Measurement(
        tuple(
            CaseScores(case.baseline, case.candidate, case.baseline_lost, case.candidate_lost)
            for case in measurement.cases
        )
    )


def with_an_agreeing_repetition(measurement: Measurement) -> Measurement:
    """One more repetition of every case, each scoring what its case scored on average so far."""
    return Measurement(
        tuple(
            replace(
                case,
                candidate=(*case.candidate, fmean(case.candidate)),
                baseline=(*case.baseline, fmean(case.baseline)),
            )
            for case in measurement.cases
        )
    )


passed_or_failed = st.sampled_from((0.0, 1.0))
graded = st.floats(0, 1, allow_subnormal=False)


def repetitions(of: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(of, min_size=1, max_size=5).map(tuple)


@st.composite
def _as_often_in_both_arms(draw: st.DrawFn) -> CaseScores:
    runs = draw(st.lists(st.tuples(passed_or_failed, passed_or_failed), min_size=1, max_size=5))
    return CaseScores(tuple(ours for ours, _ in runs), tuple(theirs for _, theirs in runs))


@st.composite
def _unanimous(draw: st.DrawFn) -> CaseScores:
    ours, theirs = draw(passed_or_failed), draw(passed_or_failed)
    return CaseScores(
        (ours,) * draw(st.integers(1, 5)),
        (theirs,) * draw(st.integers(1, 5)),
    )


def _measurements(cases: st.SearchStrategy[CaseScores]) -> st.SearchStrategy[Measurement]:
    return st.lists(cases, min_size=1, max_size=8).map(lambda found: Measurement(tuple(found)))


def _cases(of: st.SearchStrategy[float]) -> st.SearchStrategy[CaseScores]:
    return st.builds(CaseScores, repetitions(of), repetitions(of))


pass_fail_measurements = _measurements(_cases(passed_or_failed))
"""Pass or fail; any number of cases, any number of repetitions of each in either arm."""

any_measurements = st.one_of(pass_fail_measurements, _measurements(_cases(graded)))

evenly_repeated_measurements = _measurements(_as_often_in_both_arms())
"""Each case as often in one arm as in the other, as planned; one case more often than another."""

unanimous_measurements = _measurements(_unanimous())
"""Every repetition agrees with the others of its case and arm, however many there are."""
