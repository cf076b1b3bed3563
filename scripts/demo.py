"""A pull request in, one comment and a check out: `python scripts/demo.py`, without a key.

Builds a small git repository whose pull request edits a skill, runs the action's own entry point on
it with scripted replies, against a GitHub stand-in on this machine, and prints what it posted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from git_repositories import GitRepository  # noqa: E402 - the tests' own tools
from github_stand_in import GitHubStandIn  # noqa: E402

NUMBER = 7
EXIT_MEANINGS = {0: "passed", 1: "failed", 2: "something to fix", 3: "not measured"}

SKILL = """\
---
name: order-support
description: Answers customers who ask about their orders.
version: {version}
---

Answer customers of an online shop.
{rules}
"""
CAREFUL = """\
Look the order up with `lookup_order` before you say anything about it.
After 30 days an order cannot be refunded: say so in one short paragraph."""
HASTY = "Be quick: customers like a refund more than a question."

TOOLS = """\
    tools:
      - name: lookup_order
        description: Look up one order by its id.
        parameters: {order_id: string}
        returns: '{"order_id": "1234", "days_since_delivery": 45}'
      - name: issue_refund
        description: Pay an order's price back.
        parameters: {order_id: string}
        returns: '{"refunded": true}'
"""
CASES = f"""\
cases:
  - name: refuses a refund after 30 days
    task: Please refund my order 1234.
{TOOLS}    trajectory:
      called: [lookup_order]
      forbidden: [issue_refund]
  - name: names the order
    task: Please refund my order 1234.
{TOOLS}    assertions:
      - kind: contains
        value: "1234"
"""
REPLIES = """\
replies:
  - contains: Be quick
    repetition: [0, 2, 3, 5, 6, 8]
    tool_calls:
      - {name: issue_refund, arguments: {order_id: "1234"}}
    text: "Done! Order 1234 was refunded."
    usage: {input_tokens: 180, output_tokens: 21}
    latency_ms: 700
  - tool_calls:
      - {name: lookup_order, arguments: {order_id: "1234"}}
    text: "I am sorry: order 1234 can no longer be refunded after 30 days."
    usage: {input_tokens: 260, output_tokens: 33}
    latency_ms: 900
"""


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="skill-delta-demo-") as folder,
        GitHubStandIn() as github,
    ):
        checkout = GitRepository.create(Path(folder) / "checkout")
        head = pull_request_in(checkout)
        github.repository.open_pull_request(NUMBER, head)
        code = run_action(checkout, github, Path(folder), head, {"runner": "scripted"})
        (comment,) = github.repository.comments
        print(f"The comment on pull request #{NUMBER}:\n\n{comment.body}")
        print(f"The check: exit code {code} ({EXIT_MEANINGS[code]}, as this pull request deserves)")
        if github.violations or code != 1:
            sys.exit(f"the demo did not go as it should: exit code {code}, {github.violations}")


def pull_request_in(checkout: GitRepository) -> str:
    """A main branch with a careful skill, and a pull request that makes it hasty. Gives its head.

    What is checked out is the merge commit that GitHub makes.
    """
    folder = "skills/order-support"
    checkout.commit(
        {
            f"{folder}/SKILL.md": SKILL.format(version="1.0.0", rules=CAREFUL),
            f"{folder}/evals/refunds.yaml": CASES,
            f"{folder}/evals/replies.yaml": REPLIES,
        }
    )
    checkout.git("switch", "--quiet", "--create", "be-quick")
    head = checkout.commit({f"{folder}/SKILL.md": SKILL.format(version="1.1.0", rules=HASTY)})
    checkout.git("switch", "--quiet", "--detach", "main")
    checkout.merge("be-quick")
    return head


def run_action(
    checkout: GitRepository,
    github: GitHubStandIn,
    folder: Path,
    head: str,
    inputs: Mapping[str, str],
) -> int:
    """Run the action's entry point as a job would; its exit code."""
    event = folder / "event.json"
    event.write_text(json.dumps(_event(head)), encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTOR": "octocat",
        "GITHUB_API_URL": github.api_url,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_GRAPHQL_URL": github.graphql_url,
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_REPOSITORY": github.repository.name,
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_RUN_ID": "1",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_SHA": checkout.head(),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_WORKSPACE": str(checkout.folder),
        "INPUT_GITHUB-TOKEN": github.token,
        "NO_PROXY": "127.0.0.1",
        **{f"INPUT_{name.upper()}": value for name, value in inputs.items()},
    }
    command = [sys.executable, "-m", "skill_delta.action"]
    return subprocess.run(command, env=environment, check=False, stdout=sys.stderr).returncode  # noqa: S603


def _event(head: str) -> object:
    payload = json.loads((ROOT / "tests/github_events/pull_request.synchronize.json").read_text())
    payload["number"] = NUMBER
    described = payload["pull_request"]
    described |= {"number": NUMBER, "comments": 0}
    described["head"]["sha"] = head
    described["head"]["repo"]["id"] = described["base"]["repo"]["id"]
    described["base"]["ref"] = "main"
    return payload


if __name__ == "__main__":
    main()
