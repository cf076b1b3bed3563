"""What the JSON report says of a judge."""

from __future__ import annotations

from dataclasses import dataclass, fields

from skill_delta.core import agreement, scores
from skill_delta.core.judging import JudgedBy
from skill_delta.render.document_part import Count, DocumentPart, Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend(DocumentPart):
    """A part of the bill."""

    tokens: Count
    cost_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(DocumentPart):
    """Who judged by rubrics. `model` is null where it asked none."""

    name: str
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LineAgreement(DocumentPart):
    """One line of a rubric: `same` of `judged` verdicts on it are what they were before."""

    skill: str
    case: str
    check: str
    line: str
    same: Count
    judged: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(DocumentPart):
    """Recorded answers that were judged again: `flipped` of `judged` verdicts changed.

    `flip_rate` is the judge's noise where the same one was asked twice. `incomparable` answers were
    not judged both times.
    """

    before: list[Judge]
    now: Judge
    judged: Count
    flipped: Count
    flip_rate: Rate | None
    incomparable: Count
    lines: list[LineAgreement]


def spend_part(spend: scores.Spend) -> Spend:
    """What the judge cost."""
    cost = spend.cost_usd
    return Spend(tokens=spend.usage.tokens, cost_usd=None if cost is None else round(cost, 12))


def judged_by(judge: JudgedBy) -> Judge:
    """The judge as the report names it."""
    return Judge(name=judge.name, model=judge.model or None)


def agreement_part(found: agreement.Agreement) -> Agreement:
    """What came of judging again."""
    rate = found.flip_rate
    return Agreement(
        before=[judged_by(judge) for judge in found.before],
        now=judged_by(found.now),
        judged=found.judged,
        flipped=found.flipped,
        flip_rate=None if rate is None else round(rate, 12),
        incomparable=found.incomparable,
        lines=[
            LineAgreement(**{each.name: getattr(line, each.name) for each in fields(line)})
            for line in found.lines
        ],
    )
