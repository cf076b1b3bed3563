"""Cut GitHub's OpenAPI description down to the operations that the stand-in answers.

    python slice_spec.py path/to/api.github.com.json > slice.json

See README.md beside this file for where the description comes from.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "/repos/{owner}/{repo}/pulls": ("get",),
    "/repos/{owner}/{repo}/pulls/{pull_number}": ("get",),
    "/repos/{owner}/{repo}/commits/{commit_sha}/pulls": ("get",),
    "/repos/{owner}/{repo}/branches/{branch}": ("get",),
    "/repos/{owner}/{repo}/git/commits/{commit_sha}": ("get",),
    "/repos/{owner}/{repo}/git/trees/{tree_sha}": ("get",),
    "/repos/{owner}/{repo}/git/blobs/{file_sha}": ("get",),
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ("get", "post"),
    "/repos/{owner}/{repo}/issues/comments/{comment_id}": ("patch", "delete"),
    "/repos/{owner}/{repo}/statuses/{sha}": ("post",),
    "/repos/{owner}/{repo}/commits/{ref}/statuses": ("get",),
    "/user": ("get",),
}

ERROR_SCHEMAS = ("basic-error", "validation-error")
"""What GitHub's refusals look like, also under statuses that an operation does not list."""


def sliced(description: Mapping[str, Any]) -> dict[str, Any]:
    """The description with those operations and everything they refer to, and nothing else."""
    left_out = ("paths", "components", "webhooks", "x-webhooks", "tags")
    part = {key: value for key, value in description.items() if key not in left_out}
    part["paths"] = {
        path: {method: description["paths"][path][method] for method in methods}
        for path, methods in OPERATIONS.items()
    }
    part["components"] = {
        "schemas": {name: description["components"]["schemas"][name] for name in ERROR_SCHEMAS}
    }
    _add_what_is_referred_to(part, description["components"])
    _mend(part)
    return part


def _add_what_is_referred_to(part: dict[str, Any], components: Mapping[str, Any]) -> None:
    waiting = [part["paths"], part["components"]["schemas"]]
    while waiting:
        for kind, name in _references(waiting.pop()):
            added = part["components"].setdefault(kind, {})
            if name not in added:
                added[name] = components[kind][name]
                waiting.append(added[name])


def _references(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            _, _, kind, name = reference.split("/", 3)
            yield kind, name.replace("~1", "/").replace("~0", "~")
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def _mend(part: dict[str, Any]) -> None:
    """Put right where the description contradicts itself or GitHub. Each is named in README.md."""
    _let_nullable_enums_be_null(part)
    for name in ("pull-request", "pull-request-simple"):
        schema = part["components"]["schemas"][name]
        head = schema["properties"]["head"]["properties"]
        head["repo"] = {"anyOf": [head["repo"], {"nullable": True, "enum": [None]}]}
    examples = part["components"]["examples"]
    pull_requests = (
        examples["pull-request"]["value"],
        *examples["pull-request-simple-items"]["value"],
    )
    for pull_request in pull_requests:
        for team in pull_request["requested_teams"]:
            team.setdefault("type", "organization")


def _let_nullable_enums_be_null(node: Any) -> None:
    if isinstance(node, dict):
        values = node.get("enum")
        if node.get("nullable") and isinstance(values, list) and None not in values:
            values.append(None)
        for child in node.values():
            _let_nullable_enums_be_null(child)
    elif isinstance(node, list):
        for child in node:
            _let_nullable_enums_be_null(child)


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump(sliced(whole), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
