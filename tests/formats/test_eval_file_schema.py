"""The JSON Schema for editors, and the documents that tell of the format."""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import JsonValue

from skill_delta.core.suite import Suite
from skill_delta.formats import read_suite
from skill_delta.formats.native_model import (
    KINDS,
    BudgetShape,
    CaseShape,
    EvalFileShape,
    JudgeShape,
    TrajectoryShape,
)
from skill_delta.formats.schema import eval_file_schema
from source_files import InMemoryFiles

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "schemas" / "eval-file.schema.json"
EVAL_FILES, CHECKS = ROOT / "docs" / "eval-files.md", ROOT / "docs" / "checks.md"

LIBRARY = PurePosixPath("skills/shared-tools/order-api.yaml")
FOLDER = PurePosixPath("skills/order-support")


def yaml_blocks(page: Path) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.M)


def as_eval_file(block: str) -> str:
    """A block of the documentation; a part of a case is put into one."""
    written = yaml.safe_load(block)
    if "cases" in written:
        return block
    return yaml.safe_dump({"cases": [{"name": "x", "task": "t", **written}]})


def documented() -> list[str]:
    blocks = [block for page in (EVAL_FILES, CHECKS) for block in yaml_blocks(page)]
    return [block for block in blocks if f"# {LIBRARY}" not in block]


def the_library() -> str:
    (block,) = (block for block in yaml_blocks(EVAL_FILES) if f"# {LIBRARY}" in block)
    return block


def read(text: str) -> Suite:
    files = InMemoryFiles({str(LIBRARY): the_library(), f"{FOLDER}/evals/a.yaml": text})
    suite = read_suite("order-support", files, FOLDER)
    assert suite is not None
    return suite


def valid(value: JsonValue) -> bool:
    return Draft202012Validator(eval_file_schema()).is_valid(value)


def test_the_committed_schema_is_that_of_the_models() -> None:
    """Write it again with `eval_file_schema()` where they differ."""
    Draft202012Validator.check_schema(eval_file_schema())

    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == eval_file_schema()


@pytest.mark.parametrize("block", documented())
def test_what_the_documentation_shows_can_be_run(block: str) -> None:
    """Every example loads without a note, and an editor finds it valid."""
    text = as_eval_file(block)
    suite = read(text)

    assert suite.cases
    assert suite.notes == ()
    assert valid(yaml.safe_load(text))


def examples() -> list[Path]:
    found = (ROOT / "examples").glob("*/evals/*.yaml")
    return sorted(path for path in found if path.name != "replies.yaml")


@pytest.mark.parametrize("path", examples(), ids=lambda path: path.name)
def test_an_editor_finds_the_examples_valid(path: Path) -> None:
    """What we ship is right by our own schema."""
    assert valid(yaml.safe_load(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"name": " ", "task": "t"},
        {"name": "x", "task": "t", "assertion": []},
        {"name": "x", "task": "t", "assertions": [{"kind": "contians", "value": "a"}]},
        {"name": "x", "task": "t", "assertions": [{"kind": "contains", "value": 5}]},
        {"name": "x", "task": "t", "mode": "offred"},
        {"name": "x", "task": "t", "tools": [{"name": "a b"}]},
        {"name": "x", "task": "t", "tools": [{"ref": "a", "name": "b"}]},
        {"name": "x", "task": "t", "tools": [{"name": "a", "returns": []}]},
        {"name": "x", "task": "t", "trajectory": {"max_calls": -1}},
    ],
)
def test_an_editor_finds_a_slip(case: JsonValue) -> None:
    """While it is being typed."""
    assert not valid({"cases": [case]})


@pytest.mark.parametrize("environment", [{"disable_hook": True}, {"disable_hooks": "yes"}, None])
def test_an_editor_finds_a_slip_in_the_environment(environment: JsonValue) -> None:
    """A switch that is misspelled would switch nothing."""
    assert not valid({"cases": [], "environment": environment})


def headings(page: Path) -> list[str]:
    return re.findall(r"^### `([^`]+)`$", page.read_text(encoding="utf-8"), re.M)


def test_every_check_has_its_heading() -> None:
    """And no heading tells of a check that there is not."""
    assert headings(CHECKS) == [
        *KINDS,
        *TrajectoryShape.model_fields,
        *BudgetShape.model_fields,
        *JudgeShape.model_fields,
    ]


def test_every_field_of_a_case_has_its_row() -> None:
    """The table of the documentation is that of the model."""
    table = EVAL_FILES.read_text(encoding="utf-8").split("## A case")[1].split("##")[0]

    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == list(CaseShape.model_fields)


def test_every_key_at_the_top_has_its_row() -> None:
    """So has every key of the file."""
    table = EVAL_FILES.read_text(encoding="utf-8").split("## What may stand at the top")[1]

    rows = re.findall(r"^\| `(\w+)` \|", table.split("##")[0], re.M)

    assert sorted(rows) == sorted(EvalFileShape.model_fields)
