"""What a model said, without the secrets in it: whole, as no later cut can hide half a key."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from skill_delta.core.conversation import Completion, RequestedCall


def redacted(completion: Completion, redact: Callable[[str], str]) -> Completion:
    """The completion with `redact` applied to its text and to its calls' names and arguments.

    `redact` is given arguments as JSON; where it leaves none behind, the call has no arguments.
    """
    calls = tuple(_call(call, redact) for call in completion.calls)
    return replace(completion, text=redact(completion.text), calls=calls)


def _call(call: RequestedCall, redact: Callable[[str], str]) -> RequestedCall:
    clean = replace(call, name=redact(call.name), raw=redact(call.raw))
    if not call.arguments:
        return clean
    try:
        # One text in place of a walk: no depth of nesting, or number of keys, slows it down.
        spelled = json.dumps(call.arguments, ensure_ascii=False)
        said = redact(spelled)
        left = call.arguments if said == spelled else json.loads(said)
    except (ValueError, RecursionError):
        left = None
    return replace(clean, arguments=left if isinstance(left, dict) else None)
