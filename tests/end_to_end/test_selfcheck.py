"""`selfcheck`: the candidate against itself, as a person runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from git_repositories import GitRepository

SKILL = """---
name: greeter
description: Greets people.
---
Greet the person by name.
"""

CASES = """
cases:
  - name: greets Ada
    task: Greet Ada.
    assertions: [{kind: contains, value: Ada}]
  - name: greets Bob
    task: Greet Bob.
    assertions: [{kind: contains, value: Bob}]
"""

STEADY = 'replies: [{text: "Hello, Ada and Bob!"}]'

WAVERING = """
replies:
  - {arm: baseline, text: nobody}
  - {case: greets Bob, repetition: [0, 2], text: nobody}
  - {text: "Hello, Ada and Bob!"}
"""


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "evals" / "cases.yaml").write_text(CASES)
    return folder


def replies(skill: Path, text: str) -> None:
    (skill / "evals" / "replies.yaml").write_text(text)


def test_a_steady_suite_has_no_noise(skill: Path, skill_delta: CommandLine) -> None:
    """Whatever is the same every time fails neither gate, and it says that this may be luck."""
    replies(skill, STEADY)

    finished = skill_delta("selfcheck", skill, "--runner", "scripted")

    assert finished.exit_code == 0
    assert "greeter (scripted): 2 cases x 3 repetitions per arm" in finished.out
    assert "the literal gate fails    0.0% of them" in finished.out
    assert "2 cases of 2 ended alike every time" in finished.out


def test_a_wavering_suite_would_fail_unchanged_skills_literally(
    skill: Path, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Both arms get the candidate's replies; the noise is measured, and the literal gate fails."""
    replies(skill, WAVERING)
    written = tmp_path / "report.json"

    finished = skill_delta(
        "selfcheck", skill, "--runner", "scripted", "--json-output", written, "--repeat", "4"
    )

    delta = json.loads(written.read_text())["delta"]
    assert finished.exit_code == 0
    assert (delta["pass_rate_candidate"], delta["pass_rate_baseline"]) == (0.75, 0.75)
    literal, interval = (
        float(line.split("fails")[1].split("%")[0])
        for line in finished.out.splitlines()
        if "gate fails" in line
    )
    assert interval < 8
    assert literal > 25


def test_a_flag_that_it_does_not_read_is_refused(skill: Path, skill_delta: CommandLine) -> None:
    """There is one baseline, and it is the skill itself."""
    replies(skill, STEADY)

    assert skill_delta("selfcheck", skill, "--baseline", "previous").exit_code == 2


def test_nothing_measured_is_not_a_floor(skill: Path, skill_delta: CommandLine) -> None:
    """An outage says nothing about the suite."""
    replies(skill, 'replies: [{error: "503 from the provider"}]')

    finished = skill_delta("selfcheck", skill, "--runner", "scripted")

    assert finished.exit_code == 3
    assert "nothing was measured" in finished.out


@pytest.mark.parametrize(
    "config",
    [
        "on-inconclusive: fail",
        "min-delta: {previous: 0, none: 0.1}",
        "adaptive: confirm\nmax-repeat: 50",
        "max-cases: 1",
        "suite: base\nnew-skills: fail",
    ],
)
def test_what_a_config_asks_of_pull_requests_is_not_asked_here(
    config: str, repository: GitRepository, skill_delta: CommandLine
) -> None:
    """Neither of the skill against itself, nor of a run."""
    repository.write(
        {
            "greeter/SKILL.md": SKILL,
            "greeter/evals/cases.yaml": CASES,
            "greeter/evals/replies.yaml": STEADY,
            ".github/skill-delta.yml": f"{config}\n",
        }
    )
    scripted = ("greeter", "--runner", "scripted")

    checked = skill_delta("selfcheck", *scripted)
    ran = skill_delta("run", *scripted, "--baseline", "none", "--repeat", "2")

    assert (checked.exit_code, checked.err) == (0, "")
    assert ran.exit_code in (0, 1)
