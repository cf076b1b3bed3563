"""Whatever a workflow checks out: the same base, the same verdict, and one comment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkouts import (
    CHECKOUTS,
    PLACE,
    Checkout,
    Edit,
    fetched,
    merge_at_depth_1,
    opened,
    skill_files,
)
from git_http_server import GitServer, git_server
from git_repositories import GitRepository
from github_job import Job
from github_stand_in import GitHubStandIn

# dulwich leaves the connection of a refused request to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "served") as running:
        yield running


@pytest.fixture
def origin(server: GitServer, repository_with_history: GitRepository) -> GitRepository:
    """The repository as GitHub has it."""
    return repository_with_history.copied(server.root / "octo" / "skills")


@pytest.fixture
def job_on(
    github: GitHubStandIn,
    server: GitServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[GitRepository], Job]:
    server.token = github.token

    def job(checkout: GitRepository) -> Job:
        return Job(checkout, github, tmp_path / "runner", capsys, monkeypatch, server.url)

    return job


@pytest.fixture(params=CHECKOUTS, ids=lambda checkout: checkout.__name__)
def opened_in_any_checkout(
    request: pytest.FixtureRequest,
    origin: GitRepository,
    job_on: Callable[[GitRepository], Job],
    tmp_path: Path,
) -> Callable[[Edit], tuple[Job, str]]:
    """Opens a pull request and checks it out: the job on it, and its head."""
    checkout: Checkout = request.param

    def opened_with(edit: Edit) -> tuple[Job, str]:
        head = opened(origin, edit)
        return job_on(checkout(origin, tmp_path / "checkout")), head

    return opened_with


def test_a_regression_is_found_in_any_checkout(
    opened_in_any_checkout: Callable[[Edit], tuple[Job, str]], github: GitHubStandIn
) -> None:
    """The version was bumped: 1.1.0, sixty commits back, is the one before."""
    job, head = opened_in_any_checkout(lambda repo: repo.commit(skill_files("Be curt.", "2.0.0")))

    finished = job.pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert (finished.exit_code, finished.outputs["verdict"]) == (1, "fail")
    assert finished.outputs["delta"] == "-0.5"
    assert "vs&nbsp;previous&nbsp;1.1.0" in comment.body


def test_a_version_beyond_the_first_fetch_is_found(
    opened_in_any_checkout: Callable[[Edit], tuple[Job, str]], github: GitHubStandIn
) -> None:
    """The version was not bumped, so the one before is 1.0.0, and the walk goes on to it."""
    job, head = opened_in_any_checkout(lambda repo: repo.commit(skill_files("Be curt.", "1.1.0")))

    finished = job.pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 1
    assert "vs&nbsp;previous&nbsp;1.0.0" in comment.body


def test_a_skill_that_moved_is_no_new_one(
    opened_in_any_checkout: Callable[[Edit], tuple[Job, str]], github: GitHubStandIn
) -> None:
    """And one that only moved is not evaluated."""
    job, head = opened_in_any_checkout(lambda repo: repo.move(PLACE, "skills/deliveries"))

    finished = job.pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 0
    assert "moved from skills/orders" in comment.body


def test_a_new_skill_is_new_because_the_base_was_read(
    opened_in_any_checkout: Callable[[Edit], tuple[Job, str]], github: GitHubStandIn
) -> None:
    """It is compared with none."""
    job, head = opened_in_any_checkout(
        lambda repo: repo.commit(
            {
                name: text.replace("name: orders", "name: news")
                for name, text in skill_files("Be kind.", "1.0.0", "skills/news").items()
            }
        ),
    )

    finished = job.pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 0
    assert "compared with no skill" in comment.body


def test_nothing_is_written_but_the_report_folder(
    opened_in_any_checkout: Callable[[Edit], tuple[Job, str]],
) -> None:
    """What was fetched is thrown away, and the clone stays as shallow as it was."""
    job, head = opened_in_any_checkout(lambda repo: repo.commit(skill_files("Be kinder.", "2.0.0")))
    before = _files(job.checkout.folder)

    job.pull_request(head, runner="scripted")

    after = _files(job.checkout.folder)
    assert {name for name in after if not name.startswith(".skill-delta/")} == set(before)
    assert all(after[name] == content for name, content in before.items())


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("status", [403, 404, 502])
def test_a_server_that_refuses_is_not_measured(
    status: int,
    origin: GitRepository,
    server: GitServer,
    github: GitHubStandIn,
    job_on: Callable[[GitRepository], Job],
    tmp_path: Path,
) -> None:
    """What the base has is unknown: neither new nor unchanged."""
    head = opened(origin, lambda repo: repo.commit(skill_files("Be curt.", "2.0.0")))
    job = job_on(merge_at_depth_1(origin, tmp_path / "checkout"))
    server.refuse_with = status

    finished = job.pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 3
    assert "not measured" in comment.body
    assert "could not be fetched" in comment.body
    assert github.token not in finished.log + comment.body


def test_a_maintainer_measures_a_fork_by_hand(
    origin: GitRepository,
    github: GitHubStandIn,
    job_on: Callable[[GitRepository], Job],
    tmp_path: Path,
) -> None:
    """The default branch is checked out; the head comes as data, and is what is spoken of."""
    head = opened(origin, lambda repo: repo.commit(skill_files("Be curt.", "2.0.0")))
    github.repository.open_pull_request(7, head)
    job = job_on(fetched(origin, tmp_path / "checkout", "refs/heads/main", "--depth=1"))

    finished = job.dispatch(runner="scripted", pull_request="7", status="commit")

    (comment,) = github.repository.comments
    assert finished.exit_code == 1
    assert f"head {head}" in comment.body
    assert "where the pull request left main" in comment.body
    statuses = [each.state for each in github.repository.statuses if each.sha == head]
    assert statuses == ["pending", "failure"]
    assert job.checkout.head() != head


def test_a_pull_request_is_named_by_hand_only_where_none_is_at_hand(
    origin: GitRepository,
    github: GitHubStandIn,
    job_on: Callable[[GitRepository], Job],
    tmp_path: Path,
) -> None:
    """An event that is about a pull request says which, and a number names one that there is."""
    head = opened(origin, lambda repo: repo.commit(skill_files("Be curt.", "2.0.0")))
    job = job_on(merge_at_depth_1(origin, tmp_path / "checkout"))

    asked_twice = job.pull_request(head, runner="scripted", pull_request="7")
    nonsense = job.dispatch(runner="scripted", pull_request="the seventh")
    missing = job.dispatch(runner="scripted", pull_request="8")

    assert [run.exit_code for run in (asked_twice, nonsense, missing)] == [2, 2, 2]
    assert "goes with workflow_dispatch" in asked_twice.log
    assert "it is a number" in nonsense.log
    assert "pull request 8" in missing.log
    assert not github.repository.comments
