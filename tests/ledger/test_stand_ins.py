"""A record tells apart all that its run told apart, and holds no secret."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue, TypeAdapter

from builders import a_case, a_trial, an_arm, scored
from ledger.records import (
    MODEL,
    VERSION,
    a_run,
    a_subject,
    an_end,
    read,
    recorded,
    unchanged,
    write,
)
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.looks import Looks
from skill_delta.core.policy import GatePolicy, Verdict
from skill_delta.core.scores import Spend
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, Scored, Subject
from skill_delta.errors import UserError
from skill_delta.grading import graded
from skill_delta.ledger.document import TrialLine, fingerprint_of
from skill_delta.ledger.ledgers import RecordLedger
from skill_delta.ledger.reader import read_record
from skill_delta.ledger.stand_ins import StandIns, renamed
from skill_delta.ledger.writer import RecordWriter
from skill_delta.preparation import RunRequest
from skill_delta.render.redaction import REDACTED, Redactor
from skill_delta.wiring.replay import report_of

KEYS = ("ghp_" + "A1b2" * 9, "ghp_" + "B1b2" * 9, "sk-" + "0123456789abcdef" * 2)
SECRETS = ("pa55-word!", "ghp_" + "C1b2" * 9)
"""Known as such, where keys only look like ones."""

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
confusing = st.sampled_from(
    ["", REDACTED, f"{REDACTED} #2", f"{REDACTED} #3", " #2", *KEYS, *SECRETS]
)
names = st.lists(plain | confusing, max_size=4).map("".join)
some_names = st.lists(names, min_size=1, max_size=8, unique=True)
"""Names with secrets in them, names that look like others whose secrets were taken out."""


def redact() -> Redactor:
    return Redactor(SECRETS)


def asked(policy: GatePolicy) -> JsonValue:
    """What a run's head says that it was asked."""
    request: JsonValue = TypeAdapter(RunRequest).dump_python(RunRequest(policy=policy), mode="json")
    return request


@settings(deadline=None)
@given(some_names, st.lists(names, max_size=8))
def test_texts_that_differ_have_stand_ins_that_differ(
    settled: Sequence[str], again: Sequence[str]
) -> None:
    """Whatever else is settled, in whatever order; and each keeps its own."""
    stand_ins = StandIns(redact().redact)
    first = {text: stand_ins.settle(text) for text in settled}

    for text in again:
        stand_ins.settle(text)

    assert len(set(first.values())) == len(settled)
    assert first == {text: stand_ins.settle(text) for text in settled}
    assert all(stand_ins.of(text) == stand_in for text, stand_in in first.items())


@settings(deadline=None)
@given(st.dictionaries(names, plain, max_size=6))
def test_keys_that_differ_still_do(value: dict[str, JsonValue]) -> None:
    """A tool's arguments may be keyed by secrets. Done once more, nothing changes."""
    once = renamed(value, redact().redact)

    assert isinstance(once, dict)
    assert list(once.values()) == [redact().redact(str(each)) for each in value.values()]
    assert renamed(once, redact().redact) == once


def a_suite(labels: Sequence[str], cases: Sequence[str]) -> list[Subject]:
    """A skill of each name, with a case of each name."""
    return [
        Subject(label, an_arm(), (), tuple(a_case(name, f"called:{name}") for name in cases))
        for label in labels
    ]


@settings(deadline=None, max_examples=40)
@given(st.data(), some_names, some_names)
def test_a_case_that_failed_fails_in_the_record_whatever_it_is_called(
    data: st.DataObject, labels: Sequence[str], cases: Sequence[str]
) -> None:
    """One of them all failed: as many cases, the same numbers, the same verdict, no secret."""
    failed = (data.draw(st.sampled_from(labels)), data.draw(st.sampled_from(cases)))
    trials = [
        (a_trial(case.name, case.checks[0].id, skill=subject.label), (subject.label, case.name))
        for subject in a_suite(labels, cases)
        for case in subject.cases
    ]
    bar = GatePolicy(skill_min_pass_rate={failed[0]: 1.0}, min_pass_rate=0.0)
    head = replace(a_run(*a_suite(labels, cases)), request=asked(bar))
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        lines = [recorded(scored(trial, name != failed)) for trial, name in trials]
        write(path, [head, *lines, an_end()], redact().redact)
        text, record = path.read_text(), read(path)

    report, _ = report_of(record)

    assert not any(secret in text for secret in SECRETS)
    assert len({(s.label, c.name) for s in record.subjects for c in s.cases}) == len(trials)
    assert (report.summary.passed, report.summary.failed) == (len(trials) - 1, 1)
    assert report.summary.not_run == 0
    assert report.gate.verdict is Verdict.FAIL


@settings(deadline=None, max_examples=40)
@given(some_names, some_names)
def test_a_run_finds_its_own_trials_again(labels: Sequence[str], cases: Sequence[str]) -> None:
    """Each its own, with the names that it has outside; the record is whole, nothing billed."""
    head = a_run(*a_suite(labels, cases))
    trials = [
        a_trial(case.name, case.checks[0].id, skill=subject.label)
        for subject in a_suite(labels, cases)
        for case in subject.cases
    ]
    outcomes = [scored(trial, answer=f"answer {number}") for number, trial in enumerate(trials)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        write(path, [head, *map(recorded, outcomes), an_end()], redact().redact)
        with RecordWriter(path, redact().redact, lambda: 0.0) as writer:
            versions, models = {trials[0].runner: VERSION}, {trials[0].runner: MODEL}
            ledger = RecordLedger(writer, versions, models, read(path))
            writer.write(head)
            recalled = [ledger.recall(trial) for trial in trials]
        resumed = read(path)

    assert recalled == outcomes
    assert len(resumed.of_last_run) == len(trials)
    assert resumed.superseded.usage.tokens == 0


def judged_by_names() -> Errored:
    """An answer to a rubric whose lines differ by a secret alone; one of them is not met."""
    lines = [RubricLine(line=f"It names {name}.", expected=SECRETS[0]) for name in SECRETS]
    checks = tuple(Check(f"judge[{number}]", line) for number, line in enumerate(lines))
    trial = replace(a_trial(), case=replace(a_case("named"), checks=checks))
    verdicts: list[JsonValue] = [
        {"line": 0, "passed": True, "evidence": "order", "reason": f"It is {SECRETS[0]}."},
        {"line": 1, "passed": False, "evidence": "", "reason": f"No {SECRETS[1]} in it."},
    ]
    judging = Judging(
        JudgedBy("openai", f"model-{SECRETS[1]}"),
        tuple(line.line for line in lines),
        SECRETS[0],
        (json.dumps({"verdicts": verdicts}),),
        Usage(7, 3),
        0.5,
    )
    answer = scored(trial, answer="order 1234")
    assert isinstance(answer, Scored)
    reason = "judge: it gave out"
    return Errored(trial, reason, Usage(5, 5), 0.25, answer.transcript, judging)


def test_what_was_said_of_each_line_stays_with_it(tmp_path: Path) -> None:
    """Lines that are alike but for a secret keep their verdicts, and no secret is in the record."""
    lost, path = judged_by_names(), tmp_path / "run.jsonl"
    assert lost.transcript is not None
    answered = graded(lost.trial, lost.transcript, lost.judging)
    head = a_run(replace(a_subject(), baselines=(), cases=(lost.trial.case,)))
    policy = GatePolicy(looks=Looks(1, 1))
    write(
        path, [replace(head, request=asked(policy)), recorded(answered), an_end()], redact().redact
    )

    regraded, _ = report_of(read(path), regrade=True)

    (found,) = regraded.outcomes
    assert isinstance(answered, Scored)
    assert isinstance(found, Scored)
    assert [check.passed for check in found.checks] == [True, False]
    assert [check.passed for check in answered.checks] == [True, False]
    assert not any(secret in path.read_text() for secret in SECRETS)


def test_an_answer_that_lacks_a_verdict_is_found_by_its_own_name(tmp_path: Path) -> None:
    """To be judged, and not to run: what it cost before is in the record's bill once."""
    unread, path = judged_by_names(), tmp_path / "run.jsonl"
    assert unread.judging is not None
    lost = replace(unread, judging=replace(unread.judging, replies=(), error="it gave out"))
    by, head = unread.judging.judge, a_run(replace(a_subject(), cases=(lost.trial.case,)))
    fingerprint = fingerprint_of(lost.trial, VERSION, MODEL, by)
    write(path, [head, TrialLine.of(lost, fingerprint), an_end()], redact().redact)
    before = read(path)

    with RecordWriter(path, redact().redact, lambda: 0.0) as writer:
        runner = lost.trial.runner
        ledger = RecordLedger(writer, {runner: VERSION}, {runner: MODEL}, before, judge=by)
        writer.write(head)
        recalled = ledger.recall(lost.trial)

    assert isinstance(recalled, Errored)
    assert recalled.lacks_a_verdict
    assert recalled.trial == lost.trial
    assert before.spent == read(path).spent == Spend(Usage(12, 8), 0.75)
    assert ledger.spent_before == Spend()


def test_a_check_is_known_again_by_its_place(tmp_path: Path) -> None:
    """A record in which one is missing was not written by a run: its trial runs again."""
    two = replace(a_trial(), case=a_case("two", "called:a", "called:b"))
    subject = replace(a_subject(), cases=(two.case,))
    path = tmp_path / "run.jsonl"
    whole = scored(two)
    assert isinstance(whole, Scored)
    cut = recorded(replace(whole, checks=whole.checks[:1]))
    write(path, [a_run(subject), cut])

    with RecordWriter(path, unchanged, lambda: 0.0) as writer:
        ledger = RecordLedger(writer, {two.runner: VERSION}, {two.runner: MODEL}, read(path))

        assert ledger.recall(two) is None
    assert ledger.spent_before == cut.spend
    assert len(ledger.stale) == 1


def spoil_skills(run: dict[str, list[dict[str, list[JsonValue]]]]) -> None:
    run["subjects"].append(run["subjects"][0])


def spoil_cases(run: dict[str, list[dict[str, list[JsonValue]]]]) -> None:
    run["subjects"][0]["cases"].append(run["subjects"][0]["cases"][0])


def spoil_arms(run: dict[str, list[dict[str, list[JsonValue]]]]) -> None:
    run["subjects"][0]["baselines"].append(run["subjects"][0]["baselines"][0])


@pytest.mark.parametrize("spoil", [spoil_skills, spoil_cases, spoil_arms])
def test_a_record_whose_names_are_no_names_is_refused(spoil: object, tmp_path: Path) -> None:
    """One answer would be read as that of both: what failed might pass."""
    path = tmp_path / "run.jsonl"
    write(path, [a_run()])
    run = json.loads(path.read_text())
    assert callable(spoil)
    spoil(run)
    path.write_text(json.dumps(run) + "\n")

    with pytest.raises(UserError, match="share a name"):
        read_record(path)
