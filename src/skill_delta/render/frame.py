"""What surrounds a report on a pull request: both commits, and where to find more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from skill_delta.render.escape import Markdown, untrusted


@dataclass(frozen=True, slots=True)
class Frame:
    """What a report cannot know of the pull request that it is shown on; each may be empty.

    `base_found` says in a few words which commit the base is, to stand behind its id.
    `report_path` is where the whole Markdown report is, relative to the workspace. `run_url` is
    the address of the workflow run, made of what the runner says of itself: the one link of ours.
    """

    base_found: str = ""
    report_path: str = ""
    run_url: str = ""
    measured: str = "head"
    """What the head is called: a run measures the working copy on it."""


NO_FRAME = Frame()


def linked(commit: str) -> Markdown:
    """A commit of this repository in full, which GitHub shortens and links by itself."""
    return Markdown(commit) if re.fullmatch("[0-9a-f]{7,64}", commit) else untrusted(commit)


def commits(base: str | None, head: str | None, frame: Frame) -> Iterator[Markdown]:
    """Both ends of the comparison, in full."""
    if base is not None:
        found = f", {untrusted(frame.base_found)}" if frame.base_found else ""
        yield Markdown(f"base {linked(base)}{found}")
    if head is not None:
        yield Markdown(f"{untrusted(frame.measured)} {linked(head)}")


def run_link(frame: Frame) -> Iterator[Markdown]:
    """`[workflow run](https://…)`, where the address can be nothing but one."""
    if re.fullmatch(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._-]+)*", frame.run_url):
        yield Markdown(f"[workflow run]({frame.run_url})")


def render_unchanged(base: str, head: str, *, frame: Frame = NO_FRAME, elsewhere: int = 0) -> str:
    """What stands where no skill differs between the two commits, after a revert too.

    `elsewhere` counts those that do, outside the folders that were asked for. Here, because most
    pull requests end with it, and it takes no template engine.
    """
    facts = " · ".join((*commits(base, head, frame), *run_link(frame)))
    where = f" in the folders asked for ({elsewhere} elsewhere)" if elsewhere else ""
    return f"### ✅ skill-delta: no skill changed{where}\n\n<sub>{facts}</sub>\n"
