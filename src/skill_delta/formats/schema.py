"""The JSON Schema of the native eval file, for editors."""

from __future__ import annotations

from pydantic import JsonValue

from skill_delta.formats.native_model import EvalFileShape


def eval_file_schema() -> dict[str, JsonValue]:
    """The schema as `schemas/eval-file.schema.json` holds it (JSON Schema Draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **EvalFileShape.model_json_schema(),
    }
