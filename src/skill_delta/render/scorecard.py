"""The DeltaScorecard as JSON, and the schema that describes it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pydantic import ConfigDict, JsonValue, TypeAdapter

from skill_delta.core.scorecard import CaseScore, LegStatus, Scorecard, Sign
from skill_delta.render.document import Delta
from skill_delta.render.document_part import Rate
from skill_delta.render.escape import encodable

SCHEMA_VERSION: Literal[1] = 1


class _Part:
    """What pydantic needs to know of every part: nothing unknown, no NaN."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDelta(_Part):
    """One case in both legs. `delta` is +1 where only skill-on passes, -1 where only skill-off."""

    case_id: str
    skill_on_status: LegStatus
    skill_off_status: LegStatus
    skill_on_score: Rate
    skill_off_score: Rate
    delta: Sign


@dataclass(frozen=True, kw_only=True)
class DeltaScorecard(_Part):
    """The same suite with the skill and without. Aggregates are of the cases that both measured."""

    schema_version: Literal[1]
    suite_id: str
    suite_path: str
    generated_at: datetime
    skill_on_run_id: str
    skill_off_run_id: str
    skill_on_aggregate: Rate
    skill_off_aggregate: Rate
    aggregate_delta: Delta
    per_case: list[CaseDelta]


@dataclass(frozen=True, kw_only=True)
class TentativeScorecard(DeltaScorecard):
    """The scorecard of a single live run, which is no evidence, and why."""

    authoritative: Literal[False]
    authoritative_reason: str


AnyScorecard = DeltaScorecard | TentativeScorecard

_DOCUMENT: TypeAdapter[AnyScorecard] = TypeAdapter(AnyScorecard)


def render_scorecard(scorecard: Scorecard) -> str:
    """The scorecard as JSON, keys in the contract's order and our own after them."""
    return _DOCUMENT.dump_json(_document(scorecard), indent=2).decode() + "\n"


def scorecard_schema() -> dict[str, JsonValue]:
    """The JSON Schema of the scorecard, as published in `schemas/scorecard.schema.json`."""
    schema: dict[str, JsonValue] = _DOCUMENT.json_schema(mode="serialization")
    dialect: JsonValue = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, **schema, "title": "skill-delta DeltaScorecard"}


def _document(scorecard: Scorecard) -> AnyScorecard:
    document = DeltaScorecard(
        schema_version=SCHEMA_VERSION,
        suite_id=encodable(scorecard.suite_id),
        suite_path=encodable(scorecard.suite_path),
        generated_at=scorecard.generated_at.astimezone(UTC),
        skill_on_run_id=encodable(scorecard.skill_on_run_id),
        skill_off_run_id=encodable(scorecard.skill_off_run_id),
        skill_on_aggregate=scorecard.skill_on_aggregate,
        skill_off_aggregate=scorecard.skill_off_aggregate,
        aggregate_delta=scorecard.aggregate_delta,
        per_case=[_case(case) for case in scorecard.per_case],
    )
    if not scorecard.authoritative_reason:
        return document
    return TentativeScorecard(
        **vars(document),
        authoritative=False,
        authoritative_reason=scorecard.authoritative_reason,
    )


def _case(case: CaseScore) -> CaseDelta:
    return CaseDelta(
        case_id=encodable(case.case_id),
        skill_on_status=case.skill_on_status,
        skill_off_status=case.skill_off_status,
        skill_on_score=case.skill_on_score,
        skill_off_score=case.skill_off_score,
        delta=case.delta,
    )
