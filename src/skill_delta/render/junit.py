"""The report for CI systems that read JUnit: the candidate's trials, and the gate.

The baseline's trials are not in it: a test that the old version fails is no failing test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from skill_delta.core.gate import GateVerdict
from skill_delta.core.policy import Verdict
from skill_delta.core.report import Report
from skill_delta.core.trials import (
    Errored,
    NotRun,
    Outcome,
    Scored,
    Skipped,
    Status,
)
from skill_delta.errors import ExitCode
from skill_delta.render.escape import plain, xml_text
from skill_delta.render.evidence import by_skill, details


def render_junit(report: Report) -> str:
    """One test suite per skill, one test case per case, runner and repetition.

    A failed trial is a failure; an errored or inconclusive one an error; one that did not run is
    skipped. A gate that did not pass is a test case of its own, since CI may see it nowhere else.
    """
    root = Element("testsuites", name="skill-delta")
    for skill, outcomes in by_skill(report.candidate).items():
        suite = SubElement(root, "testsuite", name=xml_text(skill))
        suite.extend(_testcase(outcome, report.environment.repetitions) for outcome in outcomes)
    if report.gate.exit_code is not ExitCode.PASSED:
        SubElement(root, "testsuite", name="skill-delta").append(_gate(report.gate))
    for suite in root:
        _count(suite)
    _count(root)
    indent(root)
    text = tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _testcase(outcome: Outcome, repetitions: int) -> Element:
    trial = outcome.trial
    repeat = f" repeat {trial.repetition + 1}/{repetitions}" if repetitions > 1 else ""
    testcase = Element(
        "testcase",
        classname=xml_text(trial.skill),
        name=xml_text(f"{trial.case.name} ({trial.runner})") + repeat,
        file=xml_text(trial.case.place.file),
        time=f"{_seconds(outcome):.3f}",
    )
    testcase.extend(_result(outcome))
    return testcase


def _seconds(outcome: Outcome) -> float:
    if isinstance(outcome, Skipped | NotRun) or outcome.transcript is None:
        return 0.0
    return outcome.transcript.latency_ms / 1000


def _result(outcome: Outcome) -> Iterator[Element]:
    """Why the trial is not a pass; nothing where it is one."""
    match outcome:
        case Errored(reason=reason):
            yield _element("error", [reason])
        case Skipped(reason=reason) | NotRun(reason=reason):
            yield _element("skipped", [reason])
        case Scored(status=Status.FAIL):
            yield _element("failure", details(outcome))
        case Scored(status=Status.INCONCLUSIVE):
            yield _element("error", details(outcome))
        case Scored():
            pass


def _gate(gate: GateVerdict) -> Element:
    testcase = Element("testcase", classname="skill-delta", name="gate", time="0.000")
    tag = "failure" if gate.verdict is Verdict.FAIL else "error"
    reasons = [reason.text for reason in gate.reasons]
    testcase.append(_element(tag, reasons, f"gate {gate.verdict}: "))
    return testcase


def _element(tag: str, lines: Iterable[str], before: str = "") -> Element:
    """The first line as the message, which CI shows in one row, and all of them as the text."""
    texts = [xml_text(line) for line in lines]
    element = Element(tag, message=before + plain(texts[0] if texts else ""))
    element.text = "\n".join(texts)
    return element


def _count(element: Element) -> None:
    """Write how many test cases there are, and how many of them are what."""
    for attribute, path in (
        ("tests", ".//testcase"),
        ("failures", ".//failure"),
        ("errors", ".//error"),
        ("skipped", ".//skipped"),
    ):
        element.set(attribute, str(len(element.findall(path))))
    seconds = sum(float(each.get("time", "0")) for each in element.iter("testcase"))
    element.set("time", f"{seconds:.3f}")
