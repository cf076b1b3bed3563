"""A model whose answers are written in a file: for tests, examples and dry runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from skill_delta.core.conversation import Completion, Conversation, ModelTurn, RequestedCall
from skill_delta.core.documents import Document, Path, read_document
from skill_delta.core.suite import Mode, offered_tool_name
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Trial
from skill_delta.errors import TrialError, UserError, UserErrors

MAX_PROBLEMS = 50
"""How many problems of one file are listed."""


def _as_list(value: object) -> object:
    return [value] if isinstance(value, int) else value


Count = Annotated[int, Field(ge=0)]
Tokens = Annotated[int, Field(ge=0, le=10**9)]
Dollars = Annotated[float, Field(ge=0, le=1e6)]
Milliseconds = Annotated[float, Field(ge=0, le=1e9)]
Text = Annotated[str, Field(min_length=1)]
Repetitions = Annotated[list[Count], Field(min_length=1), BeforeValidator(_as_list)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ScriptedCall(_Entry):
    """A tool call that the model makes before it answers."""

    name: Text
    arguments: Mapping[str, JsonValue] = Field(default_factory=dict)


class ScriptedUsage(_Entry):
    """The tokens that the answer is said to have taken."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0


class Reply(_Entry):
    """What is answered, and when: a matcher that is absent matches everything.

    `arm` is `candidate`, `baseline` (any of them) or a baseline's name. `contains` is looked for
    in the system prompt. `repetition` holds the repetitions that match, and `session` the
    conversations of a case that has several, counted from 0. `files` are written by calls of
    `write_file`, after the other calls.
    """

    case: str | None = None
    skill: str | None = None
    arm: str | None = None
    contains: str | None = None
    repetition: Repetitions | None = None
    session: Repetitions | None = None
    text: str | None = None
    tool_calls: list[ScriptedCall] = Field(default_factory=list)
    files: Mapping[str, str] = Field(default_factory=dict)
    loads_skill: bool = False
    usage: ScriptedUsage = ScriptedUsage()
    cost_usd: Dollars = 0.0
    latency_ms: Milliseconds = 0.0
    error: Text | None = None

    @model_validator(mode="after")
    def _answers_or_errs(self) -> Self:
        if (self.text is None) == (self.error is None):
            raise PydanticCustomError("answer", "a reply needs either text or error")
        return self

    @property
    def used(self) -> Usage:
        """The tokens that the whole reply is said to have taken."""
        return Usage(self.usage.input_tokens, self.usage.output_tokens)

    def matches(self, conversation: Conversation) -> bool:
        """Whether this is what the model would say here."""
        trial = conversation.trial
        arm = trial.arm
        return (
            self.case in (None, trial.case.name)
            and self.skill in (None, trial.skill, arm.skill.name)
            and self.arm in (None, *arm.answers_to)
            and (self.contains is None or self.contains in conversation.system)
            and (self.repetition is None or trial.repetition in self.repetition)
            and (self.session is None or conversation.session in self.session)
        )


class ReplyFile(_Entry):
    """A replies file: the first reply that matches is used."""

    replies: Annotated[list[Reply], Field(min_length=1)]


class ScriptedModel:
    """Answers from `replies`: the calls one per turn, in order, then the text or the error.

    The reply's usage, cost and latency are those of its first turn; a reply without a cost cost
    nothing, since nothing was bought.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies

    async def complete(self, conversation: Conversation) -> Completion:
        """Raises `TrialError` when no reply matches, or when the reply is an error."""
        reply = next((reply for reply in self._replies if reply.matches(conversation)), None)
        if reply is None:
            raise TrialError(_no_reply(conversation.trial))
        turn = sum(isinstance(turn, ModelTurn) for turn in conversation.turns)
        calls = _calls(reply, conversation)
        first = Completion("", (), reply.used, reply.cost_usd, reply.latency_ms)
        spent = first if turn == 0 else Completion("", cost_usd=0.0)
        if turn < len(calls):
            return replace(spent, calls=(calls[turn],))
        if reply.error is not None:
            raise TrialError(
                reply.error,
                input_tokens=spent.usage.input_tokens,
                output_tokens=spent.usage.output_tokens,
                cost_usd=spent.cost_usd,
            )
        # Not `format`: a text may be JSON, whose braces are its own.
        case = conversation.trial.case.name
        return replace(spent, text=(reply.text or "").replace("{case}", case))

    async def close(self) -> None:
        """Nothing is open."""


def read_replies(raw: bytes, file: str) -> tuple[Reply, ...]:
    """The replies of a file, in its order.

    Raises `UserErrors` (or `DocumentError`) with the file, line and field of all that is wrong.
    """
    document = read_document(raw, file)
    try:
        return tuple(ReplyFile.model_validate(document.value).replies)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [_problem(document, detail) for detail in details[:MAX_PROBLEMS]]
        if len(details) > MAX_PROBLEMS:
            more = f"{len(details) - MAX_PROBLEMS} more problems are not listed"
            problems.append(UserError(more, place=document.place()))
        raise UserErrors(tuple(problems)) from None


def _calls(reply: Reply, conversation: Conversation) -> tuple[RequestedCall, ...]:
    """What the reply calls, the skill first where it is offered."""
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    if reply.files and conversation.trial.case.workspace is None:
        raise TrialError("the scripted reply writes files, and the case has no workspace")
    calls += [("write_file", {"path": path, "content": text}) for path, text in reply.files.items()]
    skill_tool = offered_tool_name(conversation.trial.arm.skill.name)
    offered = conversation.trial.case.mode is Mode.OFFERED
    if reply.loads_skill and offered and skill_tool in {t.name for t in conversation.tools}:
        calls.insert(0, (skill_tool, {}))
    return tuple(
        RequestedCall(f"call_{position}", name, arguments)
        for position, (name, arguments) in enumerate(calls)
    )


def _no_reply(trial: Trial) -> str:
    return (
        f"no scripted reply matches case {trial.case.name!r} of skill {trial.skill!r} "
        f"(arm {trial.arm.name}, repetition {trial.repetition}); "
        "a last entry without matchers would answer everything"
    )


_SHAPES: Mapping[str, type[_Entry]] = {
    "": ReplyFile,
    "replies": Reply,
    "tool_calls": ScriptedCall,
    "usage": ScriptedUsage,
}
"""What stands in the file under each key."""


_WANTED: Mapping[str, str] = {
    "model_type": "it should be a mapping",
    "mapping_type": "it should be a mapping",
    "list_type": "it should be a list",
    "string_type": "it should be text: put it in quotes",
    "int_type": "it should be a whole number",
    "float_type": "it should be a number",
    "bool_type": "it should be true or false",
    "too_short": "it is empty",
    "string_too_short": "it is empty",
    "missing": "it is missing",
}
"""What is wrong, by pydantic's name for it."""


def _problem(document: Document, detail: ErrorDetails) -> UserError:
    path: Path = detail["loc"]
    place = document.place(path)
    kind = detail["type"]
    if kind == "extra_forbidden":
        within = next((key for key in reversed(path[:-1]) if isinstance(key, str)), "")
        keys = tuple(_SHAPES[within].model_fields)
        hint = _did_you_mean(str(path[-1]), keys)
        return UserError("there is no such key", hint=hint, place=place)
    if not path:
        return UserError("it should be a mapping with the one key 'replies'", place=place)
    message = _WANTED.get(kind, detail["msg"].replace("Input should", "it should"))
    given = "" if kind == "missing" else f" (got {_shown(detail['input'])})"
    return UserError(f"{message}{given}", place=place)


def _did_you_mean(key: str, keys: Sequence[str]) -> str:
    close = difflib.get_close_matches(key.lower(), keys, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(keys)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
