"""`python -m bench [GROUP ...]`: measure, and print the table."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version

from bench import history, model_calls, pull_request, reports, start_up
from bench.table import Row, table

GROUPS: Mapping[str, Callable[[], Iterator[Row]]] = {
    "pull-request": pull_request.rows,
    "start-up": start_up.rows,
    "calls": model_calls.rows,
    "reports": reports.rows,
    "history": history.rows,
}


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"unknown group {unknown[0]!r}: one of {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    before = os.getloadavg()[0]
    measured = [_rows(name) for name in names or GROUPS]
    print(table([row for rows in measured for row in rows]))
    print(f"\n{_machine()}; load {before:.1f} before and {os.getloadavg()[0]:.1f} after")
    return 0 if all(measured) else 1


def _rows(name: str) -> list[Row]:
    """A group's rows; none where it could not be measured, which is told at once."""
    began = time.monotonic()
    try:
        rows = list(GROUPS[name]())
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"{name}: not measured: {error}", file=sys.stderr)
        return []
    print(f"{name}: measured in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return rows


def _machine() -> str:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)  # noqa: S607
    return (
        f"Python {platform.python_version()}, dulwich {version('dulwich')}, "
        f"httpx {version('httpx')}, {git.stdout.strip()}; "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
