"""GitHub fails at one call of a whole run: one comment, the same verdict, all reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pydantic import SecretStr

from checkouts import PLACE, skill_files
from git_repositories import GitRepository, skill
from github_job import NUMBER, Finished, Job
from github_repository import JOB, refusal
from github_scene import StoppedClock
from github_stand_in import BAD_GATEWAY, Effect, GitHubStandIn, secondary_limit
from github_wire import Answer, Delivery
from pull_requests import merged_by_github, on_branch
from skill_delta.hosts.comment_marker import CommentMarker, RunIdentity
from skill_delta.hosts.events import Event
from skill_delta.hosts.github_api import Connection
from skill_delta.wiring import telling

# ------------------------------------------------------------ what goes wrong


@dataclass(frozen=True)
class Fault:
    """A failure of one call."""

    outcome: Answer | Delivery
    effect: Effect = Effect.NONE
    times: int = 1
    is_final: bool = False
    """Whether the run cannot get over it."""


FOR_EVER = 100

FAULTS: Mapping[str, Fault] = {
    "502 before": Fault(BAD_GATEWAY),
    "502 after": Fault(BAD_GATEWAY, Effect.DONE),
    "502 for ever": Fault(BAD_GATEWAY, times=FOR_EVER, is_final=True),
    "403": Fault(refusal(403, "Resource not accessible by integration"), is_final=True),
    "429": Fault(Answer(429, {"message": "Too Many Requests"})),
    "secondary limit, 30 s": Fault(secondary_limit(30)),
    "secondary limit, unsaid": Fault(secondary_limit()),
    "limit for ever": Fault(secondary_limit(50), times=FOR_EVER, is_final=True),
    "reset": Fault(Delivery.RESET, Effect.DONE),
    "broken JSON": Fault(Delivery.BROKEN_JSON, Effect.DONE),
    "timeout": Fault(Delivery.SILENCE, Effect.DONE),
}

# ------------------------------------------------------------ what it befalls


@dataclass(frozen=True)
class Scene:
    """A run, what GitHub holds before it, and what comes of it."""

    start: Callable[[Job, str], Finished]
    earlier_comments: int
    calls: tuple[str, ...]
    """The calls that are to fail, by GitHub's `operationId`."""
    exit_code: int
    verdict: str | None
    statuses: tuple[str, ...]
    words: str
    changes: bool = True
    refuses: tuple[str, ...] = ()
    """What GitHub refuses in any case."""


def of_pull_request(job: Job, head: str) -> Finished:
    return job.pull_request(head, runner="scripted", status="commit")


def by_hand(job: Job, head: str) -> Finished:
    return job.dispatch(runner="scripted", pull_request=str(NUMBER), status="commit")


def without_a_key(job: Job, head: str) -> Finished:
    return job.pull_request(head, fork=True, model="gpt-test", status="commit")


STATUS = ("repos/list-commit-statuses-for-ref", "repos/create-commit-status")
READING = ("issues/list-comments", "graphql", "pulls/get")
FAILED = (1, "fail", ("pending", "failure"), "gate failed")

SCENES: Mapping[str, Scene] = {
    "first comment": Scene(
        of_pull_request,
        0,
        ("issues/list-comments", "pulls/get", "issues/create-comment", *STATUS),
        *FAILED,
    ),
    "later comment": Scene(
        of_pull_request, 2, (*READING, "issues/update-comment", "issues/delete-comment"), *FAILED
    ),
    "GraphQL refused": Scene(
        of_pull_request, 1, ("users/get-authenticated",), *FAILED, refuses=("graphql",)
    ),
    "by hand": Scene(by_hand, 0, ("pulls/get",), *FAILED),
    "not measured": Scene(
        without_a_key, 0, ("issues/create-comment",), 3, "not measured", ("error",), "from a fork"
    ),
    "no skill changed": Scene(
        of_pull_request,
        1,
        (*READING, "issues/update-comment", STATUS[1]),
        0,
        None,
        ("success",),
        "no skill changed",
        changes=False,
    ),
}


def cells() -> Iterator[ParameterSet]:
    """Each call of each scene with each fault."""
    silenced = set()
    for (name, scene), (kind, fault) in product(SCENES.items(), FAULTS.items()):
        for call in scene.calls:
            if scene.start is by_hand and fault.is_final:
                continue  # it has nothing to measure: a test of its own
            if fault.outcome is Delivery.SILENCE:
                if call in silenced:
                    continue  # a second of silence is long, and once is enough
                silenced.add(call)
            yield pytest.param(scene, call, fault, id=f"{name}: {call}: {kind}")


@dataclass(frozen=True)
class Checkouts:
    """A pull request that makes a skill worse, and one that changes none. Both as merged."""

    worse: tuple[GitRepository, str]
    unchanged: tuple[GitRepository, str]


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> Checkouts:
    """Made once: nothing but the report folder is written into them."""
    folder = tmp_path_factory.mktemp("checkouts")
    main = GitRepository.create(folder / "main")
    main.commit(skill_files("Be kind.", "1.0.0"))

    def opened(name: str, files: Mapping[str, str]) -> tuple[GitRepository, str]:
        checkout = main.copied(folder / name)
        on_branch(checkout, "topic")
        head = checkout.commit(files)
        merged_by_github(checkout)
        return checkout, head

    curt = {f"{PLACE}/SKILL.md": skill("Be curt.", version="1.1.0", name="orders")}
    return Checkouts(opened("worse", curt), opened("unchanged", {"README.md": "Skills."}))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """The action's waits for GitHub pass at once."""
    stopped = StoppedClock()
    connected = telling.connection_of

    def hurried(event: Event, token: SecretStr | None) -> Connection:
        ours = connected(event, token)
        return replace(ours, timeout_seconds=1, sleep=stopped.sleep, clock=stopped)

    monkeypatch.setattr(telling, "connection_of", hurried)
    return stopped


def _earlier(number: int) -> CommentMarker:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    return CommentMarker("skill-delta", "c" * 40, RunIdentity(number, 1, long_ago))


@dataclass(frozen=True)
class Stage:
    """Where a scene is played."""

    checkouts: Checkouts
    github: GitHubStandIn
    files: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def play(self, scene: Scene) -> Finished:
        checkout, head = self.checkouts.worse if scene.changes else self.checkouts.unchanged
        self.github.repository.open_pull_request(NUMBER, head)
        for number in range(scene.earlier_comments):
            self.github.repository.comment(NUMBER, JOB, _earlier(number).above("before"))
        for operation in scene.refuses:
            self.github.fail(operation, refusal(403, "Forbidden"), times=FOR_EVER)
        job = Job(checkout, self.github, self.files, self.capsys, self.monkeypatch)
        return scene.start(job, head)


@pytest.fixture
def stage(
    checkouts: Checkouts,
    github: GitHubStandIn,
    clock: StoppedClock,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Stage:
    github.clock = clock
    return Stage(checkouts, github, tmp_path / "runner", capsys, monkeypatch)


@pytest.mark.parametrize(("scene", "call", "fault"), list(cells()))
def test_a_fault_at_a_call_changes_nothing_but_what_is_told(
    scene: Scene, call: str, fault: Fault, stage: Stage, clock: StoppedClock
) -> None:
    """No second comment, no other verdict, no lost report; and what was not told is named."""
    github = stage.github
    github.fail(call, fault.outcome, fault.effect, fault.times)

    finished = stage.play(scene)

    assert github.asked(call), "the fault was met"
    assert finished.exit_code == scene.exit_code
    assert finished.outputs["exit-code"] == str(scene.exit_code)
    assert finished.outputs["passed"] == str(scene.exit_code == 0).lower()
    assert finished.outputs.get("verdict") == scene.verdict
    assert scene.words in finished.summary
    assert sum(clock.slept) <= 4 * 60 * 3, "of at most three steps, each of bounded patience"
    _check_reports(stage, finished)

    told = [comment for comment in github.repository.comments if scene.words in comment.body]
    states = [status.state for status in github.repository.statuses]
    assert len(told) <= 1
    assert tuple(states) in {scene.statuses, scene.statuses[:1], scene.statuses[1:], ()}
    all_told = len(told) == 1 and tuple(states) == scene.statuses
    assert all_told or fault.is_final
    assert all_told or "::warning title=Not told::" in finished.log
    if told and call != "issues/delete-comment":
        assert len(github.repository.comments) == 1
        assert not fault.is_final or finished.outputs["comment-url"] or call in STATUS


def _check_reports(stage: Stage, finished: Finished) -> None:
    """They are where the outputs say, whole, and of the same verdict."""
    if finished.outputs.get("verdict") != "fail":
        return
    folder = stage.checkouts.worse[0].folder
    report = json.loads((folder / finished.outputs["json-report"]).read_text())
    assert report["gate"]["verdict"] == "fail"
    for name in ("junit", "markdown"):
        assert (folder / finished.outputs[f"{name}-report"]).stat().st_size


@pytest.mark.parametrize(
    ("fault", "exit_code"), [("403", 2), ("502 for ever", 3), ("limit for ever", 3)]
)
def test_a_pull_request_that_cannot_be_read_is_not_measured_by_hand(
    fault: str, exit_code: int, stage: Stage
) -> None:
    """Nothing is known of it, so nothing is spent and nothing written."""
    failing = FAULTS[fault]
    stage.github.fail("pulls/get", failing.outcome, failing.effect, failing.times)

    finished = stage.play(SCENES["by hand"])

    assert finished.exit_code == exit_code
    assert "pull request 7" in finished.log
    assert not stage.github.repository.comments
    assert not stage.github.repository.statuses
