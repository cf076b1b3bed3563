"""What a pull request does to the cases that judge it, and which of their demands it gave up."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.evidence import shown_json
from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.limits import MaxCostUsd, MaxLatencyMs, MaxTokens
from skill_delta.core.checks.matching import matches
from skill_delta.core.checks.structure import Numeric
from skill_delta.core.checks.subject import FileCheck
from skill_delta.core.checks.text import (
    AllOf,
    AnyOf,
    Contains,
    ContainsIgnoringCase,
    Equals,
    NotContains,
)
from skill_delta.core.checks.tools import CallArgs, Called, MaxCalls, Order
from skill_delta.core.selection import EVERY_CASE, Selection
from skill_delta.core.suite import Case, Check, Suite
from skill_delta.core.wording import clipped
from skill_delta.errors import Place

MAX_COMPARED = 100
"""How many lost checks of a case are held against how many new ones, to see which are kept.

Beyond them, each lost check is held against the new one of its own id and kind only.
"""


class CaseChangeKind(StrEnum):
    """How the case of one name differs between the base and the head of a pull request."""

    UNCHANGED = "unchanged"
    EDITED = "edited"
    ADDED = "added"
    REMOVED = "removed"


class CasePart(StrEnum):
    """What a case asks with, beside its checks."""

    TASK = "task"
    SESSIONS = "sessions"
    MODE = "mode"
    TOOLS = "tools"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """What happened to the case of one name.

    `place` is where the head has it, or where the base had it if it was removed. `loosened` says
    in one sentence each what an edited case no longer asks for. `altered` are the parts of it that
    read otherwise: it may be easier or harder for it. `deselected_by` is the part of the run's
    selection that took the case at the base and takes it no longer (`tag smoke`), else blank.

    A case that is the same but for its name is a removed and an added one that point at each
    other: `renamed_to` is the name at the head of what the base has under `name`, `renamed_from`
    the name at the base of what the head has under it. An edited case may have either, where names
    were exchanged: what it was then stands whole under `renamed_to`, so nothing was loosened.
    """

    name: str
    kind: CaseChangeKind
    place: Place
    loosened: tuple[str, ...] = ()
    renamed_from: str | None = None
    renamed_to: str | None = None
    altered: tuple[CasePart, ...] = ()
    deselected_by: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether the head has no case that asks what this one did."""
        return self.kind is CaseChangeKind.REMOVED and self.renamed_to is None

    @property
    def weakens_the_suite(self) -> bool:
        """Whether the head asks for less than the base: to be named beside the verdict."""
        return self.is_gone or bool(self.loosened) or bool(self.deselected_by)


def suite_changes(
    base: Suite | None, head: Suite | None, selection: Selection = EVERY_CASE
) -> tuple[CaseChange, ...]:
    """What happened to each case: the head's in its order, then the removed ones in the base's.

    Cases are paired by name, as results are. Beyond that, one is taken for another only where all
    but the name is the same, so that no rename can hide an edit. None is an end where the skill has
    no eval files. `selection` is what the run takes of either end.
    """
    before = {case.name: case for case in base.cases} if base else {}
    after = {case.name: case for case in head.cases} if head else {}
    kinds = {name: _kind(before.get(name), after.get(name)) for name in {**after, **before}}
    new_names = _renames(
        [case for name, case in before.items() if kinds[name] is not CaseChangeKind.UNCHANGED],
        [case for name, case in after.items() if kinds[name] is not CaseChangeKind.UNCHANGED],
    )
    old_names = {now: was for was, now in new_names.items()}

    def change(name: str, kind: CaseChangeKind) -> CaseChange:
        was, now = before.get(name), after.get(name)
        is_edited = kind is CaseChangeKind.EDITED and name not in new_names
        return CaseChange(
            name=name,
            kind=kind,
            place=(after.get(name) or before[name]).place,
            loosened=_loosened(was, now) if is_edited else (),
            renamed_from=old_names.get(name),
            renamed_to=new_names.get(name),
            altered=tuple(_altered(was, now)) if is_edited else (),
            deselected_by=_deselected_by(was, after.get(new_names.get(name, name)), selection),
        )

    return tuple(change(name, kind) for name, kind in kinds.items())


def untouched(changes: Iterable[CaseChange]) -> frozenset[str]:
    """The names of the cases that are the same at both ends, to the last check.

    A renamed case is none of them: the base has no case of its name.
    """
    return frozenset(c.name for c in changes if c.kind is CaseChangeKind.UNCHANGED)


def _kind(was: Case | None, now: Case | None) -> CaseChangeKind:
    if was is None:
        return CaseChangeKind.ADDED
    if now is None:
        return CaseChangeKind.REMOVED
    same = was.fingerprint == now.fingerprint
    return CaseChangeKind.UNCHANGED if same else CaseChangeKind.EDITED


def _renames(gone: Iterable[Case], new: Iterable[Case]) -> Mapping[str, str]:
    """The new name by the old one; among several that are the same, each goes to one, in order."""
    arrived = _names_by_content(new)
    return {
        old_name: new_name
        for content, names in _names_by_content(gone).items()
        for old_name, new_name in zip(names, arrived.get(content, ()), strict=False)
    }


def _names_by_content(cases: Iterable[Case]) -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = defaultdict(list)
    for case in cases:
        names[replace(case, name="").fingerprint].append(case.name)
    return names


def _deselected_by(was: Case | None, now: Case | None, selection: Selection) -> str:
    """What leaves out now what it took before. One that is gone was taken out otherwise."""
    if was is None or now is None or not selection.admits(was):
        return ""
    return selection.misses(now)


def _altered(was: Case | None, now: Case | None) -> Iterator[CasePart]:
    if was is None or now is None:
        return
    # The task of a case with sessions is their text: what changed is told once.
    task = now.task if was.sessions == now.sessions else was.task
    with_parts = {
        CasePart.TASK: replace(was, task=task),
        CasePart.SESSIONS: replace(was, sessions=now.sessions),
        CasePart.MODE: replace(was, mode=now.mode),
        CasePart.TOOLS: replace(was, tools=now.tools),
        CasePart.WORKSPACE: replace(was, workspace=now.workspace),
    }
    for part, otherwise in with_parts.items():
        if otherwise.fingerprint != was.fingerprint:
            yield part


# ---------------------------------------------------------------- what was loosened


def _loosened(was: Case | None, now: Case | None) -> tuple[str, ...]:
    if was is None or now is None:
        return ()
    gained = _not_among(was.checks, now.checks)
    successors = {(new.id, type(new.spec)): new for new in reversed(gained)}
    sentences = []
    for position, check in enumerate(_not_among(now.checks, was.checks)):
        successor = successors.get((check.id, type(check.spec)))
        nearest = () if successor is None else (successor,)
        others = gained[:MAX_COMPARED] if position < MAX_COMPARED else ()
        if not any(_implies(new.spec, check.spec) for new in (*nearest, *others)):
            sentences.append(_sentence(check, successor))
    return tuple(sentences)


def _not_among(others: Iterable[Check], checks: Iterable[Check]) -> tuple[Check, ...]:
    """Those `checks` whose demand is not among the `others`, or not as often.

    By what they demand and not by their ids: `contains[1]` is `contains[0]` once the one above it
    is gone.
    """
    left = Counter(check.demand for check in others)
    found = []
    for check in checks:
        if left[check.demand]:
            left[check.demand] -= 1
        else:
            found.append(check)
    return tuple(found)


def _sentence(check: Check, successor: Check | None) -> str:
    """What became of a lost check; its successor has its id and kind."""
    label, value = clipped(check.id), _value(check)
    if successor is not None:
        verb = "raised" if isinstance(check.spec, _Budget) else "changed"
        return f"{label} {verb} from {value} to {_value(successor)}"
    is_said = not value or value == shown_json(check.id.partition(":")[2])
    return f"{label} is gone" if is_said else f"{label} {value} is gone"


def _value(check: Check) -> str:
    values = check.spec.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)
    if not values:
        return ""
    return shown_json(values if len(values) > 1 else next(iter(values.values())))


# ---------------------------------------------------------------- what is as strict as before

_Budget: TypeAlias = MaxTokens | MaxCostUsd | MaxLatencyMs | MaxCalls


def _implies(new: CheckSpec, old: CheckSpec) -> bool:
    """Whether each transcript that passes `new` provably passes `old` too.

    What no rule proves counts as lost: a pattern, a schema, a rubric line that reads differently.
    """
    return _looks_at(new) == _looks_at(old) and any(proves(new, old) for proves in _PROOFS)


def _looks_at(spec: CheckSpec) -> tuple[str, ...]:
    """The file that is judged; nothing where that is the output, or the calls."""
    return spec.target if isinstance(spec, FileCheck) else ()


def _within_budget(new: CheckSpec, old: CheckSpec) -> bool:
    return isinstance(old, _Budget) and isinstance(new, type(old)) and new.limit <= old.limit


def _within_tolerance(new: CheckSpec, old: CheckSpec) -> bool:
    if not (isinstance(new, Numeric) and isinstance(old, Numeric)):
        return False
    apart = abs(_exactly(new.value) - _exactly(old.value))
    return apart + _exactly(new.tolerance) <= _exactly(old.tolerance)


def _exactly(number: int | float) -> Fraction:
    return Fraction(str(number))  # as it is written: as a float, 0.3 is a little less


def _wants_the_file(new: CheckSpec, old: CheckSpec) -> bool:
    # What is judged of a file cannot hold where there is none, `not_contains` included.
    return isinstance(old, FileProduced) and isinstance(new, FileCheck)


def _wants_the_texts(new: CheckSpec, old: CheckSpec) -> bool:
    if isinstance(old, Equals):
        return False
    wanted, sure = _texts(old), _texts(new)
    if isinstance(old, ContainsIgnoringCase):
        wanted, sure = ((old.value.casefold(),),), _folded_texts(new)
    return bool(wanted) and all(
        any(all(any(text in each for text in texts) for each in found) for found in sure)
        for texts in wanted
    )


def _texts(spec: CheckSpec) -> tuple[tuple[str, ...], ...]:
    """An output that passes contains at least one text of each group."""
    match spec:
        case Contains() | Equals():
            return ((spec.value,),)
        case AllOf():
            return tuple((value,) for value in spec.values)
        case AnyOf():
            return (spec.values,)
        case _:
            return ()


def _folded_texts(spec: CheckSpec) -> tuple[tuple[str, ...], ...]:
    """The same of the case-folded output."""
    texts = ((spec.value,),) if isinstance(spec, ContainsIgnoringCase) else _texts(spec)
    return tuple(tuple(text.casefold() for text in group) for group in texts)


def _refuses_the_text(new: CheckSpec, old: CheckSpec) -> bool:
    return isinstance(new, NotContains) and isinstance(old, NotContains) and new.value in old.value


def _calls_the_tools(new: CheckSpec, old: CheckSpec) -> bool:
    called = iter(new.tools if isinstance(new, Order) else ())
    match old:
        case Called():
            return old.tool in called or (isinstance(new, CallArgs) and new.tool == old.tool)
        case Order():
            return isinstance(new, Order) and all(tool in called for tool in old.tools)
        case _:
            return False


def _wants_the_arguments(new: CheckSpec, old: CheckSpec) -> bool:
    if not (isinstance(new, CallArgs) and isinstance(old, CallArgs)):
        return False
    if new.tool != old.tool or (old.every and not new.every):
        return False
    if old.contains is not None:
        return matches(old.contains, new.contains if new.equals is None else new.equals)
    return new.equals is not None and matches(old.equals, new.equals, exact=True)


_PROOFS: tuple[Callable[[CheckSpec, CheckSpec], bool], ...] = (
    _within_budget,
    _within_tolerance,
    _wants_the_file,
    _wants_the_texts,
    _refuses_the_text,
    _calls_the_tools,
    _wants_the_arguments,
)
