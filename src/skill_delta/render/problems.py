"""What went wrong, in lines for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator

from skill_delta.errors import ServiceError, UserError
from skill_delta.render.escape import plain

_CHARACTERS = 1_000


def problem_lines(error: UserError | ServiceError) -> Iterator[str]:
    """`error: file:line: field: problem`, and a `  help:` line where there is one.

    Each begins with words of ours and holds no line break, whoever wrote the names in it.
    """
    if isinstance(error, ServiceError):
        said, _, help_ = str(error).partition("\n  help: ")
        yield from _lines(said, help_)
        return
    for each in error.each:
        yield from _lines(
            f"{each.place}: {each.problem}" if each.place else each.problem, each.hint
        )


def _lines(said: str, help_: str) -> Iterator[str]:
    yield f"error: {plain(said, _CHARACTERS)}"
    if help_:
        yield f"  help: {plain(help_, _CHARACTERS)}"
