"""Working folders from an eval file to a report, and again from its record."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from command_line import CommandLine

EXAMPLE = Path(__file__).parents[2] / "examples" / "sales-report"
EVALS = (EXAMPLE / "evals" / "report.yaml").read_text()
RUN = ("run", "sales-report", "--runner", "scripted", "--baseline", "none")


@pytest.fixture
def example(skill_delta: CommandLine) -> Path:
    """The example's skill in the shell's folder."""
    return Path(shutil.copytree(EXAMPLE, skill_delta.folder / "sales-report"))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made: a place of the test's own."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_the_example_runs(example: Path, skill_delta: CommandLine, temporary: Path) -> None:
    """With the skill both cases pass, without it neither; and nothing is left behind."""
    ran = skill_delta(*RUN)

    assert "candidate 1/1  baseline 0/1" in ran.out
    assert ran.exit_code == 0
    assert not [*temporary.iterdir()]


def test_a_record_is_judged_again_without_the_folders(
    example: Path, skill_delta: CommandLine
) -> None:
    """By what it holds of the files; a check that asks for more says nothing."""
    ran = skill_delta(*RUN, "--record", "run.jsonl")
    again = skill_delta("report", "run.jsonl", "--regrade")
    evals = example / "evals" / "report.yaml"
    evals.write_text(EVALS.replace("Total: 200$", "Total: 999$"))
    stricter = skill_delta("report", "run.jsonl", "--regrade", "--evals", evals)
    evals.write_text(EVALS.replace("file: report.md", "file: other.md"))
    missing = skill_delta("report", "run.jsonl", "--regrade", "--evals", evals)

    assert again.out == ran.out
    assert "expected a match of regex" in stricter.out
    assert "there is no file other.md" in missing.out


def test_a_killed_run_is_tidied_up_by_the_next(example: Path, tmp_path: Path) -> None:
    """Its folders are gone then, as if it had ended by itself."""
    (example / "evals" / "report.yaml").write_text(
        "cases: [{name: a, task: t, workspace: {}, tools: [{name: slow, delay_ms: 60000}]}]"
    )
    (example / "evals" / "replies.yaml").write_text(
        "replies: [{text: a, tool_calls: [{name: slow}]}]"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "skill_delta", "run", str(example), "--runner", "scripted"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as running:
        while not [*temporary.glob("skill-delta-trials-*/*/work")]:
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    (left,) = temporary.glob("skill-delta-trials-*")
    os.utime(left, (0, 0))

    (example / "evals" / "replies.yaml").write_text("replies: [{text: a}]")
    subprocess.run(command, env=environment, check=True, capture_output=True)

    assert not [*temporary.glob("skill-delta-trials-*")]


def test_an_interrupted_run_leaves_no_folder(example: Path, tmp_path: Path) -> None:
    """The first Ctrl-C is enough."""
    (example / "evals" / "report.yaml").write_text(
        "cases: [{name: a, task: t, workspace: {}, tools: [{name: slow, delay_ms: 60000}]}]"
    )
    (example / "evals" / "replies.yaml").write_text(
        "replies: [{text: a, tool_calls: [{name: slow}]}]"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-m", "skill_delta", "run", str(example), "--runner", "scripted"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stderr=quiet, stdout=quiet) as running:
        while not [*temporary.glob("skill-delta-trials-*/*/work")]:
            assert running.poll() is None
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)

    assert running.returncode == 3
    assert not [*temporary.glob("skill-delta-trials-*")]


def test_a_report_says_which_file_is_wrong(example: Path, skill_delta: CommandLine) -> None:
    """The evidence names the file, and what is there in its place."""
    skill_delta(*RUN, "--json-output", "report.json")
    report = json.loads((skill_delta.folder / "report.json").read_text())
    evidence = [c["evidence"] for o in report["outcomes"] for c in o["checks"] if not c["passed"]]

    assert "there is no file report.md; the working folder holds sales.csv" in evidence
