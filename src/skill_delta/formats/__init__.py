"""The eval-file dialects, and how a skill's eval files become one suite.

Dialects are told apart by what a file holds, never by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from skill_delta.core.documents import Document, read_document
from skill_delta.core.suite import Case, Suite, offered_name_collision
from skill_delta.core.wording import shown, visible
from skill_delta.errors import Place, UserError, UserErrors, gathered
from skill_delta.formats import native
from skill_delta.formats.discovery import Candidate, candidates
from skill_delta.formats.foreign import foreign_dialect
from skill_delta.formats.json_document import read_json
from skill_delta.formats.problems import nearest
from skill_delta.ports import SourceFiles


class Dialect(Protocol):
    """One way to write an eval file. A module of this package is one."""

    @property
    def KEY(self) -> str:  # noqa: N802 - a module's constant
        """The top-level key that it is known by."""
        ...

    def recognise(self, document: Document) -> bool: ...

    def read(self, document: Document, files: SourceFiles, path: PurePosixPath) -> Suite:
        """Raises `UserErrors` with everything that is wrong."""
        ...


FORMATS: Mapping[str, Dialect] = {"native": native}
"""The dialects by name, in the order in which they are tried."""


def read_suite(
    skill_name: str,
    files: SourceFiles,
    folder: PurePosixPath,
    explicit: Sequence[PurePosixPath] = (),
) -> Suite | None:
    """All the cases of the skill in `folder`; None where it has no eval files at all.

    `explicit` files, and the files of `explicit` folders, take the place of the skill's own. Raises
    `UserErrors` with everything that is wrong with any of them, `UserError` where there is none in
    an `explicit` folder.
    """
    found = candidates(files, folder, explicit)
    if not found:
        return None
    suites, errors = gathered(lambda candidate: _read_candidate(candidate, files), found)
    cases = tuple(case for suite in suites for case in suite.cases)
    errors = (*errors, *_clashes(cases, skill_name))
    if errors:
        raise UserErrors(tuple({str(error): error for error in errors}.values()))
    return Suite(
        cases,
        tuple(note for suite in suites for note in suite.notes),
        any(suite.disable_hooks for suite in suites),
    )


def _read_candidate(candidate: Candidate, files: SourceFiles) -> Suite:
    where = visible(files.shown(candidate.path))
    raw = files.read(candidate.path)
    is_json = candidate.path.suffix.lower() == ".json"
    document = read_json(raw, where) if is_json else read_document(raw, where)
    for dialect in FORMATS.values():
        if dialect.recognise(document):
            return dialect.read(document, files, candidate.path)
    return _unrecognised(document, candidate)


def _unrecognised(document: Document, candidate: Candidate) -> Suite:
    foreign = foreign_dialect(document.value)
    if not foreign:
        _refuse_slip(document)
    problem = (
        f"is in the dialect {foreign}, which this version of skill-delta does not read yet"
        if foreign
        else "is not an eval file"
    )
    if candidate.is_meant:
        hint = "an eval file has a top-level list `cases`"
        raise UserError(f"the file {problem}", hint=hint, place=Place(document.file))
    return Suite((), (f"{document.file} {problem}",))


def _refuse_slip(document: Document) -> None:
    # A slip in the one key that makes a file an eval file must not lose a skill its cases.
    value = document.value if isinstance(document.value, dict) else {}
    for key, held in value.items():
        meant = nearest(key, (dialect.KEY for dialect in FORMATS.values()))
        if meant is not None and (held is None or isinstance(held, list)):
            raise UserError(
                f"there is no top-level key {shown(key)}",
                hint=f"did you mean {meant}? Move the file out of `evals/` if it is no eval file",
                place=document.place((key,)),
            )


def _clashes(cases: Sequence[Case], skill_name: str) -> list[UserError]:
    errors = []
    first: dict[str, Place] = {}
    for case in cases:
        if case.name in first:
            errors.append(
                UserError(
                    f"the case name {shown(case.name)} is already taken at {first[case.name]}",
                    hint="results are compared by name: give each case of a skill its own",
                    place=case.place,
                )
            )
        first.setdefault(case.name, case.place)
        collision = offered_name_collision(case, skill_name)
        if collision is not None:
            errors.append(collision)
    return errors
