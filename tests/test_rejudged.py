"""Another job's record: whatever is in it, a verdict of our own comes of it, or a refusal."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from builders import RUNNER, SKILL, a_trial, an_arm, scored
from ledger.records import Line, a_run, a_subject, an_end, recorded
from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.checks.text import Contains
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.policy import Verdict
from skill_delta.core.report import BaselineSource, Report
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Scored
from skill_delta.core.workspace import WorkspaceFile, WorkspaceFiles, WorkspaceSeed
from skill_delta.errors import UserError
from skill_delta.ledger.document import LINES
from skill_delta.ledger.reader import read_record
from skill_delta.render import RENDERERS
from skill_delta.render.comment import render_comment, render_summary
from skill_delta.render.status import render_status
from skill_delta.render.terminal import render_terminal
from skill_delta.settings.commands import PUBLISH
from skill_delta.settings.reading import settle
from skill_delta.wiring.rejudged import rejudged

HOME = PurePosixPath("skills") / SKILL
BASE, HEAD = "b" * 40, "a" * 40
JUDGE = JudgedBy("openai", "gpt-test")


def lines() -> list[Any]:
    """The record of an edit that changed nothing: one case, both arms, three repetitions.

    The case has a working folder, sessions, and a rubric of one line.
    """
    checks = (
        Check("contains[0]", Contains(kind="contains", value="1234")),
        Check("contains[1]", Contains(kind="contains", value="1234", file_glob=("*.md", "a/*"))),
        Check("file-produced[0]", FileProduced(kind="file-produced", file="order.md")),
        Check("judge[0]", RubricLine(line="It names the order.")),
    )
    reply = {"verdicts": [{"line": 0, "passed": True, "evidence": "1234"}]}
    judging = Judging(
        JUDGE, ("It names the order.",), "", (json.dumps(reply),), Usage(90, 9), 0.002
    )
    (case,) = a_subject().cases
    case = replace(case, checks=checks, workspace=WorkspaceSeed({"orders.csv": "1234"}))
    case = replace(case, task="Go.\nGo on.", sessions=("Go.", "Go on."))
    subject = replace(a_subject(), cases=(case,))
    run = a_run(subject)
    head = replace(
        run,
        environment=replace(run.environment, judge=JUDGE),
        sources=(BaselineSource(SKILL, "previous", an_arm("previous").skill),),
        changes=(SkillChange(ChangeKind.EDITED, HOME, HOME),),
        base=BASE,
        head=HEAD,
    )
    ran = [
        replace(recorded(with_files(scored(a_trial(arm=arm, repetition=n)))), judging=judging)
        for arm in ("candidate", "previous")
        for n in range(3)
    ]
    whole: list[Line] = [head, *ran, an_end()]
    return [LINES.dump_python(line, mode="json") for line in whole]


def with_files(outcome: Scored) -> Scored:
    """With what a trial left in its folder."""
    left = WorkspaceFiles(
        (WorkspaceFile("order.md", 10, "Order 1234"), WorkspaceFile("orders.csv", 4))
    )
    transcript = replace(outcome.transcript, files=left, triggered_in=(True, True))
    return replace(outcome, transcript=transcript)


def judged(content: list[Any]) -> Report:
    """By the defaults of a pull request."""
    flags: dict[str, JsonValue] = {"runner": [RUNNER], "model": ["gpt-test"]}
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.jsonl"
        record.write_text("".join(json.dumps(line) + "\n" for line in content))
        found = read_record(record)
    if found is None:
        raise UserError("there is no run")
    return rejudged(found, settle(flags, None, PUBLISH))


def test_the_record_as_it_is_is_judged() -> None:
    """So the properties below speak of something."""
    report = judged(lines())

    assert report.gate.verdict is Verdict.INCONCLUSIVE
    assert report.gate.shows_no_regression


def test_a_record_of_endless_cases_is_refused() -> None:
    """Its report would take longer than the job has."""
    content = lines()
    cases = content[0]["subjects"][0]["cases"]
    cases += [{**cases[0], "name": f"case {number}"} for number in range(6_000)]

    with pytest.raises(UserError, match="more than 100,000 trials"):
        judged(content)


def everything_said(report: Report) -> None:
    render_comment(report)
    render_summary(report)
    render_status(report)
    render_terminal(report)
    for render in RENDERERS.values():
        render(report)


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**18), 10**18]),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        ["candidate", "previous", "none", "offered", "\ud800", "::error::x", "/", ".."]
    ),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


def places(part: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where anything stands in a value."""
    keys: list[Any] = []
    if isinstance(part, dict):
        keys = list(part)
    elif isinstance(part, list):
        keys = list(range(len(part)))
    inside = [place for key in keys for place in places(part[key], (*above, key))]
    return [*([above] if above else []), *inside]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_record_with_anything_in_it_is_judged_or_refused(data: st.DataObject) -> None:
    """Any few values replaced, doubled or left out: a report that can be told, or a `UserError`."""
    content = lines()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(content)))
        inside: Any = content
        for key in place[:-1]:
            inside = inside[key]
        change = data.draw(st.sampled_from(["replace", "remove", "double"]))
        if change == "replace":
            inside[place[-1]] = data.draw(ANYTHING)
        elif change == "double" and isinstance(inside, list):
            inside.append(inside[place[-1]])
        else:
            del inside[place[-1]]
        if not content:
            return
    try:
        report = judged(content)
    except UserError:
        return
    everything_said(report)
