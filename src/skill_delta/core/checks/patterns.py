"""Regular expressions from eval files: read with `re`'s meaning, bounded in time and memory."""

from __future__ import annotations

import re
import time
from functools import lru_cache

import regex

from skill_delta.core.wording import clipped, shown
from skill_delta.errors import TrialError

SECONDS = 1.0
"""How long all the searches of one check may take together."""
MAX_CHARACTERS = 2_000
"""How long a pattern may be. Some take time to read that grows with the square of their length."""
MAX_COPIES = 20_000
"""How many parts a pattern may have once its repeats (`a{50}`, `(…){50}`) are written out."""

_PARTS = re.compile(
    r"""
      \\[pPN]\{[^}]*\}                    # a named character
    | \\.                                 # an escape
    | \(\?\#[^)]*(?=\))                   # a comment
    | (?P<set>\[)\^?\]?(?:\\.|[^\]\\])*(?P<end>\])?
    | (?P<call>\(\?(?:R|[0-9]+|&|P>))
    | (?P<group>\))?\s*\{(?P<least>\d*),?\d*\}   # a counted repeat
    | (?P<brace>\{)                       # any other brace
    """,
    re.VERBOSE | re.DOTALL,
)
_CALL = re.compile(r"\(\?(?:R|[0-9]+|&|P>)")
"""A call of the whole pattern, or of one of its groups."""
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
    raise ValueError(f"the regular expression cannot be read: {clipped(problem)}")


class Searches:
    """The searches of one check, which share `SECONDS` of computing time."""

    def __init__(self) -> None:
        self._left = SECONDS

    def search(self, pattern: str, text: str) -> tuple[int, int] | None:
        """Where `pattern` first matches in `text`, as start and end; None where it does not.

        Raises `TrialError` when the check's searches have taken longer than `SECONDS`.
        """
        # The thread's own time: trials that are graded beside this one must not use up its second.
        began = time.thread_time()
        try:
            if self._left <= 0:
                raise TimeoutError
            # `concurrent` lets the event loop run on while this thread searches.
            match = compiled(pattern).search(text, timeout=self._left, concurrent=True)
        except TimeoutError:
            raise TrialError(f"regex {shown(pattern)} took longer than {SECONDS:g} s") from None
        except MemoryError:
            raise TrialError(f"regex {shown(pattern)} needs too much memory") from None
        finally:
            self._left -= time.thread_time() - began
        return None if match is None else match.span()


def search(pattern: str, text: str) -> tuple[int, int] | None:
    """The one search of a check: see `Searches.search`."""
    return Searches().search(pattern, text)


def _with_literal_braces(pattern: str) -> str:
    # `regex` reads `{e<=1}` and even `{e}` as "roughly this", and would match nearly anything
    # where `re` matches the braces themselves.
    return _PARTS.sub(lambda part: r"\{" if part["brace"] else part[0], pattern)


def _refuse_what_exhausts_memory(pattern: str) -> None:
    # `regex` writes out the required rounds of a repeat when it compiles: three nested `{1000}`
    # are a billion copies, and no timeout watches over compilation.
    if len(pattern) > MAX_CHARACTERS:
        raise ValueError(
            f"the regular expression has {len(pattern):,} characters; "
            f"at most {MAX_CHARACTERS:,} are read"
        )
    has_comments = bool(_VERBOSE.search(pattern)) and "#" in pattern
    if has_comments and "{" in pattern:
        raise ValueError("a verbose pattern (?x) that has comments cannot have {…} in it")
    parts = tuple(_PARTS.finditer(pattern))
    if any(part["set"] and not part["end"] for part in parts) and not has_comments:
        # Not left to `regex`: were it to see an end, what stands behind it would go uncounted.
        raise ValueError("the regular expression cannot be read: unterminated character set")
    if any(part["call"] for part in parts) or (has_comments and _CALL.search(pattern)):
        raise ValueError("a pattern cannot call itself or one of its groups")
    if _written_out(pattern) > MAX_COPIES:
        raise ValueError(f"its repeats write out to more than {MAX_COPIES:,} parts")


def _written_out(pattern: str) -> int:
    """At least as many parts as the pattern has with its repeats written out."""
    parts, rounds, last_set = len(pattern), 1, 0
    for part in _PARTS.finditer(pattern):
        if part["set"]:
            last_set = part.start()
        if part["least"] is None:
            continue
        least = max(1, int(part["least"] or 1))
        if part["group"]:
            rounds *= least  # of the whole pattern, as if each group held all the others
        else:
            parts += least * _length_before(pattern, part.start(), last_set)
    return parts * rounds


def _length_before(pattern: str, repeat: int, last_set: int) -> int:
    # A set counts whole. What looks like its end may be that of a class (`[a[:digit:]b]`).
    if not pattern[:repeat].endswith("]"):
        return 1
    return repeat - (pattern.find("[") if "[:" in pattern else last_set)
