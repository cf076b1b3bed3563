"""A chat-completions server on loopback that says what a test tells it to, faults included.

    with ModelStandIn(says("Hello, Ada!")) as server:
        ...  # post to f"{server.url}/chat/completions"
    assert server.requests[0].system == "You are a helpful assistant."

It answers with one `Answer` for all, with a list of them in the order of the requests (the last
repeats), or with a function of the request. It records every request and ends with its block.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

PATIENCE = 10.0
"""The longest that an answer is held back, in seconds, should a test forget to release it."""


@dataclass(frozen=True)
class Received:
    """One request as it came in. Header names are lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    client: tuple[str, int]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def system(self) -> str:
        """The system prompt."""
        return str(self.json["messages"][0]["content"])

    @property
    def last(self) -> str:
        """The content of the last message: the task, or a tool's answer."""
        return str(self.json["messages"][-1]["content"])

    @property
    def tools(self) -> Mapping[str, Any]:
        """The tools offered, by name."""
        return {tool["function"]["name"]: tool["function"] for tool in self.json.get("tools", ())}


@dataclass(frozen=True)
class Answer:
    """What one request is answered with.

    The answer waits for `release`. `promised` is the Content-Length, where it is not the truth;
    the connection is closed after the body then. With `reset` it is cut instead, after the body.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    release: threading.Event | None = None
    promised: int | None = None
    reset: bool = False


Script = Answer | Sequence[Answer] | Callable[[Received], Answer]


def sends(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer with a JSON body."""
    return Answer(status, json.dumps(body).encode(), headers or {})


def says(
    text: str | None,
    *,
    calls: Sequence[tuple[str, str]] = (),
    input_tokens: int = 120,
    output_tokens: int = 8,
    finish: str = "",
) -> Answer:
    """A completion. `calls` are tool names with their arguments as the model spelled them."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": n, "arguments": a}}
            for i, (n, a) in enumerate(calls)
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": finish or ("tool_calls" if calls else "stop"),
    }
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    return sends({"object": "chat.completion", "choices": [choice], "usage": usage})


def uncounted(answer: Answer) -> Answer:
    """The same answer from a server that counts no tokens."""
    body = json.loads(answer.body)
    del body["usage"]
    return sends(body)


def refuses(status: int, message: str = "not now", **headers: str) -> Answer:
    """An error answer. `retry_after="3"` is the header Retry-After."""
    spelled = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return sends({"error": {"message": message}}, status, spelled)


def cut_off(body: bytes = b'{"choices": [{"mess') -> Answer:
    """The connection is reset in the middle of the body."""
    return Answer(body=body, promised=len(body) + 100, reset=True)


class ModelStandIn:
    """The server. `requests` are in order of arrival."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Received] = []
        self._script = script
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def connections(self) -> int:
        """How many connections were opened by those who sent a request."""
        return len({request.client for request in self.requests})

    def answer(self, request: Received) -> Answer:
        """Record the request and look up what it is answered with."""
        with self._lock:
            self.requests.append(request)
            position = len(self.requests) - 1
        if isinstance(self._script, Answer):
            return self._script
        if callable(self._script):
            return self._script(request)
        return self._script[min(position, len(self._script) - 1)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


def _handler(stand_in: ModelStandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = stand_in.answer(Received(self.path, headers, body, self.client_address))
            if answer.release is not None:
                answer.release.wait(PATIENCE)
            try:
                self._send(answer)
            except ConnectionError:
                self.close_connection = True

        def _send(self, answer: Answer) -> None:
            self.send_response_only(answer.status)
            length = len(answer.body) if answer.promised is None else answer.promised
            fields = {
                "Date": self.date_time_string(),
                "Content-Type": "application/json",
                "Content-Length": str(length),
            }
            for name, value in {**fields, **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)
            self.wfile.flush()
            self.close_connection = answer.promised is not None
            if answer.reset:
                linger = struct.pack("ii", 1, 0)  # closing sends a reset
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.connection.close()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: the test reads `requests`."""

    return Handler
