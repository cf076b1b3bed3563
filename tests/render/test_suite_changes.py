"""What a pull request does to the cases that judge it, as each report says it."""

from __future__ import annotations

import json
from collections.abc import Sequence

import jsonschema
import pytest

from builders import SKILL, a_case_change, a_report, runs
from pull_request_stories import PULL_REQUESTS
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.report import Report
from skill_delta.core.suite_changes import CaseChange, CaseChangeKind, CasePart
from skill_delta.render.comment import render_comment
from skill_delta.render.machine import render_json, report_schema
from skill_delta.render.remarks import altered_cases, weakened_suites
from skill_delta.render.status import render_status
from skill_delta.render.terminal import render_terminal

POINT = GatePolicy(min_delta={"previous": 0.0}, min_pass_rate=None)
INTERVAL = GatePolicy(GateMethod.INTERVAL, min_delta={"previous": 0.0}, min_pass_rate=None)
GONE = a_case_change("late refund", CaseChangeKind.REMOVED)


def report_of(
    *changes: CaseChange, policy: GatePolicy = POINT, candidate: str = "PPP", cases: int = 1
) -> Report:
    return a_report(
        *(runs(f"case {n}", candidate=candidate, previous="PPP") for n in range(cases)),
        policy=policy,
        suite_changes={SKILL: changes},
    )


def heading(report: Report) -> str:
    return render_comment(report).splitlines()[0].removeprefix("### ")


def lines_of_gate(report: Report) -> Sequence[str]:
    return render_terminal(report).rpartition("Spent ")[2].splitlines()[2:]


# ---------------------------------------------------------------- the verdict


@pytest.mark.parametrize(
    ("policy", "candidate", "verdict"),
    [
        (POINT, "PPP", "⚠️ skill-delta: gate passed, but 1 case removed"),
        (INTERVAL, "PPP", "⚠️ skill-delta: no regression shown, but 1 case removed"),
        (INTERVAL, "PPF", "⚠️ skill-delta: inconclusive, and 1 case removed"),
        (POINT, "FFF", "❌ skill-delta: gate failed, and 1 case removed"),
        (INTERVAL, "NNN", "⚠️ skill-delta: not measured, and 1 case removed"),
    ],
)
def test_no_verdict_hides_that_a_case_went(
    policy: GatePolicy, candidate: str, verdict: str
) -> None:
    """In the comment's heading, beside the commit and in the terminal alike; never with a tick."""
    report = report_of(GONE, policy=policy, candidate=candidate)
    words = verdict.partition(": ")[2]

    assert heading(report) == verdict
    assert render_status(report).lower().startswith(words)
    assert lines_of_gate(report)[0].lower().startswith(words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([GONE, GONE], "2 cases removed"),
        ([a_case_change(loosened=("x is gone",))], "1 case loosened"),
        ([a_case_change(deselected_by="tag smoke")], "1 case deselected"),
        (
            [a_case_change(deselected_by="tag smoke", loosened=("x is gone",)), GONE],
            "1 case removed, 1 deselected",
        ),
        ([*[GONE] * 1_200, a_case_change(loosened=("x",))], "1,200 cases removed, 1 loosened"),
    ],
)
def test_each_case_is_counted_once_by_the_worst_that_was_done_to_it(
    changes: list[CaseChange], words: str
) -> None:
    """Short enough for a phone."""
    assert heading(report_of(*changes)) == f"⚠️ skill-delta: gate passed, but {words}"


@pytest.mark.parametrize(
    "change",
    [
        a_case_change(kind=CaseChangeKind.UNCHANGED),
        a_case_change(kind=CaseChangeKind.ADDED),
        a_case_change(altered=(CasePart.TASK,)),
        a_case_change("old", CaseChangeKind.REMOVED, renamed_to="new"),
    ],
)
def test_a_suite_that_asks_as_much_is_a_plain_pass(change: CaseChange) -> None:
    """New, renamed and otherwise edited cases take nothing away."""
    report = report_of(change)

    assert heading(report) == "✅ skill-delta: gate passed"
    assert lines_of_gate(report) == ["Gate passed"]
    assert render_status(report).startswith("Gate passed: ")
    assert "What to do next" not in render_comment(report)


# ---------------------------------------------------------------- the reasons


def test_what_was_taken_comes_first_and_what_nobody_can_judge_last() -> None:
    """And the reviewer is told how to judge by the base's cases."""
    shown = render_comment(PULL_REQUESTS["weakened"])
    words = ("removes 2", "no longer selected", "loosens", "pass rate", "changes what 2 cases")
    order = [shown.index(each) for each in words]

    assert order == sorted(order)
    assert "`suite: base` judges by those of the base" in shown
    assert render_terminal(PULL_REQUESTS["weakened"]).count("  - order-support: ") == 5


def test_the_lists_are_short_and_count_what_they_leave_out() -> None:
    """The first ten by name."""
    many = range(13)
    report = report_of(
        *(a_case_change(f"gone {n}", CaseChangeKind.REMOVED) for n in many),
        *(a_case_change(f"left out {n}", deselected_by="tag smoke") for n in many),
        *(a_case_change(f"looser {n}", loosened=("x is gone",)) for n in many),
        *(a_case_change(f"other {n}", altered=(CasePart.TASK, CasePart.MODE)) for n in many),
    )

    removed, deselected, *loosened = weakened_suites(report)
    (altered,) = altered_cases(report)

    assert '13 cases: "gone 0", ' in removed
    assert removed.endswith('"gone 9" and 3 more')
    assert "13 cases are no longer selected by tag smoke: " in deselected
    assert deselected.endswith('"left out 9" and 3 more')
    assert len(loosened) == 11
    assert loosened[-1] == f"{SKILL}: the pull request loosens 3 more cases"
    assert 'changes what 13 cases ask: "other 0" (task, mode), ' in altered
    assert altered.endswith('"other 9" (task, mode) and 3 more')


def test_what_was_taken_leaves_the_verdicts_own_reasons_in_sight() -> None:
    """However much it is: it is one reason, and counts what it leaves out."""
    loosened = [a_case_change(f"looser {n}", loosened=("x is gone",)) for n in range(13)]

    shown = render_comment(report_of(GONE, *loosened, candidate="FFF"))

    assert shown.splitlines()[2] == "- What the pull request took from its eval cases"
    assert shown.count("loosens the case") == 9
    assert "  - and 2 more" in shown
    assert shown.index("is below the required") < shown.index("0 passed, 3 failed")
    assert "more reasons" not in shown


def test_one_case_that_asks_otherwise_is_told_in_a_sentence() -> None:
    """With the parts of it that changed."""
    (line,) = altered_cases(report_of(a_case_change("x", altered=(CasePart.TASK, CasePart.TOOLS))))

    assert line == f'{SKILL}: the pull request changes what the case "x" asks: its task and tools'


def test_the_json_report_has_all_of_it() -> None:
    """As the schema says."""
    document = json.loads(render_json(PULL_REQUESTS["weakened"]))
    jsonschema.Draft202012Validator(report_schema()).validate(document)
    changes = {change["case"]: change for change in document["suite_changes"]}

    assert changes["refuses a late refund"]["altered"] == ["task", "tools"]
    assert changes["late"]["deselected_by"] == "case late"
    assert changes["thanks the customer"]["deselected_by"] is None


# ---------------------------------------------------------------- the cases that were left


def test_the_untouched_cases_are_read_again_only_where_they_tell_more() -> None:
    """The same numbers over the same cases are said once."""
    edited = a_case_change("case 1", altered=(CasePart.TASK,))
    left = [a_case_change(f"case {n}", CaseChangeKind.UNCHANGED) for n in range(2)]

    assert "left as they were" not in render_comment(report_of(*left, GONE, cases=2))
    assert "Over the 199 cases that the pull request left as they were" in render_comment(
        report_of(
            edited,
            *(a_case_change(f"case {n}", CaseChangeKind.UNCHANGED) for n in range(200) if n != 1),
            cases=200,
        )
    )
    assert "Over the 1 case that the pull request left as they were" in render_comment(
        report_of(left[0], edited, cases=2)
    )
