"""What an earlier run left is used where it is the very same trial, and else runs again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pytest

from builders import RUNNER, a_trial, scored
from ledger.records import MODEL, VERSION, a_run, lost, read, recorded, unchanged, write
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.judging import JudgedBy
from skill_delta.core.scores import Spend, spend_of
from skill_delta.core.skills import Bundle, BundleFile
from skill_delta.core.suite import Check
from skill_delta.core.trials import Arm, Halt, NotRun, Outcome, Role, Scored, Skipped, Trial
from skill_delta.ledger.document import TrialKey, fingerprint_of
from skill_delta.ledger.ledgers import RecordLedger, ReplayLedger
from skill_delta.ledger.legs import LegLedger
from skill_delta.ledger.reader import Record
from skill_delta.ledger.writer import RecordWriter


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def a_ledger(path: Path, before: Record | None = None, **now: str) -> RecordLedger:
    """What a run keeps its trials in; `now` may say another version or model than before."""
    writer = RecordWriter(path, unchanged, lambda: 0.0)
    writer.write(a_run(run_id="run-2" if before else "run-1"))
    versions = {RUNNER: now.get("version", VERSION)}
    return RecordLedger(writer, versions, {RUNNER: now.get("model", MODEL)}, before)


def resumed(path: Path, *outcomes: Outcome, **now: str) -> RecordLedger:
    """A run that goes on with one that came to these outcomes."""
    first = a_ledger(path)
    for outcome in outcomes:
        first.record(outcome)
    first.writer.close()
    return a_ledger(path, read(path), **now)


def files(sha256: str) -> Bundle:
    return Bundle(PurePosixPath("/x"), (BundleFile(PurePosixPath("a.py"), 1, sha256),))


def told_otherwise(trial: Trial) -> Trial:
    skill = replace(trial.arm.skill, instructions="Name the order last.")
    return replace(trial, arm=replace(trial.arm, skill=skill))


def with_other_files(trial: Trial) -> Trial:
    return replace(
        trial, arm=replace(trial.arm, skill=replace(trial.arm.skill, bundle=files("ab" * 32)))
    )


def asked_otherwise(trial: Trial) -> Trial:
    return replace(trial, case=replace(trial.case, task="I want my money back."))


CHANGES = [told_otherwise, with_other_files, asked_otherwise]


def test_an_answer_is_used_again(path: Path) -> None:
    """It is not on the bill twice, and the resumed run's part of the record is whole."""
    found = scored(a_trial())
    ledger = resumed(path, found)

    assert ledger.recall(a_trial()) == found
    ledger.writer.close()
    assert ledger.spent_before == Spend()
    assert not ledger.stale
    assert read(path).outcome_of(a_trial()) == found


def test_what_was_lost_runs_again_and_stays_on_the_bill(path: Path) -> None:
    """An outage says nothing, and costs."""
    ledger = resumed(path, lost())

    assert ledger.recall(a_trial()) is None
    assert ledger.spent_before == spend_of(lost())
    assert not ledger.stale


def test_the_bill_grows_with_every_run_that_loses_it(path: Path) -> None:
    """Also where each of them lost it alike."""
    bills = []
    ledger = a_ledger(path)
    for _ in range(4):
        ledger.recall(a_trial())
        ledger.record(lost(tokens=40, cost_usd=0.5))
        ledger.writer.close()
        bills.append(ledger.spent_before.usage.tokens)
        ledger = a_ledger(path, read(path))

    assert bills == [0, 40, 80, 120]


@pytest.mark.parametrize("change", CHANGES)
def test_another_skill_or_case_is_another_trial(
    change: Callable[[Trial], Trial], path: Path
) -> None:
    """The old answer is counted as no longer usable, and its cost stays on the bill."""
    found = scored(a_trial())
    ledger = resumed(path, found)

    assert ledger.recall(change(a_trial())) is None
    assert ledger.stale == {TrialKey.of(a_trial())}
    assert ledger.spent_before == spend_of(found)


@pytest.mark.parametrize("now", [{"version": "0.2.0"}, {"model": "gpt-other"}])
def test_another_runner_or_model_is_another_trial(now: dict[str, str], path: Path) -> None:
    """An answer is that of one version of one model's driver."""
    assert resumed(path, scored(a_trial()), **now).recall(a_trial()) is None


def test_what_never_ran_is_not_recorded(path: Path) -> None:
    """Nothing happened, so nothing is there to be used again."""
    ledger = a_ledger(path)
    ledger.record(Skipped(a_trial(), "an empty skill cannot be offered"))
    ledger.record(NotRun(a_trial(repetition=1), "the ceiling was reached"))
    ledger.writer.close()

    assert read(path).trials == {}


def test_a_run_says_why_it_ended_early(path: Path) -> None:
    """A ceiling was asked for; an outage was not."""
    ledger = a_ledger(path)
    at = datetime(2026, 3, 1, 12, 5, tzinfo=UTC)
    ledger.finished(Halt("the ceiling of $1.00 was reached", is_ceiling=True), at)
    ledger.writer.close()

    end = read(path).end
    assert end is not None
    assert (end.finished_at, end.halted, end.by_ceiling) == (
        at,
        "the ceiling of $1.00 was reached",
        True,
    )


def test_a_replay_has_what_the_last_run_had(path: Path) -> None:
    """Read anew where that is asked, and nothing of a run before it."""
    write(path, [a_run(), recorded(scored(a_trial(repetition=1)))])
    write(path, [a_run(run_id="run-2"), recorded(scored(a_trial()))])
    ledger = ReplayLedger(read(path))

    assert ledger.recall(a_trial()) == scored(a_trial())
    assert ledger.recall(a_trial(repetition=1)) is None


def test_each_leg_is_a_record_by_itself(tmp_path: Path) -> None:
    """The leg without the skill stands as a candidate of its own."""
    on, off = a_ledger(tmp_path / "on.jsonl"), a_ledger(tmp_path / "off.jsonl")
    legs = LegLedger(on, off)
    baseline = a_trial(arm="none")
    legs.record(scored(a_trial()))
    legs.record(scored(baseline, False))
    on.writer.close()
    off.writer.close()

    alone = replace(baseline, arm=Arm(Role.CANDIDATE, baseline.arm.skill))
    assert read(tmp_path / "on.jsonl").outcome_of(a_trial()) == scored(a_trial())
    found = read(tmp_path / "off.jsonl").outcome_of(alone)
    assert isinstance(found, Scored)
    assert found.trial.arm.role is Role.CANDIDATE


@pytest.mark.parametrize("change", CHANGES)
def test_a_fingerprint_tells_trials_apart(change: Callable[[Trial], Trial]) -> None:
    """By all that an outcome depends on."""
    assert fingerprint_of(a_trial(), VERSION, MODEL) != fingerprint_of(
        change(a_trial()), VERSION, MODEL
    )


def test_a_fingerprint_tells_arms_repetitions_and_runners_apart() -> None:
    """Where a skill was left unchanged too, each arm's trial is its own."""
    same_skill = replace(a_trial(), arm=replace(a_trial().arm, role=Role.BASELINE, baseline="base"))
    different = [
        a_trial(),
        same_skill,
        a_trial(repetition=1),
        a_trial(runner="scripted"),
        a_trial(case="another"),
        a_trial(skill="another"),
    ]

    prints = {fingerprint_of(trial, VERSION, MODEL) for trial in different}

    assert len(prints) == len(different)


def test_the_judge_makes_another_trial_of_a_case_with_a_rubric_alone() -> None:
    """Resuming mixes no judges, and asks nobody again who was never asked."""
    plain = a_trial()
    rubric = (Check("judge[0]", RubricLine(line="It names the order.")),)
    judged = replace(plain, case=replace(plain.case, checks=rubric))
    judges = (None, JudgedBy("scripted"), JudgedBy("openai", "gpt-5"), JudgedBy("openai", "o3"))

    def prints(trial: Trial) -> int:
        return len({fingerprint_of(trial, VERSION, MODEL, judge) for judge in judges})

    assert (prints(plain), prints(judged)) == (1, 4)


def test_a_fingerprint_does_not_depend_on_this_machine() -> None:
    """Where a skill's files lie, or its folder, reaches no model."""
    here = replace(a_trial().arm.skill, bundle=files("ab" * 32))
    bundle = Bundle(PurePosixPath("/y"), files("ab" * 32).files)
    there = replace(here, bundle=bundle, folder=PurePosixPath("moved"), commit="4ead" * 10)
    trials = [replace(a_trial(), arm=Arm(Role.CANDIDATE, skill)) for skill in (here, there)]

    one, other = (fingerprint_of(trial, VERSION, MODEL) for trial in trials)

    assert one == other
