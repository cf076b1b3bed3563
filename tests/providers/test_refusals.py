"""What a reply means that is no answer."""

from __future__ import annotations

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import SecretStr

from conversations import KEY
from skill_delta.errors import ServiceError, TrialError
from skill_delta.providers.endpoint import Endpoint, endpoint_at
from skill_delta.providers.refusals import Reply, refusal_in, retry_after, setback_in

NOON = "Sun, 06 Nov 1994 12:00:00 GMT"


def an_endpoint(key: str | None = KEY) -> Endpoint:
    return endpoint_at(
        "https://user:hunter22@models.example/v1?token=tok-12345",
        "/chat/completions",
        "gpt-test",
        key=None if key is None else SecretStr(key),
        key_variable="OPENAI_API_KEY",
    )


def a_reply(status: int, body: str = "no", **headers: str) -> Reply:
    spelled = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, httpx.Headers(spelled), body.encode(), 0.1)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("-2", 0.0),
        ("Sun, 06 Nov 1994 12:00:09 GMT", 9.0),
        ("Sun, 06 Nov 1994 11:59:00 GMT", 0.0),
        ("Sun, 06 Nov 1994 12:00:09 -0000", 9.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", float("inf")),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    """A date is counted from the server's own clock, whatever ours says."""
    assert retry_after(httpx.Headers({"retry-after": value, "date": NOON})) == seconds


@given(st.binary(max_size=40), st.sampled_from([NOON, "x", ""]))
@example(b"Fri, 31 Dec 9999 23:59:59 -2359", NOON)
@example(b"Mon, 01 Jan 0001 00:00:00 +2359", NOON)
@example(b"Mon, 99 Jan 99999999999 00:00:00 GMT", NOON)
def test_any_retry_after_is_seconds_or_unreadable(value: bytes, date: str) -> None:
    """A header is a stranger's words."""
    headers = httpx.Headers([(b"retry-after", value), (b"date", date.encode())])

    seconds = retry_after(headers)

    assert seconds is None or seconds >= 0


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_some_refusals_may_pass(status: int) -> None:
    """A rate limit and an overload concern everyone who asks, the others this request alone."""
    setback = setback_in(a_reply(status, "try later"), an_endpoint())

    assert setback is not None
    assert setback.reason.startswith(f"HTTP {status}")
    assert setback.reason.endswith(": try later")
    assert setback.concerns_all == (status in (429, 503, 529))


def test_a_named_wait_concerns_everyone() -> None:
    """The server asks to be left alone, and not by one request only."""
    setback = setback_in(a_reply(500, retry_after="7"), an_endpoint())

    assert setback is not None
    assert (setback.retry_after, setback.concerns_all) == (7.0, True)


def test_a_wait_beyond_patience_is_not_begun() -> None:
    """A daily limit would hold the run until tomorrow."""
    with pytest.raises(TrialError, match=r"asks to wait 86,400 s, and at most 120 s are waited"):
        setback_in(a_reply(429, retry_after="86400"), an_endpoint())


@pytest.mark.parametrize("after", ["1e308", "inf", "604801", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_wait_is_not_spelled_out(after: str) -> None:
    """Three hundred digits tell nobody more."""
    with pytest.raises(TrialError, match=r"asks to wait more than a week, and at most 120 s"):
        setback_in(a_reply(429, retry_after=after, date=NOON), an_endpoint())


@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 413, 422])
def test_other_replies_do_not_pass_by_waiting(status: int) -> None:
    """The same request would bring the same reply."""
    assert setback_in(a_reply(status), an_endpoint()) is None


@pytest.mark.parametrize(
    ("status", "key", "words"),
    [
        (401, KEY, "the key was refused; check SKILL_DELTA_API_KEY or OPENAI_API_KEY"),
        (403, KEY, "the key was refused; check SKILL_DELTA_API_KEY or OPENAI_API_KEY"),
        (401, None, "it wants a key; set SKILL_DELTA_API_KEY or OPENAI_API_KEY"),
        (402, KEY, "the account is out of credit"),
        (404, KEY, "check the base URL and the model's name, 'gpt-test'"),
        (308, KEY, "a key is never carried elsewhere"),
    ],
)
def test_what_every_request_would_meet_ends_the_run(
    status: int, key: str | None, words: str
) -> None:
    """It says where, what, and what to do; and no secret, though the server repeats them all."""
    body = f"bad key {key} for user hunter22 tok-12345"

    refusal = refusal_in(a_reply(status, body), an_endpoint(key))

    assert isinstance(refusal, ServiceError)
    assert words in str(refusal)
    assert str(refusal).startswith(
        f"https://models.example/v1/chat/completions answered HTTP {status}"
    )
    for secret in (KEY, "hunter22", "tok-12345"):
        assert secret not in str(refusal)


@pytest.mark.parametrize("status", [400, 413, 422, 499])
def test_what_this_request_met_loses_one_trial(status: int) -> None:
    """Another case may fit where this one did not; the server's own words say why."""
    echoed = f"too long: {KEY}, hunter22, tok-12345, Basic dXNlcjpodW50ZXIyMg=="

    refusal = refusal_in(a_reply(status, echoed), an_endpoint())

    assert isinstance(refusal, TrialError)
    assert str(refusal).startswith(f"HTTP {status}")
    assert str(refusal).endswith(": too long: (redacted), (redacted), (redacted), Basic (redacted)")
