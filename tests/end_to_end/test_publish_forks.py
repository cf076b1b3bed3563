"""What a fork's own run reports is not believed, and does not undo what somebody verified."""

from __future__ import annotations

import re
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from github_job import NUMBER
from read_only_run import CURT, KINDER, Measure
from snapshot_files import MarkdownFile


def from_fork(payload: Any) -> None:
    payload["workflow_run"]["head_repository"] |= {"id": 99}
    payload["workflow_run"]["head_repository"]["owner"]["login"] = "mallory"


def from_nowhere(payload: Any) -> None:
    payload["workflow_run"]["head_repository"] = None


FORKS = {"mallory/skills": from_fork, None: from_nowhere}


@pytest.mark.parametrize("home", FORKS, ids=["a fork", "a fork that was deleted"])
def test_a_forks_own_report_is_never_a_pass(home: str | None, measured: Measure) -> None:
    """It is called what it is, with what a maintainer can do; the status stays pending."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].head_repository = home

    finished = scene.published(change=FORKS[home], status="commit", on_unmeasured="pass")

    (comment,) = scene.comments
    assert finished.exit_code == 3
    assert finished.outputs["passed"] == "false"
    assert finished.outputs["verdict"] == "not measured"
    assert "reported by the fork, not verified" in comment.splitlines()[1]
    assert "workflow_dispatch" in comment
    assert "✅" not in comment
    assert "orders" not in comment
    (status,) = scene.github.repository.statuses
    assert (status.sha, status.state) == (scene.head, "pending")
    assert "not verified" in str(status.description)


def test_the_forks_comment_reads_well(measured: Measure, snapshot: SnapshotAssertion) -> None:
    """As a reviewer meets it."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].head_repository = "mallory/skills"
    scene.published(change=from_fork)

    posted = re.sub(r"started=\S+", "started=…", scene.comments[0])
    assert posted == snapshot(extension_class=MarkdownFile)


def test_a_forks_record_is_not_even_opened(measured: Measure) -> None:
    """Whatever is in the artifact makes no difference."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].head_repository = "mallory/skills"
    scene.record.unlink()
    scene.record.symlink_to("/proc/self/environ")

    finished = scene.published(change=from_fork)

    assert finished.exit_code == 3
    assert "reported by the fork" in scene.comments[0]
    assert "symlink" not in finished.log


def test_a_fork_that_reported_nothing_gets_no_comment(measured: Measure) -> None:
    """Most of their pull requests touch no skill."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].head_repository = "mallory/skills"
    scene.record.unlink()

    finished = scene.published(change=from_fork, status="commit")

    assert finished.exit_code == 3
    assert not scene.comments
    assert scene.statuses == ["pending"]


def test_a_fork_does_not_undo_what_a_maintainer_measured(measured: Measure) -> None:
    """It could run its workflow again to hide a verdict, or to lose it."""
    scene = measured(CURT)
    scene.published(status="commit")
    (verdict,) = scene.comments
    scene.github.repository.pull_requests[NUMBER].head_repository = "mallory/skills"

    scene.published(change=from_fork, status="commit")

    assert scene.comments == [verdict]
    assert scene.statuses == ["failure"]


def test_a_forks_next_push_is_not_verified_again(measured: Measure) -> None:
    """The verdict was on another commit."""
    scene = measured(CURT)
    scene.published()
    pull = scene.github.repository.pull_requests[NUMBER]
    pull.head_repository, pull.head_sha = "mallory/skills", "c" * 40
    scene.head = "c" * 40

    scene.published(change=from_fork)

    (comment,) = scene.comments
    assert "reported by the fork" in comment


def test_a_fork_cannot_speak_on_anothers_pull_request(measured: Measure) -> None:
    """It may bring the very commit that a pull request of this repository has as its head."""
    scene = measured(KINDER)

    finished = scene.published(change=from_fork, status="commit")

    assert finished.exit_code == 3
    assert "is the head of no open pull request" in finished.log
    assert not scene.comments
    assert not scene.statuses


def test_a_forks_pull_request_is_found_by_its_branch(measured: Measure) -> None:
    """GitHub does not always know to which pull request a fork's commit belongs."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].head_repository = "mallory/skills"
    scene.github.repository.knows_pull_requests_of_commits = False

    scene.published(change=from_fork)

    assert "reported by the fork" in scene.comments[0]
