"""The report that a terminal or a log shows."""

from __future__ import annotations

import re
from dataclasses import replace
from textwrap import dedent

import pytest
from syrupy.assertion import SnapshotAssertion

from builders import Cost, a_report, runs
from report_stories import STORIES, one_baseline, per_runner
from skill_delta.core.inference import Ruling
from skill_delta.core.intervals import Interval
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.report import NO_CASES, Report, SkippedSkill
from skill_delta.render.judgements import interval_bar
from skill_delta.render.terminal import ANSI, render_terminal
from snapshot_files import TextFile


@pytest.mark.parametrize("story", STORIES)
def test_story(story: str, snapshot: SnapshotAssertion) -> None:
    """What people read is reviewed as people read it."""
    told = render_terminal(STORIES[story])

    assert told == snapshot(extension_class=TextFile)


def test_one_line_per_case_and_one_block_word_for_word() -> None:
    """Scripts that read skill-lens's console read ours."""
    assert block(
        """
        [PASS] order-support :: refund-request (openai)  candidate 5/5  baseline 2/5  +60%

        Delta vs baseline (previous)
          pass rate  40% -> 100%  +60%   (higher is better)
          tokens     -60   (negative is better)
          cost       $-0.0002   (negative is better)
          latency    -120ms   (negative is better)
        """
    ) in render_terminal(one_baseline())


def test_one_section_per_runner_word_for_word() -> None:
    """Two runners are two results, in the order in which they were asked for."""
    assert block(
        """
        Delta vs baseline (none), per runner
          claude-code
            pass rate  0% -> 60%  +60%   (higher is better)
            tokens     +301804   (negative is better)
            cost       $+0.1900   (negative is better)
            latency    +24000ms   (negative is better)
          pydantic-ai
            pass rate  0% -> 100%  +100%   (higher is better)
            tokens     +240000   (negative is better)
            cost       $+0.0100   (negative is better)
            latency    +149000ms   (negative is better)
        """
    ) in render_terminal(per_runner())


def test_both_kinds_of_flag_word_for_word() -> None:
    """They name skill, case and runner, and our mark follows the line."""
    told = render_terminal(
        a_report(
            runs(runner="claude-code", candidate="PPP", none="PPP"),
            runs(runner="pydantic-ai", candidate="PPPFF", none="FFFFF"),
        )
    )

    assert (
        block(
            """
        Low-signal checks (passed with and without the skill — they measure nothing):
          - order-support :: refund-request (claude-code): contains[0] (6 runs)

        High-variance cases (repetitions disagreed — often ambiguous instructions):
          - order-support :: refund-request (pydantic-ai, candidate): 60%, stddev 0.49 (5 runs)
        """
        )
        in told
    )


def test_under_previous_a_check_that_always_passes_still_guards() -> None:
    """It measures nothing about the edit, and is no reason to remove it."""
    told = render_terminal(a_report(runs(candidate="PP", previous="PP")))

    assert "Low-signal checks (passed in both versions — they guard against regressions" in told
    assert "they measure nothing" not in told


def test_every_flag_of_a_check_is_explained_and_says_what_it_rests_on() -> None:
    """A check that some luck would explain as well is marked so."""
    told = render_terminal(
        a_report(
            runs("broken", candidate="FFF", none="FFF"),
            runs("both", "contains[0]", "regex[0]", candidate="FFP", none="PPP"),
        )
    )

    assert (
        block(
            """
        Checks that always fail (in both arms — they are broken, or ask too much):
          - order-support :: broken (openai): contains[0] (6 runs)

        Inverse checks (better without the skill — it is in the way, or they ask for the wrong thing):
          - order-support :: both (openai): contains[0], candidate 33%, baseline 100% (6 runs: may be chance)
          - order-support :: both (openai): regex[0], candidate 33%, baseline 100% (6 runs: may be chance)

        Derived checks (ended as another check of the case every time — they tell nothing new):
          - order-support :: both (openai): regex[0] as contains[0] (6 runs: may be chance)
        """  # noqa: E501
        )
        in told
    )


def test_under_previous_an_inverse_check_may_be_a_regression() -> None:
    """Its heading blames no check for what the edit did."""
    told = render_terminal(a_report(runs(candidate="FFF", previous="PPP")))

    assert (
        block(
            """
        Inverse checks (better in the previous version — the edit may have lost something):
          - order-support :: refund-request (openai): contains[0], candidate 0%, baseline 100% (6 runs)
        """  # noqa: E501
        )
        in told
    )


@pytest.mark.parametrize(
    ("candidate", "mark"),
    [
        ("PPP", "[PASS] "),
        ("PPE", "[PASS] "),
        ("PFP", "[FAIL] "),
        ("EEE", "[ERROR] "),
        ("NNN", "[NOT RUN] "),
        ("III", "[INCONCLUSIVE] "),
    ],
)
def test_the_mark_of_a_case_is_its_candidates(candidate: str, mark: str) -> None:
    """The baseline is there to be compared with, not to be graded."""
    assert render_terminal(a_report(runs(candidate=candidate, previous="FFF"))).startswith(mark)


def test_a_lost_repetition_is_named_and_is_in_neither_number() -> None:
    """Four of four is not four of five, and not five of five."""
    told = render_terminal(a_report(runs(candidate="PPPPE", previous="PPPNI")))

    assert "candidate 4/4 (1 errored)  baseline 3/3 (1 inconclusive, 1 not run)  +0%" in told


def test_a_difference_of_nothing_has_no_minus() -> None:
    """`-0` reads as a small loss."""
    costs = {"candidate": Cost(100, 0.00049999999, 799.9), "previous": Cost(100, 0.0005, 800.0)}
    told = render_terminal(a_report(runs(candidate="PP", previous="PP", costs=costs)))

    assert not re.search(r"-0(\.0+)?(%|ms|\s|$)", told, re.MULTILINE)


def test_colour_adds_no_word_and_takes_none() -> None:
    """A log without colour says the same, line by line."""
    for report in STORIES.values():
        coloured = render_terminal(report, ANSI)

        assert re.sub("\x1b\\[[0-9]*m", "", coloured) == render_terminal(report)
        assert "\x1b[" in coloured


def test_nothing_that_others_wrote_commands_the_terminal() -> None:
    """A skill's name is not an escape sequence, and not a second line."""
    told = render_terminal(STORIES["hostile"])

    assert "\x1b" not in told
    assert "\u202e" not in told
    assert not re.search(r"^\s*(::|/)|##\[", told, re.MULTILINE)


def block(text: str) -> str:
    return dedent(text).strip("\n") + "\n"


def test_a_baseline_that_was_looked_at_more_often_is_compared_with_its_own_candidate() -> None:
    """One comparison was decided at once, the other sampled both arms again."""
    report = a_report(runs(candidate="PPPFFF", previous="PPP", none="PPPPPP"))
    first = tuple(o for o in report.outcomes if o.trial.repetition < 3)
    deltas = (compare("previous", first, {}), compare("none", report.outcomes, {}))

    (line, *_) = render_terminal(replace(report, deltas=deltas)).splitlines()

    assert line == (
        "[PASS] order-support :: refund-request (openai)  candidate 3/3  "
        "previous 3/3  +0%  none 6/6  -50% (candidate 3/6)"
    )


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        pytest.param("PPP", "No regression shown:", id="repeated"),
        pytest.param("P", "INCONCLUSIVE:", id="single runs"),
        pytest.param("PPPEE", "INCONCLUSIVE:", id="lost trials"),
    ],
)
def test_no_regression_is_shown_only_where_something_was(ours: str, said: str) -> None:
    """Single runs, and runs with holes in them, show nothing either way."""
    policy = GatePolicy(
        method=GateMethod.INTERVAL,
        min_pass_rate=None,
        fail_on_error=False,
        min_delta={"previous": 0.0},
    )
    suite = [
        o for n in range(3) for o in runs(f"case {n}", candidate=ours, previous="P" * len(ours))
    ]
    if "E" in ours:
        suite = [o for n in range(40) for o in runs(f"case {n}", candidate=ours, previous="PPPPP")]

    told = render_terminal(a_report(tuple(suite), policy=policy))

    assert said in told
    assert ("This suite" in told) == (ours != "P")


NOTHING_ASKED = GatePolicy(
    method=GateMethod.INTERVAL, needs_cases=False, min_pass_rate=None, fail_on_error=False
)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        pytest.param(
            a_report(runs(candidate="PPP", none="FFF"), policy=NOTHING_ASKED),
            "Measured, and no bar applies",
            id="no bar",
        ),
        pytest.param(
            a_report(runs(candidate="FFF" * 3, none="PPP" * 3), policy=NOTHING_ASKED),
            "Worse, and no bar applies",
            id="worse, no bar",
        ),
        pytest.param(
            a_report(skipped=[SkippedSkill("greeting", NO_CASES)], policy=NOTHING_ASKED),
            "Nothing measured",
            id="no cases",
        ),
        pytest.param(a_report(policy=NOTHING_ASKED), "Nothing to measure", id="moved or removed"),
        pytest.param(
            a_report(runs(candidate="PPP"), policy=replace(NOTHING_ASKED, min_pass_rate=0.5)),
            "Gate passed",
            id="a bar",
        ),
    ],
)
def test_a_gate_that_held_nothing_against_anything_did_not_pass_it(
    report: Report, said: str
) -> None:
    """A tick over nothing measured reads as a tick over something good."""
    assert report.gate.passed
    assert render_terminal(report).splitlines()[-1] == said


@pytest.mark.parametrize(
    ("suite", "drawing"),
    [
        pytest.param([("PPP", "FFF")] * 9, r"^·*│[·━●]+$", id="above zero"),
        pytest.param([("FFF", "PPP")] * 9, r"^[·━●]+│·*$", id="below zero"),
        pytest.param([("PPF", "PPF")] * 9, r"^·*━+●━+·*$", id="around zero"),
    ],
)
def test_the_drawing_crosses_zero_where_the_interval_does(
    suite: list[tuple[str, str]], drawing: str
) -> None:
    """However coarse it is, it says the same as the numbers beside it."""
    measured = [
        o
        for n, (ours, theirs) in enumerate(suite)
        for o in runs(f"case {n}", candidate=ours, previous=theirs)
    ]
    readings = a_report(tuple(measured)).readings
    (reading,) = (found for scope, found in readings.items() if not scope.skill)

    assert re.fullmatch(drawing, interval_bar(reading))


@pytest.mark.parametrize("delta", [0.01, 0.02, -0.01, -0.02])
def test_a_delta_close_to_zero_is_drawn_on_its_own_side(delta: float) -> None:
    """Where the interval leaves zero out, the point does not stand on its line."""
    ends = sorted((delta / 2, delta * 2))
    (reading, *_) = a_report(runs(candidate="PPP", previous="PPP")).readings.values()
    drawn = interval_bar(replace(reading, ruling=Ruling("pass", Interval(delta, *ends))))

    assert drawn[10] == "│"
    assert (drawn.index("●") > 10) == (delta > 0)
