"""How often a judge said the same of the same answers when it was asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skill_delta.core.checks.rubric import LineVerdict, MalformedVerdict, RubricLine
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.trials import Outcome, Scored, Trial
from skill_delta.core.wording import count, percent, shown


@dataclass(frozen=True, slots=True)
class LineAgreement:
    """One line of one case's rubric: `same` of `judged` verdicts on it are what they were."""

    skill: str
    case: str
    check: str
    line: str
    same: int
    judged: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """What came of judging recorded answers again.

    `before` are the judges of the record, `now` is the one that was asked. `incomparable` answers
    have a verdict of one of them alone. Verdicts are compared as they count: after their evidence
    was held against the answer.
    """

    before: tuple[JudgedBy, ...]
    now: JudgedBy
    lines: tuple[LineAgreement, ...]
    incomparable: int = 0

    @property
    def judged(self) -> int:
        """How many verdicts could be compared."""
        return sum(line.judged for line in self.lines)

    @property
    def flipped(self) -> int:
        """How many of them are another than before."""
        return self.judged - sum(line.same for line in self.lines)

    @property
    def flip_rate(self) -> float | None:
        """The share that flipped, in [0, 1]; None where nothing could be compared.

        Where one judge was asked twice this is its noise; else it is how far the two disagree.
        """
        return self.flipped / self.judged if self.judged else None


@dataclass(frozen=True, slots=True)
class Rejudged:
    """One recorded answer, what a judge said of it before, and what it is now."""

    trial: Trial
    before: Judging | None
    now: Outcome


def agreement_of(answers: Iterable[Rejudged], now: JudgedBy) -> Agreement:
    """Compare what was said of each answer, line by line."""
    found: dict[tuple[str, str, str, str], list[bool]] = {}
    before: dict[JudgedBy, None] = {}
    incomparable = 0
    for answer in answers:
        if answer.before is not None:
            before[answer.before.judge] = None
        compared = dict(_compared(answer))
        incomparable += not compared
        for (check, line), same in compared.items():
            key = (answer.trial.skill, answer.trial.case.name, check, line)
            found.setdefault(key, []).append(same)
    lines = (LineAgreement(*key, sum(same), len(same)) for key, same in found.items())
    return Agreement(tuple(before), now, tuple(lines), incomparable)


def _compared(answer: Rejudged) -> Iterator[tuple[tuple[str, str], bool]]:
    """Each line that both judged: its check's id and text, and whether they said the same."""
    now = answer.now
    if answer.before is None or answer.before.error or not isinstance(now, Scored):
        return
    rubric = answer.trial.case.rubric
    try:
        old = dict(zip(_checks(answer.trial), answer.before.verdicts_for(rubric), strict=True))
    except MalformedVerdict:
        return
    new = {check.id: check.passed for check in now.checks}
    for (check, spec), verdict in old.items():
        if verdict is not None:
            was = _passed(spec, verdict, now.transcript.answer)
            yield (check, spec.line), was == new[check]


def _checks(trial: Trial) -> Iterator[tuple[str, RubricLine]]:
    for check in trial.case.checks:
        if isinstance(check.spec, RubricLine):
            yield check.id, check.spec


def _passed(spec: RubricLine, verdict: LineVerdict, answer: str) -> bool | None:
    return spec.read(verdict, answer).passed


def agreement_notes(found: Agreement) -> Iterator[str]:
    """What a reader of the report should know of it: the whole, then each line that flipped."""
    is_same = found.before == (found.now,)
    titles = ", ".join(judge.title for judge in found.before) or "nobody"
    who = "as before" if is_same else f"in the record by {titles}"
    if found.flip_rate is None:
        yield f"judged again by {found.now.title} ({who}): no verdict could be compared"
    else:
        what = "judge noise" if is_same else "disagreement"
        changed = f"{found.flipped} of {count(found.judged, 'verdict')} changed"
        yield (
            f"judged again by {found.now.title} ({who}): {changed} "
            f"({what} {percent(found.flip_rate)})"
        )
    if found.incomparable:
        answers = count(found.incomparable, "answer")
        yield f"{answers} could not be compared: not judged both times, or not by these lines"
    for line in found.lines:
        if line.same < line.judged:
            yield (
                f"{line.skill} :: {line.case}: {line.check} {shown(line.line)}: "
                f"{line.same} of {count(line.judged, 'verdict')} the same when judged again"
            )
