"""The report as GitHub shows it: the verdict and why, what drives it, then everything else.

The template prints nothing that is not `Markdown`, the type of what this package wrote itself:
any other value goes through `untrusted` on its way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from skill_delta.core.gate import Verdict
from skill_delta.core.report import Environment as RunEnvironment
from skill_delta.core.report import Report, Summary
from skill_delta.core.scores import Spend
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import Errored, NotRun
from skill_delta.render import figures
from skill_delta.render.escape import Markdown, untrusted
from skill_delta.render.remarks import (
    HIGH_VARIANCE_HEADING,
    baseline_source,
    commit_of,
    high_variance_lines,
    low_signal_heading,
    low_signal_line,
    named_sources,
    other_remarks,
    summary_sentence,
)
from skill_delta.render.sections import Group, Item, Section, bounded, sections

_MOST_SECTIONS = 20
_MOST_REMARKS = 50

_VERDICTS: Mapping[Verdict, str] = {
    Verdict.PASS: "✅ Gate passed",
    Verdict.FAIL: "❌ Gate failed",
    Verdict.INCONCLUSIVE: "⚠️ Inconclusive",
    Verdict.NOT_MEASURED: "⚠️ Not measured",
}


@dataclass(frozen=True, slots=True)
class Fold:
    """What is closed until a reader opens it. The heading is ours: no escape works in a tag."""

    heading: Markdown
    groups: tuple[Group, ...]


def render_markdown(report: Report) -> str:
    """The report for a comment, a job summary or a file."""
    found = sections(report)
    more = len(found) - _MOST_SECTIONS
    summary = report.summary
    text = _template().render(
        verdict=Markdown(_VERDICTS[report.gate.verdict]),
        reasons=[reason.text for reason in report.gate.reasons],
        summary=Markdown(summary_sentence(summary)),
        sections=found[:_MOST_SECTIONS],
        more_sections=Markdown(f"… and {more:,} more in the JSON report") if more > 0 else "",
        compared=bool(report.deltas),
        next_steps=[Markdown(step) for step in _next_steps(report, summary, found)],
        folds=list(_folds(report)),
        measured=_measured(report, summary.spend),
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


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


def _next_steps(report: Report, summary: Summary, found: Sequence[Section]) -> Iterator[str]:
    """What whoever reads a failed or unmeasured verdict can do, for each cause that is there."""
    if report.gate.passed:
        return
    if any(section.regressed for section in found):
        yield (
            "Read the failed checks of the regressed cases: either the edit lost something, "
            "or a check asks for what the skill no longer promises."
        )
    elif summary.failed:
        yield "Read the failed checks above: the skill, or what a check asks of it, needs an edit."
    if any(isinstance(source.version, Unresolved) for source in report.sources):
        yield (
            "Give the baseline something to resolve to: fetch the whole history "
            "(`fetch-depth: 0`), or raise the skill's `version` with the edit."
        )
    if any(isinstance(outcome, Errored) for outcome in report.outcomes):
        yield (
            "Run again: an errored trial says that the provider or the harness gave out, "
            "and nothing about the skill."
        )
    if any(isinstance(outcome, NotRun) for outcome in report.outcomes):
        yield "Run again to the end: what was cut short is neither a pass nor a failure."
    if not report.candidate:
        yield "Add eval cases beside SKILL.md, in `evals/`: nothing was there to run."


def _folds(report: Report) -> Iterator[Fold]:
    flags = sum(len(delta.low_signal) for delta in report.deltas)
    unsteady = list(high_variance_lines(report))
    groups = [
        group
        for delta in report.deltas
        for group in bounded(
            low_signal_heading(delta.baseline),
            (Item(low_signal_line(found)) for found in delta.low_signal),
            _MOST_REMARKS,
        )
    ]
    groups += bounded(HIGH_VARIANCE_HEADING, map(Item, unsteady), _MOST_REMARKS)
    if groups:
        low, high = figures.counted(flags, "low-signal check"), len(unsteady)
        heading = f"About the suite: {low}, {figures.counted(high, 'high-variance case')}"
        yield Fold(Markdown(heading), tuple(groups))
    notes = [*_commits(report), *_sources(report), *map(Item, other_remarks(report))]
    if notes:
        heading = Markdown(f"Versions and notes ({len(notes):,})")
        yield Fold(heading, tuple(bounded("", notes, _MOST_REMARKS)))


def _commits(report: Report) -> Iterator[Item]:
    for name, commit in (("base", report.base), ("head", report.head)):
        if commit is not None:
            yield Item(Markdown(f"{name} commit {_linked(commit)}"))


def _sources(report: Report) -> Iterator[Item]:
    for source in named_sources(report):
        commit = commit_of(source)
        at = f" at commit {_linked(commit)}" if commit else ""
        yield Item(Markdown(untrusted(baseline_source(source)) + at))


def _linked(commit: str) -> Markdown:
    """A commit of this repository, which GitHub turns into a link: the one text that may be one."""
    return Markdown(commit) if re.fullmatch("[0-9a-f]{7,64}", commit) else untrusted(commit)


def _measured(report: Report, spend: Spend) -> Markdown:
    """What it took, in one line: commits, runners and models, repetitions, seed, spend."""
    environment = report.environment
    parts = [
        *(_runner(name, environment) for name in environment.runners),
        figures.counted(environment.repetitions, "repetition"),
        f"seed {environment.seed}",
        figures.spent(spend),
    ]
    return Markdown(f"<sub>{' · '.join([*_range(report), *map(untrusted, parts)])}</sub>")


def _runner(name: str, environment: RunEnvironment) -> str:
    """`openai 0.1.0 (gpt-5)`."""
    versioned = f"{name} {environment.runners[name]}".strip()
    model = environment.models.get(name)
    return f"{versioned} ({model})" if model else versioned


def _range(report: Report) -> Iterator[Markdown]:
    if report.base is not None and report.head is not None:
        base, head = _linked(figures.short(report.base)), _linked(figures.short(report.head))
        yield Markdown(f"{base} → {head}")
