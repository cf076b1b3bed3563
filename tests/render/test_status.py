"""The one line beside a commit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_report, runs
from pull_request_stories import PULL_REQUESTS
from report_stories import HOSTILE, STORIES
from skill_delta.core.report import Report
from skill_delta.hosts.github import DESCRIPTION_CHARACTERS, cut
from skill_delta.render.status import render_status


@pytest.mark.parametrize(
    ("story", "line"),
    [
        ("improvement", "Gate passed: pass rate 50% → 92% (+42%) against previous"),
        (
            "regression",
            (
                "Gate failed: pass-rate delta -33.3% [-50%, -14%] of skill 'order-support' "
                "lies below the required +0% (and 1 more)"
            ),
        ),
        (
            "weakened",
            (
                "Gate passed, but 2 cases removed, 2 deselected, 1 loosened: "
                "pass rate 67% → 100% (+33%) against previous"
            ),
        ),
        ("new_skill", "Measured, and no bar applies: pass rate 17% → 100% (+83%) against no skill"),
        (
            "evals_only",
            "Measured, and no bar applies: 4 passed, 2 failed, 0 errored — pass rate 67%",
        ),
        (
            "cut_short",
            ("Not measured: 8 trials were not run: the ceiling of $1.00 was reached (and 1 more)"),
        ),
        (
            "mixed",
            (
                "Inconclusive: pass-rate delta -33.3% [-84%, +38%] of skill 'order-support' "
                "against 'previous' under runner 'claude-code' is wi… (and 3 more)"
            ),
        ),
    ],
)
def test_the_verdict_and_why(story: str, line: str) -> None:
    """The first reason is the one that a reader needs."""
    assert render_status(PULL_REQUESTS[story]) == line


@given(st.sampled_from([HOSTILE, "\U0001f680" * 100, "x" * 300]) | st.text())
def test_it_is_one_line_that_github_takes(name: str) -> None:
    """However long the reason is, and however its characters are counted."""
    report = a_report(
        runs("a", skill=name, candidate="F", previous="P"),
        baselines=["previous", name],
    )
    line = render_status(report)

    assert len(line.encode("utf-16-le")) // 2 <= DESCRIPTION_CHARACTERS
    assert len(line.splitlines()) == 1
    assert line.isprintable()


@pytest.mark.parametrize("story", [*STORIES.values(), *PULL_REQUESTS.values()])
def test_nothing_is_left_for_the_host_to_cut(story: Report) -> None:
    """What was composed is what is shown."""
    line = render_status(story)

    assert cut(line) == " ".join(line.split())
