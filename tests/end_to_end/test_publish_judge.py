"""A published record with a rubric: what a judge replied is its word, what that is worth is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from git_repositories import GitRepository
from github_job import Job
from github_stand_in import GitHubStandIn
from read_only_run import CURT, KINDER, Lines, Measure, ReadOnlyRuns, trials

CASES = """\
cases:
  - name: is polite
    task: Where is my order?
    judge: {rubric: [It asks the customer to wait., It says what became of the order.]}
"""
REPLIES = """\
replies:
  - contains: Be curt
    text: "Shipped."
  - text: "Please wait: it was shipped."
judge:
  - contains: Please
    verdicts: [{passed: true, evidence: Please wait}, {passed: true, evidence: shipped}]
  - verdicts: [{passed: false, reason: It is curt.}, {passed: true, evidence: Shipped}]
"""


@pytest.fixture
def judged(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Measure:
    """Measures a pull request by a rubric, without leave to write. Nobody has a key."""
    for name in ("SKILL_DELTA_API_KEY", "SKILL_DELTA_JUDGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    job = Job(repository, github, tmp_path / "runner", capsys, monkeypatch)
    return ReadOnlyRuns(repository, job, github, tmp_path / "publisher", CASES, REPLIES).measured


def replied(line: dict[str, Any], *verdicts: dict[str, Any]) -> None:
    numbered = [{"line": number, **verdict} for number, verdict in enumerate(verdicts)]
    line["judging"]["replies"] = [json.dumps({"verdicts": numbered})]


def test_a_judged_record_is_judged_anew_without_a_key(judged: Measure) -> None:
    """What a judge replied is in the record."""
    scene = judged(CURT)

    finished = scene.published()

    assert finished.exit_code == 1
    assert finished.outputs["delta"] == "-1"
    assert "It asks the customer to wait." in scene.words
    assert "the judge says no: It is curt." in scene.words


def test_a_skill_that_is_as_good_by_its_judge_passes(judged: Measure) -> None:
    """So that the refusals below are of something that passes."""
    finished = judged(KINDER).published()

    assert finished.exit_code == 0
    assert finished.outputs["pass-rate"] == "1"


def all_lines_passed(lines: Lines) -> None:
    for line in trials(lines):
        for check in line["checks"]:
            check |= {"passed": True, "score": 1.0}


def all_is_quoted_from_nowhere(lines: Lines) -> None:
    for line in trials(lines):
        made_up = {"passed": True, "evidence": "Please wait"}
        replied(line, made_up, {"passed": True, "evidence": "hipped"})


def nothing_is_quoted(lines: Lines) -> None:
    for line in trials(lines):
        replied(line, {"passed": True}, {"passed": True, "evidence": ""})


@pytest.mark.parametrize(
    "tamper", [all_lines_passed, all_is_quoted_from_nowhere, nothing_is_quoted]
)
def test_a_verdict_that_the_answer_does_not_bear_out_is_no_pass(
    tamper: Callable[[Lines], None], judged: Measure
) -> None:
    """The reply is held against the answer again, and a check in the record is not read."""
    scene = judged(CURT)
    scene.edit(tamper)

    finished = scene.published()

    assert finished.exit_code == (0 if tamper is nothing_is_quoted else 1)
    assert finished.outputs["pass-rate"] == "0"


def no_judge_was_asked(lines: Lines) -> None:
    for line in trials(lines):
        del line["judging"]


def the_rubric_was_another(lines: Lines) -> None:
    for line in trials(lines):
        line["judging"]["lines"] = ["It is a reply.", "It has letters."]


def no_reply_is_a_verdict(lines: Lines) -> None:
    for line in trials(lines):
        line["judging"]["replies"] = ["All of it passes."]


@pytest.mark.parametrize(
    "tamper", [no_judge_was_asked, the_rubric_was_another, no_reply_is_a_verdict]
)
def test_what_no_judge_said_is_not_measured(
    tamper: Callable[[Lines], None], judged: Measure
) -> None:
    """Whatever the record has of checks: they passed by no verdict."""
    scene = judged(KINDER)
    scene.edit(tamper)

    assert scene.published().exit_code == 3


def it_was_judged_by_nobody(lines: Lines) -> None:
    del lines[0]["environment"]["judge"]


def a_verdict_is_another_judges(lines: Lines) -> None:
    trials(lines)[0]["judging"]["judge"] = {"name": "openai", "model": "kind-1"}


def judging_cost_nothing_like_it(lines: Lines) -> None:
    trials(lines)[0]["judging"]["cost_usd"] = -1e9


@pytest.mark.parametrize(
    "tamper", [it_was_judged_by_nobody, a_verdict_is_another_judges, judging_cost_nothing_like_it]
)
def test_a_judging_that_no_run_can_have_written_is_no_verdict(
    tamper: Callable[[Lines], None], judged: Measure
) -> None:
    """It is refused, on the pull request."""
    scene = judged(KINDER)
    scene.edit(tamper)

    finished = scene.published()

    assert finished.exit_code == 2
    assert "not measured" in scene.words.splitlines()[1]


def test_a_record_of_another_judge_is_refused(judged: Measure) -> None:
    """One that is easily pleased may have been chosen for it."""
    scene = judged(KINDER)

    finished = scene.published(judge="openai", judge_model="strict-1")

    assert finished.exit_code == 2
    assert "the record was judged by 'scripted'" in finished.log
    assert "a judge that is 'openai' with model 'strict-1'" in finished.log


def test_the_judges_key_is_refused_where_nothing_is_asked(judged: Measure) -> None:
    """A secret that nobody needs has no business in that job."""
    finished = judged(KINDER).published(judge_api_key="the-judges-own-0123456789")

    assert finished.exit_code == 2
    assert "judge-api-key" in finished.log
    assert "the-judges-own" not in finished.log
