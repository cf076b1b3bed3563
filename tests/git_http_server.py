"""A git server over HTTP on loopback: git's own `http-backend` behind a few lines of CGI."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class GitServer:
    """Serves every repository below `root`. `token` is asked for where it is not blank."""

    root: Path
    url: str = ""
    token: str = ""
    refuse_with: int = 0
    """Answer this status to everything."""
    cut_after: int = 0
    """Break the connection off after so many bytes of an answer; 0 is never."""
    drips: bool = False
    """Answer byte by byte, with half a second between them."""
    allows_filters: bool = True
    asked: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    """Hands every request to git."""

    served: GitServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            self._answer(self._chunks())
        else:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        return body

    def _answer(self, body: bytes) -> None:
        served = self.served
        served.asked.append(f"{self.command} {self.path}")
        wanted = base64.b64encode(f"x-access-token:{served.token}".encode()).decode()
        if served.refuse_with:
            self.send_error(served.refuse_with)
        elif served.token and self.headers.get("Authorization") != f"Basic {wanted}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self._from_git(body)

    def _from_git(self, body: bytes) -> None:
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            env=self._environment(len(body)),
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        self.send_response(int(headers.pop("Status", "200 OK").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.served.cut_after:
            content = content[: self.served.cut_after]
            self.close_connection = True
        if self.served.drips:
            with suppress(OSError):
                for at in range(len(content)):
                    self.wfile.write(content[at : at + 1])
                    time.sleep(0.5)
        else:
            self.wfile.write(content)

    def _environment(self, length: int) -> dict[str, str]:
        path, _, query = self.path.partition("?")
        settings = {
            "uploadpack.allowFilter": str(self.served.allows_filters).lower(),
            "uploadpack.allowAnySHA1InWant": "true",
            "safe.directory": "*",
        }
        git = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings.items()):
            git |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return git | {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.served.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }

    def log_message(self, *_: object) -> None:
        """Not to the console."""


@contextmanager
def git_server(root: Path) -> Iterator[GitServer]:
    """A server for every repository below `root`, until the block ends."""
    server = GitServer(root)
    handler = type("Handler", (_Handler,), {"served": server})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    thread = threading.Thread(
        target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
