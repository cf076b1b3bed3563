"""What only a model can judge: one line of a rubric, and how a judge's verdict on it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.transcript import Transcript
from skill_delta.core.wording import clipped, shown

NOT_ASKED = "no judge was asked"


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """What a judge says of one line. `evidence` is what it quotes; it may be blank, or made up."""

    passed: bool
    evidence: str = ""
    reason: str = ""


class RubricLine(CheckSpec):
    """A judge finds that the answer meets `line`.

    `expected` tells the judge what a good answer is like; it is the same for all lines of a case.
    """

    line: Annotated[str, StringConstraints(pattern=r"\S")]
    expected: str = ""

    def grade(self, transcript: Transcript) -> Finding:  # noqa: ARG002 - it takes a judge
        """Not evaluated: without a judge nobody knows."""
        return Finding.not_evaluated(f"{shown(self.line)}: {NOT_ASKED}")

    def read(self, verdict: LineVerdict, answer: str) -> Finding:
        """The verdict, held against the answer: a pass needs a quotation that is in it.

        Blanks and line breaks of the quotation may differ from the answer's, and nothing else.
        """
        if not verdict.passed:
            return Finding.of(False, f"{shown(self.line)}: {_why_not(verdict)}")
        if not verdict.evidence.strip():
            return Finding.of(False, f"{shown(self.line)}: the judge passes it without evidence")
        quoted = shown(verdict.evidence)
        if _one_spaced(verdict.evidence) not in _one_spaced(answer):
            said = f"the judge passes it by {quoted}, which is not in the answer"
            return Finding.of(False, f"{shown(self.line)}: {said}")
        return Finding.of(True, f"{shown(self.line)}: {quoted}")


def _why_not(verdict: LineVerdict) -> str:
    if verdict.reason.strip():
        return f"the judge says no: {clipped(verdict.reason.strip())}"
    quoted = verdict.evidence.strip()
    return f"the judge says no, and quotes {shown(quoted)}" if quoted else "the judge says no"


def _one_spaced(text: str) -> str:
    return " ".join(text.split())


class MalformedVerdict(ValueError):  # noqa: N818 - it is one
    """A judge's reply is no verdict on the rubric; the text says why, in words for the judge."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    line: int
    passed: bool
    evidence: str | None = None
    reason: str | None = None


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    verdicts: list[_Entry]


_FENCED = re.compile(r"\A```(?:json)?[ \t\r]*\n(.*)\n[ \t]*```\Z", re.DOTALL)


def read_verdicts(reply: str, lines: int) -> tuple[LineVerdict, ...]:
    """The verdicts of a judge's reply, in the order of the rubric, which has so many `lines`.

    The reply is the JSON alone, or in one code fence, which many models cannot leave out. Raises
    `MalformedVerdict` for anything else, and where there is not exactly one verdict for each line.
    """
    entries = _read(reply).verdicts
    _refuse_other_lines([entry.line for entry in entries], lines)
    ordered = sorted(entries, key=lambda entry: entry.line)
    return tuple(LineVerdict(e.passed, e.evidence or "", e.reason or "") for e in ordered)


def _read(reply: str) -> _Reply:
    text = reply.strip()
    fenced = _FENCED.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, MalformedVerdict) else "it is not JSON"
        raise MalformedVerdict(why) from None
    try:
        return _Reply.model_validate(value)
    except ValidationError as error:
        detail = error.errors(include_url=False, include_input=False)[0]
        where = clipped(".".join(map(str, detail["loc"]))) or "the whole"
        raise MalformedVerdict(f"{where}: {detail['msg']}") from None


def _without_doubles(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    # Of two verdicts under one key, a reader who takes the last would never see the first.
    value = dict(pairs)
    if len(value) < len(pairs):
        raise MalformedVerdict("an object names a key twice")
    return value


def _refuse_other_lines(named: Sequence[int], lines: int) -> None:
    if sorted(named) != list(range(lines)):
        listed = clipped(", ".join(map(str, named))) or "none"
        raise MalformedVerdict(
            f"there must be one verdict for each line from 0 to {lines - 1}, and there are "
            f"verdicts for {listed}"
        )
