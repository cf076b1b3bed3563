"""The report for programs: the JSON document, and the schema that describes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from skill_delta import __version__
from skill_delta.core.diagnostics import CheckFlag, SuspectCheck
from skill_delta.core.gate import GateVerdict
from skill_delta.core.judgements import Judgement
from skill_delta.core.judging import Judging
from skill_delta.core.paired import Difference, PairedDelta
from skill_delta.core.policy import Verdict
from skill_delta.core.readings import Measure, Reading, Scope
from skill_delta.core.report import BaselineSource, Report
from skill_delta.core.scores import own_spend_of
from skill_delta.core.skills import SkillVersion, Unresolved
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import (
    CaseKey,
    CheckResult,
    NotRun,
    Outcome,
    Scored,
    Skipped,
    Status,
    status_of,
)
from skill_delta.render import document
from skill_delta.render.escape import encodable
from skill_delta.render.judge_document import agreement_part, judged_by, spend_part

_DOCUMENT = TypeAdapter(document.ReportDocument)


def render_json(report: Report) -> str:
    """The report as JSON, keys in the schema's order."""
    try:
        written = _DOCUMENT.dump_json(report_document(report), indent=2)
    except PydanticSerializationError:
        # A model can send half a character, which no file can hold. That is rare, and to look at
        # every text for it takes as long as all the rest.
        values = _encodable(_DOCUMENT.dump_python(report_document(report)))
        written = to_json(values, indent=2, inf_nan_mode="null")
    return written.decode() + "\n"


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(each) for key, each in value.items()}
    return [_encodable(each) for each in value] if isinstance(value, list | Iterator) else value


def report_schema() -> dict[str, JsonValue]:
    """The JSON Schema of the report, as published in `schemas/report.schema.json`."""
    schema: dict[str, JsonValue] = _DOCUMENT.json_schema(mode="serialization")
    dialect: JsonValue = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **schema, "title": "skill-delta report"}


def report_document(report: Report) -> document.ReportDocument:
    """The report as the document's own values."""
    deltas = [_delta(delta, report) for delta in report.deltas]
    return document.ReportDocument(
        schema_version=document.SCHEMA_VERSION,
        skill_delta_version=__version__,
        started_at=report.started_at,
        finished_at=report.finished_at,
        base=report.base,
        head=report.head,
        is_working_copy=report.is_working_copy,
        gate=_gate(report.gate),
        summary=_summary(report),
        delta=deltas[0] if deltas else None,
        deltas=deltas,
        baselines=[_baseline(source) for source in report.sources],
        outcomes=map(_outcome, report.outcomes),
        skipped=[document.Skipped(skill=each.skill, reason=each.reason) for each in report.skipped],
        notes=list(report.notes),
        suite_changes=list(_suite_changes(report)),
        trials_saved=report.trials_saved,
        environment=document.Environment(
            runner_versions=dict(report.environment.runners),
            model=dict(report.environment.models),
            repetitions=report.environment.repetitions,
            seed=report.environment.seed,
            hooks_disabled=report.environment.hooks_disabled,
            judge=judged_by(judge) if (judge := report.environment.judge) else None,
        ),
        judge_agreement=agreement_part(report.agreement) if report.agreement else None,
    )


def _gate(gate: GateVerdict) -> document.Gate:
    return document.Gate(
        passed=gate.passed,
        verdict=gate.verdict,
        exit_code=int(gate.exit_code),
        reasons=[reason.text for reason in gate.reasons],
        gates=[_single_gate(judgement) for judgement in gate.judgements],
    )


def _single_gate(judgement: Judgement) -> document.SingleGate:
    scope, rule = judgement.scope, judgement.reading.rule
    return document.SingleGate(
        skill=scope.skill or None,
        runner=scope.runner,
        baseline=scope.baseline,
        method=judgement.method,
        min_delta=rule.min_delta,
        margin=rule.margin,
        verdict=judgement.verdict,
        note=judgement.ruling.note,
        literally=judgement.literally,
        within_noise=judgement.is_within_noise,
    )


def _suite_changes(report: Report) -> Iterator[document.SuiteChange]:
    for skill, changes in report.suite_changes.items():
        for change in changes:
            yield document.SuiteChange(
                skill=skill,
                case=change.name,
                change=change.kind,
                loosened=list(change.loosened),
                renamed_from=change.renamed_from,
                renamed_to=change.renamed_to,
                altered=list(change.altered),
                deselected_by=change.deselected_by or None,
            )


def _summary(report: Report) -> document.Summary:
    summary = report.summary
    return document.Summary(
        passed=summary.passed,
        failed=summary.failed,
        errored=summary.errored,
        inconclusive=summary.inconclusive,
        skipped=summary.skipped,
        not_run=summary.not_run,
        pass_rate=_exact(summary.pass_rate),
        tokens=summary.spend.usage.tokens,
        cost_usd=_exact(summary.spend.cost_usd),
        judge=spend_part(summary.judge_spend) if report.environment.judge else None,
    )


def _delta(delta: PairedDelta, report: Report) -> document.BaselineDelta:
    name, runners = delta.baseline, tuple(delta.runners)
    alone = runners[0] if len(runners) == 1 else None

    def sure(runner: str | None, skill: str = "", *, untouched: bool = False) -> Reading | None:
        """How sure it is; runners are never pooled, so with several only of each."""
        if runner is None:
            return None
        return report.readings.get(Scope(name, runner, skill, untouched))

    left_alone = sure(alone, untouched=True)
    of_runners = {
        runner: _metrics(each, sure(runner), _verdict(report, name, runner))
        for runner, each in delta.runners.items()
    }
    flags = report.flags[delta.baseline]
    suspect = {
        flag: [_suspect(found) for found in flags.suspect if found.flag is flag]
        for flag in CheckFlag
    }
    # With one runner the whole is what that runner did, and nothing is worked out twice.
    whole = of_runners[alone] if alone is not None else _metrics(delta.overall, None, None)
    return document.BaselineDelta(
        **_fields(whole),
        baseline=name,
        runners=of_runners,
        skills={
            skill: _metrics(each, sure(alone, skill), _verdict(report, name, alone, skill))
            for skill, each in delta.skills.items()
        },
        untouched=_metrics(left_alone.difference, left_alone, None) if left_alone else None,
        excluded=[
            document.Excluded(**_of_case(pair.key), reason=pair.excluded)
            for pair in delta.pairs
            if pair.excluded
        ],
        low_signal=[
            document.LowSignal(**_of_case(found.key), check=found.check, runs=found.runs)
            for found in flags.low_signal
        ],
        high_variance=[
            document.HighVariance(
                **_of_case(found.key),
                arm=found.role,
                pass_rate=found.pass_rate,
                stddev=found.stddev,
                runs=found.runs,
                noise=found.may_be_chance,
            )
            for found in flags.high_variance
        ],
        always_fail=suspect[CheckFlag.ALWAYS_FAILS],
        inverse=suspect[CheckFlag.INVERSE],
        derived=suspect[CheckFlag.DERIVED],
    )


def _suspect(found: SuspectCheck) -> document.SuspectCheck:
    return document.SuspectCheck(
        **_of_case(found.key),
        check=found.check,
        runs=found.runs,
        pass_rate_candidate=_rounded(found.rate_candidate),
        pass_rate_baseline=_rounded(found.rate_baseline),
        other=found.other or None,
        noise=found.may_be_chance,
    )


def _fields(metrics: document.Metrics) -> dict[str, Any]:
    """The fields as they are: `asdict` would take the parts in them apart as well."""
    return {field.name: getattr(metrics, field.name) for field in fields(metrics)}


def _verdict(report: Report, baseline: str, runner: str | None, skill: str = "") -> Verdict | None:
    """The worst of the gates on these comparisons; None where nothing gates on them."""
    order = list(Verdict)
    found = [
        judgement.verdict
        for judgement in report.gate.judgements
        if judgement.scope.baseline == baseline
        and judgement.scope.runner == runner
        and skill in ("", judgement.scope.skill)
    ]
    return max(found, key=order.index, default=None)


def _metrics(
    found: Difference, reading: Reading | None, verdict: Verdict | None
) -> document.Metrics:
    measured = found.comparable_cases > 0
    return document.Metrics(
        pass_rate_baseline=_exact(found.pass_rate_baseline),
        pass_rate_candidate=_exact(found.pass_rate_candidate),
        pass_rate_delta=_exact(found.pass_rate),
        tokens_delta=_exact(found.tokens) if measured else None,
        cost_delta_usd=_exact(found.cost_usd) if measured else None,
        latency_delta_ms=_exact(found.latency_ms) if measured else None,
        comparable_cases=found.comparable_cases,
        interval=_interval(reading) if reading else None,
        p_regression=_exact(reading.p_regression) if reading else None,
        p_exact=_exact(reading.p_exact) if reading else None,
        mde=_exact(reading.detectable_drop) if reading else None,
        verdict=verdict,
        population_band=_band(reading) if reading else None,
        ratios=dict(_ratios(reading)) if reading else {},
    )


METHOD = "newcombe-wilson-design-effect"
"""What the interval is computed by; docs/statistics.md has the formulas."""


def _interval(reading: Reading) -> document.Interval:
    found, rule = reading.interval, reading.rule
    return document.Interval(
        delta=_rounded(found.delta),
        low=_rounded(found.low),
        high=_rounded(found.high),
        confidence=rule.confidence,
        method=METHOD,
        looks_used=reading.looks_used,
        looks_planned=rule.looks,
    )


def _band(reading: Reading) -> document.Band:
    return document.Band(low=_rounded(reading.band.low), high=_rounded(reading.band.high))


def _ratios(reading: Reading) -> Iterator[tuple[Measure, document.Ratio]]:
    for measure in Measure:
        found = reading.ratio(measure)
        if found is not None:
            ratio = document.Ratio(
                ratio=_rounded(found.ratio), low=_rounded(found.low), high=_rounded(found.high)
            )
            yield measure, ratio


def _rounded(value: float) -> float:
    return round(value, 12) + 0.0


def _exact(value: float | None) -> float | None:
    """Without the last digits of binary fractions: 0.3, not 0.30000000000000004; never -0.0."""
    return None if value is None else _rounded(value)


def _baseline(source: BaselineSource) -> document.Baseline:
    found = source.version
    skill = found if isinstance(found, SkillVersion) else None
    return document.Baseline(
        skill=source.skill,
        baseline=source.baseline,
        version=skill.version if skill else None,
        commit=skill.commit if skill else None,
        unresolved=found.message if isinstance(found, Unresolved) else None,
    )


_STATUSES: Mapping[Status, document.OutcomeStatus] = {
    Status.PASS: "pass",
    Status.FAIL: "fail",
    Status.ERROR: "error",
    Status.SKIPPED: "skipped",
    Status.INCONCLUSIVE: "inconclusive",
    Status.NOT_RUN: "not_run",
}


def _outcome(outcome: Outcome) -> document.Outcome:
    trial = outcome.trial
    spend = own_spend_of(outcome)
    result = outcome if isinstance(outcome, Scored) else None
    ran = None if isinstance(outcome, Skipped | NotRun) else outcome
    transcript = ran.transcript if ran else None
    return document.Outcome(
        skill=trial.skill,
        case=trial.case.name,
        runner=trial.runner,
        arm=trial.arm.role,
        baseline=trial.arm.baseline or None,
        repetition=trial.repetition,
        status=_STATUSES[status_of(outcome)],
        score=_exact(result.score) if result else None,
        checks=_checks(result.checks) if result else [],
        usage=_usage(spend.usage),
        cost_usd=spend.cost_usd,
        latency_ms=transcript.latency_ms if transcript else None,
        error=None if isinstance(outcome, Scored) else outcome.reason,
        transcript=_transcript(transcript) if transcript else None,
        judge=_judging(ran.judging) if ran and ran.judging else None,
    )


def _judging(judging: Judging) -> document.Judging:
    return document.Judging(
        model=judging.judge.title,
        attempts=len(judging.replies),
        usage=_usage(judging.usage),
        cost_usd=judging.cost_usd,
    )


def _of_case(key: CaseKey) -> dict[str, str]:
    """The keys of `CaseOfRunner`."""
    return {"skill": key.skill, "case": key.case, "runner": key.runner}


def _checks(checks: Sequence[CheckResult]) -> list[document.Check]:
    return [
        document.Check(
            id=check.id,
            passed=check.passed,
            evidence=check.evidence,
            score=check.score,
        )
        for check in checks
    ]


def _usage(usage: Usage) -> document.Usage:
    return document.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)


def _transcript(transcript: Transcript) -> document.Transcript:
    return document.Transcript(
        answer=transcript.answer,
        tool_calls=[
            document.ToolCall(
                name=call.name,
                arguments={key: _value(each) for key, each in call.arguments.items()},
                answer=call.answer,
            )
            for call in transcript.tool_calls
        ],
        skill_triggered=transcript.skill_triggered,
    )


def _value(value: JsonValue) -> JsonValue:
    """The same value, writable."""
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    # JSON has no spelling for these, and a model can send 1e999.
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
