"""The action: a real checkout and an event in, one comment and a check out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from command_line import CommandLine
from git_repositories import GitRepository, skill
from github_job import EVENTS, Job, commands_in
from github_stand_in import GitHubStandIn
from model_stand_in import Answer, ModelStandIn, Received, says
from pull_requests import merged_by_github, on_branch
from skill_delta.hosts.workflow import StepFiles
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
  - text: "Please wait: order 1234 was shipped."
"""
KIND, CURT, KINDER = "Be kind.", "Be curt.", "Be kind, and say please."


@pytest.fixture
def job(
    repository: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Job:
    """A job on a repository with one skill, 1.0.0 on main."""
    for name in ("SKILL_DELTA_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    repository.commit(
        {
            "skills/orders/SKILL.md": skill(KIND, version="1.0.0", name="orders"),
            "skills/orders/evals/orders.yaml": CASES,
            "skills/orders/evals/replies.yaml": REPLIES,
            "README.md": "Skills.",
        }
    )
    return Job(repository, github, tmp_path / "runner", capsys, monkeypatch)


def edited(repository: GitRepository, body: str, version: str = "1.1.0") -> str:
    """A pull request that edits the skill, checked out as GitHub's merge commit. Gives its head."""
    if repository.git("branch", "--list", "topic"):
        repository.git("switch", "--quiet", "topic")
    else:
        on_branch(repository, "topic")
    head = repository.commit(
        {"skills/orders/SKILL.md": skill(body, version=version, name="orders")}
    )
    repository.git("branch", "--force", "trial", "main")
    repository.git("switch", "--quiet", "--detach", "main")
    repository.merge("topic")
    return head


def comments(github: GitHubStandIn) -> list[str]:
    return [comment.body for comment in github.repository.comments]


def test_a_regression_is_one_comment_and_a_red_check(job: Job, github: GitHubStandIn) -> None:
    """The comment leads with the verdict and names the case that drives it."""
    head = edited(job.checkout, CURT)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    (comment,) = comments(github)
    assert comment.startswith("<!-- skill-delta:v1 id=skill-delta ")
    assert "gate failed" in comment.splitlines()[1]
    assert "is polite" in comment
    assert f"head {job.checkout.head()}" in comment
    assert f"base {job.checkout.git('rev-parse', 'main')}" in comment
    assert "the first parent of the merge commit that GitHub made" in comment
    assert finished.outputs["verdict"] == "fail"
    assert finished.outputs["passed"] == "false"
    assert finished.outputs["delta"] == "-0.5"
    assert finished.outputs["pass-rate"] == "0.5"
    assert finished.outputs["baseline-pass-rate"] == "1"
    assert json.loads(finished.outputs["skills"]) == ["orders"]
    assert finished.outputs["exit-code"] == "1"
    assert (
        "::error title=Regressed%3A is polite,file=skills/orders/evals/orders.yaml,line=6,col=5::"
        in (finished.log)
    )
    assert "gate failed" in finished.summary


def test_the_posted_comment_reads_well(
    job: Job, github: GitHubStandIn, snapshot: SnapshotAssertion
) -> None:
    """As a reviewer meets it, with commits and times that differ from run to run left out."""
    job.pull_request(edited(job.checkout, CURT), runner="scripted")

    posted = re.sub(r"started=\S+", "started=…", comments(github)[0])
    assert posted == snapshot(extension_class=MarkdownFile)


def test_the_reports_are_where_the_outputs_say(job: Job, github: GitHubStandIn) -> None:
    """One folder is written, git ignores it, and nothing else in the checkout changes."""
    head = edited(job.checkout, KINDER)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 0
    for name in ("json", "junit", "markdown"):
        assert (job.checkout.folder / finished.outputs[f"{name}-report"]).stat().st_size
    assert job.checkout.git("status", "--porcelain") == ""
    assert finished.outputs["comment-url"].startswith("https://github.com/")


def test_a_second_push_updates_the_same_comment(job: Job, github: GitHubStandIn) -> None:
    """There is one comment, and it speaks of the newest commit."""
    job.pull_request(edited(job.checkout, CURT), runner="scripted")
    (before,) = github.repository.comments
    identifier = before.id

    finished = job.pull_request(edited(job.checkout, KINDER, "1.2.0"), runner="scripted")

    (after,) = github.repository.comments
    assert finished.exit_code == 0
    assert after.id == identifier
    assert "no regression shown" in after.body


def test_no_skill_changed_is_green_and_asks_nobody(job: Job, github: GitHubStandIn) -> None:
    """A summary line; no comment, and not one request."""
    on_branch(job.checkout, "topic")
    head = job.checkout.commit({"README.md": "Better skills."})
    merged_by_github(job.checkout)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 0
    assert "no skill changed" in finished.summary
    assert finished.outputs["passed"] == "true"
    assert not github.exchanges
    assert job.checkout.git("status", "--porcelain") == ""
    assert not (job.checkout.folder / ".skill-delta").exists()


def test_a_revert_rewrites_an_earlier_comment(job: Job, github: GitHubStandIn) -> None:
    """It must not stay red."""
    job.pull_request(edited(job.checkout, CURT), runner="scripted")

    finished = job.pull_request(edited(job.checkout, KIND, "1.0.0"), runner="scripted")

    (comment,) = comments(github)
    assert finished.exit_code == 0
    assert "no skill changed" in comment


def test_a_fork_without_a_key_is_not_measured(job: Job, github: GitHubStandIn) -> None:
    """Exit 3, with the reason; an unmeasured pull request never passes by itself."""
    head = edited(job.checkout, CURT)
    github.permissions = {"pull_requests": "read"}

    finished = job.pull_request(head, fork=True, model="gpt-test")

    assert finished.exit_code == 3
    assert "comes from a fork" in finished.summary
    assert finished.outputs["verdict"] == "not measured"
    assert finished.outputs["passed"] == "false"
    assert "pull-requests: write" in finished.log
    assert not comments(github)


def test_an_unmeasured_pull_request_may_be_let_through(job: Job) -> None:
    """Where the workflow says so."""
    head = edited(job.checkout, CURT)

    finished = job.pull_request(head, fork=True, model="gpt-test", on_unmeasured="pass")

    assert finished.exit_code == 0
    assert finished.outputs["verdict"] == "not measured"


def test_the_head_may_be_checked_out_itself(job: Job, github: GitHubStandIn) -> None:
    """With `ref: head.sha` the base is where the branch left main, not where main is now."""
    head = edited(job.checkout, CURT)
    left = job.checkout.git("merge-base", "main", "topic")
    job.checkout.git("switch", "--quiet", "main")
    job.checkout.commit({"skills/orders/SKILL.md": skill("Be loud.", version="3.0", name="orders")})
    job.checkout.git("switch", "--quiet", "--detach", head)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    assert f"base {left}" in comments(github)[0]


def test_a_merge_group_has_a_check_and_no_comment(job: Job, github: GitHubStandIn) -> None:
    """And a commit status where one is asked for."""
    base = job.checkout.git("rev-parse", "main")
    edited(job.checkout, CURT)
    head = job.checkout.head()

    finished = job.merge_group(base, head, runner="scripted", status="commit")

    assert finished.exit_code == 1
    assert not comments(github)
    states = [(status.sha, status.state) for status in github.repository.statuses]
    assert states == [(head, "pending"), (head, "failure")]


def test_a_push_compares_with_what_was_there_before(job: Job) -> None:
    """The branch's own commits."""
    before = job.checkout.head()
    after = job.checkout.commit(
        {"skills/orders/SKILL.md": skill(CURT, version="1.1.0", name="orders")}
    )

    assert job.push(before, after, runner="scripted").exit_code == 1
    assert job.push(after, after, runner="scripted").exit_code == 0


def test_a_dispatch_compares_with_the_base_it_names(job: Job) -> None:
    """Else with where the commit left the default branch."""
    edited(job.checkout, CURT)

    assert job.dispatch(runner="scripted", base="main").exit_code == 1


def test_the_base_commits_config_is_the_judge(job: Job, github: GitHubStandIn) -> None:
    """A pull request cannot lower the bar for itself; that it tried is named."""
    job.checkout.commit({".github/skill-delta.yml": "runner: scripted\nmin-delta: 0\n"})
    on_branch(job.checkout, "topic")
    job.checkout.commit({".github/skill-delta.yml": "runner: scripted\nmin-delta: -1\n"})
    head = edited(job.checkout, CURT)

    finished = job.pull_request(head)

    assert finished.exit_code == 1
    assert ".github/skill-delta.yml changes" in comments(github)[0].replace("\\", "")


def test_an_input_wins_over_the_config(job: Job) -> None:
    """The workflow is the base's too."""
    job.checkout.commit({".github/skill-delta.yml": "runner: scripted\nmin-delta: 0\n"})
    head = edited(job.checkout, CURT)

    assert job.pull_request(head, min_delta="-0.5").exit_code == 0


def test_a_broken_eval_file_is_told_at_its_line(job: Job, github: GitHubStandIn) -> None:
    """Exit 2, an annotation in the diff, and a comment that says what to do."""
    edited(job.checkout, CURT)
    job.checkout.git("switch", "--quiet", "topic")
    head = job.checkout.commit(
        {"skills/orders/evals/orders.yaml": CASES.replace("assertions", "assertion")}
    )
    job.checkout.git("switch", "--quiet", "--detach", "main")
    job.checkout.merge("topic")

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 2
    assert "file=skills/orders/evals/orders.yaml,line=4,col=5::" in finished.log
    assert "did you mean assertions" in comments(github)[0]


def test_inputs_that_cannot_be_meant_are_named(job: Job) -> None:
    """Each by its name."""
    head = edited(job.checkout, CURT)

    finished = job.pull_request(head, runner="scripted", repeat="often", fail_on_error="maybe")

    assert finished.exit_code == 2
    assert "input 'repeat': should be a whole number" in finished.log
    assert "input 'fail-on-error': should be true or false" in finished.log


def test_removing_the_cases_that_judge_fails(job: Job) -> None:
    """A skill that lost all its cases is not simply uncovered."""
    edited(job.checkout, CURT)
    job.checkout.git("switch", "--quiet", "topic")
    job.checkout.git("rm", "--quiet", "-r", "skills/orders/evals")
    head = job.checkout.commit()
    job.checkout.git("switch", "--quiet", "--detach", "main")
    job.checkout.merge("topic")

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    assert "all of its eval cases were removed" in finished.summary


def changed(job: Job, *commands: tuple[str, ...], files: dict[str, str] | None = None) -> str:
    """A pull request made of git commands and files, checked out as its merge. Gives its head."""
    on_branch(job.checkout, "topic")
    for command in commands:
        job.checkout.git(*command)
    head = job.checkout.commit(files)
    merged_by_github(job.checkout)
    return head


CURT_SKILL = {"skills/orders/SKILL.md": skill(CURT, version="1.1.0", name="orders")}


@pytest.mark.parametrize("hiding", ["skills/pyvenv.cfg", "skills/orders/pyvenv.cfg"])
def test_no_file_hides_a_skill(hiding: str, job: Job) -> None:
    """A virtual environment is nothing that a pull request brings."""
    head = changed(job, files={**CURT_SKILL, hiding: ""})

    assert job.pull_request(head, runner="scripted").exit_code == 1


def test_a_skill_behind_a_link_is_refused(job: Job) -> None:
    """A runtime may follow it; this check does not."""
    on_branch(job.checkout, "topic")
    job.checkout.git("mv", "skills/orders", "hidden")
    (job.checkout.folder / "skills").mkdir(exist_ok=True)
    (job.checkout.folder / "skills/orders").symlink_to("../hidden")
    job.checkout.write({"hidden/SKILL.md": skill(CURT, version="1.1.0", name="other")})
    head = job.checkout.commit()
    merged_by_github(job.checkout)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    assert "replaced by a link" in finished.log


@pytest.mark.parametrize("kind", ["link", "submodule"])
def test_nor_is_one_whose_parent_folder_is_replaced(kind: str, job: Job) -> None:
    """All skills go at once, and a runtime may follow them all."""
    on_branch(job.checkout, "topic")
    job.checkout.git("mv", "skills", "node_modules")
    job.checkout.write(
        {"node_modules/orders/SKILL.md": skill(CURT, version="1.1.0", name="orders")}
    )
    if kind == "link":
        (job.checkout.folder / "skills").symlink_to("node_modules")
        head = job.checkout.commit()
    else:
        head = job.checkout.commit()
        entry = f"160000,{'a' * 40},skills"
        job.checkout.git("update-index", "--add", "--cacheinfo", entry)
        job.checkout.git("commit", "--quiet", "-m", "a submodule")
        head = job.checkout.head()
    merged_by_github(job.checkout)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    assert "replaced by a link or a submodule" in finished.log


def test_what_only_moved_takes_no_place_under_a_cap(job: Job) -> None:
    """It is not run: a regression that comes after it is."""
    on_branch(job.checkout, "topic")
    job.checkout.commit({"aaa/SKILL.md": skill(KINDER, version="1.0.0", name="aaa")})
    job.checkout.git("branch", "--force", "main", "topic")
    job.checkout.git("mv", "aaa", "aab")
    head = job.checkout.commit(
        {"skills/orders/SKILL.md": skill(CURT, version="1.1.0", name="orders")}
    )
    merged_by_github(job.checkout)

    assert job.pull_request(head, runner="scripted", max_skills="1").exit_code == 1


def test_moving_a_skill_does_not_excuse_removing_its_cases(job: Job) -> None:
    """Nor does renaming its file."""
    head = changed(
        job,
        ("mv", "skills/orders", "skills/orders2"),
        ("rm", "--quiet", "--force", "-r", "skills/orders2/evals"),
    )

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 1
    assert "all of its eval cases were removed" in finished.log


def test_untagging_the_cases_is_removing_them(job: Job) -> None:
    """Where the workflow selects by a tag, that is what judges."""
    tagged = CASES.replace("    task:", "    tags: [smoke]\n    task:")
    job.checkout.commit({"skills/orders/evals/orders.yaml": tagged})
    head = changed(job, files={**CURT_SKILL, "skills/orders/evals/orders.yaml": CASES})

    finished = job.pull_request(head, runner="scripted", tag="smoke")

    assert finished.exit_code == 1
    assert "all of its eval cases were removed" in finished.log


def test_moving_out_of_the_chosen_folders_is_no_escape(job: Job) -> None:
    """Where a skill was counts as much as where it is."""
    head = changed(
        job,
        ("mv", "skills/orders", "moved"),
        files={"moved/SKILL.md": skill(CURT, version="1.1.0", name="orders")},
    )

    assert job.pull_request(head, runner="scripted", skills="skills").exit_code == 1


@pytest.mark.parametrize("folder", ["nope", "skills/*", "/skills", "skills/orders/SKILL.md"])
def test_a_chosen_folder_that_is_none_is_refused(folder: str, job: Job) -> None:
    """It would always be green."""
    head = changed(job, files=CURT_SKILL)

    assert job.pull_request(head, runner="scripted", skills=folder).exit_code == 2


def test_changes_outside_the_chosen_folders_are_counted(job: Job) -> None:
    """The page does not say that nothing changed."""
    head = changed(job, files={**CURT_SKILL, "docs/x.md": "x"})

    finished = job.pull_request(head, runner="scripted", skills="docs")

    assert finished.exit_code == 0
    assert "1 elsewhere" in finished.summary


def test_what_was_measured_is_not_forgiven(job: Job) -> None:
    """`on-unmeasured: pass` is for outages, not for caps."""
    head = changed(job, files=CURT_SKILL)

    finished = job.pull_request(head, runner="scripted", max_cases="1", on_unmeasured="pass")

    assert finished.exit_code == 3
    assert "::error title=Not measured::" in finished.log


def test_an_outage_is_neither_red_nor_green(job: Job) -> None:
    """Exit 3, and forgiven where the workflow says so."""
    job.checkout.commit({"skills/orders/evals/replies.yaml": "replies: [{error: down}]"})
    head = changed(job, files=CURT_SKILL)

    assert job.pull_request(head, runner="scripted").exit_code == 3
    assert job.pull_request(head, runner="scripted", on_unmeasured="pass").exit_code == 0


def test_a_second_skill_of_the_name_takes_no_bar_away(job: Job) -> None:
    """A bar is for every skill of its name."""
    head = changed(
        job,
        files={
            **CURT_SKILL,
            "skills/z/SKILL.md": skill("Be kind.", name="orders"),
            "skills/z/evals/replies.yaml": REPLIES,
            "skills/z/evals/orders.yaml": CASES,
        },
    )

    finished = job.pull_request(head, runner="scripted", min_delta="-1", per_skill_min="orders=1.0")

    assert finished.exit_code == 1


def test_an_unreadable_config_of_the_head_is_named_and_loses_nothing(
    job: Job, github: GitHubStandIn
) -> None:
    """The run was paid for."""
    on_branch(job.checkout, "topic")
    (job.checkout.folder / ".github").mkdir()
    (job.checkout.folder / ".github/skill-delta.yml").symlink_to("/proc/self/environ")
    head = job.checkout.commit(CURT_SKILL)
    merged_by_github(job.checkout)

    assert job.pull_request(head, runner="scripted").exit_code == 1
    assert "changes: this run was judged" in comments(github)[0].replace("\\", "")


def test_following_another_run_is_refused(job: Job, github: GitHubStandIn) -> None:
    """It would compare a commit with itself, and be green on a stranger's."""
    payload = json.loads((EVENTS / "workflow_run.json").read_text())

    finished = job.run("workflow_run", payload, {"runner": "scripted", "status": "commit"})

    assert finished.exit_code == 2
    assert not github.exchanges


@pytest.mark.parametrize("folder", ["/tmp/x", "..", "a/.git/b", "x" * 300])
def test_a_report_folder_that_cannot_be_is_refused_unspent(
    folder: str, job: Job, github: GitHubStandIn
) -> None:
    """Before the first trial."""
    finished = job.pull_request(
        changed(job, files=CURT_SKILL), runner="scripted", report_dir=folder
    )

    assert finished.exit_code == 2
    assert finished.outputs["verdict"] == "not measured"


def test_files_of_the_runner_that_cannot_be_written_change_nothing(
    job: Job, github: GitHubStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comment is posted and the verdict stands."""
    monkeypatch.setattr(
        "skill_delta.hosts.workflow.StepFiles.of",
        lambda _: StepFiles(Path("/nowhere/output"), Path("/nowhere/summary")),
    )

    finished = job.pull_request(changed(job, files=CURT_SKILL), runner="scripted")

    assert finished.exit_code == 1
    assert len(comments(github)) == 1
    assert finished.log.count("could not be written") == 2


NEW = {
    "skills/news/SKILL.md": skill("Tell the news.", name="news"),
    "skills/news/evals/news.yaml": CASES,
    "skills/news/evals/replies.yaml": REPLIES,
}


def with_a_new_skill(repository: GitRepository, *, covered: bool = True) -> str:
    on_branch(repository, "topic")
    files = NEW if covered else {"skills/news/SKILL.md": NEW["skills/news/SKILL.md"]}
    head = repository.commit(files)
    merged_by_github(repository)
    return head


def test_a_new_skill_is_compared_with_none(job: Job, github: GitHubStandIn) -> None:
    """And judged by a bar for `none` alone, where there is one."""
    head = with_a_new_skill(job.checkout)

    assert job.pull_request(head, runner="scripted").exit_code == 0
    assert "compared with no skill" in comments(github)[0]
    barred = job.pull_request(head, runner="scripted", min_delta="none=0.1", gate="point")
    assert barred.exit_code == 1
    assert job.pull_request(head, runner="scripted", new_skills="fail").exit_code == 1
    assert job.pull_request(head, runner="scripted", new_skills="skip").exit_code == 0


def test_a_skill_without_cases_is_named(job: Job, github: GitHubStandIn) -> None:
    """It decides only where it is told to."""
    head = with_a_new_skill(job.checkout, covered=False)

    assert job.pull_request(head, runner="scripted").exit_code == 0
    assert "no eval cases" in comments(github)[0]
    assert job.pull_request(head, runner="scripted", uncovered_skills="fail").exit_code == 1


def test_what_a_cap_cut_is_named_and_does_not_pass(job: Job, github: GitHubStandIn) -> None:
    """Cases and skills alike."""
    edited(job.checkout, KINDER)
    job.checkout.git("switch", "--quiet", "topic")
    head = job.checkout.commit(NEW)
    job.checkout.git("switch", "--quiet", "--detach", "main")
    job.checkout.merge("topic")

    cases = job.pull_request(head, runner="scripted", max_cases="3")
    skills = job.pull_request(head, runner="scripted", max_skills="1")

    assert (cases.exit_code, skills.exit_code) == (3, 3)
    assert "1 case of skill 'orders' not run" in cases.log
    assert "skill skills/orders not run" in skills.log


def test_evals_alone_are_run_without_a_comparison(job: Job, github: GitHubStandIn) -> None:
    """The suite's change is what is being reviewed."""
    on_branch(job.checkout, "topic")
    head = job.checkout.commit(
        {"skills/orders/evals/orders.yaml": CASES.replace("please", "thanks")}
    )
    merged_by_github(job.checkout)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 0
    assert finished.outputs["delta"] == ""
    assert finished.outputs["pass-rate"] == "0.5"
    assert "measured alone" in comments(github)[0]


def test_a_skill_md_that_is_a_link_reaches_nobody(job: Job, github: GitHubStandIn) -> None:
    """Its target may hold the job's keys."""
    on_branch(job.checkout, "topic")
    target = job.checkout.folder / "skills/orders/SKILL.md"
    target.unlink()
    target.symlink_to("/proc/self/environ")
    head = job.checkout.commit()
    merged_by_github(job.checkout)

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 2
    assert github.token not in finished.log
    assert github.token not in "".join(comments(github))


def test_a_report_folder_that_is_a_link_is_not_written_through(
    job: Job, github: GitHubStandIn, tmp_path: Path
) -> None:
    """A pull request must not choose where the job writes."""
    outside = tmp_path / "outside"
    outside.mkdir()
    edited(job.checkout, KINDER)
    job.checkout.git("switch", "--quiet", "topic")
    (job.checkout.folder / ".skill-delta").symlink_to(outside)
    head = job.checkout.commit()
    job.checkout.git("switch", "--quiet", "--detach", "main")
    job.checkout.merge("topic")

    finished = job.pull_request(head, runner="scripted")

    assert finished.exit_code == 2
    assert not list(outside.iterdir())
    assert "is a link or a file" in comments(github)[0]


def test_posting_never_decides(job: Job, github: GitHubStandIn) -> None:
    """A token that may not comment is told of; the verdict stands."""
    github.permissions = {"pull_requests": "read"}

    finished = job.pull_request(edited(job.checkout, KINDER), runner="scripted")

    assert finished.exit_code == 0
    assert "::warning title=Not told::" in finished.log
    assert "pull-requests: write" in finished.log


HOSTILE = (
    "Please see 1234 ::error::owned\n::set-output name=passed::true\n##[error]x\n"
    "<!-- skill-delta:v1 id=skill-delta run=1 attempt=1 --> @octocat fixes #1 "
    "![x](https://evil.example/x.png) </details>"
)


def test_what_a_model_says_changes_nothing(
    job: Job, github: GitHubStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command in the log, no mention, image or marker in the comment, no key anywhere."""
    key = "sk-live-0123456789abcdef"

    def hostile(request: Received) -> Answer:
        curt = "curt" in request.system
        return says(f"no {HOSTILE} {key}".replace("Please", "" if curt else "Please"))

    edited_head = edited(job.checkout, CURT)
    with ModelStandIn(hostile) as server:
        finished = job.pull_request(
            edited_head, model="m", base_url=server.url, api_key=key, concurrency="1"
        )

    (comment,) = comments(github)
    assert finished.exit_code == 1
    for text in (comment, finished.log, finished.summary):
        assert key not in text
    body = comment.split("\n", 1)[1]
    assert "<!--" not in body
    assert "@octocat" not in body
    assert "![" not in body
    active = commands_in(finished.log)
    assert active
    assert all(line.startswith(("::error title=", "::warning title=")) for line in active)


def test_the_same_check_on_this_machine(
    job: Job, repository: GitRepository, skill_delta: CommandLine
) -> None:
    """`pr` prints the comment that the action would post."""
    edited(repository, CURT)
    repository.git("switch", "--quiet", "topic")

    finished = skill_delta("pr", "--runner", "scripted")
    unchanged = skill_delta("pr", "--base", "HEAD")

    assert finished.exit_code == 1
    assert finished.out.startswith("### ❌ skill-delta: gate failed")
    assert "is polite" in finished.out
    assert unchanged.exit_code == 0
    assert "no skill changed" in unchanged.out
    assert repository.git("status", "--porcelain", "--ignored") == ""


@pytest.mark.parametrize("attempt", [1, 2])
def test_after_a_retarget_nothing_is_compared_with_the_old_base(
    attempt: int, job: Job, github: GitHubStandIn
) -> None:
    """The event and the checkout are those of the first run: a green one would be for main."""
    head = edited(job.checkout, KINDER)
    assert job.pull_request(head, runner="scripted").exit_code == 0
    github.repository.pull_requests[7].base_ref = "release"
    job.attempt = attempt

    again = job.pull_request(head, runner="scripted")

    assert again.exit_code == 2
    assert "goes into 'release' now, and this run was made for 'main'" in again.log


def test_run_again_where_github_says_nothing_the_event_stands(
    job: Job, github: GitHubStandIn
) -> None:
    """An outage of GitHub changes no verdict."""
    head = edited(job.checkout, KINDER)
    job.attempt = 2
    github.permissions.clear()

    assert job.pull_request(head, runner="scripted").exit_code == 0
