"""What a reply means that is no answer: wait and try again, one trial lost, or no use at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

import httpx

from skill_delta.errors import ServiceError, TrialError
from skill_delta.providers.endpoint import Endpoint

LONGEST_WAIT = 120.0
"""The longest `Retry-After` that is waited for, in seconds."""

_WEEK = 7 * 24 * 60 * 60.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What one attempt brought. `body` is empty where the server encoded it: it was not read."""

    status: int
    headers: httpx.Headers
    body: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Setback:
    """Why one attempt failed that may succeed later.

    `retry_after` is what the server asked for, in seconds. `concerns_all` says that others would
    fare alike: a rate limit or an overload, not one lost connection. `advice` is what a person
    might do, should it not pass.
    """

    reason: str
    retry_after: float = 0.0
    concerns_all: bool = False
    advice: str = ""


def setback_in(reply: Reply, endpoint: Endpoint) -> Setback | None:
    """What may pass if one waits; None where waiting changes nothing, or nothing is wrong.

    Raises `TrialError` where the server asks for a longer wait than `LONGEST_WAIT`.
    """
    if reply.status not in (408, 409, 429) and reply.status < 500:
        return None
    reason = f"{_shown(reply.status)}{_quoted(reply, endpoint)}"
    wait = retry_after(reply.headers)
    if wait is not None and wait > LONGEST_WAIT:
        asked = f"{wait:,.0f} s" if wait <= _WEEK else "more than a week"
        raise TrialError(
            f"{reason}; the server asks to wait {asked}, and at most {LONGEST_WAIT:g} s are waited"
        )
    return Setback(reason, wait or 0.0, wait is not None or reply.status in (429, 503, 529))


def refusal_in(reply: Reply, endpoint: Endpoint) -> TrialError | ServiceError:
    """Why this request, or every request, is refused for good."""
    where = f"{endpoint.shown} answered {_shown(reply.status)}"
    quoted = _quoted(reply, endpoint)
    # What a server says of a key may hold a part of it: that is not repeated.
    match reply.status:
        case 401 | 403 if endpoint.key:
            return ServiceError(f"{where}: the key was refused; check {endpoint.key_variables}")
        case 401 | 403:
            return ServiceError(f"{where}: it wants a key; set {endpoint.key_variables}")
        case 402:
            return ServiceError(f"{where}: the account is out of credit")
        case 404:
            check = f"check the base URL and the model's name, {endpoint.model!r}"
            return ServiceError(f"{where}{quoted}; {check}")
        case status if 300 <= status < 400:
            return ServiceError(
                f"{where}: it redirects, and a key is never carried elsewhere; "
                "set the base URL to where the server really is"
            )
    return TrialError(f"{_shown(reply.status)}{quoted}")


def retry_after(headers: httpx.Headers) -> float | None:
    """The seconds that `Retry-After` asks for, never negative; None without a readable one.

    A date is counted from the server's own `Date`, so that its clock need not agree with ours.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        until = _date(value)
        if until is None:
            return None
        seconds = (until - (_date(headers.get("date", "")) or datetime.now(UTC))).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)


def _date(value: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _shown(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def _quoted(reply: Reply, endpoint: Endpoint) -> str:
    said = endpoint.quote(reply.body.decode("utf-8", "replace"))
    return f": {said}" if said else ""
