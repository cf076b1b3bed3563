"""Situations about what ran, what was lost, and what the gate makes of it."""

from __future__ import annotations

import shutil

from conformance.situation import (
    Bars,
    Model,
    Reply,
    Situation,
    Story,
    case,
    cases,
    model,
    offered,
    says,
    skill_text,
    two_versions,
)
from git_repositories import GitRepository

GREETING_CASES = """\
cases:
  - name: greets the named person
    task: Say hello to Ada.
    assertions:
      - {kind: contains, value: Ada}
      - {kind: not_contains, value: "!"}
"""

HELLO = Reply("Hello, Ada.", input_tokens=63, output_tokens=9, cost_usd=4e-05, latency_ms=410)
LOUD = Reply("Hello, Ada!", input_tokens=52, output_tokens=5, cost_usd=3e-05, latency_ms=420)


def greeting(repository: GitRepository) -> None:
    """The seed's own example: 1.0.0 is loud, 1.1.0 is not."""
    kind = "Greet people by name."
    repository.commit({"greeting/SKILL.md": skill_text("1.0.0", "greeting", kind)})
    repository.commit(
        {
            "greeting/SKILL.md": skill_text("1.1.0", "greeting", f"{kind} Be warm, not loud."),
            "greeting/evals/greeting.yaml": GREETING_CASES,
        }
    )


def without_history(story: Story) -> Story:
    """The same files, in no repository."""

    def told(repository: GitRepository) -> None:
        story(repository)
        shutil.rmtree(repository.folder / ".git")

    return told


def three_skills(repository: GitRepository) -> None:
    """Two skills with a version before and cases, and one that has no cases."""
    for name in ("billing", "shipping", "untested"):
        repository.commit({f"skills/{name}/SKILL.md": skill_text("1.0", name)})
    for name in ("billing", "shipping"):
        repository.commit(
            {
                f"skills/{name}/SKILL.md": skill_text("2.0", name, "Be quick."),
                f"skills/{name}/evals/cases.yaml": cases(case(f"{name} one"), case(f"{name} two")),
            }
        )


def tagged(repository: GitRepository) -> None:
    """One case with the tag smoke, one without any."""
    two_versions(case("Refunds a Book", "    tags: [smoke]\n"), case("ships a book"))(repository)


TAGGED = model(
    {"Refunds a Book": says("P"), "ships a book": says("P", 80)},
    {"Refunds a Book": says("F", 90), "ships a book": says("P", 70)},
)

MIXED = two_versions(case("a"), case("b"))
OFFERED = two_versions(case("a"), offered("reaches"))
REACHES = Reply("yes", loads_skill=True, input_tokens=150, output_tokens=9, latency_ms=700)
DECLINES = Reply("no", input_tokens=80, output_tokens=4, latency_ms=300)

ONE = two_versions(case("a"))

SITUATIONS = (
    Situation(
        "the greeting story",
        greeting,
        model({"greets the named person": [HELLO]}, {"greets the named person": [LOUD]}),
    ),
    Situation(
        "the greeting story, backwards",
        greeting,
        model({"greets the named person": [LOUD]}, {"greets the named person": [HELLO]}),
        bars=Bars(min_delta=0.0),
    ),
    Situation("no baseline", MIXED, model({"a": says("P"), "b": says("F")}), baseline=""),
    Situation("no baseline, all pass", MIXED, model({"a": says("P"), "b": says("P")}), baseline=""),
    Situation(
        "against no skill",
        MIXED,
        model({"a": says("P"), "b": says("P")}, {"a": says("F", 40), "b": says("P", 60)}),
        baseline="none",
        bars=Bars(min_delta=0.5),
    ),
    Situation(
        "repetitions that disagree",
        MIXED,
        model(
            {"a": says("PPFPP"), "b": says("PPPPP", 50)},
            {"a": says("FPFFP", 90), "b": says("PPPPP", 70)},
        ),
        repeat=5,
        bars=Bars(min_pass_rate=0.9, min_delta=0.2),
    ),
    Situation(
        "an errored repetition of the candidate",
        MIXED,
        model(
            {"a": says("PEP"), "b": says("PPP")}, {"a": says("FFF", 70), "b": says("PFP", 90, 300)}
        ),
        repeat=3,
        they_also_say=("pass rate",),
        bars=Bars(min_delta=0.0),
    ),
    Situation(
        "errored repetitions of the baseline",
        MIXED,
        model(
            {"a": says("PPP"), "b": says("PPP")}, {"a": says("EFP", 60), "b": says("PEE", 80, 500)}
        ),
        repeat=3,
        bars=Bars(min_delta=0.25),
    ),
    Situation(
        "every baseline repetition of a case errored",
        MIXED,
        model({"a": says("PP"), "b": says("PP")}, {"a": says("EE", 60), "b": says("FP", 80, 350)}),
        repeat=2,
        bars=Bars(min_delta=0.5),
    ),
    Situation(
        "every baseline repetition errored",
        MIXED,
        model({"a": says("PP"), "b": says("PP")}, {"a": says("EE"), "b": says("EE")}),
        repeat=2,
    ),
    Situation(
        "every baseline repetition errored, with a bar",
        MIXED,
        model({"a": says("PP"), "b": says("PP")}, {"a": says("EE"), "b": says("EE")}),
        repeat=2,
        bars=Bars(min_delta=-1.0),
    ),
    Situation(
        "every candidate repetition of a case errored",
        MIXED,
        model({"a": says("EE"), "b": says("PP")}, {"a": says("PP", 60), "b": says("FF", 80, 420)}),
        repeat=2,
        they_also_say=("pass rate",),
        bars=Bars(min_delta=0.0),
    ),
    Situation(
        "offered against no skill: every baseline skipped",
        two_versions(offered("reaches"), offered("declines")),
        model({"reaches": [REACHES], "declines": [DECLINES]}),
        baseline="none",
        bars=Bars(min_pass_rate=0.5),
    ),
    Situation(
        "offered against no skill: every baseline skipped, with a bar",
        two_versions(offered("reaches")),
        model({"reaches": [REACHES]}),
        baseline="none",
        bars=Bars(min_delta=0.0),
    ),
    Situation(
        "offered against no skill, beside a loaded case",
        OFFERED,
        model({"a": says("PP"), "reaches": [REACHES]}, {"a": says("FP", 30, 200)}),
        baseline="none",
        repeat=2,
        bars=Bars(min_delta=0.5),
    ),
    Situation(
        "offered against no skill, and the loaded case lost",
        OFFERED,
        model({"a": says("P"), "reaches": [REACHES]}, {"a": says("E")}),
        baseline="none",
        bars=Bars(min_delta=0.0),
    ),
    Situation(
        "offered against the version before",
        OFFERED,
        model(
            {"a": says("PP"), "reaches": [REACHES, REACHES]},
            {"a": says("PP", 70), "reaches": [REACHES, DECLINES]},
        ),
        repeat=2,
        bars=Bars(min_delta=0.25),
    ),
    Situation(
        "a bar that is met exactly",
        ONE,
        model({"a": says("PPPF")}, {"a": says("PPFF", 40, 450)}),
        repeat=4,
        bars=Bars(min_pass_rate=0.75, min_delta=0.25),
    ),
    Situation(
        "a bar that is just missed",
        ONE,
        model({"a": says("PPPF")}, {"a": says("PPFF", 40, 450)}),
        repeat=4,
        bars=Bars(min_pass_rate=0.75, min_delta=0.2501),
    ),
    Situation(
        "a pass rate below one is enough",
        MIXED,
        model({"a": says("PPF"), "b": says("PPP")}, {"a": says("PPP", 90), "b": says("PPP")}),
        repeat=3,
        bars=Bars(min_pass_rate=0.8),
    ),
    Situation(
        "a pass rate below one is not reached",
        MIXED,
        model({"a": says("PFF"), "b": says("PPP")}, {"a": says("FFF"), "b": says("FFF", 10, 100)}),
        repeat=3,
        bars=Bars(min_pass_rate=0.8, min_delta=0.5),
    ),
    Situation(
        "several skills, one of them untested",
        three_skills,
        model(
            {
                "billing one": says("P"),
                "billing two": says("F", 90),
                "shipping one": says("P", 80),
                "shipping two": says("P", 70),
            },
            {
                "billing one": says("P", 60),
                "billing two": says("P", 50),
                "shipping one": says("F", 40),
                "shipping two": says("F", 30),
            },
        ),
        bars=Bars(min_pass_rate=0.7, min_delta=0.2),
    ),
    Situation(
        "bars of single skills, one of them untested",
        three_skills,
        model(
            {
                "billing one": says("P"),
                "billing two": says("F"),
                "shipping one": says("P"),
                "shipping two": says("P"),
            },
        ),
        baseline="none",
        bars=Bars(
            min_pass_rate=0.5,
            per_skill={"billing": 0.75, "shipping": 1.0, "untested": 0.5},
        ),
    ),
    Situation(
        "a tag filter",
        tagged,
        TAGGED,
        tag="smoke",
        bars=Bars(min_delta=1.0),
    ),
    Situation("a case filter, in another case", tagged, TAGGED, case="a BOOK"),
    Situation("a tag that no case has", tagged, TAGGED, tag="smoek"),
    Situation("a name that no case has", tagged, TAGGED, case="refnud", baseline=""),
    Situation("a tag and a name that no case has both of", tagged, TAGGED, tag="smoke", case="sh"),
    Situation(
        "a filter that empties one of two skills",
        three_skills,
        model({"billing one": says("P"), "billing two": says("P")}),
        case="billing",
        bars=Bars(per_skill={"shipping": 0.5}),
    ),
    Situation(
        "two runners, both above the bar",
        MIXED,
        {
            "steady": Model(
                {"a": says("PP", 9000), "b": says("PP", 8000)},
                {"a": says("FP", 7000), "b": says("PF", 7500)},
            ),
            "dear": Model(
                {"a": says("PP", 375), "b": says("PF", 300)},
                {"a": says("FF", 100), "b": says("FF", 120)},
            ),
        },
        repeat=2,
        bars=Bars(min_pass_rate=0.8, min_delta=0.5),
    ),
    Situation(
        "two runners, the better hides the worse",
        MIXED,
        {
            "better": Model({"a": says("P"), "b": says("P")}, {"a": says("F", 50), "b": says("F")}),
            "worse": Model({"a": says("P"), "b": says("F")}, {"a": says("P"), "b": says("P", 30)}),
        },
        bars=Bars(min_pass_rate=0.5, min_delta=0.0),
    ),
    Situation(
        "two runners, one without a comparable case",
        MIXED,
        {
            "first": Model({"a": says("P"), "b": says("P")}, {"a": says("E"), "b": says("E")}),
            "second": Model({"a": says("P"), "b": says("P")}, {"a": says("F", 50), "b": says("P")}),
        },
        bars=Bars(min_delta=0.1),
    ),
    Situation(
        "two runners, neither with a comparable case",
        MIXED,
        {
            "first": Model({"a": says("P"), "b": says("P")}, {"a": says("E"), "b": says("E")}),
            "second": Model({"a": says("P"), "b": says("P")}, {"a": says("E"), "b": says("E")}),
        },
        bars=Bars(min_delta=0.1),
    ),
    Situation(
        "no git repository",
        without_history(MIXED),
        model({"a": says("P"), "b": says("P")}),
    ),
    Situation(
        "no git repository, with a bar",
        without_history(MIXED),
        model({"a": says("P"), "b": says("P")}),
        bars=Bars(min_delta=0.0),
    ),
)
