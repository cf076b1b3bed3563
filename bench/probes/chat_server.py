"""A chat-completions server that says the same to everyone, DELAY seconds later.

Its first line is its port; every further one is when a connection was opened. It ends when its
standard input does. Written on a bare protocol, because it shares the machine with what it serves.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

_BODY = json.dumps(
    {
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Order 1234 is refunded. " * 20},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 412, "completion_tokens": 120},
    }
).encode()
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
    len(_BODY),
    _BODY,
)


class ChatProtocol(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._received = b""
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        print(time.monotonic(), flush=True)
        if isinstance(transport, asyncio.WriteTransport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if blank and length is not None and len(body) >= int(length[1]):
            self._received = b""
            asyncio.get_running_loop().call_later(self._delay, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(_ANSWER)


async def serve(delay: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: ChatProtocol(delay), "127.0.0.1", 0, backlog=200)
    print(server.sockets[0].getsockname()[1], flush=True)
    ended = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), ended.set)
    await ended.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
