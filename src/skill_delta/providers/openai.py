"""The chat-completions wire, as OpenAI, Azure, OpenRouter, Ollama, vLLM and llama.cpp speak it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType

import httpx
from pydantic import JsonValue, SecretStr

from skill_delta import __version__
from skill_delta.core.conversation import (
    Completion,
    Conversation,
    ModelTurn,
    OfferedTool,
    RequestedCall,
    ToolTurn,
    Turn,
    UserTurn,
)
from skill_delta.core.documents import MAX_DEPTH
from skill_delta.core.transcript import Usage
from skill_delta.errors import TrialError
from skill_delta.providers import OUR_KEY_VARIABLE
from skill_delta.providers.endpoint import Endpoint, endpoint_at

MAX_TOKENS = 10**9
"""The most tokens that one answer is believed to have taken, on either side."""

NOTHING_MORE: Mapping[str, JsonValue] = MappingProxyType({})


class OpenAiChat:
    """Chat completions at `base_url`, with or without `/chat/completions` at its end.

    `extra` adds fields to every request, such as a temperature: by default the server's own
    settings hold. `our_variable` is named where the key is refused. Raises `UserError` for a URL or
    a key that cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key: SecretStr | None = None,
        extra: Mapping[str, JsonValue] = NOTHING_MORE,
        our_variable: str = OUR_KEY_VARIABLE,
    ) -> None:
        self.endpoint: Endpoint = endpoint_at(
            base_url,
            "/chat/completions",
            model,
            key=key,
            key_variable="OPENAI_API_KEY",
            our_variable=our_variable,
        )
        self._extra = extra
        self._headers = httpx.Headers(
            {
                "accept": "application/json",
                "accept-encoding": "identity",  # a few kilobytes: unpacking costs more
                "content-type": "application/json",
                "user-agent": f"skill-delta/{__version__}",
                **_authorization(self.endpoint),
            }
        )

    def request(self, conversation: Conversation) -> httpx.Request:
        """What is posted: the conversation and its tools, and nothing of its trial."""
        body: dict[str, JsonValue] = {
            **self._extra,
            "model": self.endpoint.model,
            "messages": [
                {"role": "system", "content": conversation.system},
                *(_message(turn) for turn in conversation.turns),
            ],
        }
        if conversation.tools:
            body["tools"] = [_tool(tool) for tool in conversation.tools]
        content = json.dumps(body, separators=(",", ":")).encode("ascii")
        return httpx.Request("POST", self.endpoint.url, headers=self._headers, content=content)

    def read(self, response: httpx.Response) -> Completion:
        """The first choice. `cost_usd` is left to whoever knows the price.

        Raises `TrialError` for a body that is no answer to grade. One that the server's limit or
        the provider's filter cut short is none, for the model had more to say; nor is one without
        a count of tokens: what is not measured can neither be compared nor kept below a limit.
        """
        usage = Usage()
        try:
            body = _parsed(response.content)
            usage = _usage(body.get("usage"))
            return _completion(body, usage)
        except _NoAnswerError as error:
            said = self.endpoint.quote(response.content.decode("utf-8", "replace"))
            quoted = f": {said}" if said else ""
            raise TrialError(
                f"HTTP {response.status_code} with {error}{quoted}",
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cost_usd=None if usage.tokens else 0.0,
            ) from None


class _NoAnswerError(Exception):
    """A body that is no answer to grade; its text says what it is."""


def _authorization(endpoint: Endpoint) -> Mapping[str, str]:
    if not endpoint.key:
        return {"authorization": f"Basic {endpoint.basic}"} if endpoint.basic else {}
    # Azure takes its keys in a header of its own; a bearer there is an Entra token.
    if endpoint.url.host.endswith(".azure.com"):
        return {"api-key": endpoint.key}
    return {"authorization": f"Bearer {endpoint.key}"}


def _message(turn: Turn) -> dict[str, JsonValue]:
    match turn:
        case UserTurn(text):
            return {"role": "user", "content": text}
        case ToolTurn(call, answer):
            return {"role": "tool", "tool_call_id": call.id, "content": answer}
        case ModelTurn(text, ()):
            return {"role": "assistant", "content": text}
        case ModelTurn(text, calls):
            spelled: list[JsonValue] = [_spelled(call) for call in calls]
            return {"role": "assistant", "content": text or None, "tool_calls": spelled}


def _spelled(call: RequestedCall) -> dict[str, JsonValue]:
    # Where the model's own text was not JSON, some servers would refuse to read it back: the
    # answer to the call says what was wrong with it.
    function: dict[str, JsonValue] = {
        "name": call.name,
        "arguments": json.dumps(call.arguments or {}),
    }
    return {"id": call.id, "type": "function", "function": function}


def _tool(tool: OfferedTool) -> dict[str, JsonValue]:
    function: dict[str, JsonValue] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
    }
    return {"type": "function", "function": function}


def _parsed(content: bytes) -> Mapping[str, JsonValue]:
    if not content.strip():
        raise _NoAnswerError("an empty body")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        raise _NoAnswerError("a body that is not JSON") from None
    if not isinstance(body, dict):
        raise _NoAnswerError("a body that is not a JSON object")
    return body


_CUT_BY: Mapping[str, str] = {
    "length": "the server's token limit",
    "content_filter": "the provider's filter",
}
"""Who ended an answer before the model did, by `finish_reason`."""


def _completion(body: Mapping[str, JsonValue], usage: Usage) -> Completion:
    if body.get("error"):
        raise _NoAnswerError("an error in place of an answer")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise _NoAnswerError("an answer without choices")
    finish = choice.get("finish_reason")
    if isinstance(finish, str) and finish in _CUT_BY:
        raise _NoAnswerError(f"an answer cut by {_CUT_BY[finish]}")
    message = choice.get("message")
    if choice.get("error") or finish == "error" or not isinstance(message, dict):
        raise _NoAnswerError("a choice that holds no message")
    text, calls = _text(message), _calls(message.get("tool_calls"))
    if not (text or calls or usage.output_tokens):
        raise _NoAnswerError("an empty answer of zero tokens")
    if not usage.tokens:
        raise _NoAnswerError("an answer whose tokens the server did not count")
    return Completion(text, calls, usage)


def _text(message: Mapping[str, JsonValue]) -> str:
    """What the model said: text, parts of text, or the reason why it refuses."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    content = content or message.get("refusal")
    if content is not None and not isinstance(content, str):
        raise _NoAnswerError("a message whose content is not text")
    return _writable(content or "")


def _calls(wanted: JsonValue) -> tuple[RequestedCall, ...]:
    if wanted is not None and not isinstance(wanted, list):
        raise _NoAnswerError("tool calls that are no list")
    return tuple(_call(call, position) for position, call in enumerate(wanted or ()))


def _call(call: JsonValue, position: int) -> RequestedCall:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not (isinstance(call, dict) and isinstance(function, dict) and isinstance(name, str)):
        raise _NoAnswerError("a tool call that names no function")
    given = function.get("arguments")
    raw = _writable(given) if isinstance(given, str) else json.dumps(given)
    own_id = call.get("id")
    return RequestedCall(
        id=_writable(own_id) if isinstance(own_id, str) and own_id else f"call_{position}",
        name=_writable(name),
        arguments=_arguments(raw),
        raw=raw,
    )


def _arguments(raw: str) -> Mapping[str, JsonValue] | None:
    """The JSON object that `raw` spells; None where it spells none, or one without end.

    Nothing at all is what many servers send for a tool that takes nothing.
    """
    if raw.strip() in ("", "null"):
        return {}
    try:
        value = json.loads(raw, parse_constant=_finite, parse_float=_finite)
        # Half a surrogate pair, spelled as an escape, is text that no file or request can hold.
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and not _nests_too_deeply(value) else None


def _nests_too_deeply(value: JsonValue) -> bool:
    """Whether a value has more levels than any document of ours may have."""
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def _usage(counted: JsonValue) -> Usage:
    """The tokens the server counted; zero where it says nothing of them."""
    if not isinstance(counted, dict):
        return Usage()
    return Usage(_count(counted.get("prompt_tokens")), _count(counted.get("completion_tokens")))


def _count(value: JsonValue) -> int:
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS:
        return value
    raise _NoAnswerError(f"a count of tokens that is no number from 0 to {MAX_TOKENS:,}")


def _writable(text: str) -> str:
    """The text without halves of surrogate pairs, which cannot be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
