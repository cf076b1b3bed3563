"""The report that GitHub shows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from builders import BASE, HEAD, a_report, runs, unresolved
from github_markdown import as_github_shows_it, is_ours_alone, visible
from report_stories import HOSTILE, STORIES, must_not_drop
from skill_delta.core.report import Report, SkippedSkill
from skill_delta.render.markdown import render_markdown
from snapshot_files import MarkdownFile


@pytest.mark.parametrize("story", STORIES)
def test_story(story: str, snapshot: SnapshotAssertion) -> None:
    """What people read is reviewed as people read it."""
    assert render_markdown(STORIES[story]) == snapshot(extension_class=MarkdownFile)


@pytest.mark.parametrize("story", STORIES)
def test_it_is_well_formed(story: str) -> None:
    """Every table is a table, every fold is closed, and no blank line is doubled."""
    markdown = render_markdown(STORIES[story])
    page = as_github_shows_it(markdown)

    assert is_ours_alone(page)
    assert page.count("<details>") == page.count("</details>")
    assert "|" not in visible(page).replace(HOSTILE, "").replace("| `x`", "")
    assert "\n\n\n" not in markdown


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(
        [HOSTILE, "</details>", "<!--", "|", "***", "\\", "`", "![x](y)", "[x]: y", "@me", "#1"]
    ),
    st.text(max_size=20),
)
def test_nothing_that_others_wrote_is_more_than_text(text: str, more: str) -> None:
    """Wherever it stands, it makes no link, image, element, mention or command."""
    text += more
    report = everywhere(text)
    markdown = render_markdown(report)
    page = as_github_shows_it(markdown)

    assert is_ours_alone(page)
    assert page.count("<details>") == page.count("</details>") == page.count("<summary>")
    assert not re.search(r"@\w|#\d|://|www\.|GH-\d|<!--", re.sub("<[^>]*>", "", page))
    assert not re.search(r"^\s*/\w", markdown, re.MULTILINE)


def everywhere(text: str) -> Report:
    """A report with `text` in each place where others write."""
    return a_report(
        runs(text, text, skill=text, runner=text, candidate="PF", previous="PP", evidence=text),
        runs("lost", skill=text, runner="second", candidate="PP", previous="EE"),
        missing={text or "base": {text: unresolved(text)}},
        baselines=["previous", text or "base"],
        policy=must_not_drop(),
        models={text: text},
        notes=[text],
        skipped=[SkippedSkill(text, text)],
    )


def test_the_verdict_and_why_come_first() -> None:
    """Ten seconds on a phone are enough."""
    lines = render_markdown(STORIES["regressed"]).splitlines()

    assert lines[0] == "### ❌ skill-delta: gate failed"
    assert lines[2] == "**pass-rate delta -8.3% is below the required +0%**"


def test_regressed_cases_come_first_with_the_checks_that_failed() -> None:
    """What got worse is what a reviewer came for."""
    shown = render_markdown(STORIES["regressed"])
    headings = re.findall("^#### (.*)$|<summary>(Improved.*)</summary>", shown, re.MULTILINE)

    assert [seen or folded for seen, folded in headings] == [
        "Regressed",
        "Also not passed",
        "Notes",
        "Improved (1)",
        "What to do next",
    ]
    assert '- **refund-request**: 3/3 → 1/3\n  - contains\\[0\\]: expected "1234" in' in shown


def test_a_skill_that_regressed_is_above_all_that_did_not() -> None:
    """A drop must not hide below skills that did well."""
    shown = render_markdown(
        a_report(
            *(runs(skill=f"skill-{number}", candidate="P", previous="P") for number in range(30)),
            runs(skill="broken", candidate="F", previous="P"),
        )
    )

    assert re.findall(r"^\| \*\*(.*?)\*\*", shown, re.MULTILINE)[:2] == ["broken", "skill-0"]
    assert "<summary>21 more skills</summary>" in shown


def test_each_number_says_which_direction_is_better() -> None:
    """Nobody has to work out whether plus is good."""
    shown = render_markdown(STORIES["one_baseline"])

    head = "| Skill | Pass rate ↑ | Δ ↑ | Cases | Tokens ↓ | Cost ↓ | Latency ↓ |"
    assert head in shown.replace("&nbsp;", " ")
    assert "↑ higher is better · ↓ lower is better" in shown


def test_one_row_per_runner() -> None:
    """Runners are never averaged."""
    shown = render_markdown(STORIES["per_runner"])

    assert re.findall(r"^\| .* under (\S+) \| (.*?) \|", shown, re.MULTILINE) == [
        ("claude-code", "0%&nbsp;→&nbsp;60%"),
        ("pydantic-ai", "0%&nbsp;→&nbsp;100%"),
    ]


def test_what_a_flag_means_is_said_for_each_baseline() -> None:
    """A check that guards against regressions is not told to measure nothing."""
    shown = render_markdown(
        a_report(
            runs("steady", candidate="PPP", previous="PPP", none="PPP"),
            runs("fell", candidate="FFF", previous="PPP", none="PPP"),
        )
    )

    for sentence in (
        "Those against previous passed in both versions — they guard against regressions,",
        "Those against no skill passed with and without the skill — they measure nothing.",
        "Inverse: better in the previous version — the edit may have lost something.",
        "Inverse: better without the skill — it is in the way,",
    ):
        assert f"\n\n{sentence}" in shown
    assert re.findall(r"^- (.*)steady .* (against .*)$", shown, re.MULTILINE) == [
        ("order-support :: ", "against previous"),
        ("order-support :: ", "against no skill"),
    ]


def test_what_was_not_compared_is_named_with_its_reason() -> None:
    """A case that is in neither half of the delta is not silently gone."""
    shown = render_markdown(STORIES["excluded"])

    assert "- **greets**: every candidate repetition errored" in shown
    assert "- **thanks**: every baseline repetition errored" in shown


@pytest.mark.parametrize(
    ("story", "step"),
    [
        ("regressed", "Read the failed checks of the regressed cases"),
        ("not_resolved", "Give the baseline something to resolve to"),
        ("excluded", "See what the errored trials say"),
        ("not_measured", "Run again to the end"),
        ("nothing_ran", "Add eval cases"),
    ],
)
def test_whoever_reads_a_red_verdict_is_told_what_to_do(story: str, step: str) -> None:
    """A verdict without a next step is a dead end."""
    assert step in render_markdown(STORIES[story]).split("What to do next")[1]


def test_a_green_verdict_asks_for_nothing() -> None:
    """There is nothing to do."""
    assert "What to do next" not in render_markdown(STORIES["one_baseline"])


def test_the_commits_are_the_only_thing_that_github_may_link() -> None:
    """Both are named in full."""
    shown = render_markdown(STORIES["regressed"])

    assert f"base {BASE} · head {HEAD}" in shown
