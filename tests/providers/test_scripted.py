"""The scripted model: which reply is used, how it is played, and how its file is read."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from conversations import ORDER_SUPPORT, a_tool, a_trial_of, run_trial
from skill_delta.core.checks.rubric import LineVerdict, read_verdicts
from skill_delta.core.conversation import Completion, Conversation, UserTurn
from skill_delta.core.judging import Question
from skill_delta.core.prompt import system_prompt
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Role, Trial
from skill_delta.core.workspace import WorkspaceSeed
from skill_delta.errors import TrialError, UserError
from skill_delta.providers.scripted import (
    MAX_PROBLEMS,
    Reply,
    ScriptedJudge,
    ScriptedModel,
    read_judge_replies,
    read_replies,
)
from skill_delta.runners.model import ModelRunner
from source_files import without_columns


def replies(text: str) -> tuple[Reply, ...]:
    return read_replies(text.encode(), "evals/replies.yaml")


def play(script: str, trial: Trial) -> Transcript:
    """Run a trial through the whole runner, with a scripted model behind it."""
    model = ScriptedModel(replies(script))
    return run_trial(ModelRunner("scripted", model, costs_money=False), trial)


def test_the_example_of_the_documentation_is_read() -> None:
    """Every key that there is."""
    [reply, fallback] = replies(
        """
        replies:
          - case: greets the named person
            skill: greeting
            arm: baseline
            contains: "exclamation"
            repetition: [0, 2]
            text: "Hello, Ada!"
            tool_calls:
              - {name: lookup_order, arguments: {order_id: "1234"}}
            files: {report.md: "…"}
            session: 1
            loads_skill: true
            usage: {input_tokens: 120, output_tokens: 8}
            cost_usd: 0.0001
            latency_ms: 40
          - text: "[scripted] {case}"
        """
    )

    assert reply.repetition == [0, 2]
    assert (reply.files, reply.session) == ({"report.md": "…"}, [1])
    assert reply.tool_calls[0].arguments == {"order_id": "1234"}
    assert reply.used == Usage(120, 8)
    assert fallback.case is None


PREVIOUS = a_trial_of(
    replace(ORDER_SUPPORT, instructions="Be brief."), role=Role.BASELINE, baseline="previous"
)
NONE = a_trial_of(SkillVersion.none("order-support"), role=Role.BASELINE, baseline="none")
CANDIDATE = a_trial_of(repetition=1)


@pytest.mark.parametrize(
    ("matcher", "matched"),
    [
        ("case: refund-request", [CANDIDATE, PREVIOUS, NONE]),
        ("case: refund", []),
        ("skill: order-support", [CANDIDATE, PREVIOUS, NONE]),
        ("skill: greeting", []),
        ("arm: candidate", [CANDIDATE]),
        ("arm: baseline", [PREVIOUS, NONE]),
        ("arm: previous", [PREVIOUS]),
        ("arm: none", [NONE]),
        ("arm: base", []),
        ("contains: Name the order", [CANDIDATE]),
        ("contains: helpful assistant", [NONE]),
        ("repetition: 1", [CANDIDATE]),
        ("repetition: [0, 2]", [PREVIOUS, NONE]),
        ("arm: baseline\n    contains: brief", [PREVIOUS]),
        ("case:", [CANDIDATE, PREVIOUS, NONE]),
    ],
)
def test_a_reply_is_for_the_trials_that_it_matches(matcher: str, matched: list[Trial]) -> None:
    """Every matcher that is given must match; what is left out, or blank, matches all."""
    [reply] = replies(f"replies:\n  - text: x\n    {matcher}\n")

    def told(trial: Trial) -> Conversation:
        system = system_prompt(trial.arm.skill, trial.case.mode)
        return Conversation(trial, system, (UserTurn(trial.case.task),))

    trials = [CANDIDATE, PREVIOUS, NONE]
    assert [trial for trial in trials if reply.matches(told(trial))] == matched


def test_the_label_of_a_skill_matches_as_well_as_its_name() -> None:
    """Two skills of one name are told apart by their label, a renamed one by either name."""
    trial = replace(CANDIDATE, skill="order-support (plugins/a)")
    [label] = replies('replies: [{skill: "order-support (plugins/a)", text: x}]')
    [name] = replies("replies: [{skill: order-support, text: x}]")
    told = Conversation(trial, "", ())

    assert label.matches(told)
    assert name.matches(told)


def test_the_first_reply_that_matches_is_used() -> None:
    """The order of the file decides."""
    script = """
    replies:
      - {arm: baseline, text: old}
      - {text: new}
      - {text: never}
    """

    assert play(script, CANDIDATE).answer == "new"
    assert play(script, PREVIOUS).answer == "old"


def test_no_reply_loses_the_trial() -> None:
    """It says which trial, and how to answer all."""
    with pytest.raises(TrialError) as lost:
        play("replies: [{case: another, text: x}]", CANDIDATE)

    assert str(lost.value) == (
        "no scripted reply matches case 'refund-request' of skill 'order-support' "
        "(arm candidate, repetition 1); a last entry without matchers would answer everything"
    )


def test_only_the_cases_name_is_put_in() -> None:
    """Braces of another meaning, as in JSON, stay as they are."""
    script = """
    replies: [{text: '{"name": "{case}", "more": {}, "{0}": "{skill}"}'}]
    """

    assert play(script, CANDIDATE).answer == (
        '{"name": "refund-request", "more": {}, "{0}": "{skill}"}'
    )


def test_calls_are_made_in_order_before_the_answer() -> None:
    """The case's mock tools answer them; tokens, cost and latency are counted once."""
    script = """
    replies:
      - text: Done.
        tool_calls:
          - {name: lookup_order, arguments: {order_id: "1"}}
          - {name: unknown}
        usage: {input_tokens: 120, output_tokens: 8}
        cost_usd: 0.25
        latency_ms: 40
    """

    transcript = play(script, a_trial_of(tools=[a_tool()]))

    assert transcript.answer == "Done."
    assert transcript.tool_calls[0] == ToolCall("lookup_order", {"order_id": "1"}, "shipped")
    assert transcript.tool_calls[1].name == "unknown"
    assert (transcript.usage, transcript.cost_usd) == (Usage(120, 8), 0.25)
    assert transcript.latency_ms == 40


def test_a_reply_without_a_price_cost_nothing() -> None:
    """Nothing was bought: that is known, not unknown."""
    transcript = play("replies: [{text: x}]", CANDIDATE)

    assert (transcript.usage, transcript.cost_usd) == (Usage(), 0.0)


def test_an_offered_skill_is_loaded_first() -> None:
    """It is reached for before any other tool, under the name that it is offered under."""
    script = """
    replies: [{loads_skill: true, tool_calls: [{name: lookup_order}], text: Done.}]
    """

    transcript = play(script, a_trial_of(mode=Mode.OFFERED, tools=[a_tool()]))

    assert [call.name for call in transcript.tool_calls] == ["order_support", "lookup_order"]
    assert transcript.skill_triggered is True


def test_a_loaded_skill_is_not_loaded_again() -> None:
    """There is nothing to reach for, in a loaded case as with an empty skill."""
    script = "replies: [{loads_skill: true, text: Done.}]"

    assert play(script, CANDIDATE).tool_calls == ()
    assert play(script, replace(NONE, case=replace(NONE.case, mode=Mode.OFFERED))).tool_calls == ()


@pytest.mark.parametrize("calls", ["", "tool_calls: [{name: lookup_order}], "])
def test_an_error_loses_the_trial_in_place_of_the_answer(calls: str) -> None:
    """After the calls, and with what the reply says was spent."""
    spent = "usage: {input_tokens: 120, output_tokens: 8}, cost_usd: 0.25"
    with pytest.raises(TrialError, match="503 from the provider") as lost:
        play(f'replies: [{{{calls}error: "503 from the provider", {spent}}}]', CANDIDATE)

    assert (lost.value.input_tokens, lost.value.output_tokens) == (120, 8)
    assert lost.value.cost_usd == 0.25


FILE = "evals/replies.yaml"
NEITHER = "a reply needs either text or error"
AT_MOST = "it should be less than or equal to"

MISTAKES: Mapping[str, tuple[str, Sequence[str]]] = {
    "nothing": ("", [f"{FILE}: it should be a mapping with the key 'replies', 'judge' or both"]),
    "a list": (
        "- text: x",
        [f"{FILE}:1: it should be a mapping with the key 'replies', 'judge' or both"],
    ),
    "no replies": ("replies: []", [f"{FILE}:1: replies: it is empty (got [])"]),
    "one reply": ("replies: x", [f"{FILE}:1: replies: it should be a list (got 'x')"]),
    "neither models nor a judge": (
        "{}",
        [f"{FILE}:1: it should be a mapping with the key 'replies', 'judge' or both"],
    ),
    "a judge that says two things": (
        "judge:\n  - {passed: true, text: Fine.}",
        [
            (
                f"{FILE}:2: judge[0]: a judge's reply needs one of passed, verdicts, text and "
                "error (got {'passed': True, 'text': 'Fine.'})"
            )
        ],
    ),
    "a judge that is told the arm": (
        "judge:\n  - {arm: candidate, passed: true}",
        [
            f"{FILE}:2: judge[0].arm: there is no such key",
            (
                "  help: the keys are case, skill, contains, passed, verdicts, text, usage, "
                "cost_usd, error"
            ),
        ],
    ),
    "a slip in a verdict": (
        "judge:\n  - verdicts: [{passed: true, evidense: a}]",
        [
            f"{FILE}:2: judge[0].verdicts[0].evidense: there is no such key",
            "  help: did you mean 'evidence'?",
        ],
    ),
    "a slip": (
        "replies:\n  - tex: a",
        [f"{FILE}:2: replies[0].tex: there is no such key", "  help: did you mean 'text'?"],
    ),
    "a slip further in": (
        "replies:\n  - text: a\n    usage: {input_token: 1}",
        [
            f"{FILE}:3: replies[0].usage.input_token: there is no such key",
            "  help: did you mean 'input_tokens'?",
        ],
    ),
    "two slips": (
        "replies:\n  - text: a\n    tool_calls: [{args: {}}]",
        [
            f"{FILE}:3: replies[0].tool_calls[0].name: it is missing",
            f"{FILE}:3: replies[0].tool_calls[0].args: there is no such key",
            "  help: did you mean 'arguments'?",
        ],
    ),
    "no slip": (
        "replies:\n  - text: a\n    colour: {report.md: x}",
        [
            f"{FILE}:3: replies[0].colour: there is no such key",
            f"  help: the keys are {', '.join(Reply.model_fields)}",
        ],
    ),
    "a number": (
        "replies:\n  - case: 404\n    text: a",
        [f"{FILE}:2: replies[0].case: it should be text: put it in quotes (got 404)"],
    ),
    "neither": (
        "replies:\n  - case: x",
        [f"{FILE}:2: replies[0]: {NEITHER} (got {{'case': 'x'}})"],
    ),
    "both": (
        "replies:\n  - {text: a, error: b}",
        [f"{FILE}:2: replies[0]: {NEITHER} (got {{'text': 'a', 'error': 'b'}})"],
    ),
    "a yes": (
        "replies:\n  - text: a\n    loads_skill: yes",
        [f"{FILE}:3: replies[0].loads_skill: it should be true or false (got 'yes')"],
    ),
    "a word": (
        "replies:\n  - text: a\n    repetition: [0, x]",
        [f"{FILE}:3: replies[0].repetition[1]: it should be a whole number (got 'x')"],
    ),
    "a negative": (
        "replies:\n  - text: a\n    cost_usd: -1",
        [f"{FILE}:3: replies[0].cost_usd: it should be greater than or equal to 0 (got -1)"],
    ),
    "absurd figures": (
        (
            "replies:\n  - usage: {input_tokens: 1000000001, output_tokens: 1000000001}\n"
            "    cost_usd: 1e7\n    latency_ms: 1e10\n    text: a"
        ),
        [
            f"{FILE}:2: replies[0].usage.input_tokens: {AT_MOST} 1000000000 (got 1000000001)",
            f"{FILE}:2: replies[0].usage.output_tokens: {AT_MOST} 1000000000 (got 1000000001)",
            f"{FILE}:3: replies[0].cost_usd: {AT_MOST} 1000000 (got 10000000.0)",
            f"{FILE}:4: replies[0].latency_ms: {AT_MOST} 1000000000 (got 10000000000.0)",
        ],
    ),
    "no YAML": (
        "replies: [x}",
        [
            f"{FILE}:1: did not find expected ',' or ']'",
            "  help: a list that begins with [ ends with ]",
        ],
    ),
}


@pytest.mark.parametrize(("text", "lines"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_place(text: str, lines: Sequence[str]) -> None:
    """File, line and field, and what was probably meant."""
    with pytest.raises(UserError) as error:
        replies(text)

    assert without_columns(str(error.value)).splitlines() == lines


def test_many_mistakes_are_not_all_listed() -> None:
    """The rest is counted."""
    with pytest.raises(UserError) as error:
        replies("replies: [" + "{}, " * 60 + "]")

    lines = without_columns(str(error.value)).splitlines()
    assert len(lines) == MAX_PROBLEMS + 1
    assert lines[-1] == "evals/replies.yaml:1: 10 more problems are not listed"


@pytest.mark.parametrize("amount", [".inf", ".nan", "1e308", "1" + "0" * 310, "0x" + "f" * 5000])
@pytest.mark.parametrize("field", ["cost_usd", "latency_ms", "usage"])
def test_no_absurd_amount_is_read(field: str, amount: str) -> None:
    """A report could not print what it adds up to."""
    value = f"{{output_tokens: {amount}}}" if field == "usage" else amount

    with pytest.raises(UserError) as error:
        replies(f"replies:\n  - text: a\n    {field}: {value}\n")

    assert without_columns(str(error.value)).startswith(f"{FILE}:3: ")
    assert len(str(error.value)) < 300


def test_the_largest_amounts_are_read() -> None:
    """A thousand million tokens, a million dollars, eleven days."""
    [reply] = replies(
        """
        replies:
          - text: a
            usage: {input_tokens: 1000000000, output_tokens: 1000000000}
            cost_usd: 1e6
            latency_ms: 1e9
        """
    )

    assert reply.used.tokens == 2 * 10**9


keys = st.sampled_from([*Reply.model_fields, "replies", "name", "arguments", "input_tokens"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=15,
)
files = st.lists(values, max_size=3).map(
    lambda replies: yaml.safe_dump({"replies": replies}, allow_unicode=True).encode()
)


@given(files | st.binary(max_size=100) | st.text(max_size=100).map(lambda text: text.encode()))
def test_any_file_is_replies_or_a_users_error(raw: bytes) -> None:
    """Whatever stands in it, it is not our crash, and a mistake names the file."""
    mistake = ""
    read: tuple[Reply, ...] = ()
    try:
        read = read_replies(raw, FILE)
    except UserError as error:
        mistake = str(error)

    assert bool(read) != bool(mistake)
    assert FILE in mistake or not mistake
    assert all((reply.text is None) != (reply.error is None) for reply in read)


# ---------------------------------------------------------------- the judge


def judgement(script: str, question: Question) -> Completion:
    judge = ScriptedJudge(read_judge_replies(script.encode(), FILE))
    return asyncio.run(judge.ask(question, ()))


QUESTION = Question(
    "order-support", "refund-request", "Refund 1234.", "", "1234 is refunded.", ("a", "b")
)


@pytest.mark.parametrize(
    ("matcher", "matched"),
    [
        ("case: refund-request", True),
        ("case: refund", False),
        ("skill: order-support", True),
        ("skill: greeting", False),
        ("contains: is refunded", True),
        ("contains: Refund 1234", False),
        ("case:", True),
    ],
)
def test_a_judges_reply_is_for_the_answers_that_it_matches(matcher: str, matched: bool) -> None:
    """By what a judge is asked about, and the text of the answer; never by the arm."""
    script = f"judge:\n  - text: this\n    {matcher}\n  - text: another\n"

    assert judgement(script, QUESTION).text == ("this" if matched else "another")


def test_a_judges_verdicts_are_numbered_as_the_rubric_is() -> None:
    """And what they are said to have cost is what they cost."""
    script = """
    judge:
      - verdicts: [{passed: true, evidence: "1234"}, {passed: false, reason: No.}]
        usage: {input_tokens: 30, output_tokens: 4}
        cost_usd: 0.5
    """

    said = judgement(script, QUESTION)

    assert read_verdicts(said.text, 2) == (LineVerdict(True, "1234"), LineVerdict(False, "", "No."))
    assert (said.usage, said.cost_usd) == (Usage(30, 4), 0.5)


@pytest.mark.parametrize("passed", [True, False])
def test_a_judge_may_say_the_same_of_every_line(passed: bool) -> None:
    """With the whole answer as evidence, so that a pass is one."""
    said = judgement(f"judge: [{{passed: {str(passed).lower()}}}]", QUESTION)

    assert read_verdicts(said.text, 2) == (LineVerdict(passed, QUESTION.answer),) * 2


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("judge: [{case: another, passed: true}]", "no scripted verdict matches case"),
        ("replies: [{text: a}]", "no scripted verdict matches case 'refund-request'"),
        ("judge: [{error: 503 from the judge}]", "503 from the judge"),
    ],
)
def test_a_judge_without_a_reply_loses_the_trial(script: str, told: str) -> None:
    """As one that gave out does."""
    with pytest.raises(TrialError, match=told):
        judgement(script, QUESTION)


def test_a_file_may_be_for_the_judge_alone() -> None:
    """Where a real model answers."""
    assert read_replies(b"judge: [{passed: true}]", FILE) == ()


FOLDER = WorkspaceSeed({"sales.csv": "north,120\n"})


def test_files_are_written_after_the_calls() -> None:
    """As a model would write them: by calls that are recorded."""
    trial = a_trial_of()
    trial = replace(trial, case=replace(trial.case, workspace=FOLDER))
    script = """
    replies:
      - text: Done.
        tool_calls: [{name: read_file, arguments: {path: sales.csv}}]
        files: {report.md: "120"}
    """

    transcript = play(script, trial)

    assert [(call.name, call.answer) for call in transcript.tool_calls] == [
        ("read_file", "north,120\n"),
        ("write_file", "wrote report.md (3 bytes)"),
    ]
    assert transcript.files is not None
    assert transcript.files.find("report.md") is not None


def test_files_need_a_folder() -> None:
    """A reply that could not do what it says is no reply."""
    with pytest.raises(TrialError, match="the case has no workspace"):
        play("replies: [{text: a, files: {b: c}}]", a_trial_of())


def test_each_session_has_its_own_reply() -> None:
    """Where a reply says which; others answer in all of them."""
    trial = a_trial_of()
    sessions = ("plan it", "do it", "check it")
    trial = replace(trial, case=replace(trial.case, workspace=FOLDER, sessions=sessions))
    script = """
    replies:
      - {session: 0, text: planned, files: {plan.md: "1. sell"}}
      - {session: [1], text: done, tool_calls: [{name: read_file, arguments: {path: plan.md}}]}
      - {text: other, usage: {input_tokens: 3}}
    """

    transcript = play(script, trial)

    assert transcript.answer == "other"
    assert [call.answer for call in transcript.tool_calls] == [
        "wrote plan.md (7 bytes)",
        "1. sell",
    ]
    assert transcript.usage == Usage(3, 0)
