"""Texts that are out to be more than text: on a page, in a table, a terminal, a workflow's log."""

from __future__ import annotations

from hypothesis import strategies as st

HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *"`*_[]()~#|\\<>&!$:@/-+=.'\"{}^ \t\n\r",
                "@org/team",
                "&#64;org",
                "&commat;",
                "fixes #1",
                "owner/repo#12",
                "GH-3",
                "deadbeefcafe",
                "o/r@0123456789abcdef",
                "http://evil.example/a_b",
                "www.evil.example",
                "a.b@evil.example",
                "mailto:a@b.example",
                "xmpp:a@b.example",
                "[a](b)",
                "![a](b)",
                "[a]: http://b",
                "[^1]",
                "<!-- x -->",
                "--!>",
                "<a href=x>",
                "</details>",
                "<http://b>",
                "```",
                "~~~",
                "***",
                "__",
                "---",
                "===",
                "|--|",
                "1. ",
                "2) ",
                "- [ ] ",
                "> ",
                "# ",
                "/approve",
                ":tada:",
                "$`x`$",
                "foo_bar",
                "\x1b[31m",
                "\u202e",
                "\u200b",
                "\ud800",
                "\x00",
            ]
        ),
        st.text(max_size=4),
    ),
    max_size=12,
).map("".join)
