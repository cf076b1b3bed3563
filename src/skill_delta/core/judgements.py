"""Every gate of a run, judged: which comparisons are gated, and what each of them shows.

Under `gate: point` one gate is a runner and a baseline over all skills, plus each skill that has a
bar of its own. Under `gate: interval` it is a skill, a runner and a baseline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skill_delta.core.inference import (
    DecisionRule,
    Ruling,
    fails_that_stand,
    is_below,
    losses_matter,
    of_several_gates,
)
from skill_delta.core.intervals import RatioInterval
from skill_delta.core.looks import is_settled, reaches_the_bar
from skill_delta.core.paired import CasePair, PairedDelta
from skill_delta.core.policy import GateMethod, GatePolicy, Reason, Verdict
from skill_delta.core.readings import Measure, Reading, Scope, read
from skill_delta.core.regressions import Regressions, count_regressions
from skill_delta.core.skills import Unresolved
from skill_delta.core.trials import NotRun, Outcome, Role


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the gate reads.

    `why_empty` says why no case ran at all, where none did. `unresolved` holds, per baseline and
    skill, why there is no such version. `objections` were known before the first trial.
    `looks_used` counts the looks of a skill's comparison where there was more than one. `asked`
    are the baselines that a person named, None for all: another, such as the empty skill beside a
    new one, is held to a bar of its own name and to nothing else.
    """

    outcomes: tuple[Outcome, ...]
    deltas: tuple[PairedDelta, ...]
    unresolved: Mapping[str, Mapping[str, Unresolved]] = field(default_factory=dict)
    why_empty: str = "no SKILL.md was found"
    objections: tuple[Reason, ...] = ()
    looks_used: Mapping[Scope, int] = field(default_factory=dict)
    asked: tuple[str, ...] | None = None

    @property
    def asked_deltas(self) -> tuple[PairedDelta, ...]:
        """The comparisons that bounds without a baseline's name are about."""
        asked = self.asked
        return tuple(d for d in self.deltas if asked is None or d.baseline in asked)

    @property
    def candidate(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.trial.arm.role is Role.CANDIDATE)

    @property
    def cut_short(self) -> bool:
        """Whether less was run than was asked for."""
        not_run = any(isinstance(outcome, NotRun) for outcome in self.outcomes)
        return not_run or any(o.verdict is Verdict.NOT_MEASURED for o in self.objections)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One gate's answer.

    `ruling` is what the interval method says, with all that speaks against it; under `gate:
    point` it stands beside the verdict. `literally` is what the bare difference alone would say.
    """

    scope: Scope
    reading: Reading
    ruling: Ruling
    method: GateMethod
    literally: Verdict

    @property
    def verdict(self) -> Verdict:
        """What counts."""
        by_interval = self.method is GateMethod.INTERVAL
        return Verdict(self.ruling.verdict) if by_interval else self.literally

    @property
    def is_within_noise(self) -> bool:
        """Whether the interval allows for another verdict than the one that was given."""
        return self.ruling.verdict != self.verdict.value

    @property
    def shows_no_regression(self) -> bool:
        """Inconclusive for its width alone, and with a delta at or above the bar."""
        at_the_bar = reaches_the_bar(self.reading.ruling, self.reading.rule)
        doubtful = self.verdict is Verdict.INCONCLUSIVE and not self.ruling.note
        return doubtful and at_the_bar and not self.rests_on_losses

    @property
    def rests_on_losses(self) -> bool:
        """Whether so many trials were lost that their answers could say anything."""
        return losses_matter(self.reading.measurement)


@dataclass(frozen=True, slots=True)
class Increase:
    """What one comparison used, held against a bar.

    `bar` is the ratio allowed (1.2 = a fifth more). `ratio` is None where there is no interval:
    nothing comparable, too few repetitions, or an amount that is unknown. `exceeds` only where all
    of it lies above. What a lost trial would have used nobody knows: with `losses_matter` neither
    answer stands.
    """

    scope: Scope
    measure: Measure
    bar: float
    comparable_cases: int
    ratio: RatioInterval | None
    exceeds: bool = False
    losses_matter: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """Every gate of the run."""

    judgements: tuple[Judgement, ...] = ()
    increases: tuple[Increase, ...] = ()
    regressions: tuple[Regressions, ...] = ()

    @property
    def holds_something(self) -> bool:
        """Whether any comparison is held against anything."""
        return bool(self.judgements or self.increases or self.regressions)

    def undecided(self, policy: GatePolicy) -> frozenset[Scope]:
        """The gates for which another look is to be taken, as far as looks are planned."""
        return frozenset(
            judgement.scope
            for judgement in self.judgements
            if policy.method is GateMethod.INTERVAL
            and not is_settled(judgement.ruling, judgement.reading.rule, policy.looks.adaptive)
        )


def judge(evidence: Evidence, policy: GatePolicy) -> Judged:
    """Judge every gate that has something comparable.

    Several gates under one status: any of them would fail by chance sooner than one, so a `fail`
    has to survive Holm's correction over all of them.
    """
    readings = dict(_gated(evidence, policy))
    increases, regressions = _increases(evidence, policy), _regressions(evidence, policy)
    chances = (
        *(reading.p_regression for reading in readings.values()),
        *(chance for _, chance in increases),
        *(chance for _, chance in regressions if chance is not None),
    )
    stands = iter(fails_that_stand(chances, _any_rule(policy)) if chances else ())
    return Judged(
        tuple(_judgement(*found, next(stands), policy) for found in readings.items()),
        tuple(_increase_among_others(found, next(stands)) for found, _ in increases),
        tuple(
            found if chance is None else found.among_others(next(stands))
            for found, chance in regressions
        ),
    )


def _any_rule(policy: GatePolicy) -> DecisionRule:
    return policy.rule(Scope("", ""))


def _judgement(scope: Scope, reading: Reading, stands: bool, policy: GatePolicy) -> Judgement:
    bar = policy.bar(scope.baseline, scope.skill) or 0.0
    missed = is_below(reading.difference.pass_rate or 0.0, bar)
    literally = Verdict.FAIL if missed else Verdict.PASS
    ruling = of_several_gates(_ruling(reading, policy), stands)
    return Judgement(scope, reading, ruling, policy.method, literally)


def _ruling(reading: Reading, policy: GatePolicy) -> Ruling:
    ruling = reading.ruling
    if reading.repetitions >= policy.min_repeats or ruling.note == "lost trials could change it":
        return ruling
    return Ruling("inconclusive", ruling.interval, "single-shot")


def _gated(evidence: Evidence, policy: GatePolicy) -> Iterator[tuple[Scope, Reading]]:
    for scope, pairs in gated_pairs(evidence, policy):
        reading = read(pairs, policy.rule(scope), evidence.looks_used.get(scope, 1))
        if reading is not None:
            yield scope, reading


def gated_pairs(
    evidence: Evidence, policy: GatePolicy
) -> Iterator[tuple[Scope, Sequence[CasePair]]]:
    """Every gate on a delta, with its pairs, comparable or not."""
    for delta in evidence.deltas:
        name = delta.baseline
        if policy.method is GateMethod.POINT and name in policy.min_delta:
            for runner, pairs in delta.pairs_by_runner.items():
                yield Scope(name, runner), pairs
        for (skill, runner), pairs in delta.pairs_by_skill.items():
            own = policy.method is GateMethod.INTERVAL or skill in policy.skill_min_delta
            if own and policy.bar(name, skill) is not None:
                yield Scope(name, runner, skill), pairs


def _increases(evidence: Evidence, policy: GatePolicy) -> Sequence[tuple[Increase, float]]:
    """Every bound on what a comparison used, each with its chance in a single look."""
    found = []
    for delta in evidence.asked_deltas if policy.max_increase else ():
        for (skill, runner), pairs in delta.pairs_by_skill.items():
            scope = Scope(delta.baseline, runner, skill)
            reading = read(pairs, policy.rule(scope))
            found += [
                _increase(scope, reading, measure, 1 + more)
                for measure, more in policy.max_increase.items()
            ]
    return found


def _increase(
    scope: Scope, reading: Reading | None, measure: Measure, bar: float
) -> tuple[Increase, float]:
    """The bar held against the ratio, and the chance of that in a single look."""
    if reading is None:
        return Increase(scope, measure, bar, 0, None), 0.5
    cases = len(reading.measurement.comparable)
    ratio, chance = reading.ratio(measure), reading.p_increase(measure, bar)
    if ratio is None or chance is None:
        return Increase(scope, measure, bar, cases, None), 0.5
    lost = losses_matter(reading.measurement)
    found = Increase(scope, measure, bar, cases, ratio, ratio.low > bar, losses_matter=lost)
    return found, chance


def _increase_among_others(found: Increase, stands: bool) -> Increase:
    return replace(found, exceeds=found.exceeds and stands)


def _regressions(
    evidence: Evidence, policy: GatePolicy
) -> Sequence[tuple[Regressions, float | None]]:
    """Every bound on the cases that got worse, each with its chance as `count_regressions`."""
    allowed = policy.max_regressed_cases
    if allowed is None:
        return ()
    return [
        count_regressions(Scope(delta.baseline, runner), pairs, allowed, policy)
        for delta in evidence.asked_deltas
        for runner, pairs in delta.pairs_by_runner.items()
    ]


def all_readings(
    evidence: Evidence,
    policy: GatePolicy,
    untouched: Mapping[str, frozenset[str]],
) -> Mapping[Scope, Reading]:
    """Every comparison that a report shows, gated or not.

    `untouched` names, for each skill whose cases the pull request changed, those that it left as
    they were: they are read a second time by themselves.
    """
    found = {}
    for scope, pairs in _shown(evidence, untouched):
        looks = evidence.looks_used.get(replace(scope, untouched=False), 1)
        reading = read(pairs, policy.rule(scope), looks)
        if reading is not None:
            found[scope] = reading
    return found


def _shown(
    evidence: Evidence, untouched: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Scope, Sequence[CasePair]]]:
    for delta in evidence.deltas:
        for runner, pairs in delta.pairs_by_runner.items():
            scope = Scope(delta.baseline, runner)
            yield scope, pairs
            if untouched:
                yield replace(scope, untouched=True), _left_alone(pairs, untouched)
        for (skill, runner), pairs in delta.pairs_by_skill.items():
            scope = Scope(delta.baseline, runner, skill)
            yield scope, pairs
            if skill in untouched:
                yield replace(scope, untouched=True), _left_alone(pairs, untouched)


def _left_alone(
    pairs: Sequence[CasePair], untouched: Mapping[str, frozenset[str]]
) -> Sequence[CasePair]:
    return [
        pair
        for pair in pairs
        if pair.key.skill not in untouched or pair.key.case in untouched[pair.key.skill]
    ]
