"""What GitHub's own OpenAPI description allows, checked exchange by exchange."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

from jsonschema import ValidationError
from jsonschema_path import SchemaPath
from openapi_core import V30RequestValidator, V30ResponseValidator
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from openapi_schema_validator import OAS30ReadValidator
from werkzeug.datastructures import Headers, ImmutableMultiDict

SLICE = Path(__file__).parent / "github_openapi" / "slice.json"

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class _Operation:
    """One of GitHub's operations."""

    method: str
    template: str
    """A path with `{parameters}`."""
    answers: frozenset[int]
    """The statuses that the description lists."""

    def arguments(self, method: str, path: str) -> Mapping[str, str] | None:
        """What a path gives the parameters; None for a request of another operation."""
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.template)
        found = re.fullmatch(pattern, path) if method.lower() == self.method else None
        return found.groupdict() if found else None


@dataclass(slots=True)
class _Request:
    """As openapi-core wants to see one."""

    method: str
    path: str
    body: bytes | None
    parameters: RequestParameters
    host_url: str = "https://api.github.com"

    @property
    def content_type(self) -> str:
        return _JSON if self.body is not None else ""

    @classmethod
    def of(cls, method: str, path: str, query: Mapping[str, str], body: bytes | None) -> Self:
        parameters = RequestParameters(query=ImmutableMultiDict(query))
        return cls(method.lower(), path, body, parameters)


@dataclass(slots=True)
class _Response:
    status_code: int
    data: bytes
    headers: Headers = field(default_factory=Headers)
    content_type: str = _JSON


class Contract:
    """The committed slice of the description (see `github_openapi/README.md`)."""

    def __init__(self) -> None:
        self._description: dict[str, Any] = json.loads(SLICE.read_text(encoding="utf-8"))
        spec = SchemaPath.from_dict(self._description)
        # A field that GitHub does not know, it ignores without a word: a typing error of ours.
        self._requests = V30RequestValidator(spec, forbid_unspecified_additional_properties=True)
        self._responses = V30ResponseValidator(spec)
        self._judged: dict[object, str | None] = {}
        self._operations = {
            described["operationId"]: _Operation(
                method, template, frozenset(map(int, described["responses"]))
            )
            for template, methods in self._description["paths"].items()
            for method, described in methods.items()
        }

    def operation(self, method: str, path: str) -> tuple[str, Mapping[str, str]]:
        """The operation that a request asks for, and its arguments; empty where it is unknown."""
        for name, operation in self._operations.items():
            arguments = operation.arguments(method, path)
            if arguments is not None:
                return name, arguments
        return "", {}

    def example(self, name: str) -> Any:
        """A copy of one of the description's own examples."""
        return copy.deepcopy(self._description["components"]["examples"][name]["value"])

    def request_problem(
        self, method: str, path: str, query: Mapping[str, str], body: bytes | None
    ) -> str | None:
        """What the description has against a request."""
        request = (method, path, tuple(query.items()), body)
        if request not in self._judged:
            # Many tests send the same requests, and openapi-core takes its time with each.
            self._judged[request] = self._judge(_Request.of(method, path, query, body))
        return self._judged[request]

    def _judge(self, request: _Request) -> str | None:
        try:
            self._requests.validate(request)
        except OpenAPIError as error:
            return _reasons(error)
        return None

    def response_problem(
        self, operation: str, status: int, body: bytes, headers: Mapping[str, str]
    ) -> str | None:
        """What the description has against an answer."""
        asked = self._operations[operation]
        if status not in asked.answers:
            return self._refusal_problem(status, body)
        some_path = re.sub(r"\{\w+\}", "1", asked.template)
        response = _Response(status, body, Headers(list(headers.items())))
        try:
            self._responses.validate(_Request.of(asked.method, some_path, {}, None), response)
        except OpenAPIError as error:
            return _reasons(error)
        return None

    def _refusal_problem(self, status: int, body: bytes) -> str | None:
        """GitHub refuses with more statuses than the description lists, in one of two shapes."""
        if status < 400:
            return f"{status} is not an answer of this operation"
        name = "validation-error" if status == 422 else "basic-error"
        schemas = {"components": self._description["components"]}
        validator = OAS30ReadValidator({"$ref": f"#/components/schemas/{name}", **schemas})
        return _located(validator.iter_errors(json.loads(body))) or None


@cache
def contract() -> Contract:
    """Read once: all tests of a process may share it."""
    return Contract()


def _reasons(error: OpenAPIError) -> str:
    cause = error.__cause__ or error
    located = _located(getattr(cause, "schema_errors", ()))
    return located or f"{type(error).__name__}: {error} {error.__cause__ or ''}"


def _located(errors: Iterable[ValidationError]) -> str:
    return "; ".join(f"{'/'.join(map(str, e.absolute_path))}: {e.message[:200]}" for e in errors)
