"""How a finding shows what it saw: one line, bounded, nothing invisible."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

LIMIT = 120
"""How many characters of someone else's text one piece of evidence quotes."""


def visible(text: str) -> str:
    """The text with every control, format and unassigned character spelled out (`\\n`)."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def clipped(text: str, limit: int = LIMIT) -> str:
    """The visible text, cut after `limit` characters with the number of those left out."""
    if len(text) <= limit:
        return visible(text)
    return f"{visible(text[:limit])}… (+{len(text) - limit:,} characters)"


def shown(text: str) -> str:
    """The text in quotation marks, clipped."""
    if len(text) <= LIMIT:
        return f'"{visible(text)}"'
    return f'"{visible(text[:LIMIT])}"… (+{len(text) - LIMIT:,} characters)'


def shown_around(text: str, start: int, end: int) -> str:
    """The stretch of `text` around `start` to `end`, in quotation marks, with what is left out."""
    margin = max(0, LIMIT - (end - start)) // 2
    first, last = max(0, start - margin), min(len(text), end + margin, start + LIMIT)
    before = "…" if first else ""
    after = "…" if last < len(text) else ""
    return f'{before}"{visible(text[first:last])}"{after}'


def shown_json(value: JsonValue | Mapping[str, JsonValue] | Sequence[JsonValue]) -> str:
    """The value as one line of JSON with sorted keys, clipped."""
    return clipped(json.dumps(value, sort_keys=True, ensure_ascii=False, default=dict))


def output_is(answer: str) -> str:
    """What the output was, as the second half of a sentence."""
    return f"the output is {shown(answer)}" if answer.strip() else "the output is empty"
