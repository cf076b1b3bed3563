"""The floor of many calls: CALLS requests to URL, AT_ONCE at a time, on nothing but asyncio."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)

_BODY = json.dumps(
    {
        "model": "bench",
        "messages": [
            {"role": "system", "content": "Name the order in the first sentence. " * 20},
            {"role": "user", "content": "I want a refund for order 1234."},
        ],
    }
).encode()


async def work(url: str, calls: Iterator[int]) -> None:
    """Take calls until none is left, on one connection."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    request = (
        f"POST {place.path}/chat/completions HTTP/1.1\r\nhost: {place.netloc}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(_BODY)}\r\n\r\n"
    ).encode() + _BODY
    for _ in calls:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        json.loads(await reader.readexactly(int(length[1]) if length else 0))
    writer.close()
    await writer.wait_closed()


async def main(url: str, calls: int, at_once: int) -> None:
    numbers = iter(range(calls))
    async with asyncio.TaskGroup() as group:
        for _ in range(min(at_once, calls)):
            group.create_task(work(url, numbers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
