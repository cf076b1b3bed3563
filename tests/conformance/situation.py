"""A situation that skill-delta and skill-lens are both put into, and what they made of it.

    Situation(
        "the edit helps",
        two_versions(case("refund")),
        model(candidate={"refund": says("PPP")}, baseline={"refund": says("PFF")}),
        repeat=3,
    )

One letter is one repetition: P passes, F fails, E errs. The files are real, and so is the history;
only the model is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from git_repositories import GitRepository

RUNNER = "scripted"
"""What the runner is called in either tool, where there is only one."""


@dataclass(frozen=True)
class Call:
    """A tool call that the model makes before it answers."""

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What the model says in one repetition. With `error` the provider gave out instead."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    loads_skill: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    latency_ms: int = 0
    error: str = ""


Script = Mapping[str, Sequence[Reply]]
"""By case name, the reply of each repetition. Names are unique across the skills of a situation."""


@dataclass(frozen=True)
class Model:
    """What one runner's model says in either arm. Where it is not `priced`, costs are unknown."""

    candidate: Script
    baseline: Script
    priced: bool = True


def model(candidate: Script, baseline: Script | None = None) -> Mapping[str, Model]:
    """The only runner's model; without a script of its own the baseline says the same."""
    return {RUNNER: Model(candidate, candidate if baseline is None else baseline)}


def says(letters: str, tokens: int = 100, milliseconds: int = 400) -> tuple[Reply, ...]:
    """One reply per letter; no two cost the same, so that no mean is right by accident."""
    return tuple(
        Reply(
            text={"P": "yes, done", "F": "no, sorry", "E": ""}[letter],
            input_tokens=tokens + 10 * position,
            output_tokens=7 + position,
            cost_usd=round(tokens * 1e-5 + position * 3e-6, 9),
            latency_ms=milliseconds + 15 * position,
            error="503 from the provider" if letter == "E" else "",
        )
        for position, letter in enumerate(letters)
    )


@dataclass(frozen=True)
class Bars:
    """What the gate asks for."""

    min_pass_rate: float = 1.0
    min_delta: float | None = None
    per_skill: Mapping[str, float] = field(default_factory=dict)
    fail_on_error: bool = True


Story = Callable[[GitRepository], object]
"""Writes a situation's files, and commits those that are history."""


@dataclass(frozen=True)
class Situation:
    """`baseline` is `none`, `previous` or, for one arm alone, nothing; `ceiling` is in US dollars.

    `they_also_say` are reasons of the gate that only skill-lens gives, beside one that both give:
    it counts a lost trial as one not passed.
    """

    name: str
    story: Story
    models: Mapping[str, Model]
    baseline: str = "previous"
    repeat: int = 1
    bars: Bars = field(default_factory=Bars)
    tag: str = ""
    case: str = ""
    ceiling: float | None = None
    they_also_say: tuple[str, ...] = ()


# ---------------------------------------------------------------- eval files and skills


def case(name: str, more: str = "") -> str:
    """A case that passes where the answer is yes. Its second check holds in any event."""
    return (
        f"  - name: {name}\n"
        f"    task: The task of {name}.\n"
        "    assertions:\n"
        "      - {kind: contains, value: 'yes'}\n"
        "      - {kind: not_contains, value: maybe}\n"
        f"{more}"
    )


def offered(name: str) -> str:
    """A case that passes where the model reaches for the skill."""
    return (
        f"  - name: {name}\n"
        f"    task: The task of {name}.\n"
        "    mode: offered\n"
        "    trajectory: {skill_triggered: true}\n"
    )


def cases(*written: str) -> str:
    """An eval file."""
    return "cases:\n" + "".join(written)


def skill_text(version: str = "", name: str = "order-support", rules: str = "Be kind.") -> str:
    """A SKILL.md with two paragraphs under its header."""
    declared = f'version: "{version}"\n' if version else ""
    return (
        f"---\nname: {name}\ndescription: Helps with {name}.\n{declared}---\n\n"
        f"# How to help\n\n{rules}\n"
    )


def two_versions(*written: str) -> Story:
    """Version 1.0 was committed, then 1.1; the cases are those of 1.1."""

    def story(repository: GitRepository) -> None:
        repository.commit({"order-support/SKILL.md": skill_text("1.0")})
        repository.commit(
            {
                "order-support/SKILL.md": skill_text("1.1", rules="Be kind, and brief."),
                "order-support/evals/cases.yaml": cases(*written),
            }
        )

    return story
