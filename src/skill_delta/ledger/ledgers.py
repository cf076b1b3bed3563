"""What a run keeps its trials in, and has them from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from skill_delta.core.judging import JudgedBy
from skill_delta.core.scores import Spend, spend_of
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

    def __post_init__(self) -> None:
        if self.recorded is not None:
            self.spent_before += self.recorded.superseded

    def recall(self, trial: Trial) -> Outcome | None:
        key = TrialKey.of(trial)
        line = self.recorded.trials.get(key) if self.recorded else None
        if line is None:
            return None
        outcome = line.outcome_of(trial)
        if line.fingerprint != self._fingerprint(trial):
            self.stale.add(key)
        elif isinstance(outcome, Scored) or outcome.lacks_a_verdict:
            # Taken over, so that the record's last run is whole by itself.
            self.writer.write(line)
            return outcome
        self.spent_before += spend_of(outcome)
        return None

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
