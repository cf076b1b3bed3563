"""The formats that are written to files, and what it costs to know their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from report_stories import STORIES
from skill_delta.render import RENDERERS


@pytest.mark.parametrize("name", RENDERERS)
def test_every_format_tells_every_story_and_ends_its_last_line(name: str) -> None:
    """No run is too odd to be reported."""
    for report in STORIES.values():
        text = RENDERERS[name](report)
        text.encode()

        assert text.endswith("\n")
        assert not text.endswith("\n\n")


@pytest.mark.parametrize("name", RENDERERS)
def test_a_report_is_a_function_of_the_run_alone(name: str) -> None:
    """The same run is the same file, byte for byte."""
    assert RENDERERS[name](STORIES["regressed"]) == RENDERERS[name](STORIES["regressed"])


def test_names_of_formats_cost_nothing() -> None:
    """`--help` lists them, and imports no template engine for it."""
    code = (
        "import sys, skill_delta.render;"
        "print(sorted({'jinja2', 'pydantic', 'xml.etree.ElementTree'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == "[]"
