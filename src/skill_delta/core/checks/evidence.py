"""How a finding shows what it saw."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from skill_delta.core.wording import LIMIT, clipped, visible


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


def clipped_list(names: Sequence[str]) -> str:
    """As many of the names as one line of a report holds, and how many more there are."""
    text = ""
    for position, name in enumerate(names):
        if text and len(text) + len(name) > LIMIT:
            return f"{text} and {len(names) - position:,} more"
        text += f", {clipped(name)}" if text else clipped(name)
    return text
