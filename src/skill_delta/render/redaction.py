"""No key leaves in a report: GitHub masks secrets in logs, and nowhere else."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote, quote_plus

REDACTED = "(redacted)"
"""Put in a secret's place. It means nothing in Markdown, JSON or XML."""

_SHORTEST = 8
"""Below this many characters nothing is a secret, and so many tell a secret that was cut short."""

_PLAIN_WORD = re.compile(r"[a-z]{0,16}")

_WRITTEN = {
    "&": "&(?:amp;)?",
    "<": "(?:<|&lt;)",
    ">": "(?:>|&gt;)",
    '"': '(?:"|&quot;)',
    "|": r"(?:\||&#124;)",
    "$": r"(?:\$|&#36;)",
}
"""How the writers of this package spell a character that means something to a format."""

# The patterns below meet text that may have been made to stop them. So no repetition in them can
# give back what it took (`*+`), or it is short, and a run of backslashes is only ever entered at
# its first one.

_BETWEEN = r"(?:\\|\u200b|&#8203;){0,4}+"
"""What they put between two characters."""

_BEFORE = r"(?<!\\)\\*+"
"""What they put before one. Half an escape must not stay behind."""

_BREAK = r"(?:\u200b|&#8203;)?"

_FIRST = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrt]))"


def _spelled(text: str) -> str:
    """A pattern for `text` as any of our writers spells it."""
    pattern = ""
    for piece in re.findall(r"\\+|[^\\]", text):
        if piece.startswith("\\"):
            # JSON doubles them, so there are at least as many.
            pattern += rf"{_BREAK}(?:(?<!\\)\\|&#92;)(?:\\|&#92;){{{len(piece) - 1},}}+"
        else:
            before = _BETWEEN if pattern else _BEFORE
            pattern += before + _WRITTEN.get(piece, re.escape(piece))
    return pattern


def _run(characters: str, least: int) -> str:
    """At least `least` of these characters, as any of our writers spells them."""
    return f"(?:{_BETWEEN}[{characters}]){{{least},}}+"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One thing to take out: a pattern, and plain texts one of which is there where it matches."""

    signs: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_match(self, bare: str) -> bool:
        """A quick look before the pattern's slow one."""
        return any(sign in bare for sign in self.signs)


_HAS_DIGIT = r"(?=[^\s\"<]{0,200}\d)"


def _token(prefix: str, body: str) -> _Rule:
    return _Rule((prefix,), re.compile(_FIRST + _spelled(prefix) + body))


_TOKENS = (
    _token("sk-", _HAS_DIGIT + _run("A-Za-z0-9_-", 20)),
    *(_token(f"gh{kind}_", _run("A-Za-z0-9", 20)) for kind in "pousr"),
    _token("github_pat_", _run("A-Za-z0-9_", 20)),
    *(_token(f"xox{kind}-", _run("A-Za-z0-9-", 10)) for kind in "abeoprs"),
    _token("AKIA", _run("A-Z0-9", 16)),
    _token("AIza", _run("A-Za-z0-9_-", 30)),
    _token("hf_", _run("A-Za-z0-9", 20)),
    *(_token(word, _HAS_DIGIT + _run("A-Za-z0-9._~+/=-", 16)) for word in ("Bearer ", "bearer ")),
)
"""Keys that tell themselves by how they begin."""


class Redactor:
    """Takes known secrets, and what looks like a key, out of a finished text.

    Every secret is found as it is, as JSON, as part of a URL and inside base64, under the escapes
    of each of our formats, and where one of them cut it short. Secrets of several lines (a key
    file) are found line by line.

    Fewer than 8 characters, or up to 16 that are all lower-case letters, are not taken for a
    secret. Local servers take any word for a key, and people give them `none`, `test` or
    `candidate`: such words are names of fields and elements in our own reports, which would be
    neither JSON nor XML without them, while no key that is worth stealing is one.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        lines = {line.strip() for secret in secrets for line in secret.splitlines()}
        # The longest first, so that no secret is left as the rest of one that it contains.
        ordered = sorted((line for line in lines if _is_secret(line)), key=len, reverse=True)
        self._known = tuple(map(_secret, ordered))

    def redact(self, text: str) -> str:
        """The text without any of them."""
        return _redacted((*self._known, *_TOKENS), text)

    def redact_known(self, text: str) -> str:
        """The text without the known secrets: for what is still to be graded.

        There, what only looks like a key is a part of the answer, as of one that shows how to
        send a bearer token.
        """
        return _redacted(self._known, text)


def _redacted(rules: Sequence[_Rule], text: str) -> str:
    bare = _unescaped(text)
    found = [rule for rule in rules if rule.may_match(bare)]
    if not found:
        return text
    return "\n".join(_without(found, line) for line in text.split("\n"))


def _without(rules: Sequence[_Rule], line: str) -> str:
    bare = _unescaped(line)
    for rule in rules:
        if rule.may_match(bare):
            line = rule.pattern.sub(REDACTED, line)
    return line


def _secret(secret: str) -> _Rule:
    forms = sorted(set(_forms(secret)), key=len, reverse=True)
    # What stands before a cut is the secret's beginning, and most of it may be there.
    cut_short = _spelled(secret[:_SHORTEST]) + rf"[^\s…]{{0,{4 * len(secret)}}}+(?=…)"
    return _Rule(
        tuple(map(_unescaped, (*forms, secret[:_SHORTEST]))),
        re.compile("|".join((*map(_spelled, forms), cut_short))),
    )


def _is_secret(text: str) -> bool:
    return len(text) >= _SHORTEST and not _PLAIN_WORD.fullmatch(text)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    for safe in ("", "/"):
        for encoded in (quote(secret, safe=safe), quote_plus(secret, safe=safe)):
            yield encoded
            yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
    yield from _in_base64(secret.encode("utf-8", "replace"))


def _in_base64(secret: bytes) -> Iterator[str]:
    """The digits that the secret alone decides, for each of the three places it may start at."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode("ascii")
        own = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        yield own
        yield own.replace("+", "-").replace("/", "_")


def _unescaped(text: str) -> str:
    """The text without what our writers add, near enough to say that a secret is not in it."""
    for written, meant in (
        ("&#8203;", ""),
        ("\u200b", ""),
        ("\\", ""),
        ("&#92;", ""),
        ("&#124;", "|"),
        ("&#36;", "$"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", '"'),
        ("&amp;", "&"),
    ):
        if written in text:
            text = text.replace(written, meant)
    return text
