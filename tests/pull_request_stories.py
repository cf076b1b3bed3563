"""Pull requests that the comment must tell well, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from builders import SKILL, Cost, a_case_change, a_change, a_report, runs
from report_stories import HOSTILE
from skill_delta.core.changes import ChangeKind
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.report import NO_CASES, Report, SkippedSkill
from skill_delta.core.suite_changes import CaseChangeKind, CasePart
from skill_delta.render.frame import Frame

AS_THE_ACTION_HAS_IT = GatePolicy(
    method=GateMethod.INTERVAL,
    needs_cases=False,
    min_pass_rate=None,
    fail_on_error=False,
    min_delta={"previous": 0.0},
    looks=Looks(3, 9, Adaptive.CONFIRM),
)

FRAME = Frame(
    base_found="the first parent of the merge commit that GitHub made",
    report_path=".skill-delta/report.md",
    run_url="https://github.com/acme/skills/actions/runs/17041709",
)


def improvement() -> Report:
    """One edit, and the skill is better for it."""
    costs = {"candidate": Cost(212, 0.0008, 1900.0), "previous": Cost(248, 0.0011, 2300.0)}
    return a_report(
        runs("refund inside the window", candidate="PPP", previous="PFF", costs=costs),
        runs("refuses a late refund", candidate="PPP", previous="PPF", costs=costs),
        runs("names the order first", candidate="PPP", previous="PPP", costs=costs),
        runs("asks for a missing order number", candidate="PPF", previous="FFF", costs=costs),
        policy=AS_THE_ACTION_HAS_IT,
        changes=[a_change(ChangeKind.EDITED)],
    )


def regression() -> Report:
    """One edit too many, in a pull request that touches another skill as well."""
    costs = {"candidate": Cost(271, 0.0012, 2600.0), "previous": Cost(248, 0.0011, 2300.0)}
    late = 'expected no call to refund_order; it was called with {"order_id": "1234"}'
    vague = 'expected "order number" in the output; the output is "I am sorry to hear that!"'
    return a_report(
        runs(
            "refuses a late refund",
            "forbidden:refund_order",
            candidate="FFF",
            previous="PPP",
            costs=costs,
            evidence=late,
        ),
        runs(
            "asks for a missing order number",
            "contains[0]",
            candidate="FFF",
            previous="PPP",
            costs=costs,
            evidence=vague,
        ),
        runs("refund inside the window", candidate="PPP", previous="PPF", costs=costs),
        runs("names the order first", candidate="PPP", previous="PPP", costs=costs),
        runs("thanks the customer", candidate="PPP", previous="PPP", costs=costs),
        runs("greets by name", skill="greeting", candidate="PPP", previous="PPF"),
        runs("uses no exclamation marks", skill="greeting", candidate="PPP", previous="PPP"),
        policy=AS_THE_ACTION_HAS_IT,
        changes=[
            a_change(ChangeKind.EDITED, "greeting"),
            a_change(ChangeKind.EDITED),
            a_change(ChangeKind.EDITED, "release-notes"),
        ],
        skipped=[SkippedSkill("release-notes", NO_CASES)],
        notes=["order-support: version not bumped: compared with the base commit"],
    )


def mixed() -> Report:
    """Every kind of change at once, two runners."""
    changes = [
        a_change(ChangeKind.REMOVED, "apologies"),
        a_change(ChangeKind.MOVED_AND_EDITED, "greeting", "agents/greeting"),
        a_change(ChangeKind.EDITED),
        a_change(ChangeKind.EDITED, "release-notes"),
        a_change(ChangeKind.EVALS_ONLY, "tone"),
        a_change(ChangeKind.ADDED, "triage"),
    ]
    both = ("claude-code", "openai")
    return a_report(
        *(runs("refund", runner=runner, candidate="PPF", previous="PPP") for runner in both),
        *(
            runs("greets", skill="greeting", runner=runner, candidate="PPP", previous="PFF")
            for runner in both
        ),
        *(runs("is calm", skill="tone", runner=runner, candidate="PFP") for runner in both),
        *(
            runs("sorts", skill="triage", runner=runner, candidate="PPP", none="FFF")
            for runner in both
        ),
        policy=AS_THE_ACTION_HAS_IT,
        own={
            "order-support": ["previous"],
            "greeting": ["previous"],
            "tone": [],
            "triage": ["none"],
        },
        changes=changes,
        skipped=[SkippedSkill("release-notes", NO_CASES)],
    )


def cut_short() -> Report:
    """The ceiling came first, so nothing is decided."""
    return a_report(
        runs("refund", candidate="PPN", previous="PPN"),
        runs("greets", candidate="NNN", previous="NNN"),
        policy=AS_THE_ACTION_HAS_IT,
        changes=[a_change(ChangeKind.EDITED)],
    )


def new_skill() -> Report:
    """There is no earlier version to compare it with."""
    return a_report(
        runs("sorts by urgency", skill="triage", candidate="PPP", none="FFF"),
        runs("names the team", skill="triage", candidate="PPP", none="PFF"),
        policy=replace(AS_THE_ACTION_HAS_IT, min_delta={}),
        changes=[a_change(ChangeKind.ADDED, "triage")],
    )


def removed() -> Report:
    """One skill is gone, another one stays good."""
    return a_report(
        runs(candidate="PPP", previous="PPP"),
        policy=AS_THE_ACTION_HAS_IT,
        changes=[a_change(ChangeKind.REMOVED, "apologies"), a_change(ChangeKind.EDITED)],
    )


def evals_only() -> Report:
    """The cases changed and the skill did not, so it is measured by itself."""
    return a_report(
        runs("refund", candidate="PPP"),
        runs("refuses a late refund", candidate="PFF", evidence="'no' is not in the answer"),
        policy=replace(AS_THE_ACTION_HAS_IT, min_delta={}),
        changes=[a_change(ChangeKind.EVALS_ONLY)],
    )


def uncovered() -> Report:
    """A skill without a single case."""
    return a_report(
        changes=[a_change(ChangeKind.EDITED, "release-notes")],
        skipped=[SkippedSkill("release-notes", NO_CASES)],
    )


def weakened() -> Report:
    """It passes, by what it left of the cases."""
    return a_report(
        runs("refund inside the window", candidate="PPP", previous="PPP"),
        runs("refuses a late refund", candidate="PPP", previous="FFF"),
        runs("names the order first", candidate="PPP", previous="PPP"),
        policy=replace(AS_THE_ACTION_HAS_IT, method=GateMethod.POINT),
        changes=[a_change(ChangeKind.EDITED)],
        suite_changes={
            SKILL: (
                a_case_change("refund inside the window", CaseChangeKind.UNCHANGED),
                a_case_change(
                    "refuses a late refund",
                    loosened=("forbidden:refund_order is gone", "max_calls raised from 1 to 5"),
                    altered=(CasePart.TASK, CasePart.TOOLS),
                ),
                a_case_change("names the order first", altered=(CasePart.TASK,)),
                a_case_change("tardy", CaseChangeKind.ADDED, renamed_from="late"),
                a_case_change(
                    "late", CaseChangeKind.REMOVED, renamed_to="tardy", deselected_by="case late"
                ),
                a_case_change("says when", deselected_by="tag smoke"),
                a_case_change("thanks the customer", CaseChangeKind.REMOVED),
                a_case_change("asks for a missing order number", CaseChangeKind.REMOVED),
            )
        },
    )


def hostile() -> Report:
    """Every text that others write is out to break the page."""
    return a_report(
        runs(HOSTILE, HOSTILE, skill=HOSTILE, candidate="PF", previous="PP", evidence=HOSTILE),
        runs("lost", skill=HOSTILE, candidate="PP", previous="EE"),
        policy=AS_THE_ACTION_HAS_IT,
        models={"openai": HOSTILE},
        notes=[HOSTILE],
        skipped=[SkippedSkill(HOSTILE, HOSTILE)],
        changes=[a_change(kind, HOSTILE, HOSTILE) for kind in ChangeKind],
        suite_changes={
            HOSTILE: (
                a_case_change(HOSTILE, CaseChangeKind.REMOVED),
                a_case_change(HOSTILE, loosened=(HOSTILE,), altered=(CasePart.TASK,)),
                a_case_change(HOSTILE, renamed_to=HOSTILE, deselected_by=HOSTILE),
            )
        },
    )


PULL_REQUESTS: Mapping[str, Report] = {
    story.__name__: story()
    for story in (
        improvement,
        regression,
        mixed,
        cut_short,
        new_skill,
        removed,
        evals_only,
        uncovered,
        weakened,
        hostile,
    )
}
