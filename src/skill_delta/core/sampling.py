"""Which looks were taken of what, and what is to be sampled next."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skill_delta.core.looks import Adaptive, Looks
from skill_delta.core.readings import Scope
from skill_delta.core.trials import (
    Halt,
    NotRun,
    Outcome,
    Role,
    Sample,
    Skipped,
    Subject,
    nothing_to_offer,
)


@dataclass(frozen=True, slots=True)
class Sampling:
    """A run between two looks.

    `next_samples` are what the next look runs; none where the run is over. `look` counts those
    that were taken, `taken` names them for each comparison of a skill. `outcomes` are all that
    came, counted or not. `stopped` are the skills and runners of a look that was not finished.
    """

    runners: tuple[str, ...]
    looks: Looks
    next_samples: tuple[Sample, ...]
    look: int = 0
    outcomes: tuple[Outcome, ...] = ()
    taken: Mapping[Scope, tuple[int, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    all_samples: tuple[Sample, ...] = ()
    stopped: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, subjects: Sequence[Subject], runners: Sequence[str], looks: Looks) -> Sampling:
        """Before the first look, which samples everything."""
        samples = tuple(Sample(subject, runner) for subject in subjects for runner in runners)
        return cls(tuple(runners), looks, samples, all_samples=samples)

    @property
    def repetitions(self) -> range:
        """The repetitions that the next look samples."""
        return self.looks.sampled_in(self.look)

    @property
    def is_last_look(self) -> bool:
        """Whether as many looks were taken as were planned."""
        return self.look >= self.looks.planned

    def after(self, outcomes: Sequence[Outcome], halt: Halt | None) -> Sampling:
        """When a look has come in; `halt` says why some of it was not run.

        A further look that a ceiling cut short does not count, and its trials that never started
        were only wished for: the verdict is that of the last complete look.
        """
        cut = set[tuple[str, str]]()
        if self.look and halt is not None and halt.is_ceiling:
            cut = {_cell(outcome) for outcome in outcomes if isinstance(outcome, NotRun)}
            outcomes = [outcome for outcome in outcomes if not isinstance(outcome, NotRun)]
        if self.look:
            # The first look has said what is skipped on purpose.
            outcomes = [outcome for outcome in outcomes if not isinstance(outcome, Skipped)]
        taken = dict(self.taken)
        for sample in self.next_samples:
            if _place(sample) not in cut:
                for scope in _comparisons(sample):
                    taken[scope] = (*taken.get(scope, ()), self.look)
        return replace(
            self,
            look=self.look + 1,
            next_samples=(),
            outcomes=(*self.outcomes, *outcomes),
            taken=taken,
            notes=(*self.notes, *_not_counted(cut, self.look, halt)),
            stopped=frozenset(map(_place, self.next_samples)) if halt else frozenset(),
        )

    def asking_again(self, undecided: Collection[Scope]) -> Sampling:
        """Sample both arms afresh where a comparison is undecided and another look is planned."""
        if self.is_last_look:
            return self
        again = tuple(
            Sample(subject, sample.runner)
            for sample in self.all_samples
            if (subject := _undecided_part(sample, undecided)) is not None
        )
        return replace(self, next_samples=again)

    def counted(self, baseline: str, skills: Collection[str]) -> tuple[Outcome, ...]:
        """The outcomes that enter one baseline's comparison: those of the looks it was part of."""
        repetitions = {
            (scope.skill, scope.runner): {n for look in taken for n in self.looks.sampled_in(look)}
            for scope, taken in self.taken.items()
            if scope.baseline == baseline
        }
        first = set(self.looks.sampled_in(0))
        return tuple(
            outcome
            for outcome in self.outcomes
            if outcome.trial.skill in skills
            and (outcome.trial.arm.role is Role.CANDIDATE or outcome.trial.arm.name == baseline)
            and outcome.trial.repetition in repetitions.get(_cell(outcome), first)
        )

    @property
    def looks_used(self) -> Mapping[Scope, int]:
        """How many looks each comparison took; over all skills, the most of any."""
        used = {scope: len(looks) for scope, looks in self.taken.items()}
        for scope, looks in tuple(used.items()):
            whole = replace(scope, skill="")
            used[whole] = max(looks, used.get(whole, 0))
        return used

    @property
    def trials_saved(self) -> int:
        """How many trials fewer were run than every look of every comparison would have taken.

        What a ceiling, a cancellation or an outage stopped was not saved.
        """
        if self.looks.adaptive is Adaptive.OFF:
            return 0
        compared = [
            sample
            for sample in self.all_samples
            if sample.subject.baselines and _place(sample) not in self.stopped
        ]
        wished = sum(_trials_of_all_looks(sample, self.looks) for sample in compared)
        cells = set(map(_place, compared))
        planned = sum(_cell(o) in cells and _was_planned(o) for o in self.outcomes)
        return max(0, wished - planned)


def _cell(outcome: Outcome) -> tuple[str, str]:
    return outcome.trial.skill, outcome.trial.runner


def _place(sample: Sample) -> tuple[str, str]:
    return sample.subject.label, sample.runner


def _comparisons(sample: Sample) -> Iterator[Scope]:
    for arm in sample.subject.baselines:
        yield Scope(arm.name, sample.runner, sample.subject.label)


def _undecided_part(sample: Sample, undecided: Collection[Scope]) -> Subject | None:
    """The arms and cases of which more is to be seen; None where there are none."""
    subject = sample.subject
    arms = tuple(
        arm
        for arm in subject.baselines
        if Scope(arm.name, sample.runner, subject.label) in undecided
    )
    cases = tuple(
        case for case in subject.cases if any(not nothing_to_offer(arm, case) for arm in arms)
    )
    return replace(subject, baselines=arms, cases=cases) if cases else None


def _not_counted(cut: Collection[tuple[str, str]], look: int, halt: Halt | None) -> Iterator[str]:
    for skill in sorted({skill for skill, _ in cut}):
        before = "the first look" if look == 1 else f"the first {look} looks"
        reason = halt.reason if halt else ""
        yield f"{skill}: judged by {before}, since the next one was not completed: {reason}"


def _trials_of_all_looks(sample: Sample, looks: Looks) -> int:
    """The first look runs every case, a further one those that can be compared."""
    first = len(looks.sampled_in(0))
    compared = _undecided_part(sample, frozenset(_comparisons(sample)))
    further = _trials_each(compared) if compared else 0
    return first * _trials_each(sample.subject) + (looks.most_repetitions - first) * further


def _trials_each(subject: Subject) -> int:
    """The trials of one repetition of all cases."""
    arms = (subject.candidate, *subject.baselines)
    return sum(not nothing_to_offer(arm, case) for arm in arms for case in subject.cases)


def _was_planned(outcome: Outcome) -> bool:
    return not nothing_to_offer(outcome.trial.arm, outcome.trial.case)
