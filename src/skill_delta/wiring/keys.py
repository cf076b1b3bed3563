"""The secrets that models are asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from skill_delta.providers import JUDGE_KEY_VARIABLE, KEY_VARIABLES


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """The runners' key and the judge's own; None where none was given."""

    runner: str | None = None
    judge: str | None = None

    @classmethod
    def of(
        cls, environment: Mapping[str, str], runner: str | None = None, judge: str | None = None
    ) -> Keys:
        """Those given, else what the environment's variables hold; a blank one is absent."""

        def first(given: str | None, *names: str) -> str | None:
            values = (given, *(environment.get(name) for name in names))
            return next((value.strip() for value in values if value and value.strip()), None)

        return cls(first(runner, *KEY_VARIABLES), first(judge, JUDGE_KEY_VARIABLE))

    @property
    def given(self) -> tuple[str, ...]:
        """Each of them that there is."""
        return tuple(key for key in (self.runner, self.judge) if key)
