"""Grading with a judge: asked again where it says nothing, and lost rather than guessed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from builders import Cost, a_transcript, a_trial
from conversations import a_dollar_per_token, a_model
from model_stand_in import Answer, ModelStandIn, Received, refuses, says
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.checks.text import Contains
from skill_delta.core.checks.tools import SkillTriggered
from skill_delta.core.conversation import Completion
from skill_delta.core.judging import JUDGE_INSTRUCTIONS, JudgedBy, Judging, Question, Rejected
from skill_delta.core.scores import judge_spend_of, own_spend_of, spend_of
from skill_delta.core.suite import Check
from skill_delta.core.transcript import Usage
from skill_delta.core.trials import Errored, Halt, Scored, Status, Trial
from skill_delta.errors import ServiceError, TrialError
from skill_delta.grading import MAX_ASKED, grade, graded
from skill_delta.ports import Judge
from skill_delta.runners.judge import ModelJudge

ANSWER = "I have refunded order 1234."
NAMES_IT = Check("contains[0]", Contains(kind="contains", value="1234"))
RUBRIC = (
    Check("judge[0]", RubricLine(line="It names the order.")),
    Check("judge[1]", RubricLine(line="It refunds the order.")),
)
OWN_COST = Cost(100, 0.5)


def verdict(*passed: bool, evidence: str = "order 1234") -> str:
    entries = [
        {"line": line, "passed": each, "evidence": evidence, "reason": "No."}
        for line, each in enumerate(passed)
    ]
    return json.dumps({"verdicts": entries})


def a_judged_trial(*checks: Check, arm: str = "candidate") -> Trial:
    trial = a_trial(arm=arm)
    return replace(trial, case=replace(trial.case, checks=checks or (NAMES_IT, *RUBRIC)))


class FakeJudge:
    """A judge at the port: says, or raises, one thing after the other."""

    by = JudgedBy("openai", "gpt-5")
    costs_money = True

    def __init__(self, *says: str | Exception) -> None:
        self._says = list(says)
        self.asked: list[tuple[Question, tuple[Rejected, ...]]] = []

    async def ask(self, question: Question, rejected: Sequence[Rejected]) -> Completion:
        self.asked.append((question, tuple(rejected)))
        said = self._says.pop(0)
        if isinstance(said, Exception):
            raise said
        return Completion(said, usage=Usage(10, 1), cost_usd=0.25)

    async def close(self) -> None:
        """Nothing is open."""


def graded_by(
    judge: Judge | None, trial: Trial | None = None, answer: str = ANSWER
) -> tuple[Scored | Errored, list[Halt]]:
    halts: list[Halt] = []
    transcript = a_transcript(answer, OWN_COST)
    outcome = asyncio.run(grade(trial or a_judged_trial(), transcript, judge, halts.append))
    return outcome, halts


def scored_by(judge: Judge | None, trial: Trial | None = None, answer: str = ANSWER) -> Scored:
    outcome, halts = graded_by(judge, trial, answer)
    assert isinstance(outcome, Scored)
    assert not halts
    return outcome


def lost_by(judge: Judge) -> tuple[Errored, list[Halt]]:
    outcome, halts = graded_by(judge)
    assert isinstance(outcome, Errored)
    return outcome, halts


def test_one_request_judges_all_lines() -> None:
    """And each is a check like any other."""
    judge = FakeJudge(verdict(True, False))

    outcome = scored_by(judge)

    assert [(check.id, check.passed) for check in outcome.checks] == [
        ("contains[0]", True),
        ("judge[0]", True),
        ("judge[1]", False),
    ]
    assert outcome.status is Status.FAIL
    assert len(judge.asked) == 1


def test_the_judges_cost_is_apart() -> None:
    """A part of the bill, and no part of what the arm used."""
    outcome = scored_by(FakeJudge(verdict(True, True)))

    assert outcome.transcript.usage.tokens == 100
    assert own_spend_of(outcome).cost_usd == 0.5
    assert judge_spend_of(outcome).usage == Usage(10, 1)
    assert spend_of(outcome).cost_usd == 0.75
    assert spend_of(outcome).usage.tokens == 111


@pytest.mark.parametrize("nonsense", ["Fine.", verdict(True), verdict(True, True, True), ""])
def test_a_reply_that_is_no_verdict_is_asked_for_again(nonsense: str) -> None:
    """Told what was wrong with it; every attempt is paid for."""
    judge = FakeJudge(nonsense, verdict(True, True))

    outcome = scored_by(judge)

    assert outcome.status is Status.PASS
    assert outcome.judging is not None
    assert outcome.judging.replies == (nonsense, verdict(True, True))
    assert judge_spend_of(outcome).cost_usd == 0.5
    [(first, nothing), (second, (rejected,))] = judge.asked
    assert (first, nothing, rejected.reply) == (second, (), nonsense)


def test_a_judge_that_never_gives_a_verdict_loses_the_trial() -> None:
    """It is errored, with the answer kept, and never a low score."""
    outcome, halts = lost_by(FakeJudge(*["Fine."] * MAX_ASKED))

    assert outcome.reason == (
        "judge: its reply is no verdict on the rubric: it is not JSON (asked 3 times)"
    )
    assert outcome.transcript is not None
    assert own_spend_of(outcome).cost_usd == 0.5
    assert spend_of(outcome).cost_usd == 0.5 + 3 * 0.25
    assert not halts


def test_a_judge_that_gives_out_loses_the_trial_and_not_the_run() -> None:
    """With what it had cost until then."""
    lost = TrialError("HTTP 503", input_tokens=5, cost_usd=0.125)

    outcome, halts = lost_by(FakeJudge("Fine.", lost))

    assert outcome.reason == "judge: HTTP 503"
    assert judge_spend_of(outcome).cost_usd == 0.375
    assert judge_spend_of(outcome).usage == Usage(15, 1)
    assert not halts


def test_a_judge_that_would_refuse_everything_ends_the_run() -> None:
    """What this trial cost stays on the bill."""
    outcome, halts = lost_by(FakeJudge(ServiceError("the key was refused")))

    assert outcome.reason == "judge: the key was refused"
    assert spend_of(outcome).cost_usd == 0.5
    assert [halt.reason for halt in halts] == ["judge: the key was refused"]


def test_an_unknown_price_stays_unknown() -> None:
    """The judge's, and so the bill's; not the arm's own."""
    outcome, _ = lost_by(FakeJudge(TrialError("gone", input_tokens=5, cost_usd=None)))

    assert judge_spend_of(outcome).cost_usd is None
    assert spend_of(outcome).cost_usd is None
    assert own_spend_of(outcome).cost_usd == 0.5


def test_a_trial_that_is_lost_already_is_not_judged() -> None:
    """Nobody would read the verdict."""
    judge = FakeJudge()
    unseen = Check("skill_triggered", SkillTriggered(expected=True))

    outcome, _ = graded_by(judge, a_judged_trial(unseen, *RUBRIC))

    assert isinstance(outcome, Errored)
    assert not judge.asked


def test_a_case_without_a_rubric_asks_nobody() -> None:
    """A judge costs nothing where there is nothing to judge."""
    judge = FakeJudge()

    outcome = scored_by(judge, a_judged_trial(NAMES_IT))

    assert outcome.judging is None
    assert not judge.asked


def test_without_a_judge_nothing_unmeasured_passes() -> None:
    """The other checks are read, the rubric is not evaluated."""
    assert scored_by(None).status is Status.INCONCLUSIVE


def test_verdicts_are_read_again_without_asking() -> None:
    """A record has all that it takes."""
    judging = Judging(
        FakeJudge.by, ("It names the order.", "It refunds the order."), "", (verdict(True, False),)
    )

    again = graded(a_judged_trial(), a_transcript(ANSWER), judging)

    assert again == scored_again(verdict(True, False), judging)


def scored_again(reply: str, judging: Judging) -> Scored:
    outcome = scored_by(FakeJudge(reply))
    return replace(outcome, transcript=a_transcript(ANSWER), judging=judging)


def test_a_recorded_reply_that_is_none_loses_the_trial() -> None:
    """Whoever wrote the record may have put anything in it."""
    judging = Judging(FakeJudge.by, ("It names the order.",), "", ("Fine.",))

    again = graded(a_judged_trial(), a_transcript(ANSWER), judging)

    assert isinstance(again, Errored)
    assert "no verdict on the rubric" in again.reason


def test_a_rubric_that_is_gone_needs_no_verdict() -> None:
    """The trial was lost for want of one; the checks that are left can be read."""
    judging = Judging(FakeJudge.by, ("It names the order.",), "", error="HTTP 503")

    again = graded(a_judged_trial(NAMES_IT), a_transcript(ANSWER), judging)

    assert isinstance(again, Scored)
    assert again.status is Status.PASS


# ---------------------------------------------------------------- at the wire

Script = Answer | Sequence[Answer] | Callable[[Received], Answer]


def at_the_wire(script: Script, *trials: Trial) -> tuple[list[Scored | Errored], list[Received]]:
    async def story(server: ModelStandIn) -> list[Scored | Errored]:
        judge = ModelJudge(JudgedBy("openai", "gpt-5"), a_model(server, price=a_dollar_per_token))
        try:
            return [
                await grade(trial, a_transcript(ANSWER), judge, lambda _: None) for trial in trials
            ]
        finally:
            await judge.close()

    with ModelStandIn(script) as server:
        return asyncio.run(story(server)), server.requests


def test_the_arms_are_blinded() -> None:
    """The same answer brings the same request, byte for byte, whichever arm gave it."""
    arms = [a_judged_trial(arm=arm) for arm in ("candidate", "previous", "none")]

    _, requests = at_the_wire(says(verdict(True, True)), *arms)

    assert len({request.body for request in requests}) == 1
    assert requests[0].system == JUDGE_INSTRUCTIONS
    assert requests[0].tools == {}
    assert b"order-support" not in requests[0].body


def test_a_second_attempt_shows_the_judge_its_first() -> None:
    """With what was wrong, in our own words."""
    [outcome], requests = at_the_wire([says("Fine."), says(verdict(True, True))], a_judged_trial())

    assert isinstance(outcome, Scored)
    roles = [message["role"] for message in requests[1].json["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "it is not JSON" in requests[1].last
    assert judge_spend_of(outcome).usage == Usage(240, 16)


def test_a_judge_that_is_cut_short_is_no_verdict() -> None:
    """Its trial is lost, and what the server billed for it is not."""
    [outcome], _ = at_the_wire(says('{"verdicts": [', finish="length"), a_judged_trial())

    assert isinstance(outcome, Errored)
    assert judge_spend_of(outcome).usage == Usage(120, 8)


def test_an_endpoint_without_the_model_is_told_once() -> None:
    """A 404 is the same for every answer."""
    [outcome], requests = at_the_wire(refuses(404), a_judged_trial())

    assert isinstance(outcome, Errored)
    assert "check the base URL and the model's name, 'gpt-test'" in outcome.reason
    assert len(requests) == 1
