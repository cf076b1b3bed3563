"""What few readers need and some look for: notes, the suite's own flaws, versions, the set-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skill_delta.core.report import BaselineSource, Environment, Report
from skill_delta.core.trials import NO_SKILL
from skill_delta.render import figures
from skill_delta.render.changed import skipped_elsewhere
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.frame import Frame, commits, linked, run_link
from skill_delta.render.page import Item, Listing, said
from skill_delta.render.remarks import (
    HIGH_VARIANCE_MEANING,
    baseline_source,
    commit_of,
    high_variance_lines,
    judges_part,
    low_signal_line,
    low_signal_meaning,
    named_sources,
    not_evaluated,
    skipped_baselines,
    suspect_line,
    suspect_meaning,
)

_NOTES_IN_SIGHT = 3
_FOLDED = 0


def notes(report: Report) -> Listing:
    """What the run has to say: what was not evaluated first, what was skipped on purpose last."""
    found = [
        *map(not_evaluated, skipped_elsewhere(report)),
        *report.notes,
        *skipped_baselines(report),
    ]
    return Listing.of("notes", found, said, _NOTES_IN_SIGHT)


def low_signal(report: Report) -> Listing:
    """The checks that passed in both arms; what that means depends on the baseline."""
    lines: list[str] = []
    meanings = Markdown()
    for delta in report.deltas:
        against = _against(delta.baseline, report)
        found = [
            low_signal_line(flag) + against for flag in report.flags[delta.baseline].low_signal
        ]
        if found:
            those = f"Those{against}" if against else "They"
            meaning = untrusted(f"{those} {low_signal_meaning(delta.baseline)}.")
            meanings = Markdown(f"{meanings}{meaning}\n\n")
        lines += found
    return replace(Listing.of("low-signal checks", lines, said, _FOLDED), above=meanings)


def suspect_checks(report: Report) -> Listing:
    """The checks that always fail, that are better in the baseline, that repeat another."""
    lines: list[str] = []
    meanings: dict[str, None] = {}
    for delta in report.deltas:
        against = _against(delta.baseline, report)
        for found in report.flags[delta.baseline].suspect:
            lines.append(f"{found.flag.value}: {suspect_line(found)}{against}")
            meaning = suspect_meaning(found.flag, delta.baseline)
            meanings[f"{found.flag.value.capitalize()}: {meaning}."] = None
    above = Markdown("".join(f"{untrusted(meaning)}\n\n" for meaning in meanings))
    return replace(Listing.of("checks to look at", lines, said, _FOLDED), above=above)


def _against(baseline: str, report: Report) -> str:
    """` against previous`, where there are several to tell apart."""
    if len(report.deltas) == 1:
        return ""
    return " against no skill" if baseline == NO_SKILL else f" against {baseline}"


def high_variance(report: Report) -> Listing:
    """The cases whose repetitions disagreed."""
    found = {baseline: flags.high_variance for baseline, flags in report.flags.items()}
    lines = list(high_variance_lines(found))
    explained = Markdown(f"Their {HIGH_VARIANCE_MEANING}.\n\n")
    return replace(Listing.of("high-variance cases", lines, said, _FOLDED), above=explained)


def versions(report: Report) -> Listing:
    """Which version each baseline stood for."""
    return Listing.of("versions", list(named_sources(report)), _version, _FOLDED)


def _version(source: BaselineSource) -> Item:
    commit = commit_of(source)
    at = f" at commit {linked(commit)}" if commit else ""
    return Item(Markdown(untrusted(baseline_source(source)) + at))


def measured(report: Report, frame: Frame) -> Listing:
    """What it took: both commits, runners and models, repetitions, seed, spend."""
    environment = report.environment
    parts = [
        *(_runner(name, environment) for name in environment.runners),
        figures.counted(environment.repetitions, "repetition"),
        f"seed {environment.seed}",
        figures.spent(report.summary.spend),
        *([f"of it {part}"] if (part := judges_part(report)) else []),
    ]
    if report.is_working_copy:
        frame = replace(frame, measured="working copy on")
    ends = commits(report.base, report.head, frame)
    return closing([*ends, *map(untrusted, parts), *run_link(frame)])


def closing(parts: Sequence[Markdown]) -> Listing:
    """The line at the end of a page."""
    return Listing.of("facts", parts, Item, len(parts))


def _runner(name: str, environment: Environment) -> str:
    """`openai 0.1.0 (gpt-5)`."""
    versioned = f"{name} {environment.runners[name]}".strip()
    model = environment.models.get(name)
    return f"{versioned} ({model})" if model else versioned
