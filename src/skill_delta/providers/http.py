"""Asks a model over HTTP: sends what a vendor spells, tries again, and prices the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from random import Random
from typing import TypeAlias

import httpx

from skill_delta.core.conversation import Completion, Conversation
from skill_delta.core.transcript import Usage
from skill_delta.errors import TrialError
from skill_delta.providers.connection import CONNECT_SECONDS, connection_to
from skill_delta.providers.endpoint import VendorApi
from skill_delta.providers.gate import Gate, full_jitter
from skill_delta.providers.redacted import redacted
from skill_delta.providers.refusals import Reply, Setback, refusal_in, setback_in

MAX_ATTEMPTS = 6
"""How often one request is sent before its trial is lost."""
MAX_BODY = 20 * 1024 * 1024
"""The largest answer read, in bytes."""

Price: TypeAlias = Callable[[Usage], float | None]
"""What tokens cost in US dollars; None where no price is known."""


class HttpModel:
    """A model behind a vendor's HTTP endpoint. At most `workers` requests are under way at once.

    `timeout` bounds one attempt, in seconds. `redact` takes secrets out of a text: what the model
    says passes through it whole, before any check quotes, and cuts, a part of it. `clock` counts
    seconds and `sleep` waits for them.
    """

    def __init__(  # noqa: PLR0913 - a clock and its sleep are one collaborator
        self,
        api: VendorApi,
        *,
        price: Price,
        workers: int,
        rng: Random,
        timeout: float = 300.0,
        redact: Callable[[str], str] = str,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._price = price
        self._rng = rng
        self._timeout = timeout
        self._redact = redact
        self._clock = clock
        self._sleep = sleep
        self._gate = Gate(workers, MAX_ATTEMPTS, rng=rng, clock=clock, sleep=sleep)
        # The connection last used is the first used again: the fewest are kept open.
        self._idle: list[httpx.AsyncBaseTransport] = []

    async def complete(self, conversation: Conversation) -> Completion:
        """The model's answer.

        Raises `TrialError` when it gave out or refused this request, `ServiceError` when it
        would refuse every request (the key, the model's name, the URL).
        """
        request = self._api.request(conversation)
        request.extensions = {"timeout": {"connect": CONNECT_SECONDS}}
        outages = self._gate.outages
        setback = Setback("nothing was sent")
        for attempt in range(1, MAX_ATTEMPTS + 1):
            turn = await self._gate.enter(outages)
            try:
                reply = await self._exchange(request)
            finally:
                self._gate.leave()
            if isinstance(reply, Reply):
                self._gate.answered()
                return self._read(reply)
            setback = reply
            await self._back_off(setback, turn, attempt)
        raise TrialError(f"{setback.reason}, after {MAX_ATTEMPTS} attempts{setback.advice}")

    async def close(self) -> None:
        """Close every connection that is not in use."""
        while self._idle:
            await self._idle.pop().aclose()

    async def _exchange(self, request: httpx.Request) -> Reply | Setback:
        try:
            reply = await self._send(request)
        except TimeoutError:
            return Setback(f"no answer within {self._timeout:g} s")
        except (httpx.RequestError, OSError) as error:
            return self._failed(error)
        return setback_in(reply, self._api.endpoint) or reply

    def _failed(self, error: Exception) -> Setback:
        base = self._api.endpoint.base
        said = self._api.endpoint.quote(f"{type(error).__name__}: {error}")
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            reason = f"{base} could not be reached ({said})"
            return Setback(reason, advice=": is the server running?")
        return Setback(f"the connection to {base} failed ({said})")

    async def _send(self, request: httpx.Request) -> Reply:
        connection = self._idle.pop() if self._idle else connection_to(request.url)
        began = self._clock()
        try:
            async with asyncio.timeout(self._timeout):
                response = await connection.handle_async_request(request)
                body = await _body(response)
        except BaseException:
            # Cut off mid-answer, the connection is of no further use.
            await connection.aclose()
            raise
        self._idle.append(connection)
        return Reply(response.status_code, response.headers, body, self._clock() - began)

    async def _back_off(self, setback: Setback, turn: int, attempt: int) -> None:
        if setback.concerns_all:
            self._gate.refused(turn, setback.reason, setback.retry_after)
        elif attempt < MAX_ATTEMPTS:
            await self._sleep(full_jitter(attempt, self._rng))

    def _read(self, reply: Reply) -> Completion:
        if not 200 <= reply.status < 300:
            raise refusal_in(reply, self._api.endpoint)
        try:
            completion = self._api.read(httpx.Response(reply.status, content=reply.body))
        except TrialError as lost:
            usage = Usage(lost.input_tokens, lost.output_tokens)
            lost.cost_usd = self._price(usage) if usage.tokens else 0.0
            raise
        cost = self._price(completion.usage)
        said = redacted(completion, self._redact)
        return replace(said, cost_usd=cost, latency_ms=reply.seconds * 1000)


async def _body(response: httpx.Response) -> bytes:
    """The body, which is never decoded: a few hundred bytes can unpack to gigabytes.

    An error's status says enough, so that it may still pass. Raises `TrialError` for an answer
    that is encoded, and for any body larger than `MAX_BODY`.
    """
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity"):
        await response.aclose()
        if response.is_success:
            raise TrialError(
                "the answer came with a Content-Encoding, though none was asked for: let the "
                "server, or the proxy before it, send it plain"
            )
        return b""
    parts = []
    size = 0
    async for part in response.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > MAX_BODY:
            raise TrialError(f"the answer is larger than {MAX_BODY // 2**20} MiB")
    return b"".join(parts)
