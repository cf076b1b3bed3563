"""One line of a rubric: how a judge's reply is read, and its evidence held against the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from skill_delta.core.checks.rubric import (
    LineVerdict,
    MalformedVerdict,
    RubricLine,
    read_verdicts,
)
from skill_delta.core.transcript import Transcript

LINE = RubricLine(line="The reply names order 1234.")
ANSWER = "Dear Ada,\n\nyour order 1234 is on  its way.\n"

verdicts = st.builds(LineVerdict, st.booleans(), st.text(), st.text())


def spelled(found: Sequence[LineVerdict], numbers: Sequence[int] | None = None) -> str:
    """A reply with these verdicts, on the lines of these numbers."""
    given = range(len(found)) if numbers is None else numbers
    return json.dumps(
        {
            "verdicts": [
                {"line": n, "reason": v.reason, "evidence": v.evidence, "passed": v.passed}
                for n, v in zip(given, found, strict=True)
            ]
        }
    )


def test_a_pass_shows_the_line_and_its_evidence() -> None:
    """What a reader of the report needs to follow it."""
    finding = LINE.read(LineVerdict(True, "your order 1234"), ANSWER)

    assert finding.passed is True
    assert finding.evidence == '"The reply names order 1234.": "your order 1234"'


@pytest.mark.parametrize("quotation", ["1234 is on its way.", "Dear Ada, your\torder", " 1234 "])
def test_the_blanks_of_a_quotation_may_differ(quotation: str) -> None:
    """A model that copies a line break as a blank has copied the text."""
    assert LINE.read(LineVerdict(True, quotation), ANSWER).passed


@pytest.mark.parametrize(
    ("evidence", "why"),
    [
        ("", "the judge passes it without evidence"),
        (" \n", "the judge passes it without evidence"),
        ("your order 1235", 'by "your order 1235", which is not in the answer'),
        ("Your order 1234", "which is not in the answer"),
        ("your … way", "which is not in the answer"),
        ("order1234", "which is not in the answer"),
    ],
)
def test_a_pass_that_the_answer_does_not_bear_out_is_a_fail(evidence: str, why: str) -> None:
    """Without evidence, or with one that was made up."""
    finding = LINE.read(LineVerdict(True, evidence), ANSWER)

    assert finding.passed is False
    assert why in finding.evidence


@given(st.text(), st.text())
def test_no_verdict_passes_by_what_the_answer_does_not_have(evidence: str, answer: str) -> None:
    """Whatever is quoted out of whatever was said."""
    if LINE.read(LineVerdict(True, evidence), answer).passed:
        assert evidence.split()
        assert "".join(evidence.split()) in "".join(answer.split())


@pytest.mark.parametrize(
    ("verdict", "why"),
    [
        (LineVerdict(False, "", "It names no order."), "the judge says no: It names no order."),
        (LineVerdict(False, "on its way"), 'the judge says no, and quotes "on its way"'),
        (LineVerdict(False), "the judge says no"),
    ],
)
def test_a_fail_says_why(verdict: LineVerdict, why: str) -> None:
    """By the judge's own reason, else by what it quotes."""
    finding = LINE.read(verdict, ANSWER)

    assert finding.passed is False
    assert finding.evidence == f'"The reply names order 1234.": {why}'


@given(verdicts)
def test_evidence_is_one_line_of_bounded_length(verdict: LineVerdict) -> None:
    """Whatever the judge sends."""
    evidence = LINE.read(LineVerdict(verdict.passed, verdict.evidence * 50), ANSWER).evidence

    assert evidence.isprintable()
    assert len(evidence) < 2_000


def test_without_a_judge_nothing_is_known() -> None:
    """It neither passes nor fails."""
    assert LINE.grade(Transcript(ANSWER)).passed is None


@given(st.lists(verdicts, max_size=4), st.randoms(use_true_random=False), st.booleans())
def test_every_complete_reply_is_read_in_the_order_of_the_rubric(
    said: list[LineVerdict], rng: object, fenced: bool
) -> None:
    """In whatever order it lists the lines, and in a code fence or not."""
    numbers = list(range(len(said)))
    rng.shuffle(numbers)  # type: ignore[attr-defined]
    reply = spelled([said[n] for n in numbers], numbers)
    if fenced:
        reply = f"```json\n{reply}\n```\n"

    assert read_verdicts(reply, len(said)) == tuple(said)


@given(st.lists(st.integers(-1, 5), max_size=5), st.integers(1, 4))
def test_a_reply_that_does_not_fit_the_rubric_is_none(numbers: list[int], lines: int) -> None:
    """A line too few, one too many, one twice, one that there is not."""
    reply = spelled([LineVerdict(True)] * len(numbers), numbers)
    if sorted(numbers) == list(range(lines)):
        assert len(read_verdicts(reply, lines)) == lines
        return
    with pytest.raises(MalformedVerdict, match="one verdict for each line from 0 to"):
        read_verdicts(reply, lines)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Looks good to me!",
        "[]",
        "null",
        '{"verdicts": null}',
        '{"verdicts": [{"line": 0}]}',
        '{"verdicts": [{"line": 0, "passed": "true"}]}',
        '{"verdicts": [{"line": 0, "passed": 1}]}',
        '{"verdicts": [{"line": "0", "passed": true}]}',
        '{"verdicts": [{"line": false, "passed": true}]}',
        '{"verdicts": [{"line": 0.0, "passed": true}]}',
        '{"verdicts": [{"line": 0, "passed": true, "evidence": ["a"]}]}',
        '{"verdicts": [{"line": 0, "passed": true, "score": 1}]}',
        '{"verdicts": [{"line": 0, "passed": true}], "passed": true}',
        '{"verdicts": [{"line": 0, "passed": false, "passed": true}]}',
        '{"verdicts": [], "verdicts": [{"line": 0, "passed": true}]}',
        'Here: {"verdicts": [{"line": 0, "passed": true}]}',
        '```json\n{"verdicts": [{"line": 0, "passed": true}]}\n```\nDone.',
        '{"verdicts": ' + "[" * 100_000,
    ],
)
def test_what_is_no_verdict_is_refused(reply: str) -> None:
    """Half an answer is not read for what it may have meant."""
    with pytest.raises(MalformedVerdict):
        read_verdicts(reply, 1)


json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.text() | json_values.map(json.dumps))
def test_nothing_else_ever_comes_of_a_reply(reply: str) -> None:
    """Any text is verdicts, or is refused with one line that says why."""
    assert read_or_refused(reply).isprintable()


def read_or_refused(reply: str) -> str:
    try:
        return f"{len(read_verdicts(reply, 2))} verdicts"
    except MalformedVerdict as refused:
        return str(refused)
