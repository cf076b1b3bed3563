"""The DeltaScorecard: what a skill earns, case by case, as AgentOps' contract writes it.

The skill-on leg is the candidate, the skill-off leg the baseline that has no skill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import PurePath
from typing import Literal, TypeAlias, TypeVar

from skill_delta.core.paired import CasePair, PairedDelta
from skill_delta.core.scores import mean, measured
from skill_delta.core.trials import CaseKey, Outcome, Status, status_of
from skill_delta.core.wording import shown
from skill_delta.errors import UserError

AnyPath = TypeVar("AnyPath", bound=PurePath)


class BaselineMode(StrEnum):
    """Which legs of a hook-suppression run there are."""

    SKILL_ON = "skill-on"
    """The skill as authored, by itself: an ordinary run, and the default."""
    SKILL_OFF = "skill-off"
    """The skill suppressed, by itself: to see whether a failure comes from what hooks load."""
    BOTH = "both"
    """Both legs, compared: what the skill adds."""


Leg: TypeAlias = Literal[BaselineMode.SKILL_ON, BaselineMode.SKILL_OFF]
"""One run of a suite, with the skill or without."""

LegStatus: TypeAlias = Literal[
    Status.PASS, Status.FAIL, Status.ERROR, Status.SKIPPED, Status.INCONCLUSIVE
]
"""How one leg of a case ended, in the contract's words."""

Sign: TypeAlias = Literal[-1, 0, 1]

SINGLE_SHOT = (
    "no case was measured more than once in both legs, and one run of a real model is no evidence: "
    "repeat the run (`--repeat`)"
)
"""Why the scorecard of a single live run proves nothing."""


@dataclass(frozen=True, slots=True)
class CaseScore:
    """One case in both legs. Scores are shares of checks passed, in [0, 1]; 0 where unmeasured."""

    case_id: str
    skill_on_status: LegStatus
    skill_off_status: LegStatus
    skill_on_score: float
    skill_off_score: float

    @property
    def delta(self) -> Sign:
        """+1 where only the skill-on leg passes, -1 where only the other does, 0 where they agree.

        A leg that was lost does not pass: the statuses say whether there is a measurement behind.
        """
        on, off = (s is Status.PASS for s in (self.skill_on_status, self.skill_off_status))
        if on == off:
            return 0
        return 1 if on else -1


@dataclass(frozen=True, slots=True)
class Scorecard:
    """The legs of one run side by side.

    An aggregate is the mean score, in [0, 1], of the cases that both legs measured, because an
    outage is no score; 0 where there is no such case. `generated_at` is aware of its time zone.
    `authoritative_reason` says why this is no evidence; empty where nothing speaks against it.
    """

    suite_id: str
    suite_path: str
    generated_at: datetime
    skill_on_run_id: str
    skill_off_run_id: str
    skill_on_aggregate: float
    skill_off_aggregate: float
    per_case: tuple[CaseScore, ...]
    authoritative_reason: str = ""

    @property
    def aggregate_delta(self) -> float:
        """What the skill adds to the mean score, in [-1, 1]."""
        return _tidy(self.skill_on_aggregate - self.skill_off_aggregate)


def scorecard(
    delta: PairedDelta,
    *,
    suite_id: str,
    suite_path: str,
    generated_at: datetime,
    run_id: str,
    live: bool,
) -> Scorecard:
    """Score the candidate against the baseline, case by case in the order of the pairs.

    `run_id` is the run's, before the suffixes of its legs. `live` says that a real model was asked:
    what it says once, it may not say again.
    """
    name = _naming([pair.key for pair in delta.pairs])
    scored = [(pair, _case_score(pair, name)) for pair in delta.pairs]
    comparable = [case for pair, case in scored if pair.comparable]
    return Scorecard(
        suite_id=suite_id,
        suite_path=suite_path,
        generated_at=generated_at,
        skill_on_run_id=leg_run_id(run_id, BaselineMode.SKILL_ON),
        skill_off_run_id=leg_run_id(run_id, BaselineMode.SKILL_OFF),
        skill_on_aggregate=_tidy(mean(case.skill_on_score for case in comparable)),
        skill_off_aggregate=_tidy(mean(case.skill_off_score for case in comparable)),
        per_case=tuple(case for _, case in scored),
        authoritative_reason=SINGLE_SHOT if live and _is_single_shot(delta.pairs) else "",
    )


def _naming(keys: Sequence[CaseKey]) -> Callable[[CaseKey], str]:
    """The case's name, with skill and runner before it where the run has several of them."""
    several_skills = len({key.skill for key in keys}) > 1
    several_runners = len({key.runner for key in keys}) > 1

    def name(key: CaseKey) -> str:
        skill = [key.skill] if several_skills else []
        runner = [key.runner] if several_runners else []
        return " :: ".join([*skill, *runner, key.case])

    return name


def _case_score(pair: CasePair, name: Callable[[CaseKey], str]) -> CaseScore:
    return CaseScore(
        case_id=name(pair.key),
        skill_on_status=_leg_status(pair.candidate_outcomes),
        skill_off_status=_leg_status(pair.baseline_outcomes),
        skill_on_score=_leg_score(pair.candidate_outcomes),
        skill_off_score=_leg_score(pair.baseline_outcomes),
    )


def _leg_status(outcomes: Iterable[Outcome]) -> LegStatus:
    """Pass where every repetition passed; else the worst of them.

    The contract has no word for what a ceiling kept from starting: nothing is known of it, which is
    inconclusive. So is a leg without any repetition.
    """
    ended = {status_of(outcome) for outcome in outcomes}
    if ended == {Status.PASS}:
        return Status.PASS
    if Status.FAIL in ended:
        return Status.FAIL
    if Status.ERROR in ended:
        return Status.ERROR
    if Status.SKIPPED in ended and not ended & {Status.INCONCLUSIVE, Status.NOT_RUN}:
        return Status.SKIPPED
    return Status.INCONCLUSIVE


def _leg_score(outcomes: Iterable[Outcome]) -> float:
    return _tidy(mean(outcome.score for outcome in measured(outcomes)))


def _tidy(value: float) -> float:
    """To 12 decimals, so that 0.1 + 0.2 is 0.3; never -0.0."""
    return round(value, 12) + 0.0


def _is_single_shot(pairs: Sequence[CasePair]) -> bool:
    return all(
        min(len(measured(pair.candidate_outcomes)), len(measured(pair.baseline_outcomes))) < 2
        for pair in pairs
    )


def effective_disable_hooks(suite: bool, override: bool) -> bool:
    """Whether hooks are told to load no skills: the suite says so, or the leg of the run does."""
    return suite or override


def leg_run_id(base: str, leg: Leg) -> str:
    """`nightly` becomes `nightly-skill-on`."""
    return f"{base}-{leg}"


def leg_path(path: AnyPath, leg: Leg) -> AnyPath:
    """Where one leg's run record goes: `a/run.json` becomes `a/run-skill-on.json`.

    The extension is what follows the last dot of the file's name; a name that only begins with a
    dot has none. Raises `UserError` where the path names no file.
    """
    stem, extension = _split(path)
    return path.with_name(f"{stem}-{leg}{extension}")


def scorecard_path(path: AnyPath) -> AnyPath:
    """Where the scorecard goes beside the run records: `a/run-delta-scorecard.json`.

    Always JSON, whatever extension the records have. Raises `UserError` where the path names no
    file.
    """
    stem, _ = _split(path)
    return path.with_name(f"{stem}-delta-scorecard.json")


def _split(path: PurePath) -> tuple[str, str]:
    if path.name in {"", ".."}:
        raise UserError(
            f"{shown(str(path))} names no file to write", hint="name a file, such as run.jsonl"
        )
    # Not `path.suffix`, which reads a dot at the end differently from one Python to the next.
    stem, dot, extension = path.name.rpartition(".")
    return (stem, f"{dot}{extension}") if stem.strip(".") else (path.name, "")
