"""The scene of the tests of publishing: a run without write access has measured a pull request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from git_repositories import GitRepository, skill
from github_job import Finished, Job
from github_stand_in import GitHubStandIn
from pull_requests import merged_by_github, on_branch

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
"""A record's, as JSON."""


def trials(lines: Lines) -> Lines:
    return [line for line in lines if line["line"] == "trial"]


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

    @property
    def words(self) -> str:
        """The one comment without what keeps its text from acting."""
        (comment,) = self.comments
        return re.sub("\\\\|\u200b", "", comment)


Measure = Callable[..., Measured]


@dataclass
class ReadOnlyRuns:
    """Measures pull requests of a repository with one skill, whose token only reads."""

    repository: GitRepository
    job: Job
    github: GitHubStandIn
    workspace: Path
    cases: str = CASES
    replies: str = REPLIES

    def __post_init__(self) -> None:
        self.repository.commit(
            {
                "skills/orders/SKILL.md": skill(KIND, version="1.0.0", name="orders"),
                "skills/orders/evals/orders.yaml": self.cases,
                "skills/orders/evals/replies.yaml": self.replies,
            }
        )

    def measured(self, body: str = CURT, *, merged: bool = True, **inputs: Any) -> Measured:
        """A pull request that gives the skill this text. `merged`: as GitHub checks it out."""
        repository, github = self.repository, self.github
        on_branch(repository, "topic", "main")
        edited = skill(body, version="1.1.0", name="orders")
        head = repository.commit({"skills/orders/SKILL.md": edited})
        if merged:
            merge = merged_by_github(repository)
            github.repository.git.parents[merge] = [repository.git("rev-parse", "main"), head]
        github.permissions = {"contents": "read"}
        self.job.pull_request(head, runner="scripted", **inputs)
        github.permissions = {"contents": "read", "pull_requests": "write", "statuses": "write"}
        assert not github.repository.comments
        scene = Measured(self.job, github, head, self.workspace)
        scene.record.parent.mkdir(parents=True)
        kept = repository.folder / ".skill-delta" / "record.jsonl"
        scene.record.write_bytes(kept.read_bytes())
        return scene
