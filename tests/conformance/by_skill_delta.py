"""The situation as skill-delta measures it: its command line, and the JSON report it writes.

The command line has one scripted runner, which costs what its file says; a situation with several,
or with one that is not priced, runs through the pipeline.
"""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import JsonValue

from command_line import CommandLine
from conformance.measured import CaseOf, Counts, Gate, Measured, Run, Version
from conformance.situation import Model, Reply, Script, Situation
from skill_delta.core.conversation import Completion, Conversation
from skill_delta.core.looks import Looks
from skill_delta.core.policy import GatePolicy
from skill_delta.core.prompt import system_prompt
from skill_delta.core.report import Environment
from skill_delta.core.selection import Selection
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode
from skill_delta.execution import Budget, Ceilings, NoLedger
from skill_delta.formats import read_suite
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills, source_files_for
from skill_delta.hosts.terminal import LineProgress
from skill_delta.pipeline import Ports, evaluate
from skill_delta.preparation import FoundSkill, RunRequest, prepare
from skill_delta.providers.scripted import ScriptedModel, read_replies
from skill_delta.render import RENDERERS
from skill_delta.runners.model import ModelRunner

_STATUSES = {
    "pass": "passed",
    "fail": "failed",
    "error": "errored",
    "inconclusive": "inconclusive",
}
"""Of trials that ran; the others were `skipped` or, past a ceiling, `not_run`."""

_NO_DELTA: Mapping[str, Sequence[Any]] = {"excluded": (), "low_signal": (), "high_variance": ()}


def measure(situation: Situation, folder: Path, command: CommandLine) -> Measured:
    """Find the skills below `folder`, run their cases, compare and gate."""
    if len(situation.models) == 1 and all(said.priced for said in situation.models.values()):
        report = _by_command(situation, folder, command)
    else:
        report = asyncio.run(_by_pipeline(situation, folder))
    outcomes = _ran(report)
    skipped = [o for o in report["outcomes"] if o["status"] == "skipped"]
    delta = report["delta"] or _NO_DELTA
    scored = [outcome for outcome in outcomes if outcome["status"] != "error"]
    return Measured(
        counts=_counts(outcomes),
        checks={_run(o): {check["id"]: check["passed"] for check in o["checks"]} for o in scored},
        tool_answers={
            _run(o): tuple((call["name"], call["answer"]) for call in o["transcript"]["tool_calls"])
            for o in scored
        },
        left_out=frozenset(map(_case, delta["excluded"])),
        never_offered=frozenset(map(_case, skipped)),
        numbers=_numbers(report),
        low_signal=frozenset((_case(f), f["check"]) for f in delta["low_signal"]),
        high_variance=frozenset((_case(f), f["arm"]) for f in delta["high_variance"]),
        versions=_versions(report, folder),
        without_cases=frozenset(skill["skill"] for skill in report["skipped"]),
        gate=Gate.of(
            report["gate"]["passed"], report["gate"]["exit_code"], report["gate"]["reasons"]
        ),
    )


# ---------------------------------------------------------------- the run


def _by_command(situation: Situation, folder: Path, command: CommandLine) -> Any:
    [(runner, said)] = situation.models.items()
    beside = folder.parent / "skill-delta"
    beside.mkdir(exist_ok=True)
    replies, written = beside / "replies.yaml", beside / "report.json"
    replies.write_text(_replies(said))
    finished = command(
        *("run", folder, "--runner", runner, "--replies", replies, "--json-output", written),
        *_flags_of(situation),
    )
    assert written.exists(), finished.all
    report = json.loads(written.read_text())
    assert report["gate"]["exit_code"] == finished.exit_code
    return report


def _flags_of(situation: Situation) -> Iterator[str]:
    bars = situation.bars
    yield from ("--repeat", str(situation.repeat), "--min-pass-rate", str(bars.min_pass_rate))
    if situation.baseline:
        yield from ("--baseline", situation.baseline)
    if bars.min_delta is not None:
        yield from ("--min-delta", str(bars.min_delta))
    for name, rate in bars.per_skill.items():
        yield from ("--per-skill-min", f"{name}={rate}")
    if not bars.fail_on_error:
        yield "--no-fail-on-error"
    if situation.ceiling is not None:
        yield from ("--max-cost", str(situation.ceiling), "--concurrency", "1")
    if situation.tag:
        yield from ("--tag", situation.tag)
    if situation.case:
        yield from ("--case", situation.case)


async def _by_pipeline(situation: Situation, folder: Path) -> Any:
    skills = []
    for working in find_skills([folder]):
        files, place = source_files_for(Path(working.location))
        skills.append(FoundSkill(working, read_suite(working.skill.name, files, place)))
    bars = situation.bars
    names = [situation.baseline] if situation.baseline else []
    request = RunRequest(
        baselines=tuple(names),
        selection=Selection(names=(situation.case,) if situation.case else ()),
        policy=GatePolicy(
            min_pass_rate=bars.min_pass_rate,
            skill_min_pass_rate=bars.per_skill,
            fail_on_error=bars.fail_on_error,
            min_delta={} if bars.min_delta is None else dict.fromkeys(names, bars.min_delta),
            looks=Looks(situation.repeat, situation.repeat),
        ),
    )
    with tempfile.TemporaryDirectory() as scratch:
        runners = {name: _runner(name, said) for name, said in situation.models.items()}
        ready = prepare(skills, request, runners, GitBaselines(Path(scratch), None))
        ports = Ports(
            runners=runners,
            budget=Budget(Ceilings(), lambda: 0.0),
            progress=LineProgress(io.StringIO()),
            ledger=NoLedger(),
            cancelled=asyncio.Event(),
            started_at=datetime(2026, 3, 1, tzinfo=UTC),
            now=lambda: datetime(2026, 3, 1, tzinfo=UTC),
        )
        environment = Environment(
            seed=0,
            runners={name: runner.version for name, runner in runners.items()},
            repetitions=situation.repeat,
        )
        return json.loads(RENDERERS["json"](await evaluate(ready, request, environment, ports)))


def _runner(name: str, said: Model) -> ModelRunner:
    scripted = ScriptedModel(read_replies(_replies(said).encode(), "replies.yaml"))
    asked = scripted if said.priced else Unpriced(scripted)
    return ModelRunner(name, asked, costs_money=False)


@dataclass(frozen=True)
class Unpriced:
    """A model whose price nobody knows."""

    model: ScriptedModel

    async def complete(self, conversation: Conversation) -> Completion:
        return replace(await self.model.complete(conversation), cost_usd=None)

    async def close(self) -> None:
        await self.model.close()


def _replies(said: Model) -> str:
    entries = [
        *_entries(said.baseline, {"arm": "baseline"}),
        *_entries(said.candidate, {"arm": "candidate"}),
    ]
    return yaml.safe_dump({"replies": entries})


def _entries(script: Script, arm: Mapping[str, JsonValue]) -> Iterator[Mapping[str, JsonValue]]:
    for case, replies in script.items():
        for repetition, reply in enumerate(replies):
            matcher: dict[str, JsonValue] = {"case": case, **arm}
            if len(replies) > 1:
                matcher["repetition"] = repetition
            yield matcher | _entry(reply)


def _entry(reply: Reply) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = {"error": reply.error} if reply.error else {"text": reply.text}
    return said | {
        "tool_calls": [
            {"name": call.name, "arguments": dict(call.arguments)} for call in reply.calls
        ],
        "loads_skill": reply.loads_skill,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
        "cost_usd": reply.cost_usd,
        "latency_ms": float(reply.latency_ms),
    }


# ---------------------------------------------------------------- the report


def _case(entry: Any) -> CaseOf:
    return CaseOf(entry["skill"], entry["case"], entry["runner"])


def _run(outcome: Any) -> Run:
    return Run(_case(outcome), outcome["arm"], outcome["repetition"])


def _counts(outcomes: Sequence[Any]) -> Mapping[tuple[CaseOf, str], Counts]:
    ended: dict[tuple[CaseOf, str], Counter[str]] = {}
    for outcome in outcomes:
        status = _STATUSES[outcome["status"]]
        ended.setdefault((_case(outcome), outcome["arm"]), Counter())[status] += 1
    return {key: Counts(**statuses) for key, statuses in ended.items()}


def _numbers(report: Any) -> Mapping[str, float | None]:
    numbers: dict[str, float | None] = {
        "tokens spent": report["summary"]["tokens"],
        "dollars spent": report["summary"]["cost_usd"],
    }
    delta = report["delta"]
    # skill-lens has no delta at all where no baseline trial ran; ours is then empty.
    if delta is None or not any(outcome["arm"] == "baseline" for outcome in _ran(report)):
        return numbers
    for name, found in [("all", delta), *delta["runners"].items()]:
        numbers |= {
            f"{name}: candidate": found["pass_rate_candidate"],
            f"{name}: baseline": found["pass_rate_baseline"],
            f"{name}: pass rate": found["pass_rate_delta"],
            f"{name}: tokens": found["tokens_delta"],
            f"{name}: dollars": found["cost_delta_usd"],
            f"{name}: milliseconds": found["latency_delta_ms"],
            f"{name}: comparable cases": found["comparable_cases"],
        }
    for flag in delta["high_variance"]:
        numbers[f"{_case(flag)} {flag['runner']} {flag['arm']}: rate"] = flag["pass_rate"]
        numbers[f"{_case(flag)} {flag['runner']} {flag['arm']}: stddev"] = flag["stddev"]
    return numbers


def _ran(report: Any) -> list[Any]:
    return [outcome for outcome in report["outcomes"] if outcome["status"] in _STATUSES]


# ---------------------------------------------------------------- versions


def _versions(report: Any, folder: Path) -> Mapping[str, Version | None]:
    """Which version of each skill the report names, with what that version tells and ships."""
    versions: dict[str, Version | None] = {}
    folders = {each.skill.name: Path(each.location) for each in find_skills([folder])}
    ran = {outcome["skill"] for outcome in _ran(report) if outcome["arm"] == "baseline"}
    for named in report["baselines"]:
        if named["unresolved"] is not None:
            versions[named["skill"]] = None
        elif named["baseline"] == "none":
            if named["skill"] in ran:
                versions[named["skill"]] = _version(SkillVersion.none(named["skill"]))
        else:
            found = previous(folders[named["skill"]])
            assert found is not None
            assert found.commit == named["commit"]
            versions[named["skill"]] = found
    return versions


def previous(folder: Path) -> Version | None:
    """What skill-delta resolves as the previous version of the skill in `folder`."""
    [working] = find_skills([folder / "SKILL.md"])
    with tempfile.TemporaryDirectory() as scratch:
        found = GitBaselines(Path(scratch), None).resolve([working], "previous")[working.location]
    return _version(found) if isinstance(found, SkillVersion) else None


def _version(skill: SkillVersion) -> Version:
    of_history = skill.commit is not None
    return Version(
        name=skill.name,
        declared=skill.version or "",
        prompt=system_prompt(skill, Mode.LOADED),
        files={str(f.path): f.sha256 for f in skill.bundle.files} if skill.bundle else {},
        commit=skill.commit or "",
        folder=str(skill.folder) if of_history else "",
    )
