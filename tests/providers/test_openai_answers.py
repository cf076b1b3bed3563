"""The chat-completions wire: how an answer is read, and what is none."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import JsonValue, SecretStr

from conversations import KEY
from model_stand_in import Answer, says
from skill_delta.core.conversation import Completion, RequestedCall
from skill_delta.core.transcript import Usage
from skill_delta.errors import TrialError
from skill_delta.providers.openai import OpenAiChat


def read(body: object, status: int = 200) -> Completion:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    api = OpenAiChat("https://api.openai.com/v1", "gpt-test", SecretStr(KEY))
    return api.read(httpx.Response(status, content=content))


def message(**parts: object) -> Mapping[str, object]:
    """A response of one choice."""
    usage = {"prompt_tokens": 100, "completion_tokens": 5}
    return {"choices": [{"message": {"role": "assistant", **parts}}], "usage": usage}


def test_an_answer_is_read() -> None:
    """Its text, the tokens the server counted, and no price."""
    completion = read(message(content="Order 1234 is refunded."))

    assert completion == Completion("Order 1234 is refunded.", (), Usage(100, 5))
    assert completion.cost_usd is None


def test_calls_are_read_with_the_models_own_text() -> None:
    """A text without content is an empty one."""
    body = json.loads(says(None, calls=[("lookup_order", '{"order_id": "1234"}')]).body)

    completion = read(body)

    assert completion.text == ""
    assert completion.calls == (
        RequestedCall("call_0", "lookup_order", {"order_id": "1234"}, '{"order_id": "1234"}'),
    )


@pytest.mark.parametrize(
    ("spelled", "arguments"),
    [
        ('{"a":' * 60 + "1" + "}" * 60, json.loads('{"a":' * 60 + "1" + "}" * 60)),
        ('{"a":' * 300 + "1" + "}" * 300, None),
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (None, {}),
        ('{"a": "12', None),
        ("[1]", None),
        ('"a"', None),
        ('{"a": NaN}', None),
        ('{"a": 1e999}', None),
        (r'{"a": "\ud800"}', None),
        (f'{{"a": {"9" * 5000}}}', None),
        ("[" * 100_000, None),
        (5, None),
    ],
    ids=repr,
)
def test_arguments_are_a_json_object_or_unknown(
    spelled: object, arguments: Mapping[str, JsonValue] | None
) -> None:
    """Nothing at all is what servers send for a tool that takes nothing."""
    function = {"name": "lookup_order", "arguments": spelled}

    [call] = read(message(tool_calls=[{"id": "x", "function": function}])).calls

    assert call.arguments == arguments


def test_calls_without_an_id_are_told_apart() -> None:
    """Some servers leave it out, and the answers must name the call they answer."""
    function = {"name": "lookup_order", "arguments": "{}"}

    calls = read(message(tool_calls=[{"function": function}, {"id": "", "function": function}]))

    assert [call.id for call in calls.calls] == ["call_0", "call_1"]


def test_content_in_parts_is_joined() -> None:
    """Parts that are not text say nothing."""
    parts = [
        {"type": "text", "text": "Order "},
        {"type": "image"},
        {"type": "text", "text": "1234"},
    ]

    assert read(message(content=parts)).text == "Order 1234"


def test_a_refusal_is_the_answer() -> None:
    """The model said it, so it is graded like anything the model says."""
    assert read(message(content=None, refusal="I cannot help.")).text == "I cannot help."


def test_half_a_character_is_replaced() -> None:
    """It could be written to no file; whole characters stay as they are."""
    text = read(
        rb'{"choices":[{"message":{"content":"\ud83d\ude00 \ud83d ok"}}],'
        rb'"usage":{"completion_tokens":3}}'
    ).text

    assert text == "😀 ? ok"


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], {"prompt_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}, "12"],
    ids=repr,
)
def test_an_answer_whose_tokens_were_not_counted_is_none(usage: object) -> None:
    """It could neither be compared nor kept below a limit."""
    with pytest.raises(TrialError, match="did not count"):
        read({**message(content="Hello."), "usage": usage})


@pytest.mark.parametrize("side", ["prompt_tokens", "completion_tokens"])
@pytest.mark.parametrize(
    "count", [10**9 + 1, 10**400, -1, True, 5.0, float("inf"), float("nan"), "5", [5], {}], ids=repr
)
def test_a_count_of_tokens_that_is_none_loses_the_trial(side: str, count: object) -> None:
    """What it is added to would be as absurd, and no report could print it."""
    usage = {"prompt_tokens": 100, "completion_tokens": 5, side: count}

    with pytest.raises(TrialError, match="a count of tokens that is no number from 0 to") as lost:
        read({**message(content="Hello."), "usage": usage})

    assert (lost.value.input_tokens, lost.value.output_tokens) == (0, 0)


def test_the_largest_count_that_is_believed() -> None:
    """A thousand million tokens, on either side."""
    usage = {"prompt_tokens": 10**9, "completion_tokens": 10**9}

    assert read({**message(content="Hello."), "usage": usage}).usage == Usage(10**9, 10**9)


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("length", "HTTP 200 with an answer cut by the server's token limit: "),
        ("content_filter", "HTTP 200 with an answer cut by the provider's filter: "),
    ],
)
@pytest.mark.parametrize("cut", [says("Order 12"), says(None, calls=[("a", '{"b": 1')])])
def test_an_answer_cut_short_is_none(finish: str, words: str, cut: Answer) -> None:
    """The skill is not to blame for what the model was not let say; the tokens were spent."""
    body = json.loads(cut.body)
    body["choices"][0]["finish_reason"] = finish

    with pytest.raises(TrialError) as lost:
        read(body)

    assert str(lost.value).startswith(words)
    assert (lost.value.input_tokens, lost.value.output_tokens) == (120, 8)


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos", None, "", 1, []])
def test_any_other_end_is_the_models_own(finish: object) -> None:
    """Servers have words of their own for it, or none."""
    body = message(content="Hello.")

    [choice] = json.loads(json.dumps(body["choices"]))

    assert read({**body, "choices": [{**choice, "finish_reason": finish}]}).text == "Hello."


NO_ANSWERS: Mapping[str, tuple[object, str]] = {
    "an error": ({"error": {"message": "overloaded", "code": 502}}, "an error in place"),
    "an error in words": ({"error": "overloaded"}, "an error in place"),
    "no choices": ({"choices": []}, "without choices"),
    "choices of nothing": ({"choices": [None]}, "without choices"),
    "choices that are none": ({"choices": {"a": 1}}, "without choices"),
    "nothing": ({}, "without choices"),
    "a choice without a message": ({"choices": [{"text": "x"}]}, "holds no message"),
    "a choice in error": (
        {"choices": [{"message": {"content": "x"}, "finish_reason": "error"}]},
        "holds no message",
    ),
    "zero tokens": (
        {**message(content=""), "usage": {"prompt_tokens": 9, "completion_tokens": 0}},
        "zero tokens",
    ),
    "nothing said, nothing counted": (
        {"choices": [{"message": {"content": None}}]},
        "zero tokens",
    ),
    "content of another kind": (message(content=42), "not text"),
    "calls of another kind": (message(tool_calls="x"), "no list"),
    "a call without a name": (message(tool_calls=[{"function": {}}]), "names no function"),
    "a list": ([], "not a JSON object"),
    "a page": (b"<html>Bad gateway</html>", "not JSON"),
    "half a body": (b'{"choices": [{"mess', "not JSON"),
    "an event stream": (b'data: {"choices": []}\n\n', "not JSON"),
    "no body": (b"", "an empty body$"),
    "a blank body": (b" \r\n", "an empty body$"),
    "an invisible body": ("\u200b".encode(), "not JSON$"),
    "too deep": (b"[" * 200_000, "not JSON"),
    "not UTF-8": (b'{"choices": "\xff"}', "not JSON"),
}


@pytest.mark.parametrize(("body", "problem"), NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_a_body_that_is_no_answer_is_an_error(body: object, problem: str) -> None:
    """Though it came under HTTP 200: graded, it would count against the skill."""
    with pytest.raises(TrialError, match=problem) as lost:
        read(body)

    assert len(str(lost.value)) < 300


def test_tokens_of_a_lost_answer_are_counted() -> None:
    """They were paid for."""
    with pytest.raises(TrialError) as lost:
        read({**message(content=""), "usage": {"prompt_tokens": 9, "completion_tokens": 0}})

    assert (lost.value.input_tokens, lost.value.cost_usd) == (9, None)


def test_an_echoed_key_is_taken_out() -> None:
    """Wherever it stands: at the edge of what is quoted, and with invisible characters in it."""
    for padding in range(150, 200):
        with pytest.raises(TrialError) as lost:
            read({"error": f"{'x' * padding}{KEY}"})
        assert KEY[:8] not in str(lost.value)
    with pytest.raises(TrialError) as lost:
        read(f"{KEY[:6]}\u200b{KEY[6:]}".encode())
    assert KEY[6:] not in str(lost.value)


def test_a_quoted_body_is_one_short_line() -> None:
    """A server's words go into logs and comments: no control character gets there."""
    with pytest.raises(TrialError) as lost:
        read(b"<html>\r\n\x1b[31mBad\x00 \xe2\x80\xaegateway" + b"x" * 5000)

    assert str(lost.value).startswith(
        "HTTP 200 with a body that is not JSON: <html> [31mBad gatewayxxx"
    )
    assert str(lost.value).isprintable()
    assert len(str(lost.value)) < 300


keys = st.sampled_from(
    [
        "choices", "message", "content", "tool_calls", "function", "name", "arguments", "id",
        "usage", "prompt_tokens", "completion_tokens", "error", "refusal", "text", "finish_reason",
    ]
)  # fmt: skip
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@given(json_values.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200))
@example(b'{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":{}}}]}}]}')
def test_any_body_is_an_answer_or_a_lost_trial(body: bytes) -> None:
    """Whatever a server sends, it is not our crash, and what is read can be written."""
    try:
        completion = read(body)
    except TrialError:
        return
    written = json.dumps(
        [completion.text, [[c.id, c.name, c.arguments, c.raw] for c in completion.calls]],
        ensure_ascii=False,
        allow_nan=False,
    )
    assert written.encode()
