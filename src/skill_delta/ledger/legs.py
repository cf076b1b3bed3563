"""Hook suppression keeps a record of each leg, as if each had been a run of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from skill_delta.core.scores import Spend
from skill_delta.core.trials import Arm, Halt, Outcome, Role, Trial
from skill_delta.ledger.ledgers import RecordLedger


@dataclass(frozen=True, slots=True)
class LegLedger:
    """The candidate's trials in one record, the baseline's in the other."""

    skill_on: RecordLedger
    skill_off: RecordLedger

    @property
    def spent_before(self) -> Spend:
        """Nothing: a leg is not resumed."""
        return Spend()

    def recall(self, trial: Trial) -> Outcome | None:  # noqa: ARG002
        return None

    def record(self, outcome: Outcome) -> None:
        if outcome.trial.arm.role is Role.CANDIDATE:
            self.skill_on.record(outcome)
        else:
            trial = outcome.trial
            alone = replace(trial, arm=as_candidate(trial.arm))
            self.skill_off.record(replace(outcome, trial=alone))

    def finished(self, halt: Halt | None, at: datetime) -> None:
        self.skill_on.finished(halt, at)
        self.skill_off.finished(halt, at)


def as_candidate(arm: Arm) -> Arm:
    """The arm of a leg that stands by itself: the candidate's rules read it."""
    return Arm(Role.CANDIDATE, arm.skill)
