"""The DeltaScorecard's figures, its deltas, and the names of the legs' files and runs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Runs, a_transcript, a_trial, runs
from skill_delta.core.paired import compare
from skill_delta.core.scorecard import (
    BaselineMode,
    Scorecard,
    effective_disable_hooks,
    leg_path,
    leg_run_id,
    scorecard,
    scorecard_path,
)
from skill_delta.core.trials import NO_SKILL, CheckResult, Scored
from skill_delta.errors import UserError

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

ON: Final = BaselineMode.SKILL_ON
OFF: Final = BaselineMode.SKILL_OFF


def card(*cases: Runs, live: bool = False) -> Scorecard:
    delta = compare(NO_SKILL, [outcome for case in cases for outcome in case], {})
    return scorecard(
        delta,
        suite_id="order-support",
        suite_path="skills/order-support",
        generated_at=NOW,
        run_id="nightly",
        live=live,
    )


def graded(arm: str, *shares: Sequence[bool]) -> Runs:
    """One arm of one case: for each repetition, which of its checks passed."""
    return tuple(
        Scored(
            a_trial(arm=arm, repetition=repetition),
            a_transcript(),
            tuple(
                CheckResult(f"contains[{position}]", passed, "", float(passed))
                for position, passed in enumerate(checks)
            ),
        )
        for repetition, checks in enumerate(shares)
    )


def test_the_contracts_own_example() -> None:
    """One case that the skill decides and one that it does not: [+1, 0], and +0.5 in all."""
    found = card(runs("decided", candidate="P", none="F"), runs("tied", candidate="P", none="P"))

    assert [case.delta for case in found.per_case] == [1, 0]
    assert (found.skill_on_aggregate, found.skill_off_aggregate) == (1.0, 0.5)
    assert found.aggregate_delta == 0.5


@pytest.mark.parametrize(
    ("skill_on", "skill_off", "delta"),
    [
        ("P", "F", 1),
        ("P", "E", 1),
        ("P", "I", 1),
        ("P", "S", 1),
        ("P", "N", 1),
        ("P", "", 1),
        ("F", "P", -1),
        ("E", "P", -1),
        ("I", "P", -1),
        ("N", "P", -1),
        ("P", "P", 0),
        ("F", "F", 0),
        ("F", "E", 0),
        ("E", "I", 0),
        ("I", "S", 0),
        ("PPP", "PPF", 1),
        ("PPF", "PPP", -1),
        ("PPF", "FFF", 0),
        ("PPE", "PPP", -1),
        ("PPP", "PPP", 0),
    ],
)
def test_a_delta_tells_which_leg_alone_passes(skill_on: str, skill_off: str, delta: int) -> None:
    """The contract's table, word for word: what does not pass does not pass, whatever it is."""
    (case,) = card(runs(candidate=skill_on, none=skill_off)).per_case

    assert case.delta == delta


@pytest.mark.parametrize(
    ("repetitions", "status"),
    [
        ("P", "pass"),
        ("F", "fail"),
        ("E", "error"),
        ("S", "skipped"),
        ("I", "inconclusive"),
        ("N", "inconclusive"),
        ("", "inconclusive"),
        ("PPP", "pass"),
        ("PFP", "fail"),
        ("EFI", "fail"),
        ("PE", "error"),
        ("IEP", "error"),
        ("PI", "inconclusive"),
        ("PN", "inconclusive"),
        ("EN", "error"),
    ],
)
def test_a_leg_ends_as_its_worst_repetition(repetitions: str, status: str) -> None:
    """A pass is all repetitions; a lost one beside passes keeps the case from it."""
    (case,) = card(runs(candidate="P", none=repetitions)).per_case

    assert case.skill_off_status == status


def test_a_score_is_the_mean_share_of_checks_passed() -> None:
    """Half the checks once and all of them once are three quarters."""
    (case,) = card(
        graded("candidate", (True, False), (True, True)) + graded(NO_SKILL, (False, False))
    ).per_case

    assert (case.skill_on_score, case.skill_off_score) == (0.75, 0.0)
    assert (case.skill_on_status, case.skill_off_status) == ("fail", "fail")


def test_lost_repetitions_are_in_no_score() -> None:
    """Neither an outage nor a check that could not be evaluated is a zero."""
    (case,) = card(runs(candidate="PEI", none="FEN")).per_case

    assert (case.skill_on_score, case.skill_off_score) == (1.0, 0.0)


def test_aggregates_are_of_the_cases_that_both_legs_measured() -> None:
    """An outage in one leg takes the case out of both means, and stands in the list."""
    found = card(
        runs("measured", candidate="P", none="F"),
        runs("lost", candidate="P", none="E"),
        runs("not offered", candidate="F", none="S"),
    )

    assert (found.skill_on_aggregate, found.skill_off_aggregate) == (1.0, 0.0)
    assert [case.case_id for case in found.per_case] == ["measured", "lost", "not offered"]


@pytest.mark.parametrize("cases", [(), (runs(candidate="E", none="P"),)])
def test_where_nothing_was_measured_in_both_legs_the_aggregates_are_zero(
    cases: tuple[Runs, ...],
) -> None:
    """JSON has no NaN, and the contract no null."""
    found = card(*cases)

    assert (found.skill_on_aggregate, found.skill_off_aggregate) == (0.0, 0.0)
    assert found.aggregate_delta == 0.0


@pytest.mark.parametrize(
    ("skills", "runners", "ids"),
    [
        (["a"], ["x"], ["c"]),
        (["a", "b"], ["x"], ["a :: c", "b :: c"]),
        (["a"], ["x", "y"], ["x :: c", "y :: c"]),
        (["a", "b"], ["x", "y"], ["a :: x :: c", "a :: y :: c", "b :: x :: c", "b :: y :: c"]),
    ],
)
def test_a_case_is_named_as_far_as_it_takes(
    skills: list[str], runners: list[str], ids: list[str]
) -> None:
    """By its own name; where there are several skills or runners, by theirs before it."""
    found = card(
        *(
            runs("c", skill=skill, runner=runner, candidate="P", none="P")
            for skill in skills
            for runner in runners
        )
    )

    assert [case.case_id for case in found.per_case] == ids


RAN = st.text("PFEIN", min_size=1, max_size=4)


@given(st.lists(st.tuples(RAN, RAN | st.just("S") | st.just("")), max_size=5))
def test_every_figure_keeps_to_its_range(letters: list[tuple[str, str]]) -> None:
    """Whatever happened in the run."""
    found = card(*(runs(f"case {n}", candidate=a, none=b) for n, (a, b) in enumerate(letters)))
    scores = [score for c in found.per_case for score in (c.skill_on_score, c.skill_off_score)]

    assert all(case.delta in {-1, 0, 1} for case in found.per_case)
    assert all(0 <= score <= 1 for score in scores)
    assert found.aggregate_delta == pytest.approx(
        found.skill_on_aggregate - found.skill_off_aggregate, abs=1e-12
    )


@given(st.lists(st.tuples(RAN, RAN), max_size=5))
def test_swapping_the_legs_mirrors_the_scorecard(letters: list[tuple[str, str]]) -> None:
    """Nothing in it favours either leg."""
    there = card(*(runs(f"case {n}", candidate=a, none=b) for n, (a, b) in enumerate(letters)))
    back = card(*(runs(f"case {n}", candidate=b, none=a) for n, (a, b) in enumerate(letters)))

    assert [case.delta for case in back.per_case] == [-case.delta for case in there.per_case]
    assert back.aggregate_delta == -there.aggregate_delta


@pytest.mark.parametrize(
    ("skill_on", "skill_off", "live", "is_evidence"),
    [
        ("P", "F", True, False),
        ("PEE", "FFF", True, False),
        ("PP", "F", True, False),
        ("PP", "FF", True, True),
        ("P", "F", False, True),
        ("PP", "FF", False, True),
    ],
)
def test_one_live_shot_is_no_evidence(
    skill_on: str, skill_off: str, live: bool, is_evidence: bool
) -> None:
    """A real model may answer otherwise the next time; a scripted one does not."""
    found = card(runs(candidate=skill_on, none=skill_off), live=live)

    assert (found.authoritative_reason == "") is is_evidence


def test_a_live_scorecard_of_nothing_is_no_evidence() -> None:
    """Nothing was measured twice."""
    assert card(live=True).authoritative_reason


def test_the_legs_have_run_ids_of_their_own() -> None:
    """Two runs of one id could not be told apart."""
    found = card(runs(candidate="P", none="P"))

    assert (found.skill_on_run_id, found.skill_off_run_id) == (
        "nightly-skill-on",
        "nightly-skill-off",
    )
    assert leg_run_id("a.b", OFF) == "a.b-skill-off"


@pytest.mark.parametrize(
    ("path", "of_leg", "of_scorecard"),
    [
        ("run.json", "run-skill-on.json", "run-delta-scorecard.json"),
        ("run.jsonl", "run-skill-on.jsonl", "run-delta-scorecard.json"),
        ("run", "run-skill-on", "run-delta-scorecard.json"),
        ("a.b.json", "a.b-skill-on.json", "a.b-delta-scorecard.json"),
        ("a/b/c.json", "a/b/c-skill-on.json", "a/b/c-delta-scorecard.json"),
        ("a.b/run", "a.b/run-skill-on", "a.b/run-delta-scorecard.json"),
        ("/a.b/run.json", "/a.b/run-skill-on.json", "/a.b/run-delta-scorecard.json"),
        (".json", ".json-skill-on", ".json-delta-scorecard.json"),
        (".run.json", ".run-skill-on.json", ".run-delta-scorecard.json"),
        ("a/.run", "a/.run-skill-on", "a/.run-delta-scorecard.json"),
        ("run.", "run-skill-on.", "run-delta-scorecard.json"),
        ("runs/", "runs-skill-on", "runs-delta-scorecard.json"),
        ("...", "...-skill-on", "...-delta-scorecard.json"),
        ("../run.json", "../run-skill-on.json", "../run-delta-scorecard.json"),
        ("läufe/prüfung.json", "läufe/prüfung-skill-on.json", "läufe/prüfung-delta-scorecard.json"),
    ],
)
def test_the_suffix_stands_before_the_extension(path: str, of_leg: str, of_scorecard: str) -> None:
    """Of the file alone: no dot in a folder's name, and none at the name's beginning, counts."""
    assert leg_path(PurePosixPath(path), ON) == PurePosixPath(of_leg)
    assert scorecard_path(PurePosixPath(path)) == PurePosixPath(of_scorecard)


@given(st.text(st.characters(exclude_characters="/\0"), min_size=1).filter(lambda n: n.strip(".")))
def test_no_two_files_of_a_run_are_one(name: str) -> None:
    """Whatever the name, the legs and the scorecard lie side by side in its folder."""
    path = Path("runs") / name
    files = {path, leg_path(path, ON), leg_path(path, OFF), scorecard_path(path)}

    assert len(files) == 4
    assert {file.parent for file in files} == {Path("runs")}


@pytest.mark.parametrize("path", ["", ".", "..", "/", "a/.."])
def test_a_folder_is_no_file_to_write(path: str) -> None:
    """It is told before anything runs."""
    with pytest.raises(UserError, match="names no file to write"):
        leg_path(PurePosixPath(path), ON)
    with pytest.raises(UserError, match="names no file to write"):
        scorecard_path(PurePosixPath(path))


@pytest.mark.parametrize(
    ("suite", "override", "effective"),
    [
        (False, False, False),
        (True, False, True),
        (False, True, True),
        (True, True, True),
    ],
)
def test_hooks_are_off_where_the_suite_or_the_leg_says_so(
    suite: bool, override: bool, effective: bool
) -> None:
    """The leg cannot switch on what the suite switched off."""
    assert effective_disable_hooks(suite, override) is effective


def test_the_modes_are_those_of_the_contract() -> None:
    """Context variants are another axis, and no word for them is taken."""
    assert [*BaselineMode] == ["skill-on", "skill-off", "both"]
