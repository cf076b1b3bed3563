"""The model endpoint that calls are measured against, in a process of its own."""

from __future__ import annotations

import subprocess
from types import TracebackType
from typing import Self

from bench.processes import ENVIRONMENT, probe


class Endpoint:
    """Chat completions on loopback, each answered after `delay` seconds. Ends with its block."""

    def __init__(self, delay: float) -> None:
        self._process = subprocess.Popen(  # noqa: S603
            probe("chat_server", delay),
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = f"http://127.0.0.1:{self._line()}/v1"
        """The base URL."""

    def next_connection(self) -> float:
        """When the next connection not yet asked for was opened, by the monotonic clock."""
        return float(self._line())

    def _line(self) -> str:
        if self._process.stdout is None or not (line := self._process.stdout.readline()):
            raise RuntimeError("the endpoint is gone")
        return line.strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=10)  # closes its standard input, which it waits for
