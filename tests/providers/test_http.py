"""Asking a model over HTTP: retries, back-off, redaction, cost, against a real server."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
import zlib
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from pydantic import SecretStr

from conversations import (
    KEY,
    Time,
    a_conversation,
    a_model,
    ask,
    ask_at_once,
    run,
)
from model_stand_in import Answer, ModelStandIn, Received, cut_off, refuses, says, sends, uncounted
from skill_delta.core.conversation import Completion
from skill_delta.core.transcript import Usage
from skill_delta.errors import ServiceError, TrialError
from skill_delta.providers import http
from skill_delta.providers.http import MAX_ATTEMPTS, HttpModel
from skill_delta.providers.openai import OpenAiChat


def lost(answer: Answer | Sequence[Answer]) -> TrialError:
    """What is said of a trial that the server loses."""
    with ModelStandIn(answer) as server, pytest.raises(TrialError) as error:
        ask(a_model(server))
    return error.value


def test_an_answer_has_a_price_and_a_latency() -> None:
    """The price is that of the tokens the server counted."""
    with ModelStandIn(says("Hello, Ada!")) as server:
        completion = ask(a_model(server))

    assert completion == Completion("Hello, Ada!", (), Usage(120, 8), 128.0, 0.0)


def test_an_answer_without_a_count_is_none() -> None:
    """What is not measured can neither be compared nor kept below a limit."""
    with (
        ModelStandIn(uncounted(says("Hello, Ada!"))) as server,
        pytest.raises(TrialError, match="did not count"),
    ):
        ask(a_model(server))


def test_the_request_carries_the_key_and_names_us() -> None:
    """As a bearer, in the header and nowhere else."""
    with ModelStandIn(says("Hello.")) as server:
        ask(a_model(server))
    [request] = server.requests

    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["user-agent"].startswith("skill-delta/")
    assert KEY.encode() not in request.body


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_refusal_is_waited_out(status: int) -> None:
    """The answer that comes in the end counts, with its own latency and not the waits."""
    time = Time()
    with ModelStandIn([refuses(status), refuses(status), says("Hello.")]) as server:
        completion = ask(a_model(server, time=time))

    assert completion.text == "Hello."
    assert completion.latency_ms == 0.0
    assert len(server.requests) == 3
    assert len(time.waits) == 2


def test_a_refusal_that_stays_loses_the_trial() -> None:
    """The message says with what, and how often it was tried."""
    with ModelStandIn(refuses(502, "bad gateway")) as server, pytest.raises(TrialError) as error:
        ask(a_model(server))

    assert len(server.requests) == MAX_ATTEMPTS == 6
    assert str(error.value).startswith("HTTP 502 Bad Gateway: ")
    assert "bad gateway" in str(error.value)
    assert str(error.value).endswith(", after 6 attempts")


@pytest.mark.parametrize("after", ["7", "Sun, 06 Nov 1994 12:00:07 GMT"])
def test_the_wait_that_the_server_asks_for_is_kept(after: str) -> None:
    """In seconds, or as a date by the server's own clock."""
    time = Time()
    busy = refuses(429, retry_after=after, date="Sun, 06 Nov 1994 12:00:00 GMT")
    with ModelStandIn([busy, says("Hello.")]) as server:
        ask(a_model(server, time=time))

    assert time.waits == [7.0]


def test_a_wait_beyond_patience_loses_the_trial_at_once() -> None:
    """One request, no wait."""
    with (
        ModelStandIn(refuses(429, retry_after="3600")) as server,
        pytest.raises(TrialError) as error,
    ):
        ask(a_model(server))

    assert "asks to wait 3,600 s" in str(error.value)
    assert len(server.requests) == 1


def test_fifty_learn_of_a_rate_limit_once() -> None:
    """The five under way hear of it; the others are sent after the wait, and once each."""
    time = Time()
    limited = [refuses(429, retry_after="30")] * 5
    with ModelStandIn([*limited, says("Hello.")]) as server:
        answers = ask_at_once(a_model(server, time=time, workers=5), 50)

    assert [answer.text for answer in answers if isinstance(answer, Completion)] == ["Hello."] * 50
    assert len(server.requests) == 55
    assert server.connections <= 5
    assert time.now >= 1030


def test_a_provider_that_is_out_is_not_asked_by_each_in_turn() -> None:
    """All who wait give up together: twenty trials cost no more requests than a few."""
    with ModelStandIn(refuses(503, retry_after="1")) as server:
        outcomes = ask_at_once(a_model(server, workers=4), 20)

    assert all(isinstance(outcome, TrialError) for outcome in outcomes)
    assert "refused 6 times in a row, last with HTTP 503" in str(outcomes[-1])
    assert len(server.requests) <= 4 + MAX_ATTEMPTS


def test_a_slow_answer_is_tried_again() -> None:
    """Each attempt has its own time."""
    never = threading.Event()
    slow = replace(says("too late"), release=never)
    with ModelStandIn([slow, says("Hello.")]) as server:
        completion = ask(a_model(server, timeout=0.05))
        never.set()

    assert completion.text == "Hello."


def test_answers_that_never_come_lose_the_trial() -> None:
    """The message says how long was waited."""
    never = threading.Event()
    with ModelStandIn(replace(says("too late"), release=never)) as server:
        with pytest.raises(TrialError, match=r"no answer within 0\.02 s, after 6 attempts"):
            ask(a_model(server, timeout=0.02))
        never.set()


@pytest.mark.parametrize(
    "broken",
    [cut_off(), Answer(body=b'{"choices"', promised=100), Answer(reset=True, promised=5)],
    ids=["reset in the body", "closed in the body", "reset before the body"],
)
def test_a_broken_connection_is_opened_again(broken: Answer) -> None:
    """Half an answer is never read."""
    with ModelStandIn([broken, says("Hello.")]) as server:
        completion = ask(a_model(server))

    assert completion.text == "Hello."
    assert server.connections == 2


def test_a_server_that_is_not_there_loses_the_trial() -> None:
    """The message says which it was, without the secrets of its URL, and what to look at."""
    with ModelStandIn(says("Hello.")) as server:
        gone = server.url
    held = gone.replace("//", "//user:hunter22@") + "?code=q-12345678"
    api = OpenAiChat(held, "gpt-test", SecretStr(KEY))
    time = Time()
    model = HttpModel(
        api, price=lambda _: None, workers=1, rng=Random(1), clock=time.clock, sleep=time.sleep
    )

    with pytest.raises(TrialError) as error:
        ask(model)

    assert str(error.value).startswith(f"{gone} could not be reached (ConnectError: ")
    assert str(error.value).endswith("), after 6 attempts: is the server running?")
    assert "hunter22" not in str(error.value)


def test_a_connection_that_always_breaks_loses_the_trial() -> None:
    """The server is there, so nobody is sent to look whether it is."""
    with ModelStandIn(cut_off()) as server, pytest.raises(TrialError) as error:
        ask(a_model(server))

    assert str(error.value).startswith(f"the connection to {server.url} failed (ReadError")
    assert str(error.value).endswith("), after 6 attempts")


def test_connections_are_kept_and_shared() -> None:
    """One at a time needs one connection, whoever asks."""

    async def story(server: ModelStandIn) -> None:
        model = a_model(server)
        for _ in range(5):
            await model.complete(a_conversation())
        await model.close()

    with ModelStandIn(says("Hello.")) as server:
        asyncio.run(story(server))

    assert len(server.requests) == 5
    assert server.connections == 1


def test_a_cancelled_request_leaves_nothing_behind() -> None:
    """Its connection is closed, its place is free, and the next one is answered."""
    arrived, release = threading.Event(), threading.Event()

    def script(request: Received) -> Answer:
        late = not arrived.is_set()
        arrived.set()
        return replace(says("too late"), release=release) if late else says("Hello.")

    async def story(server: ModelStandIn) -> Completion:
        model = a_model(server, workers=1)
        asking = asyncio.create_task(model.complete(a_conversation()))
        await asyncio.to_thread(arrived.wait)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        completion = await model.complete(a_conversation())
        await model.close()
        return completion

    with ModelStandIn(script) as server:
        completion = asyncio.run(story(server))
        release.set()

    assert completion.text == "Hello."
    assert server.connections == 2


@pytest.mark.parametrize("status", [401, 402, 403, 404, 307])
def test_what_every_request_would_meet_ends_the_run(status: int) -> None:
    """One request is enough to know, and a key is never carried to another place."""
    with ModelStandIn(says("Hello.")) as elsewhere:
        refusal = refuses(status, f"bad key {KEY}", location=f"{elsewhere.url}/chat/completions")
        with ModelStandIn(refusal) as server, pytest.raises(ServiceError) as error:
            ask(a_model(server))

    assert len(server.requests) == 1
    assert elsewhere.requests == []
    assert f"HTTP {status}" in str(error.value)
    assert KEY not in str(error.value)


NO_ANSWERS = [
    sends({"error": {"message": f"overloaded, {KEY}"}}),
    sends({"choices": []}),
    says("", output_tokens=0),
    Answer(body=b'{"choices": [{"mess'),
    refuses(400, f"bad key {KEY}"),
    refuses(422, f"bad key {KEY}"),
]


@pytest.mark.parametrize("answer", NO_ANSWERS, ids=lambda answer: answer.body[:20])
def test_what_is_no_answer_is_not_asked_for_again(answer: Answer) -> None:
    """The trial is lost at once, and no key stands in what is said of it."""
    with ModelStandIn(answer) as server, pytest.raises(TrialError) as error:
        ask(a_model(server))

    assert len(server.requests) == 1
    assert KEY not in str(error.value)


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 429, 500, 503])
def test_an_echoed_key_is_in_no_message(status: int) -> None:
    """Nor in that of an error behind it."""
    seen: object
    with ModelStandIn(refuses(status, f"your key is {KEY}", retry_after="1")) as server:
        [seen] = ask_at_once(a_model(server), 1)

    assert isinstance(seen, TrialError | ServiceError)
    while seen is not None:
        assert KEY not in str(seen)
        assert KEY not in repr(seen)
        seen = seen.__cause__ or seen.__context__


def test_tokens_of_a_lost_answer_are_priced() -> None:
    """They were paid for, though nothing came of them."""
    error = lost(says("", output_tokens=0))

    assert (error.input_tokens, error.output_tokens, error.cost_usd) == (120, 0, 120.0)


def test_a_lost_answer_without_a_count_cost_nothing_known() -> None:
    """An error body is no bill."""
    error = lost(refuses(400))

    assert (error.input_tokens, error.cost_usd) == (0, 0.0)


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_tokens_of_an_answer_cut_short_are_priced(finish: str) -> None:
    """It is no answer to grade, and was paid for as one."""
    error = lost(says("Order 12", finish=finish))

    assert (error.input_tokens, error.output_tokens, error.cost_usd) == (120, 8, 128.0)


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "deflate", "gzip, gzip", "br", "zstd", "x"])
def test_an_encoded_answer_is_refused_and_never_decoded(encoding: str) -> None:
    """A few hundred bytes can unpack to gigabytes, and none was asked for."""
    plain = says("Hello.")
    body = zlib.compress(plain.body) if encoding == "deflate" else gzip.compress(plain.body)
    packed = Answer(body=body, headers={"Content-Encoding": encoding})
    with ModelStandIn([packed, plain]) as server, pytest.raises(TrialError, match="Encoding"):
        ask(a_model(server))

    assert len(server.requests) == 1
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_an_answer_may_be_said_to_be_plain() -> None:
    """`identity` is what was asked for."""
    plain = replace(says("Hello."), headers={"Content-Encoding": "identity"})
    with ModelStandIn(plain) as server:
        assert ask(a_model(server)).text == "Hello."


def test_an_encoded_error_is_known_by_its_status() -> None:
    """A rate limit passes all the same, a refused key ends the run; neither's body is read."""
    packed = {"Content-Encoding": "gzip", "Retry-After": "3"}
    busy, refused = (Answer(status, b"\x1f\x8bnothing", packed) for status in (429, 401))
    time = Time()
    with ModelStandIn([busy, says("Hello.")]) as server:
        assert ask(a_model(server, time=time)).text == "Hello."
    with ModelStandIn(refused) as server, pytest.raises(ServiceError, match="key was refused"):
        ask(a_model(server))

    assert time.waits == [3.0]


def test_what_the_model_says_passes_through_the_redaction() -> None:
    """Text, tool names and arguments, and a key that JSON spelled out character by character."""
    spelled = "".join(f"\\u{ord(character):04x}" for character in KEY)
    answer = says(
        f"It is {KEY}.",
        calls=[
            (f"use_{KEY}", json.dumps({"deep": [{KEY: f"a {KEY}"}], "n": 1.5})),
            ("look_up", f'{{"key": "{spelled}"}}'),
            ("look_up", f'{{"key": "{KEY}'),
        ],
    )
    time = Time()
    with ModelStandIn(answer) as server:
        model = HttpModel(
            OpenAiChat(server.url, "gpt-test"),
            price=lambda _: None,
            workers=1,
            rng=Random(1),
            redact=lambda text: text.replace(KEY, "(redacted)"),
            clock=time.clock,
            sleep=time.sleep,
        )
        completion = ask(model)

    assert completion.text == "It is (redacted)."
    assert [call.name for call in completion.calls] == ["use_(redacted)", "look_up", "look_up"]
    assert [call.arguments for call in completion.calls] == [
        {"deep": [{"(redacted)": "a (redacted)"}], "n": 1.5},
        {"key": "(redacted)"},
        None,
    ]
    assert KEY not in repr(completion)


def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server cannot fill the memory."""
    monkeypatch.setattr(http, "MAX_BODY", 1000)

    assert "larger than" in str(lost(says("x" * 2000)))


def test_a_redirect_is_not_followed_even_to_itself() -> None:
    """Nothing that a server says moves a key."""

    async def story() -> None:
        with ModelStandIn(refuses(301, location="/v1/chat/completions")) as server:
            model = a_model(server)
            with pytest.raises(ServiceError, match="it redirects"):
                await model.complete(a_conversation())
            await model.close()

    run(story)
