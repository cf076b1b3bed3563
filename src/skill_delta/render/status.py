"""The one line that GitHub shows beside a commit."""

from __future__ import annotations

from skill_delta.core.report import Report
from skill_delta.render.escape import plain
from skill_delta.render.remarks import summary_sentence, verdict_of, why

_MOST_CHARACTERS = 140


def render_status(report: Report) -> str:
    """`Gate failed: pass-rate delta -8.3% is below the required +0%`, in 140 characters at most."""
    verdict = verdict_of(report)
    reasons = list(why(report)) or [summary_sentence(report.summary)]
    more = f" (and {len(reasons) - 1:,} more)" if len(reasons) > 1 else ""
    start = f"{verdict[0].upper()}{verdict[1:]}: "
    return start + _cut(plain(reasons[0]), _MOST_CHARACTERS - len(start) - len(more)) + more


def _cut(text: str, most: int) -> str:
    """At most so many characters, also where one outside the first plane counts as two."""
    if len(text.encode("utf-16-le")) // 2 <= most:
        return text
    head = text.encode("utf-16-le")[: 2 * (most - 1)].decode("utf-16-le", "ignore")
    return f"{head.rstrip()}…"
