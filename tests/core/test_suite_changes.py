"""What happened to each case between the two ends of a pull request, and what it gave up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from builders import a_case as a_builders_case
from builders import a_transcript
from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.limits import MaxCostUsd, MaxLatencyMs, MaxTokens
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.checks.structure import JsonSchema, Numeric
from skill_delta.core.checks.text import (
    AllOf,
    AnyOf,
    Contains,
    ContainsIgnoringCase,
    Equals,
    NotContains,
    NotRegex,
    Regex,
)
from skill_delta.core.checks.tools import (
    CallArgs,
    Called,
    Forbidden,
    MaxCalls,
    Order,
    SkillTriggered,
)
from skill_delta.core.selection import Selection
from skill_delta.core.suite import Case, Check, FixedReturn, MockTool, Mode, Suite
from skill_delta.core.suite_changes import (
    MAX_COMPARED,
    CaseChange,
    CaseChangeKind,
    CasePart,
    suite_changes,
    untouched,
)
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.workspace import WorkspaceSeed
from skill_delta.errors import Place

UNCHANGED, EDITED = CaseChangeKind.UNCHANGED, CaseChangeKind.EDITED
ADDED, REMOVED = CaseChangeKind.ADDED, CaseChangeKind.REMOVED


def contains(value: str) -> Contains:
    return Contains(kind="contains", value=value)


def icontains(value: str) -> ContainsIgnoringCase:
    return ContainsIgnoringCase(kind="icontains", value=value)


def not_contains(value: str) -> NotContains:
    return NotContains(kind="not_contains", value=value)


def equals(value: str) -> Equals:
    return Equals(kind="equals", value=value)


def any_of(*values: str) -> AnyOf:
    return AnyOf(kind="any_of", values=values)


def all_of(*values: str) -> AllOf:
    return AllOf(kind="all_of", values=values)


def regex(value: str) -> Regex:
    return Regex(kind="regex", value=value)


def in_file(file: str, value: str = "a") -> Contains:
    return Contains(kind="contains", value=value, file=file)


def produced(file: str) -> FileProduced:
    return FileProduced(kind="file-produced", file=file)


def numeric(value: float, tolerance: float = 0) -> Numeric:
    return Numeric(kind="numeric", value=value, tolerance=tolerance)


def json_schema(**schema: JsonValue) -> JsonSchema:
    return JsonSchema(kind="json-schema", json_schema=schema)


def call_args(every: bool = False, **arguments: JsonValue) -> CallArgs:
    return CallArgs(tool="x", contains=arguments, every=every)


def exact_args(every: bool = False, **arguments: JsonValue) -> CallArgs:
    return CallArgs(tool="x", equals=arguments, every=every)


def line(text: str, expected: str = "") -> RubricLine:
    return RubricLine(line=text, expected=expected)


def order(*tools: str) -> Order:
    return Order(tools=tools)


def a_case(name: str, *specs: CheckSpec, task: str = "I want a refund.") -> Case:
    """A case whose checks have the ids that the native format gives them."""
    checks = tuple(Check(_id(spec, position), spec) for position, spec in enumerate(specs))
    return replace(a_builders_case(name), task=task, checks=checks)


def _id(spec: CheckSpec, position: int) -> str:
    match spec:
        case Called() | Forbidden():
            return f"{type(spec).__name__.lower()}:{spec.tool}"
        case CallArgs():
            return f"call_args[{position}]"
        case RubricLine():
            return f"judge[{position}]"
        case MaxTokens() | MaxCostUsd() | MaxLatencyMs() | MaxCalls() | Order() | SkillTriggered():
            return _TRAJECTORY_AND_BUDGET[type(spec)]
        case _:
            return f"{spec.model_dump()['kind']}[{position}]"


_TRAJECTORY_AND_BUDGET = {
    MaxTokens: "max_tokens",
    MaxCostUsd: "max_cost_usd",
    MaxLatencyMs: "max_latency_ms",
    MaxCalls: "max_calls",
    Order: "order",
    SkillTriggered: "skill_triggered",
}


def told(base: Sequence[Case], head: Sequence[Case]) -> list[str]:
    """Each change in one line."""
    return [_told(change) for change in suite_changes(Suite(tuple(base)), Suite(tuple(head)))]


def _told(change: CaseChange) -> str:
    came = f", was {change.renamed_from}" if change.renamed_from else ""
    went = f", now {change.renamed_to}" if change.renamed_to else ""
    return f"{change.name} {change.kind}{came}{went}"


def loosened(base: Sequence[CheckSpec], head: Sequence[CheckSpec]) -> tuple[str, ...]:
    """What one case is told to have lost when its checks went from `base` to `head`."""
    before, after = a_case("refund", *base), a_case("refund", *head, task="I want it all back.")
    (change,) = suite_changes(Suite((before,)), Suite((after,)))
    return change.loosened


# ---------------------------------------------------------------- what happened to each case


def test_each_case_is_told_once_in_the_order_of_the_head() -> None:
    """The removed ones follow, in the order of the base."""
    base = [a_case("gone"), a_case("kept"), a_case("edited"), a_case("lost", contains("x"))]
    head = [a_case("new", task="What is new?"), a_case("edited", contains("y")), a_case("kept")]

    assert told(base, head) == [
        "new added",
        "edited edited",
        "kept unchanged",
        "gone removed",
        "lost removed",
    ]


def test_a_skill_without_eval_files_at_one_end_has_only_new_or_only_removed_cases() -> None:
    """None is an end that has no suite at all."""
    suite = Suite((a_case("refund"),))

    assert [change.kind for change in suite_changes(None, suite)] == [ADDED]
    assert [change.kind for change in suite_changes(suite, None)] == [REMOVED]
    assert suite_changes(None, None) == ()


def test_a_change_is_placed_where_the_head_has_the_case() -> None:
    """A removed one has only the place it had in the base."""
    was, now = Place("evals/old.yaml", 3), Place("evals/new.yaml", 7)
    gone = replace(a_case("gone", task="Anything else?"), place=was)
    base = Suite((replace(a_case("moved"), place=was), gone))
    head = Suite((replace(a_case("moved"), place=now),))

    moved, removed = suite_changes(base, head)

    assert (moved.kind, moved.place) == (UNCHANGED, now)
    assert (removed.kind, removed.place) == (REMOVED, was)


def test_any_edit_but_a_lost_demand_is_an_edit_and_no_more() -> None:
    """Another task, mode or tag may make a case easier or harder: nobody can tell which."""
    case = replace(a_case("refund", contains("sorry")), tags=frozenset({"smoke"}))
    edits = (
        replace(case, task="Hello."),
        replace(case, mode=Mode.OFFERED),
        replace(case, tags=frozenset()),
        replace(case, workspace=WorkspaceSeed({})),
        replace(case, workspace=WorkspaceSeed({}), sessions=("Hello.", "Go on.")),
        replace(case, tools=(MockTool("x", "", {}, FixedReturn(""), delay_ms=1),)),
    )

    changes = [suite_changes(Suite((case,)), Suite((edit,)))[0] for edit in edits]

    assert {change.kind for change in changes} == {EDITED}
    assert not any(change.loosened or change.weakens_the_suite for change in changes)


def test_only_cases_that_are_the_same_at_both_ends_are_untouched() -> None:
    """An edited or a renamed case was touched, whatever it still asks for."""
    base = [a_case("kept"), a_case("edited"), a_case("gone"), a_case("old", task="Hi.")]
    head = [a_case("new", task="Hi."), a_case("edited", contains("x")), a_case("kept")]

    changes = suite_changes(Suite(tuple(base)), Suite(tuple(head)))

    assert untouched(changes) == {"kept"}


# ---------------------------------------------------------------- renames


def test_a_case_that_only_changed_its_name_is_no_loss() -> None:
    """The removed and the added name point at each other."""
    base = [a_case("refnd", contains("sorry")), a_case("hello", task="Hello.")]
    head = [a_case("refund", contains("sorry")), a_case("hello", task="Hello.")]

    assert told(base, head) == [
        "refund added, was refnd",
        "hello unchanged",
        "refnd removed, now refund",
    ]
    changes = suite_changes(Suite(tuple(base)), Suite(tuple(head)))
    assert not any(change.weakens_the_suite for change in changes)


def test_a_rename_cannot_hide_a_loosening() -> None:
    """A case that is renamed and edited is gone, and said to be."""
    base = Suite((a_case("refnd", contains("sorry"), contains("1234")),))
    head = Suite((a_case("refund", contains("sorry")),))

    added, removed = suite_changes(base, head)

    assert (added.renamed_from, removed.renamed_to) == (None, None)
    assert [added.weakens_the_suite, removed.weakens_the_suite] == [False, True]


def test_two_copies_of_a_case_cannot_become_one_unseen() -> None:
    """Each case stands for one other."""
    base = [a_case("first"), a_case("second")]

    assert told(base, [a_case("only")]) == [
        "only added, was first",
        "first removed, now only",
        "second removed",
    ]


def test_a_copy_beside_the_case_itself_is_no_rename() -> None:
    """A case that kept its name went nowhere."""
    base = [a_case("refund"), a_case("again")]

    assert told(base, [a_case("refund")]) == ["refund unchanged", "again removed"]


def test_cases_that_exchange_names_lose_nothing() -> None:
    """So a case put in front of numbered ones does not read as if each had lost its checks."""
    first, second, third = contains("a"), contains("b"), contains("c")
    base = [a_case("1", first), a_case("2", second)]
    head = [a_case("1", third), a_case("2", first), a_case("3", second)]

    assert told(base, head) == [
        "1 edited, now 2",
        "2 edited, was 1, now 3",
        "3 added, was 2",
    ]
    changes = suite_changes(Suite(tuple(base)), Suite(tuple(head)))
    assert not any(change.weakens_the_suite for change in changes)


# ---------------------------------------------------------------- what reads otherwise

REFUND = MockTool("refund", "Gives it back.", {"type": "object"}, FixedReturn("done"))
CASE = replace(
    a_case("refund", contains("sorry")),
    tools=(REFUND,),
    workspace=WorkspaceSeed({"orders.csv": "1234"}),
)


@pytest.mark.parametrize(
    ("edited", "parts"),
    [
        (replace(CASE, task="Hello."), ["task"]),
        (replace(CASE, mode=Mode.OFFERED), ["mode"]),
        (replace(CASE, tools=()), ["tools"]),
        (replace(CASE, tools=(replace(REFUND, returns=FixedReturn("no")),)), ["tools"]),
        (
            replace(CASE, task="Hello.", mode=Mode.OFFERED, tools=()),
            ["task", "mode", "tools"],
        ),
        (replace(CASE, tools=(replace(REFUND, delay_ms=1),)), ["tools"]),
        (replace(CASE, workspace=None), ["workspace"]),
        (replace(CASE, workspace=WorkspaceSeed({"orders.csv": "1235"})), ["workspace"]),
        (replace(CASE, task="Hello.\nBye.", sessions=("Hello.", "Bye.")), ["sessions"]),
        (
            replace(CASE, task="Hello.\nBye.", sessions=("Hello.", "Bye."), workspace=None),
            ["sessions", "workspace"],
        ),
        (replace(CASE, tags=frozenset({"smoke"})), []),
        (replace(CASE, checks=()), []),
        (CASE, []),
    ],
)
def test_what_an_edited_case_asks_with_is_told_by_its_parts(edited: Case, parts: list[str]) -> None:
    """Nobody can tell whether it became easier by it, so nothing is said to be loosened."""
    (change,) = suite_changes(Suite((CASE,)), Suite((edited,)))

    assert list(change.altered) == [CasePart(part) for part in parts]


def test_a_case_that_stands_whole_under_another_name_reads_as_before() -> None:
    """What took its name is new."""
    base = [a_case("1"), a_case("2", task="Hello.")]
    head = [a_case("1", task="New."), a_case("2"), a_case("3", task="Hello.")]

    changes = suite_changes(Suite(tuple(base)), Suite(tuple(head)))

    assert not any(change.altered for change in changes)


# ---------------------------------------------------------------- what is no longer selected

SMOKE = Selection(tags=("smoke",))


def tagged(case: Case, *tags: str) -> Case:
    return replace(case, tags=frozenset(tags))


def deselected(
    base: Sequence[Case], head: Sequence[Case], selection: Selection = SMOKE
) -> dict[str, str]:
    """What left out each case that was taken before."""
    changes = suite_changes(Suite(tuple(base)), Suite(tuple(head)), selection)
    found = {change.name: change.deselected_by for change in changes if change.deselected_by}
    assert all(change.weakens_the_suite for change in changes if change.name in found)
    return found


def test_a_case_that_the_selection_takes_no_longer_is_told() -> None:
    """With the part of the selection that it does not meet."""
    base = [tagged(a_case("late refund"), "smoke")]

    assert deselected(base, [a_case("late refund")]) == {"late refund": "tag smoke"}
    assert deselected(base, [tagged(a_case("late refund", contains("!")), "slow")]) == {
        "late refund": "tag smoke"
    }
    assert deselected(base, base) == {}


def test_a_case_that_was_not_taken_before_is_not_missed() -> None:
    """It judged nothing."""
    assert deselected([a_case("refund")], [a_case("refund", contains("!"))]) == {}


def test_a_new_name_may_leave_the_selection() -> None:
    """The case is told by the name that it had."""
    base, head = [a_case("late refund")], [a_case("tardy")]
    by_name = Selection(names=("late",))

    assert deselected(base, head, by_name) == {"late refund": "case late"}
    assert deselected(base, [a_case("late one")], by_name) == {}


def test_an_easier_case_in_its_place_does_not_stand_for_it() -> None:
    """Names were exchanged: what judged before is not selected under its new one."""
    base = [a_case("late refund", contains("sorry"))]
    head = [a_case("late refund"), a_case("tardy", contains("sorry"))]

    assert deselected(base, head, Selection(names=("late",))) == {"late refund": "case late"}


def test_a_case_that_is_gone_was_not_deselected() -> None:
    """It is told once, as removed."""
    base = [tagged(a_case("refund"), "smoke"), tagged(a_case("hello", task="Hi."), "smoke")]

    assert deselected(base, base[:1]) == {}


# ---------------------------------------------------------------- what was loosened


@pytest.mark.parametrize(
    ("base", "head", "sentences"),
    [
        ([contains("!")], [], ['contains[0] "!" is gone']),
        ([contains("!")], [contains("?")], ['contains[0] changed from "!" to "?"']),
        ([contains("!!")], [contains("!")], ['contains[0] changed from "!!" to "!"']),
        ([contains("Yes")], [icontains("Yes")], ['contains[0] "Yes" is gone']),
        ([not_contains("a")], [not_contains("ab")], ['not_contains[0] changed from "a" to "ab"']),
        ([any_of("a")], [any_of("a", "b")], ['any_of[0] changed from ["a"] to ["a", "b"]']),
        ([all_of("a", "b")], [all_of("b")], ['all_of[0] changed from ["a", "b"] to ["b"]']),
        ([equals("a")], [contains("a")], ['equals[0] "a" is gone']),
        ([regex("a+")], [regex("a*")], ['regex[0] changed from "a+" to "a*"']),
        (
            [numeric(0.3)],
            [numeric(0.3, 0.1)],
            ['numeric[0] changed from 0.3 to {"tolerance": 0.1, "value": 0.3}'],
        ),
        (
            [json_schema(type="object")],
            [json_schema(type="array")],
            ['json-schema[0] changed from {"type": "object"} to {"type": "array"}'],
        ),
        ([Forbidden(tool="refund")], [], ["forbidden:refund is gone"]),
        ([Called(tool="lookup")], [Called(tool="refund")], ["called:lookup is gone"]),
        ([order("x", "y")], [order("y", "x")], ['order changed from ["x", "y"] to ["y", "x"]']),
        (
            [contains("a")],
            [in_file("r.md")],
            ['contains[0] changed from "a" to {"file": "r.md", "value": "a"}'],
        ),
        (
            [in_file("r.md")],
            [in_file("notes.md")],
            [
                (
                    'contains[0] changed from {"file": "r.md", "value": "a"} '
                    'to {"file": "notes.md", "value": "a"}'
                )
            ],
        ),
        ([in_file("r.md")], [], ['contains[0] {"file": "r.md", "value": "a"} is gone']),
        (
            [in_file("r.md")],
            [produced("r.md")],
            ['contains[0] {"file": "r.md", "value": "a"} is gone'],
        ),
        (
            [produced("r.md")],
            [produced("a.md")],
            ['file-produced[0] changed from "r.md" to "a.md"'],
        ),
        (
            [call_args(a=1, b=2)],
            [call_args(a=1)],
            [
                (
                    'call_args[0] changed from {"contains": {"a": 1, "b": 2}, "tool": "x"} '
                    'to {"contains": {"a": 1}, "tool": "x"}'
                )
            ],
        ),
        (
            [SkillTriggered(expected=True)],
            [SkillTriggered(expected=False)],
            ["skill_triggered changed from true to false"],
        ),
        (
            [line("It is polite."), line("It is short.")],
            [line("It is short.")],
            ['judge[0] "It is polite." is gone'],
        ),
        (
            [line("It is polite.")],
            [line("It is text.")],
            ['judge[0] changed from "It is polite." to "It is text."'],
        ),
        (
            [line("It is polite.")],
            [line("It is polite.", expected="Anything.")],
            [
                (
                    'judge[0] changed from "It is polite." '
                    'to {"expected": "Anything.", "line": "It is polite."}'
                )
            ],
        ),
        ([MaxCalls(limit=1)], [MaxCalls(limit=2)], ["max_calls raised from 1 to 2"]),
        ([MaxTokens(limit=900)], [MaxTokens(limit=901)], ["max_tokens raised from 900 to 901"]),
        ([MaxTokens(limit=900)], [], ["max_tokens 900 is gone"]),
        (
            [MaxCostUsd(limit=0.01)],
            [MaxCostUsd(limit=1)],
            ["max_cost_usd raised from 0.01 to 1.0"],
        ),
        (
            [MaxLatencyMs(limit=500)],
            [MaxLatencyMs(limit=5e3)],
            ["max_latency_ms raised from 500.0 to 5000.0"],
        ),
    ],
)
def test_a_demand_that_an_edited_case_no_longer_makes_is_told(
    base: list[CheckSpec], head: list[CheckSpec], sentences: list[str]
) -> None:
    """By its id and value: gone, put in other words that may ask for less, or a budget raised."""
    assert loosened(base, head) == tuple(sentences)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ([contains("a")], [contains("ab")]),
        ([contains("a"), contains("b")], [all_of("b", "a")]),
        ([contains("a")], [equals("bab")]),
        ([contains("a")], [any_of("ab", "ba")]),
        ([icontains("STRASSE")], [contains("Straße")]),
        ([not_contains("ab")], [not_contains("a")]),
        ([any_of("a", "b", "c")], [any_of("c", "ab")]),
        ([any_of("a", "b")], [contains("b")]),
        ([all_of("a")], [all_of("a", "b")]),
        ([in_file("r.md")], [in_file("./r.md", "ab")]),
        ([produced("r.md")], [in_file("r.md")]),
        (
            [produced("r.md")],
            [NotContains(kind="not_contains", value="a", file="r.md")],
        ),
        ([numeric(0.3, 0.1)], [numeric(0.4)]),
        ([numeric(10, 2)], [numeric(11.0, 1)]),
        ([order("x", "z")], [order("x", "y", "z")]),
        ([Called(tool="x"), Called(tool="y")], [order("y", "x")]),
        ([Called(tool="x")], [call_args(a=1)]),
        ([call_args(a=1)], [call_args(a=1.0, b=2)]),
        ([call_args(a={"b": 1})], [exact_args(a={"b": 1, "c": [2]})]),
        ([call_args(a=1)], [call_args(every=True, a=1)]),
        ([MaxCalls(limit=2)], [MaxCalls(limit=0)]),
        ([MaxTokens(limit=900)], [MaxTokens(limit=899)]),
        ([MaxCostUsd(limit=1)], [MaxCostUsd(limit=0.5)]),
        ([MaxLatencyMs(limit=500)], [MaxLatencyMs(limit=1)]),
        ([Forbidden(tool="x")], [Forbidden(tool="y"), Forbidden(tool="x")]),
    ],
)
def test_a_demand_that_became_stricter_is_not_told(
    base: list[CheckSpec], head: list[CheckSpec]
) -> None:
    """Whatever passes the new checks would have passed the old ones."""
    assert loosened(base, head) == ()
    assert loosened(head, base) != ()


def test_a_demand_that_moved_to_another_id_is_not_lost() -> None:
    """Ids count positions, so one check above moves all those below."""
    base = [contains("a"), contains("b"), contains("c")]

    assert loosened(base, [contains("new"), *base]) == ()
    assert loosened(base, base[1:]) == ('contains[0] "a" is gone',)


def test_one_check_does_not_stand_for_two_that_were_alike() -> None:
    """A case that asked twice counted twice in its score."""
    assert loosened([contains("a")] * 2, [contains("a")]) == ('contains[1] "a" is gone',)


def test_a_check_that_was_there_before_makes_up_for_none_that_went() -> None:
    """`ab` says all that `a` does, and still the case has a check less."""
    assert loosened([contains("a"), contains("ab")], [contains("ab")]) != ()


def test_a_stricter_check_behind_very_many_new_ones_is_not_looked_for() -> None:
    """A flood of checks costs no time, and what cannot be shown to be kept is told as lost."""
    flood = [contains("x")] * (MAX_COMPARED - 1)

    assert loosened([contains("a")], [*flood, contains("ab")]) == ()
    assert loosened([contains("a")], [*flood, contains("x"), contains("ab")]) != ()


def test_a_check_of_the_same_id_is_looked_at_behind_any_number_of_others() -> None:
    """So a lowered budget, which follows the assertions, is never told as a raised one."""
    many = [contains("a")] * (MAX_COMPARED + 1)
    others = [regex("b")] * (MAX_COMPARED + 1)

    told_lost = loosened([*many, MaxCalls(limit=2)], [*others, MaxCalls(limit=1)])

    assert len(told_lost) == len(many)
    assert not any("max_calls" in sentence for sentence in told_lost)


def test_no_more_than_so_many_lost_checks_are_looked_for() -> None:
    """Those after them are told as lost, whatever the new ones of other ids ask for."""
    many = [contains(f"{number}") for number in range(1_000, 1_001 + MAX_COMPARED)]

    assert len(loosened(many[:-1], [all_of(*(each.value for each in many))])) == 0
    assert loosened(many, [all_of(*(each.value for each in many))]) == (
        f'contains[{MAX_COMPARED}] "{1_000 + MAX_COMPARED}" is gone',
    )


def test_a_boolean_is_not_a_number() -> None:
    """Python would call `true` and `1` equal, and no call can mean both."""
    assert loosened([call_args(a=True)], [call_args(a=1)]) != ()


def test_what_is_quoted_is_one_short_line() -> None:
    """The texts are the pull request's own."""
    (sentence,) = loosened(
        [contains("<!--\n\N{RIGHT-TO-LEFT OVERRIDE}" + "x" * 9_000)],
        [contains("\N{ZERO WIDTH SPACE}")],
    )

    assert sentence.isprintable()
    assert len(sentence) < 400


# ---------------------------------------------------------------- properties

SPECS: Sequence[CheckSpec] = (
    *map(contains, ("", "a", "A", "ab", " ", "1")),
    *map(icontains, ("", "a", "A", "aB")),
    *map(not_contains, ("a", "ab", "b", " ")),
    *map(equals, ("a", "ab", "aba", " a")),
    *(any_of(*texts) for texts in (("a",), ("a", "b"), ("ab", "A"), ("ab", "ba"))),
    *(all_of(*texts) for texts in (("a",), ("a", "b"), ("ab", "A"), ("ab", "ba"))),
    *map(regex, ("a", "a|b")),
    NotRegex(kind="not_regex", value="a"),
    *(numeric(*number) for number in ((1,), (1.0, 1), (2,), (2, 0.5), (1.5, 0.5))),
    json_schema(type="integer"),
    json_schema(minimum=1),
    *(Called(tool=tool) for tool in "xy"),
    *(Forbidden(tool=tool) for tool in "xy"),
    *(order(*tools) for tools in ("x", "xy", "yx", "xyx", "xx")),
    *(MaxCalls(limit=limit) for limit in (0, 1, 2)),
    *(MaxTokens(limit=limit) for limit in (99, 100)),
    *(MaxCostUsd(limit=limit) for limit in (0.5, 1)),
    *(MaxLatencyMs(limit=limit) for limit in (5, 10)),
    *(make(a=1) for make in (call_args, exact_args)),
    *(make(a=1, b={"c": [2]}) for make in (call_args, exact_args)),
    *(make(every=True, a=1.0) for make in (call_args, exact_args)),
    call_args(b={}),
    call_args(a=True),
    SkillTriggered(expected=True),
    SkillTriggered(expected=False),
)

_ARGUMENTS: Sequence[dict[str, JsonValue]] = ({}, {"a": 1}, {"a": 1, "b": {"c": [2]}}, {"a": True})
_CALLS: Sequence[tuple[ToolCall, ...]] = (
    (),
    *((ToolCall("x", arguments, ""),) for arguments in _ARGUMENTS),
    *(tuple(ToolCall("x", each, "") for each in two) for two in product(_ARGUMENTS, repeat=2)),
    *(tuple(ToolCall(tool, {}, "") for tool in tools) for tools in ("y", "xy", "yx", "yxyx")),
)
TRANSCRIPTS: Sequence[Transcript] = (
    *(a_transcript(answer) for answer in ("", "a", " a\n", "A", "ab", "AB", "aba", "ba A", "b")),
    *(a_transcript(answer) for answer in ("0", "1", "1.5", "2", "2.5", "-1", "a 1", '"a"')),
    *(replace(a_transcript("a"), tool_calls=calls) for calls in _CALLS),
    *(replace(a_transcript("a"), usage=Usage(tokens, 0)) for tokens in (99, 100, 101)),
    *(replace(a_transcript("a"), cost_usd=cost) for cost in (None, 0.5, 1.0, 2.0)),
    *(replace(a_transcript("a"), latency_ms=took) for took in (5.0, 10.0, 11.0)),
    *(replace(a_transcript("a"), skill_triggered=triggered) for triggered in (True, False)),
)
"""Enough to tell apart those `SPECS` that ask for different things."""


def passing(spec: CheckSpec) -> set[int]:
    """Which of the `TRANSCRIPTS` the check lets pass."""
    seen = [
        replace(each, skill_triggered=False) if each.skill_triggered is None else each
        for each in TRANSCRIPTS
    ]
    return {at for at, transcript in enumerate(seen) if spec.grade(transcript).passed}


def passing_all(case: Case) -> set[int]:
    everything = set(range(len(TRANSCRIPTS)))
    return everything.intersection(*(passing(check.spec) for check in case.checks))


def test_whatever_passes_a_case_that_was_not_loosened_passed_it_before() -> None:
    """For each two checks, and every transcript that could tell them apart."""
    passed = [passing(spec) for spec in SPECS]

    wrong = [
        (SPECS[old], SPECS[new])
        for old, new in product(range(len(SPECS)), repeat=2)
        if not passed[new] <= passed[old] and not loosened([SPECS[old]], [SPECS[new]])
    ]

    assert wrong == []


specs = st.lists(st.sampled_from(SPECS), max_size=4)


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    """A few cases of few names, tasks and checks, so that two suites have much in common."""
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5))
    tasks = st.sampled_from(("Refund me.", "Hello."))
    few = st.lists(
        st.sampled_from((contains("a"), contains("ab"), Forbidden(tool="x"))), max_size=2
    )
    return Suite(tuple(a_case(name, *draw(few), task=draw(tasks)) for name in names))


@given(suites())
def test_a_suite_is_unchanged_against_itself(suite: Suite) -> None:
    """Nothing is told where nothing happened."""
    changes = suite_changes(suite, suite)

    assert [change.kind for change in changes] == [UNCHANGED] * len(suite.cases)
    assert not any(c.loosened or c.renamed_from or c.renamed_to for c in changes)


@given(suites(), suites())
def test_every_case_of_both_ends_is_in_exactly_one_change(base: Suite, head: Suite) -> None:
    """No case comes or goes without a word."""
    before, after = ([case.name for case in suite.cases] for suite in (base, head))

    names = [change.name for change in suite_changes(base, head)]

    assert names == [*after, *(name for name in before if name not in after)]


@given(suites(), suites())
def test_swapping_the_ends_mirrors_the_changes(base: Suite, head: Suite) -> None:
    """What was added is removed, and a name that was left is one that is come back to."""
    mirrored = {UNCHANGED: UNCHANGED, EDITED: EDITED, ADDED: REMOVED, REMOVED: ADDED}

    there = {(c.name, c.kind, c.renamed_from, c.renamed_to) for c in suite_changes(base, head)}
    back = {
        (c.name, mirrored[c.kind], c.renamed_to, c.renamed_from) for c in suite_changes(head, base)
    }

    assert there == back


@given(suites(), suites())
def test_each_case_of_the_base_is_asked_as_much_or_told(base: Suite, head: Suite) -> None:
    """Where no change weakens it, the head has a case that nothing passes which failed it."""
    after = {case.name: case for case in head.cases}
    changes = {change.name: change for change in suite_changes(base, head)}

    for case in base.cases:
        change = changes[case.name]
        if not change.weakens_the_suite:
            assert passing_all(after[change.renamed_to or case.name]) <= passing_all(case)


@given(suites(), suites(), st.lists(st.sampled_from("abcde"), max_size=2).map(tuple))
def test_each_case_that_judged_judges_on_or_is_told(
    base: Suite, head: Suite, names: tuple[str, ...]
) -> None:
    """Where no change weakens it, the selection takes what the head has of it."""
    selection = Selection(names=names)
    after = {case.name: case for case in head.cases}
    changes = {change.name: change for change in suite_changes(base, head, selection)}

    for case in filter(selection.admits, base.cases):
        change = changes[case.name]
        if not change.weakens_the_suite:
            assert selection.admits(after[change.renamed_to or case.name])


@given(suites(), suites())
def test_no_two_cases_were_renamed_to_one(base: Suite, head: Suite) -> None:
    """And each rename is told from both of its names."""
    changes = suite_changes(base, head)

    went = [(change.name, change.renamed_to) for change in changes if change.renamed_to]
    came = [(change.renamed_from, change.name) for change in changes if change.renamed_from]

    assert sorted(went) == sorted(came)
    assert len({now for _, now in went}) == len(went)


@given(specs, st.sampled_from(SPECS), st.randoms(use_true_random=False))
def test_adding_a_check_never_loosens(
    checks: list[CheckSpec], added: CheckSpec, rng: Random
) -> None:
    """Wherever it is put, and whatever the others are."""
    more = list(checks)
    more.insert(rng.randint(0, len(checks)), added)

    assert loosened(checks, more) == ()


@given(specs.filter(bool), st.randoms(use_true_random=False))
def test_removing_a_check_always_loosens(checks: list[CheckSpec], rng: Random) -> None:
    """However little it asked for: one sentence for the one check."""
    fewer = list(checks)
    del fewer[rng.randrange(len(checks))]

    assert len(loosened(checks, fewer)) == 1
