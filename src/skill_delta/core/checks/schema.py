"""JSON Schema, bounded: nothing is fetched, and no schema or value can run for long."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias

from jsonschema import Draft202012Validator
from jsonschema.exceptions import UnknownType, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, UnknownDialect, specification_with

from skill_delta.core.checks.patterns import Searches, compiled
from skill_delta.core.wording import LIMIT, shown, visible
from skill_delta.errors import TrialError

MAX_STEPS = 100_000
"""How many keywords one validation may look at. References let a small schema ask for billions."""
MAX_VALUES = 10_000
"""How many values a schema may hold."""

Schema: TypeAlias = Mapping[str, JsonValue]

_DATA = frozenset({"const", "enum", "default", "examples"})
"""Keywords that hold values, not schemas."""
_NAMED = frozenset(
    {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
)
"""Keywords that hold schemas by name."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_PROBES: tuple[JsonValue, ...] = (None, True, 0, "", [], {})
"""One value of each type: a schema that refers to itself without end does so on one of them."""
_PROBE_STEPS = 1_000
"""Enough to run out of stack: one that is merely expensive is found out when it is applied."""
_ENDLESS = "the JSON Schema refers to itself without end"


class _Validating(Protocol):
    """What a keyword sees of the validator that runs it."""

    def is_type(self, instance: JsonValue, type: str) -> bool: ...  # noqa: A002 - its name

    def descend(
        self,
        instance: JsonValue,
        schema: JsonValue,
        path: str | int | None = None,
        schema_path: str | int | None = None,
    ) -> Iterator[ValidationError]: ...


_Keyword: TypeAlias = Callable[
    [_Validating, JsonValue, JsonValue, Schema], Iterable[ValidationError] | None
]


def check_is_schema(schema: Schema) -> None:
    """Raise `ValueError` unless the schema is a valid one of its own dialect."""
    _refuse_large(schema)
    _check_by_metaschema(_dialect(schema), schema)


def check_is_usable(schema: Schema) -> None:
    """Raise `ValueError` unless values can be validated against the schema, here and alone."""
    check_is_schema(schema)
    schemas = tuple(_schemas(_without_dialect(schema)))
    _refuse_what_is_unbounded(schemas)
    _check_references(_dialect(schema), schemas)
    for each in schemas:
        _check_patterns(each)
    for probe in _PROBES:
        try:
            _first_error(schema, probe, _PROBE_STEPS)
        except RecursionError:
            raise ValueError(_ENDLESS) from None
        except _Inapplicable as problem:
            raise ValueError(f"it cannot be applied: {problem}") from None
        except TrialError:
            continue


def violation(schema: Schema, value: JsonValue) -> str | None:
    """The first way in which `value` breaks the schema, in one line; None where it does not.

    Raises `TrialError` when that takes too long to find out.
    """
    try:
        error = _first_error(schema, value, MAX_STEPS)
    except RecursionError:
        raise TrialError(_ENDLESS) from None
    except _Inapplicable as problem:
        raise TrialError(f"the JSON Schema cannot be applied: {problem}") from None
    if error is None:
        return None
    steps = "".join(f"[{json.dumps(step, ensure_ascii=False)}]" for step in error.absolute_path)
    return f"{_cut(steps)}: {_cut(error.message)}" if steps else _cut(error.message)


_Inapplicable = (Unresolvable, UnknownType, ArithmeticError, ValueError)
"""What jsonschema raises where a schema makes no sense of a value."""


def _first_error(schema: Schema, value: JsonValue, steps: int) -> ValidationError | None:
    bounded = _bounded(_dialect(schema), steps)
    validator = bounded(_without_dialect(schema), registry=Registry())
    return next(iter(validator.iter_errors(value)), None)


def _dialect(schema: Schema) -> type[Validator]:
    named = schema.get("$schema")
    if named is None:
        return Draft202012Validator
    try:
        specification_with(str(named))
    except UnknownDialect:
        problem = f"the $schema {shown(str(named))} is no JSON Schema dialect known here"
        raise ValueError(problem) from None
    return validator_for({"$schema": named}, default=Draft202012Validator)


def _without_dialect(schema: Schema) -> Schema:
    # jsonschema goes back to its own, unbounded validator wherever it meets `$schema`.
    return {keyword: value for keyword, value in schema.items() if keyword != "$schema"}


def _schemas(schema: Schema) -> Iterator[Schema]:
    pending: list[JsonValue | Schema] = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, Mapping):
            yield item
            for keyword, value in item.items():
                if keyword in _NAMED and isinstance(value, Mapping):
                    pending.extend(value.values())
                elif keyword not in _DATA:
                    pending.append(value)


def _refuse_large(schema: Schema) -> None:
    pending: list[JsonValue | Schema] = [schema]
    count = 0
    while pending:
        item = pending.pop()
        count += 1
        if count > MAX_VALUES:
            raise ValueError(f"it holds more than {MAX_VALUES:,} values")
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, Mapping):
            pending.extend(item.values())


def _check_by_metaschema(dialect: type[Validator], schema: JsonValue | Schema) -> None:
    # Without formats: what is a regular expression is read by the one engine that will run it.
    validator = dialect(dialect.META_SCHEMA, registry=Registry())
    try:
        error = next(iter(validator.iter_errors(schema)), None)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    if error is not None:
        at = ".".join(str(step) for step in error.absolute_path)
        where = f" at {_cut(at)}" if at else ""
        raise ValueError(f"it is no valid JSON Schema{where}: {_cut(error.message)}")


def _refuse_what_is_unbounded(schemas: tuple[Schema, ...]) -> None:
    for each in schemas[1:]:
        for keyword in ("$schema", "$id"):
            if isinstance(each.get(keyword), str):
                raise ValueError(f"{keyword} can only stand at its top")
    used = {keyword for each in schemas for keyword in each}
    unevaluated = used & {"unevaluatedProperties", "unevaluatedItems"}
    uncounted = used & {"patternProperties", "dependentSchemas"}
    if unevaluated and uncounted:
        # For these, jsonschema walks the schema beside the keywords whose steps are counted.
        raise ValueError(f"{min(unevaluated)} cannot be used together with {min(uncounted)}")


def _check_references(dialect: type[Validator], schemas: tuple[Schema, ...]) -> None:
    named = str(dialect.META_SCHEMA.get("$schema", ""))
    specification = specification_with(named, default=DRAFT202012)
    resolver = Registry().resolver_with_root(specification.create_resource(schemas[0]))
    references = (each[word] for each in schemas for word in _REFERENCES if word in each)
    for reference in dict.fromkeys(ref for ref in references if isinstance(ref, str)):
        if not reference.startswith("#"):
            raise ValueError(
                f"the reference {shown(reference)} leads out of it, and nothing is fetched: "
                "put that schema under $defs and refer to #/$defs/…"
            )
        try:
            target = resolver.lookup(reference).contents
        except (Unresolvable, ValueError, TypeError):
            # The last two: a step by name into a list (`#/allOf/x`), or any step into a number.
            raise ValueError(f"the reference {shown(reference)} leads nowhere") from None
        if not isinstance(target, bool) and all(target is not each for each in schemas):
            raise ValueError(f"the reference {shown(reference)} leads to no schema")
        _check_by_metaschema(dialect, target)


def _check_patterns(schema: Schema) -> None:
    pattern = schema.get("pattern")
    named = schema.get("patternProperties")
    if isinstance(pattern, str):
        compiled(pattern)
    if isinstance(named, Mapping):
        for each in named:
            compiled(each)


def _bounded(dialect: type[Validator], most: int) -> type[Validator]:
    """The dialect with every step counted and all patterns searched within one second."""
    steps = iter(range(most))

    def counted(keyword: _Keyword) -> _Keyword:
        def run(
            validator: _Validating, wanted: JsonValue, value: JsonValue, schema: Schema
        ) -> Iterable[ValidationError]:
            if next(steps, None) is None:
                raise TrialError(f"the JSON Schema takes more than {most:,} steps")
            return keyword(validator, wanted, value, schema) or ()

        return run

    keywords: dict[str, _Keyword] = dialect.VALIDATORS
    own = _OwnKeywords().by_name
    ours = {name: counted(own.get(name, keyword)) for name, keyword in keywords.items()}
    bounded: type[Validator] = extend(dialect, ours)  # type: ignore[no-untyped-call]
    return bounded


class _OwnKeywords:
    """Keywords that jsonschema would apply without bounds, for one validation."""

    def __init__(self) -> None:
        self._search = Searches().search
        self.by_name: Mapping[str, _Keyword] = {
            "pattern": self._pattern,
            "patternProperties": self._pattern_properties,
            "additionalProperties": self._additional_properties,
            "uniqueItems": _unique_items,
        }

    def _pattern(
        self, _validator: _Validating, wanted: JsonValue, value: JsonValue, _schema: Schema
    ) -> Iterator[ValidationError]:
        if isinstance(value, str) and self._search(str(wanted), value) is None:
            yield ValidationError(f"{shown(value)} does not match {shown(str(wanted))}")

    def _pattern_properties(
        self, validator: _Validating, wanted: JsonValue, value: JsonValue, _schema: Schema
    ) -> Iterator[ValidationError]:
        if isinstance(value, Mapping) and isinstance(wanted, Mapping):
            for pattern, each in wanted.items():
                for key, item in value.items():
                    if self._search(pattern, key) is not None:
                        yield from validator.descend(item, each, path=key, schema_path=pattern)

    def _additional_properties(
        self, validator: _Validating, wanted: JsonValue, value: JsonValue, schema: Schema
    ) -> Iterator[ValidationError]:
        if not isinstance(value, Mapping):
            return
        listed = schema.get("properties")
        patterns = schema.get("patternProperties")
        for key, item in value.items():
            if isinstance(listed, Mapping) and key in listed:
                continue
            if isinstance(patterns, Mapping) and any(self._search(p, key) for p in patterns):
                continue
            if wanted is False:
                yield ValidationError(f"{shown(key)} is not among its properties")
            else:
                yield from validator.descend(item, wanted, path=key)


def _unique_items(
    _validator: _Validating, wanted: JsonValue, value: JsonValue, _schema: Schema
) -> Iterator[ValidationError]:
    # jsonschema compares every item with every other, which long lists make expensive.
    if wanted and isinstance(value, list):
        seen = {json.dumps(_as_json_counts(item), sort_keys=True) for item in value}
        if len(seen) < len(value):
            yield ValidationError("its items are not all different")


def _as_json_counts(value: JsonValue) -> JsonValue:
    # JSON has one kind of number: 1 and 1.0 are the same item.
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_as_json_counts(item) for item in value]
    if isinstance(value, dict):
        return {key: _as_json_counts(item) for key, item in value.items()}
    return value


def _cut(text: str) -> str:
    # The end of jsonschema's messages says what is wrong; the middle quotes the value.
    if len(text) <= 2 * LIMIT:
        return visible(text)
    return f"{visible(text[:LIMIT])} … {visible(text[-LIMIT:])}"
