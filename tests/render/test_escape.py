"""The one door for text that others wrote."""

from __future__ import annotations

import html
import re
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from github_markdown import as_github_shows_it, visible
from hostile_texts import HOSTILE
from skill_delta.render.escape import encodable, fenced, plain, untrusted, xml_text


def seen(markdown: str) -> str:
    """What a reader sees of a paragraph that holds nothing but text."""
    page = as_github_shows_it(markdown)
    inside = re.fullmatch(r"<p>([^<]*)</p>\n", page)
    assert inside, f"not one paragraph of plain text: {page!r}"
    return visible(inside[1])


def meant(text: str) -> str:
    """What a reader should see, as the door's documentation says."""
    shown = re.sub("\r\n|[\n\r\v\f\x85\u2028\u2029]", " ⏎ ", text.strip()).replace("\t", " ")
    return "".join(chr(0x2400 + ord(each)) if ord(each) < 32 else each for each in shown)


def kinds(markdown: str) -> set[str]:
    """The kinds of inline node that another Markdown reader sees."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return {child.type for token in parser.parse(markdown) for child in token.children or []}


@settings(deadline=None)
@given(HOSTILE)
@example("1. x")
@example("a\\|b")
@example("_x_ __y__ *z*")
@example("&#64;user")
@example("===")
@example("\\")
def test_in_a_paragraph_it_is_one_run_of_plain_text(text: str) -> None:
    """No link, image, mention, HTML, code or emphasis comes of what others wrote."""
    shown = untrusted(text)

    assert "<" not in shown
    if shown:
        seen(f"before {shown} after")
        seen(shown)
        assert kinds(shown) <= {"text"}


@settings(deadline=None)
@given(HOSTILE)
@example("|")
@example("a\\|b|c\\")
def test_in_a_table_it_is_one_cell_of_plain_text(text: str) -> None:
    """It neither ends its cell nor its row."""
    shown = untrusted(text)
    table = f"| a | b |\n|--|--|\n| {shown} | last |\n\nend"
    page = as_github_shows_it(table)
    cells = re.findall(r"<td>([^<]*)</td>", page)

    assert page.count("<td>") == 2
    assert page.count("<tr>") == 2
    assert cells[1] == "last"
    assert visible(cells[0]) == seen(f"x{shown}x")[1:-1]
    assert kinds(table) <= {"text"}


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=0x24F, exclude_categories=["Cc", "Cf"]), max_size=80))
@example("foo_bar a|b <tag> C:\\dir `code` [x](y) #1 @me & &amp; $5 50% ~ok~")
@example("x 0123456789abcdef0123456789abcdef01234567 y")
def test_a_reader_still_reads_the_original(text: str) -> None:
    """Escapes are for machines: what is seen is what was written."""
    assert seen(f"x{untrusted(text)}x")[1:-1] == meant(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("foo_bar", r"foo\_bar"),
        ("version 1.0.0 of order-support", "version 1.0.0 of order-support"),
        ("1.0.0", "1.0.0"),
        ("-10%", "-10%"),
        ("@me", "@&#8203;me"),
        ("&#64;me", r"&amp;\#&#8203;64;me"),
        ("fixes #1", r"fixes \#&#8203;1"),
        ("gh-7 owner/repo#8", r"gh-&#8203;7 owner/repo\#&#8203;8"),
        ("see https://a.example", "see https:&#8203;//a.example"),
        ("www.a.example", "www&#8203;.a.example"),
        ("commit deadbeef", "commit deadbe&#8203;ef"),
        ("/approve", r"\/approve"),
        ("line\r\nline", "line ⏎ line"),
        ("a|b", "a&#124;b"),
        (":tada:", r"\:&#8203;tada:"),
        ("\x1b[2J", r"␛\[2J"),
        ("abc\u202ecba", r"abc\[U+202E\]cba"),
    ],
)
def test_the_source_of_a_report_stays_readable_too(text: str, shown: str) -> None:
    """Only what means something is escaped."""
    assert untrusted(text) == shown


def test_persian_words_and_emoji_keep_their_joiners() -> None:
    """U+200C and U+200D are letters of a kind where they join non-ASCII text, and hidden else."""
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    astronaut = "\U0001f469\u200d\U0001f680"

    assert untrusted(f"{persian} {astronaut}") == f"{persian} {astronaut}"
    assert plain("pass\u200dword") == "pass[U+200D]word"


def test_a_long_text_is_cut_and_the_cut_is_counted() -> None:
    """A reader knows how much is missing."""
    assert untrusted("x" * 2_345).endswith("x… (2,045 more characters)")
    assert plain("x" * 501).endswith("x… (1 more character)")
    assert untrusted("x" * 300) == "x" * 300


@settings(deadline=None)
@given(HOSTILE)
@example("````\n```")
@example("/approve\n  /approve @me")
def test_a_code_block_cannot_be_closed_from_inside(text: str) -> None:
    """All of it is in the block, and what follows is not."""
    page = as_github_shows_it(f"{fenced(text)}\n\nafter")

    assert re.fullmatch(r'<pre lang="text"><code>[^<]*</code></pre>\n<p>after</p>\n', page), page
    assert not re.search(r"^\s*/", fenced(text), re.MULTILINE)


def test_a_code_block_is_bounded() -> None:
    """Neither a long line nor many lines drown the report."""
    assert fenced("a\n" * 100).endswith("a\n… (60 more lines)\n```")
    assert fenced("x" * 2_001).endswith("x… (1 more character)\n```")


@settings(deadline=None)
@given(HOSTILE)
@example("a\x1b]8;;http://evil\x07b\nc\x9b31m")
@example("##[set-output name=x]y")
def test_nothing_commands_a_terminal_or_a_ci_runner(text: str) -> None:
    """One printable line, whatever was written."""
    shown = plain(text)

    assert re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown) is None
    assert "##[" not in shown
    assert len(shown.splitlines()) <= 1
    shown.encode()


@settings(deadline=None)
@given(st.text() | HOSTILE)
@example("\ufffe\uffff\x0b")
def test_xml_text_is_text_that_xml_allows(text: str) -> None:
    """A model that prints a control character does not break the report of a whole run."""
    shown = xml_text(text)
    parsed = fromstring(f"<a>{html.escape(shown)}</a>").text or ""

    assert parsed == shown


@settings(deadline=None)
@given(st.text() | HOSTILE)
def test_half_characters_are_the_only_thing_that_data_loses(text: str) -> None:
    """JSON keeps every character that a file can hold."""
    kept = encodable(text)
    kept.encode()

    assert len(kept) == len(text)
    assert all(
        a == b or (b == "\ufffd" and "\ud800" <= a <= "\udfff")
        for a, b in zip(text, kept, strict=True)
    )
