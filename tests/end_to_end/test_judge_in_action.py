"""The action with a judge: its inputs, its key, and what the comment says of a rubric."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from git_repositories import GitRepository, skill
from github_job import Job
from github_stand_in import GitHubStandIn
from model_stand_in import Answer, ModelStandIn, Received, says
from pull_requests import on_branch

CASES = """\
cases:
  - name: is polite
    task: Where is my order?
    judge: {rubric: [It asks the customer to wait.]}
"""
KEY, JUDGES_KEY = "sk-runner-0123456789abcdef", "the-judges-own-0123456789"


@pytest.fixture
def job(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Job:
    """A job on a repository with one skill, of which a pull request makes another."""
    for name in ("SKILL_DELTA_API_KEY", "SKILL_DELTA_JUDGE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    repository.commit(
        {
            "skills/orders/SKILL.md": skill("Be kind.", version="1.0.0", name="orders"),
            "skills/orders/evals/orders.yaml": CASES,
        }
    )
    return Job(repository, github, tmp_path / "runner", capsys, monkeypatch)


def edited(repository: GitRepository, body: str, cases: str = CASES) -> str:
    on_branch(repository, "topic")
    head = repository.commit(
        {
            "skills/orders/SKILL.md": skill(body, version="1.1.0", name="orders"),
            "skills/orders/evals/orders.yaml": cases,
        }
    )
    repository.git("switch", "--quiet", "--detach", "main")
    repository.merge("topic")
    return head


def model(request: Received) -> Answer:
    return says("Shipped." if "Be curt" in request.system else "Please wait: it was shipped.")


def judge(request: Received, token: str) -> Answer:
    """Passes who asks to wait, and says every secret to whoever does not."""
    waits = "Please wait" in request.last
    entry = {"line": 0, "passed": waits, "evidence": "Please wait" if waits else ""}
    reason = f"Curt, says {JUDGES_KEY} {KEY} {token}"
    return says(json.dumps({"verdicts": [{**entry, "reason": reason}]}))


def checked(job: Job, head: str) -> tuple[str, int, list[Received], list[Received]]:
    """Everything that was told, the exit code, and what model and judge were sent."""
    token = job.github.token
    with ModelStandIn(model) as asked, ModelStandIn(lambda sent: judge(sent, token)) as grades:
        finished = job.pull_request(
            head,
            model="gpt-5-mini",
            base_url=asked.url,
            api_key=KEY,
            judge_model="claude-opus-4",
            judge_base_url=grades.url,
            judge_api_key=JUDGES_KEY,
        )
    files = [path for path in (job.checkout.folder / ".skill-delta").iterdir() if path.is_file()]
    (comment,) = job.github.repository.comments
    told = [finished.log, finished.summary, comment.body, *(path.read_text() for path in files)]
    return "\n".join(told), finished.exit_code, asked.requests, grades.requests


def test_a_regression_that_only_a_judge_can_see_is_told(job: Job) -> None:
    """With the line and the judge's reason; the spend of both is in the comment."""
    told, code, asked, judged = checked(job, edited(job.checkout, "Be curt."))

    comment = job.github.repository.comments[0].body
    assert code == 1
    assert "It asks the customer to wait." in comment
    assert "the judge says no: Curt" in comment
    assert "of it the judge claude-opus-4:" in comment
    assert len(judged) == len(asked) > 0
    assert {request.headers["authorization"] for request in judged} == {f"Bearer {JUDGES_KEY}"}
    assert "of one family" not in told


def test_no_key_is_told_anywhere(job: Job) -> None:
    """Neither in the comment nor in a log, a report or the record; nor is the job's token."""
    told, _, _, judged = checked(job, edited(job.checkout, "Be curt."))

    assert judged
    assert "Curt, says" in told
    assert JUDGES_KEY not in told
    assert KEY not in told
    assert job.github.token not in told


def test_a_line_that_the_pull_request_takes_away_is_named(job: Job) -> None:
    """Beside the verdict: it judged the skill before."""
    softer = CASES.replace("It asks the customer to wait.", "It is a reply.")

    checked(job, edited(job.checkout, "Be kind, and brief.", softer))

    comment = job.github.repository.comments[0].body
    assert "the pull request loosens the case" in comment
    assert "It asks the customer to wait." in comment
