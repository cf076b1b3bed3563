"""A workflow is cancelled while the action talks to GitHub: nothing measured is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from checkouts import PLACE, skill_files
from git_repositories import GitRepository, skill
from github_job import Job
from github_stand_in import Effect, GitHubStandIn
from github_wire import Delivery
from pull_requests import merged_by_github, on_branch

PATIENCE = 30.0


class Child:
    """The container's own command, which is sent a signal once GitHub is asked for something."""

    def __init__(self, github: GitHubStandIn, number: signal.Signals, operation: str) -> None:
        self._number = number
        self._asked = threading.Event()
        github.meanwhile(operation, Effect.DONE, self._asked.set)

    def __call__(self, environment: Mapping[str, str]) -> tuple[int, str]:
        command = [sys.executable, "-B", "-u", "-m", "skill_delta.action"]
        own = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        with subprocess.Popen(
            command,
            env=own | dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert self._asked.wait(PATIENCE)
            process.send_signal(self._number)
            log, _ = process.communicate(timeout=PATIENCE)
        return process.returncode, log


@pytest.fixture
def job(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Job:
    repository.commit(skill_files("Be kind.", "1.0.0"))
    return Job(repository, github, tmp_path / "runner", capsys, monkeypatch)


def worse(repository: GitRepository) -> str:
    on_branch(repository, "topic")
    head = repository.commit(
        {f"{PLACE}/SKILL.md": skill("Be curt.", version="1.1.0", name="orders")}
    )
    merged_by_github(repository)
    return head


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_comment_is_posted_loses_only_the_wait(
    number: signal.Signals, job: Job, github: GitHubStandIn
) -> None:
    """Measured is measured: reports, summary and outputs are whole, and the verdict stands.

    The comment was written and its answer never comes; the status is not left pending.
    """
    head = worse(job.checkout)
    github.fail("issues/create-comment", Delivery.SILENCE, Effect.DONE)
    job.process = Child(github, number, "issues/create-comment")

    finished = job.pull_request(head, runner="scripted", status="commit")

    assert finished.exit_code == 1
    assert finished.outputs["verdict"] == "fail"
    assert finished.outputs["passed"] == "false"
    assert finished.outputs["exit-code"] == "1"
    assert "gate failed" in finished.summary
    report = json.loads((job.checkout.folder / finished.outputs["json-report"]).read_text())
    assert report["gate"]["verdict"] == "fail"
    assert [status.state for status in github.repository.statuses] == ["pending", "failure"]
    assert len(github.repository.comments) == 1
    assert "the comment may not have been written: the run was cancelled" in finished.log
    assert {path.name for path in (job.checkout.folder / ".skill-delta").iterdir()} == {
        *(".gitignore", "record.jsonl", "report.json", "report.md", "junit.xml")
    }


def test_a_signal_before_anything_is_measured_is_not_measured(
    job: Job, github: GitHubStandIn
) -> None:
    """Exit 3, as documented, and no half of a report."""
    head = worse(job.checkout)
    github.fail("repos/list-commit-statuses-for-ref", Delivery.SILENCE)
    job.process = Child(github, signal.SIGTERM, "repos/list-commit-statuses-for-ref")

    finished = job.pull_request(head, runner="scripted", status="commit")

    assert finished.exit_code == 3
    assert "::error title=Not measured::the run was cancelled" in finished.log
    assert not finished.outputs
    assert not github.repository.comments
