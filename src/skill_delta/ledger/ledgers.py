"""What a run keeps its trials in, and has them from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from skill_delta.core.judging import JudgedBy
from skill_delta.core.scores import Spend
from skill_delta.core.trials import Errored, Halt, Outcome, Scored, Trial
from skill_delta.ledger.document import EndLine, TrialKey, TrialLine, fingerprint_of
from skill_delta.ledger.reader import Record
from skill_delta.ledger.writer import RecordWriter


@dataclass(slots=True)
class RecordLedger:
    """Writes every trial to a record. What an earlier run left there is not run again.

    It has to be the very same trial: skill, case, runner, model and judge as they are now. A lost
    one runs again, and what it cost stays on the bill. `versions` and `models` are by runner.
    """

    writer: RecordWriter
    versions: Mapping[str, str]
    models: Mapping[str, str]
    recorded: Record | None = None
    spent_before: Spend = Spend()
    judge: JudgedBy | None = None
    stale: set[TrialKey] = field(default_factory=set)
    """Recorded trials of which the skill, case, runner, model or judge is now another."""
    of_none: int = 0
    """How many recorded trials are of no skill, case or baseline of this run."""

    def __post_init__(self) -> None:
        if self.recorded is not None:
            self.spent_before += self.recorded.superseded

    def recall(self, trial: Trial) -> Outcome | None:
        key = self.writer.called(TrialKey.of(trial))
        line = self.recorded.trials.get(key) if self.recorded else None
        if line is None:
            return None
        if not self._is_of(trial, line):
            self.stale.add(key)
        elif line.error is None or line.lacks_a_verdict:
            # Taken over, so that the record's last run is whole by itself.
            own = _named_by(trial, line)
            self.writer.write(own)
            return own.outcome_of(trial)
        self.spent_before += line.spend
        return None

    def _is_of(self, trial: Trial, line: TrialLine) -> bool:
        is_whole = line.error is not None or len(line.checks) == len(trial.case.checks)
        return is_whole and line.fingerprint == self._fingerprint(trial)

    def record(self, outcome: Outcome) -> None:
        if isinstance(outcome, Scored | Errored):
            self.writer.write(TrialLine.of(outcome, self._fingerprint(outcome.trial)))

    def finished(self, halt: Halt | None, at: datetime) -> None:
        by_ceiling = halt is not None and halt.is_ceiling
        reason = halt.reason if halt else ""
        self.writer.write(
            EndLine(
                finished_at=at,
                halted=reason,
                by_ceiling=by_ceiling,
                spent_before=self.spent_before,
            )
        )

    def _fingerprint(self, trial: Trial) -> str:
        version, model = self.versions[trial.runner], self.models[trial.runner]
        return fingerprint_of(trial, version, model, self.judge)


def _named_by(trial: Trial, line: TrialLine) -> TrialLine:
    """The line with the names that the trial has: in the record secrets are taken out of them."""
    # One that was lost has none.
    checks = zip(trial.case.checks, line.checks, strict=line.error is None)
    own = tuple(replace(result, id=check.id) for check, result in checks)
    return replace(line, key=TrialKey.of(trial), checks=own)


@dataclass(frozen=True, slots=True)
class ReplayLedger:
    """Has every trial from a record, each as `reread` reads it, and keeps nothing."""

    recorded: Record
    reread: Callable[[Outcome], Outcome] = lambda outcome: outcome

    @property
    def spent_before(self) -> Spend:
        end = self.recorded.end
        return self.recorded.superseded if end is None else end.spent_before

    def recall(self, trial: Trial) -> Outcome | None:
        found = self.recorded.outcome_of(trial)
        return None if found is None else self.reread(found)

    def record(self, outcome: Outcome) -> None:
        """It is in the record already."""

    def finished(self, halt: Halt | None, at: datetime) -> None:
        """Nothing is open."""
