"""A `Report` becomes text. Every string that others wrote goes through `escape`.

What a format imports (a template engine, an XML writer) is imported when it is first used, so that
a run that prints nothing but its verdict does not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from skill_delta.core.report import Report

Renderer: TypeAlias = "Callable[[Report], str]"
"""A report format: pure, and of the report alone."""


def _json(report: Report) -> str:
    from skill_delta.render.machine import render_json  # noqa: PLC0415

    return render_json(report)


def _junit(report: Report) -> str:
    from skill_delta.render.junit import render_junit  # noqa: PLC0415

    return render_junit(report)


def _markdown(report: Report) -> str:
    from skill_delta.render.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(report)


RENDERERS: Mapping[str, Renderer] = {"json": _json, "junit": _junit, "markdown": _markdown}
"""The formats that are written to a file, by name."""
