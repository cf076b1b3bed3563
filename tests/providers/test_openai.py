"""The chat-completions wire: where it is, whose key it takes, how a conversation is spelled."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, SecretStr

from conversations import KEY, TASK, a_conversation, a_tool
from skill_delta.core.conversation import (
    ModelTurn,
    OfferedTool,
    RequestedCall,
    ToolTurn,
)
from skill_delta.errors import UserError
from skill_delta.providers.openai import OpenAiChat

BASE = "https://api.openai.com/v1"


def api(base_url: str = BASE, key: str | None = KEY, **extra: JsonValue) -> OpenAiChat:
    return OpenAiChat(base_url, "gpt-test", None if key is None else SecretStr(key), extra)


def posted(request: httpx.Request) -> Any:
    return json.loads(request.content)


def test_a_conversation_is_spelled_in_messages() -> None:
    """System prompt, task, the model's calls and their answers, in the order they were said."""
    call = RequestedCall("call_7", "lookup_order", {"order_id": "1234"}, '{"order_id":"1234"}')
    turns = (ModelTurn("", (call,)), ToolTurn(call, "shipped"), ModelTurn("It is on its way."))

    request = api().request(a_conversation(*turns))

    assert (request.method, str(request.url)) == ("POST", f"{BASE}/chat/completions")
    assert posted(request) == {
        "model": "gpt-test",
        "messages": [
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": TASK},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_7",
                        "type": "function",
                        "function": {"name": "lookup_order", "arguments": '{"order_id": "1234"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_7", "content": "shipped"},
            {"role": "assistant", "content": "It is on its way."},
        ],
    }


def test_tools_are_offered_with_their_schema_as_it_stands() -> None:
    """A schema is data of the case: nothing is added to it."""
    tool = a_tool()
    offered = OfferedTool(tool.name, tool.description, tool.input_schema)

    request = api().request(a_conversation(tools=[offered]))

    assert posted(request)["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "lookup_order",
                "description": "What lookup_order knows.",
                "parameters": tool.input_schema,
            },
        }
    ]


def test_arguments_that_were_not_json_are_not_read_back() -> None:
    """Some servers refuse a history that holds them, and the trial would be lost."""
    broken = RequestedCall("call_7", "lookup_order", None, '{"order_id": "12')

    request = api().request(a_conversation(ModelTurn("", (broken,)), ToolTurn(broken, "Error")))

    assert posted(request)["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_the_servers_own_settings_hold_unless_others_are_given() -> None:
    """No temperature is sent by default, and what is given never replaces the conversation."""
    plain = posted(api().request(a_conversation()))
    told = posted(api(temperature=0, model="another").request(a_conversation()))

    assert plain.keys() == {"model", "messages"}
    assert told == {**plain, "temperature": 0}


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        (BASE, f"{BASE}/chat/completions"),
        (f"{BASE}/", f"{BASE}/chat/completions"),
        (f"{BASE}/chat/completions", f"{BASE}/chat/completions"),
        (f"{BASE}/chat/completions/", f"{BASE}/chat/completions"),
        ("http://localhost:11434", "http://localhost:11434/chat/completions"),
        ("http://[::1]:8080/v1#top", "http://[::1]:8080/v1/chat/completions"),
        ("https://proxy.example/a%2Fb/v1", "https://proxy.example/a%2Fb/v1/chat/completions"),
        (
            "https://x.openai.azure.com/openai/v1/?api-version=preview",
            "https://x.openai.azure.com/openai/v1/chat/completions?api-version=preview",
        ),
        (f" {BASE}\n", f"{BASE}/chat/completions"),
    ],
)
def test_the_base_url_may_be_written_in_several_ways(base_url: str, url: str) -> None:
    """With or without a slash, the whole path, a query."""
    assert str(api(base_url).request(a_conversation()).url) == url


@pytest.mark.parametrize(
    ("base_url", "problem"),
    [
        ("", "does not begin with http"),
        ("localhost:11434/v1", "does not begin with http"),
        ("ftp://example.com", "does not begin with http"),
        ("http://", "names no host"),
        ("http://user:secret-password", "cannot be read"),
        (f"http://{'a' * 64}.example/v1", "cannot be read"),
    ],
)
def test_a_base_url_that_is_none_is_a_users_error(base_url: str, problem: str) -> None:
    """It says how one looks, and does not repeat what may hold a password."""
    with pytest.raises(UserError, match=problem) as refused:
        api(base_url)

    assert "https://api.openai.com/v1" in str(refused.value)
    assert "secret-password" not in str(refused.value)


@given(st.text() | st.text().map("http://{}".format) | st.text().map("https://a:b@c/{}".format))
def test_no_base_url_breaks_the_reader(base_url: str) -> None:
    """Any text is a base URL or a user's error."""
    try:
        url = api(base_url).endpoint.url
    except UserError:
        return
    assert url.path.endswith("/chat/completions")
    assert not url.userinfo


def test_a_key_is_sent_as_a_bearer() -> None:
    """Without the spaces and line breaks that a secret picks up when it is pasted."""
    assert authorization(api(key=f" {KEY}\n")) == f"Bearer {KEY}"


def authorization(api: OpenAiChat) -> str | None:
    headers = api.request(a_conversation()).headers
    value = headers.get("authorization")
    return None if value is None else str(value)


def test_without_a_key_nothing_is_sent_for_one() -> None:
    """Local servers want none."""
    assert authorization(api(key=None)) is None
    assert authorization(api(key=" ")) is None


def test_a_password_in_the_url_becomes_a_header() -> None:
    """The URL itself is free of it, and may be shown; a key is worth more than a password."""
    url = "https://user:p%40ss@proxy.example/v1"

    assert authorization(api(url, key=None)) == "Basic dXNlcjpwQHNz"
    assert authorization(api(url)) == f"Bearer {KEY}"
    assert api(url).endpoint.shown == "https://proxy.example/v1/chat/completions"


def test_azure_takes_its_key_in_a_header_of_its_own() -> None:
    """A bearer means something else there."""
    azure = api("https://x.openai.azure.com/openai/v1")

    assert azure.request(a_conversation()).headers["api-key"] == KEY
    assert authorization(azure) is None


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "sk-ü", "sk one", "sk-\x00"])
def test_a_key_that_no_header_can_carry_is_a_users_error(key: str) -> None:
    """It names the variables, and not the key."""
    with pytest.raises(UserError, match="no HTTP header can carry") as refused:
        api(key=key)

    assert "SKILL_DELTA_API_KEY or OPENAI_API_KEY" in str(refused.value)
    assert "sk-" not in str(refused.value)
