"""Each event and checkout, times each thing done to a skill: the right base, verdict, comment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from checkouts import (
    CASES,
    PLACE,
    REPLIES,
    Checkout,
    head_at_depth_0,
    head_at_depth_1,
    merge_at_depth_0,
    merge_at_depth_1,
    opened,
    partial_clone,
    skill_files,
    sparse_checkout,
)
from git_http_server import GitServer, git_server
from git_repositories import GitRepository, skill
from github_job import Finished, Job
from github_stand_in import GitHubStandIn
from pull_requests import on_branch

# ------------------------------------------------------------ what is done to the skill


def edited(repo: GitRepository) -> str:
    return repo.commit(skill_files("Be curt.", "2.0.0"))


def moved(repo: GitRepository) -> str:
    return repo.move(PLACE, "skills/deliveries")


def moved_and_edited(repo: GitRepository) -> str:
    repo.git("mv", PLACE, "skills/deliveries")
    return repo.commit(skill_files("Be curt.", "2.0.0", "skills/deliveries"))


def new(repo: GitRepository) -> str:
    files = skill_files("Be kind.", "1.0.0", "skills/news")
    return repo.commit(
        {name: text.replace("name: orders", "name: news") for name, text in files.items()}
    )


def removed(repo: GitRepository) -> str:
    repo.git("rm", "--quiet", "-r", PLACE)
    return repo.commit()


def script_only(repo: GitRepository) -> str:
    return repo.commit({f"{PLACE}/scripts/look_up.py": "print('1234')\n"})


def evals_only(repo: GitRepository) -> str:
    return repo.commit({f"{PLACE}/evals/orders.yaml": CASES.replace("please", "thanks")})


def nothing(repo: GitRepository) -> str:
    return repo.commit({"docs/index.md": "All about orders."})


@dataclass(frozen=True)
class Told:
    """What the check has to say of a change."""

    exit_code: int
    delta: str | None
    words: str
    comments: int = 1


CHANGES: Mapping[Callable[[GitRepository], str], Told] = {
    edited: Told(1, "-0.5", "vs&nbsp;previous&nbsp;1.1.0"),
    moved: Told(0, "", "moved from skills/orders"),
    moved_and_edited: Told(1, "-0.5", "moved from skills/orders"),
    new: Told(0, "0", "compared with no skill"),
    removed: Told(0, "", "removed"),
    script_only: Told(0, "0", "SKILL.md is unchanged: compared with the base commit"),
    evals_only: Told(0, "", "measured alone"),
    nothing: Told(0, None, "no skill changed", comments=0),
}


@dataclass(frozen=True)
class Opened:
    """A pull request on the server."""

    origin: GitRepository
    head: str
    server_url: str

    @property
    def merge(self) -> str:
        return self.origin.git("rev-parse", "refs/pull/7/merge")

    @property
    def base_branch(self) -> str:
        return self.origin.git("rev-parse", "main")

    @property
    def fork_point(self) -> str:
        return self.origin.git("merge-base", "main", self.head)


# ------------------------------------------------------------ what a workflow makes of it


@dataclass(frozen=True)
class Occasion:
    """An event, with what is checked out then."""

    checkout: Checkout
    base: Callable[[Opened], str]
    measured: Callable[[Opened], str]
    is_queued: bool = False

    def run(self, job: Job, pull: Opened) -> Finished:
        if self.is_queued:
            return job.merge_group(pull.base_branch, pull.merge, runner="scripted")
        return job.pull_request(pull.head, runner="scripted")


def _of_merge(checkout: Checkout, *, is_queued: bool = False) -> Occasion:
    return Occasion(checkout, lambda p: p.base_branch, lambda p: p.merge, is_queued)


def _of_head(checkout: Checkout) -> Occasion:
    return Occasion(checkout, lambda p: p.fork_point, lambda p: p.head)


OCCASIONS = {
    "merge_at_depth_1": _of_merge(merge_at_depth_1),
    "merge_at_depth_0": _of_merge(merge_at_depth_0),
    "partial_clone": _of_merge(partial_clone),
    "sparse_checkout": _of_merge(sparse_checkout),
    "head_at_depth_1": _of_head(head_at_depth_1),
    "head_at_depth_0": _of_head(head_at_depth_0),
    "merge_queue": _of_merge(merge_at_depth_1, is_queued=True),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    with git_server(tmp_path_factory.mktemp("served")) as running:
        running.token = GitHubStandIn.token
        yield running


@pytest.fixture(scope="module")
def open_pull_request(
    server: GitServer, repository_with_history: GitRepository
) -> Callable[[Callable[[GitRepository], str]], Opened]:
    """Opens a pull request in a repository of its own, once for all who ask for this one."""
    known: dict[str, Opened] = {}

    def open_one(edit: Callable[[GitRepository], str]) -> Opened:
        name = edit.__name__
        if name not in known:
            origin = repository_with_history.copied(server.root / name / "octo" / "skills")
            known[name] = Opened(origin, opened(origin, edit), f"{server.url}/{name}")
        return known[name]

    return open_one


@pytest.fixture
def job_on(
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Opened, Checkout], Job]:
    def job(pull: Opened, checkout: Checkout) -> Job:
        place = checkout(pull.origin, tmp_path / "checkout")
        return Job(place, github, tmp_path / "runner", capsys, monkeypatch, pull.server_url)

    return job


PullRequests = Callable[[Callable[[GitRepository], str]], Opened]
Jobs = Callable[[Opened, Checkout], Job]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("occasion", OCCASIONS.values(), ids=OCCASIONS)
def test_each_change_on_each_occasion(
    occasion: Occasion,
    change: Callable[[GitRepository], str],
    open_pull_request: PullRequests,
    job_on: Jobs,
    github: GitHubStandIn,
) -> None:
    """The base is the right commit, the verdict does not depend on the checkout, one comment."""
    pull, told = open_pull_request(change), CHANGES[change]

    finished = occasion.run(job_on(pull, occasion.checkout), pull)

    assert finished.exit_code == told.exit_code
    assert finished.outputs.get("delta") == told.delta
    assert told.words in finished.summary
    assert f"base {occasion.base(pull)}" in finished.summary
    assert f"head {occasion.measured(pull)}" in finished.summary
    assert "greeting" not in finished.summary, "it came into the base after the fork"
    bodies = [comment.body.partition("\n")[2] for comment in github.repository.comments]
    assert len(bodies) == (0 if occasion.is_queued else told.comments)
    assert all(body.rstrip() in finished.summary for body in bodies)


# ------------------------------------------------------------ whose runs get no secrets


@pytest.mark.parametrize(
    ("change", "exit_code"),
    [(edited, 3), (new, 3), (nothing, 0)],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.parametrize("whose", ["fork", "dependabot"])
def test_without_secrets_nothing_is_measured_and_nothing_passes(
    whose: str,
    change: Callable[[GitRepository], str],
    exit_code: int,
    open_pull_request: PullRequests,
    job_on: Jobs,
    github: GitHubStandIn,
) -> None:
    """A read-only token, no key: the summary says why. Where no skill changed, none is needed."""
    pull = open_pull_request(change)
    github.permissions = {"pull_requests": "read"}
    job = job_on(pull, merge_at_depth_1)
    job.actor = "dependabot[bot]" if whose == "dependabot" else "mallory"

    finished = job.pull_request(pull.head, fork=whose == "fork", model="gpt-test")

    assert finished.exit_code == exit_code
    assert finished.outputs["passed"] == str(exit_code == 0).lower()
    assert f"base {pull.base_branch}" in finished.summary
    assert ("comes from a fork or from Dependabot" in finished.summary) == (exit_code == 3)
    assert not github.repository.comments


# ------------------------------------------------------------ pull requests that are odd


@pytest.mark.parametrize("checkout", [merge_at_depth_1, head_at_depth_1, head_at_depth_0])
def test_a_retargeted_pull_request_is_compared_with_its_new_base(
    checkout: Checkout,
    server: GitServer,
    repository_with_history: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its own commits are kinder; that the release it builds on was curt, it does not answer for.

    And the comment that it got while it was to go into main is the one that is rewritten.
    """
    name = f"retargeted_{checkout.__name__}"
    origin = repository_with_history.copied(server.root / name / "octo" / "skills")
    on_branch(origin, "release")
    release = origin.commit(skill_files("Be curt.", "2.0.0"))
    head = opened(origin, lambda repo: repo.commit(skill_files("Be kinder.", "2.1.0")))
    files = tmp_path / "runner"

    def job(folder: str) -> Job:
        place = checkout(origin, tmp_path / folder)
        return Job(place, github, files / folder, capsys, monkeypatch, f"{server.url}/{name}")

    before = job("before").pull_request(head, runner="scripted")
    origin.git("switch", "--quiet", "--detach", "release")
    origin.merge("topic")
    origin.git("update-ref", "refs/pull/7/merge", "HEAD")
    github.repository.pull_requests[7].base_ref = "release"
    after = job("after").pull_request(head, runner="scripted", into="release")

    (comment,) = github.repository.comments
    assert f"base {release}" not in before.summary
    assert f"base {release}" in after.summary
    assert "vs&nbsp;previous&nbsp;2.0.0" in comment.body
    assert (after.exit_code, after.outputs["delta"]) == (0, "0.5")


@pytest.mark.parametrize("depth", ["1", "all"])
def test_a_forks_checkout_does_not_say_what_main_is(
    depth: str, open_pull_request: PullRequests, job_on: Jobs, tmp_path: Path
) -> None:
    """Its own branch of that name is the pull request itself: nothing would have changed in it."""
    pull = open_pull_request(curt_on_a_forks_main)

    def of_the_fork(origin: GitRepository, place: Path) -> GitRepository:
        fork = origin.copied(tmp_path / "fork")
        fork.git("update-ref", "refs/heads/main", pull.head)
        checkout = GitRepository.create(place)
        checkout.git("remote", "add", "origin", fork.folder.as_uri())
        shallow = ("--depth=1",) if depth == "1" else ()
        branch = "+refs/heads/main:refs/remotes/origin/main"
        checkout.git("fetch", "--quiet", *shallow, "origin", branch)
        checkout.git("switch", "--quiet", "--detach", pull.head)
        return checkout

    finished = job_on(pull, of_the_fork).pull_request(pull.head, runner="scripted")

    assert finished.exit_code == 1
    assert f"base {pull.fork_point}" in finished.summary


def curt_on_a_forks_main(repo: GitRepository) -> str:
    return repo.commit(skill_files("Be curt.", "2.0.0"))


def removed_and_copied(repo: GitRepository) -> str:
    """The skill goes, two copies of it come: one of them is what it was."""
    files = skill_files("Be kind, always.", "1.1.0")
    repo.git("rm", "--quiet", "-r", PLACE)
    copies = ("skills/deliveries", "skills/invoices")
    return repo.commit(
        {f.replace(PLACE, copy): text for copy in copies for f, text in files.items()}
    )


def removed_and_renamed(repo: GitRepository) -> str:
    """The skill goes, and comes again elsewhere under another name, curt."""
    files = skill_files("Be curt.", "1.1.0", "skills/deliveries")
    repo.git("rm", "--quiet", "-r", PLACE)
    return repo.commit(
        {f: text.replace("name: orders", "name: deliveries") for f, text in files.items()}
    )


@pytest.mark.parametrize("checkout", [merge_at_depth_1, head_at_depth_1])
def test_of_two_copies_of_a_removed_skill_one_moved_and_one_is_new(
    checkout: Checkout, open_pull_request: PullRequests, job_on: Jobs, github: GitHubStandIn
) -> None:
    """Neither is taken for the other's earlier version, and both are told of."""
    pull = open_pull_request(removed_and_copied)

    finished = job_on(pull, checkout).pull_request(pull.head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 0
    assert comment.body.count("moved from skills/orders") == 1
    assert comment.body.count("compared with no skill") == 1


@pytest.mark.parametrize("checkout", [merge_at_depth_1, head_at_depth_1])
def test_a_removed_skill_and_its_renamed_copy_are_two(
    checkout: Checkout, open_pull_request: PullRequests, job_on: Jobs, github: GitHubStandIn
) -> None:
    """Both are named in the one comment; who wants more asks for `new-skills: fail`."""
    pull = open_pull_request(removed_and_renamed)
    job = job_on(pull, checkout)

    finished = job.pull_request(pull.head, runner="scripted")
    refused = job.pull_request(pull.head, runner="scripted", new_skills="fail")

    (comment,) = github.repository.comments
    assert (finished.exit_code, refused.exit_code) == (0, 1)
    assert "removed" in finished.summary
    assert "compared with no skill" in finished.summary
    assert "is new, and new-skills is fail" in comment.body.replace("\\", "")


def crossed(repo: GitRepository) -> str:
    """The branch and main merged each other's earlier tip, so that they left in two places."""
    mine = repo.commit({"docs/mine.md": "mine"})
    repo.git("switch", "--quiet", "main")
    theirs = repo.commit({"docs/theirs.md": "theirs"})
    repo.merge(mine)
    repo.git("switch", "--quiet", "topic")
    repo.merge(theirs)
    return repo.commit(skill_files("Be curt.", "2.0.0"))


@pytest.mark.parametrize("checkout", [head_at_depth_1, head_at_depth_0])
def test_of_several_merge_bases_one_is_the_base(
    checkout: Checkout, open_pull_request: PullRequests, job_on: Jobs, github: GitHubStandIn
) -> None:
    """One of those that git names, and the same one whatever the depth."""
    pull = open_pull_request(crossed)
    bases = pull.origin.git("merge-base", "--all", "main", pull.head).split()

    finished = job_on(pull, checkout).pull_request(pull.head, runner="scripted")

    assert len(bases) == 2
    assert f"base {bases[0]}" in finished.summary
    assert (finished.exit_code, finished.outputs["delta"]) == (1, "-0.5")
    assert len(github.repository.comments) == 1


@pytest.mark.parametrize("checkout", [head_at_depth_1, head_at_depth_0])
def test_a_branch_without_a_common_ancestor_is_not_measured(
    checkout: Checkout,
    server: GitServer,
    repository_with_history: GitRepository,
    github: GitHubStandIn,
    job_on: Jobs,
) -> None:
    """Nothing says what it changes: unknown is neither new nor unchanged."""
    name = f"unrelated_{checkout.__name__}"
    origin = repository_with_history.copied(server.root / name / "octo" / "skills")
    origin.git("switch", "--quiet", "--orphan", "topic")
    head = origin.commit(skill_files("Be curt.", "2.0.0"))
    origin.git("update-ref", "refs/pull/7/head", head)
    pull = Opened(origin, head, f"{server.url}/{name}")

    finished = job_on(pull, checkout).pull_request(head, runner="scripted")

    (comment,) = github.repository.comments
    assert finished.exit_code == 3
    assert finished.outputs["verdict"] == "not measured"
    assert "have no commit in common" in comment.body


# ------------------------------------------------------------ pull requests that are large


def many_files(repo: GitRepository) -> str:
    """More than the 3,000 that GitHub's API lists, and the skill is among the last."""
    repo.git("sparse-checkout", "set", "skills")  # nobody needs the pages themselves
    page = repo.git("hash-object", "-w", "--stdin", input=b"A page.")
    pages = "".join(f"100644 {page}\tdocs/{number:04}.md\n" for number in range(3_500))
    repo.git("update-index", "--add", "--index-info", input=pages.encode())
    repo.write(skill_files("Be curt.", "2.0.0"))
    repo.git("add", "skills")
    return repo.commit_staged()


def test_the_skill_after_3500_other_files_is_found(
    open_pull_request: PullRequests, job_on: Jobs, github: GitHubStandIn
) -> None:
    """Trees are compared, and the list of files is never asked for."""
    pull = open_pull_request(many_files)
    assert len(pull.origin.git("diff", "--name-only", "main", pull.head).splitlines()) > 3_500

    finished = job_on(pull, sparse_checkout).pull_request(pull.head, runner="scripted")

    assert (finished.exit_code, finished.outputs["delta"]) == (1, "-0.5")
    assert json.loads(finished.outputs["skills"]) == ["orders"]
    assert f"base {pull.base_branch}" in finished.summary
    assert len(github.repository.comments) == 1
    assert not github.asked("pulls/list-files")


ONE_CASE = """\
cases:
  - name: is polite
    task: Where is my order?
    assertions: [{kind: icontains, value: please}]
"""


def many_skills(repo: GitRepository) -> str:
    """300 skills, all of them edited."""
    names = [f"orders-{number:03}" for number in range(300)]

    def files(body: str, version: str) -> dict[str, str]:
        return {
            f"skills/{name}/{file}": text
            for name in names
            for file, text in {
                "SKILL.md": skill(body, version=version, name=name),
                "evals/orders.yaml": ONE_CASE,
                "evals/replies.yaml": REPLIES,
            }.items()
        }

    repo.git("switch", "--quiet", "main")
    repo.commit(files("Be kind.", "1.0.0"))
    repo.git("switch", "--quiet", "--force-create", "topic")
    changed = files("Be kinder.", "1.1.0")
    changed["skills/orders-299/SKILL.md"] = skill("Be curt.", version="1.1.0", name="orders-299")
    return repo.commit(changed)


def test_300_skills_are_one_comment_that_names_the_one_that_is_worse(
    open_pull_request: PullRequests, job_on: Jobs, github: GitHubStandIn
) -> None:
    """All are measured, in a shallow checkout, and the comment fits."""
    pull = open_pull_request(many_skills)

    finished = job_on(pull, merge_at_depth_1).pull_request(
        pull.head, runner="scripted", repeat="1", gate="point"
    )

    (comment,) = github.repository.comments
    assert finished.exit_code == 1
    assert len(json.loads(finished.outputs["skills"])) == 300
    assert len(comment.body) <= 65_536
    assert "orders-299" in comment.body
    assert "::error title=Regressed%3A is polite,file=skills/orders-299/" in finished.log
