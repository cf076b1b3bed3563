"""A pull request that changes no skill, checked by the action: what nearly every one costs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.processes import PYTHON, measure, median, taking_turns
from bench.repositories import git
from bench.suites import write_skill
from bench.table import Row, seconds

_FILES = 1_000
_TIMES = 9


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        checkout = Path(name) / "checkout"
        head = _check_out(checkout)
        environment = _job(Path(name), checkout, head)
        action = [PYTHON, "-m", "skill_delta.action"]
        measure(action, checkout, environment)  # leaves the bytecode behind
        ours, bare = taking_turns(
            _TIMES,
            lambda: measure(action, checkout, environment),
            lambda: measure([PYTHON, "-c", "pass"]),
        )
    cpu, bare_cpu = median(cost.cpu for cost in ours), median(cost.cpu for cost in bare)
    yield Row(
        f"no skill changed, {_FILES:,} files: the action, CPU above bare Python",
        seconds(cpu),
        f"{seconds(bare_cpu)} `python -c pass`",
        cpu - bare_cpu,
        "s",
        0.25,
    )


def _check_out(checkout: Path) -> str:
    """Make what actions/checkout leaves: the merge commit. Gives the pull request's head."""
    for number in range(_FILES):
        path = checkout / f"src/package_{number // 25:02}/module_{number % 25:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"EDITION = {number}\n")
    write_skill(checkout / "skills", cases=5)
    git(checkout, "init", "--quiet", "--initial-branch=main")
    _commit_all(checkout)
    git(checkout, "switch", "--quiet", "--create", "work")
    path.write_text("EDITION = 0\n")
    _commit_all(checkout)
    head = git(checkout, "rev-parse", "HEAD")
    git(checkout, "switch", "--quiet", "--detach", "main")
    git(checkout, *_ADA, "merge", "--quiet", "--no-ff", "--message=merge", "work")
    return head


_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def _commit_all(checkout: Path) -> None:
    git(checkout, "add", "--all")
    git(checkout, *_ADA, "commit", "--quiet", "--message=edit")


def _job(folder: Path, checkout: Path, head: str) -> Mapping[str, str]:
    """The variables that GitHub sets. Without an earlier comment nothing is sent to it."""
    repository = {"id": 1, "default_branch": "main"}
    described = {
        "number": 1,
        "head": {"sha": head, "repo": repository},
        "base": {"ref": "main", "repo": repository},
        "comments": 0,
    }
    event = folder / "event.json"
    event.write_text(json.dumps({"pull_request": described, "repository": repository}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "octocat",
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_GRAPHQL_URL": "http://127.0.0.1:9",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_REPOSITORY": "octocat/skills",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_SHA": git(checkout, "rev-parse", "HEAD"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_WORKSPACE": str(checkout),
    }
