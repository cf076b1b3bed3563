"""Working folders and sessions: what an author may ask of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.subject import FileCheck
from skill_delta.core.documents import Path
from skill_delta.core.wording import shown
from skill_delta.core.workspace import RESERVED_TOOLS, WorkspaceSeed, normal, seed_refusals
from skill_delta.formats.native_model import CaseShape
from skill_delta.formats.problems import Problems

_ADD = "add `workspace: {}` to the case"


def note_tasks(raw: JsonValue, path: Path, problems: Problems) -> None:
    """Note where the case at `path` has no task, or more than one way of asking."""
    if not isinstance(raw, dict):
        return
    task, sessions = raw.get("task"), raw.get("sessions")
    if task is None and sessions is None:
        problems.add((*path, "task"), "this field is missing")
    if task is not None and sessions is not None:
        problems.add((*path, "sessions"), "the case has task and sessions; it takes one of them")
    if isinstance(sessions, list) and len(sessions) < 2:
        hint = "write it as `task`" if sessions else "write each as one text"
        problems.add((*path, "sessions"), "a case has two sessions or more", hint)


def note_workspace(shape: CaseShape, path: Path, problems: Problems) -> None:
    """Note what is wrong with the folder of the case at `path`, or needs one and has none."""
    if shape.workspace is None:
        if shape.sessions is not None:
            problem = "sessions have nothing in common without a working folder"
            problems.add((*path, "sessions"), problem, _ADD)
        for field in _looks_at_files(shape):
            problems.add((*path, *field), "the case has no working folder to look into", _ADD)
        return
    files = shape.workspace.files
    for name, wrong in seed_refusals(files):
        problems.add((*path, "workspace", "files", *((name,) if name else ())), wrong)
    for position, spec in enumerate(shape.assertions):
        if isinstance(spec, FileProduced) and spec.file_glob is not None:
            seeded = next((name for name in files if spec.names(normal(name))), None)
            if seeded is not None:
                here = ("assertions", position, "file_glob")
                problem = f"it matches {shown(seeded)}, which is there from the beginning"
                problems.add((*path, *here), problem, "match what the model should write")


def note_reserved(tool: str, shape: CaseShape, path: Path, problems: Problems) -> None:
    """Note where the mock tool at `path` has the name of one that comes with the folder."""
    if shape.workspace is not None and tool in RESERVED_TOOLS:
        problem = f"{tool} is a tool that comes with the working folder"
        problems.add(path, problem, "rename the tool, or drop `workspace`")


def seed_of(shape: CaseShape) -> WorkspaceSeed | None:
    """What the case's folder begins with, by the plain paths."""
    if shape.workspace is None:
        return None
    return WorkspaceSeed({normal(name): text for name, text in shape.workspace.files.items()})


def asked(sessions: Sequence[str]) -> str:
    """Several sessions as one text."""
    return "\n\n".join(
        f"Session {number} of {len(sessions)}: {text}"
        for number, text in enumerate(sessions, start=1)
    )


def weaknesses_of_files(shape: CaseShape) -> Iterator[str]:
    """The checks that hold whatever the model does, since the file is there from the beginning."""
    files = {normal(name) for name in shape.workspace.files} if shape.workspace else set()
    for position, spec in enumerate(shape.assertions):
        if isinstance(spec, FileProduced) and spec.file is not None and normal(spec.file) in files:
            yield f"{spec.kind}[{position}] asks for a file that is there from the beginning"


def _looks_at_files(shape: CaseShape) -> Iterator[Path]:
    for position, spec in enumerate(shape.assertions):
        if isinstance(spec, FileCheck) and spec.target:
            yield "assertions", position, "file" if spec.file is not None else "file_glob"
