"""Which cases of a suite a run takes."""

from __future__ import annotations

from dataclasses import dataclass

from skill_delta.core.suite import Case


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases run: any of `tags` (all where none is named), names that hold all of `names`."""

    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def admits(self, case: Case) -> bool:
        return not self.misses(case)

    def misses(self, case: Case) -> str:
        """What of the selection the case does not meet: `tag smoke`; blank where it is taken."""
        by_tag = not self.tags or bool(case.tags.intersection(self.tags))
        by_name = not self.names or any(
            name.casefold() in case.name.casefold() for name in self.names
        )
        missed = ([] if by_tag else [f"tag {_either(self.tags)}"]) + (
            [] if by_name else [f"case {_either(self.names)}"]
        )
        return " and ".join(missed)

    def __str__(self) -> str:
        flags = [f"--tag {tag}" for tag in self.tags] + [f"--case {name}" for name in self.names]
        return " ".join(flags)


EVERY_CASE = Selection()


def _either(texts: tuple[str, ...]) -> str:
    return " or ".join(texts)
