"""What outcomes show of themselves: how often a case passed, and why it did not.

Lines hold text of others as it is: whoever prints one escapes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from skill_delta.core.scores import ArmScore
from skill_delta.core.trials import Errored, NotRun, Outcome, Scored, Skipped, Status, status_of

_WORST_FIRST = (Status.FAIL, Status.ERROR, Status.INCONCLUSIVE, Status.NOT_RUN, Status.SKIPPED)


def by_skill(outcomes: Iterable[Outcome]) -> Mapping[str, Sequence[Outcome]]:
    """The outcomes of each skill, in their order."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        found.setdefault(outcome.trial.skill, []).append(outcome)
    return found


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The first repetition that shows best what is wrong; any one where nothing is."""
    statuses = [status_of(outcome) for outcome in outcomes]
    for status in _WORST_FIRST:
        if status in statuses:
            return outcomes[statuses.index(status)]
    return outcomes[0]


def details(outcome: Outcome) -> Iterator[str]:
    """Why an outcome is not a pass: its failed checks, or what came in between."""
    match outcome:
        case Errored(reason=reason):
            yield f"error: {reason}"
        case Skipped(reason=reason) | NotRun(reason=reason):
            yield f"{status_of(outcome)}: {reason}"
        case Scored(status=Status.FAIL, checks=checks):
            yield from (f"{c.id}: {c.evidence}" for c in checks if c.passed is False)
        case Scored(checks=checks):
            yield from (f"{c.id}: not evaluated: {c.evidence}" for c in checks if c.passed is None)


def fraction(arm: ArmScore) -> str:
    """`4/5`, and beside it what is not among the five: `4/4 (1 errored)`."""
    others = (
        (arm.errored, "errored"),
        (arm.inconclusive, "inconclusive"),
        (arm.not_run, "not run"),
    )
    lost = ", ".join(f"{number} {how}" for number, how in others if number)
    return f"{arm.passed}/{arm.measured}" + (f" ({lost})" if lost else "")
