"""What a run is asked for: flag over config file over default, and nothing is ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from command_line import CommandLine
from skill_delta.core.documents import Document, read_document
from skill_delta.core.looks import Adaptive, Looks
from skill_delta.errors import UserError
from skill_delta.settings.commands import ACTION, PULL_REQUEST, RUN, Command
from skill_delta.settings.model import Settings, config_schema
from skill_delta.settings.reading import settle

SCHEMA = Path(__file__).parent.parent / "schemas" / "config.schema.json"


def config(text: str) -> Document:
    return read_document(text.encode(), "skill-delta.yml")


def scripted(**flags: JsonValue) -> Mapping[str, JsonValue]:
    return {"runner": ["scripted"], **flags}


def by_interval(**flags: JsonValue) -> Mapping[str, JsonValue]:
    return scripted(gate="interval", baseline=["previous"], min_delta=0.0, **flags)


def refusal(
    flags: Mapping[str, JsonValue], document: Document | None = None, command: Command = RUN
) -> str:
    with pytest.raises(UserError) as refused:
        settle(flags, document, command)
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
        (scripted(gate="interval"), "--gate has no effect: nothing is required"),
        (scripted(baseline=["none"], adaptive="confirm"), "--adaptive has no effect"),
        (scripted(baseline=["none"], max_repeat=9), "--max-repeat has no effect"),
        (scripted(baseline=["none"], min_repeats=3), "--min-repeats has no effect"),
        (scripted(baseline=["none"], on_inconclusive="fail"), "--on-inconclusive has no effect"),
        (by_interval(max_repeat=9), "--max-repeat has no effect: only adaptive repetition"),
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
        ("runer: scripted", "skill-delta.yml:1:1: runer: unknown setting 'runer'"),
        ("runer: scripted", "did you mean 'runner'?"),
        ("\nrepeat: '3'", "skill-delta.yml:2:1: repeat: should be a valid integer"),
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


@pytest.mark.parametrize("mode", ["skill-on", "skill-off", "both"])
@pytest.mark.parametrize("baseline", ["none", "previous"])
def test_a_mode_and_a_baseline_exclude_each_other(mode: str, baseline: str) -> None:
    """Whichever of both is the mode's own; on the command line and in one config file."""
    text = f"baseline: {baseline}\nbaseline-mode: {mode}\n"

    assert "so does --baseline" in refusal(scripted(baseline_mode=mode, baseline=[baseline]))
    assert "so does --baseline" in refusal(scripted(), config(text))


def test_a_mode_on_the_command_line_takes_the_place_of_a_config_files_baseline() -> None:
    """The file is for other runs."""
    settings = settle(scripted(baseline_mode="both"), config("baseline: previous\n"))

    assert settings.baseline == ("none",)


@pytest.mark.parametrize("mode", ["skill-on", "skill-off", "both"])
@pytest.mark.parametrize("command", [PULL_REQUEST, ACTION], ids=["pr", "action"])
def test_a_config_files_mode_is_for_runs(mode: str, command: Command) -> None:
    """A pull request is compared with what its own baseline is."""
    text = f"baseline: previous\nbaseline-mode: {mode}\n"
    settings = settle(scripted(), config(text), command)

    assert settings.baseline == ("previous",)
    assert settings.baseline_mode is None


NUMBERS = (
    *("repeat", "max_repeat", "min_repeats", "margin", "confidence", "min_pass_rate", "min_delta"),
    *("max_token_increase", "max_cost_increase", "max_latency_increase", "max_regressed_cases"),
    *("concurrency", "max_cost", "max_tokens", "max_time", "markdown_max_chars", "max_cases"),
)


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_is_finite(name: str, number: float) -> None:
    """Nothing can be held against any other."""
    assert f"--{name.replace('_', '-')}" in refusal(scripted(**{name: number}))


@pytest.mark.parametrize("confidence", [0.0, 0.49, 0.9991, 0.9999999999999999, 1, 10**400])
def test_a_confidence_is_one_that_an_interval_has(confidence: float) -> None:
    """At certainty every interval is endless."""
    assert "--confidence" in refusal(scripted(baseline=["none"], confidence=confidence))


TEXTS = {
    name: str(field.annotation)
    for name, field in Settings.model_fields.items()
    if str(field.annotation).startswith(("str", "tuple[str"))
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_utf8(name: str) -> None:
    """Other bytes of an argument can be written into no report and sent to no server."""
    broken = "gpt-\udcff"
    value: JsonValue = [broken] if "tuple" in TEXTS[name] else broken

    told = refusal(scripted(**{name: value}))

    assert f"--{name.replace('_', '-')}: should be text in UTF-8" in told
    assert told.isascii()


@pytest.mark.parametrize(
    "flags", [{"min_delta": "\udcff=0"}, {"per_skill_min": ["\udcff=1"]}, {"gate": "\udcff"}]
)
def test_a_text_within_a_setting_is_utf8(flags: Mapping[str, JsonValue]) -> None:
    """Names of baselines and of skills too, and what only one of a few words may be."""
    assert "should be text in UTF-8" in refusal(scripted(**flags))


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


@pytest.mark.parametrize("command", [PULL_REQUEST, ACTION], ids=["pr", "action"])
def test_a_pull_request_is_judged_by_the_interval(command: Command) -> None:
    """No regression against the version before, three runs each, nine where it is unclear."""
    settings = settle(scripted(), None, command)

    assert (settings.gate, settings.margin, settings.confidence) == ("interval", 0.10, 0.90)
    assert (settings.bars(), settings.min_pass_rate) == ({"previous": 0.0}, None)
    assert settings.looks() == Looks(3, 9, Adaptive.CONFIRM)
    assert (settings.on_inconclusive, settings.on_unmeasured) == ("pass", "fail")
    assert settings.min_repeats == 2


def test_a_run_is_judged_literally_unless_it_says_otherwise() -> None:
    """One run of each case, one look, every case to pass."""
    settings = settle(scripted(), None)

    assert (settings.gate, settings.bars(), settings.min_pass_rate) == ("point", {}, 1.0)
    assert settings.looks() == Looks(1, 1, Adaptive.OFF)


def test_the_literal_gate_has_one_look_whatever_a_config_file_plans() -> None:
    """It is never undecided."""
    settings = settle(scripted(repeat=2), config("adaptive: resolve\nmax-repeat: 8\n"))

    assert settings.looks() == Looks(2, 2, Adaptive.OFF)


def test_where_an_inconclusive_run_fails_it_is_looked_at_until_decided() -> None:
    """`confirm` would end at a delta on the bar, which is no pass."""
    confirm: Mapping[str, JsonValue] = {"adaptive": "confirm", "repeat": 3, "max_repeat": 9}

    assert settle(by_interval(**confirm), None).looks().adaptive is Adaptive.CONFIRM
    assert settle(by_interval(on_inconclusive="fail", **confirm), None).looks() == Looks(
        3, 9, Adaptive.RESOLVE
    )


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (
            by_interval(adaptive="confirm", repeat=3, max_repeat=2),
            "--max-repeat 2 is less than --repeat 3",
        ),
        (
            by_interval(adaptive="confirm", repeat=1, max_repeat=6),
            "plans 6 looks, and more than 5 make each of them say too little",
        ),
        (by_interval(adaptive="resolve", repeat=2, max_repeat=11), "plans 6 looks"),
        (
            scripted(gate="interval", baseline=["none"], min_delta=1.5),
            "--min-delta 1.5 is no difference of two rates",
        ),
        (
            scripted(gate="interval", baseline=["none"], min_delta="none=-1.01"),
            "--min-delta -1.01 is no difference of two rates",
        ),
        (by_interval(margin=-0.1), "--margin: should be greater than or equal to 0"),
        (by_interval(margin=1.1), "--margin: should be less than or equal to 1"),
        (by_interval(confidence=0.4), "--confidence: should be greater than or equal to 0.5"),
        (by_interval(confidence=1.0), "--confidence: should be less than or equal to 0.999"),
        (by_interval(min_repeats=0), "--min-repeats: should be greater than or equal to 1"),
        (by_interval(max_token_increase=-0.1), "--max-token-increase: should be greater"),
        (by_interval(max_regressed_cases=-1), "--max-regressed-cases: should be greater"),
        (by_interval(on_inconclusive="warn"), "--on-inconclusive: should be 'pass' or 'fail'"),
        (scripted(max_token_increase=0.2), "--max-token-increase has nothing to compare with"),
        (scripted(max_cost_increase=0.2), "--max-cost-increase has nothing to compare with"),
        (scripted(max_latency_increase=0.2), "--max-latency-increase has nothing to compare with"),
        (scripted(max_regressed_cases=0), "--max-regressed-cases has nothing to compare with"),
    ],
)
def test_a_gate_that_contradicts_itself_is_refused(
    flags: Mapping[str, JsonValue], complaint: str
) -> None:
    """Before anything is spent."""
    assert complaint in refusal(flags)


@pytest.mark.parametrize("repeat", [1, 2, 3])
def test_as_many_looks_are_planned_as_the_constants_reach(repeat: int) -> None:
    """Five looks are allowed, the last one shorter."""
    settings = settle(
        by_interval(adaptive="confirm", repeat=repeat, max_repeat=5 * repeat - (repeat > 1)), None
    )

    assert settings.looks().planned == 5


def test_a_bar_beyond_every_delta_is_a_literal_gates_own_affair() -> None:
    """The seed's example of a bar that cannot be reached."""
    settings = settle(scripted(baseline=["none"], min_delta=1.5), None)

    assert settings.bars() == {"none": 1.5}


def test_a_skills_own_bar_is_a_difference_of_rates_too() -> None:
    """It is checked where the run's own is."""
    document = config("per-skill: {greeting: {min-delta: 2}}")

    assert "no difference of two rates" in refusal(by_interval(), document)


def test_on_inconclusive_is_read_wherever_a_run_can_be_inconclusive() -> None:
    """A bounded increase can be, under the literal gate too."""
    flags = scripted(baseline=["none"], max_token_increase=0.2, on_inconclusive="fail")

    assert settle(flags, None).on_inconclusive == "fail"


SKILL = """---
name: greeter
description: Greets people.
---
Greet the person by name.
"""
ONE_CASE = """
cases:
  - name: greets Ada
    task: Greet Ada.
    assertions: [{kind: contains, value: Ada}]
"""


@pytest.fixture
def greeter(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "evals" / "cases.yaml").write_text(ONE_CASE)
    (folder / "evals" / "replies.yaml").write_text('replies: [{text: "Hello, Ada."}]')
    return folder


STRICT = (
    *("--runner", "scripted", "--baseline", "none", "--min-delta", "0"),
    *("--gate", "interval", "--on-inconclusive", "fail"),
)


def test_a_gate_that_nothing_could_pass_is_refused_before_it_costs_anything(
    greeter: Path, skill_delta: CommandLine
) -> None:
    """One case three times cannot rule out ten points, and inconclusive is not let pass."""
    refused = skill_delta("run", greeter, *STRICT, "--repeat", 3)
    single = skill_delta("run", greeter, *STRICT, "--margin", 1)
    reachable = skill_delta("run", greeter, *STRICT, "--repeat", 3, "--margin", 1)
    lenient = skill_delta("run", greeter, *STRICT[:-2], "--repeat", 3)

    assert refused.exit_code == 2
    assert (
        "no result could pass: 1 case of skill 'greeter', 3 repetitions of each, "
        "cannot rule out a drop of 10%"
    ) in refused.err
    assert single.exit_code == 2
    assert (reachable.exit_code, lenient.exit_code) == (0, 0)


def test_further_looks_make_a_pass_reachable(greeter: Path, skill_delta: CommandLine) -> None:
    """What counts is how often a case is run at most."""
    looks = ("--repeat", 3, "--adaptive", "resolve", "--margin", 0.4)

    short = skill_delta("run", greeter, *STRICT, *looks, "--max-repeat", 4)
    longer = skill_delta("run", greeter, *STRICT, *looks, "--max-repeat", 15)

    assert (short.exit_code, longer.exit_code) == (2, 0)


@pytest.mark.parametrize(
    ("flags", "judge", "model"),
    [
        ({"runner": ["scripted"]}, "scripted", ""),
        ({"model": ["gpt-5-mini"]}, "openai", "gpt-5-mini"),
        ({"model": ["gpt-5-mini"], "judge_model": "o3"}, "openai", "o3"),
        ({"model": ["gpt-5-mini"], "judge": "scripted"}, "scripted", ""),
        ({"runner": ["scripted"], "judge_model": "o3"}, "openai", "o3"),
        ({"runner": ["scripted"], "judge_base_url": "http://x.test"}, "openai", ""),
        ({"runner": ["scripted", "openai"], "model": ["openai=gpt-5"]}, "openai", "gpt-5"),
    ],
)
def test_the_judge_is_the_models_own_where_none_is_named(
    flags: dict[str, JsonValue], judge: str, model: str
) -> None:
    """A suite with a rubric runs as it is; a dry run stays dry."""
    settings = settle(flags, None)

    assert settings.judge_name == judge
    assert settings.judging_model == model
