"""`publish`: a run without write access measured, and a job with it tells what that comes to."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from command_line import CommandLine
from github_job import NUMBER
from github_repository import Call, Status
from github_wire import Answer
from read_only_run import CURT, KINDER, Measure, Measured
from snapshot_files import MarkdownFile


@pytest.mark.parametrize("merged", [True, False], ids=["merge commit", "head itself"])
def test_a_read_only_run_is_told_by_the_job_that_follows_it(
    merged: bool, measured: Measure
) -> None:
    """One comment with the verdict, and the status of the commit that was measured."""
    scene = measured(CURT, merged=merged)

    finished = scene.published(status="commit")

    (comment,) = scene.comments
    assert finished.exit_code == 1
    assert "gate failed" in comment.splitlines()[1]
    assert "is polite" in comment
    assert f"head {scene.job.checkout.head()}" in comment
    assert f" head={scene.head} -->" in comment.splitlines()[0]
    assert finished.outputs["verdict"] == "fail"
    assert finished.outputs["delta"] == "-0.5"
    assert finished.outputs["comment-url"].endswith("#issuecomment-1001")
    assert "gate failed" in finished.summary
    (status,) = scene.github.repository.statuses
    assert (status.sha, status.state) == (scene.head, "failure")


def test_the_comment_says_where_its_numbers_come_from(
    measured: Measure, snapshot: SnapshotAssertion
) -> None:
    """As a reviewer meets it, with commits and times that differ from run to run left out."""
    scene = measured(CURT)
    scene.published()

    posted = re.sub(r"started=\S+", "started=…", scene.comments[0])
    assert posted == snapshot(extension_class=MarkdownFile)


def test_an_improvement_passes(measured: Measure) -> None:
    """By the same rules as where the run itself could comment."""
    scene = measured(KINDER)

    finished = scene.published(status="commit")

    assert finished.exit_code == 0
    assert "no regression shown" in scene.comments[0]
    assert scene.statuses == ["success"]
    assert finished.outputs["passed"] == "true"


def test_what_is_published_is_of_the_run_that_measured(measured: Measure) -> None:
    """The link leads to it, and of two runs the one that measured later has the last word."""
    scene = measured(CURT)

    scene.published()

    assert "run=101 attempt=1 " in scene.comments[0].splitlines()[0]
    assert "/actions/runs/101)" in scene.comments[0]


def test_publishing_twice_leaves_one_comment(measured: Measure) -> None:
    """A job may be run again."""
    scene = measured(CURT)

    scene.published()
    scene.published()

    assert len(scene.comments) == 1


def test_nothing_but_the_artifact_is_read_and_nothing_is_written(measured: Measure) -> None:
    """There is no checkout."""
    scene = measured(CURT)
    before = sorted(scene.workspace.rglob("*"))

    scene.published()

    assert sorted(scene.workspace.rglob("*")) == before


# ---------------------------------------------------------------- which pull request


def test_a_head_that_moved_on_is_not_spoken_of(measured: Measure) -> None:
    """The next run is on its way."""
    scene = measured(KINDER)
    pull = scene.github.repository.pull_requests[NUMBER]
    pull.head_sha = "c" * 40
    scene.github.repository.git.parents["c" * 40] = [scene.head]

    finished = scene.published(status="commit")

    assert finished.exit_code == 3
    assert "::notice title=Not published::" in finished.log
    assert not scene.comments
    assert not scene.statuses


def test_a_closed_pull_request_is_not_spoken_on(measured: Measure) -> None:
    """Nobody waits for it."""
    scene = measured(KINDER)
    scene.github.repository.pull_requests[NUMBER].state = "closed"

    assert scene.published().exit_code == 3
    assert not scene.comments


def test_several_pull_requests_of_one_head_are_not_guessed_between(measured: Measure) -> None:
    """They may go into different branches, by different rules."""
    scene = measured(KINDER)
    scene.github.repository.open_pull_request(8, scene.head)

    finished = scene.published()

    assert finished.exit_code == 3
    assert "several open pull requests: #7, #8" in finished.log
    assert not scene.comments


def test_a_push_between_the_last_look_and_the_comment_stops_it(
    measured: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head is compared again right before it is written."""
    scene = measured(CURT)
    pushed_during("issues/list-comments", scene, monkeypatch)

    finished = scene.published()

    assert finished.exit_code == 1
    assert "the pull request has moved on" in finished.log
    assert not scene.comments


def test_a_push_before_the_pull_request_is_read_stops_all(
    measured: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said of the new head, which nobody measured."""
    scene = measured(KINDER)
    pushed_during("repos/list-pull-requests-associated-with-commit", scene, monkeypatch)

    finished = scene.published(status="commit")

    assert finished.exit_code == 3
    assert not scene.comments
    assert not scene.statuses


def pushed_during(operation: str, scene: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Someone pushes while GitHub answers."""
    operations = scene.github.repository._operations
    pull, answer = scene.github.repository.pull_requests[NUMBER], operations[operation]

    def pushed(call: Call) -> Answer:
        answered = answer(call)
        pull.head_sha = "c" * 40
        return answered

    monkeypatch.setitem(operations, operation, pushed)


def test_an_older_run_does_not_overwrite_a_newer_ones_comment(measured: Measure) -> None:
    """A run that could comment itself measured the same commit later."""
    scene = measured(CURT)
    scene.job.pull_request(scene.head, runner="scripted")
    (newer,) = scene.comments

    def earlier(payload: Any) -> None:
        payload["workflow_run"] |= {"id": 5, "run_started_at": "2020-01-01T00:00:00Z"}

    finished = scene.published(change=earlier)

    assert scene.comments == [newer]
    assert "a newer run" in finished.log
    assert finished.exit_code == 1


def test_a_newer_run_has_the_last_word(measured: Measure) -> None:
    """However late it is published, and over a comment that another run wrote itself."""
    scene = measured(CURT)
    scene.job.pull_request(scene.head, runner="scripted", min_delta="-1")
    assert "gate failed" not in scene.comments[0]

    def later(payload: Any) -> None:
        payload["workflow_run"] |= {"id": 900, "run_started_at": "2099-01-01T00:00:00Z"}

    scene.published(change=later)

    (comment,) = scene.comments
    assert "gate failed" in comment
    assert " run=900 " in comment.splitlines()[0]


# ---------------------------------------------------------------- where it cannot be told


def test_a_token_that_may_not_comment_is_told_of(measured: Measure) -> None:
    """The verdict stands, and the warning names the permission."""
    scene = measured(CURT)
    scene.github.permissions = {"contents": "read", "pull_requests": "read", "statuses": "read"}

    finished = scene.published(status="commit")

    assert finished.exit_code == 1
    assert "pull-requests: write" in finished.log
    assert "statuses: write" in finished.log


def test_a_token_that_may_not_look_for_the_pull_request_is_told_of(measured: Measure) -> None:
    """Without it there is nothing to speak on."""
    scene = measured(CURT)
    scene.github.permissions = {"contents": "read"}

    finished = scene.published()

    assert finished.exit_code == 2
    assert "pull-requests: write" in finished.log


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda payload: payload.update(action="requested"), "is not over"),
        (lambda payload: payload["workflow_run"].update(event="push"), "of the event 'push'"),
        (
            lambda payload: payload["workflow_run"].update(event="pull_request_target"),
            "not of a pull request",
        ),
    ],
)
def test_other_runs_are_not_followed(
    change: Callable[[Any], None], said: str, measured: Measure
) -> None:
    """What is wrong with the workflow is said, with the line that it lacks."""
    scene = measured(KINDER)

    finished = scene.published(change=change)

    assert finished.exit_code == 2
    assert said in finished.log
    assert not scene.comments


def test_other_events_follow_nothing(measured: Measure) -> None:
    """On a pull request the job would publish what that pull request put there."""
    scene = measured(KINDER)

    finished = scene.job.pull_request(scene.head, publish="measured/record.jsonl")

    assert finished.exit_code == 2
    assert "publish follows another workflow's run" in finished.log


# ---------------------------------------------------------------- the command


def test_the_command_does_what_the_action_does(
    measured: Measure, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """With flags for inputs, and the token in the environment."""
    scene = measured(CURT)
    scene.published()
    (by_action,) = scene.comments
    scene.github.repository.comments.clear()
    payload = max((tmp_path / "runner").iterdir(), key=lambda folder: int(folder.name))
    environment = scene.job.environment("workflow_run", payload)
    skill_delta.folder = scene.workspace

    finished = skill_delta(
        *("publish", "measured/record.jsonl", "--runner", "scripted", "--status", "commit"),
        env={**environment, "GITHUB_TOKEN": scene.github.token},
    )

    assert finished.exit_code == 1
    assert scene.comments == [by_action]
    assert scene.github.repository.statuses == [
        Status(
            scene.head,
            "failure",
            "skill-delta",
            scene.github.repository.statuses[0].description,
            scene.github.repository.statuses[0].target_url,
        )
    ]


def test_the_command_needs_a_workflow_run(skill_delta: CommandLine) -> None:
    """On a machine of one's own there is `report`."""
    refused = skill_delta("publish", "record.jsonl", "--runner", "scripted")

    assert refused.exit_code == 2
    assert "is not set" in refused.err


def test_an_older_run_that_is_published_last_leaves_the_newer_ones_status(
    measured: Measure,
) -> None:
    """Its comment is refused, and the status that may be required is no other verdict."""
    scene = measured(CURT)
    started = {900: "2026-06-02T00:00:00Z", 5: "2026-06-01T00:00:00Z"}

    def as_run(number: int) -> Callable[[Any], None]:
        def change(payload: Any) -> None:
            payload["workflow_run"] |= {"id": number, "run_started_at": started[number]}

        return change

    scene.published(change=as_run(900), status="commit")
    polite = "Please wait: order 1234 was shipped."
    scene.record.write_text(scene.record.read_text().replace("1234: shipped.", polite))
    older = scene.published(change=as_run(5), status="commit")

    assert "a newer run (900" in older.log
    assert scene.statuses == ["failure"]


def test_no_path_of_the_machine_is_in_the_log(measured: Measure) -> None:
    """Whoever reads it knows the path in the workflow."""
    scene = measured(CURT)
    scene.record.write_text("{]\n")

    finished = scene.published()

    assert finished.exit_code == 2
    assert "measured/record.jsonl" in finished.log
    assert str(scene.workspace) not in finished.log
