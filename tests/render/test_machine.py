"""The JSON report and the schema that describes it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from syrupy.assertion import SnapshotAssertion

from builders import Cost, a_report, a_trial, runs, scored
from report_stories import STORIES
from skill_delta.core.transcript import ToolCall, Transcript
from skill_delta.core.trials import Scored
from skill_delta.render.machine import render_json, report_schema
from snapshot_files import JsonFile

VALIDATOR = jsonschema.Draft202012Validator(report_schema())

SCHEMA = Path(__file__).parents[2] / "schemas" / "report.schema.json"


def test_the_published_schema_is_the_codes() -> None:
    """To renew it, write `report_schema()` there, indented by 2, and review what changed."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == report_schema()


@pytest.mark.parametrize("story", STORIES)
def test_every_report_is_what_the_schema_says(story: str) -> None:
    """A program that trusts the schema reads every report."""
    VALIDATOR.validate(json.loads(render_json(STORIES[story])))


def test_the_schema_is_a_schema() -> None:
    """An editor or a validator of any make can load it."""
    jsonschema.Draft202012Validator.check_schema(report_schema())


@pytest.mark.parametrize("story", ["one_baseline", "several_baselines", "not_measured"])
def test_story(story: str, snapshot: SnapshotAssertion) -> None:
    """Keys and their order are a promise."""
    assert render_json(STORIES[story]) == snapshot(extension_class=JsonFile)


def test_the_first_baseline_is_the_delta_and_every_one_is_listed() -> None:
    """A reader of one baseline needs no list; a reader of several finds them all."""
    document = json.loads(render_json(STORIES["several_baselines"]))

    assert [delta["baseline"] for delta in document["deltas"]] == ["previous", "none"]
    assert document["delta"] == document["deltas"][0]


def test_without_a_baseline_there_is_no_delta() -> None:
    """Nothing was compared, so there is nothing to read as "no change"."""
    document = json.loads(render_json(STORIES["one_arm"]))

    assert document["delta"] is None
    assert document["deltas"] == []


def test_where_nothing_was_comparable_every_difference_is_unknown() -> None:
    """Zero tokens more would be a measurement."""
    delta = json.loads(render_json(STORIES["nothing_comparable"]))["delta"]

    assert {delta[key] for key in delta if key.endswith(("_delta", "_usd", "_ms"))} == {None}
    assert delta["comparable_cases"] == 0
    assert [excluded["reason"] for excluded in delta["excluded"]] == [
        "baseline unresolved: no earlier version found in the last 50 commits"
    ]


def test_an_unknown_price_is_null_and_never_zero() -> None:
    """Free and unknown are different bills."""
    costs = {"candidate": Cost(100, None)}
    document = json.loads(render_json(a_report(runs(candidate="P", previous="P", costs=costs))))

    assert document["delta"]["cost_delta_usd"] is None
    assert document["summary"]["cost_usd"] is None
    assert [each["cost_usd"] for each in document["outcomes"]] == [None, 0.0005]


def test_a_trial_without_a_score_says_why() -> None:
    """An error, a skip and a cut are three things, and none is a zero."""
    document = json.loads(render_json(a_report(runs(candidate="EN", none="S"))))
    told = [(each["status"], each["score"], each["error"]) for each in document["outcomes"]]

    assert told == [
        ("error", None, "503 from the provider after 5 attempts"),
        ("not_run", None, "the ceiling of $1.00 was reached"),
        ("skipped", None, "an empty skill cannot be offered"),
    ]


def test_a_transcript_keeps_its_tool_calls_as_they_were() -> None:
    """Arguments are JSON and stay JSON."""
    trial = a_trial()
    arguments: dict[str, JsonValue] = {
        "ids": [1, 2.5, None, True],
        "deep": {"text": "naïve ⏎ \x1b"},
    }
    answered = Scored(trial, Transcript("", (ToolCall("find", arguments, "none"),), True), ())
    transcript = json.loads(render_json(a_report((answered,))))["outcomes"][0]["transcript"]

    assert transcript == {
        "answer": "",
        "tool_calls": [{"name": "find", "arguments": arguments, "answer": "none"}],
        "skill_triggered": True,
    }


@settings(deadline=None)
@given(st.text(), st.floats() | st.text(st.characters(categories=["Cs", "Cc"]), max_size=3))
def test_whatever_a_model_says_the_report_is_json(text: str, value: float | str) -> None:
    """Half characters and infinities are legal in a reply and in no file."""
    call = ToolCall(text, {text: value, "list": [value, {"deep": text}]}, text)
    said = Scored(a_trial(text), Transcript(text, (call,)), ())
    written = render_json(
        a_report((said, scored(a_trial(text, repetition=1), False, evidence=text)))
    )
    written.encode()
    document = json.loads(written, parse_constant=pytest.fail)

    VALIDATOR.validate(document)
    if text.isascii():
        assert document["outcomes"][0]["transcript"]["answer"] == text


@pytest.mark.parametrize("story", STORIES)
def test_half_a_character_changes_nothing_else(story: str) -> None:
    """No file can hold one, and one model's answer is no reason to have no report."""
    report = STORIES[story]
    note = "half \ud800 of it"

    whole, half = (
        json.loads(render_json(replace(report, notes=(each,))))
        for each in ("half \ufffd of it", note)
    )

    assert half == whole


def test_every_flag_names_its_case_and_what_it_rests_on() -> None:
    """`noise` is true where luck would explain it as well."""
    delta = json.loads(
        render_json(
            a_report(
                runs("steady", candidate="PP", none="PP"),
                runs("broken", candidate="FF", none="FF"),
                runs("both", "contains[0]", "regex[0]", candidate="FF", none="PF"),
            )
        )
    )["delta"]
    where = {"skill": "order-support", "runner": "openai"}
    rates = {"pass_rate_candidate": 0.0, "pass_rate_baseline": 0.5}
    never = {"pass_rate_candidate": 0.0, "pass_rate_baseline": 0.0}
    luck = {"runs": 4, **rates, "noise": True}

    assert delta["low_signal"] == [
        {**where, "case": "steady", "check": "contains[0]", "runs": 4},
    ]
    assert delta["high_variance"] == [
        {
            **where,
            "case": "both",
            "arm": "baseline",
            "pass_rate": 0.5,
            "stddev": 0.5,
            "runs": 2,
            "noise": True,
        }
    ]
    assert delta["always_fail"] == [
        {
            **where,
            "case": "broken",
            "check": "contains[0]",
            "runs": 4,
            **never,
            "other": None,
            "noise": False,
        }
    ]
    assert delta["inverse"] == [
        {**where, "case": "both", "check": check, "other": None, **luck}
        for check in ("contains[0]", "regex[0]")
    ]
    assert delta["derived"] == [
        {**where, "case": "both", "check": "regex[0]", "other": "contains[0]", **luck}
    ]


def test_rates_carry_no_digits_of_binary_fractions() -> None:
    """0.1 + 0.2 is 0.3 to everyone who reads a report."""
    cases = (
        runs(f"case {number}", candidate="P" * number + "F" * (3 - number), none="FFF")
        for number in (0, 1)
    )
    delta = json.loads(render_json(a_report(*cases)))["delta"]

    assert delta["pass_rate_delta"] == round(1 / 6, 12)


def test_repetitions_and_arms_are_told_apart() -> None:
    """Each trial is found again by skill, case, runner, arm, baseline and repetition."""
    document = json.loads(render_json(a_report(runs(candidate="PF", previous="P", none="P"))))
    keys = [(each["arm"], each["baseline"], each["repetition"]) for each in document["outcomes"]]

    assert keys == [
        ("candidate", None, 0),
        ("candidate", None, 1),
        ("baseline", "previous", 0),
        ("baseline", "none", 0),
    ]
