"""A loopback HTTP server whose answers may get lost on the way, and that ends by itself."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Delivery(Enum):
    """What becomes of an answer on its way."""

    WHOLE = "whole"
    RESET = "connection reset"
    SILENCE = "silence"
    """The connection stays open and nothing comes: the other side times out."""
    CUT_SHORT = "cut short"
    """Fewer bytes than were announced."""
    BROKEN_JSON = "broken JSON"
    """Half the JSON, under a length that says it is all."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delivery: Delivery = Delivery.WHOLE

    @property
    def content(self) -> bytes:
        return b"" if self.body is None else json.dumps(self.body).encode()


Respond = Callable[[str, str, Mapping[str, str], bytes | None], Answer]
"""Method, target, headers and body of a request become its answer."""


class LoopbackServer:
    """Answers on a free port of 127.0.0.1 from a daemon thread."""

    def __init__(self, respond: Respond, crashed: Callable[[str], None]) -> None:
        self.respond = respond
        self.crashed = crashed
        self.stopping = threading.Event()
        self._http = _Http(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, loopback: LoopbackServer) -> None:
        self.loopback = loopback
        super().__init__(("127.0.0.1", 0), _Connection)

    def handle_error(self, request: object, client_address: object) -> None:
        """A bug of `respond` must not pass for one of the failures that it plays."""
        error = sys.exception()
        if not isinstance(error, OSError):  # the other side hung up
            self.loopback.crashed(repr(error))


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body leave apart, and the delayed ACK costs 40 ms
    server: _Http

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's
        """Say nothing: a test reads the exchanges, not a log."""

    def answer(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.loopback.respond(self.command, self.path, headers, body)
        self.close_connection = answer.delivery is not Delivery.WHOLE
        if answer.delivery is Delivery.SILENCE:
            self.server.loopback.stopping.wait(30)
        elif answer.delivery is Delivery.RESET:
            linger_not = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
        else:
            self._write(answer)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815 - http.server's names

    def _write(self, answer: Answer) -> None:
        content = answer.content
        half = content[: len(content) // 2]
        sent = content if answer.delivery is Delivery.WHOLE else half
        announced = half if answer.delivery is Delivery.BROKEN_JSON else content
        self.send_response(answer.status)
        self.send_header("content-type", "application/json; charset=utf-8")
        if answer.status != 204:
            self.send_header("content-length", str(len(announced)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)
