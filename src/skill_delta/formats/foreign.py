"""Eval files of other tools, told apart so that they can be named."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

_BY_KEYS: Mapping[str, tuple[frozenset[str], ...]] = {
    "evals.json": (frozenset({"evals"}),),
    "Vally": (frozenset({"stimuli"}),),
    "skill-validator": (frozenset({"scenarios"}),),
    "waza": (frozenset({"skill", "tasks"}),),
    "skillgrade": (frozenset({"tasks"}),),
    "promptfoo": (frozenset({"tests", "prompts"}), frozenset({"tests", "providers"})),
}
"""The top-level keys that make a file one of these, the more telling first."""


def foreign_dialect(value: JsonValue) -> str | None:
    """The dialect that a file's value is in, where it is one that this version cannot read."""
    if isinstance(value, dict):
        for dialect, choices in _BY_KEYS.items():
            if any(keys <= value.keys() for keys in choices):
                return dialect
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        held = {key for item in value if isinstance(item, dict) for key in item}
        if "should_trigger" in held:
            return "trigger list"
        if "prompt" in held:
            return "evals.json"
    return None
