"""What the documents promise, the program does: flags, settings, help, docs, examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_line import CommandLine
from skill_delta.core.documents import read_document
from skill_delta.errors import ExitCode
from skill_delta.providers.scripted import read_judge_replies, read_replies
from skill_delta.settings.commands import (
    ACTION,
    COMMANDS,
    PUBLISH,
    PULL_REQUEST,
    RUN,
    SELFCHECK,
    Command,
)
from skill_delta.settings.model import RUNNERS, Settings
from skill_delta.settings.reading import settle

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")

ACTION_DOCS = (ROOT / "docs" / "action.md").read_text(encoding="utf-8")
METADATA: Any = read_document((ROOT / "action.yml").read_bytes(), "action.yml").value

CONFIG_ONLY = {"per_skill"}
OPPOSITES = {"--no-fail-on-error", "--no-allow-scripts", "--no-keep-workspace"}
"""The other halves of switches."""
OF_THE_ACTION = {
    *("api-key", "judge-api-key", "github-token", "comment-id", "status"),
    *("base", "config", "pull-request", "publish"),
}
"""Inputs that say where things are and how to tell; the others are settings."""

OF_PUBLISH = {"--config", "--comment-id", "--status"}
"""Flags that say so where a command has no inputs."""


def kebab(name: str) -> str:
    return name.replace("_", "-")


def flags_of(command: Command) -> set[str]:
    return {f"--{kebab(name)}" for name in command.fields if name not in CONFIG_ONLY}


def flags_in(section: str) -> set[str]:
    rows = re.findall(r"^\| (`--.*?) \|", section, re.MULTILINE)
    return {flag for row in rows for flag in re.findall(r"`(--[a-z-]+)`", row)}


def names_in(table: str) -> set[str]:
    rows = re.findall(r"^\| (`[a-z].*?) \|", table, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}


def section(document: str, heading: str) -> str:
    return document.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["run", "selfcheck", "pr", "publish"])
def test_the_help_lists_the_settings(name: str, skill_delta: CommandLine) -> None:
    """A flag exists for each setting of the command, and for nothing else."""
    helped = set(re.findall(r"(--[a-z-]+)", skill_delta(name, "--help").out))
    own = {
        "run": {"--config"},
        "selfcheck": {"--config"},
        "pr": {"--config", "--base", "--head"},
        "publish": OF_PUBLISH,
    }

    assert helped - {"--help"} - OPPOSITES == flags_of(COMMANDS[name]) | own[name]


def test_the_docs_list_the_settings() -> None:
    """And so do the tables: what `pr` adds to `run` stands in its own."""
    of_run = flags_in(section(COMMAND_LINE, "`run`")) - OPPOSITES
    of_pr = flags_in(section(COMMAND_LINE, "`pr`"))

    of_selfcheck = set(re.findall(r"`(--[a-z-]+)`", section(COMMAND_LINE, "`selfcheck`")))

    of_publish = set(re.findall(r"`(--[a-z-]+)`", section(COMMAND_LINE, "`publish`")))

    left_out = section(COMMAND_LINE, "`pr`").partition("but for")[2].partition("And it has:")[0]

    assert set(re.findall(r"`(--[a-z-]+)`", left_out)) == (
        flags_of(RUN) - flags_of(PULL_REQUEST) - {"--base"}
    )
    assert of_selfcheck == flags_of(SELFCHECK) | {"--config"}
    assert of_publish == flags_of(PUBLISH) | OF_PUBLISH
    assert of_run == flags_of(RUN) | {"--config"}
    assert of_pr == (flags_of(PULL_REQUEST) - flags_of(RUN)) | {"--config", "--base", "--head"}


def test_the_action_takes_the_settings() -> None:
    """`action.yml`, the documents and the program know the same inputs."""
    settings = {kebab(name) for name in ACTION.fields if name not in CONFIG_ONLY}

    assert set(METADATA["inputs"]) == settings | OF_THE_ACTION
    assert names_in(section(ACTION_DOCS, "Inputs")) >= settings | OF_THE_ACTION


def test_the_documents_list_the_actions_outputs() -> None:
    """What a later step can read."""
    outputs = set(METADATA["outputs"])

    assert names_in(section(ACTION_DOCS, "Outputs")) == outputs


def test_the_defaults_in_the_docs_are_the_programs() -> None:
    """What is said to happen without a flag does."""
    settings = Settings()
    rows = dict(re.findall(r"^\| `--([a-z-]+)`.*? \| (.*?) \|", COMMAND_LINE, re.MULTILINE))

    assert rows["runner"] == f"`{settings.runner[0]}`"
    for name in ("repeat", "min-pass-rate", "concurrency", "seed"):
        assert rows[name] == str(getattr(settings, name.replace("-", "_")))


def test_the_docs_name_every_runner() -> None:
    """One that exists and is not told of cannot be used."""
    assert all(f"`{runner}`" in COMMAND_LINE for runner in RUNNERS)


def test_the_readme_lists_every_exit_code() -> None:
    """CI decides by them."""
    assert [int(code) for code in re.findall(r"^\| (\d) \|", README, re.MULTILINE)] == [*ExitCode]


@pytest.mark.parametrize("block", blocks(ACTION_DOCS, "yaml"), ids=lambda b: b.split("\n")[0])
def test_the_workflow_in_the_docs_fits_the_action(block: str) -> None:
    """It is copied as it stands: its inputs must exist."""
    (job,) = yaml.safe_load(block)["jobs"].values()
    given = job["steps"][-1]["with"]

    assert {"model", "api-key"} <= set(given) <= set(METADATA["inputs"])


@pytest.mark.parametrize("workflow", sorted((ROOT / "examples" / "workflows").glob("*.yml")))
def test_the_example_workflows_fit_the_action(workflow: Path) -> None:
    """Every input that one gives is an input, and what it runs by hand is a command."""
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    ours = [step for step in job["steps"] if "skill-delta@" in step.get("uses", "")]

    assert all(set(step["with"]) <= set(METADATA["inputs"]) for step in ours)
    assert ours or "skill-delta selfcheck" in workflow.read_text()


def test_every_threat_is_answered_by_a_test_that_there_is() -> None:
    """A table of promises is worth what checks it."""
    security = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| (.*) \|$", section(security, "Threats and answers"), re.MULTILINE)
    named = [name for row in rows[2:] for name in re.findall("`(.*?)`", row)]
    tests = "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py")
    )

    assert all("`" in row for row in rows[2:])
    for name in named:
        is_there = (ROOT / name).is_file() if "/" in name else f"def {name}(" in tests
        assert is_there or name == "make check", name


@pytest.mark.parametrize("block", blocks(COMMAND_LINE, "yaml"), ids=lambda b: b.split("\n")[0])
def test_the_yaml_in_the_docs_is_read(block: str) -> None:
    """Examples are copied: they must work."""
    if block.startswith("# .github"):
        settle({}, read_document(block.encode(), "docs"))
    else:
        read = read_judge_replies if "\njudge:" in block else read_replies
        assert read(block.encode(), "docs")


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or (ROOT / ".git" / "shallow").exists(),
    reason="this checkout has no history, or not all of it",
)
def test_the_readme_shows_what_the_demo_prints(skill_delta: CommandLine) -> None:
    """Word for word, but for the commit's id."""
    skill_delta.folder = ROOT
    command = re.search(r"<!-- output of: skill-delta (.*?) -->\n```\n(.*?)```", README, re.DOTALL)
    assert command is not None

    printed = skill_delta(*command[1].split()).out

    assert without_ids(command[2]) == without_ids(printed)


def without_ids(text: str) -> str:
    return re.sub(r"commit [0-9a-f]{8}", "commit …", text)
