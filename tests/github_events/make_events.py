"""Take the event payloads that the tests need out of GitHub's published examples.

    python make_events.py path/to/webhooks-examples path/to/webhooks-schemas

Each is checked against its JSON Schema before it is written. See README.md beside this file.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

EARLIER = "1f0a3a9ef3b0b2e2f9e5d2c9f6c1d1b7a4e8c360"
"""A commit that none of the examples names."""


def _as_it_is(_: dict[str, Any]) -> None:
    """Nothing is changed."""


def _fork_deleted(payload: dict[str, Any]) -> None:
    payload["pull_request"]["head"]["repo"] = None
    payload["pull_request"]["head"]["label"] = "unknown repository"


def _ordinary_push(payload: dict[str, Any]) -> None:
    payload["before"], payload["created"] = EARLIER, False


def _after_a_pull_request(payload: dict[str, Any]) -> None:
    payload["workflow_run"]["event"] = "pull_request"


Change = Callable[[dict[str, Any]], None]

WANTED: Mapping[str, tuple[str, str, Change]] = {
    "pull_request.opened": ("pull_request", "pull_request$opened", _as_it_is),
    "pull_request.synchronize": ("pull_request", "pull_request$synchronize", _as_it_is),
    "pull_request.fork_deleted": ("pull_request", "pull_request$opened", _fork_deleted),
    "merge_group": ("merge_group", "merge_group$checks_requested", _as_it_is),
    "push": ("push", "push$event", _ordinary_push),
    "push.new_branch": ("push", "push$event", _as_it_is),
    "workflow_dispatch": ("workflow_dispatch", "workflow_dispatch$event", _as_it_is),
    "workflow_run": ("workflow_run", "workflow_run$completed", _after_a_pull_request),
}
"""File name to event, schema, and what is changed."""


def taken(
    examples: Mapping[str, list[dict[str, Any]]], schema: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """The first example of its event that the schema allows, changed as the test needs it."""
    event, definition, change = WANTED[name]
    validator = Draft7Validator({**schema, "$ref": f"#/definitions/{definition}"})
    of_branch = [e for e in examples[event] if "refs/tags/" not in e.get("ref", "")]
    payload = copy.deepcopy(next(e for e in of_branch if validator.is_valid(e)))
    change(payload)
    payload.pop("installation", None)
    validator.validate(payload)
    return payload


def main(examples_package: Path, schemas_package: Path) -> None:
    index = json.loads((examples_package / "api.github.com" / "index.json").read_text("utf-8"))
    document = json.loads((schemas_package / "schema.json").read_text("utf-8"))
    examples = {event["name"]: event["examples"] for event in index}
    for name in WANTED:
        payload = taken(examples, {"definitions": document["definitions"]}, name)
        text = json.dumps(payload, indent=1, ensure_ascii=False)
        (Path(__file__).parent / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
