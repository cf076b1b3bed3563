"""What went wrong, in lines for a terminal or a log."""

from __future__ import annotations

from collections.abc import Iterator

from skill_delta.errors import ServiceError, UserError, UserErrors
from skill_delta.render.escape import plain

_CHARACTERS = 1_000


def problem_lines(error: UserError | ServiceError) -> Iterator[str]:
    """`error: file:line: field: problem`, and a `  help:` line where there is one.

    Each begins with words of ours and holds no line break, whoever wrote the names in it.
    """
    if isinstance(error, UserErrors):
        for each in error.errors:
            yield from problem_lines(each)
    elif isinstance(error, UserError):
        located = f"{error.place}: {error.problem}" if error.place else error.problem
        yield f"error: {plain(located, _CHARACTERS)}"
        if error.hint:
            yield f"  help: {plain(error.hint, _CHARACTERS)}"
    else:
        said, _, help_ = str(error).partition("\n  help: ")
        yield f"error: {plain(said, _CHARACTERS)}"
        if help_:
            yield f"  help: {plain(help_, _CHARACTERS)}"
