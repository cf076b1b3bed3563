"""A run that was killed goes on where it was, and comes to the same report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from command_line import CommandLine

SKILL = "---\nname: greeter\ndescription: Greets.\n---\nGreet people by name.\n"
CASES = "cases:\n" + "".join(
    f"  - name: greets {name}\n    task: Greet {name}.\n"
    f"    assertions: [{{kind: contains, value: {name}}}]\n"
    for name in ("Ada", "Bob", "Cy")
)
# Worse than before by a little: the adaptive run takes every look there is.
REPLIES = """
replies:
  - {arm: candidate, case: greets Ada, repetition: [1, 4, 7], text: nobody}
  - {arm: candidate, case: greets Bob, repetition: [2, 5], text: nobody}
  - {arm: baseline, case: greets Cy, repetition: [3], text: nobody}
  - {text: "Hello, Ada, Bob and Cy!", usage: {input_tokens: 7, output_tokens: 3}, cost_usd: 0.001}
"""
FLAGS = (
    *("--runner", "scripted", "--baseline", "none", "--min-delta", "0", "--min-pass-rate", "0"),
    *("--gate", "interval", "--repeat", "3", "--adaptive", "confirm", "--max-repeat", "9"),
)


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "evals" / "cases.yaml").write_text(CASES)
    (folder / "evals" / "replies.yaml").write_text(REPLIES)
    return folder


def report(path: Path) -> Any:
    """The report without the times, which differ."""
    found = json.loads(path.read_text())
    return {key: value for key, value in found.items() if not key.endswith("_at")}


def test_a_run_killed_anywhere_and_resumed_is_the_run_that_was_not(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Twenty random places at which the record breaks off, half a line included."""
    whole, once = tmp_path / "whole.jsonl", tmp_path / "whole.json"
    finished = skill_delta("run", skill, *FLAGS, "--record", whole, "--json-output", once)
    data, rng = whole.read_bytes(), Random(4)
    assert "3 of 3 planned looks" in finished.out

    for number in range(20):
        record, output = tmp_path / f"{number}.jsonl", tmp_path / f"{number}.json"
        record.write_bytes(data[: rng.randrange(len(data))])
        resumed = skill_delta("run", skill, *FLAGS, "--resume", record, "--json-output", output)

        assert resumed.exit_code == finished.exit_code
        assert resumed.out == finished.out
        assert report(output) == report(once)


def test_a_process_killed_in_its_run_loses_no_answer(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Every line that it came to is there, and none of them runs again."""
    record, output = tmp_path / "run.jsonl", tmp_path / "report.json"
    command = (sys.executable, "-m", "skill_delta", "run", str(skill), *FLAGS)
    process = subprocess.Popen(
        [*command, "--record", str(record), "--concurrency", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not (record.exists() and b'"trial"' in record.read_bytes()):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = record.read_bytes().count(b'"line": "trial"')

    resumed = skill_delta("run", skill, *FLAGS, "--resume", record, "--json-output", output)

    assert before > 0
    assert len(report(output)["outcomes"]) == 54
    assert resumed.exit_code == 0


def test_a_record_is_rendered_again_word_for_word(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """On the console and in every format, also with the checks run again."""
    record = tmp_path / "run.jsonl"
    outputs = {name: tmp_path / f"a.{name}" for name in ("json", "junit", "markdown")}
    again = {name: tmp_path / f"b.{name}" for name in outputs}
    flags = [part for name, path in outputs.items() for part in (f"--{name}-output", path)]
    flags_again = [part for name, path in again.items() for part in (f"--{name}-output", path)]
    ran = skill_delta("run", skill, *FLAGS, "--record", record, *flags)

    rendered = skill_delta("report", record, *flags_again)
    regraded = skill_delta("report", record, "--regrade")

    assert (rendered.exit_code, rendered.out) == (ran.exit_code, ran.out)
    assert regraded.out == ran.out
    assert all(again[name].read_text() == path.read_text() for name, path in outputs.items())


def test_checks_that_were_put_right_are_run_over_the_old_answers(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """No model is asked. By these checks the run would have ended after its first look."""
    record, evals = tmp_path / "run.jsonl", tmp_path / "better.yaml"
    skill_delta("run", skill, *FLAGS, "--record", record)
    evals.write_text(CASES.replace("contains, value: Ada", "not_contains, value: Ada"))

    regraded = skill_delta("report", record, "--regrade", "--evals", evals)

    assert "greets Ada (scripted)  candidate 1/3  baseline 0/3" in regraded.out
    assert skill_delta("report", record, "--evals", evals).exit_code == 2


def test_what_was_lost_runs_again_and_stays_on_the_bill(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """An errored trial was paid for, and says nothing."""
    record, output = tmp_path / "run.jsonl", tmp_path / "report.json"
    replies = skill / "evals" / "replies.yaml"
    failing = '  - {case: greets Cy, error: "503", usage: {input_tokens: 5, output_tokens: 0}}\n'
    replies.write_text(REPLIES.replace("replies:\n", "replies:\n" + failing))
    skill_delta("run", skill, *FLAGS, "--record", record)
    replies.write_text(REPLIES)

    skill_delta("run", skill, *FLAGS, "--resume", record, "--json-output", output)

    summary = report(output)["summary"]
    assert summary["errored"] == 0
    assert summary["tokens"] >= sum(
        outcome["usage"]["input_tokens"] + outcome["usage"]["output_tokens"]
        for outcome in report(output)["outcomes"]
    )


def test_what_changed_since_runs_again(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """An answer to another skill, or judged by another case, is none to this one."""
    record = tmp_path / "run.jsonl"
    skill_delta("run", skill, *FLAGS, "--record", record)
    cases = skill / "evals" / "cases.yaml"
    cases.write_text(CASES.replace("task: Greet Ada.", "task: Greet Ada kindly."))

    resumed = skill_delta("run", skill, *FLAGS, "--resume", record)

    assert "18 recorded trials could not be used" in resumed.out


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "holds no run"),
        (b"hello\n", "no line of a run record"),
        (b'{"line": "trial"}\n', "no line of a run record"),
        (b'{"line": "run", "record_version": 2}\n', "newer skill-delta"),
        (b'{"a":' * 100_000 + b"\n", "nests too deeply"),
    ],
)
def test_what_is_no_record_is_refused(
    content: bytes, problem: str, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """In one line, with its place."""
    record = tmp_path / "run.jsonl"
    record.write_bytes(content)

    refused = skill_delta("report", record)

    assert refused.exit_code == 2
    assert problem in refused.all
    assert "Traceback" not in refused.all


def test_a_record_is_never_overwritten(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """What was paid for may be in it."""
    record = tmp_path / "run.jsonl"
    skill_delta("run", skill, *FLAGS, "--record", record)
    before = record.read_bytes()

    again = skill_delta("run", skill, *FLAGS, "--record", record)
    missing = skill_delta("run", skill, *FLAGS, "--resume", tmp_path / "no.jsonl")

    assert (again.exit_code, missing.exit_code) == (2, 2)
    assert "--resume" in again.all
    assert record.read_bytes() == before


def test_a_link_or_a_pipe_is_no_place_for_a_record(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """A repository may have put it there."""
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "link.jsonl"
    link.symlink_to(elsewhere)

    refused = skill_delta("run", skill, *FLAGS, "--record", link)

    assert refused.exit_code == 2
    assert not elsewhere.exists()
