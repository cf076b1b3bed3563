"""A record may come from an artifact that anyone wrote: nothing in it is a fault of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import CommandLine

SKILL = "---\nname: greeter\ndescription: Greets.\n---\nGreet people by name.\n"
CASES = """\
cases:
  - name: a
    task: t
    tools:
      - name: look
        description: d
        input_schema: {type: object, properties: {n: {type: integer, minimum: 3}}}
        returns: "1"
    assertions:
      - {kind: contains, value: Ada}
      - {kind: numeric, value: 3, tolerance: 0.5}
      - {kind: json-schema, json_schema: {minLength: 3}}
    judge: {rubric: [It names someone.]}
    trajectory: {called: [look], max_calls: 2, call_args: [{tool: look, equals: {n: 4}}]}
    budget: {max_tokens: 50, max_cost_usd: 0.5, max_latency_ms: 900}
  - name: b
    task: t
    mode: offered
    assertions: [{kind: contains, value: Ada}]
    judge: {rubric: [It names someone.]}
  - name: c
    task: t
    assertions: [{kind: contains, value: Ada}]
    judge: {rubric: [It names someone.]}
"""
REPLIES = """\
replies:
  - {arm: candidate, case: c, repetition: [1, 4, 7], text: nobody, cost_usd: 0.2}
  - {arm: candidate, case: b, repetition: 2, error: "503", usage: {input_tokens: 5}}
  - {arm: baseline, repetition: 1, text: Ada, usage: {input_tokens: 8}, latency_ms: 30}
  - case: a
    text: "Ada 3"
    tool_calls: [{name: look, arguments: {n: 4}}]
    usage: {input_tokens: 7, output_tokens: 3}
    cost_usd: 0.001
    latency_ms: 40
  - {text: "Ada 3", usage: {input_tokens: 7, output_tokens: 3}, cost_usd: 0.001, latency_ms: 40}
judge:
  - contains: Ada
    verdicts: [{passed: true, evidence: Ada}]
    usage: {input_tokens: 9, output_tokens: 2}
    cost_usd: 0.002
  - {passed: false, usage: {input_tokens: 9, output_tokens: 2}, cost_usd: 0.002}
"""
EVERY_GATE = (
    *("--baseline", "none", "--gate", "interval", "--min-delta", "0", "--max-regressed-cases", "1"),
    *("--repeat", "3", "--max-repeat", "6", "--adaptive", "confirm", "--max-cost-increase", "0.2"),
    *("--max-token-increase", "0.2", "--max-latency-increase", "0.2"),
    *("--per-skill-min", "greeter=0.3", "--on-unmeasured", "pass"),
)

Where: TypeAlias = tuple[str | int, ...]

hostile: st.SearchStrategy[int | float] = (
    st.sampled_from([0, -1, 10**15, 10**30, 10**400, -(10**400), 0.9999999999999999, 5e-324])
    | st.integers()
    | st.floats()
)
"""Any number that JSON, or what Python takes for JSON, can spell."""


def numbers(value: Any, where: Where = ()) -> Iterator[Where]:
    """Where every number of a value is."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from numbers(part, (*where, key))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where


def put(value: Any, where: Where, number: float) -> None:
    *way, last = where
    for key in way:
        value = value[key]
    value[last] = number


@pytest.fixture
def lines(skill_delta: CommandLine, tmp_path: Path) -> list[str]:
    """The record of a run with every kind of number in it."""
    folder, record = tmp_path / "greeter", tmp_path / "run.jsonl"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "evals" / "cases.yaml").write_text(CASES)
    (folder / "evals" / "replies.yaml").write_text(REPLIES)
    ran = skill_delta("run", folder, "--runner", "scripted", *EVERY_GATE, "--record", record)
    assert ran.exit_code in (0, 1)
    return record.read_text().splitlines()


@settings(
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_number_of_a_record_is_a_fault_of_ours(
    data: st.DataObject, lines: list[str], skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Wherever it stands and however large it is: a verdict, or what is wrong with the record."""
    line = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[line])
    places = list(numbers(value))
    put(value, data.draw(st.sampled_from(places)), data.draw(hostile))
    record = tmp_path / "hostile.jsonl"
    changed = [*lines[:line], json.dumps(value), *lines[line + 1 :]]
    record.write_text("".join(f"{each}\n" for each in changed))

    for regrade in ((), ("--regrade",)):
        outputs = (f"--{name}-output={tmp_path / name}" for name in ("json", "junit", "markdown"))
        told = skill_delta("report", record, *outputs, *regrade)

        assert told.exit_code in (0, 1, 2, 3)
        assert "Traceback" not in told.all
        assert len(told.err) < 1_000


def spoiled(lines: list[str], kind: str, where: Where, number: float) -> Iterator[str]:
    """The record with that number in the first line of the kind."""
    left = 1
    for line in lines:
        value = json.loads(line)
        if value["line"] == kind and left:
            put(value, where, number)
            left = 0
        yield json.dumps(value)


NONE_OF_A_RUN = (-1, 10**400, float("nan"), float("inf"), 1e300)


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("trial", ("key", "repetition")),
        ("trial", ("transcript", "usage", "input_tokens")),
        ("trial", ("transcript", "usage", "output_tokens")),
        ("trial", ("transcript", "cost_usd")),
        ("trial", ("transcript", "latency_ms")),
        ("trial", ("checks", 0, "score")),
        ("trial", ("judging", "usage", "input_tokens")),
        ("trial", ("judging", "usage", "output_tokens")),
        ("trial", ("judging", "cost_usd")),
        ("trial", ("usage", "input_tokens")),
        ("trial", ("cost_usd",)),
        ("end", ("spent_before", "usage", "output_tokens")),
        ("end", ("spent_before", "cost_usd")),
        ("run", ("request", "at_once")),
        ("run", ("request", "policy", "margin")),
        ("run", ("request", "policy", "confidence")),
        ("run", ("request", "policy", "min_pass_rate")),
        ("run", ("request", "policy", "skill_min_pass_rate", "greeter")),
        ("run", ("request", "policy", "looks", "most")),
    ],
)
def test_a_number_that_no_run_comes_to_is_refused(
    kind: str, where: Where, lines: list[str], skill_delta: CommandLine, tmp_path: Path
) -> None:
    """Negative, endless, or too large to be added up: it is no measurement."""
    record = tmp_path / "hostile.jsonl"
    for number in NONE_OF_A_RUN:
        record.write_text("".join(f"{line}\n" for line in spoiled(lines, kind, where, number)))

        refused = skill_delta("report", record)

        assert refused.exit_code == 2
        assert str(record) in refused.err or "the record asks for" in refused.err
