"""The DeltaScorecard as JSON and the schema that describes it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from syrupy.assertion import SnapshotAssertion

from builders import Runs, runs
from skill_delta.core.paired import compare
from skill_delta.core.scorecard import scorecard
from skill_delta.core.trials import NO_SKILL
from skill_delta.render.scorecard import AnyScorecard, render_scorecard, scorecard_schema
from snapshot_files import JsonFile

SCHEMA = Path(__file__).parents[2] / "schemas" / "scorecard.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(scorecard_schema())

KEYS = [
    "schema_version",
    "suite_id",
    "suite_path",
    "generated_at",
    "skill_on_run_id",
    "skill_off_run_id",
    "skill_on_aggregate",
    "skill_off_aggregate",
    "aggregate_delta",
    "per_case",
]
KEYS_OF_A_CASE = [
    "case_id",
    "skill_on_status",
    "skill_off_status",
    "skill_on_score",
    "skill_off_score",
    "delta",
]
"""As the contract writes them."""

DEMO = (runs("decided", candidate="P", none="F"), runs("tied", candidate="P", none="P"))


def written(
    *cases: Runs,
    live: bool = False,
    name: str = "order-support",
    at: datetime = datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
) -> str:
    delta = compare(NO_SKILL, [outcome for case in cases for outcome in case], {})
    return render_scorecard(
        scorecard(
            delta,
            suite_id=name,
            suite_path=f"skills/{name}",
            generated_at=at,
            run_id="nightly",
            live=live,
        )
    )


def test_the_published_schema_is_the_codes() -> None:
    """To renew it, write `scorecard_schema()` there, indented by 2, and review what changed."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == scorecard_schema()


def test_the_schema_is_a_schema() -> None:
    """An editor or a validator of any make can load it."""
    jsonschema.Draft202012Validator.check_schema(scorecard_schema())


@pytest.mark.parametrize("live", [False, True], ids=["scripted", "live"])
def test_scorecard(live: bool, snapshot: SnapshotAssertion) -> None:
    """Keys and their order are the contract's; only a single live shot has two more, at the end."""
    assert written(*DEMO, live=live) == snapshot(extension_class=JsonFile)


@pytest.mark.parametrize("live", [False, True])
def test_what_is_written_reads_back_as_the_same(live: bool) -> None:
    """Nothing is lost or reordered on the way there and back."""
    adapter: TypeAdapter[AnyScorecard] = TypeAdapter(AnyScorecard)
    text = written(*DEMO, live=live)

    assert adapter.dump_json(adapter.validate_json(text), indent=2).decode() + "\n" == text


def test_the_keys_are_the_contracts_and_no_others() -> None:
    """Whoever reads AgentOps' scorecards reads ours."""
    document = json.loads(written(*DEMO))

    assert [*document] == KEYS
    assert [[*case] for case in document["per_case"]] == [KEYS_OF_A_CASE] * 2


def test_only_a_single_live_shot_says_that_it_is_no_evidence() -> None:
    """After the contract's keys, and with its reason."""
    single = json.loads(written(*DEMO, live=True))
    repeated = json.loads(written(runs(candidate="PP", none="FF"), live=True))

    assert [*single] == [*KEYS, "authoritative", "authoritative_reason"]
    assert single["authoritative"] is False
    assert "one run of a real model is no evidence" in single["authoritative_reason"]
    assert [*repeated] == KEYS


def test_the_time_is_in_utc() -> None:
    """Wherever the run took place."""
    at = datetime(2026, 3, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))

    assert json.loads(written(at=at))["generated_at"] == "2026-03-01T12:00:00Z"


LETTERS = st.tuples(st.text("PFEIN", min_size=1, max_size=3), st.text("PFEINS", max_size=3))


@settings(deadline=None)
@given(st.lists(LETTERS, max_size=5), st.booleans())
def test_every_scorecard_is_what_the_schema_says(
    letters: list[tuple[str, str]], live: bool
) -> None:
    """Whatever happened in the run, and its difference is that of its two means."""
    cases = (runs(f"case {n}", candidate=a, none=b) for n, (a, b) in enumerate(letters))
    document = json.loads(written(*cases, live=live), parse_constant=pytest.fail)

    VALIDATOR.validate(document)
    assert {case["delta"] for case in document["per_case"]} <= {-1, 0, 1}
    assert document["aggregate_delta"] == pytest.approx(
        document["skill_on_aggregate"] - document["skill_off_aggregate"], abs=1e-12
    )


@settings(deadline=None)
@given(st.text(st.characters(categories=["Cs", "Cc", "L", "P"]), min_size=1, max_size=20))
def test_names_of_any_kind_are_written(name: str) -> None:
    """Half characters are legal in a name and in no file."""
    text = written(runs(name, candidate="P", none="P"), name=name)
    text.encode()
    document = json.loads(text)

    VALIDATOR.validate(document)
    if name.isascii():
        assert document["suite_id"] == document["per_case"][0]["case_id"] == name
