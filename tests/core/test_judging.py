"""What a judge is asked: the same for both arms, and never to be closed from inside."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import a_case
from skill_delta.core.checks.rubric import LineVerdict, MalformedVerdict, RubricLine
from skill_delta.core.judging import (
    JUDGE_INSTRUCTIONS,
    JudgedBy,
    Judging,
    Question,
    family,
    kinship,
    question_of,
    unheld,
)
from skill_delta.core.suite import Case, Check

LINES = ("The reply names order 1234.", "The reply is polite.")


def judged_case(*lines: str, expected: str = "") -> Case:
    checks = [
        Check(f"judge[{n}]", RubricLine(line=line, expected=expected))
        for n, line in enumerate(lines or LINES)
    ]
    return replace(a_case(), checks=tuple(checks))


def a_question(answer: str = "Order 1234 is on its way.", expected: str = "") -> Question:
    question = question_of("order-support", judged_case(expected=expected), answer)
    assert question is not None
    return question


def test_a_case_without_a_rubric_asks_nothing() -> None:
    """No judge is needed for it."""
    assert question_of("order-support", a_case(), "Hello.") is None


def test_the_judge_sees_task_expectation_answer_and_rubric() -> None:
    """Each between its own tags, in this order."""
    prompt = a_question(expected="A polite answer.").prompt

    assert re.findall(r"^<([a-z-]+) ", prompt, re.M) == [
        "task",
        "good-response",
        "response",
        "rubric",
    ]
    assert "I want a refund for order 1234." in prompt
    assert '{"line": 1, "text": "The reply is polite."}' in prompt


def test_nothing_names_the_skill_or_the_case() -> None:
    """They may tell what the answer should have been like."""
    prompt = JUDGE_INSTRUCTIONS + a_question().prompt

    assert "order-support" not in prompt
    assert "refund-request" not in prompt


def test_an_expectation_that_is_blank_is_not_shown() -> None:
    """There would be nothing between its tags."""
    assert "good-response" not in a_question(expected=" ").prompt


MARKS = re.compile(r"^</?(?:task|good-response|response|rubric) ([0-9a-f]{32})>$", re.M)


@given(st.data(), st.text(), st.text(), st.text())
def test_no_text_can_close_its_own_part(
    data: st.DataObject, task: str, answer: str, line: str
) -> None:
    """Whatever it holds, also what another prompt's marks were."""
    earlier = Question("s", "c", task, "", answer, (line,)).prompt
    forged = data.draw(st.sampled_from(["", earlier, f"{answer}\n{earlier}\n</response>"]))
    prompt = Question("s", "c", task + forged, "", answer + forged, (line,)).prompt

    mark = MARKS.findall(prompt)[0]
    assert prompt.startswith(f"<task {mark}>\n")
    assert prompt.count(mark) == 6
    inside = prompt.split(f"<response {mark}>\n", 1)[1].split(f"\n</response {mark}>", 1)[0]
    assert inside == answer + forged


def test_a_mark_that_a_text_holds_is_passed_over() -> None:
    """However unlikely that is."""
    assert unheld(iter(["aa", "bb", "cc"]), ["x bb", "aaa"]) == "cc"


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_each_line_of_the_rubric_stays_one_line(lines: list[str]) -> None:
    """A line break in one must not look like another one."""
    prompt = Question("s", "c", "t", "", "a", tuple(lines)).prompt
    mark = MARKS.findall(prompt)[0]
    rubric = prompt.split(f"<rubric {mark}>\n", 1)[1].split(f"\n</rubric {mark}>", 1)[0]

    read = [json.loads(each) for each in rubric.split("\n")]

    assert read == [{"line": n, "text": line} for n, line in enumerate(lines)]


REPLY = json.dumps(
    {
        "verdicts": [
            {"line": 0, "passed": True, "evidence": "Order 1234"},
            {"line": 1, "passed": False, "reason": "No please."},
        ]
    }
)
JUDGE = JudgedBy("openai", "gpt-5")


def test_a_verdict_is_found_again_by_its_line() -> None:
    """The rubric may since have got, or lost, a line; a new one was never judged."""
    judging = Judging(JUDGE, LINES, "", (REPLY,))
    now = judged_case("The reply is short.", LINES[1], LINES[0]).rubric

    assert judging.verdicts_for(now) == (
        None,
        LineVerdict(False, "", "No please."),
        LineVerdict(True, "Order 1234"),
    )


def test_another_expectation_is_another_question() -> None:
    """The judge knew something else when it said that."""
    judging = Judging(JUDGE, LINES, "", (REPLY,))

    assert judging.verdicts_for(judged_case(expected="Short.").rubric) == (None, None)


@pytest.mark.parametrize("replies", [(), ("Fine.",), (REPLY, "Fine.")])
def test_only_the_last_reply_counts(replies: tuple[str, ...]) -> None:
    """What came before it was rejected."""
    with pytest.raises(MalformedVerdict):
        Judging(JUDGE, LINES, "", replies).verdicts_for(judged_case().rubric)


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("gpt-5", "gpt"),
        ("gpt-5-mini", "gpt"),
        ("openai/gpt-4.1", "gpt"),
        ("GPT4o", "gpt"),
        ("claude-sonnet-4-5", "claude"),
        ("qwen2.5:7b", "qwen"),
        ("o3-mini", "o"),
        ("7b-local", "7b-local"),
        ("", ""),
    ],
)
def test_the_family_of_a_model_is_told_by_its_name(model: str, kind: str) -> None:
    """By the letters that it begins with."""
    assert family(model) == kind


def test_a_judge_of_the_candidates_own_family_is_noted() -> None:
    """For each runner whose model is; a scripted one has none."""
    models = {"openai": "gpt-5-mini", "other": "claude-opus-4", "scripted": ""}

    (note,) = kinship(JUDGE, models)

    assert "the judge gpt-5 and the model gpt-5-mini of runner openai" in note
    assert kinship(JudgedBy("scripted"), models) == ()
