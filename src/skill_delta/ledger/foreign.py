"""A record that came from elsewhere: what no run of ours can have written is refused.

That it has the shape of a record says nothing of whether it is one. Names that stand for two
things would be counted twice, and numbers that are none would pass every bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from skill_delta.core.policy import Verdict
from skill_delta.core.scores import Spend
from skill_delta.core.skills import SkillVersion
from skill_delta.core.trials import Role, Subject
from skill_delta.errors import UserError
from skill_delta.ledger.document import TrialLine
from skill_delta.ledger.reader import Record

_MOST = 1e12
"""No trial takes as many tokens, dollars or milliseconds."""


def refuse_impossible(record: Record) -> None:
    """Raise `UserError` for a record that was changed, or made up."""
    problem = next(_problems(record), "")
    if problem:
        raise UserError(
            f"the record is none that a run wrote: {problem}",
            hint="publish the record.jsonl of the measuring job as it is",
        )


def _problems(record: Record) -> Iterator[str]:
    labels = [subject.label for subject in record.subjects]
    yield from _twice(labels, "skill")
    for subject in record.subjects:
        yield from _problems_of(subject)
    yield from _about_sources(record)
    if any(reason.verdict is Verdict.PASS for reason in record.run.objections):
        yield "an objection that speaks for a pass"
    if not all(map(_is_possible, _spends(record))):
        yield "a trial used an impossible amount of tokens, money or time"
    ends = [record.end.finished_at] if record.end else []
    if any(time.tzinfo is None for time in (record.run.started_at, *ends)):
        yield "a time without its zone"


def _problems_of(subject: Subject) -> Iterator[str]:
    yield from _twice([case.name for case in subject.cases], "case")
    yield from _twice([arm.baseline for arm in subject.baselines], "baseline")
    candidate, baselines = subject.candidate, subject.baselines
    if candidate.role is not Role.CANDIDATE or candidate.baseline:
        yield "a candidate that is a baseline"
    if any(arm.role is not Role.BASELINE or not arm.baseline for arm in baselines):
        yield "a baseline that is a candidate"


def _about_sources(record: Record) -> Iterator[str]:
    """Every baseline arm has its source, and every source that was resolved its arm."""
    sources = [(source.skill, source.baseline) for source in record.run.sources]
    yield from _twice(sources, "baseline")
    resolved = {
        (source.skill, source.baseline)
        for source in record.run.sources
        if isinstance(source.version, SkillVersion)
    }
    subjects = {subject.label: subject.baselines for subject in record.subjects}
    arms = {(label, arm.baseline) for label, baselines in subjects.items() for arm in baselines}
    if resolved != arms or not subjects.keys() >= {skill for skill, _ in sources}:
        yield "baselines that do not belong to its skills"


def _twice(names: Sequence[Hashable], what: str) -> Iterator[str]:
    if len(set(names)) < len(names):
        yield f"a {what} that is there twice"


def _spends(record: Record) -> Iterable[tuple[Spend, float]]:
    """What each trial used, with its milliseconds."""
    for line in record.trials.values():
        yield from _spends_of(line)
    if record.end is not None:
        yield record.end.spent_before, 0.0


def _spends_of(line: TrialLine) -> Iterator[tuple[Spend, float]]:
    yield Spend(line.usage, line.cost_usd), 0.0
    if line.transcript is not None:
        yield Spend(line.transcript.usage, line.transcript.cost_usd), line.transcript.latency_ms


def _is_possible(of_trial: tuple[Spend, float]) -> bool:
    spend, milliseconds = of_trial
    tokens = (spend.usage.input_tokens, spend.usage.output_tokens)
    # Nothing that is no number lies between two.
    return all(0 <= used <= _MOST for used in (*tokens, spend.cost_usd or 0.0, milliseconds))
