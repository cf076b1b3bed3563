"""The native eval file: a top-level `cases` list, compatible with skill-lens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from pydantic import JsonValue, ValidationError

from skill_delta.core.checks import limits, tools
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.documents import Document, Path
from skill_delta.core.suite import Case, Check, MockTool, Mode, Suite
from skill_delta.core.wording import shown
from skill_delta.errors import UserErrors
from skill_delta.formats.native_model import (
    KINDS,
    AnyTool,
    BudgetShape,
    CaseShape,
    EnvironmentShape,
    EvalFileShape,
    RefShape,
    ToolShape,
    TrajectoryShape,
    fields_at,
)
from skill_delta.formats.problems import Problems, did_you_mean, nearest, placeholders
from skill_delta.formats.tool_libraries import Library, LibraryTool, import_libraries
from skill_delta.formats.tools import mock_tool, note_contract, note_unreachable
from skill_delta.formats.workspaces import (
    asked,
    note_reserved,
    note_tasks,
    note_workspace,
    seed_of,
    weaknesses_of_files,
)
from skill_delta.ports import SourceFiles

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

KEY = "cases"
"""The top-level key that makes a file one of this dialect."""
ENVIRONMENT = "environment"
"""The top-level key under which the cases' surroundings stand."""
KEYS = tuple(EvalFileShape.model_fields)
"""The top-level keys that mean something in it."""
MAX_NOTES = 50
"""How many notes one file gives before the rest is only counted."""

_LATER: Mapping[str, frozenset[str]] = {
    "judge": frozenset({"artifacts"}),
    "assertions": frozenset({"judge"}),
}
"""What the format has and this version does not read, by the part of a case it stands in."""


def recognise(document: Document) -> bool:
    """Whether the file is in this dialect, by its top-level `cases`."""
    return isinstance(document.value, dict) and KEY in document.value


def read(document: Document, files: SourceFiles, path: PurePosixPath) -> Suite:
    """The cases of the file at `path`.

    Raises `UserErrors` with everything that is wrong with it and the libraries it imports.
    """
    problems = Problems(document)
    root = document.value if isinstance(document.value, dict) else {}
    notes = list(_note_keys(root, problems))
    library, cases, environment = Library(), [], EnvironmentShape()
    if _is_filled_in(root, problems):
        environment = _environment(root, problems)
        library = import_libraries(document, files, path.parent, problems)
        cases = list(_cases(root.get(KEY), document, library, problems))
    if problems.errors or library.errors:
        raise UserErrors((*problems.errors, *library.errors))
    if not cases:
        notes.append("it has no cases")
    notes += [note for shape, _ in cases for note in _weaknesses(shape)]
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES:] = [f"and {len(notes) - MAX_NOTES:,} more notes"]
    told = tuple(f"{document.file}: {note}" for note in notes)
    return Suite(tuple(case for _, case in cases), told, environment.disable_hooks)


def _note_keys(root: Mapping[str, JsonValue], problems: Problems) -> Iterator[str]:
    for key in root:
        if key in KEYS:
            continue
        meant = nearest(key, KEYS)
        if meant is not None:
            problems.add(
                (key,), f"there is no top-level key {shown(key)}", f"did you mean {meant}?"
            )
        else:
            yield f"the top-level key {shown(key)} means nothing here and is not read"


def _later(word: str) -> str:
    return f"this version of skill-delta does not support {word} yet"


def _is_filled_in(root: Mapping[str, JsonValue], problems: Problems) -> bool:
    unfilled = [path for key in KEYS for path in placeholders(root.get(key), (key,))]
    for path in unfilled:
        problems.add(path, "a placeholder is still to be filled in")
    return not unfilled


def _environment(root: Mapping[str, JsonValue], problems: Problems) -> EnvironmentShape:
    if ENVIRONMENT in root:
        try:
            return EnvironmentShape.model_validate(root[ENVIRONMENT])
        except ValidationError as error:
            problems.add_invalid((ENVIRONMENT,), error, _explain_environment)
    return EnvironmentShape()


def _explain_environment(details: ErrorDetails, _value: JsonValue) -> tuple[str, str] | None:
    if details["type"] != "extra_forbidden":
        return None
    key, known = str(details["loc"][-1]), tuple(EnvironmentShape.model_fields)
    return f"there is no field {shown(key)} here", did_you_mean(key, known)


def _cases(
    listed: JsonValue, document: Document, library: Library, problems: Problems
) -> Iterator[tuple[CaseShape, Case]]:
    if not isinstance(listed, list):
        problems.add((KEY,), "it is no list", "each case begins with `- name:`")
        return
    for position, raw in enumerate(listed):
        path: Path = (KEY, position)
        note_tasks(raw, path, problems)
        try:
            shape = CaseShape.model_validate(raw)
        except ValidationError as error:
            problems.add_invalid(path, error, _Explanations(library).explain)
            continue
        yield shape, _case(shape, path, document, library, problems)


def _case(
    shape: CaseShape, path: Path, document: Document, library: Library, problems: Problems
) -> Case:
    trajectory = shape.trajectory
    if trajectory and trajectory.skill_triggered is not None and shape.mode == "loaded":
        problems.add(
            (*path, "trajectory", "skill_triggered"),
            "a loaded skill is always in force, so there is nothing to trigger",
            "add `mode: offered` to the case",
        )
    note_workspace(shape, path, problems)
    sessions = tuple(shape.sessions or ())
    return Case(
        name=shape.name,
        task=asked(sessions) if sessions else shape.task or "",
        checks=tuple(_checks(shape)),
        place=document.place(path),
        mode=Mode(shape.mode),
        tools=tuple(_tools(shape, (*path, "tools"), library, problems)),
        tags=frozenset(shape.tags),
        workspace=seed_of(shape),
        sessions=sessions,
    )


def _tools(case: CaseShape, path: Path, library: Library, problems: Problems) -> Iterator[MockTool]:
    first: dict[str, Path] = {}
    for position, shape in enumerate(case.tools):
        here = (*path, position)
        contract = _contract(shape, here, library, problems)
        if contract is None:
            continue
        if contract.name in first:
            earlier = problems.place(first[contract.name])
            problems.add(here, f"the tool {contract.name} is already declared at {earlier}")
        first.setdefault(contract.name, here)
        note_reserved(contract.name, case, here, problems)
        if shape.returns is None:  # the library's own, which were looked at with the library
            yield mock_tool(contract, contract.returns)
            continue
        note_unreachable(contract, shape.returns, here, problems)
        yield mock_tool(contract, shape.returns)


def _contract(shape: AnyTool, path: Path, library: Library, problems: Problems) -> ToolShape | None:
    if isinstance(shape, ToolShape):
        note_contract(shape, path, problems)
        return shape
    declared = library.tools.get(shape.ref)
    if declared is None and library.is_whole:
        known = tuple(library.tools)
        hint = did_you_mean(shape.ref, known) if known else "import its file with `tool_libraries:`"
        problem = f"no imported library declares the tool {shown(shape.ref)}"
        problems.add((*path, "ref"), problem, hint)
    return None if declared is None else declared.shape


def _checks(shape: CaseShape) -> Iterator[Check]:
    for position, spec in enumerate(shape.assertions):
        yield Check(f"{spec.kind}[{position}]", spec)
    if shape.trajectory is not None:
        yield from _trajectory_checks(shape.trajectory)
    if shape.budget is not None:
        yield from _budget_checks(shape.budget)
    if shape.judge is not None:
        for position, line in enumerate(shape.judge.rubric):
            yield Check(f"judge[{position}]", RubricLine(line=line, expected=shape.judge.expected))


def _trajectory_checks(shape: TrajectoryShape) -> Iterator[Check]:
    for tool in dict.fromkeys(shape.called):
        yield Check(f"called:{tool}", tools.Called(tool=tool))
    for tool in dict.fromkeys(shape.forbidden):
        yield Check(f"forbidden:{tool}", tools.Forbidden(tool=tool))
    if shape.order:
        yield Check("order", tools.Order(tools=tuple(shape.order)))
    if shape.max_calls is not None:
        yield Check("max_calls", tools.MaxCalls(limit=shape.max_calls))
    if shape.skill_triggered is not None:
        yield Check("skill_triggered", tools.SkillTriggered(expected=shape.skill_triggered))
    for position, spec in enumerate(shape.call_args):
        yield Check(f"call_args[{position}]", spec)


def _budget_checks(shape: BudgetShape) -> Iterator[Check]:
    if shape.max_tokens is not None:
        yield Check("max_tokens", limits.MaxTokens(limit=shape.max_tokens))
    if shape.max_cost_usd is not None:
        yield Check("max_cost_usd", limits.MaxCostUsd(limit=shape.max_cost_usd))
    if shape.max_latency_ms is not None:
        yield Check("max_latency_ms", limits.MaxLatencyMs(limit=shape.max_latency_ms))


def _weaknesses(shape: CaseShape) -> Iterator[str]:
    case = f"the case {shown(shape.name)}"
    checks = tuple(_checks(shape))
    if not checks:
        yield f"{case} has no checks, so it can never fail"
    for check in checks:
        if check.spec.always_holds:
            yield f"{case}: the check {check.id} can never fail"
        if check.spec.never_holds:
            yield f"{case}: the check {check.id} can never pass"
    yield from (f"{case}: {weakness}" for weakness in weaknesses_of_files(shape))
    trajectory = shape.trajectory or TrajectoryShape()
    for field, names in (("called", trajectory.called), ("forbidden", trajectory.forbidden)):
        if len(set(names)) < len(names):
            yield f"{case}: {field} names a tool twice, which is checked once"


class _Explanations:
    """The words of this dialect for fields and kinds that it does not have."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def explain(self, details: ErrorDetails, value: JsonValue) -> tuple[str, str] | None:
        loc = details["loc"]
        match details["type"]:
            case "extra_forbidden":
                return self._field(loc, str(loc[-1]), value)
            case "union_tag_invalid":
                return self._kind(str(details.get("ctx", {})["tag"]))
            case "union_tag_not_found":
                return "its kind is missing", f"the kinds are {', '.join(KINDS)}"
            case _:
                return None

    def _field(self, loc: tuple[str | int, ...], key: str, holder: JsonValue) -> tuple[str, str]:
        part = str(loc[0]) if len(loc) > 1 else ""
        if key in _LATER.get(part, ()):
            return _later(key), ""
        known = fields_at(loc[:-1])
        if "<ref>" in loc and known == tuple(RefShape.model_fields):
            declared = self._declared(holder)
            where = f" at {declared.place}" if declared else ""
            return f"{shown(key)} cannot stand beside ref", f"the library declares it{where}"
        return f"there is no field {shown(key)} here", did_you_mean(key, known)

    def _declared(self, holder: JsonValue) -> LibraryTool | None:
        ref = holder.get("ref") if isinstance(holder, dict) else None
        return self._library.tools.get(ref) if isinstance(ref, str) else None

    def _kind(self, kind: str) -> tuple[str, str]:
        if kind in _LATER["assertions"]:
            return _later(kind), ""
        return f"there is no kind {shown(kind)}", did_you_mean(kind, KINDS)
