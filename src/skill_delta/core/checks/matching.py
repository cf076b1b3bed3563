"""When the arguments of a call are those that an eval file names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue


def matches(
    wanted: JsonValue | Mapping[str, JsonValue], got: object, *, exact: bool = False
) -> bool:
    """Whether `got` holds everything that `wanted` names.

    Mappings match on the keys that `wanted` has (under `exact`, on exactly those keys), at every
    level; lists element by element at equal length; a boolean only ever equals a boolean; other
    scalars compare as JSON does, so that `1` equals `1.0` and never `"1"`.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping) or (exact and set(wanted) != set(got)):
            return False
        return all(
            key in got and matches(value, got[key], exact=exact) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(got, Sequence)
            and not isinstance(got, str)
            and len(wanted) == len(got)
            and all(matches(w, g, exact=exact) for w, g in zip(wanted, got, strict=True))
        )
    if isinstance(wanted, bool) or isinstance(got, bool):
        return wanted is got
    return type(got) in (str, int, float, type(None)) and bool(wanted == got)
