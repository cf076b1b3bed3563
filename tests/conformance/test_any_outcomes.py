"""Whatever the trials end as, skill-lens 0.25 and skill-delta compute the same delta and gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import Cost, a_transcript, a_trial, unresolved
from conformance.measured import Gate, alike
from skill_delta.core.diagnostics import diagnose
from skill_delta.core.gate import decide
from skill_delta.core.judgements import Evidence
from skill_delta.core.paired import compare
from skill_delta.core.policy import GatePolicy
from skill_delta.core.trials import CheckResult, Errored, Outcome, Scored, Skipped, Trial

PREVIOUS = "previous"
CHECKS = ("contains[0]", "regex[1]")

Ended = tuple[bool, bool] | None
"""Which of the two checks held; None for a trial that was lost."""


@dataclass(frozen=True)
class AnyRun:
    """How every trial ended, which skills have no baseline that could be resolved, and the bars."""

    outcomes: tuple[Outcome, ...]
    gaps: frozenset[str]
    policy: GatePolicy

    @property
    def lost_candidates(self) -> int:
        """How many trials of the candidate were lost."""
        return sum(isinstance(o, Errored) and not o.trial.arm.baseline for o in self.outcomes)


# No delta of so few repetitions equals one of these bars: what happens at the bar itself is one of
# the differences that are meant.
deltas = st.sampled_from([-1.013, -0.513, -0.213, -0.013, 0.013, 0.213, 0.513])
rates = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
endings = st.sampled_from([(True, True)] * 3 + [(True, False), (False, True), (False, False), None])
costs = st.builds(
    Cost,
    tokens=st.integers(20, 10**6),
    cost_usd=st.integers(0, 10**6).map(lambda millionths: millionths / 10**6),
    latency_ms=st.integers(0, 10**6),
)
policies = st.builds(
    GatePolicy,
    min_pass_rate=rates,
    skill_min_pass_rate=st.dictionaries(st.sampled_from(["billing", "shipping"]), rates),
    fail_on_error=st.booleans(),
    min_delta=st.just({}) | deltas.map(lambda delta: {PREVIOUS: delta}),
)


@st.composite
def any_runs(draw: st.DrawFn) -> AnyRun:
    """One or two skills with one or two cases each, under one or two runners."""
    skills = draw(st.sampled_from([["billing"], ["billing", "shipping"]]))
    runners = draw(st.sampled_from([["first"], ["first", "second"]]))
    repetitions = draw(st.integers(1, 3))
    gaps = draw(st.frozensets(st.sampled_from(skills), max_size=1))
    outcomes: list[Outcome] = []
    for skill in skills:
        for case in ["refund", "return"][: draw(st.integers(1, 2))]:
            arms = ["candidate"] if skill in gaps else ["candidate", PREVIOUS]
            skipped = draw(st.integers(0, 5)) == 0
            for runner in runners:
                for arm in arms:
                    ended = draw(st.lists(endings, min_size=repetitions, max_size=repetitions))
                    cost = draw(costs)
                    trials = _trials(skill, case, runner, arm, repetitions)
                    if skipped and arm == PREVIOUS:
                        outcomes.append(Skipped(trials[0], "an empty skill cannot be offered"))
                    else:
                        outcomes += _ended(trials, ended, cost)
    return AnyRun(tuple(outcomes), gaps, draw(policies))


def _trials(skill: str, case: str, runner: str, arm: str, repetitions: int) -> list[Trial]:
    return [
        a_trial(case, *CHECKS, arm=arm, skill=skill, runner=runner, repetition=number)
        for number in range(repetitions)
    ]


def _ended(trials: Sequence[Trial], endings: Sequence[Ended], cost: Cost) -> Iterator[Outcome]:
    for trial, held in zip(trials, endings, strict=True):
        if held is None:
            yield Errored(trial, "503 from the provider")
        else:
            checks = (CheckResult(i, ok, "", float(ok)) for i, ok in zip(CHECKS, held, strict=True))
            yield Scored(trial, a_transcript(cost=cost), tuple(checks))


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(any_runs())
def test_both_compute_the_same(skill_lens: None, run: AnyRun) -> None:
    """Pairs, the delta over all and per runner, both kinds of flags, and the gate."""
    from conformance.computed_by_skill_lens import Computed  # noqa: PLC0415

    theirs = Computed(run.outcomes, sorted(run.gaps))
    gaps = {skill: unresolved() for skill in sorted(run.gaps)}
    ours = compare(PREVIOUS, run.outcomes, gaps)
    gate = decide(Evidence(run.outcomes, (ours,), {PREVIOUS: gaps}), run.policy)

    assert ours.ran == theirs.has_delta
    if theirs.has_delta:
        assert {pair.key: pair.comparable for pair in ours.pairs} == theirs.comparable
        flags = diagnose(ours)
        assert {(flag.key, flag.check) for flag in flags.low_signal} == theirs.low_signal
        unstable = {(f.key, str(f.role)): (f.pass_rate, f.stddev) for f in flags.high_variance}
        assert alike(unstable, theirs.high_variance)
        found = {"": ours.overall, **ours.runners}
        assert list(found) == list(theirs.differences)
        for name, difference in theirs.differences.items():
            assert alike(astuple(found[name]), astuple(difference))
    their_gate = theirs.gate(run.policy)
    our_gate = Gate.of(gate.passed, gate.exit_code, [reason.text for reason in gate.reasons])
    # Without `fail-on-error`, a lost trial counts against the pass rate in skill-lens alone.
    if run.policy.fail_on_error or not run.lost_candidates:
        assert our_gate.passed == their_gate.passed
    assert our_gate.delta_reasons == their_gate.delta_reasons
