"""Compares and renders SKILLS of 20 cases, 2 arms, 5 repeats; tells each step's CPU seconds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import ParamSpec, TypeVar

from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.gate import decide
from skill_delta.core.judgements import Evidence, all_readings
from skill_delta.core.looks import Looks
from skill_delta.core.paired import compare
from skill_delta.core.policy import GateMethod, GatePolicy
from skill_delta.core.report import BaselineSource, Environment, Report
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Case, Check
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import (
    Arm,
    CheckResult,
    Outcome,
    Role,
    Scored,
    Subject,
    Trial,
    in_report_order,
)
from skill_delta.errors import Place
from skill_delta.render import RENDERERS, Renderer
from skill_delta.render.redaction import Redactor
from skill_delta.render.terminal import render_terminal

CASES = 20
REPEATS = 5
CHECKS = ("contains[0]", "not_contains[0]", "called:lookup_order")
RUNNER = "openai"
BASELINE = "previous"
PASSED_AS_EDITED = 0.95
PASSED_BEFORE = 0.85

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Recorded(CheckSpec):
    """A check whose result is made up with its outcome."""

    def grade(self, transcript: Transcript) -> Finding:
        return Finding.of(bool(transcript.answer), "")


def a_subject(number: int) -> Subject:
    label = f"skill-{number:03}"
    edited = SkillVersion(label, "Answers questions about orders.", "Be kind.", "1.1.0")
    before = SkillVersion(
        label, "Answers questions about orders.", "Be brief.", "1.0.0", commit="1a2b3c4d" * 5
    )
    cases = tuple(a_case(label, case) for case in range(CASES))
    arms = (Arm(Role.BASELINE, before, BASELINE),)
    return Subject(label, Arm(Role.CANDIDATE, edited), arms, cases)


def a_case(skill: str, number: int) -> Case:
    return Case(
        name=f"refunds order {number:03}",
        task="I want a refund for my last order.",
        checks=tuple(Check(check, Recorded()) for check in CHECKS),
        place=Place(f"skills/{skill}/evals/cases.yaml", 4 * number),
    )


def outcomes_of(subject: Subject, rng: Random) -> Iterator[Outcome]:
    for case in subject.cases:
        for repetition in range(REPEATS):
            for arm in (subject.candidate, *subject.baselines):
                trial = Trial(subject.label, arm, case, RUNNER, repetition)
                yield Scored(trial, a_transcript(rng), tuple(results(arm, rng)))


def a_transcript(rng: Random) -> Transcript:
    order = f"{rng.randrange(10**6):06}"
    return Transcript(
        answer=f"I have refunded order {order}, as you asked. " * 10,
        tool_calls=(ToolCall("lookup_order", {"order_id": order}, f"order {order}: paid"),),
        usage=Usage(rng.randrange(300, 600), rng.randrange(50, 200)),
        cost_usd=0.0005,
        latency_ms=rng.uniform(500, 1500),
    )


def results(arm: Arm, rng: Random) -> Iterator[CheckResult]:
    share = PASSED_AS_EDITED if arm.role is Role.CANDIDATE else PASSED_BEFORE
    for check in CHECKS:
        passed = rng.random() < share
        order = f"{rng.randrange(10**6):06}"
        evidence = f"'{order}' is{'' if passed else ' not'} in the answer"
        yield CheckResult(check, passed, evidence, float(passed))


class Steps:
    """CPU seconds by step, in the order in which they are first taken."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def take(
        self, step: str, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        began = time.process_time()
        result = work(*given, **named)
        self.seconds[step] = self.seconds.get(step, 0.0) + time.process_time() - began
        return result


def report_of(subjects: tuple[Subject, ...], arrived: list[Outcome], steps: Steps) -> Report:
    outcomes = steps.take("put in order", in_report_order, arrived, subjects, [RUNNER])
    delta = steps.take("compare", compare, BASELINE, outcomes, {})
    policy = GatePolicy(
        method=GateMethod.INTERVAL, min_delta={BASELINE: 0.0}, looks=Looks(REPEATS, REPEATS)
    )
    evidence = Evidence(outcomes, (delta,))
    gate = steps.take("decide", decide, evidence, policy)
    readings = steps.take("read", all_readings, evidence, policy, {})
    return Report(
        started_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
        finished_at=datetime(2026, 3, 1, 13, tzinfo=UTC),
        subjects=subjects,
        outcomes=outcomes,
        deltas=(delta,),
        gate=gate,
        readings=readings,
        environment=Environment(7, {RUNNER: "0.1.0"}, {RUNNER: "bench"}, REPEATS),
        sources=tuple(
            BaselineSource(subject.label, BASELINE, subject.baselines[0].skill)
            for subject in subjects
        ),
    )


def run(skills: int) -> Steps:
    steps = Steps()
    rng = Random(7)  # noqa: S311 - the same outcomes every time
    subjects = tuple(a_subject(number) for number in range(skills))
    arrived = [outcome for subject in subjects for outcome in outcomes_of(subject, rng)]
    rng.shuffle(arrived)
    report = report_of(subjects, arrived, steps)
    redactor = Redactor(["sk-a-key-that-is-in-no-report-0123456789"])
    renderers: Mapping[str, Renderer] = {"terminal": render_terminal, **RENDERERS}
    for name, render in renderers.items():
        text = steps.take(name, render, report)
        steps.take("redact", redactor.redact, text)
        del text  # as a run does: written, and let go of
    return steps


if __name__ == "__main__":
    run(skills=1)  # what a renderer imports at first use is part of no step
    print(json.dumps(run(int(sys.argv[1])).seconds))
