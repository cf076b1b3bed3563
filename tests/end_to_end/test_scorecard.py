"""The DeltaScorecard and its legs, as a person asks for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from model_stand_in import ModelStandIn, says

DEMO = Path(__file__).parents[2] / "examples" / "scorecard-demo"
SCRIPTED = ("--runner", "scripted")


@pytest.fixture
def model() -> Iterator[ModelStandIn]:
    with ModelStandIn(says("Reply LATE.")) as stand_in:
        yield stand_in


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def heads(path: Path) -> Any:
    return json.loads(path.read_text().splitlines()[0])


def test_the_demo_gains_half_a_point(skill_delta: CommandLine, tmp_path: Path) -> None:
    """One case that the skill turns, and one that it does not: +0.5, and [+1, 0]."""
    written = tmp_path / "scorecard.json"

    finished = skill_delta(
        "run", DEMO, *SCRIPTED, "--baseline", "none", "--scorecard", written, "--run-id", "r1"
    )

    found = read(written)
    assert finished.exit_code == 0
    assert found["aggregate_delta"] == 0.5
    assert [case["delta"] for case in found["per_case"]] == [1, 0]
    assert (found["skill_on_run_id"], found["skill_off_run_id"]) == ("r1-skill-on", "r1-skill-off")
    assert "authoritative" not in found


def test_both_legs_keep_a_record_of_their_own(skill_delta: CommandLine, tmp_path: Path) -> None:
    """With the scorecard beside them; each can be rendered again as a run of its own."""
    out = tmp_path / "legs" / "run.jsonl"

    skill_delta("run", DEMO, *SCRIPTED, "--baseline-mode", "both", "--out", out)

    on, off = (out.with_name(f"run-skill-{leg}.jsonl") for leg in ("on", "off"))
    assert {path.name for path in out.parent.iterdir()} == {
        on.name,
        off.name,
        "run-delta-scorecard.json",
    }
    assert "hooks_disabled" not in heads(on)["environment"]
    assert heads(off)["environment"]["hooks_disabled"] is True
    assert heads(on)["run_id"].removesuffix("-skill-on") == heads(off)["run_id"].removesuffix(
        "-skill-off"
    )
    assert "pass rate 100%" in skill_delta("report", on).out
    assert "pass rate 50%" in skill_delta("report", off).out


@pytest.mark.parametrize("leg", ["skill-on", "skill-off"])
def test_a_leg_that_was_cut_is_gone_on_with_by_itself(
    leg: str, skill_delta: CommandLine, model: ModelStandIn, tmp_path: Path
) -> None:
    """As the run of its own that it is; what it holds is not asked for again."""
    live = ("run", DEMO, "--runner", "openai", "--model", "m", "--base-url", model.url)
    skill_delta(*live, "--baseline-mode", "both", "--out", tmp_path / "run.jsonl")
    record = tmp_path / f"run-{leg}.jsonl"
    whole = skill_delta("report", record)
    first, second, *_ = record.read_text().splitlines(keepends=True)
    record.write_text(first + second)
    asked = len(model.requests)

    refused = skill_delta(*live, "--baseline-mode", "both", "--out", tmp_path / "run.jsonl")
    resumed = skill_delta(*live, "--baseline-mode", leg, "--resume", record)

    assert "each leg by itself can be gone on with" in refused.all
    assert len(model.requests) == asked + 1
    assert resumed.exit_code == whole.exit_code
    assert skill_delta("report", record).exit_code == whole.exit_code


@pytest.mark.parametrize(
    ("mode", "record"), [("skill-on", "run.jsonl"), ("skill-off", "run-skill-off.jsonl")]
)
def test_how_to_go_on_is_said_of_the_record_that_is_there(
    mode: str, record: str, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """What the hint says can be done as it stands."""
    run = ("run", DEMO, *SCRIPTED, "--baseline-mode", mode)
    skill_delta(*run, "--out", tmp_path / "run.jsonl")

    refused = skill_delta(*run, "--out", tmp_path / "run.jsonl")

    assert f"--resume {tmp_path / record} in place of --out" in refused.all
    assert skill_delta(*run, "--resume", tmp_path / record).exit_code in (0, 1)


UNSTEADY = """\
replies:
  - {arm: candidate, case: a, repetition: [1, 4, 7], text: no}
  - {arm: candidate, case: b, repetition: [2, 5], text: no}
  - {text: LATE}
"""
ADAPTIVE = (
    *("--gate", "interval", "--min-delta", "0", "--min-pass-rate", "0"),
    *("--repeat", "3", "--max-repeat", "9", "--adaptive", "confirm"),
)


def a_skill(folder: Path, replies: str) -> None:
    """A skill of three cases that are passed by LATE."""
    name = folder.name
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Late.\n---\nSay LATE.\n")
    (folder / "evals" / "cases.yaml").write_text(
        "cases:\n"
        + "".join(
            f"  - {{name: {case}, task: t, assertions: [{{kind: contains, value: LATE}}]}}\n"
            for case in "abc"
        )
    )
    (folder / "evals" / "replies.yaml").write_text(replies)


def test_a_leg_holds_every_look_that_was_taken(skill_delta: CommandLine, tmp_path: Path) -> None:
    """A leg by itself would never have asked for a further one; it was there all the same."""
    out = tmp_path / "run.jsonl"
    a_skill(tmp_path / "late", UNSTEADY)
    flags = (*SCRIPTED, "--baseline-mode", "both", "--out", out, *ADAPTIVE)

    both = skill_delta("run", tmp_path / "late", *flags)

    on, off = (skill_delta("report", tmp_path / f"run-skill-{leg}.jsonl") for leg in ("on", "off"))
    assert "3 of 3 planned looks" in both.out
    assert "22 passed, 5 failed" in both.out
    assert "22 passed, 5 failed" in on.out
    assert "27 passed, 0 failed" in off.out


def test_a_leg_says_what_only_some_skills_were_run_for(
    skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Every case of a report has as many repetitions; the rest is named."""
    out = tmp_path / "run.jsonl"
    a_skill(tmp_path / "skills" / "late", UNSTEADY)
    a_skill(tmp_path / "skills" / "punctual", "replies: [{text: LATE}]")
    flags = (*SCRIPTED, "--baseline-mode", "both", "--out", out, *ADAPTIVE)

    skill_delta("run", tmp_path / "skills", *flags)

    off = skill_delta("report", tmp_path / "run-skill-off.jsonl")
    assert "18 passed, 0 failed" in off.out
    assert "18 recorded trials left out" in off.out


def test_one_leg_alone_has_no_delta(skill_delta: CommandLine, tmp_path: Path) -> None:
    """The candidate's rules read it; the skill is as good as not there."""
    out, written = tmp_path / "run.jsonl", tmp_path / "report.json"
    flags = (*SCRIPTED, "--out", out, "--json-output", written)

    off = skill_delta("run", DEMO, *flags, "--baseline-mode", "skill-off")
    suppressed = read(written)
    on = skill_delta("run", DEMO, *flags, "--baseline-mode", "skill-on")

    assert (off.exit_code, on.exit_code) == (1, 0)
    assert suppressed["delta"] is None
    assert suppressed["environment"]["hooks_disabled"] is True
    assert "hooks_disabled" not in read(written)["environment"]
    assert {path.name for path in tmp_path.glob("*.jsonl")} == {"run.jsonl", "run-skill-off.jsonl"}


def test_a_single_live_shot_is_not_authoritative(
    skill_delta: CommandLine, model: ModelStandIn, tmp_path: Path
) -> None:
    """One run of a model cannot tell a difference from chance; several can."""
    written = tmp_path / "scorecard.json"
    live = ("--runner", "openai", "--model", "m", "--base-url", model.url, "--baseline", "none")

    skill_delta("run", DEMO, *live, "--scorecard", written)
    once = read(written)
    skill_delta("run", DEMO, *live, "--scorecard", written, "--repeat", "2")

    assert once["authoritative"] is False
    assert once["authoritative_reason"]
    assert "authoritative" not in read(written)


@pytest.mark.parametrize(
    "flags",
    [
        ("--baseline-mode", "both", "--baseline", "previous"),
        ("--baseline-mode", "both", "--baseline", "none"),
        ("--baseline-mode", "skill-off", "--baseline", "none"),
        ("--baseline-mode", "skill-on", "--baseline", "none"),
        ("--baseline-mode", "both", "--record", "r.jsonl"),
        ("--baseline-mode", "neither"),
        ("--scorecard", "s.json"),
        ("--out", "a.jsonl", "--record", "b.jsonl"),
    ],
)
def test_what_excludes_each_other_is_refused(
    flags: tuple[str, ...], skill_delta: CommandLine
) -> None:
    """Before anything is run."""
    assert skill_delta("run", DEMO, *SCRIPTED, *flags).exit_code == 2
