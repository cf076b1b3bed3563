"""What a killed run left is read as far as it goes; what is no record is refused in one line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import Cost, a_trial, scored
from ledger.records import a_run, an_end, answered, lost, read, recorded, write
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.scores import Spend
from skill_delta.core.transcript import Usage
from skill_delta.errors import UserError
from skill_delta.ledger import reader
from skill_delta.ledger.document import LINES, TrialLine
from skill_delta.ledger.reader import read_record

LONGEST_MESSAGE = 1_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def problem(path: Path) -> UserError:
    """What is said of a file that is no record."""
    with pytest.raises(UserError) as refused:
        read_record(path)
    return refused.value


def head() -> Any:
    """The head of a record, as JSON has it."""
    return json.loads(json.dumps(LINES.dump_python(a_run(), mode="json")))


def nested(depth: int) -> str:
    """A JSON object of that many levels."""
    return '{"a":' * depth + "1" + "}" * depth


# ---------------------------------------------------------------- killed


def test_a_record_cut_anywhere_is_read_as_far_as_it_goes(path: Path) -> None:
    """Killed at any byte: no error, and the trials that were whole by then, in their order."""
    lines = [answered(repetition) for repetition in range(3)]
    write(path, [a_run(), *lines, an_end()])
    data, cut = path.read_bytes(), path.with_name("cut.jsonl")
    whole = [line.key for line in lines]

    for length in range(len(data) + 1):
        cut.write_bytes(data[:length])
        record = read_record(cut)
        ended = data[:length].count(b"\n")

        found = list(record.trials) if record else []
        # A line whose last byte is there is whole, newline or not.
        assert found in (whole[: max(0, ended - 1)], whole[:ended])
        assert record is not None or ended == 0


def test_a_run_goes_on_behind_half_a_line(path: Path) -> None:
    """Wherever it was cut: what the next run appends is never glued to what was left."""
    write(path, [a_run(), answered(0), an_end()])
    data = path.read_bytes()

    for length in range(0, len(data) + 1, 5):
        path.write_bytes(data[:length])
        write(path, [a_run(run_id="run-2"), answered(1)])
        record = read(path)

        assert record.run.run_id == "run-2"
        assert record.of_last_run == {answered(1).key}
        assert record.end is None


def test_half_a_line_that_no_run_follows_is_refused(path: Path) -> None:
    """A killed run leaves nothing behind it but another run: there someone has cut a line."""
    write(path, [a_run(), answered(0), answered(1)])
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:40] + b"\n" + third)

    refused = problem(path)

    assert refused.place is not None
    assert refused.place.line == 2


@pytest.mark.parametrize("half", [b"", b'{"line": "tri'])
def test_what_a_power_cut_leaves_is_left_out(half: bytes, path: Path) -> None:
    """A file that grew before its bytes were there ends in zeros; a run goes on behind them."""
    write(path, [a_run(), answered(0)])
    path.write_bytes(path.read_bytes() + half + b"\0" * 4096)

    assert list(read(path).trials) == [answered(0).key]
    write(path, [a_run(run_id="run-2"), answered(1)])
    assert read(path).of_last_run == {answered(1).key}


def test_trials_that_no_skill_of_the_run_has_are_counted(path: Path) -> None:
    """Of another case, skill or baseline: no report has them, and their number is known."""
    strangers = [
        a_trial(case="another"),
        a_trial(skill="another"),
        a_trial(arm="none"),
        a_trial(case="another", repetition=1),
    ]
    lines = [recorded(scored(trial)) for trial in (a_trial(), a_trial(arm="previous"), *strangers)]
    write(path, [a_run(), *lines])

    record = read(path)

    assert record.of_none(record.subjects) == len(strangers)


def test_the_last_run_is_the_one_that_is_read(path: Path) -> None:
    """Trials of an earlier one are there to be taken over, and are none of its own."""
    write(path, [a_run(), answered(0), answered(1), an_end()])
    write(path, [a_run(run_id="run-2"), answered(1), an_end("the ceiling was reached")])

    record = read(path)

    assert record.run.run_id == "run-2"
    assert set(record.trials) == {answered(0).key, answered(1).key}
    assert record.outcome_of(a_trial(repetition=0)) is None
    assert record.outcome_of(a_trial(repetition=1)) == scored(a_trial(repetition=1))
    assert record.end == an_end("the ceiling was reached")


def test_the_last_of_two_lines_for_a_trial_counts(path: Path) -> None:
    """A trial that was lost and then answered is answered; what it cost before is known."""
    write(path, [a_run(), recorded(lost(tokens=40, cost_usd=0.01))])
    write(path, [a_run(), answered(0)])

    record = read(path)

    assert record.outcome_of(a_trial()) == scored(a_trial())
    assert record.superseded == Spend(Usage(40, 0), 0.01)


@pytest.mark.parametrize("times", [1, 2, 4])
def test_a_trial_lost_in_the_same_way_each_time_was_paid_for_each_time(
    times: int, path: Path
) -> None:
    """Two runs that lost it alike leave two equal lines, and two bills."""
    for _ in range(times):
        write(path, [a_run(), recorded(lost(tokens=40, cost_usd=0.5))])

    again = times - 1
    assert read(path).superseded == Spend(Usage(40 * again, 0), 0.5 * again)


def test_an_answer_that_was_taken_over_was_paid_for_once(path: Path) -> None:
    """A resumed run writes it again, so that its part of the record is whole by itself."""
    for _ in range(3):
        write(path, [a_run(), answered(0)])

    assert read(path).superseded == Spend()


def test_all_that_a_record_cost_is_known(path: Path) -> None:
    """Answers once, however often they were taken over; what was lost as often as it was."""
    other = recorded(lost(a_trial(case="another"), tokens=7, cost_usd=0.25))
    for _ in range(2):
        write(path, [a_run(), recorded(lost(tokens=40, cost_usd=0.5)), other])
    for _ in range(2):
        write(path, [a_run(), answered(0)])

    of_answer = answered(0).spend
    assert read(path).spent == of_answer + Spend(Usage(2 * 40 + 2 * 7, 0), 2 * 0.5 + 2 * 0.25)


def test_what_judging_cost_is_a_part_of_what_was_superseded(path: Path) -> None:
    """Of a trial that was lost, and of one that was answered and then run again."""
    judging = Judging(JudgedBy("openai", "gpt-5"), (), "", (), Usage(7, 0), 0.25)
    gone = replace(lost(tokens=40, cost_usd=0.5), judging=judging)
    answer = scored(a_trial(), cost=Cost(100, 0.125))
    write(path, [a_run(), recorded(gone)])
    write(path, [a_run(), recorded(replace(answer, judging=judging))])
    write(path, [a_run(), recorded(answer)])

    assert read(path).superseded.cost_usd == 0.5 + 0.25 + 0.125 + 0.25
    assert read(path).superseded.usage.tokens == 40 + 7 + 100 + 7


# ---------------------------------------------------------------- no record


@pytest.mark.parametrize(
    ("spoiled", "line", "words"),
    [
        (b"hello\n", 2, "no line of a run record"),
        (b"[]\n", 2, "no line of a run record"),
        (b"null\n", 2, "no line of a run record"),
        (b'\n\n{"line": "later"}\n', 4, "no line of a run record"),
        (b'{"line": "trial"}\n', 2, "key"),
        (b'{"line": "run", "record_version": 2}\n', 2, "version 2"),
        (b'{"line": "later", "record_version": "1.1"}\n', 2, "version 1.1"),
        (b"[" * 100_000 + b"\n", 2, "nests too deeply"),
        (f'{{"line": "trial", "x": {nested(100_000)}}}\n'.encode(), 2, "nests too deeply"),
    ],
    ids=["text", "list", "null", "unknown", "keyless", "newer", "newer text", "deep", "deep line"],
)
def test_a_line_that_is_none_of_ours_is_refused_with_its_number(
    spoiled: bytes, line: int, words: str, path: Path
) -> None:
    """Nothing is guessed at, wherever it stands."""
    write(path, [a_run()])
    path.write_bytes(path.read_bytes() + spoiled)

    refused = problem(path)

    assert words in refused.problem
    assert refused.place is not None
    assert (refused.place.file, refused.place.line) == (str(path), line)


def test_a_record_of_a_later_version_says_what_reads_it(path: Path) -> None:
    """Whatever else that version has in its lines."""
    path.write_text(json.dumps({"line": "run", "record_version": 2, "new": True}) + "\n")

    assert "newer skill-delta" in problem(path).hint


def test_keys_that_a_later_program_adds_are_passed_over(path: Path) -> None:
    """A record of this version stays readable when its lines come to hold more."""
    trial = LINES.dump_python(answered(), mode="json")
    lines = [{**head(), "extra": 1}, {**trial, "extra": {"a": [1]}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert read(path).trials == {answered().key: answered()}


def test_a_record_begins_with_a_run(path: Path) -> None:
    """A trial of no run says nothing."""
    write(path, [answered(), a_run()])

    assert "does not begin with a run" in problem(path).problem


def test_a_trial_that_is_neither_answered_nor_lost_is_no_outcome() -> None:
    """Nothing measured is never taken for a pass."""
    nothing = TrialLine(key=answered().key, fingerprint="", transcript=None)

    with pytest.raises(ValueError, match="neither an answer nor an error"):
        nothing.outcome_of(a_trial())


def test_a_line_longer_than_any_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it is read whole."""
    monkeypatch.setattr(reader, "LONGEST_LINE", 2_000)
    write(path, [a_run(), answered(0, answer="x" * 3_000)])

    refused = problem(path)

    assert "longer than any" in refused.problem
    assert refused.place is not None
    assert refused.place.line == 2


def spoil_kind(run: Any) -> None:
    run["subjects"][0]["cases"][0]["checks"][0]["kind"] = "Nosuch\n::error::" + "x" * 100_000


def spoil_version(run: Any) -> None:
    run["record_version"] = "\n::error::" + "x" * 100_000


def spoil_suite_changes(run: Any) -> None:
    run["suite_changes"] = {"\n::error::" + "x" * 100_000: [{}]}


def spoil_tool(run: Any) -> None:
    run["subjects"][0]["cases"][0]["tools"] = [
        {"name": "x", "description": "", "input_schema": {}, "returns": {"shell": "id"}}
    ]


def spoil_lookup(run: Any) -> None:
    spoil_tool(run)
    run["subjects"][0]["cases"][0]["tools"][0]["returns"] = {"lookup": [{"value": "no when"}]}


def spoil_values(run: Any) -> None:
    check = run["subjects"][0]["cases"][0]["checks"][0]
    check.update(kind="Regex", values={"kind": "regex", "value": "("})


def spoil_depth(run: Any) -> None:
    check = run["subjects"][0]["cases"][0]["checks"][0]
    check.update(kind="CallArgs", values={"tool": "x", "equals": json.loads(nested(220))})


def spoil_request(run: Any) -> None:
    run["request"] = json.loads(nested(400))


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_kind,
        spoil_version,
        spoil_suite_changes,
        spoil_tool,
        spoil_lookup,
        spoil_values,
        spoil_depth,
        spoil_request,
    ],
)
def test_a_head_made_to_do_harm_is_refused_in_one_short_line(
    spoil: Callable[[Any], None], path: Path
) -> None:
    """A record may come from an artifact that anyone wrote."""
    run = head()
    spoil(run)
    path.write_text(json.dumps(run) + "\n")

    refused = problem(path)

    assert "\n" not in refused.problem
    assert len(refused.problem) < LONGEST_MESSAGE


# ---------------------------------------------------------------- no file


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link(path: Path) -> None:
    target = path.with_name("target.jsonl")
    write(target, [a_run()])
    path.symlink_to(target)


def nothing(path: Path) -> None:
    """There is none."""


@pytest.mark.parametrize("make", [nothing, a_folder, a_link, os.mkfifo])
def test_only_a_regular_file_is_a_record(make: Callable[[Path], None], path: Path) -> None:
    """Nothing else is opened for long: a pipe would never end, a link may lead anywhere."""
    make(path)

    assert str(path) in problem(path).problem


def test_an_empty_file_holds_no_run(path: Path) -> None:
    """So a run that was killed before its first line can be resumed."""
    path.write_bytes(b"")

    assert read_record(path) is None
