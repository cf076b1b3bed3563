"""`publish`: a run without write access measured, and a job with it tells what that comes to."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from command_line import CommandLine
from git_repositories import GitRepository, skill
from github_job import NUMBER, Finished, Job
from github_repository import Status
from github_stand_in import GitHubStandIn
from pull_requests import merged_by_github, on_branch
from snapshot_files import MarkdownFile

CASES = """\
cases:
  - name: names the order
    task: Where is my order 1234?
    assertions:
      - {kind: contains, value: "1234"}
  - name: is polite
    task: Where is my order?
    assertions:
      - {kind: icontains, value: please}
"""
REPLIES = """\
replies:
  - contains: Be curt
    text: "1234: shipped."
  - contains: Be hasty
    repetition: [0, 3, 6]
    text: "1234: shipped."
  - text: "Please wait: order 1234 was shipped."
"""
KIND, CURT, KINDER = "Be kind.", "Be curt.", "Be kind, and say please."
HASTY = "Be hasty."

Lines = list[dict[str, Any]]


@dataclass
class Measured:
    """A pull request that a read-only run has measured, and the artifact that it left."""

    job: Job
    github: GitHubStandIn
    head: str
    workspace: Path
    """Of the publishing job: the artifact, and nothing else."""

    @property
    def record(self) -> Path:
        return self.workspace / "measured" / "record.jsonl"

    def edit(self, change: Callable[[Lines], object]) -> None:
        """What someone who controls the run may do to its record."""
        lines = [json.loads(line) for line in self.record.read_text().splitlines()]
        change(lines)
        self.record.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def published(self, **options: Any) -> Finished:
        inputs = {"runner": "scripted", "publish": "measured/record.jsonl", **options}
        return self.job.follow(self.workspace, self.head, **inputs)

    @property
    def comments(self) -> list[str]:
        return [comment.body for comment in self.github.repository.comments]

    @property
    def statuses(self) -> list[str]:
        return [status.state for status in self.github.repository.statuses]


Measure = Callable[..., Measured]


@pytest.fixture
def measured(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Measure:
    """Measures a pull request that gives the one skill this text, with a token that only reads."""
    for name in ("SKILL_DELTA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    files = {
        "skills/orders/SKILL.md": skill(KIND, version="1.0.0", name="orders"),
        "skills/orders/evals/orders.yaml": CASES,
        "skills/orders/evals/replies.yaml": REPLIES,
    }
    repository.commit(files)
    job = Job(repository, github, tmp_path / "runner", capsys, monkeypatch)

    def measure(body: str = CURT, *, merged: bool = True, **inputs: Any) -> Measured:
        on_branch(repository, "topic", "main")
        edited = skill(body, version="1.1.0", name="orders")
        head = repository.commit({"skills/orders/SKILL.md": edited})
        if merged:
            merge = merged_by_github(repository)
            github.repository.git.parents[merge] = [repository.git("rev-parse", "main"), head]
        github.permissions = {"contents": "read"}
        job.pull_request(head, runner="scripted", **inputs)
        github.permissions = {"contents": "read", "pull_requests": "write", "statuses": "write"}
        workspace = tmp_path / "publisher"
        (workspace / "measured").mkdir(parents=True)
        kept = repository.folder / ".skill-delta" / "record.jsonl"
        if kept.exists():
            (workspace / "measured" / "record.jsonl").write_bytes(kept.read_bytes())
        assert not github.repository.comments
        return Measured(job, github, head, workspace)

    return measure


# ---------------------------------------------------------------- of this repository


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


# ---------------------------------------------------------------- whose rules


def test_the_rules_are_those_of_the_job_that_publishes(measured: Measure) -> None:
    """The run was asked for less: its request is not what decides."""
    scene = measured(CURT, min_delta="-1")

    assert scene.published().exit_code == 1
    assert scene.published(min_delta="-0.5").exit_code == 0


def test_the_base_branchs_config_is_the_judge(measured: Measure) -> None:
    """Read from GitHub, as nothing is checked out; an input wins over it."""
    scene = measured(CURT)
    files = scene.github.repository.git.files["main"]
    files[".github/skill-delta.yml"] = b"runner: scripted\nmin-delta: -0.5\nmax-cost: 5\n"

    assert scene.published(runner="").exit_code == 0
    assert scene.published(runner="", min_delta="0").exit_code == 1


def test_a_base_branch_may_have_any_name(measured: Measure) -> None:
    """GitHub is asked for it as one part of an address."""
    scene = measured(CURT)
    scene.github.repository.pull_requests[NUMBER].base_ref = "release/1.0 #2"
    files = scene.github.repository.git.files
    files["release/1.0 #2"] = {"skill-delta.yaml": b"min-delta: -0.5\n"}

    assert scene.published().exit_code == 0


def test_a_config_file_that_is_named_must_be_there(measured: Measure) -> None:
    """Else the defaults would judge without a word."""
    scene = measured(CURT)
    scene.github.repository.git.files["main"]["rules/strict.yml"] = b"min-delta: -0.5\n"

    assert scene.published(config="rules/strict.yml").exit_code == 0
    refused = scene.published(config="rules/lax.yml")
    assert refused.exit_code == 2
    assert "rules/lax.yml" in refused.log


def test_a_config_file_that_is_a_link_is_not_followed(measured: Measure) -> None:
    """As in a checkout."""
    scene = measured(CURT)
    git = scene.github.repository.git
    git.files["main"]["rules.yml"] = b"/etc/passwd"
    git.links.add("rules.yml")

    assert scene.published(config="rules.yml").exit_code == 2


def test_a_config_that_may_not_be_read_is_not_taken_for_none(measured: Measure) -> None:
    """The defaults may be easier than it."""
    scene = measured(KINDER)
    scene.github.permissions = {"contents": "none", "pull_requests": "write"}

    finished = scene.published()

    assert finished.exit_code == 2
    assert "contents: read" in finished.log


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"runner": "openai", "model": "gpt-5-mini"}, "without runner 'openai'"),
        ({"baseline": "previous\nbase"}, "was not compared with 'base'"),
    ],
)
def test_what_was_measured_otherwise_is_no_verdict(
    inputs: dict[str, str], said: str, measured: Measure
) -> None:
    """Another runner, or fewer comparisons, than the job asks for."""
    scene = measured(KINDER)

    finished = scene.published(**inputs)

    assert finished.exit_code == 2
    assert said in finished.log
    assert "not measured" in scene.comments[0].splitlines()[1]


def test_fewer_runs_than_are_asked_for_are_not_measured(measured: Measure) -> None:
    """Nothing unmeasured passes."""
    scene = measured(KINDER)

    finished = scene.published(repeat="5", status="commit")

    assert finished.exit_code == 3
    assert finished.outputs["verdict"] == "not measured"
    assert scene.statuses == ["failure"]


def test_a_new_skill_may_be_refused_here_too(measured: Measure) -> None:
    """Whatever the measuring run was asked for."""
    scene = measured(KINDER)

    def is_new(lines: Lines) -> None:
        lines[0]["changes"][0] |= {"kind": "added", "base_folder": None}

    scene.edit(is_new)

    finished = scene.published(new_skills="fail")

    assert finished.exit_code == 1
    assert "is new, and new-skills is fail" in finished.log


def test_a_skill_without_cases_may_be_refused_here_too(measured: Measure) -> None:
    """The run only named it."""
    scene = measured(KINDER)
    uncovered = {
        "kind": "edited", "folder": "skills/x", "base_folder": "skills/x", "files": [],
    }  # fmt: skip
    scene.edit(lambda lines: lines[0]["changes"].append(uncovered))

    assert scene.published().exit_code == 0
    assert scene.published(uncovered_skills="fail").exit_code == 1


def test_an_input_that_nothing_reads_is_refused(measured: Measure) -> None:
    """A key above all: this job asks no model."""
    scene = measured(KINDER)

    finished = scene.published(api_key="sk-secret-0123456789", max_cost="5")

    assert finished.exit_code == 2
    assert "nothing reads the inputs api-key, max-cost" in finished.log
    assert not scene.github.exchanges[-1].operation.startswith("issues/create")


# ---------------------------------------------------------------- whose word


def trials(lines: Lines) -> Lines:
    return [line for line in lines if line["line"] == "trial"]


def all_checks_passed(lines: Lines) -> None:
    for line in trials(lines):
        for check in line["checks"]:
            check |= {"passed": True, "score": 1.0}


def the_bar_is_lower(lines: Lines) -> None:
    lines[0]["request"]["policy"] |= {"min_delta": {}, "min_pass_rate": None, "method": "point"}


def there_are_verdicts(lines: Lines) -> None:
    for line in lines:
        line |= {"verdict": "pass", "gate": {"passed": True, "exit_code": 0}, "passed": True}


@pytest.mark.parametrize("tamper", [all_checks_passed, the_bar_is_lower, there_are_verdicts])
def test_a_verdict_that_was_tampered_with_is_worked_out_anew(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """Checks run again over the answers; what a record says of itself decides nothing."""
    scene = measured(CURT)
    scene.edit(tamper)

    finished = scene.published()

    assert finished.exit_code == 1
    assert finished.outputs["delta"] == "-0.5"
    assert "gate failed" in scene.comments[0]


def a_case_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"][0]["cases"].append(lines[0]["subjects"][0]["cases"][0])


def a_skill_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"].append(lines[0]["subjects"][0])


def a_baseline_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"].append(lines[0]["subjects"][0]["baselines"][0])


def a_baseline_is_the_candidate(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"][0]["role"] = "candidate"


def the_candidate_is_a_baseline(lines: Lines) -> None:
    lines[0]["subjects"][0]["candidate"]["baseline"] = "previous"


def the_comparison_is_gone(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"] = []
    lines[0]["sources"] = []


def only_its_source_is_gone(lines: Lines) -> None:
    lines[0]["sources"] = []


def an_objection_speaks_for_it(lines: Lines) -> None:
    lines[0]["objections"] = [{"text": "all is well", "verdict": "pass"}]


def a_cost_is_no_number(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["cost_usd"] = float("nan")


def a_cost_is_infinite(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["cost_usd"] = float("inf")


def a_latency_is_negative(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["latency_ms"] = -1e300


def tokens_are_negative(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["usage"] = {"input_tokens": -5, "output_tokens": 0}


def the_bill_is_huge(lines: Lines) -> None:
    lines[-1]["spent_before"] = {"usage": {"input_tokens": 10**40, "output_tokens": 0}}


def a_time_has_no_zone(lines: Lines) -> None:
    lines[0]["started_at"] = "2026-11-30T12:00:00"


def the_skill_is_another(lines: Lines) -> None:
    lines[0]["subjects"][0]["candidate"]["skill"]["folder"] = "skills/other"


def it_is_a_working_copy(lines: Lines) -> None:
    lines[0]["is_working_copy"] = True


def it_is_of_no_commit(lines: Lines) -> None:
    lines[0]["head"] = "../../../repos/octo/skills/issues/7/comments"


def it_is_of_a_later_version(lines: Lines) -> None:
    lines[0]["record_version"] = 2


def a_check_is_none(lines: Lines) -> None:
    lines[0]["subjects"][0]["cases"][0]["checks"] = [{"kind": "no such kind"}]


def its_head_is_gone(lines: Lines) -> None:
    del lines[0]


IMPOSSIBLE = [
    a_case_counts_twice,
    a_skill_counts_twice,
    a_baseline_counts_twice,
    a_baseline_is_the_candidate,
    the_candidate_is_a_baseline,
    the_comparison_is_gone,
    only_its_source_is_gone,
    an_objection_speaks_for_it,
    a_cost_is_no_number,
    a_cost_is_infinite,
    a_latency_is_negative,
    tokens_are_negative,
    the_bill_is_huge,
    a_time_has_no_zone,
    the_skill_is_another,
    it_is_a_working_copy,
    it_is_of_no_commit,
    it_is_of_a_later_version,
    a_check_is_none,
    its_head_is_gone,
]


@pytest.mark.parametrize("tamper", IMPOSSIBLE)
def test_a_record_that_no_run_can_have_written_is_no_verdict(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """It is told on the pull request, and is no pass."""
    scene = measured(KINDER)
    scene.edit(tamper)

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert finished.outputs["passed"] == "false"
    (comment,) = scene.comments
    assert "not measured" in comment.splitlines()[1]
    assert str(scene.workspace) not in comment
    assert scene.statuses == ["error"]


def trials_are_missing(lines: Lines) -> None:
    lines.remove(trials(lines)[-1])


def it_was_killed(lines: Lines) -> None:
    del lines[-2:]


@pytest.mark.parametrize("tamper", [trials_are_missing, it_was_killed])
def test_a_record_that_is_not_whole_is_not_measured(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """What is missing may be what speaks against it."""
    scene = measured(KINDER)
    scene.edit(tamper)

    assert scene.published().exit_code == 3
    assert "not measured" in scene.comments[0].splitlines()[1]


def test_a_look_that_is_missing_leaves_the_verdict_open(measured: Measure) -> None:
    """The first look alone would be inconclusive, and pass."""
    scene = measured(HASTY)
    assert "3 of 3 planned looks" in scene.published().summary

    def only_the_first_look(lines: Lines) -> None:
        lines[:] = [
            line for line in lines if line["line"] != "trial" or line["key"]["repetition"] < 3
        ]

    scene.edit(only_the_first_look)

    assert scene.published().exit_code == 3


def test_a_record_of_another_commit_is_no_verdict(measured: Measure) -> None:
    """The artifact of an earlier push may be passed off as this one's."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(head="d" * 40))
    scene.github.repository.git.parents["d" * 40] = ["e" * 40, "f" * 40]

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert "the record is of another commit" in scene.comments[0]
    assert scene.statuses == ["error"]


def test_a_merge_into_another_base_is_no_verdict(measured: Measure) -> None:
    """The base that the comment names is the merge commit's own."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(base="d" * 40))

    assert scene.published().exit_code == 2


def test_a_commit_that_github_does_not_know_is_no_verdict(measured: Measure) -> None:
    """Nobody can say what was measured."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(head="d" * 40))

    assert scene.published().exit_code == 2


HOSTILE = (
    "::error::owned\n::set-output name=passed::true\n##[error]x\n"
    "<!-- skill-delta:v1 id=skill-delta run=1 attempt=1 --> @octocat fixes #1 "
    "![x](https://evil.example/x.png) </details> ghp_0123456789abcdefghijABCDEFGHIJ"
)


def commands_in(log: str) -> list[str]:
    """The lines that the runner takes for commands, given what is stopped."""
    active, token = [], None
    for line in map(str.strip, log.splitlines()):
        if token is not None:
            token = None if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif line.startswith("::") or "##[" in line:
            active.append(line)
    return active


def is_ours(command: str) -> bool:
    return command.startswith(("::error title=", "::warning title="))


def test_no_text_of_a_record_acts(measured: Measure) -> None:
    """No command in the log, no mention, image, marker or token in the comment."""
    scene = measured(CURT)

    def say_it_everywhere(lines: Lines) -> None:
        head = lines[0]
        head["notes"] = [HOSTILE]
        head["skipped"] = [{"skill": HOSTILE, "reason": HOSTILE}]
        head["objections"] = [{"text": HOSTILE, "verdict": "not measured"}]
        head["environment"]["runners"] = {"scripted": HOSTILE}
        for line in trials(lines):
            line["transcript"]["answer"] = f"no {HOSTILE}"

    scene.edit(say_it_everywhere)

    finished = scene.published(status="commit")

    body = scene.comments[0].split("\n", 1)[1]
    for text in (body, finished.log, finished.summary):
        assert "ghp_0123456789" not in text
    for text in (body, finished.summary):
        assert not {part for part in ("<!--", "@octocat", "![", "</details> ghp") if part in text}
    assert all(
        line.startswith(("::error title=", "::warning title="))
        for line in commands_in(finished.log)
    )
    assert finished.outputs["passed"] == "false"


def test_a_line_that_is_no_json_is_told_without_acting(measured: Measure) -> None:
    """The error quotes others as well."""
    scene = measured(KINDER)
    scene.record.write_text(json.dumps({"line": HOSTILE, HOSTILE: 1}) + "\n")

    finished = scene.published()

    assert finished.exit_code == 2
    assert "@octocat" not in scene.comments[0]
    assert all(
        line.startswith(("::error title=", "::warning title="))
        for line in commands_in(finished.log)
    )


# ---------------------------------------------------------------- forks


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
    pull = scene.github.repository.pull_requests[NUMBER]
    listed = scene.github.repository._listed_comments

    def pushed(call: Any) -> Any:
        pull.head_sha = "c" * 40
        return listed(call)

    monkeypatch.setitem(
        scene.github.repository._operations,
        "issues/list-comments",
        pushed,
    )

    finished = scene.published()

    assert finished.exit_code == 1
    assert "the pull request has moved on" in finished.log
    assert not scene.comments


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


# ---------------------------------------------------------------- what is not there


def test_a_run_without_a_record_is_told_and_not_passed(measured: Measure) -> None:
    """No skill changed, or it stopped before its first trial: from here nobody can tell."""
    scene = measured(KINDER)
    scene.record.unlink()

    finished = scene.published(status="commit")

    assert finished.exit_code == 3
    assert "left no record" in finished.log
    assert not scene.comments
    assert not scene.statuses


def test_an_earlier_comment_does_not_outlive_its_commit(measured: Measure) -> None:
    """After a revert no skill differs any more."""
    scene = measured(CURT)
    scene.published()
    scene.github.repository.pull_requests[NUMBER].head_sha = scene.head = "c" * 40
    scene.record.unlink()

    scene.published()

    (comment,) = scene.comments
    assert "gate failed" not in comment
    assert "left no record" in comment


def an_empty_file(record: Path) -> None:
    record.write_bytes(b"")


def a_giant(record: Path) -> None:
    with record.open("wb") as file:
        file.truncate(8 << 30)


def a_link(record: Path) -> None:
    kept = record.rename(record.with_name("kept.jsonl"))
    record.symlink_to(kept)


def a_dangling_link(record: Path) -> None:
    record.unlink()
    record.symlink_to("/nowhere")


def a_pipe(record: Path) -> None:
    record.unlink()
    os.mkfifo(record)


def a_folder(record: Path) -> None:
    record.unlink()
    record.mkdir()


def a_linked_folder(record: Path) -> None:
    folder = record.parent
    folder.symlink_to(folder.rename(folder.with_name("kept")), target_is_directory=True)


def a_line_without_end(record: Path) -> None:
    record.write_bytes(b"{" + b" " * (65 << 20))


def deep_nesting(record: Path) -> None:
    record.write_text('{"line":' * 100_000)


@pytest.mark.parametrize(
    "plant",
    [
        an_empty_file,
        a_giant,
        a_link,
        a_dangling_link,
        a_pipe,
        a_folder,
        a_linked_folder,
        a_line_without_end,
        deep_nesting,
    ],
)
def test_what_is_no_record_is_neither_followed_nor_waited_for(
    plant: Callable[[Path], None], measured: Measure
) -> None:
    """An artifact holds what its maker put there."""
    scene = measured(KINDER)
    plant(scene.record)

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert "not measured" in scene.comments[0].splitlines()[1]
    assert scene.statuses == ["error"]


@pytest.mark.parametrize("place", ["/etc/passwd", "../record.jsonl", "measured/../../x", "."])
def test_a_record_is_named_by_its_path_in_the_workspace(place: str, measured: Measure) -> None:
    """Nothing else of the runner is looked at."""
    scene = measured(KINDER)

    finished = scene.published(publish=place)

    assert finished.exit_code == 2
    assert "no path in the workspace" in finished.log


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
