"""What a reader should know beside the numbers, in sentences that every report for people shares.

They hold names and messages of others as they are: whoever prints one escapes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from skill_delta.core.diagnostics import (
    CheckFlag,
    HighVariance,
    LowSignal,
    SuspectCheck,
)
from skill_delta.core.policy import Verdict
from skill_delta.core.report import BaselineSource, Report, SkippedSkill, Summary
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.core.suite_changes import CaseChange
from skill_delta.core.trials import NO_SKILL, CaseKey, Role, Skipped
from skill_delta.core.wording import MOST_LISTED, clipped, listed, shown
from skill_delta.render.figures import counted, rate, rate_delta, short, spent


def summary_sentence(summary: Summary) -> str:
    """`2 passed, 1 failed, 0 errored — pass rate 67%`."""
    parts = [
        f"{summary.passed} passed",
        f"{summary.failed} failed",
        f"{summary.errored} errored",
        *([f"{summary.inconclusive} inconclusive"] if summary.inconclusive else []),
        *([f"{summary.not_run} not run"] if summary.not_run else []),
    ]
    passing = summary.pass_rate
    share = "nothing measured" if passing is None else f"pass rate {rate(passing)}"
    return f"{', '.join(parts)} — {share}"


def judges_part(report: Report) -> str:
    """`the judge gpt-5: 300 tokens, $0.0100`: what it cost; blank where there was none."""
    judge = report.environment.judge
    return f"the judge {judge.title}: {spent(report.summary.judge_spend)}" if judge else ""


def remarks(report: Report) -> Iterator[str]:
    """Every remark of a report, for a reader who sees plain text."""
    for source in named_sources(report):
        commit = commit_of(source)
        at = f" at commit {short(commit)}" if commit else ""
        yield baseline_source(source) + at
    yield from other_remarks(report)


def named_sources(report: Report) -> Iterator[BaselineSource]:
    """The baselines that stand for a version; an empty skill needs no explanation."""
    return (source for source in report.sources if source.baseline != NO_SKILL)


def baseline_source(source: BaselineSource) -> str:
    """`baseline previous of greeting: version 1.0.0`, or why there is none."""
    match source.version:
        case Unresolved(message=message):
            stands_for = f"not resolved: {message}"
        case SkillVersion(version=None):
            stands_for = "no declared version"
        case SkillVersion(version=version):
            stands_for = f"version {version}"
    return f"baseline {source.baseline} of {source.skill}: {stands_for}"


def commit_of(source: BaselineSource) -> str | None:
    """The commit that a baseline was read from."""
    return None if isinstance(source.version, Unresolved) else source.version.commit


def other_remarks(report: Report) -> Iterator[str]:
    """What was left out and why, and the run's own notes."""
    yield from skipped_baselines(report)
    yield from map(not_evaluated, report.skipped)
    yield from report.notes


def not_evaluated(skipped: SkippedSkill) -> str:
    """`skill release-notes: not evaluated: no eval cases`."""
    return f"skill {skipped.skill}: not evaluated: {skipped.reason}"


def skipped_baselines(report: Report) -> Iterator[str]:
    """Baseline trials left out on purpose, counted per skill, baseline and reason."""
    found = Counter(
        (outcome.trial.skill, outcome.trial.arm.name, outcome.reason)
        for outcome in report.outcomes
        if isinstance(outcome, Skipped)
    )
    for (skill, baseline, reason), cases in found.items():
        yield f"baseline {baseline} of {skill}: skipped for {counted(cases, 'case')}: {reason}"


HIGH_VARIANCE_MEANING = "repetitions disagreed — often ambiguous instructions"
HIGH_VARIANCE_HEADING = f"High-variance cases ({HIGH_VARIANCE_MEANING})"


def low_signal_heading(baseline: str) -> str:
    """The heading of the checks that passed in both arms of one comparison."""
    return f"Low-signal checks ({low_signal_meaning(baseline)})"


def low_signal_meaning(baseline: str) -> str:
    """What it means that a check always passed depends on what it was compared with."""
    if baseline == NO_SKILL:
        return "passed with and without the skill — they measure nothing"
    return "passed in both versions — they guard against regressions, but do not tell the two apart"


VERDICTS: Mapping[Verdict, str] = {
    Verdict.PASS: "gate passed",
    Verdict.FAIL: "gate failed",
    Verdict.INCONCLUSIVE: "inconclusive",
    Verdict.NOT_MEASURED: "not measured",
}


def verdict_of(report: Report) -> str:
    """The verdict; an inconclusive one may be known to be harmless as far as it goes.

    With what a pull request took from the cases that it rests on: `gate passed, but 2 cases
    removed`.
    """
    return _verdict(report) + weakening(report)


def _verdict(report: Report) -> str:
    if report.gate.shows_no_regression:
        return "no regression shown"
    if report.gate.passed and not report.candidate:
        return "nothing measured" if report.skipped else "nothing to measure"
    if report.gate.passed and not report.gate.is_gated:
        return "worse, and no bar applies" if is_worse(report) else "measured, and no bar applies"
    return VERDICTS[report.gate.verdict]


def is_worse(report: Report) -> bool:
    """Whether a whole interval lies below zero."""
    return any(reading.interval.high < 0 for reading in report.readings.values())


def is_a_plain_pass(report: Report) -> bool:
    """Whether nothing about a pass asks for a second look."""
    is_unmeasured = not report.candidate and bool(report.skipped)
    ungated_and_worse = not report.gate.is_gated and is_worse(report)
    return not (weakening(report) or is_unmeasured or ungated_and_worse)


def weakening(report: Report) -> str:
    """`, but 2 cases removed, 1 loosened`: the end of a verdict; blank where no case was."""
    found = Counter(_weakened_by(change) for change in _weakened(report))
    ways = [way for way in ("removed", "deselected", "loosened") if found[way]]
    if not ways:
        return ""
    first = f"{counted(found[ways[0]], 'case')} {ways[0]}"
    parts = (first, *(f"{found[way]:,} {way}" for way in ways[1:]))
    is_good = report.gate.passed or report.gate.shows_no_regression
    return f", {'but' if is_good else 'and'} {', '.join(parts)}"


def _weakened(report: Report) -> Iterator[CaseChange]:
    cases = (change for changes in report.suite_changes.values() for change in changes)
    return (change for change in cases if change.weakens_the_suite)


def _weakened_by(change: CaseChange) -> str:
    """The worst of what happened to a case that judges less than it did."""
    if change.is_gone:
        return "removed"
    return "deselected" if change.deselected_by else "loosened"


def why(report: Report) -> Iterator[str]:
    """The reasons for the verdict; where nothing speaks against a pass, what was found."""
    if report.gate.reasons:
        yield from (reason.text for reason in report.gate.reasons)
    else:
        yield from _found(report)


def weakened_suites(report: Report) -> Iterator[str]:
    """What a pull request took from the cases that judge it: said beside the verdict."""
    for skill, changes in report.suite_changes.items():
        removed = [shown(change.name) for change in changes if change.is_gone]
        if removed:
            cases = counted(len(removed), "case")
            yield f"{skill}: the pull request removes {cases}: {listed(removed)}"
        yield from _deselected(skill, changes)
        loosened = [change for change in changes if change.loosened]
        for change in loosened[:MOST_LISTED]:
            asks = "; ".join(change.loosened[:_MOST_LOOSENED])
            yield f"{skill}: the pull request loosens the case {shown(change.name)}: {asks}"
        if len(loosened) > MOST_LISTED:
            more = counted(len(loosened) - MOST_LISTED, "more case")
            yield f"{skill}: the pull request loosens {more}"


_MOST_LOOSENED = 5


def _deselected(skill: str, changes: Sequence[CaseChange]) -> Iterator[str]:
    """The cases that were taken at the base and are taken no longer."""
    names: dict[str, list[str]] = {}
    for change in changes:
        if change.deselected_by:
            name = shown(change.name)
            now = f" (now {shown(change.renamed_to)})" if change.renamed_to else ""
            names.setdefault(change.deselected_by, []).append(name + now)
    for selection, cases in names.items():
        are = "case is" if len(cases) == 1 else "cases are"
        by = f"no longer selected by {clipped(selection)}"
        yield f"{skill}: {len(cases):,} {are} {by}: {listed(cases)}"


def altered_cases(report: Report) -> Iterator[str]:
    """The cases that ask otherwise than before, of which nobody can tell whether it is less."""
    for skill, changes in report.suite_changes.items():
        altered = [change for change in changes if change.altered]
        if len(altered) == 1:
            what, parts = f"the case {shown(altered[0].name)} asks", _parts(altered[0], " and ")
            yield f"{skill}: the pull request changes what {what}: its {parts}"
        elif altered:
            named = listed([f"{shown(each.name)} ({_parts(each, ', ')})" for each in altered])
            yield f"{skill}: the pull request changes what {len(altered):,} cases ask: {named}"


def _parts(change: CaseChange, between: str) -> str:
    return between.join(change.altered)


def _found(report: Report) -> Iterator[str]:
    """`pass rate 40% → 100% (+60%) against previous`, for each baseline and runner."""
    for delta in report.deltas:
        against = "no skill" if delta.baseline == NO_SKILL else delta.baseline
        for runner, found in delta.runners.items():
            if found.pass_rate is not None:
                rates = map(
                    rate, (found.pass_rate_baseline or 0.0, found.pass_rate_candidate or 0.0)
                )
                under = f" under {runner}" if len(delta.runners) > 1 else ""
                change = rate_delta(found.pass_rate)
                yield f"pass rate {' → '.join(rates)} ({change}) against {against}{under}"


def low_signal_line(found: LowSignal) -> str:
    """`order-support :: refund-request (openai): contains[0] (6 runs)`."""
    runs = _mark(found.runs, may_be_chance=False)
    return f"{_case(found.key)} ({found.key.runner}): {found.check}{runs}"


def suspect_heading(flag: CheckFlag, baseline: str) -> str:
    """The heading of the checks of one comparison that have one flag."""
    return f"{_SUSPECTS[flag]} ({suspect_meaning(flag, baseline)})"


_SUSPECTS: Mapping[CheckFlag, str] = {
    CheckFlag.ALWAYS_FAILS: "Checks that always fail",
    CheckFlag.INVERSE: "Inverse checks",
    CheckFlag.DERIVED: "Derived checks",
}


def suspect_meaning(flag: CheckFlag, baseline: str) -> str:
    """What the flag means; that a baseline is better depends on what it stands for."""
    match flag:
        case CheckFlag.ALWAYS_FAILS:
            return "in both arms — they are broken, or ask too much"
        case CheckFlag.INVERSE if baseline == NO_SKILL:
            return "better without the skill — it is in the way, or they ask for the wrong thing"
        case CheckFlag.INVERSE:
            return "better in the previous version — the edit may have lost something"
        case CheckFlag.DERIVED:
            return "ended as another check of the case every time — they tell nothing new"


def suspect_line(found: SuspectCheck) -> str:
    """`order-support :: refund-request (openai): regex[1] as contains[0] (6 runs)`."""
    what = ""
    if found.flag is CheckFlag.INVERSE:
        what = f", candidate {rate(found.rate_candidate)}, baseline {rate(found.rate_baseline)}"
    if found.flag is CheckFlag.DERIVED:
        what = f" as {found.other}"
    runs = _mark(found.runs, may_be_chance=found.may_be_chance)
    return f"{_case(found.key)} ({found.key.runner}): {found.check}{what}{runs}"


def high_variance_lines(found: Mapping[str, Sequence[HighVariance]]) -> Iterator[str]:
    """`order-support :: refund-request (openai, candidate): 60%, stddev 0.49 (5 runs)`.

    `found` holds the flags of each comparison, by its baseline.
    """
    lines = [
        _high_variance_line(flag, baseline if len(found) > 1 else Role.BASELINE.value)
        for baseline, flags in found.items()
        for flag in flags
    ]
    # The candidate's repetitions are the same ones in every comparison.
    return iter(dict.fromkeys(lines))


def _high_variance_line(found: HighVariance, baseline: str) -> str:
    arm = found.role.value if found.role is Role.CANDIDATE else baseline
    spread = f"{rate(found.pass_rate)}, stddev {found.stddev:.2f}"
    mark = _mark(found.runs, may_be_chance=found.may_be_chance)
    return f"{_case(found.key)} ({found.key.runner}, {arm}): {spread}{mark}"


def _mark(runs: int, *, may_be_chance: bool) -> str:
    """` (6 runs)`, or ` (3 runs: may be chance)`: how much a flag rests on."""
    return f" ({counted(runs, 'run')}{': may be chance' if may_be_chance else ''})"


def _case(key: CaseKey) -> str:
    return f"{key.skill} :: {key.case}"
