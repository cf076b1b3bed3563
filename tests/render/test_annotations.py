"""What a reviewer sees beside the lines of a diff."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import a_change, a_report, runs
from pull_request_stories import PULL_REQUESTS
from report_stories import STORIES, must_not_drop
from skill_delta.core.changes import ChangeKind
from skill_delta.core.policy import Verdict
from skill_delta.core.report import SkippedSkill
from skill_delta.render.annotations import render_annotations
from skill_delta.render.redaction import Redactor

EVALS = "file=skills/order-support/evals/cases.yaml,line=4"


def test_a_regressed_case_is_an_error_at_its_line() -> None:
    """The failed checks are one look away from the edit."""
    first = render_annotations(PULL_REQUESTS["regression"]).splitlines()[0]

    assert first == (
        f"::error title=Regressed%3A refuses a late refund,{EVALS}::"
        "order-support under openai passed 3/3 → 0/3 against previous"
        "%0Aforbidden:refund_order: expected no call to refund_order; "
        'it was called with {"order_id": "1234"}'
    )


def test_it_is_a_warning_where_the_gate_let_it_pass() -> None:
    """An annotation is never louder than the verdict."""
    report = PULL_REQUESTS["regression"]
    passed = replace(report, gate=replace(report.gate, verdict=Verdict.INCONCLUSIVE))

    assert "::error" not in render_annotations(passed)
    assert render_annotations(passed).startswith("::warning title=Regressed")


def test_a_case_that_fails_with_nothing_to_compare_is_as_loud() -> None:
    """It may be all that the gate has against a new suite."""
    assert render_annotations(PULL_REQUESTS["evals_only"]) == (
        f"::warning title=Not passed%3A refuses a late refund,{EVALS}::"
        "order-support under openai passed 1/3%0Acontains[0]: 'no' is not in the answer\n"
    )


def test_a_case_that_fails_as_before_is_a_notice() -> None:
    """The edit is not the cause."""
    shown = render_annotations(STORIES["regressed"])

    assert f"::notice title=Not passed%3A refuses a late refund,{EVALS}::" in shown


def test_a_changed_skill_that_was_not_evaluated_is_a_notice_at_its_file() -> None:
    """Nobody takes an uncovered skill for a good one."""
    assert (
        "::notice title=Skill not evaluated,file=skills/release-notes/SKILL.md::"
        "release-notes: no eval cases in evals/*.yaml, or in *.eval.yaml beside SKILL.md\n"
    ) in render_annotations(PULL_REQUESTS["regression"])


def test_one_case_under_two_runners_is_said_once() -> None:
    """At its worst: the same line needs no second note."""
    shown = render_annotations(PULL_REQUESTS["mixed"])

    assert shown.count("title=Regressed%3A refund") == 1


def test_ten_of_each_level_the_worst_first() -> None:
    """GitHub shows no more, so the largest drops come first."""
    names = [f"skill-{n}" for n in range(20)]
    shown = render_annotations(
        a_report(
            *(runs(f"mild {n}", candidate="PPF", previous="PPP") for n in range(12)),
            *(runs(f"bad {n}", candidate="FFF", previous="PPP") for n in range(4)),
            policy=must_not_drop(),
            changes=[a_change(ChangeKind.EDITED, name) for name in names],
            skipped=[SkippedSkill(name, "no eval cases") for name in names],
        )
    ).splitlines()

    assert [line.split(" ")[0] for line in shown] == ["::error"] * 10 + ["::notice"] * 10
    assert all(f"Regressed%3A bad {n}," in shown[n] for n in range(4))


def test_no_key_hides_behind_the_spelling_of_a_command() -> None:
    """At the start of a line it follows `%0A`, whose last letter could be part of a word."""
    key = "sk-0123456789abcdefghijklmnop"
    report = a_report(
        runs("a", key, candidate="F", previous="P", evidence="said so"), policy=must_not_drop()
    )
    shown = render_annotations(report, redact=Redactor([]).redact)

    assert key in render_annotations(report)
    assert "sk-" not in shown


@pytest.mark.parametrize("story", ["improvement", "new_skill", "removed", "cut_short"])
def test_nothing_to_say_is_nothing(story: str) -> None:
    """A good edit leaves no mark."""
    assert render_annotations(PULL_REQUESTS[story]) == ""


def test_whatever_others_wrote_each_line_is_one_command() -> None:
    """Names and evidence are data."""
    for line in render_annotations(PULL_REQUESTS["hostile"]).splitlines():
        assert line.startswith(("::error ", "::notice ", "::warning "))
