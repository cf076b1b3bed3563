"""Two tools, one situation: how a test puts it to both."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from command_line import CommandLine
from conformance.measured import Both, Measured
from conformance.situation import Situation, Story
from git_repositories import GitRepository

VERSION = "0.25"
"""The skill-lens whose behaviour is the reference."""


@pytest.fixture
def skill_lens() -> None:
    """Asks for skill-lens; a test that does is skipped where there is none."""
    try:
        found = metadata.version("skill-lens")
    except metadata.PackageNotFoundError:
        pytest.skip("skill-lens is not installed: `pip install skill-lens==0.25.0` to compare")
    if not found.startswith(f"{VERSION}."):
        pytest.skip(f"skill-lens {found} is installed; {VERSION} is what we compare with")


@pytest.fixture
def both(
    skill_lens: None,
    repository: GitRepository,
    skill_delta: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> Both:
    """Puts a situation to both tools; its story is told on disk the first time only."""
    # Imported here: without skill-lens there is nothing to import.
    from conformance import by_skill_delta, by_skill_lens  # noqa: PLC0415

    told: set[Story] = set()

    def measure(situation: Situation) -> tuple[Measured, Measured]:
        if situation.story not in told:
            situation.story(repository)
            told.add(situation.story)
        folder: Path = repository.folder
        ours = by_skill_delta.measure(situation, folder, skill_delta)
        theirs = by_skill_lens.measure(situation, folder, monkeypatch)
        return ours, theirs

    return measure
