"""What can go wrong, who can put it right, and the exit code that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


class ExitCode(IntEnum):
    """What the process tells the shell, and so the required check."""

    PASSED = 0
    """The gate passed, or there was nothing to do."""
    FAILED = 1
    """The gate failed."""
    USER_ERROR = 2
    """Nothing was measured, or a report could not be written though the gate passed."""
    NOT_MEASURED = 3
    """It could not be measured: service, key, ceiling, or cancelled."""
    BUG = 4
    """Our own fault. Python's own uncaught exit is 1, which would read as a regression."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in someone's file a problem is.

    `line` and `column` (in characters) are 1-based; `field` is a dotted path such as
    `cases[0].task`. Each may be unknown.
    """

    file: str
    line: int | None = None
    field: str = ""
    column: int | None = None

    def __str__(self) -> str:
        known = (self.line, self.column) if self.line is not None else ()
        place = ":".join((self.file, *(str(number) for number in known if number is not None)))
        return f"{place}: {self.field}" if self.field else place


class UserError(Exception):
    """The author of the workflow, skill or eval file can fix it: one line, a hint, no traceback."""

    def __init__(self, problem: str, *, hint: str = "", place: Place | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.place = place

    @property
    def each(self) -> tuple[UserError, ...]:
        """The problems one by one: itself, or all that it gathers."""
        return (self,)

    def __str__(self) -> str:
        located = f"{self.place}: {self.problem}" if self.place else self.problem
        return f"{located}\n  help: {self.hint}" if self.hint else located


class UserErrors(UserError):  # noqa: N818 - several of them
    """Every problem found at once, so that one run is enough to see them all."""

    def __init__(self, errors: tuple[UserError, ...]) -> None:
        super().__init__("\n".join(str(error) for error in errors))
        self.errors = errors

    @property
    def each(self) -> tuple[UserError, ...]:
        return self.errors


def gathered(
    make: Callable[[Given], Made], of: Iterable[Given]
) -> tuple[tuple[Made, ...], tuple[UserError, ...]]:
    """What is made of each, and every problem of those of which nothing could be made."""
    found: list[Made] = []
    errors: list[UserError] = []
    for each in of:
        try:
            found.append(make(each))
        except UserError as error:
            errors += error.each
    return tuple(found), tuple(errors)


class ServiceError(Exception):
    """A vendor gave out for the whole run (no key, key refused): nothing more can be measured."""


class TrialError(Exception):
    """One measurement was lost. It becomes an `Errored` outcome and never ends the run.

    The tokens and US dollars are what was spent before it was lost (None: price unknown).
    """

    def __init__(
        self,
        reason: str,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        cost_usd: float | None = 0.0,
    ) -> None:
        super().__init__(reason)
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens
        self.cost_usd = cost_usd
