"""Regular expressions from eval files: read with `re`'s meaning, bounded in time and memory."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

import regex

from skill_delta.core.checks.evidence import shown
from skill_delta.errors import TrialError

SECONDS = 1.0
"""How long one search may take."""
MAX_COPIES = 20_000
"""How many parts a pattern may have once its group repeats (`(…){50}`) are written out."""

_PARTS = re.compile(
    r"""
      \\[pPN]\{[^}]*\}                    # a named character
    | \\.                                 # an escape
    | \(\?\#[^)]*(?=\))                   # a comment
    | \[\^?\]?(?:\\.|[^\]\\])*\]          # a set
    | (?P<call>\(\?(?:R|[0-9]+|&|P>))     # a call of the pattern, or of a group
    | (?P<group>\))?\s*\{(?P<least>\d*),?\d*\}   # a counted repeat
    | (?P<brace>\{)                       # any other brace
    """,
    re.VERBOSE | re.DOTALL,
)
_VERBOSE = re.compile(r"\(\?[a-zA-Z0-9-]*x")


@lru_cache(maxsize=128)
def compiled(pattern: str) -> regex.Pattern[str]:
    """The pattern, ready to search. Raises `ValueError` with what is wrong with it."""
    _refuse_what_exhausts_memory(pattern)
    try:
        return regex.compile(_with_literal_braces(pattern), regex.VERSION0, cache_pattern=False)
    except (regex.error, ValueError, OverflowError) as error:
        problem = str(error)
    except (RecursionError, MemoryError):
        problem = "it nests too deeply"
    raise ValueError(f"the regular expression cannot be read: {problem}")


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """Where `pattern` first matches in `text`, as start and end; None where it does not.

    Raises `TrialError` when the search takes longer than `SECONDS`.
    """
    try:
        match = compiled(pattern).search(text, timeout=SECONDS)
    except TimeoutError:
        raise TrialError(f"regex {shown(pattern)} took longer than {SECONDS:g} s") from None
    except MemoryError:
        raise TrialError(f"regex {shown(pattern)} needs too much memory") from None
    return None if match is None else match.span()


def _with_literal_braces(pattern: str) -> str:
    # `regex` reads `{e<=1}` and even `{e}` as "roughly this", and would match nearly anything
    # where `re` matches the braces themselves.
    return _PARTS.sub(lambda part: r"\{" if part["brace"] else part[0], pattern)


def _refuse_what_exhausts_memory(pattern: str) -> None:
    # `regex` writes out the required rounds of a repeated group when it compiles: three nested
    # `{1000}` are a billion copies, and no timeout watches over compilation.
    if _VERBOSE.search(pattern) and "#" in pattern and "{" in pattern:
        raise ValueError("a verbose pattern (?x) that has comments cannot have {…} in it")
    parts = tuple(_PARTS.finditer(pattern))
    if any(part["call"] for part in parts):
        raise ValueError("a pattern cannot call itself or one of its groups")
    least = (int(part["least"] or 1) for part in parts if part["group"])
    if len(pattern) * prod(max(1, count) for count in least) > MAX_COPIES:
        raise ValueError(f"its repeats write out to more than {MAX_COPIES:,} parts")
