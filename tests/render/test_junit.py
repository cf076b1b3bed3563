"""The report that CI systems read."""

from __future__ import annotations

from xml.etree.ElementTree import Element, fromstring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from builders import a_report, runs
from report_stories import ANY_RATE, STORIES
from skill_delta.core.report import Report
from skill_delta.render.junit import render_junit
from snapshot_files import XmlFile


def parsed(report: Report) -> Element:
    return fromstring(render_junit(report).encode())


def results(root: Element) -> list[tuple[str, list[str]]]:
    """Each test case, and what is in it."""
    return [
        (testcase.get("name", ""), [each.tag for each in testcase])
        for testcase in root.iter("testcase")
    ]


@pytest.mark.parametrize("story", ["regressed", "one_arm", "not_measured", "hostile"])
def test_story(story: str, snapshot: SnapshotAssertion) -> None:
    """A reviewer sees what a CI system is given."""
    assert render_junit(STORIES[story]) == snapshot(extension_class=XmlFile)


def test_each_way_to_end_has_its_own_element() -> None:
    """An outage is an error, never a failure, and what did not run is skipped."""
    root = parsed(a_report(runs(candidate="PFEIN", previous="FFFFF")))

    assert results(root)[:5] == [
        ("refund-request (openai) repeat 1/5", []),
        ("refund-request (openai) repeat 2/5", ["failure"]),
        ("refund-request (openai) repeat 3/5", ["error"]),
        ("refund-request (openai) repeat 4/5", ["error"]),
        ("refund-request (openai) repeat 5/5", ["skipped"]),
    ]


def test_the_baselines_failures_are_nobodys_tests() -> None:
    """What the old version failed must not turn the new one red."""
    root = parsed(a_report(runs(candidate="PP", previous="FF")))

    assert root.attrib["tests"] == "2"
    assert root.attrib["failures"] == root.attrib["errors"] == "0"


def test_a_failure_tells_every_failed_check() -> None:
    """The message is one line, the text all of them."""
    case = runs("refund", "contains[0]", "order", candidate="F", evidence="not\nthere")
    failure = next(parsed(a_report(case)).iter("failure"))

    assert failure.get("message") == "contains[0]: not ⏎ there"
    assert failure.text == "contains[0]: not\nthere\norder: not\nthere"


def test_one_suite_per_skill_with_its_own_counts() -> None:
    """A dashboard shows each skill on its own."""
    report = a_report(
        runs(skill="greeting", candidate="PF"),
        runs(skill="order-support", candidate="PP"),
        policy=ANY_RATE,
    )
    suites = [
        (each.get("name"), each.get("tests"), each.get("failures")) for each in parsed(report)
    ]

    assert suites == [("greeting", "2", "1"), ("order-support", "2", "0")]


@pytest.mark.parametrize(
    ("story", "element"), [("not_resolved", "failure"), ("not_measured", "error")]
)
def test_a_gate_that_no_test_case_shows_is_a_test_case(story: str, element: str) -> None:
    """All cases passed, and the check is red all the same: CI says why."""
    name, found = results(parsed(STORIES[story]))[-1]

    assert (name, found) == ("gate", [element])


def test_a_gate_that_passed_adds_nothing() -> None:
    """A green run is its own test cases."""
    assert "gate" not in [name for name, _ in results(parsed(STORIES["one_baseline"]))]


@settings(deadline=None)
@given(st.text() | st.text(st.characters(categories=["Cc", "Cs", "Cn"])))
def test_it_is_xml_whatever_the_text_holds(text: str) -> None:
    """One control character in one answer must not cost the report of the whole run."""
    parsed(
        a_report(
            runs(text, text, skill=text, runner=text, candidate="PFEI", evidence=text),
            notes=[text],
        )
    )
