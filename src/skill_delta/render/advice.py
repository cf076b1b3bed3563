"""What whoever reads a verdict that is not a pass can do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from skill_delta.core.policy import Verdict
from skill_delta.core.report import NO_CASES, Report
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import Errored, NotRun
from skill_delta.render.escape import Markdown
from skill_delta.render.page import Item, Listing

_IN_SIGHT = 10


def next_steps(report: Report) -> Listing:
    """One step for each cause that is there; after a pass only what the cases are in need of."""
    advice = _on_the_cases(report) if report.gate.passed else _advice(report)
    return steps(list(map(Markdown, advice)))


def steps(found: Sequence[Markdown]) -> Listing:
    """Steps under their heading."""
    listing = Listing.of("steps", found, Item, _IN_SIGHT)
    return replace(listing, title=Markdown("#### What to do next"))


def _about_doubt(report: Report) -> Iterator[str]:
    """What would decide. More looks alone would not: each one widens the interval."""
    if not report.gate.inconclusive_passes:
        yield "`on-inconclusive: fail` asks for a verdict, and there is none: so the check is red."
    doubtful = [j for j in report.gate.judgements if j.verdict is Verdict.INCONCLUSIVE]
    notes = {judgement.ruling.note for judgement in doubtful}
    if "single-shot" in notes:
        yield "Run each case more than once: raise `repeat` to `min-repeats` or more."
    if "one of several gates" in notes and len(report.deltas) > 1:
        yield "To judge by one baseline alone, name it: `min-delta: previous=0`."
    if notes & {"", "one of several gates"} or not notes:
        yield (
            "Add cases, or raise `repeat`: these runs cannot tell chance from a regression of "
            "the size that `margin` tolerates."
        )


def _on_the_cases(report: Report) -> Iterator[str]:
    if any(change.weakens_the_suite for each in report.suite_changes.values() for change in each):
        yield (
            "Look at the cases that the pull request removed, deselected or loosened: "
            "`suite: base` judges by those of the base."
        )


def _is_left_out_on_purpose(report: Report) -> bool:
    """Whether the settings, and no missing case, are why nothing ran."""
    return bool(report.skipped) and all(each.reason != NO_CASES for each in report.skipped)


def _advice(report: Report) -> Iterator[str]:
    if any(pair.fell for delta in report.deltas for pair in delta.pairs):
        yield (
            "Read the failed checks of the regressed cases: either the edit lost something, "
            "or a check asks for what the skill no longer promises."
        )
    elif report.summary.failed:
        yield "Read the failed checks above: the skill, or what a check asks of it, needs an edit."
    if report.gate.verdict is Verdict.INCONCLUSIVE:
        yield from _about_doubt(report)
    yield from _on_the_cases(report)
    if any(isinstance(source.version, Unresolved) for source in report.sources):
        yield (
            "Give the baseline something to resolve to: the reason above says what is missing. "
            "An edit that comes with a new `version` has the version before to compare with."
        )
    if any(isinstance(outcome, Errored) for outcome in report.outcomes):
        yield (
            "See what the errored trials say, and run again where the provider gave out: "
            "they say nothing about the skill."
        )
    if any(isinstance(outcome, NotRun) for outcome in report.outcomes):
        yield (
            "Run again to the end, with a higher ceiling or cap where one was reached: what was "
            "cut short is neither a pass nor a failure."
        )
    if not report.candidate and not _is_left_out_on_purpose(report):
        yield "Add eval cases beside SKILL.md, in `evals/`: nothing was there to run."
