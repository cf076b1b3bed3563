"""A model, and a judge, whose answers are written in a file: for tests, examples and dry runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping, Sequence
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
from skill_delta.core.judging import JudgedBy, Question, Rejected
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
        if trial is None:
            return False
        arm = trial.arm
        return (
            self.case in (None, trial.case.name)
            and self.skill in (None, trial.skill, arm.skill.name)
            and self.arm in (None, *arm.answers_to)
            and (self.contains is None or self.contains in conversation.system)
            and (self.repetition is None or trial.repetition in self.repetition)
            and (self.session is None or conversation.session in self.session)
        )


class ScriptedVerdict(_Entry):
    """What the judge says of one line of the rubric, by its position."""

    passed: bool
    evidence: str = ""
    reason: str = ""


class JudgeReply(_Entry):
    """What the judge replies, and when: a matcher that is absent matches everything.

    `contains` is looked for in the answer that is graded. `passed` says the same of every line, and
    quotes the whole answer; `text` is the reply as it stands, and may be no verdict at all. What a
    judge is not shown (arm, repetition) is no matcher.
    """

    case: str | None = None
    skill: str | None = None
    contains: str | None = None
    passed: bool | None = None
    verdicts: Annotated[list[ScriptedVerdict], Field(min_length=1)] | None = None
    text: str | None = None
    usage: ScriptedUsage = ScriptedUsage()
    cost_usd: Dollars = 0.0
    error: Text | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(say is not None for say in (self.passed, self.verdicts, self.text, self.error)) != 1:
            wanted = "a judge's reply needs one of passed, verdicts, text and error"
            raise PydanticCustomError("judge", wanted)
        return self

    def matches(self, question: Question) -> bool:
        """Whether this is what the judge would say here."""
        return (
            self.case in (None, question.case)
            and self.skill in (None, question.skill)
            and (self.contains is None or self.contains in question.answer)
        )

    def says(self, question: Question) -> str:
        """The reply, as a model would spell it."""
        if self.text is not None:
            return self.text
        everywhere = ScriptedVerdict(passed=bool(self.passed), evidence=question.answer)
        verdicts = self.verdicts or [everywhere] * len(question.lines)
        return json.dumps(
            {"verdicts": [{"line": n, **each.model_dump()} for n, each in enumerate(verdicts)]}
        )


class ReplyFile(_Entry):
    """A replies file: what models and the judge say. The first reply that matches is used."""

    replies: Annotated[list[Reply], Field(min_length=1)] | None = None
    judge: Annotated[list[JudgeReply], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _answers_something(self) -> Self:
        if self.replies is None and self.judge is None:
            raise PydanticCustomError("nothing", "it has neither replies nor judge")
        return self


class ScriptedModel:
    """Answers from `replies`: the calls one per turn, in order, then the text or the error.

    The reply's usage, cost and latency are those of its first turn; a reply without a cost cost
    nothing, since nothing was bought.
    """

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies

    async def complete(self, conversation: Conversation) -> Completion:
        """Raises `TrialError` when no reply matches, or when the reply is an error."""
        trial = conversation.trial
        if trial is None:
            raise TrialError("the scripted model answers trials alone")
        reply = next((reply for reply in self._replies if reply.matches(conversation)), None)
        if reply is None:
            raise TrialError(_no_reply(trial))
        turn = sum(isinstance(turn, ModelTurn) for turn in conversation.turns)
        calls = _calls(reply, trial, {tool.name for tool in conversation.tools})
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
        return replace(spent, text=(reply.text or "").replace("{case}", trial.case.name))

    async def close(self) -> None:
        """Nothing is open."""


class ScriptedJudge:
    """Judges by `replies`. One without a cost cost nothing, since nothing was bought."""

    by = JudgedBy("scripted")
    costs_money = False

    def __init__(self, replies: Sequence[JudgeReply]) -> None:
        self._replies = replies

    async def ask(self, question: Question, rejected: Sequence[Rejected]) -> Completion:  # noqa: ARG002
        """Raises `TrialError` when no reply matches, or when the reply is an error."""
        reply = next((reply for reply in self._replies if reply.matches(question)), None)
        if reply is None:
            raise TrialError(_no_verdict(question))
        if reply.error is not None:
            raise TrialError(
                reply.error,
                input_tokens=reply.usage.input_tokens,
                output_tokens=reply.usage.output_tokens,
                cost_usd=reply.cost_usd,
            )
        used = Usage(reply.usage.input_tokens, reply.usage.output_tokens)
        return Completion(reply.says(question), (), used, reply.cost_usd)

    async def close(self) -> None:
        """Nothing is open."""


def read_replies(raw: bytes, file: str) -> tuple[Reply, ...]:
    """The models' replies of a file, in its order; none where it is for the judge alone.

    Raises `UserErrors` (or `DocumentError`) with the file, line and field of all that is wrong.
    """
    return tuple(_reply_file(raw, file).replies or ())


def read_judge_replies(raw: bytes, file: str) -> tuple[JudgeReply, ...]:
    """The judge's replies of a file, in its order; none where it has no judge. Raises as above."""
    return tuple(_reply_file(raw, file).judge or ())


def _reply_file(raw: bytes, file: str) -> ReplyFile:
    document = read_document(raw, file)
    try:
        return ReplyFile.model_validate(document.value)
    except ValidationError as error:
        details = error.errors(include_url=False)
        problems = [_problem(document, detail) for detail in details[:MAX_PROBLEMS]]
        if len(details) > MAX_PROBLEMS:
            more = f"{len(details) - MAX_PROBLEMS} more problems are not listed"
            problems.append(UserError(more, place=document.place()))
        raise UserErrors(tuple(problems)) from None


def _calls(reply: Reply, trial: Trial, tools: Collection[str]) -> tuple[RequestedCall, ...]:
    """What the reply calls, the skill first where it is offered."""
    calls = [(call.name, call.arguments) for call in reply.tool_calls]
    if reply.files and trial.case.workspace is None:
        raise TrialError("the scripted reply writes files, and the case has no workspace")
    calls += [("write_file", {"path": path, "content": text}) for path, text in reply.files.items()]
    skill_tool = offered_tool_name(trial.arm.skill.name)
    offered = trial.case.mode is Mode.OFFERED
    if reply.loads_skill and offered and skill_tool in tools:
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


def _no_verdict(question: Question) -> str:
    return (
        f"no scripted verdict matches case {question.case!r} of skill {question.skill!r}; "
        "a last entry of `judge` without matchers would judge everything"
    )


_SHAPES: Mapping[str, type[_Entry]] = {
    "": ReplyFile,
    "replies": Reply,
    "tool_calls": ScriptedCall,
    "usage": ScriptedUsage,
    "judge": JudgeReply,
    "verdicts": ScriptedVerdict,
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
        return UserError(
            "it should be a mapping with the key 'replies', 'judge' or both", place=place
        )
    message = _WANTED.get(kind, detail["msg"].replace("Input should", "it should"))
    given = "" if kind == "missing" else f" (got {_shown(detail['input'])})"
    return UserError(f"{message}{given}", place=place)


def _did_you_mean(key: str, keys: Sequence[str]) -> str:
    close = difflib.get_close_matches(key.lower(), keys, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(keys)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
