"""`docs/reports.md` shows what the reports really look like."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skill_delta.core.trials import Status
from skill_delta.render import RENDERERS
from skill_delta.render.document import ReportDocument

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")

EXAMPLES = re.findall(
    r"<!-- the same as (\S.*?) -->\n\n(`{3,})\w+\n(.*?)\n\2\n", DOCUMENT, re.DOTALL
)


@pytest.mark.parametrize(("snapshot", "fence", "shown"), EXAMPLES)
def test_an_example_is_what_a_test_saw(snapshot: str, fence: str, shown: str) -> None:
    """To renew it, copy the snapshot."""
    assert shown + "\n" == (ROOT / snapshot).read_text(encoding="utf-8")


def test_every_code_block_is_such_an_example() -> None:
    """Nothing in the document is made up."""
    assert len(re.findall(r"^`{3,}\w", DOCUMENT, re.MULTILINE)) == len(EXAMPLES) > 0


def test_every_format_has_its_flag_and_its_heading() -> None:
    """A format that nobody can find is no format."""
    for name in RENDERERS:
        assert f"--{name}-output PATH" in DOCUMENT
        assert re.search(f"^## {name}$", DOCUMENT, re.MULTILINE | re.IGNORECASE)


def test_every_key_of_the_json_report_is_named() -> None:
    """The schema has the details; the document has the map."""
    missing = [key for key in ReportDocument.__slots__ if f"`{key}`" not in DOCUMENT]

    assert missing == ["skill_delta_version", "started_at", "finished_at"]


def test_every_mark_is_explained() -> None:
    """A reader of a log finds each word."""
    assert all(f"| `{status.upper()}` |" in DOCUMENT for status in Status)
