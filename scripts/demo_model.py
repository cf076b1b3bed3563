"""The demo with a real model: `python scripts/demo_model.py FOLDER`, or `make demo-model`.

A pull request adds "Always answer in Spanish." to a skill. The action's own entry point measures it
with SmolLM2 135M on this machine, against a GitHub stand-in, and this prints what it posted. FOLDER
holds what `requirements/model.txt` names. Where this machine cannot run the model, it says why and
ends with 0. Where it can, the edit has to gain at least 50 points.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from demo import EXIT_MEANINGS, NUMBER, run_action  # first: it shows the way to the tests' tools
from local_model import obstacle, served

from git_repositories import GitRepository
from github_stand_in import GitHubStandIn

SKILL = """\
---
name: travel-greeter
description: Welcomes travellers at the front desk and answers their questions.
version: {version}
---

Greet the traveller. Answer briefly.
"""
EDIT = "\nAlways answer in Spanish.\n"

TASKS = {
    "welcomes an arrival": "I have just arrived at the hotel. Good morning!",
    "says where to change money": "Where can I change money?",
    "shows the way to the station": "How do I get to the train station?",
    "suggests sights": "What should I see in the old town?",
    "knows the way to the beach": "Is the beach far from here?",
    "suggests a restaurant": "Where can I eat well tonight?",
    "tells about the weather": "What is the weather like in May?",
    "helps with a lost suitcase": "I have lost my suitcase. What should I do?",
    "recommends a museum": "Can you recommend a museum?",
    "answers a guest who writes in Spanish": "Buenos días. ¿Dónde puedo desayunar?",
    "tells a taxi's price": "How much does a taxi to the airport cost?",
    "says goodbye": "Please wish me a good journey home.",
}

SPANISH = (
    "al buen buena buenas buenos bueno de del el en es esta este está gracias hola la las lo los "
    "muy más para por puede puedo que se su un una usted y"
)
ENGLISH = "and are can for from have in is it of our that the this to we with you your"

POINTS_TO_GAIN = 50

INPUTS = {
    "runner": "openai",
    "model": "smollm2",
    "repeat": "1",  # the model is greedy: it would say the same again
    "concurrency": "1",
    "min-delta": str(POINTS_TO_GAIN / 100),
    "max-time": "600",
}


def main(arguments: Sequence[str]) -> None:
    reason = obstacle()
    if reason:
        print(f"SKIPPED the demo with a real model: {reason}")
        return
    if len(arguments) != 1:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="skill-delta-demo-") as folder:
        demonstrate(Path(arguments[0]), Path(folder))


def demonstrate(installed: Path, folder: Path) -> None:
    """Print the comment, the check and the gain; end the process where it gained too little."""
    begun = time.monotonic()
    checkout = GitRepository.create(folder / "checkout")
    with GitHubStandIn() as github:
        code = measure(checkout, github, installed, folder)
    seconds = time.monotonic() - begun
    comments = [comment.body for comment in github.repository.comments]
    print(f"The comment on pull request #{NUMBER}:", *comments, sep="\n\n")
    print(f"The check: exit code {code} ({EXIT_MEANINGS.get(code, 'a bug')})")
    report = checkout.folder / ".skill-delta/report.json"
    if not report.is_file():
        sys.exit("the demo did not go as it should: the action wrote no report")
    before, after = passed(report)
    points = 100 * (after - before) / len(TASKS)
    print(
        f"SmolLM2 answered in Spanish in {before} of {len(TASKS)} cases before the edit and in "
        f"{after} after it: {points:+.0f} points, in {seconds:.0f} s"
    )
    if code or points < POINTS_TO_GAIN or len(comments) != 1 or github.violations:
        sys.exit(f"the demo did not go as it should: {github.violations or 'see above'}")


def measure(checkout: GitRepository, github: GitHubStandIn, installed: Path, folder: Path) -> int:
    """Run the action on the pull request while the model is served; its exit code."""
    head = pull_request_in(checkout)
    github.repository.open_pull_request(NUMBER, head)
    print("Starting SmolLM2 135M on this machine", flush=True)
    with served(installed, folder / "server.log") as url:
        print(f"Asking it {len(TASKS)} questions, before and after the edit", flush=True)
        return run_action(checkout, github, folder, head, {**INPUTS, "base-url": url})


def pull_request_in(checkout: GitRepository) -> str:
    """A main branch with the skill, and a pull request with the edit, checked out as merged.

    Gives the pull request's head.
    """
    skill = "skills/travel-greeter/SKILL.md"
    checkout.commit(
        {skill: SKILL.format(version="1.0.0"), "skills/travel-greeter/evals/language.yaml": cases()}
    )
    checkout.git("switch", "--quiet", "--create", "in-spanish")
    head = checkout.commit({skill: SKILL.format(version="1.1.0") + EDIT})
    checkout.git("switch", "--quiet", "--detach", "main")
    checkout.merge("in-spanish")
    return head


def cases() -> str:
    """The eval file. What is checked is the language alone: this model's Spanish is poor."""
    assertions = [
        {"kind": "regex", "value": two_of(SPANISH)},
        {"kind": "not_regex", "value": two_of(ENGLISH)},
    ]
    written = [
        {"name": name, "task": task, "assertions": assertions} for name, task in TASKS.items()
    ]
    return json.dumps({"cases": written}, ensure_ascii=False, indent=2)


def two_of(words: str) -> str:
    """A pattern that matches where two of the words are."""
    return rf"(?is)(?:\b(?:{'|'.join(words.split())})\b.*?){{2}}"


def passed(report: Path) -> tuple[int, int]:
    """How many cases passed before the edit, and after it, counted in the action's report."""
    outcomes = json.loads(report.read_text(encoding="utf-8"))["outcomes"]
    arms = Counter(outcome["arm"] for outcome in outcomes if outcome["status"] == "pass")
    return arms["baseline"], arms["candidate"]


if __name__ == "__main__":
    main(sys.argv[1:])
