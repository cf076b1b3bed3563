"""A bare model as a judge: one question, and what was wrong with its replies so far."""

from __future__ import annotations

from collections.abc import Sequence

from skill_delta.core.conversation import Completion, Conversation, ModelTurn, Turn, UserTurn
from skill_delta.core.judging import JUDGE_INSTRUCTIONS, JudgedBy, Question, Rejected
from skill_delta.ports import Model


class ModelJudge:
    """Asks `model`. Each question is a conversation of its own, without any tool."""

    costs_money = True

    def __init__(self, by: JudgedBy, model: Model) -> None:
        self.by = by
        self._model = model

    async def ask(self, question: Question, rejected: Sequence[Rejected]) -> Completion:
        """Raises `TrialError` and `ServiceError` as the model does."""
        turns: tuple[Turn, ...] = (UserTurn(question.prompt),)
        for earlier in rejected:
            turns = (*turns, ModelTurn(earlier.reply), UserTurn(earlier.complaint))
        return await self._model.complete(Conversation(None, JUDGE_INSTRUCTIONS, turns))

    async def close(self) -> None:
        """Let go of the model's connections."""
        await self._model.close()
