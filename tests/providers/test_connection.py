"""One kept-alive connection, against servers of several manners."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import httpx
import pytest

from conversations import run
from skill_delta.errors import ServiceError
from skill_delta.providers import connection
from skill_delta.providers.connection import connection_to

Story = Callable[[str], Awaitable[None]]


class Last(bytes):
    """A response after which the server hangs up."""


def against(*responses: bytes, tell: Story, tls: ssl.SSLContext | None = None) -> list[bytes]:
    """Run `tell` against a server that sends these bytes, one after each request.

    Returns the requests.
    """
    left = list(responses)
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            response = b""
            while left and not isinstance(response, Last):
                received.append(await one_request(reader))
                response = left.pop(0)
                writer.write(response)
                await writer.drain()
        writer.close()

    async def story() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
        async with server:
            port = server.sockets[0].getsockname()[1]
            await tell(f"{'https' if tls else 'http'}://localhost:{port}/v1?x=1")

    run(story)
    return received


async def one_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    return head + await reader.readexactly(length)


async def post(to: httpx.AsyncBaseTransport, url: str, body: bytes = b"{}") -> bytes:
    response = await to.handle_async_request(httpx.Request("POST", url, content=body))
    return await response.aread()


def reading(*wanted: bytes) -> Story:
    """Post as often as there is something wanted, over one connection."""

    async def tell(url: str) -> None:
        one = connection_to(httpx.URL(url))
        got = [await post(one, url) for _ in wanted]
        await one.aclose()
        assert got == list(wanted)

    return tell


OK = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
CLOSE = OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
TO_THE_END = b"HTTP/1.0 200 OK\r\n\r\nhello"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n" + OK


def test_a_request_is_sent_as_it_is_spelled() -> None:
    """Path and query, headers, body."""
    [request] = against(OK, tell=reading(b"hello"))

    assert request.startswith(b"POST /v1?x=1 HTTP/1.1\r\nHost: localhost:")
    assert request.endswith(b"\r\n\r\n{}")


@pytest.mark.parametrize(
    "responses",
    [[OK, OK], [CHUNKED, OK], [EARLY_HINTS, OK]],
    ids=["plain", "chunked", "early hints"],
)
def test_a_response_may_come_in_several_forms(responses: Sequence[bytes]) -> None:
    """And the connection serves the next request."""
    against(*responses, tell=reading(b"hello", b"hello"))


@pytest.mark.parametrize("last", [Last(TO_THE_END), CLOSE], ids=["HTTP/1.0", "close"])
def test_a_connection_that_the_server_ends_is_opened_again(last: bytes) -> None:
    """The next request does not run into the closed one."""
    assert len(against(last, OK, tell=reading(b"hello", b"hello"))) == 2


def test_a_connection_that_fell_idle_is_opened_again() -> None:
    """The server hung up between two requests, without a word, as it may."""

    async def tell(url: str) -> None:
        one = connection_to(httpx.URL(url))
        assert await post(one, url) == b"hello"
        await asyncio.sleep(0.02)
        assert await post(one, url) == b"hello"
        await one.aclose()

    assert len(against(Last(OK), OK, tell=tell)) == 2


NONSENSE = [
    b"\x00\x01\x02\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
    b"",
]


@pytest.mark.parametrize("response", NONSENSE, ids=lambda response: response[:24])
def test_what_is_no_response_is_an_error_of_the_connection(response: bytes) -> None:
    """One kind of error, whatever the nonsense, so that it is tried again."""

    async def tell(url: str) -> None:
        one = connection_to(httpx.URL(url))
        with pytest.raises(httpx.TransportError):
            await post(one, url)
        await one.aclose()

    against(Last(response), tell=tell)


def test_nobody_there_is_an_error_of_the_connection() -> None:
    """A refused connection, a name that is none."""

    async def story() -> None:
        for url in ("http://127.0.0.1:1/v1", "http://nobody.invalid/v1"):
            one = connection_to(httpx.URL(url))
            with pytest.raises(httpx.ConnectError):
                await post(one, url)
            await one.aclose()

    run(story)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_a_secure_server_must_prove_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate that is trusted is enough; another is refused before anything is sent."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, key)

    async def refused(url: str) -> None:
        one = connection_to(httpx.URL(url))
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await post(one, url)
        await one.aclose()

    assert against(OK, tell=refused, tls=served) == []
    trusted = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(connection, "_tls", lambda: trusted)
    assert len(against(OK, OK, tell=reading(b"hello", b"hello"), tls=served)) == 2


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine without any proxy set."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


def test_the_machines_proxy_is_used(no_proxies: pytest.MonkeyPatch) -> None:
    """The request goes to the proxy, with the whole URL in it."""

    async def tell(url: str) -> None:
        no_proxies.setenv("http_proxy", url.removeprefix("http://").removesuffix("/v1?x=1"))
        elsewhere = "http://models.example/v1"
        one = connection_to(httpx.URL(elsewhere))
        assert await post(one, elsewhere) == b"hello"
        await one.aclose()

    [request] = against(OK, tell=tell)

    assert request.startswith(b"POST http://models.example/v1 HTTP/1.1\r\n")


def test_some_hosts_are_exempt_from_the_proxy(no_proxies: pytest.MonkeyPatch) -> None:
    """As NO_PROXY says."""

    async def tell(url: str) -> None:
        no_proxies.setenv("http_proxy", "http://proxy.invalid:3128")
        no_proxies.setenv("no_proxy", "localhost")
        one = connection_to(httpx.URL(url))
        assert await post(one, url) == b"hello"
        await one.aclose()

    [request] = against(OK, tell=tell)

    assert request.startswith(b"POST /v1?x=1 HTTP/1.1")


def test_a_proxy_that_cannot_be_used_ends_the_run(no_proxies: pytest.MonkeyPatch) -> None:
    """It says what to do, and does not repeat what may hold a password."""
    no_proxies.setenv("all_proxy", "gopher://user:hunter22@proxy.example")

    with pytest.raises(ServiceError, match="NO_PROXY") as error:
        connection_to(httpx.URL("https://models.example/v1"))

    assert "hunter22" not in str(error.value)
