"""What every part of the JSON report is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

Rate = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class DocumentPart:
    """What pydantic needs to know of every part: nothing unknown, nothing coerced, no NaN."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def is_absent(value: object) -> bool:
    """Whether a key is left out of the report rather than null: it came later than the others."""
    return value is None
