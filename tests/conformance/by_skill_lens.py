"""The situation as skill-lens measures it: its loader, resolver, orchestrator, delta and gate.

skill-lens comes without types, so what it gives is `Any` here; nothing of it leaves this module.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from skill_lens.bundle import SkillBundle  # type: ignore[import-untyped]
from skill_lens.comparison import build_delta  # type: ignore[import-untyped]
from skill_lens.gating import evaluate_gate  # type: ignore[import-untyped]
from skill_lens.models import RunResult, ToolCall  # type: ignore[import-untyped]
from skill_lens.orchestrator import RunOptions, run_evals  # type: ignore[import-untyped]
from skill_lens.runners.fake import FakeRunner  # type: ignore[import-untyped]
from skill_lens.runners.prompting import system_prompt  # type: ignore[import-untyped]
from skill_lens.runners.tools import (  # type: ignore[import-untyped]
    build_mock_tool,
    build_skill_tool,
)
from skill_lens.skills.baseline import (  # type: ignore[import-untyped]
    BaselineUnavailable,
    resolve_previous,
)
from skill_lens.skills.loader import load_skills, parse_skill_file  # type: ignore[import-untyped]

from conformance.measured import CaseOf, Counts, Gate, Measured, Run, Version
from conformance.situation import Model, Reply, Script, Situation


class RepeatingFake:
    """skill-lens's own offline runner, one for each repetition.

    A `FakeRunner` knows one answer per task and arm, whatever the repetition; it does not answer
    tool calls either, which every other runner of skill-lens does by `build_mock_tool`.
    """

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.baselines: dict[str, Any] = {}
        self._model = model
        self._begun: Counter[tuple[str, str]] = Counter()

    def preflight(self, skills: list[Any], cases_by_skill: Mapping[str, list[Any]]) -> None:
        FakeRunner().preflight(skills, cases_by_skill)

    def run(self, skill: Any, case: Any, workspace: Any = None, scripts: Any = None) -> Any:
        if skill.variant == "baseline":
            self.baselines[skill.name] = skill
        repetition = self._begun[skill.variant, case.task]
        self._begun[skill.variant, case.task] += 1
        fake = FakeRunner(
            responses=self._responses(self._model.candidate, case, repetition),
            baseline_responses=self._responses(self._model.baseline, case, repetition),
        )
        return _with_tools_answered(fake.run(skill, case, workspace), skill, case)

    def _responses(self, script: Script, case: Any, repetition: int) -> dict[str, Any]:
        replies = script.get(case.name, ())
        last = len(replies) - 1
        return {case.task: self._result(replies[min(repetition, last)], case)} if replies else {}

    def _result(self, reply: Reply, case: Any) -> Any:
        priced = self._model.priced
        return RunResult(
            output=reply.text,
            tool_calls=[ToolCall(name=c.name, arguments=dict(c.arguments)) for c in reply.calls],
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            latency_ms=reply.latency_ms,
            cost_usd=reply.cost_usd if priced else 0.0,
            cost_note="" if priced else "no price is known",
            skill_triggered=reply.loads_skill if case.mode == "offered" else None,
            error=reply.error or None,
        )


def _with_tools_answered(result: Any, skill: Any, case: Any) -> Any:
    """The result as a runner with a model behind it gives it, reaching for the skill included."""
    tools = {spec.name: build_mock_tool(spec) for spec in case.tools}
    calls = list(result.tool_calls)
    if result.skill_triggered:
        offered = build_skill_tool(skill)
        tools[offered.name] = offered
        calls.insert(0, ToolCall(name=offered.name))
    said = [
        {"tool": call.name, "answer": tools[call.name].call(**call.arguments)} for call in calls
    ]
    return result.model_copy(update={"tool_calls": calls, "transcript": said})


# ---------------------------------------------------------------- the run


def measure(situation: Situation, folder: Path, shell: pytest.MonkeyPatch) -> Measured:
    """Load the skills below `folder`, run their cases, compare and gate."""
    runners = [RepeatingFake(name, model) for name, model in situation.models.items()]
    with shell.context() as environment:
        environment.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        environment.setenv("GIT_CONFIG_NOSYSTEM", "1")
        skills = load_skills(folder)
        report = run_evals(
            skills,
            runners,
            tag=situation.tag or None,
            case_filter=situation.case or None,
            baseline=situation.baseline or None,
            repeat=situation.repeat,
            options=RunOptions(max_spend_usd=situation.ceiling),
        )
        versions = _versions(situation, skills, report, runners, environment)
    delta = build_delta(report)
    return Measured(
        counts=_counts(report),
        checks=_checks(report),
        tool_answers={
            _run(o): tuple((said["tool"], said["answer"]) for said in o.result.transcript)
            for o in report.outcomes
            if o.status != "errored"
        },
        left_out=_left_out(report, delta),
        never_offered=frozenset(
            _case(outcome)
            for outcome in report.outcomes
            for note in report.baseline_notes
            if note.kind == "skipped"
            and (note.skill_name, note.case_name) == (outcome.skill_name, outcome.case_name)
        ),
        numbers=_numbers(report, delta),
        low_signal=frozenset((_case(f), f.check_id) for f in delta.low_signal) if delta else _NONE,
        high_variance=frozenset((_case(f), f.arm) for f in delta.high_variance) if delta else _NONE,
        versions=versions,
        without_cases=frozenset(
            [*report.skipped_skills, *report.tag_filtered_skills, *report.case_filtered_skills]
        ),
        gate=_gate(situation, report, delta),
    )


_NONE: frozenset[Any] = frozenset()


def _gate(situation: Situation, report: Any, delta: Any) -> Gate:
    bars = situation.bars
    found = evaluate_gate(
        report,
        min_pass_rate=bars.min_pass_rate,
        fail_on_error=bars.fail_on_error,
        per_skill_min=dict(bars.per_skill),
        min_delta=bars.min_delta,
        delta=delta,
    )
    return Gate.of(found.passed, found.exit_code, found.reasons)


# ---------------------------------------------------------------- outcomes


def _case(held: Any) -> CaseOf:
    return CaseOf(held.skill_name, held.case_name, held.runner)


def _run(outcome: Any) -> Run:
    return Run(_case(outcome), outcome.arm, outcome.repeat_index)


def _counts(report: Any) -> Mapping[tuple[CaseOf, str], Counts]:
    ended: dict[tuple[CaseOf, str], Counter[str]] = {}
    for outcome in report.outcomes:
        ended.setdefault((_case(outcome), outcome.arm), Counter())[outcome.status] += 1
    return {key: Counts(**statuses) for key, statuses in ended.items()}


def _checks(report: Any) -> Mapping[Run, Mapping[str, bool]]:
    return {
        _run(outcome): {
            check.id: check.passed for score in outcome.scores for check in score.checks
        }
        for outcome in report.outcomes
        if outcome.status != "errored"
    }


def _left_out(report: Any, delta: Any) -> frozenset[CaseOf]:
    if delta is not None:
        return frozenset(_case(found) for found in delta.cases if not found.comparable)
    compared = report.baseline_kind is not None
    return frozenset(_case(outcome) for outcome in report.outcomes if compared)


def _numbers(report: Any, delta: Any) -> Mapping[str, float | None]:
    """What skill-lens shows as a zero where nothing was comparable is None here."""
    numbers: dict[str, float | None] = {
        "tokens spent": report.total_tokens,
        "dollars spent": report.total_cost_usd,
    }
    if delta is None:
        return numbers
    comparable = sum(runner.comparable_cases for runner in delta.runners)
    for name, found, cases in [
        ("all", delta, comparable),
        *((runner.runner, runner, runner.comparable_cases) for runner in delta.runners),
    ]:
        for measure_name, value in (
            ("candidate", found.pass_rate_candidate),
            ("baseline", found.pass_rate_baseline),
            ("pass rate", found.pass_rate_delta),
            ("tokens", found.tokens_delta),
            ("dollars", found.cost_usd_delta),
            ("milliseconds", found.latency_ms_delta),
        ):
            numbers[f"{name}: {measure_name}"] = value if cases else None
        numbers[f"{name}: comparable cases"] = cases
    for flag in delta.high_variance:
        numbers[f"{_case(flag)} {flag.runner} {flag.arm}: rate"] = flag.pass_rate
        numbers[f"{_case(flag)} {flag.runner} {flag.arm}: stddev"] = flag.stddev
    return numbers


# ---------------------------------------------------------------- versions


def _versions(
    situation: Situation,
    skills: Sequence[Any],
    report: Any,
    runners: Sequence[RepeatingFake],
    environment: pytest.MonkeyPatch,
) -> Mapping[str, Version | None]:
    """Which version of each skill the baseline arm ran."""
    ran = {outcome.skill_name for outcome in report.outcomes}
    if situation.baseline == "none":
        seen = [skill for runner in runners for skill in runner.baselines.values()]
        return {
            skill.name: Version(skill.name, skill.version, system_prompt(skill), {})
            for skill in seen
        }
    if situation.baseline == "previous":
        return {s.name: previous(s.path, environment) for s in skills if s.name in ran}
    return {}


def previous(folder: Path, shell: pytest.MonkeyPatch) -> Version | None:
    """What skill-lens resolves as the previous version of the skill in `folder`.

    Its answer does not name the commit, so git is asked to write down what skill-lens asks it: it
    archives the folder of the commit that it settles on, and no other.
    """
    with tempfile.TemporaryDirectory() as scratch, shell.context() as environment:
        trace = Path(scratch) / "git.trace"
        environment.setenv("GIT_TRACE", str(trace))
        found = resolve_previous(parse_skill_file(folder / "SKILL.md"), into=Path(scratch))
        if isinstance(found, BaselineUnavailable):
            return None
        [archived] = re.findall(r"git archive (.*)", trace.read_text())
        *_, commit, _, place = shlex.split(archived)
        return Version(
            name=found.name,
            declared=found.version,
            prompt=system_prompt(found),
            files=_shipped(found),
            commit=commit,
            folder=place.removeprefix(":(literal)"),
        )


def _shipped(skill: Any) -> Mapping[str, str]:
    if skill.bundle_root is None:
        return {}
    return {
        name: sha256((skill.bundle_root / name).read_bytes()).hexdigest()
        for name in SkillBundle(skill.bundle_root).listing()
    }
