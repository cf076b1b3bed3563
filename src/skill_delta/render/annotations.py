"""What a reviewer sees beside the lines of a diff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from skill_delta.core.changes import SkillChange
from skill_delta.core.policy import Verdict
from skill_delta.core.report import Report, SkippedSkill
from skill_delta.core.scores import score
from skill_delta.core.trials import NO_SKILL, Outcome
from skill_delta.errors import Place
from skill_delta.render.cases import Compared, compared_cases, not_passed, regressed_cases
from skill_delta.render.changed import skipped_changes
from skill_delta.render.commands import Annotation, Level
from skill_delta.render.evidence import details, fraction, worst

MOST_PER_LEVEL = 10
"""GitHub shows no more of one step."""


def render_annotations(report: Report, *, redact: Callable[[str], str] = str) -> str:
    """Each case that got worse, at its line of the eval file, and what else a diff should show.

    An error where the gate failed, else a warning: a case that regressed, and one that fails with
    nothing to compare it with. A notice: a case that fails as it did before, and a changed skill
    that was not evaluated. At most `MOST_PER_LEVEL` of a level and one of a case, the largest drop
    first. One workflow command a line; empty where there is nothing to say.
    """
    level = Level.ERROR if report.gate.verdict is Verdict.FAIL else Level.WARNING
    compared = compared_cases(report)
    paired = {case.pair.key for case in compared}
    failing = not_passed(report, compared)
    alone = [outcomes for outcomes in failing if outcomes[0].trial.key not in paired]
    as_before = [outcomes for outcomes in failing if outcomes[0].trial.key in paired]
    loud = [
        *(_regressed(case, level) for case in regressed_cases(compared)),
        *(_failing(outcomes, level) for outcomes in alone),
    ]
    quiet = [
        *(_not_evaluated(change, skipped) for change, skipped in skipped_changes(report)),
        *(_failing(outcomes, Level.NOTICE) for outcomes in as_before),
    ]
    shown = (found.redacted(redact) for found in (*_first(loud), *_first(quiet)))
    return "".join(f"{found}\n" for found in shown)


def _first(found: Iterable[Annotation]) -> Iterator[Annotation]:
    # One case under several runners, or against several baselines, is said once: at its worst.
    cases: dict[tuple[str, Place | None], Annotation] = {}
    for each in found:
        cases.setdefault((each.title, each.place), each)
    return islice(cases.values(), MOST_PER_LEVEL)


def _regressed(case: Compared, level: Level) -> Annotation:
    before = fraction(case.pair.baseline) if case.pair.baseline else ""
    against = "no skill" if case.baseline == NO_SKILL else case.baseline
    passed = f"passed {before} → {fraction(case.pair.candidate)} against {against}"
    return _of_case("Regressed", passed, case.pair.candidate_outcomes, level)


def _failing(outcomes: Sequence[Outcome], level: Level) -> Annotation:
    return _of_case("Not passed", f"passed {fraction(score(outcomes))}", outcomes, level)


def _of_case(what: str, passed: str, outcomes: Sequence[Outcome], level: Level) -> Annotation:
    trial = outcomes[0].trial
    lines = (f"{trial.skill} under {trial.runner} {passed}", *details(worst(outcomes)))
    return Annotation(level, f"{what}: {trial.case.name}", "\n".join(lines), trial.case.place)


def _not_evaluated(change: SkillChange, skipped: SkippedSkill) -> Annotation:
    place = Place(str(change.folder / "SKILL.md"))
    message = f"{skipped.skill}: {skipped.reason}"
    return Annotation(Level.NOTICE, "Skill not evaluated", message, place)
