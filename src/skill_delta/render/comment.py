"""The pull request's comment and the job's summary: the Markdown report, as long as they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from skill_delta.core.changes import SkillChange
from skill_delta.core.policy import Verdict
from skill_delta.core.report import Report
from skill_delta.render.advice import steps
from skill_delta.render.background import closing
from skill_delta.render.changed import changes_alone
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.frame import NO_FRAME, Frame, commits, run_link
from skill_delta.render.markdown import heading, opening, page_of, printed
from skill_delta.render.page import Item, Page, Part, said

COMMENT_CHARACTERS = 65_000
"""GitHub takes 65,536 in a comment; the others are for the marker by which ours is found again."""

SUMMARY_BYTES = 1_000_000
"""GitHub takes 1,048,576 of a step; the others are for what else the step has to say."""


def render_comment(
    report: Report,
    *,
    characters: int = COMMENT_CHARACTERS,
    frame: Frame = NO_FRAME,
    redact: Callable[[str], str] = str,
) -> str:
    """The report of a pull request as a comment of at most so many characters, at least 1,000.

    What does not fit is left out and counted: what is folded before what is in sight, diagnostics
    before cases, and of each the least bad first. Nothing is ever cut in its middle. Counted as
    UTF-16, of which no text has fewer than it has characters, once `redact` has taken the secrets
    out.
    """
    page = page_of(report, frame, _elsewhere(frame, ("in the job summary",)))
    return printed(page, lambda text: _utf16_units(text) <= characters, redact)


def render_summary(
    report: Report, *, frame: Frame = NO_FRAME, redact: Callable[[str], str] = str
) -> str:
    """The same for `$GITHUB_STEP_SUMMARY`, in at most `SUMMARY_BYTES` of UTF-8."""
    page = page_of(report, frame, _elsewhere(frame, ()))
    return printed(page, lambda text: len(text.encode()) <= SUMMARY_BYTES, redact)


def render_not_measured(
    reason: str,
    what_to_do: str,
    *,
    changes: Sequence[SkillChange] = (),
    base: str | None = None,
    head: str | None = None,
    frame: Frame = NO_FRAME,
) -> str:
    """What stands where a run could not start: no key, a fork, an unknown base, a broken file.

    Each line of `reason` is a problem, but an indented one belongs to the problem above it, as in
    the text of our errors. `what_to_do` may be empty; as `Markdown` it may hold code.
    """
    page = Page(
        heading=heading(Verdict.NOT_MEASURED),
        parts={
            Part.REASONS: opening("problems", list(_problems(reason)), _problem),
            Part.CHANGED: changes_alone(changes),
            Part.STEPS: steps([_own_words(what_to_do)] if what_to_do else []),
            Part.MEASURED: closing([*commits(base, head, frame), *run_link(frame)]),
        },
        elsewhere=Markdown("in the log of the job"),
    )
    return printed(page, lambda text: _utf16_units(text) <= COMMENT_CHARACTERS)


UNVERIFIED = "reported by the fork, not verified"
"""What a fork's own run is called, whatever it says."""

_WHY_UNVERIFIED = (
    "Whoever wrote a fork controls its runs, so that nothing they report is believed: "
    "this is no pass, and not one figure of theirs is shown here."
)


def render_unverified(what_to_do: Markdown, head: str, *, frame: Frame = NO_FRAME) -> str:
    """What stands where a fork's own run has measured: its report is in that run's summary."""
    page = Page(
        heading=Markdown(f"⚠️ skill-delta: {UNVERIFIED}"),
        parts={
            Part.REASONS: opening("reasons", [_WHY_UNVERIFIED], said),
            Part.STEPS: steps([what_to_do]),
            Part.MEASURED: closing([*commits(None, head, frame), *run_link(frame)]),
        },
    )
    return printed(page, lambda text: _utf16_units(text) <= COMMENT_CHARACTERS)


def _problems(reason: str) -> Iterator[list[str]]:
    problem: list[str] = []
    for line in filter(str.strip, reason.splitlines()):
        if problem and not line[0].isspace():
            yield problem
            problem = []
        problem.append(line)
    if problem:
        yield problem


def _problem(lines: Sequence[str]) -> Item:
    return Item(untrusted(lines[0], 1_000), tuple(map(untrusted, lines[1:])))


def _own_words(text: str) -> Markdown:
    return text if isinstance(text, Markdown) else untrusted(text, 1_000)


def _elsewhere(frame: Frame, places: Sequence[str]) -> Markdown:
    at_path = [f"in {untrusted(frame.report_path)}"] if frame.report_path else []
    return Markdown(" and ".join((*places, *at_path)) or "in the JSON report")


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
