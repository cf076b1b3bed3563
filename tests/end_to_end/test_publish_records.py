"""A published record is data of a stranger: changed, made up, hostile, or no record at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from github_job import NUMBER
from read_only_run import CURT, HASTY, KINDER, Lines, Measure, trials
from skill_delta.wiring.publish import RECORD_BYTES


def all_checks_passed(lines: Lines) -> None:
    for line in trials(lines):
        for check in line["checks"]:
            check |= {"passed": True, "score": 1.0}


def the_bar_is_lower(lines: Lines) -> None:
    lines[0]["request"]["policy"] |= {"min_delta": {}, "min_pass_rate": None, "method": "point"}


def there_are_verdicts(lines: Lines) -> None:
    for line in lines:
        line |= {"verdict": "pass", "gate": {"passed": True, "exit_code": 0}, "passed": True}


@pytest.mark.parametrize("tamper", [all_checks_passed, the_bar_is_lower, there_are_verdicts])
def test_a_verdict_that_was_tampered_with_is_worked_out_anew(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """Checks run again over the answers; what a record says of itself decides nothing."""
    scene = measured(CURT)
    scene.edit(tamper)

    finished = scene.published()

    assert finished.exit_code == 1
    assert finished.outputs["delta"] == "-0.5"
    assert "gate failed" in scene.comments[0]


def a_case_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"][0]["cases"].append(lines[0]["subjects"][0]["cases"][0])


def a_skill_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"].append(lines[0]["subjects"][0])


def a_baseline_counts_twice(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"].append(lines[0]["subjects"][0]["baselines"][0])


def a_baseline_is_the_candidate(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"][0]["role"] = "candidate"


def the_candidate_is_a_baseline(lines: Lines) -> None:
    lines[0]["subjects"][0]["candidate"]["baseline"] = "previous"


def the_comparison_is_gone(lines: Lines) -> None:
    lines[0]["subjects"][0]["baselines"] = []
    lines[0]["sources"] = []


def a_source_counts_twice(lines: Lines) -> None:
    gone = {"reason": "no earlier version", "message": "none"}
    lines[0]["sources"].append({**lines[0]["sources"][0], "version": gone})


def only_its_source_is_gone(lines: Lines) -> None:
    lines[0]["sources"] = []


def an_objection_speaks_for_it(lines: Lines) -> None:
    lines[0]["objections"] = [{"text": "all is well", "verdict": "pass"}]


def a_cost_is_no_number(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["cost_usd"] = float("nan")


def a_cost_is_infinite(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["cost_usd"] = float("inf")


def a_latency_is_negative(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["latency_ms"] = -1e300


def tokens_are_negative(lines: Lines) -> None:
    trials(lines)[0]["transcript"]["usage"] = {"input_tokens": -5, "output_tokens": 0}


def the_bill_is_huge(lines: Lines) -> None:
    lines[-1]["spent_before"] = {"usage": {"input_tokens": 10**40, "output_tokens": 0}}


def a_time_has_no_zone(lines: Lines) -> None:
    lines[0]["started_at"] = "2026-11-30T12:00:00"


def the_skill_is_another(lines: Lines) -> None:
    lines[0]["subjects"][0]["candidate"]["skill"]["folder"] = "skills/other"


def it_is_a_working_copy(lines: Lines) -> None:
    lines[0]["is_working_copy"] = True


def it_is_of_no_commit(lines: Lines) -> None:
    lines[0]["head"] = "../../../repos/octo/skills/issues/7/comments"


def it_is_of_a_later_version(lines: Lines) -> None:
    lines[0]["record_version"] = 2


def a_check_is_none(lines: Lines) -> None:
    lines[0]["subjects"][0]["cases"][0]["checks"] = [{"kind": "no such kind"}]


def its_head_is_gone(lines: Lines) -> None:
    del lines[0]


IMPOSSIBLE = [
    a_case_counts_twice,
    a_skill_counts_twice,
    a_baseline_counts_twice,
    a_baseline_is_the_candidate,
    the_candidate_is_a_baseline,
    the_comparison_is_gone,
    a_source_counts_twice,
    only_its_source_is_gone,
    an_objection_speaks_for_it,
    a_cost_is_no_number,
    a_cost_is_infinite,
    a_latency_is_negative,
    tokens_are_negative,
    the_bill_is_huge,
    a_time_has_no_zone,
    the_skill_is_another,
    it_is_a_working_copy,
    it_is_of_no_commit,
    it_is_of_a_later_version,
    a_check_is_none,
    its_head_is_gone,
]


@pytest.mark.parametrize("tamper", IMPOSSIBLE)
def test_a_record_that_no_run_can_have_written_is_no_verdict(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """It is told on the pull request, and is no pass."""
    scene = measured(KINDER)
    scene.edit(tamper)

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert finished.outputs["passed"] == "false"
    assert "not measured" in scene.words.splitlines()[1]
    assert str(scene.workspace) not in scene.words
    assert scene.statuses == ["error"]


def trials_are_missing(lines: Lines) -> None:
    lines.remove(trials(lines)[-1])


def it_was_killed(lines: Lines) -> None:
    del lines[-2:]


@pytest.mark.parametrize("tamper", [trials_are_missing, it_was_killed])
def test_a_record_that_is_not_whole_is_not_measured(
    tamper: Callable[[Lines], None], measured: Measure
) -> None:
    """What is missing may be what speaks against it."""
    scene = measured(KINDER)
    scene.edit(tamper)

    assert scene.published().exit_code == 3
    assert "not measured" in scene.comments[0].splitlines()[1]


def test_a_look_that_is_missing_leaves_the_verdict_open(measured: Measure) -> None:
    """The first look alone would be inconclusive, and pass."""
    scene = measured(HASTY)
    assert "3 of 3 planned looks" in scene.published().summary

    def only_the_first_look(lines: Lines) -> None:
        lines[:] = [
            line for line in lines if line["line"] != "trial" or line["key"]["repetition"] < 3
        ]

    scene.edit(only_the_first_look)

    assert scene.published().exit_code == 3


def test_a_record_of_another_commit_is_no_verdict(measured: Measure) -> None:
    """The artifact of an earlier push may be passed off as this one's."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(head="d" * 40))
    scene.github.repository.git.parents["d" * 40] = ["e" * 40, "f" * 40]

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert "the record is of another commit" in scene.comments[0]
    assert scene.statuses == ["error"]


def test_a_merge_into_another_base_is_no_verdict(measured: Measure) -> None:
    """The base that the comment names is the merge commit's own."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(base="d" * 40))

    assert scene.published().exit_code == 2


def test_a_commit_that_github_does_not_know_is_no_verdict(measured: Measure) -> None:
    """Nobody can say what was measured."""
    scene = measured(KINDER)
    scene.edit(lambda lines: lines[0].update(head="d" * 40))

    assert scene.published().exit_code == 2


HOSTILE = (
    "::error::owned\n::set-output name=passed::true\n##[error]x\n"
    "<!-- skill-delta:v1 id=skill-delta run=1 attempt=1 --> @octocat fixes #1 "
    "![x](https://evil.example/x.png) </details> ghp_0123456789abcdefghijABCDEFGHIJ"
)


def commands_in(log: str) -> list[str]:
    """The lines that the runner takes for commands, given what is stopped."""
    active, token = [], None
    for line in map(str.strip, log.splitlines()):
        if token is not None:
            token = None if line == f"::{token}::" else token
        elif line.startswith("::stop-commands::"):
            token = line.removeprefix("::stop-commands::")
        elif line.startswith("::") or "##[" in line:
            active.append(line)
    return active


def is_ours(command: str) -> bool:
    return command.startswith(("::error title=", "::warning title="))


def test_no_text_of_a_record_acts(measured: Measure) -> None:
    """No command in the log, no mention, image, marker or token in the comment."""
    scene = measured(CURT)

    def say_it_everywhere(lines: Lines) -> None:
        head = lines[0]
        head["notes"] = [HOSTILE]
        head["skipped"] = [{"skill": HOSTILE, "reason": HOSTILE}]
        head["objections"] = [{"text": HOSTILE, "verdict": "not measured"}]
        head["environment"]["runners"] = {"scripted": HOSTILE}
        for line in trials(lines):
            line["transcript"]["answer"] = f"no {HOSTILE}"

    scene.edit(say_it_everywhere)

    finished = scene.published(status="commit")

    body = scene.comments[0].split("\n", 1)[1]
    for text in (body, finished.log, finished.summary):
        assert "ghp_0123456789" not in text
    for text in (body, finished.summary):
        assert not {part for part in ("<!--", "@octocat", "![", "</details> ghp") if part in text}
    assert all(
        line.startswith(("::error title=", "::warning title="))
        for line in commands_in(finished.log)
    )
    assert finished.outputs["passed"] == "false"


def test_a_line_that_is_no_json_is_told_without_acting(measured: Measure) -> None:
    """The error quotes others as well."""
    scene = measured(KINDER)
    scene.record.write_text(json.dumps({"line": HOSTILE, HOSTILE: 1}) + "\n")

    finished = scene.published()

    assert finished.exit_code == 2
    assert "@octocat" not in scene.comments[0]
    assert all(
        line.startswith(("::error title=", "::warning title="))
        for line in commands_in(finished.log)
    )


# ---------------------------------------------------------------- what is not there


def test_a_run_without_a_record_is_told_and_not_passed(measured: Measure) -> None:
    """No skill changed, or it stopped before its first trial: from here nobody can tell."""
    scene = measured(KINDER)
    scene.record.unlink()

    finished = scene.published(status="commit")

    assert finished.exit_code == 3
    assert "left no record" in finished.log
    assert not scene.comments
    assert not scene.statuses


def test_an_earlier_comment_does_not_outlive_its_commit(measured: Measure) -> None:
    """After a revert no skill differs any more."""
    scene = measured(CURT)
    scene.published()
    scene.github.repository.pull_requests[NUMBER].head_sha = scene.head = "c" * 40
    scene.record.unlink()

    scene.published()

    (comment,) = scene.comments
    assert "gate failed" not in comment
    assert "left no record" in comment


def an_empty_file(record: Path) -> None:
    record.write_bytes(b"")


def a_giant(record: Path) -> None:
    with record.open("wb") as file:
        file.truncate(8 << 30)


def a_link(record: Path) -> None:
    kept = record.rename(record.with_name("kept.jsonl"))
    record.symlink_to(kept)


def a_dangling_link(record: Path) -> None:
    record.unlink()
    record.symlink_to("/nowhere")


def a_pipe(record: Path) -> None:
    record.unlink()
    os.mkfifo(record)


def a_folder(record: Path) -> None:
    record.unlink()
    record.mkdir()


def a_linked_folder(record: Path) -> None:
    folder = record.parent
    folder.symlink_to(folder.rename(folder.with_name("kept")), target_is_directory=True)


def a_line_without_end(record: Path) -> None:
    record.write_bytes(b"{" + b" " * (65 << 20))


def deep_nesting(record: Path) -> None:
    record.write_text('{"line":' * 100_000)


@pytest.mark.parametrize(
    "plant",
    [
        an_empty_file,
        a_giant,
        a_link,
        a_dangling_link,
        a_pipe,
        a_folder,
        a_linked_folder,
        a_line_without_end,
        deep_nesting,
    ],
)
def test_what_is_no_record_is_neither_followed_nor_waited_for(
    plant: Callable[[Path], None], measured: Measure
) -> None:
    """An artifact holds what its maker put there."""
    scene = measured(KINDER)
    plant(scene.record)

    finished = scene.published(status="commit")

    assert finished.exit_code == 2
    assert "not measured" in scene.comments[0].splitlines()[1]
    assert scene.statuses == ["error"]


def test_a_giant_is_not_read(measured: Measure) -> None:
    """However short its lines are."""
    scene = measured(KINDER)
    with scene.record.open("ab") as file:
        file.truncate(RECORD_BYTES + 1)

    assert scene.published().exit_code == 2
    assert "larger than 104,857,600 bytes" in scene.words


@pytest.mark.parametrize("place", ["/etc/passwd", "../record.jsonl", "measured/../../x", "."])
def test_a_record_is_named_by_its_path_in_the_workspace(place: str, measured: Measure) -> None:
    """Nothing else of the runner is looked at."""
    scene = measured(KINDER)

    finished = scene.published(publish=place)

    assert finished.exit_code == 2
    assert "no path in the workspace" in finished.log
