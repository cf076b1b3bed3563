"""What a run is asked for: flag over config file over default, and nothing is ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from skill_delta.core.documents import Document, read_document
from skill_delta.errors import UserError
from skill_delta.settings.model import Settings, config_schema
from skill_delta.settings.reading import settle

SCHEMA = Path(__file__).parent.parent / "schemas" / "config.schema.json"


def config(text: str) -> Document:
    return read_document(text.encode(), "skill-delta.yml")


def scripted(**flags: JsonValue) -> Mapping[str, JsonValue]:
    return {"runner": ["scripted"], **flags}


def refusal(flags: Mapping[str, JsonValue], document: Document | None = None) -> str:
    with pytest.raises(UserError) as refused:
        settle(flags, document)
    return str(refused.value)


def test_a_flag_wins_over_the_config_file_and_that_over_the_default() -> None:
    """The nearer the choice was made, the more it counts."""
    settings = settle(scripted(repeat=5), config("repeat: 3\nconcurrency: 2\nbaseline: previous\n"))

    assert settings.repeat == 5
    assert settings.concurrency == 2
    assert settings.baseline == ("previous",)
    assert settings.min_pass_rate == 1.0


def test_a_required_delta_without_a_baseline_is_refused() -> None:
    """A gate that silently checks nothing would always pass."""
    assert "--min-delta has nothing to compare with" in refusal(scripted(min_delta="0.0"))
    assert "--min-delta has nothing" in refusal(scripted(), config("min-delta: 0.0"))
    assert "--min-delta has nothing" in refusal(
        scripted(), config("per-skill: {greeting: {min-delta: 0.0}}")
    )


def test_one_bar_serves_every_baseline_and_a_named_one_its_own() -> None:
    """`0.1` is for all; `previous=0.0,none=0.1` gives each its bar; an unnamed one has none."""
    both: JsonValue = ["previous", "none"]

    assert settle(scripted(baseline=both, min_delta="0.1"), None).bars() == {
        "previous": 0.1,
        "none": 0.1,
    }
    assert settle(scripted(baseline=both, min_delta="previous=0.0,none=0.1"), None).bars() == {
        "previous": 0.0,
        "none": 0.1,
    }
    assert settle(scripted(baseline=both, min_delta="none=0.1"), None).bars() == {"none": 0.1}
    assert settle(scripted(baseline=both), config("min-delta: {previous: -0.05}")).bars() == {
        "previous": -0.05
    }


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("abc", "'abc' is not a number"),
        ("previous=x", "'previous=x' is not a number"),
        ("=0.1", "names nothing"),
        ("previous=0,previous=1", "given twice"),
        ("nan", "finite"),
        ("base=0.1", "names the baseline 'base', which this run does not have"),
    ],
)
def test_a_bar_that_cannot_be_read_is_refused(written: str, complaint: str) -> None:
    """What was meant cannot be guessed, and a wrong bar is a wrong verdict."""
    assert complaint in refusal(scripted(baseline=["previous"], min_delta=written))


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (scripted(model=["gpt-5"]), "--model has no effect"),
        (scripted(base_url="http://127.0.0.1"), "--base-url has no effect"),
        (scripted(base="HEAD~1"), "--base has no effect"),
        (scripted(base="HEAD~1", baseline=["none"]), "--base has no effect"),
        ({"runner": ["openai"], "model": ["m"], "replies": "r.yaml"}, "--replies has no effect"),
    ],
)
def test_a_flag_that_nothing_reads_is_refused(
    flags: Mapping[str, JsonValue], complaint: str
) -> None:
    """Silence would look like obedience."""
    assert complaint in refusal(flags)


def test_a_config_file_may_hold_settings_that_a_run_does_not_need() -> None:
    """One file serves runs with a model and dry runs without."""
    assert settle(scripted(), config("model: gpt-5\nreplies: r.yaml\n")).model == ("gpt-5",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("runer: scripted", "skill-delta.yml:1: runer: unknown setting 'runer'"),
        ("runer: scripted", "did you mean 'runner'?"),
        ("\nrepeat: '3'", "skill-delta.yml:2: repeat: should be a valid integer"),
        ("min-pass-rate: 2", "less than or equal to 1"),
        ("repeat: 0", "greater than or equal to 1"),
        ("baseline: [none, none]", "'none' is named twice"),
        ("- repeat", "must be a mapping"),
        ("per-skill:\n  greeting:\n    min-dleta: 0\n", "skill-delta.yml:3"),
        ("fail-on-error: yes", "should be true or false (got yes)"),
        ("baseline: 1.0", "should be text in quotes, or a list of texts (got 1.0)"),
    ],
)
def test_a_config_that_is_wrong_says_where(text: str, complaint: str) -> None:
    """File, line and setting, so that nobody has to search."""
    assert complaint in refusal(scripted(), config(text))


def test_every_problem_is_told_at_once() -> None:
    """One run is enough to see them all."""
    complaint = refusal({"runner": ["gpt"], "repeat": 0})

    assert "there is no runner 'gpt'" in complaint
    assert "--repeat" in complaint


def test_models_go_to_the_runner_they_name() -> None:
    """`RUNNER=MODEL` where several run; a bare name for any; a model's own `=` is kept."""
    assert settle({"model": ["openai=gpt-5"]}, None).model_of("openai") == "gpt-5"
    assert settle({"model": ["org/model=x"]}, None).model_of("openai") == "org/model=x"
    assert "several models" in refusal({"model": ["a", "b"]})
    assert "needs a model" in refusal({})


def test_the_committed_schema_is_the_models_own() -> None:
    """Editors complete what the program reads."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == config_schema()


def test_the_schema_admits_what_the_program_admits() -> None:
    """A config that runs is not underlined in red."""
    text = (
        "runner: [scripted]\nbaseline: previous\nmin-delta: {previous: 0}\n"
        "per-skill: {greeting: {min-pass-rate: 0.9}}\nper-skill-min: {greeting: 0.5}\n"
    )
    document = config(text)
    settle({}, document)

    assert not list(Draft202012Validator(config_schema()).iter_errors(document.value))


def test_every_setting_has_a_kebab_case_key() -> None:
    """Flags and config keys are one vocabulary."""
    assert all("_" not in key for key in Settings.model_json_schema(by_alias=True)["properties"])
