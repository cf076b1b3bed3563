"""What a tool made of a situation, in the words that both tools can be put into."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from conformance.situation import RUNNER, Situation

TOLERANCE = 1e-12
"""How far two numbers may lie apart that are the same: the digits of binary fractions."""


@dataclass(frozen=True, order=True)
class CaseOf:
    """One case of one skill under one runner."""

    skill: str
    case: str
    runner: str

    def __str__(self) -> str:
        return self.case if self.runner == RUNNER else f"{self.case} ({self.runner})"


@dataclass(frozen=True, order=True)
class Run:
    """One repetition of a case in one arm."""

    of: CaseOf
    arm: str
    repetition: int


@dataclass(frozen=True)
class Counts:
    """How the repetitions of one arm of one case ended. skill-lens knows no `inconclusive`."""

    passed: int = 0
    failed: int = 0
    errored: int = 0
    inconclusive: int = 0


@dataclass(frozen=True)
class Version:
    """The skill that the baseline arm ran.

    `declared` is its version, empty where it has none; `prompt` is what a model is told where the
    skill is loaded; `files` are the digests of what it ships. A `none` baseline has neither commit
    nor folder.
    """

    name: str
    declared: str
    prompt: str
    files: Mapping[str, str]
    commit: str = ""
    folder: str = ""

    def __str__(self) -> str:
        if not self.commit:
            return "no skill"
        shipped = f" with {', '.join(self.files)}" if self.files else ""
        return f"{self.declared or 'unversioned'} in {self.folder}{shipped}"


@dataclass(frozen=True)
class Gate:
    """`candidate_reasons` are sorted; `delta_reasons` stand in the order that the seed gives."""

    passed: bool
    exit_code: int
    candidate_reasons: tuple[str, ...]
    delta_reasons: tuple[str, ...]

    @classmethod
    def of(cls, passed: bool, exit_code: int, reasons: list[str]) -> Gate:
        """The gate's answer, with each reason reduced to what it is about."""
        kinds = [_kind(reason) for reason in reasons]
        return cls(
            passed,
            exit_code,
            tuple(sorted(kind for kind in kinds if kind not in _ABOUT_THE_DELTA)),
            tuple(kind for kind in kinds if kind in _ABOUT_THE_DELTA),
        )

    def without(self, *reasons: str) -> Gate:
        """The same answer, had these reasons not been given."""
        kept = tuple(reason for reason in self.candidate_reasons if reason not in reasons)
        return replace(self, candidate_reasons=kept)


@dataclass(frozen=True)
class Measured:
    """One tool's results. Of each it is known which comparison, trial or check it belongs to.

    `left_out` are the cases in neither half of the delta, `never_offered` those whose baseline
    was skipped on purpose, `without_cases` the skills of which nothing ran. `versions` has None
    for a skill whose baseline could not be resolved. `numbers` are named by what they measure, and
    None where nothing was comparable.
    """

    counts: Mapping[tuple[CaseOf, str], Counts]
    checks: Mapping[Run, Mapping[str, bool]]
    tool_answers: Mapping[Run, tuple[tuple[str, str], ...]]
    left_out: frozenset[CaseOf]
    never_offered: frozenset[CaseOf]
    numbers: Mapping[str, float | None]
    low_signal: frozenset[tuple[CaseOf, str]]
    high_variance: frozenset[tuple[CaseOf, str]]
    versions: Mapping[str, Version | None]
    without_cases: frozenset[str]
    gate: Gate

    @property
    def told(self) -> str:
        """What it comes to, for a person to check: cases, versions, delta, flags, gate."""
        lines = [f"{of}: {self._arms(of)}" for of in sorted({of for of, _ in self.counts})]
        if self.left_out:
            lines.append(f"left out: {', '.join(map(str, sorted(self.left_out)))}")
        lines += [
            f"{skill} against {version or 'nothing'}" for skill, version in self.versions.items()
        ]
        if self.numbers.get("all: pass rate") is not None:
            lines.append(self._delta())
        if self.low_signal or self.high_variance:
            lines.append(f"{len(self.low_signal)} low-signal, {len(self.high_variance)} unstable")
        reasons = (*self.gate.candidate_reasons, *self.gate.delta_reasons)
        lines.append("gate passed" if self.gate.passed else f"gate failed: {', '.join(reasons)}")
        return "\n".join(lines)

    def _delta(self) -> str:
        rate, tokens, dollars, ms = (
            self.numbers[f"all: {what}"] or 0.0
            for what in ("pass rate", "tokens", "dollars", "milliseconds")
        )
        return f"delta {rate:+.1%}, {tokens:+.4g} tokens, ${dollars:+.3g}, {ms:+.4g} ms"

    def _arms(self, of: CaseOf) -> str:
        told = []
        for arm in ("candidate", "baseline"):
            counts = self.counts.get((of, arm))
            if counts is not None:
                lost = f" ({counts.errored} lost)" if counts.errored else ""
                told.append(f"{counts.passed}/{counts.passed + counts.failed}{lost}")
        return " v ".join(told)


Both = Callable[[Situation], tuple[Measured, Measured]]
"""Puts a situation to skill-delta and skill-lens, and gives what they make of it in this order."""


def disagreements(ours: Measured, theirs: Measured) -> dict[str, tuple[object, object]]:
    """Everything that the two do not say alike: ours first, then theirs."""
    pairs = {f.name: (getattr(ours, f.name), getattr(theirs, f.name)) for f in fields(Measured)}
    return {name: pair for name, pair in pairs.items() if not alike(*pair)}


def alike(ours: object, theirs: object) -> bool:
    """Whether two results are the same, numbers to within `TOLERANCE`."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        return ours.keys() == theirs.keys() and all(alike(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, float | int) and isinstance(theirs, float | int):
        return abs(ours - theirs) <= TOLERANCE
    return ours == theirs


_KINDS: Mapping[str, str] = {
    r"^no eval cases? ran": "nothing ran",
    r"^no trial of the candidate could be measured": "nothing measured",
    r"^skill '.*'(:| pass rate| requires a pass rate| must pass)": "a skill's pass rate",
    r"^pass rate": "pass rate",
    r"errored$": "lost trials",
    r"(was|were|did) not run": "cut short",
    r"no baseline arm ran": "no baseline ran",
    r"no case under runner '.*' had a comparable baseline": "a runner not comparable",
    r"no case (had a comparable baseline|was comparable)": "nothing comparable",
    r"^pass-rate delta .* is below the required": "below the bar",
    r"^skill '.*' has no resolvable baseline": "unresolved",
}
"""What a reason of either tool is about, by what it says."""

_ABOUT_THE_DELTA = (
    "no baseline ran",
    "nothing comparable",
    "a runner not comparable",
    "below the bar",
    "unresolved",
)


def _kind(reason: str) -> str:
    return next((kind for says, kind in _KINDS.items() if re.search(says, reason)), reason)
