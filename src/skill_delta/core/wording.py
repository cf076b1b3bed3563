"""Someone else's text within our own sentences: on one line, bounded, nothing invisible."""

from __future__ import annotations

LIMIT = 120
"""How many characters of someone else's text one sentence quotes."""


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
