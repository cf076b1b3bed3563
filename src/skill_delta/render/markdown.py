"""The report as GitHub shows it: the verdict and why, what drives it, then everything else.

The template prints nothing that is not `Markdown`, the type of what this package wrote itself:
any other value goes through `untrusted` on its way out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from skill_delta.core.judgements import Judgement
from skill_delta.core.policy import GateMethod, Reason, Verdict
from skill_delta.core.report import Report
from skill_delta.render.advice import next_steps
from skill_delta.render.background import (
    high_variance,
    low_signal,
    measured,
    notes,
    suspect_checks,
    versions,
)
from skill_delta.render.cases import case_listings
from skill_delta.render.changed import changed_skills
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.frame import NO_FRAME, Frame
from skill_delta.render.judgements import spoken
from skill_delta.render.page import Item, Listing, Page, Part, fitted, said
from skill_delta.render.remarks import (
    VERDICTS,
    altered_cases,
    is_a_plain_pass,
    summary_sentence,
    verdict_of,
    weakened_suites,
    why,
)
from skill_delta.render.tables import skill_table

FILE_CHARACTERS = 1_000_000
"""Where the report in a file ends. The JSON report is complete."""

_REASONS_IN_SIGHT = 5
_CASES_IN_SIGHT = 10

T = TypeVar("T")

_ICONS: Mapping[Verdict, str] = {
    Verdict.PASS: "✅",
    Verdict.FAIL: "❌",
    Verdict.INCONCLUSIVE: "⚠️",
    Verdict.NOT_MEASURED: "⚠️",
}


def render_markdown(report: Report, characters: int = FILE_CHARACTERS) -> str:
    """The report for a file, of at most so many characters (1,000 or more)."""
    page = page_of(report, NO_FRAME, Markdown("in the JSON report"))
    return printed(page, lambda text: len(text) <= characters)


def page_of(report: Report, frame: Frame, elsewhere: Markdown) -> Page:
    """The whole page, whatever its length. `elsewhere` is where to find what does not fit."""
    return Page(
        heading=_heading(_icon(report), verdict_of(report)),
        parts={
            Part.REASONS: _reasons(report),
            Part.SKILLS: skill_table(report),
            **case_listings(report),
            Part.CHANGED: changed_skills(report),
            Part.NOTES: notes(report),
            Part.LOW_SIGNAL: low_signal(report),
            Part.SUSPECT: suspect_checks(report),
            Part.HIGH_VARIANCE: high_variance(report),
            Part.SOURCES: versions(report),
            Part.STEPS: next_steps(report),
            Part.MEASURED: measured(report, frame),
        },
        elsewhere=elsewhere,
    )


def heading(verdict: Verdict) -> Markdown:
    """`❌ skill-delta: gate failed`, where there is no report to say more."""
    return _heading(_ICONS[verdict], VERDICTS[verdict])


def _heading(icon: str, words: str) -> Markdown:
    return Markdown(f"{icon} skill-delta: {words}")


def _icon(report: Report) -> str:
    """A pass that something speaks against is none to look away from."""
    looked_at = report.gate.passed and not is_a_plain_pass(report)
    return _ICONS[Verdict.INCONCLUSIVE if looked_at else report.gate.verdict]


def _reasons(report: Report) -> Listing:
    """Why the verdict is what it is, above the count of trials, or that count alone."""
    counts = summary_sentence(report.summary)
    found = list(_reason_items(report))
    if not found:
        return opening("reasons", [counts], said)
    return replace(opening("reasons", found, lambda item: item), below=Markdown(counts))


def _reason_items(report: Report) -> Iterator[Item]:
    """What speaks against a pass; where nothing does, what every gate found.

    Above it what was taken from the cases that it rests on, below what else was done to them.
    """
    yield from _taken(list(weakened_suites(report)))
    judged = {judgement.scope: judgement for judgement in report.gate.judgements}
    for reason in report.gate.reasons:
        judgement = judged.get(reason.scope) if reason.scope else None
        yield _judged(reason, judgement, report) if judgement else said(reason.text)
    if not report.gate.reasons:
        for judgement in judged.values():
            words = spoken(judgement, report)
            yield Item(untrusted(words.title), tuple(map(untrusted, words.lines)))
        if not judged:
            yield from map(said, why(report))
    yield from map(said, altered_cases(report))


def _taken(lines: Sequence[str]) -> Iterator[Item]:
    """One reason whatever was taken: the verdict's own stay in sight below it."""
    if len(lines) == 1:
        yield said(lines[0])
    elif lines:
        left = len(lines) - _CASES_IN_SIGHT
        more = [f"and {left:,} more"] if left > 0 else []
        shown = map(untrusted, (*lines[:_CASES_IN_SIGHT], *more))
        yield Item(Markdown("What the pull request took from its eval cases"), tuple(shown))


def _judged(reason: Reason, judgement: Judgement, report: Report) -> Item:
    """A gate that does not pass; the literal one has words of its own for that."""
    words = spoken(judgement, report)
    if judgement.method is GateMethod.INTERVAL:
        return Item(untrusted(words.title), tuple(map(untrusted, words.lines)))
    lines = (words.title, *words.lines)
    return Item(untrusted(reason.text), tuple(map(untrusted, lines)))


def opening(kind: str, found: Sequence[T], drawn: Callable[[T], Item]) -> Listing:
    """What a page begins with: one thing is a line of its own, several are bullets."""
    listing = replace(Listing.of(kind, found, drawn, _REASONS_IN_SIGHT), title=Markdown())
    if listing.total != 1:
        return listing
    only = listing.items[0]
    stressed = Item(Markdown(f"**{only.title}**"), only.lines)
    return replace(listing, items=(stressed,), bullet=Markdown())


def printed(page: Page, fits: Callable[[str], bool], redact: Callable[[str], str] = str) -> str:
    """The page as Markdown; what it has no room for is left out and counted.

    It is measured as it will be read, after `redact` has taken the secrets out of it.
    """

    def drawn(candidate: Page) -> str:
        text = re.sub(r"\n{3,}", "\n\n", _template().render(page=candidate))
        return redact(text.strip("\n") + "\n")

    return drawn(fitted(page, lambda candidate: fits(drawn(candidate))))


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("skill_delta.render"),
        # HTML's escapes would be shown as they are; `finalize` is the escape.
        autoescape=False,  # noqa: S701
        finalize=_safe,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.md.j2")


def _safe(value: object) -> Markdown:
    return value if isinstance(value, Markdown) else untrusted(str(value))
