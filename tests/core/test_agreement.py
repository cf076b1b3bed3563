"""How often a judge stayed with its verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from builders import a_transcript, a_trial
from skill_delta.core.agreement import Agreement, Rejudged, agreement_notes, agreement_of
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.suite import Check
from skill_delta.core.trials import Errored, Trial
from skill_delta.grading import graded

LINES = ("It names the order.", "It is polite.")
ANSWER = "Order 1234 is refunded."
GPT, CLAUDE = JudgedBy("openai", "gpt-5"), JudgedBy("openai", "claude-opus-4")

verdicts = st.lists(st.booleans(), min_size=2, max_size=2)


def judged_trial(*lines: str) -> Trial:
    trial = a_trial()
    checks = tuple(Check(f"judge[{n}]", RubricLine(line=line)) for n, line in enumerate(lines))
    return replace(trial, case=replace(trial.case, checks=checks))


def judging(passed: Sequence[bool], by: JudgedBy = GPT, evidence: str = "Order") -> Judging:
    entries = [{"line": n, "passed": each, "evidence": evidence} for n, each in enumerate(passed)]
    return Judging(by, LINES[: len(passed)], "", (json.dumps({"verdicts": entries}),))


def again(before: Judging | None, now: Judging, lines: Sequence[str] = LINES) -> Rejudged:
    trial = judged_trial(*lines)
    return Rejudged(trial, before, graded(trial, a_transcript(ANSWER), now))


@given(st.lists(verdicts, max_size=5))
def test_a_judge_that_says_the_same_has_no_noise(said: list[list[bool]]) -> None:
    """Whatever it says."""
    found = agreement_of([again(judging(each), judging(each)) for each in said], GPT)

    assert found.flipped == 0
    assert found.judged == 2 * len(said)
    assert found.flip_rate == (0 if said else None)


@given(st.lists(st.tuples(verdicts, verdicts), min_size=1, max_size=5))
def test_who_judged_first_makes_no_difference(pairs: list[tuple[list[bool], list[bool]]]) -> None:
    """And every verdict that differs is counted once, on its own line."""
    there = agreement_of([again(judging(a), judging(b)) for a, b in pairs], GPT)
    back = agreement_of([again(judging(b), judging(a)) for a, b in pairs], GPT)

    assert there == back
    assert [line.judged - line.same for line in there.lines] == [
        sum(a[n] != b[n] for a, b in pairs) for n in range(2)
    ]


def test_a_quotation_that_was_made_up_counts_as_the_fail_that_it_is() -> None:
    """Verdicts are compared as they count, not as they were put."""
    made_up, honest = judging([True, True], evidence="Never said"), judging([False, False])

    assert agreement_of([again(made_up, honest)], GPT).flipped == 0


def test_what_was_not_judged_both_times_is_no_flip() -> None:
    """A judge that gave out says nothing of its noise."""
    now = judging([True, True])
    gone = replace(now, error="HTTP 503")
    lost = Rejudged(judged_trial(*LINES), now, Errored(judged_trial(*LINES), "gone"))
    garbled = replace(now, replies=("Fine.",))

    answers = [again(None, now), again(gone, now), lost, again(garbled, now)]
    found = agreement_of(answers, GPT)

    assert (found.judged, found.incomparable, found.flip_rate) == (0, 4, None)


def test_only_lines_that_both_were_asked_are_compared() -> None:
    """Under another check's id, if need be."""
    answer = again(judging([False, True]), judging([True]), (LINES[1],))
    moved = replace(answer, now=graded(answer.trial, a_transcript(ANSWER), only(LINES[1])))

    (line,) = agreement_of([moved], GPT).lines

    assert (line.check, line.line, line.same, line.judged) == ("judge[0]", LINES[1], 1, 1)


def only(line: str) -> Judging:
    return replace(judging([True]), lines=(line,))


def notes(found: Agreement) -> list[str]:
    return list(agreement_notes(found))


def test_the_notes_speak_of_noise_where_one_judge_was_asked_twice() -> None:
    """And of disagreement where there were two."""
    pair = again(judging([True, True]), judging([True, False]))

    assert notes(agreement_of([pair], GPT)) == [
        "judged again by gpt-5 (as before): 1 of 2 verdicts changed (judge noise 50%)",
        (
            'order-support :: refund-request: judge[1] "It is polite.": '
            "0 of 1 verdict the same when judged again"
        ),
    ]
    assert notes(agreement_of([pair], CLAUDE))[0] == (
        "judged again by claude-opus-4 (in the record by gpt-5): 1 of 2 verdicts changed "
        "(disagreement 50%)"
    )


def test_the_notes_say_what_could_not_be_compared() -> None:
    """Rather than to say that all is well."""
    assert notes(agreement_of([again(None, judging([True, True]))], GPT)) == [
        "judged again by gpt-5 (in the record by nobody): no verdict could be compared",
        "1 answer could not be compared: not judged both times, or not by these lines",
    ]
