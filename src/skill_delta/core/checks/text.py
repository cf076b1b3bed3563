"""Checks of the output's text."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from skill_delta.core.checks.base import Finding
from skill_delta.core.checks.evidence import shown_around
from skill_delta.core.checks.patterns import compiled, search
from skill_delta.core.checks.subject import Subject, TextCheck
from skill_delta.core.wording import LIMIT, shown


def _readable(pattern: str) -> str:
    compiled(pattern)
    return pattern


Pattern: TypeAlias = Annotated[str, AfterValidator(_readable)]
"""A regular expression, read when the eval file is."""

Texts: TypeAlias = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, strict=False)
]
"""One or more texts, none of them empty."""


class Contains(TextCheck):
    """The output contains this text, letter for letter."""

    kind: Literal["contains"]
    value: str

    def judge(self, subject: Subject) -> Finding:
        """Holds where `value` is anywhere in the output."""
        if self.value in subject.text:
            return Finding.of(True, f"{subject.name} contains {shown(self.value)}")
        wanted = f"expected {shown(self.value)} in {subject.name}"
        return Finding.of(False, f"{wanted}; {subject.content}")

    @property
    def always_holds(self) -> bool:
        """The empty text is in every output."""
        return not self.value


class NotContains(TextCheck):
    """The output does not contain this text."""

    kind: Literal["not_contains"]
    value: str

    def judge(self, subject: Subject) -> Finding:
        """Holds where `value` is nowhere in the output."""
        start = subject.text.find(self.value)
        if start < 0:
            return Finding.of(True, f"{shown(self.value)} is not in {subject.name}")
        found = shown_around(subject.text, start, start + len(self.value))
        return Finding.of(
            False, f"expected no {shown(self.value)} in {subject.name}; found {found}"
        )

    @property
    def never_holds(self) -> bool:
        """The empty text is in every output."""
        return not self.value


class ContainsIgnoringCase(TextCheck):
    """The output contains this text, in whatever case."""

    kind: Literal["icontains"]
    value: str

    def judge(self, subject: Subject) -> Finding:
        """Holds where `value` is anywhere in the output once both are case-folded."""
        if self.value.casefold() in subject.text.casefold():
            return Finding.of(True, f"{subject.name} contains {shown(self.value)} (any case)")
        wanted = f"expected {shown(self.value)} (any case) in {subject.name}"
        return Finding.of(False, f"{wanted}; {subject.content}")

    @property
    def always_holds(self) -> bool:
        """The empty text is in every output."""
        return not self.value


class Regex(TextCheck):
    """A regular expression matches somewhere in the output."""

    kind: Literal["regex"]
    value: Pattern

    def judge(self, subject: Subject) -> Finding:
        """Holds where the pattern is found. Raises `TrialError` when the search takes too long."""
        found = search(self.value, subject.text)
        if found is None:
            wanted = f"expected a match of regex {shown(self.value)}"
            return Finding.of(False, f"{wanted}; {subject.content}")
        matched = shown(subject.text[slice(*found)])
        return Finding.of(True, f"regex {shown(self.value)} matches {matched}")

    @property
    def may_be_slow(self) -> bool:
        """A search may take its whole second."""
        return True

    @property
    def always_holds(self) -> bool:
        """The empty pattern matches every output."""
        return not self.value


class NotRegex(TextCheck):
    """A regular expression matches nowhere in the output."""

    kind: Literal["not_regex"]
    value: Pattern

    def judge(self, subject: Subject) -> Finding:
        """Holds where the pattern is absent. Raises `TrialError` when the search is too long."""
        found = search(self.value, subject.text)
        if found is None:
            return Finding.of(True, f"regex {shown(self.value)} matches nothing")
        seen = shown_around(subject.text, *found)
        return Finding.of(False, f"expected no match of regex {shown(self.value)}; found {seen}")

    @property
    def may_be_slow(self) -> bool:
        """A search may take its whole second."""
        return True

    @property
    def never_holds(self) -> bool:
        """The empty pattern matches every output."""
        return not self.value


class Equals(TextCheck):
    """The output, without the blanks around it, is exactly this text."""

    kind: Literal["equals"]
    value: str

    def judge(self, subject: Subject) -> Finding:
        """Holds where the stripped output equals `value`, which is taken as written."""
        if subject.text.strip() == self.value:
            return Finding.of(True, f"{subject.name} equals {shown(self.value)}")
        difference = _first_difference(self.value, subject.text.strip())
        return Finding.of(
            False,
            f"expected {subject.name} to equal {shown(self.value)}; "
            f"{Subject(subject.text.strip(), subject.name).content}{difference}",
        )

    @property
    def never_holds(self) -> bool:
        """An output without the blanks around it never equals a text that has some."""
        return self.value != self.value.strip()


class AnyOf(TextCheck):
    """The output contains at least one of these texts."""

    kind: Literal["any_of"]
    values: Texts

    def judge(self, subject: Subject) -> Finding:
        """Holds where one of the texts is anywhere in the output."""
        for value in self.values:
            if value in subject.text:
                return Finding.of(True, f"{subject.name} contains {shown(value)}")
        wanted = f"expected any of {_listed(self.values)} in {subject.name}"
        return Finding.of(False, f"{wanted}; {subject.content}")


class AllOf(TextCheck):
    """The output contains every one of these texts."""

    kind: Literal["all_of"]
    values: Texts

    def judge(self, subject: Subject) -> Finding:
        """Holds where every text is in the output. The score is all or nothing."""
        missing = tuple(value for value in self.values if value not in subject.text)
        if not missing:
            return Finding.of(True, f"{subject.name} contains all of {_listed(self.values)}")
        wanted = f"expected {_listed(missing)} in {subject.name}"
        return Finding.of(False, f"{wanted}; {subject.content}")


def _listed(values: tuple[str, ...]) -> str:
    # As many as fit beside the output on one line of a report.
    text, left = "", len(values)
    for value in values:
        if text and len(text) + len(value) > LIMIT:
            return f"{text} and {left} more"
        text += f", {shown(value)}" if text else shown(value)
        left -= 1
    return text


def _first_difference(wanted: str, found: str) -> str:
    # Two long texts that begin alike look equal once they are clipped.
    if min(len(wanted), len(found)) <= LIMIT:
        return ""
    same = next((i for i, (w, f) in enumerate(zip(wanted, found, strict=False)) if w != f), -1)
    at = same if same >= 0 else min(len(wanted), len(found))
    return f"; they differ from character {at + 1:,}"
