"""Markdown as GitHub shows it: its own parser, and what a reader sees of the page."""

from __future__ import annotations

import html
import re

import cmarkgfm  # type: ignore[import-untyped]
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]

BREAK = "\u200b"
"""The zero-width space that our reports put where GitHub would make a link."""


def as_github_shows_it(markdown: str) -> str:
    """The page, with raw HTML left in so that a test can see it."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, options=options))


def tags(page: str) -> set[str]:
    """The names of all elements on a page."""
    return set(re.findall(r"<(\w+)", page))


def visible(page: str) -> str:
    """The text of a page or a part of it, without what cannot be seen."""
    return html.unescape(re.sub("<[^>]*>", "", page)).replace(BREAK, "")


OURS = {
    "h3", "h4", "p", "ul", "li", "strong", "sub", "blockquote", "details", "summary",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
"""Every element that our own Markdown makes, but for words of advice and the link to the run."""

OUR_CODE = {
    *("version", "evals/", "api-key", "repeat", "min-repeats", "margin"),
    *("on-inconclusive: fail", "suite: base"),
}


def is_ours_alone(page: str, link: str = "") -> bool:
    """Every element of the page is one that this package wrote; `link` is where ours leads to."""
    code = set(re.findall("<code>(.*?)</code>", page))
    links = set(re.findall("<a[^>]*>", page))
    return (
        tags(page) <= OURS | {"code", "a"}
        and code <= OUR_CODE
        and links <= {f'<a href="{link}">'}
        and page.count("<details>") == page.count("</details>") == page.count("<summary>")
    )
