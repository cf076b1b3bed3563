"""What the documents promise, the program does: flags, settings, help, docs, examples."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import CommandLine
from skill_delta.core.documents import read_document
from skill_delta.errors import ExitCode
from skill_delta.providers.scripted import read_replies
from skill_delta.settings import RUN, RUNNERS, Settings, settle

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")

CONFIG_ONLY = {"--per-skill"}
FLAG_ONLY = {"--config"}


def flags_of_settings() -> set[str]:
    return {f"--{name.replace('_', '-')}" for name in RUN.fields}


def flags_of_docs() -> set[str]:
    rows = re.findall(r"^\| (`--.*?) \|", COMMAND_LINE, re.MULTILINE)
    return {flag for row in rows for flag in re.findall(r"`(--[a-z-]+)`", row)}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_help_lists_the_settings(skill_delta: CommandLine) -> None:
    """A flag exists for each setting, and for nothing else."""
    helped = set(re.findall(r"(--[a-z-]+)", skill_delta("run", "--help").out))
    helped -= {"--help", "--no-fail-on-error"}

    assert helped - FLAG_ONLY == flags_of_settings() - CONFIG_ONLY


def test_the_docs_list_the_settings() -> None:
    """And so does the table."""
    assert flags_of_docs() - FLAG_ONLY - {"--no-fail-on-error"} == flags_of_settings() - CONFIG_ONLY


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


@pytest.mark.parametrize("block", blocks(COMMAND_LINE, "yaml"), ids=lambda b: b.split("\n")[0])
def test_the_yaml_in_the_docs_is_read(block: str) -> None:
    """Examples are copied: they must work."""
    if block.startswith("# .github"):
        settle({}, read_document(block.encode(), "docs"))
    else:
        assert read_replies(block.encode(), "docs")


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
