"""Where trials take place: their working folders, and whether scripts run in them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skill_delta.core.wording import count
from skill_delta.errors import UserError
from skill_delta.preparation import FoundSkill, labels
from skill_delta.runners.bundle import ShippedFiles
from skill_delta.runners.process import hide_memory
from skill_delta.runners.sandbox import find_sandbox
from skill_delta.runners.scripts import INTERPRETERS, Scripts, interpreter_of, runnable
from skill_delta.runners.workspace import Workspaces
from skill_delta.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Grounds:
    """What the runners of a run share. `notes` tell of it before the first trial."""

    workspaces: Workspaces = field(default_factory=Workspaces)
    scripts: Scripts | None = None
    notes: tuple[str, ...] = ()


def grounds_of(settings: Settings, skills: Sequence[FoundSkill]) -> Grounds:
    """What the settings allow on this machine.

    Raises `UserError`, before anything is spent, where scripts were to run and cannot.
    """
    workspaces = Workspaces(keep=settings.keep_workspace)
    scripted = dict(_with_scripts(skills))
    if not settings.allow_scripts:
        notes = tuple(
            f"{label}: it ships {count(len(runnable(shipped)), 'script')}, and run_script was off "
            "(allow-scripts)"
            for label, shipped in scripted.items()
        )
        return Grounds(workspaces, notes=notes)
    sandbox = find_sandbox(settings.script_sandbox)
    if settings.script_sandbox == "required" and sandbox.bwrap is None:
        raise UserError(
            f"script-sandbox is required, and there is none: {sandbox.reason}",
            hint="install bubblewrap where user namespaces are allowed, or do without scripts",
        )
    for label, shipped in scripted.items():
        _refuse_missing_interpreters(label, shipped)
    closed = sandbox.closed(Path(tempfile.gettempdir()).resolve())
    if closed is not None:
        raise UserError(
            f"scripts run as the user nobody, who cannot enter {closed}",
            hint="let TMPDIR name a folder that everyone may enter, such as /tmp",
        )
    if sandbox.bwrap is None:
        hide_memory()
    return Grounds(workspaces, Scripts(sandbox), (sandbox.told,) if scripted else ())


def _with_scripts(skills: Sequence[FoundSkill]) -> Iterator[tuple[str, ShippedFiles]]:
    """The skills that ship scripts, and have a case that could run one."""
    for label, found in zip(labels(skills), skills, strict=True):
        bundle = found.working.skill.bundle
        cases = found.suite.cases if found.suite else ()
        if bundle is not None and any(case.workspace is not None for case in cases):
            shipped = ShippedFiles(bundle)
            if runnable(shipped):
                yield label, shipped


def _refuse_missing_interpreters(label: str, shipped: ShippedFiles) -> None:
    for script in runnable(shipped):
        if interpreter_of(script) is None:
            name = INTERPRETERS[script.suffix.lower()]
            raise UserError(
                f"skill '{label}': {script} needs {name}, which this machine does not have",
                hint="install it, or do without allow-scripts",
            )
