"""Texts without their secrets, of which no two that differ become one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container

from pydantic import JsonValue


class StandIns:
    """What stands in a record for each text of it: the text itself, its secrets taken out.

    Two names may be alike but for a secret, and results are told apart by their names. So a text
    that is settled has a stand-in that no other has: where two would be the same, the later one is
    numbered.
    """

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact
        self._settled: dict[str, str] = {}
        self._taken: set[str] = set()

    def settle(self, text: str) -> str:
        """The stand-in of a text that has to be told from any other that is settled."""
        if text not in self._settled:
            own = _free(self._redact(text), self._taken)
            self._settled[text] = own
            self._taken.add(own)
        return self._settled[text]

    def of(self, text: str) -> str:
        """The stand-in of a text that was settled; any other is redacted and no more.

        What was redacted before stays as it is, so that a line can be taken over word for word.
        """
        return self._settled.get(text) or self._redact(text)


def renamed(value: JsonValue, name: Callable[[str], str]) -> JsonValue:
    """The same value with other texts. Keys that differ still do."""
    if isinstance(value, str):
        return name(value)
    if isinstance(value, list):
        return [renamed(item, name) for item in value]
    if isinstance(value, dict):
        items: dict[str, JsonValue] = {}
        for key, item in value.items():
            items[_free(name(key), items)] = renamed(item, name)
        return items
    return value


def _free(wanted: str, taken: Container[str]) -> str:
    numbered = (f"{wanted} #{number}" for number in itertools.count(2))
    return next(text for text in itertools.chain([wanted], numbered) if text not in taken)
