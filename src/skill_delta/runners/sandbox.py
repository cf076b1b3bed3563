"""How much of the machine a script sees: with bubblewrap little, without it what its user does."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from skill_delta.runners.process import Command, works

SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for: a fixed path, so that no checkout can put one in front."""
NOBODY = 65534
"""The user that a script runs as where we are root and there is no sandbox."""
MAX_SCRATCH_BYTES = 256 * 1024 * 1024
"""How much a script in the sandbox can put into its /tmp, which is memory."""

SandboxMode = Literal["auto", "required", "off"]

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a script: where it works, what its skill ships, where it puts scraps."""

    work: Path
    skill: Path
    scratch: Path


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Runs commands in a sandbox of bubblewrap, or without one where `bwrap` is None.

    `reason` says why there is none.
    """

    bwrap: str | None
    reason: str = ""

    @property
    def told(self) -> str:
        """What applies, as a sentence of the report."""
        if self.bwrap is not None:
            return (
                "scripts could run, in a bubblewrap sandbox: without network, and with no files "
                "but the system's own, the working folder and the skill's"
            )
        return (
            f"scripts could run, without a sandbox ({self.reason}): the network, and all files "
            "that their user may read, were open to them"
        )

    @property
    def user(self) -> int | None:
        """Whom scripts run as, where that is not who we are."""
        return NOBODY if self.bwrap is None and os.geteuid() == 0 else None

    def closed(self, folder: Path) -> Path | None:
        """The folder that keeps scripts from reaching this one; None where they reach it."""
        if self.user is None:
            return None
        on_the_way = (folder, *folder.parents)
        return next((each for each in on_the_way if not each.stat().st_mode & 0o001), None)

    def command(self, interpreter: str, script: str, arguments: list[str], at: Places) -> Command:
        """The script, by its path within the skill, with its arguments."""
        if self.bwrap is None:
            run = (interpreter, str(at.skill / script), *arguments)
            return Command(run, at.work, _environment(at.work, at.scratch), self.user)
        inside = (interpreter, f"/skill/{script}", *arguments)
        environment = _environment(Path("/workspace"), Path("/tmp"))  # noqa: S108 - its own
        wrapped = (self.bwrap, *_walls(at, environment), "--", *inside)
        return Command(wrapped, at.work, {})


def _environment(home: Path, scratch: Path) -> Mapping[str, str]:
    """All that a script is told: nothing of ours is passed on."""
    return {
        "PATH": SEARCHED,
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _walls(at: Places, environment: Mapping[str, str]) -> Iterator[str]:
    yield from ("--unshare-all", "--die-with-parent", "--new-session", "--clearenv")
    for name, value in environment.items():
        yield from ("--setenv", name, value)
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in map(Path, _SYSTEM):
        if folder.is_symlink():
            yield from ("--symlink", str(folder.readlink()), str(folder))
        elif folder.is_dir():
            yield from ("--ro-bind", str(folder), str(folder))
    for path in _SETTINGS:
        yield from ("--ro-bind-try", path, path)
    yield from ("--dev", "/dev", "--proc", "/proc")
    yield from ("--size", str(MAX_SCRATCH_BYTES), "--tmpfs", "/tmp")  # noqa: S108 - its own
    yield from ("--bind", str(at.work), "/workspace", "--ro-bind", str(at.skill), "/skill")
    yield from ("--remount-ro", "/", "--chdir", "/workspace")


def find_sandbox(mode: SandboxMode) -> Sandbox:
    """What this machine offers, found out by trying it."""
    if mode == "off":
        return Sandbox(None, "script-sandbox is off")
    if sys.platform != "linux":
        return Sandbox(None, f"there is none for {sys.platform}")
    bwrap = shutil.which("bwrap", path=SEARCHED)
    true = shutil.which("true", path=SEARCHED)
    if bwrap is None or true is None:
        return Sandbox(None, "bubblewrap is not installed")
    with tempfile.TemporaryDirectory(prefix="skill-delta-") as folder:
        place = Path(folder)
        walls = _walls(Places(place, place, place), {})
        problem = works((bwrap, *walls, "--", true))
    return Sandbox(None, f"bubblewrap does not work here: {problem}") if problem else Sandbox(bwrap)
