"""A line is on the disk the moment it is written, without secrets; no disk ends the run."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from builders import a_transcript, a_trial
from ledger.records import Line, a_run, an_end, answered, read, recorded, unchanged, write
from skill_delta.core.transcript import ToolCall
from skill_delta.core.trials import CheckResult, Scored
from skill_delta.errors import UserError
from skill_delta.ledger import writer
from skill_delta.ledger.document import TrialLine
from skill_delta.ledger.reader import read_record
from skill_delta.ledger.writer import LINES_A_SYNC, SECONDS_A_SYNC, RecordWriter
from skill_delta.render.redaction import REDACTED, Redactor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def said(secret: str) -> TrialLine:
    """A trial that repeats a secret wherever it can."""
    call = ToolCall(f"tool {secret}", {f"key {secret}": [{"deep": f"a{secret}b"}]}, secret)
    transcript = replace(a_transcript(f"The key is {secret}."), tool_calls=(call,))
    checks = (CheckResult("contains[0]", False, f"found {secret}", 0.0),)
    return recorded(Scored(a_trial(), transcript, checks))


def calling(arguments: dict[str, JsonValue]) -> TrialLine:
    transcript = replace(a_transcript(), tool_calls=(ToolCall("lookup", arguments),))
    return recorded(Scored(a_trial(), transcript, ()))


def nested(depth: int) -> JsonValue:
    value: JsonValue = 1
    for _ in range(depth):
        value = [value]
    return value


# ---------------------------------------------------------------- what is written


def test_every_line_is_there_before_the_next(path: Path) -> None:
    """A kill after a trial leaves that trial: nothing waits in this process."""
    lines: list[Line] = [a_run(), answered(0), answered(1)]
    with RecordWriter(path, unchanged, lambda: 0.0) as open_record:
        for count, line in enumerate(lines, start=1):
            open_record.write(line)
            assert path.read_bytes().count(b"\n") == count


def test_the_disk_is_waited_for_in_batches(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many lines, or with the first line after a second; and at the end."""
    now, synced = [0.0], list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    open_record = RecordWriter(path, unchanged, lambda: now[0])

    for repetition in range(LINES_A_SYNC - 1):
        open_record.write(answered(repetition))
    assert len(synced) == 0
    open_record.write(answered(LINES_A_SYNC))
    assert len(synced) == 1
    now[0] += SECONDS_A_SYNC
    open_record.write(answered(LINES_A_SYNC + 1))
    assert len(synced) == 2
    open_record.close()
    assert len(synced) == 3


def test_later_steps_of_a_workflow_may_read_it(path: Path) -> None:
    """And only its owner may write it."""
    before = os.umask(0)
    try:
        write(path, [a_run()])
    finally:
        os.umask(before)

    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_what_is_there_already_is_kept(path: Path) -> None:
    """A record only grows."""
    write(path, [a_run(), answered(0)])
    before = path.read_bytes()

    write(path, [a_run(run_id="run-2")])

    assert path.read_bytes().startswith(before)


@pytest.mark.parametrize("text", ["\ud83d", "\x00\x1b[31m", "\u2028\x85\r\n", "ключ😀", '"\\'])
def test_a_record_is_lines_of_ascii_whatever_was_said(text: str, path: Path) -> None:
    """Half a surrogate pair and every kind of line break included."""
    line = answered(answer=text)
    write(path, [a_run(), line])

    assert path.read_bytes().isascii()
    assert path.read_bytes().count(b"\n") == 2
    assert read(path).trials[line.key] == line


# ---------------------------------------------------------------- secrets

SECRETS = {
    "quotes": 'pass"word"1234',
    "backslashes": r"dom\user\n0tnewline",
    "unicode": "pässwörd-ключ-😀-9",
    "markup": "a<b>&c|d$e;f'g#1",
    "lines": "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----",
    "vendor": "sk-test-0123456789abcdefghij",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_a_secret_is_nowhere_in_a_record(secret: str, path: Path) -> None:
    """Neither as it is nor as JSON spells it, and each line stays one that is read."""
    write(path, [a_run(), said(secret), an_end()], Redactor([secret]).redact)

    record = path.read_text()
    texts = "\n".join(each for line in record.splitlines() for each in texts_of(json.loads(line)))

    for part in secret.splitlines():
        assert part not in texts
        assert json.dumps(part)[1:-1] not in record
    assert REDACTED in texts
    assert list(read(path).trials) == [said(secret).key]


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=8, max_size=30))
def test_no_secret_breaks_a_line(tmp_path_factory: pytest.TempPathFactory, secret: str) -> None:
    """Texts are redacted before they are escaped, so no half of an escape is left behind."""
    path = tmp_path_factory.mktemp("record") / "run.jsonl"
    redact = Redactor([secret]).redact
    write(path, [a_run(), said(secret)], redact)

    texts = list(texts_of(json.loads(path.read_text().splitlines()[1])))

    assert texts == [redact(text) for text in texts]
    assert read_record(path) is not None


def texts_of(value: JsonValue) -> list[str]:
    """Every text in it, keys included."""
    if isinstance(value, dict):
        return [*value, *(text for each in value.values() for text in texts_of(each))]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each)]
    return [value] if isinstance(value, str) else []


# ---------------------------------------------------------------- what cannot be written


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link(path: Path) -> None:
    path.symlink_to(path.with_name("elsewhere"))


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("a file")


@pytest.mark.parametrize("make", [a_folder, a_link, os.mkfifo, below_a_file])
def test_a_place_for_no_record_is_refused_before_anything_is_spent(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    """With its path; and nothing is created behind a link."""
    folder = tmp_path / "records"
    folder.mkdir()
    make(folder / "run.jsonl")

    with pytest.raises(UserError, match=r"records/run\.jsonl"):
        RecordWriter(folder / "run.jsonl", unchanged, lambda: 0.0)
    assert not (folder / "elsewhere").exists()


def test_two_runs_cannot_write_one_record(path: Path) -> None:
    """Each would be taken for a part of the other; once the first has ended, it can be resumed."""
    with RecordWriter(path, unchanged, lambda: 0.0) as first:
        first.write(a_run())
        with pytest.raises(UserError, match="another run is writing"):
            RecordWriter(path, unchanged, lambda: 0.0)

    write(path, [a_run(run_id="run-2")])
    assert read(path).run.run_id == "run-2"


FILL_THE_DISK = """
import resource, sys
from pathlib import Path
from ledger.records import a_run, answered, unchanged
from skill_delta.ledger.writer import RecordWriter

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
with RecordWriter(Path(sys.argv[1]), unchanged, lambda: 0.0) as record:
    record.write(a_run())
    for repetition in range(20):
        record.write(answered(repetition))
print(record.problem)
"""


def test_a_full_disk_ends_no_run(path: Path) -> None:
    """What fitted is there and can be resumed; what went wrong is told."""
    write(path, [a_run(), answered(0)])
    room = path.stat().st_size + 3 * len(path.read_bytes().splitlines()[1]) // 2
    path.unlink()

    tests = os.pathsep.join(sys.path)
    filled = subprocess.run(
        [sys.executable, "-c", FILL_THE_DISK, str(path), str(room)],
        env={**os.environ, "PYTHONPATH": tests},
        capture_output=True,
        text=True,
        check=True,
    )

    assert filled.stdout == f"the record {path} could not be written: File too large\n"
    assert path.stat().st_size == room
    assert list(read(path).trials) == [answered(0).key, answered(1).key]
    write(path, [a_run(), answered(0), answered(1), answered(2)])
    assert len(read(path).of_last_run) == 3


@pytest.mark.parametrize("depth", [300, 600, 5_000])
def test_what_nests_too_deeply_to_be_written_ends_no_run(depth: int, path: Path) -> None:
    """A model can send it. That trial is not in the record, which is told; the next ones are."""
    with RecordWriter(path, unchanged, lambda: 0.0) as open_record:
        open_record.write(a_run())
        open_record.write(calling({"a": nested(depth)}))
        open_record.write(answered(1))

    assert "depth" in open_record.problem
    assert list(read(path).trials) == [answered(1).key]


@pytest.mark.parametrize("depth", [1, 64, 200])
def test_what_is_written_can_be_read(depth: int, path: Path) -> None:
    """However deep a call's arguments are, short of that."""
    line = calling({"a": nested(depth)})
    written = write(path, [a_run(), line])

    assert written.problem == ""
    assert read(path).trials[line.key] == line


def test_a_disk_that_gives_out_at_the_end_ends_no_run(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A network disk may say only as the file is closed that there was no room."""

    def no_room(file: int) -> None:
        real_close(file)
        raise OSError(28, "No space left on device")

    real_close = os.close
    open_record = RecordWriter(path, unchanged, lambda: 0.0)
    open_record.write(a_run())
    with monkeypatch.context() as broken:
        broken.setattr(os, "close", no_room)
        open_record.close()

    assert "No space left on device" in open_record.problem


def test_a_line_that_no_reader_takes_is_not_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One trial is lost and said to be, and not the whole record."""
    monkeypatch.setattr(writer, "LONGEST_LINE", 20_000)
    with RecordWriter(path, unchanged, lambda: 0.0) as record:
        record.write(a_run())
        record.write(replace(answered(0), error="x" * 30_000))
        record.write(answered(1))
        problem = record.problem

    assert "lacks a line of 30," in problem
    assert list(read(path).trials) == [answered(1).key]
