r"""The one door for text that others wrote: no report holds a string of theirs by another way.

Task texts, answers, names, evidence, error texts, paths and reasons are data, and may be hostile.
Whatever the door, a reader sees the text itself, with these replacements:

* white space at both ends goes, a line break inside one line shows as `⏎`, a tab as a space;
* a control character shows as its picture (`␛`), any other invisible or reordering character as
  its code point (`[U+202E]`); U+200C and U+200D stay where they join two non-ASCII characters, as
  in Persian words and in emoji;
* text past a limit is cut, and the cut is counted.
"""

from __future__ import annotations

import re

_LINE_BREAK = re.compile("\r\n|[\n\r\v\f\x85\u2028\u2029]")

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(1 << 16, 17 << 16, 1 << 16)
    )
    + "\U000e0000-\U000e0fff]"
    "|(?<![^\x00-\x7f\u200b-\u200f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f\u200b-\u200f])"
)

_BREAK = "\u200b"
"""Put where GitHub would make a link out of text. No such character of theirs is left by then."""

_LINKED = re.compile(
    r"(?<=@)(?=\S|$)"  # mentions of people and teams, e-mail, owner/repo@commit
    r"|(?<=\#)(?=\d|$)"  # #1, owner/repo#1, and with it `fixes #1`
    r"|(?<=gh-)(?=\d)|(?<=ghsa-)(?=\w)|(?<=cve-)(?=\d)"
    r"|(?<=:)(?=//)|(?<=www)(?=\.)"  # bare addresses
    r"|(?<=:)(?=[\w+-]{1,64}:)",  # :emoji:
    re.IGNORECASE,
)

_COMMIT = re.compile(r"(?<![0-9A-Za-z_])[0-9a-f]{7,}(?![0-9A-Za-z_])", re.IGNORECASE)
"""What GitHub may take for a commit."""

_MARKDOWN = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        # As references, because a backslash before a pipe means different things to different
        # readers of tables, and GitHub reads `\$` as the start of a formula all the same.
        "|": "&#124;",
        "\\": "&#92;",
        "$": "&#36;",
        _BREAK: "&#8203;",
        **{character: f"\\{character}" for character in "`*_[]~#"},
    }
)

_BLOCK_START = re.compile(r"[=:/]|-(?=[-:\s]|$)|\+(?=\s|$)|\d{1,9}(?=[.)](?:\s|$))")
"""What makes a list, a rule, an underline, a table or a bot's command only where a line begins."""

_MOST_LINES = 40


class Markdown(str):
    """Markdown that this package wrote: nothing of others is in it but by `untrusted`."""

    __slots__ = ()


def untrusted(text: str, limit: int = 300) -> Markdown:
    """Markdown that shows `text` as plain words in a paragraph, list item, heading or table cell.

    It is one text node whatever it holds: no link, image, mention, HTML, code or emphasis. A
    zero-width space breaks what GitHub would link after parsing (`@name`, `#1`, a commit, an
    address). Not for the inside of an HTML tag.
    """
    shown = _LINKED.sub(_BREAK, _one_line(text, limit))
    shown = _COMMIT.sub(_in_short_pieces, shown).translate(_MARKDOWN)
    start = _BLOCK_START.match(shown)
    if start is None:
        return Markdown(shown)
    before = start[0] if start[0].isdigit() else ""
    return Markdown(f"{before}\\{shown.removeprefix(before)}")


def fenced(text: str, limit: int = 2_000) -> Markdown:
    """Markdown that shows `text` line by line in a code block, which it cannot close.

    A zero-width space stands before a line's leading slash and after an `@`, because bots read
    commands and mentions in the source of a comment, code block or not.
    """
    shown = _lines(text, limit)
    shown = re.sub(r"^(?=[ \t]*/)|(?<=@)(?=\S)", _BREAK, shown, flags=re.MULTILINE)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markdown(f"{fence}text\n{shown}\n{fence}")


def plain(text: str, limit: int = 500) -> str:
    """One line for a terminal or a log: nothing in it moves the cursor or commands a CI runner."""
    return _one_line(text, limit).replace("##[", "## [")


def xml_text(text: str, limit: int = 20_000) -> str:
    """Text that XML 1.0 allows, line by line; the XML writer adds its own escapes."""
    return _lines(text, limit, most_lines=limit)


def encodable(text: str) -> str:
    """The text unchanged, but for half characters, which no file can hold."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def _one_line(text: str, limit: int) -> str:
    stripped = text.strip()
    head = stripped[:limit]
    if not (head.isascii() and head.isprintable()):
        head = _LINE_BREAK.sub(" ⏎ ", head).replace("\t", " ")
        head = _INVISIBLE.sub(_made_visible, head)
    return head + _cut_mark(len(stripped) - len(stripped[:limit]), "character")


def _lines(text: str, limit: int, most_lines: int = _MOST_LINES) -> str:
    stripped = text.strip("\r\n")
    head = _LINE_BREAK.sub("\n", stripped[:limit])
    lines = [_INVISIBLE.sub(_made_visible, line) for line in head.split("\n")]
    kept = "\n".join(lines[:most_lines])
    kept += _cut_mark(len(stripped) - len(stripped[:limit]), "character")
    more_lines = _cut_mark(len(lines) - most_lines, "line")
    return f"{kept}\n{more_lines}" if more_lines else kept


def _cut_mark(left_out: int, noun: str) -> str:
    if left_out <= 0:
        return ""
    return f"… ({left_out:,} more {noun}{'' if left_out == 1 else 's'})"


def _made_visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"[U+{code:04X}]"


def _in_short_pieces(found: re.Match[str]) -> str:
    """Six digits at most, since seven are enough for a link."""
    digits = found[0]
    return _BREAK.join(digits[start : start + 6] for start in range(0, len(digits), 6))
