"""Scripts of a skill: run where they are allowed, told of where not, and never a fork's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import CommandLine
from git_repositories import GitRepository, skill
from github_job import Job
from github_stand_in import GitHubStandIn
from pull_requests import on_branch
from skill_delta.runners.sandbox import Sandbox, find_sandbox
from skill_delta.wiring import grounds

CASES = """\
cases:
  - name: sums up
    task: Sum up the sales.
    workspace: {files: {sales.csv: "120\\n80\\n"}}
    assertions:
      - {kind: equals, file: sum.txt, value: "200"}
    trajectory: {called: [run_script]}
"""
REPLIES = """\
replies:
  - text: Done.
    tool_calls: [{name: run_script, arguments: {path: scripts/sum.py}}]
"""
SUM = """\
import pathlib
rows = pathlib.Path("sales.csv").read_text().split()
pathlib.Path("sum.txt").write_text(str(sum(map(int, rows))))
"""
BROKEN = SUM.replace("sum(map(int, rows))", "0")
SCRIPTED = ("run", "sums", "--runner", "scripted")

SKILL = {
    "sums/SKILL.md": skill("Run scripts/sum.py.", version="1.0.0", name="sums"),
    "sums/scripts/sum.py": SUM,
    "sums/evals/cases.yaml": CASES,
    "sums/evals/replies.yaml": REPLIES,
}


@pytest.fixture
def sums(repository: GitRepository) -> GitRepository:
    """A skill that does its sums with a script."""
    repository.commit(SKILL)
    return repository


def test_a_script_runs_where_it_is_allowed(sums: GitRepository, skill_delta: CommandLine) -> None:
    """Each arm its own version's; the report says how it was held."""
    sums.commit({"sums/SKILL.md": skill("Run it.", version="2.0.0", name="sums")})
    sums.write({"sums/scripts/sum.py": BROKEN})

    ran = skill_delta(
        *SCRIPTED, "--allow-scripts", "--baseline", "previous", "--json-output", "report.json"
    )

    assert "candidate 0/1  baseline 1/1" in ran.out
    report = json.loads((skill_delta.folder / "report.json").read_text())
    applied = "bubblewrap sandbox" if find_sandbox("auto").bwrap else "without a sandbox ("
    assert any(applied in note for note in report["notes"])
    assert report["environment"]["runner_versions"]["scripted"].endswith("with scripts")


def test_without_leave_nothing_runs_and_the_report_says_so(
    sums: GitRepository, skill_delta: CommandLine
) -> None:
    """The tool is not there to be called."""
    ran = skill_delta(*SCRIPTED, "--json-output", "report.json")

    report = json.loads((skill_delta.folder / "report.json").read_text())
    (call,) = report["outcomes"][0]["transcript"]["tool_calls"]
    assert ran.exit_code == 1
    assert call["answer"].startswith('Error: there is no tool named "run_script"')
    assert "sums: it ships 1 script, and run_script was off (allow-scripts)" in report["notes"]


def test_a_sandbox_that_is_required_and_not_there_ends_the_run(
    sums: GitRepository, skill_delta: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is spent, with the reason."""
    monkeypatch.setattr(grounds, "find_sandbox", lambda _: Sandbox(None, "it does not work here"))

    ran = skill_delta(*SCRIPTED, "--allow-scripts", "--script-sandbox", "required")

    assert ran.exit_code == 2
    assert "script-sandbox is required, and there is none: it does not work here" in ran.err
    assert ran.out == ""


def test_a_missing_interpreter_ends_the_run(
    sums: GitRepository, skill_delta: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would fail every trial of both arms."""
    monkeypatch.setattr(grounds, "interpreter_of", lambda _: None)

    ran = skill_delta(*SCRIPTED, "--allow-scripts")

    assert ran.exit_code == 2
    assert "skill 'sums': scripts/sum.py needs python3" in ran.err


def test_a_sandbox_for_no_scripts_is_refused(sums: GitRepository, skill_delta: CommandLine) -> None:
    """As any flag that nothing reads."""
    ran = skill_delta(*SCRIPTED, "--script-sandbox", "required")

    assert ran.exit_code == 2
    assert "no script runs without allow-scripts" in ran.err


def test_kept_folders_are_told_of(sums: GitRepository, skill_delta: CommandLine) -> None:
    """On standard error, with what is in them."""
    ran = skill_delta(*SCRIPTED, "--allow-scripts", "--keep-workspace")

    (said,) = (line for line in ran.err.splitlines() if line.startswith("working folders are in "))
    folder = Path(said.removeprefix("working folders are in "))
    (kept,) = folder.iterdir()
    assert (kept / "sum.txt").read_text() == "200"
    assert kept.name.startswith("sums.sums-up.candidate.scripted.0.")
    shutil.rmtree(folder)


@pytest.fixture
def job(
    sums: GitRepository,
    github: GitHubStandIn,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Job:
    """A job on the repository, with a pull request that edits the skill."""
    monkeypatch.delenv("SKILL_DELTA_API_KEY", raising=False)
    return Job(sums, github, tmp_path / "runner", capsys, monkeypatch)


def edited(repository: GitRepository) -> str:
    """A pull request, checked out as GitHub's merge commit. Gives its head."""
    on_branch(repository, "topic")
    head = repository.commit({"sums/SKILL.md": skill("Do it.", version="1.1.0", name="sums")})
    repository.git("switch", "--quiet", "--detach", "main")
    repository.merge("topic")
    return head


REFUSED = "allow-scripts was not followed"


def test_the_action_runs_scripts_where_the_workflow_allows_it(
    job: Job, github: GitHubStandIn
) -> None:
    """Of a branch of the repository's own."""
    finished = job.pull_request(edited(job.checkout), runner="scripted", allow_scripts="true")

    assert finished.exit_code == 0
    assert finished.outputs["pass-rate"] == "1"
    assert REFUSED not in finished.summary


@pytest.mark.parametrize("by_hand", [False, True], ids=["a fork's", "named by hand"])
def test_a_pull_request_of_anyone_runs_nothing(
    job: Job, github: GitHubStandIn, by_hand: bool
) -> None:
    """Whatever the workflow allows: its head is data."""
    head = edited(job.checkout)
    if by_hand:
        github.repository.open_pull_request(7, head)
        finished = job.dispatch(runner="scripted", allow_scripts="true", pull_request="7")
    else:
        finished = job.pull_request(head, fork=True, runner="scripted", allow_scripts="true")

    assert finished.outputs["pass-rate"] == "0"
    assert REFUSED in finished.summary


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for the run's, that everyone may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs scripts as someone else")
def test_a_folder_that_scripts_cannot_enter_ends_the_run(
    sums: GitRepository, skill_delta: CommandLine, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every one of them would fail, in both arms."""
    temporary.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    ran = skill_delta(*SCRIPTED, "--allow-scripts", "--script-sandbox", "off")

    assert ran.exit_code == 2
    assert f"who cannot enter {temporary}" in ran.err


@pytest.mark.parametrize("sandbox", ["auto", "off"])
def test_a_killed_run_takes_its_scripts_with_it(
    sums: GitRepository, temporary: Path, sandbox: str
) -> None:
    """Nothing of a skill runs on when nobody waits for it."""
    sums.write({"sums/scripts/sum.py": "import time\nopen('begun', 'w')\ntime.sleep(60)\n"})
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "skill_delta", *SCRIPTED, "--allow-scripts"]
    with subprocess.Popen(
        [*command, "--script-sandbox", sandbox],
        cwd=sums.folder,
        env={**os.environ, "TMPDIR": str(temporary)},
        stderr=quiet,
        stdout=quiet,
    ) as running:
        while not [*temporary.glob("skill-delta-trials-*/*/work/begun")]:
            assert running.poll() is None
            time.sleep(0.05)
        assert _of(temporary)
        running.send_signal(signal.SIGKILL)

    patience = time.monotonic() + 20
    while _of(temporary) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not _of(temporary)


def _of(temporary: Path) -> list[str]:
    """The processes that work below a folder."""
    return [
        process.name
        for process in Path("/proc").glob("[0-9]*")
        if str(temporary) in _folder_of(process)
    ]


def _folder_of(process: Path) -> str:
    try:
        return str((process / "cwd").readlink())
    except OSError:
        return ""
