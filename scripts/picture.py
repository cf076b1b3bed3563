"""A picture of Markdown as GitHub shows it, for the README and for whoever designs the comment.

    pytest --snapshot-update tests/render/test_comment.py
    npm install --prefix /tmp/css github-markdown-css@5.9.0
    python scripts/picture.py --width 820 \\
        /tmp/css/node_modules/github-markdown-css/github-markdown-light.css \\
        'tests/render/__snapshots__/test_comment/test_pull_request[regression].md' \\
        docs/images/comment.png

Needs `cmarkgfm` (of the development dependencies), Chromium, and fonts with emoji: in Debian
`chromium fonts-dejavu-core fonts-noto-color-emoji`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import cmarkgfm  # type: ignore[import-untyped]
from cmarkgfm.cmark import Options  # type: ignore[import-untyped]

PAGE = """<!doctype html>
<meta charset="utf-8">
<style>{css}
body {{ margin: 0; background: #fff; }}
.markdown-body {{ box-sizing: border-box; width: {width}px; padding: 16px; font-size: 14px; }}
</style>
<article class="markdown-body">{html}</article>
<script>document.title = document.querySelector("article").offsetHeight</script>
"""

CHROMIUM = (
    *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    *("--force-device-scale-factor=1", "--disable-lcd-text"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=820, help="in CSS pixels (default: 820)")
    parser.add_argument("--open", action="store_true", help="show what is folded")
    for name in ("css", "markdown", "picture"):
        parser.add_argument(name, type=Path)
    asked = parser.parse_args()
    html = as_github_shows_it(asked.markdown.read_text(encoding="utf-8"))
    if asked.open:
        html = html.replace("<details>", "<details open>")
    css = asked.css.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(PAGE.format(css=css, width=asked.width, html=html), encoding="utf-8")
        photograph(page, asked.width, asked.picture.resolve())


def as_github_shows_it(markdown: str) -> str:
    """The HTML, with full commit ids shortened as GitHub does in a repository that has them."""
    options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_GITHUB_PRE_LANG
    html = cmarkgfm.github_flavored_markdown_to_html(markdown, options=options)
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"<a href='#'><tt>\1</tt></a>", html)


def photograph(page: Path, width: int, picture: Path) -> None:
    """Write a picture of the whole page."""
    profile = f"--user-data-dir={page.parent / 'profile'}"
    dom = run((*CHROMIUM, profile, f"--window-size={width},100", "--dump-dom", page.as_uri()))
    height = re.search(r"<title>(\d+)</title>", dom)
    if height is None:
        raise SystemExit("Chromium did not say how high the page is")
    size = f"--window-size={width},{height[1]}"
    run((*CHROMIUM, profile, size, f"--screenshot={picture}", page.as_uri()))


def run(command: Sequence[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


if __name__ == "__main__":
    main()
