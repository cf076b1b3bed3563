"""The one comment that a pull request gets, the job's summary, and what stands in their place."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from builders import BASE, CASE, HEAD, Runs, a_change, a_report, runs
from github_markdown import as_github_shows_it, is_ours_alone, visible
from pull_request_stories import FRAME, PULL_REQUESTS
from report_stories import HOSTILE, must_not_drop
from skill_delta.core.changes import ChangeKind
from skill_delta.core.report import Report
from skill_delta.hosts.comment_marker import MARKER_CHARACTERS
from skill_delta.render.comment import (
    COMMENT_CHARACTERS,
    SUMMARY_BYTES,
    render_comment,
    render_not_measured,
    render_summary,
)
from skill_delta.render.escape import Markdown
from skill_delta.render.frame import Frame, render_unchanged
from snapshot_files import MarkdownFile

LONG = "the answer was " + "lorem ipsum_dolor [sit] " * 40


def many(number: int, text: str = LONG, *, checks: int = 8) -> Report:
    """So many cases that all regressed, with a lot to say of each."""
    names = [f"contains[{position}]" for position in range(checks)]
    return a_report(
        *(
            runs(f"case {position}", *names, candidate="FFF", previous="PPP", evidence=text)
            for position in range(number)
        ),
        policy=must_not_drop(),
        changes=[a_change(ChangeKind.EDITED)],
        notes=[f"note {position}: {text}" for position in range(number)],
    )


def utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def named(pattern: str, comment: str) -> list[str]:
    return re.findall(pattern, comment, re.MULTILINE)


@pytest.mark.parametrize("story", PULL_REQUESTS)
def test_pull_request(story: str, snapshot: SnapshotAssertion) -> None:
    """What people read is reviewed as people read it."""
    comment = render_comment(PULL_REQUESTS[story], frame=FRAME)

    assert comment == snapshot(extension_class=MarkdownFile)


@pytest.mark.parametrize("story", PULL_REQUESTS)
def test_the_page_is_ours_alone(story: str) -> None:
    """No element, link, image, mention or hidden mark on it comes from what others wrote."""
    comment = render_comment(PULL_REQUESTS[story], frame=FRAME)
    page = as_github_shows_it(comment)

    assert is_ours_alone(page, FRAME.run_url)
    assert "<!--" not in comment
    assert not re.search(r"@\w|#\d|://|www\.", re.sub("<[^>]*>", "", page))
    assert "|" not in visible(page).replace("| `x`", "")


@pytest.mark.parametrize("story", PULL_REQUESTS)
def test_the_summary_is_the_same_page(story: str) -> None:
    """Whoever cannot see the comment misses nothing."""
    report = PULL_REQUESTS[story]

    assert render_summary(report, frame=FRAME) == render_comment(report, frame=FRAME)


def test_both_commits_the_base_s_origin_and_the_run_close_it() -> None:
    """A reader can measure again."""
    last = render_comment(PULL_REQUESTS["regression"], frame=FRAME).splitlines()[-1]

    assert f"base {BASE}, the first parent of the merge commit that GitHub made" in last
    assert f"head {HEAD}" in last
    assert "openai 0.1.0 (gpt-test) · 3 repetitions · seed 7 · 8,985 tokens" in last
    assert f"[workflow run]({FRAME.run_url})" in last


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://a.example/) [x](y", "", "x"])
def test_an_address_that_is_none_is_no_link(url: str) -> None:
    """Not even our own link is made of anything but an address."""
    comment = render_comment(PULL_REQUESTS["regression"], frame=Frame(run_url=url))

    assert "workflow run" not in comment


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (ChangeKind.REMOVED, "- **skills/apologies**: removed, nothing to run"),
        (
            ChangeKind.EDITED,
            "- **skills/release-notes**: edited, **not evaluated**: no eval cases in",
        ),
        (ChangeKind.EVALS_ONLY, "- **tone**: evals only, measured alone"),
        (ChangeKind.ADDED, "- **triage**: added, compared with no skill"),
        (ChangeKind.MOVED_AND_EDITED, "- **greeting**: moved from agents/greeting and edited"),
    ],
)
def test_each_change_says_what_was_made_of_it(change: ChangeKind, line: str) -> None:
    """Removed, uncovered, alone, new: none of them is silently absent from the table."""
    report = PULL_REQUESTS["mixed"]

    assert change in {each.kind for each in report.changes}
    assert any(each.startswith(line) for each in render_comment(report).splitlines())


def test_a_skill_whose_files_alone_changed_says_what_it_is_compared_with() -> None:
    """Its SKILL.md has no previous version of its own here."""
    comment = render_comment(
        a_report(runs(candidate="P", base="P"), changes=[a_change(ChangeKind.BUNDLE_ONLY)])
    )

    assert "- **order-support**: bundle only, compared with base" in comment


def test_a_renamed_skill_md_and_a_skill_at_the_root_are_told_in_words() -> None:
    """`moved from .` would say nothing."""
    moved = a_change(ChangeKind.MOVED)
    came_down = a_change(ChangeKind.MOVED, "x", ".")
    comment = render_comment(a_report(runs(candidate="P", none="P"), changes=[moved, came_down]))

    assert "- **order-support**: SKILL.md renamed, compared with no skill" in comment
    assert "- **skills/x**: moved from the repository's root, **not evaluated**" in comment


def test_skills_that_fared_alike_share_a_line() -> None:
    """A rename of three hundred folders is one thing to say."""
    changes = [a_change(ChangeKind.REMOVED, f"skill-{number}") for number in range(300)]
    comment = render_comment(a_report(changes=changes))

    assert named(r"^- \*\*skills/skill-0\*\*, .* (and 280 more: removed.*)", comment) == [
        "and 280 more: removed, nothing to run"
    ]


def test_only_removed_skills_leave_a_page_too() -> None:
    """There is nothing to measure, and something to say."""
    comment = render_comment(a_report(changes=[a_change(ChangeKind.REMOVED, "apologies")]))

    assert "- **skills/apologies**: removed, nothing to run" in comment
    assert "| Skill |" not in comment


# ---------------------------------------------------------------- as long as it may be


def test_the_marker_has_room_above_it() -> None:
    """GitHub refuses a comment of 65,537 characters."""
    assert COMMENT_CHARACTERS + MARKER_CHARACTERS <= 65_536


def test_a_short_report_is_whole() -> None:
    """What has room is never left out."""
    for report in PULL_REQUESTS.values():
        assert "Left out" not in render_comment(report)


def test_300_regressed_cases_are_all_named_and_the_worst_are_shown() -> None:
    """Evidence goes before names, and what is gone is counted."""
    comment = render_comment(many(300), frame=FRAME)
    bare = len(named(r"^- \*\*case \d+\*\*.*\n(?!  - )", comment))

    assert COMMENT_CHARACTERS * 0.95 < utf16_units(comment) <= COMMENT_CHARACTERS
    assert len(named(r"^- \*\*case \d+\*\*", comment)) == 300
    assert named(r"^- \*\*(case \d+)\*\*.*\n  - contains", comment)[:5] == [
        f"case {position}" for position in range(5)
    ]
    assert f"the evidence of {bare} of 300 regressed" in comment
    assert "297 of 300 notes" in comment
    assert "The whole report is in the job summary and in .skill-delta/report.md." in comment


def test_300_skills_have_a_row_each() -> None:
    """Ten in sight, the others folded."""
    skills = [f"skill-{number}" for number in range(300)]
    comment = render_comment(
        a_report(
            *(runs(skill=s, candidate="PFF", previous="PPP", evidence=LONG) for s in skills),
            policy=must_not_drop(),
            changes=[a_change(ChangeKind.EDITED, skill) for skill in skills],
        )
    )

    assert utf16_units(comment) <= COMMENT_CHARACTERS
    assert len(named(r"^\| \*\*skill-\d+\*\* ", comment)) == 300
    assert "<summary>290 more skills</summary>" in comment
    assert as_github_shows_it(comment).count("<tr>") == 300 + 2


def test_hostile_names_cost_room_and_nothing_else() -> None:
    """Each character of theirs may take eight of ours."""
    text = "@" * 300
    report = a_report(
        *(
            runs(f"{text}{n}", text, skill=text, candidate="F", previous="P", evidence=text)
            for n in range(300)
        ),
        policy=must_not_drop(),
        changes=[a_change(kind, text) for kind in ChangeKind],
        notes=[text] * 300,
    )
    comment = render_comment(report, frame=FRAME)

    assert utf16_units(comment) <= COMMENT_CHARACTERS
    assert is_ours_alone(as_github_shows_it(comment), FRAME.run_url)
    assert "of 300 regressed" in comment


def test_a_character_that_github_counts_twice_is_counted_twice() -> None:
    """Names may be emoji from end to end."""
    comment = render_comment(many(300, "\U0001f680" * 300))

    assert len(comment) < utf16_units(comment) <= COMMENT_CHARACTERS


def test_what_takes_a_secret_s_place_is_counted_too() -> None:
    """A comment that was short enough before its keys were taken out may not be after."""

    def redact(text: str) -> str:
        return text.replace("sit", "(redacted)")

    comment = render_comment(many(300), redact=redact)

    assert "sit" not in comment
    assert utf16_units(comment) <= COMMENT_CHARACTERS


def test_a_summary_is_cut_by_its_bytes() -> None:
    """GitHub drops a summary that is longer, all of it."""
    summary = render_summary(many(900, "é" * 290), frame=FRAME)

    assert SUMMARY_BYTES * 0.95 < len(summary.encode()) <= SUMMARY_BYTES
    assert "The whole report is in .skill-delta/report.md." in summary


a_run = st.builds(
    runs,
    st.sampled_from([CASE, HOSTILE, "a | b", "```"]).flatmap(
        lambda name: st.integers(0, 99).map(lambda number: f"{name} {number}")
    ),
    st.sampled_from(["contains[0]", HOSTILE]),
    skill=st.sampled_from(["order-support", "greeting", HOSTILE]),
    candidate=st.sampled_from(["PPP", "PFF", "FFF", "EEE", "PNN", "III"]),
    previous=st.sampled_from(["PPP", "PFF", "EEE", "S"]),
    evidence=st.sampled_from(["short", LONG, HOSTILE]),
)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(a_run, max_size=30, unique_by=lambda run: run[0].trial.key),
    st.integers(1_000, 20_000),
    st.lists(st.sampled_from(["note", LONG, HOSTILE]), max_size=30),
)
def test_whatever_is_left_out_the_rest_is_whole(
    cases: list[Runs], characters: int, notes: list[str]
) -> None:
    """It fits, each line is a line of the whole report, and tables and folds are what they were."""
    report = a_report(
        *cases,
        policy=must_not_drop(),
        notes=notes,
        changes=[a_change(kind, "greeting") for kind in ChangeKind],
    )
    comment = render_comment(report, characters=characters, frame=FRAME)
    page = as_github_shows_it(comment)
    whole = render_comment(report, characters=10**9, frame=FRAME)
    own = re.compile(r"<details><summary>|> \*\*Left out to fit here\*\*: ")

    assert utf16_units(comment) <= characters
    assert is_ours_alone(page, FRAME.run_url)
    assert page.count("<td") == 7 * (page.count("<tr>") - page.count("<table>"))
    assert page.count("<tr>") == len(named(r"^\| (?!Skill )", comment)) + page.count("<table>")
    assert {line for line in comment.splitlines() if not own.match(line)} <= set(whole.splitlines())
    assert ("Left out" in comment) == (comment != whole)


# ---------------------------------------------------------------- in its place


def test_no_skill_changed() -> None:
    """One line and both commits; it replaces an earlier comment after a revert."""
    text = render_unchanged(BASE, HEAD, frame=FRAME)

    assert text == (
        "### ✅ skill-delta: no skill changed\n\n"
        f"<sub>base {BASE}, the first parent of the merge commit that GitHub made"
        f" · head {HEAD} · [workflow run]({FRAME.run_url})</sub>\n"
    )


def test_no_skill_changed_costs_nothing() -> None:
    """Most pull requests end there: no template engine and no model is imported for it."""
    code = (
        "import sys; from skill_delta.render.frame import render_unchanged;"
        "from skill_delta.render.commands import stopped;"
        "print(sorted({'jinja2', 'pydantic', 'yaml', 'httpx', 'regex'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"


NOT_MEASURED = {
    "no_key": render_not_measured(
        "SKILL_DELTA_API_KEY is not set",
        Markdown("Add the key as a secret of the repository, and give the step its `api-key`."),
        changes=[a_change(ChangeKind.EDITED), a_change(ChangeKind.REMOVED, "apologies")],
        base=BASE,
        head=HEAD,
        frame=FRAME,
    ),
    "unknown_base": render_not_measured(
        "what changed is unknown, and nothing was measured: commit b45eb45 is not in this clone\n"
        "  help: set `fetch-depth: 0` on the actions/checkout step",
        "",
    ),
    "broken_files": render_not_measured(
        "skills/a/evals/a.yaml:3: cases[0]: there is no key 'assertion'\n"
        "  help: did you mean 'assertions'?\n"
        "skills/b/evals/b.yaml:2: cases[0]: 'task' is missing",
        "Correct the eval files: nothing was spent.",
        frame=FRAME,
    ),
    "hostile": render_not_measured(
        HOSTILE, HOSTILE, changes=[a_change(ChangeKind.EDITED, HOSTILE)], base=HOSTILE, head=HOSTILE
    ),
}


@pytest.mark.parametrize("cause", NOT_MEASURED)
def test_a_run_that_could_not_start(cause: str, snapshot: SnapshotAssertion) -> None:
    """It says why, and what to do, and claims nothing."""
    assert NOT_MEASURED[cause] == snapshot(extension_class=MarkdownFile)
    assert is_ours_alone(as_github_shows_it(NOT_MEASURED[cause]), FRAME.run_url)


def test_a_thousand_broken_files_fit_too() -> None:
    """Ten in sight, the others folded or counted."""
    text = render_not_measured("\n".join(f"file {n}: {LONG}" for n in range(3_000)), "")

    assert utf16_units(text) <= COMMENT_CHARACTERS
    assert "of 3,000 problems. The whole report is in the log of the job." in text


def test_a_report_without_changes_lists_none() -> None:
    """Outside a pull request there is nothing to list."""
    report = replace(PULL_REQUESTS["regression"], changes=())

    assert "Changed skills" not in render_comment(report)
    assert "- skill release-notes: not evaluated: no eval cases" in render_comment(report)
