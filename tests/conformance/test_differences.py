"""Where skill-delta and skill-lens 0.25 differ, and why: each difference is meant.

The seed page is silent on all of these, or says what skill-delta does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from conformance.measured import Both, CaseOf, Counts, Measured, Run, Version, disagreements
from conformance.situation import (
    RUNNER,
    Bars,
    Call,
    Model,
    Situation,
    case,
    cases,
    model,
    offered,
    says,
    skill_text,
    two_versions,
)
from git_repositories import GitRepository
from skill_delta.core.prompt import system_prompt
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode
from skill_delta.history.working_copy import find_skills

SKILL = "order-support/SKILL.md"
EVALS = {"order-support/evals/cases.yaml": cases(case("a"))}
ONE = two_versions(case("a"))
TWO = two_versions(case("a"), case("b"))
PASSES = model({"a": says("P")}, {"a": says("F", 60)})

A, B = (CaseOf("order-support", name, RUNNER) for name in ("a", "b"))


# ---------------------------------------------------------------- the gate


def test_a_lost_trial_is_in_no_pass_rate(both: Both) -> None:
    """Two of two passed, not two of three: an outage says nothing about the skill.

    It fails the gate by `fail-on-error`, which is the rule for it, in both tools; without that
    rule skill-lens still fails it, by its pass rate.
    """
    lost = Situation("", ONE, model({"a": says("PEP")}, {"a": says("PPP")}), repeat=3, bars=Bars())
    ours, theirs = both(lost)
    assert ours.gate.candidate_reasons == ("lost trials",)
    assert theirs.gate.candidate_reasons == ("lost trials", "pass rate")

    ours, theirs = both(replace(lost, bars=Bars(fail_on_error=False)))
    assert set(disagreements(ours, theirs)) == {"gate"}
    assert (ours.gate.exit_code, theirs.gate.exit_code) == (0, 1)
    assert theirs.gate.candidate_reasons == ("pass rate",)


def test_a_dead_provider_is_not_a_failure(both: Both) -> None:
    """Where every trial of the candidate was lost, nothing was measured: exit 3, not 1.

    The gate passes in neither tool. With a required delta the seed names a reason of its own, that
    nothing was comparable, and both fail.
    """
    dead = Situation("", TWO, model({"a": says("E"), "b": says("E")}))
    ours, theirs = both(dead)
    assert set(disagreements(ours, theirs)) == {"gate"}
    assert not ours.gate.passed
    assert not theirs.gate.passed
    assert (ours.gate.exit_code, theirs.gate.exit_code) == (3, 1)

    ours, theirs = both(replace(dead, bars=Bars(min_delta=0.0)))
    assert (ours.gate.exit_code, theirs.gate.exit_code) == (1, 1)
    assert ours.gate.delta_reasons == theirs.gate.delta_reasons == ("nothing comparable",)


def test_a_delta_that_equals_its_bar_meets_it(both: Both) -> None:
    """Nine of ten against eight of ten is +10%, whatever binary fractions make of it.

    skill-lens says here that "+10% is below the required +10%".
    """
    ours, theirs = both(
        Situation(
            "",
            ONE,
            model({"a": says("PPPPPPPPPF")}, {"a": says("PPPPPPPPFF")}),
            repeat=10,
            bars=Bars(min_pass_rate=0.9, min_delta=0.1),
        )
    )

    assert set(disagreements(ours, theirs)) == {"gate"}
    assert ours.gate.passed
    assert theirs.gate.delta_reasons == ("below the bar",)


def test_repetitions_that_disagree_are_named_where_no_baseline_ran(both: Both) -> None:
    """skill-lens names unstable cases only where there is a delta."""
    ours, theirs = both(
        Situation(
            "",
            two_versions(offered("a")),
            model(
                {"a": [replace(reply, loads_skill=reply.text[0] == "y") for reply in says("PF")]}
            ),
            baseline="none",
            repeat=2,
            bars=Bars(min_pass_rate=0.5),
        )
    )

    assert set(disagreements(ours, theirs)) == {"high_variance"}
    assert ours.high_variance == {(A, "candidate")}
    assert theirs.high_variance == frozenset()


def test_a_ceiling_leaves_what_was_measured(both: Both) -> None:
    """Both arms run in turn, so half of the repetitions still make a pair.

    skill-lens runs one arm after the other, and leaves out every case that was cut. It fails the
    gate; to skill-delta a run that was cut short is not measured.
    """
    ours, theirs = both(
        Situation(
            "",
            ONE,
            model({"a": says("PPP", 1000)}, {"a": says("FFF", 1000)}),
            repeat=3,
            ceiling=0.035,
        )
    )

    assert ours.counts == {(A, "candidate"): Counts(2), (A, "baseline"): Counts(failed=2)}
    assert theirs.counts == {(A, "candidate"): Counts(3), (A, "baseline"): Counts(failed=1)}
    assert not ours.left_out
    assert theirs.left_out == {A}
    assert ours.numbers["all: pass rate"] == 1.0
    assert ours.gate.candidate_reasons == theirs.gate.candidate_reasons == ("cut short",)
    assert (ours.gate.exit_code, theirs.gate.exit_code) == (3, 1)


def test_a_budget_that_nobody_can_check_is_neither_kept_nor_exceeded(both: Both) -> None:
    """Where no price is known a limit in dollars is not evaluated, and the trial is inconclusive.

    skill-lens fails it. Neither gate passes; ours leaves the case out of the delta.
    """
    priceless = Model({"a": says("P")}, {"a": says("P")}, priced=False)
    limited = two_versions(case("a", "    budget: {max_cost_usd: 1}\n"))
    ours, theirs = both(Situation("", limited, {RUNNER: priceless}))

    assert ours.counts[A, "candidate"] == Counts(inconclusive=1)
    assert theirs.counts[A, "candidate"] == Counts(failed=1)
    assert ours.left_out == {A}
    assert not theirs.left_out
    assert ours.gate == theirs.gate
    assert not ours.gate.passed


# ---------------------------------------------------------------- what the model is told


def test_a_call_without_an_answer_is_quoted_in_its_own_letters(both: Both) -> None:
    """The text is the same but for escapes: `é`, where skill-lens writes its number."""
    mock = (
        "    tools: [{name: find, parameters: {q: string}, returns: [{when: {q: a}, value: b}]}]\n"
    )
    asks = [replace(reply, calls=(Call("find", {"q": "é"}),)) for reply in says("P")]
    ours, theirs = both(Situation("", two_versions(case("a", mock)), model({"a": asks})))

    assert set(disagreements(ours, theirs)) == {"tool_answers"}
    run = Run(A, "candidate", 0)
    said = 'no response is scripted for find with arguments {"q": "%s"}'
    assert ours.tool_answers[run] == (("find", said % "é"),)
    assert theirs.tool_answers[run] == (("find", said % r"\u00e9"),)


def test_an_offered_skill_is_offered_without_a_word(skill_lens: None) -> None:
    """The tool's name and description are all; skill-lens adds two sentences about tools.

    In either tool both arms are told the same, so the deltas are fair; the rates may differ.
    """
    from skill_lens.models import EvalCase, Skill  # type: ignore[import-untyped]  # noqa: PLC0415
    from skill_lens.runners.prompting import (  # type: ignore[import-untyped]  # noqa: PLC0415
        instructions,
    )

    theirs = instructions(
        Skill(name="orders", description="Helps.", instructions="Be kind.", path=Path()),
        EvalCase(name="a", task="t", mode="offered"),
        has_workspace=False,
    )
    ours = system_prompt(SkillVersion("orders", "Helps.", "Be kind."), Mode.OFFERED)

    assert ours == "You are a helpful assistant."
    assert theirs.startswith(f"{ours} Some capabilities are available to you as tools.")


# ---------------------------------------------------------------- which version, and its files


def test_the_version_may_stand_in_the_metadata(both: Both) -> None:
    """The Agent Skills specification knows no other place; to skill-lens such a skill has none.

    So the edit that did not bump it is an earlier version there.
    """

    def story(repository: GitRepository) -> None:
        for version, rules in (("1.0", "One."), ("1.1", "Two."), ("1.1", "Three.")):
            declared = f'metadata:\n  version: "{version}"\n---\n'
            text = skill_text(rules=rules).replace("---\n\n", f"{declared}\n")
            repository.commit({SKILL: text})
        repository.commit(EVALS)

    ours, theirs = both(Situation("", story, PASSES))

    assert set(disagreements(ours, theirs)) == {"versions"}
    assert "One." in _prompt(ours)
    assert "Two." in _prompt(theirs)


def test_line_ends_are_not_content(both: Both) -> None:
    """An unversioned skill committed with CRLF differs from its own commit in skill-lens alone."""

    def story(repository: GitRepository) -> None:
        for rules in ("One.", "Two."):
            repository.commit({SKILL: skill_text(rules=rules).replace("\n", "\r\n")})
        repository.commit(EVALS)

    ours, theirs = both(Situation("", story, PASSES))

    assert set(disagreements(ours, theirs)) == {"versions"}
    assert "One." in _prompt(ours)
    assert "Two." in _prompt(theirs)


def test_a_past_file_that_is_no_skill_is_no_version(both: Both) -> None:
    """An empty SKILL.md, one whose frontmatter never ends, a link: none of them is compared with.

    Against the empty one skill-lens measures `none` under the name of `previous`.
    """

    def story(repository: GitRepository) -> None:
        repository.commit({SKILL: skill_text("1.0")})
        repository.commit({SKILL: "---\nname: order-support\n\nBe kind.\n"})
        (repository.folder / SKILL).unlink()
        (repository.folder / SKILL).symlink_to("../README.md")
        repository.commit({"README.md": "Skills."})
        (repository.folder / SKILL).unlink()
        repository.commit({SKILL: ""})
        repository.commit({SKILL: skill_text("1.1"), **EVALS})

    ours, theirs = both(Situation("", story, PASSES))

    assert set(disagreements(ours, theirs)) == {"versions"}
    assert "Be kind." in _prompt(ours)
    assert _prompt(theirs) == "You are a helpful assistant."


def test_a_skill_without_a_name_is_called_after_the_folder_of_its_commit(both: Both) -> None:
    """As the seed has it: "same name and path as recorded in that commit"."""

    def story(repository: GitRepository) -> None:
        for version in ("1.0", "1.1"):
            nameless = skill_text(version).replace("name: order-support\n", "")
            repository.commit({"old/SKILL.md": nameless})
        repository.move("old", "order-support")
        repository.commit(EVALS)

    ours, theirs = both(Situation("", story, PASSES))

    assert set(disagreements(ours, theirs)) == {"versions"}
    assert _prompt(ours).startswith("# old\n")
    assert _prompt(theirs).startswith("# order-support\n")


def test_links_and_nested_skills_are_in_no_bundle(both: Both) -> None:
    """Nothing of a pull request is followed, and a skill within a skill ships its own files."""

    def story(repository: GitRepository) -> None:
        repository.write({SKILL: skill_text("1.0"), "order-support/a.txt": "a"})
        (repository.folder / "order-support/link.txt").symlink_to("a.txt")
        repository.commit({"order-support/inner/SKILL.md": skill_text("1.0", "inner")})
        repository.commit({SKILL: skill_text("1.1"), **EVALS})

    ours, theirs = both(Situation("", story, PASSES))

    assert set(disagreements(ours, theirs)) == {"versions"}
    assert _files(ours) == {"a.txt"}
    assert _files(theirs) == {"a.txt", "link.txt", "inner/SKILL.md"}


# ---------------------------------------------------------------- what is found


def test_eval_files_beside_the_skill_count_as_well(both: Both) -> None:
    """skill-lens does not look at `*.eval.yaml` where there is a folder `evals`."""

    def story(repository: GitRepository) -> None:
        two_versions(case("a"))(repository)
        repository.commit({"order-support/more.eval.yaml": cases(case("b"))})

    ours, theirs = both(Situation("", story, model({"a": says("P"), "b": says("P")})))

    assert {of for of, _ in ours.counts} == {A, B}
    assert {of for of, _ in theirs.counts} == {A}


def test_two_skills_of_one_name_are_two(both: Both) -> None:
    """They are told apart by their folders; skill-lens takes their cases for one skill's."""

    def story(repository: GitRepository) -> None:
        for folder, name in (("a", "a"), ("b", "b")):
            repository.commit({f"{folder}/SKILL.md": skill_text("1.0")})
            repository.commit(
                {
                    f"{folder}/SKILL.md": skill_text("1.1"),
                    f"{folder}/evals/cases.yaml": cases(case(name)),
                }
            )

    ours, theirs = both(Situation("", story, model({"a": says("P"), "b": says("P")}), baseline=""))

    assert {of.skill for of, _ in ours.counts} == {"order-support (a)", "order-support (b)"}
    assert {of.skill for of, _ in theirs.counts} == {"order-support"}


def test_a_skill_within_the_named_one_is_found(skill_lens: None, tmp_path: Path) -> None:
    """skill-lens looks below a folder only where that folder is no skill itself."""
    from skill_lens.skills.loader import load_skills  # type: ignore[import-untyped]  # noqa: PLC0415

    for folder, name in ((".", "outer"), ("skills/inner", "inner")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "SKILL.md").write_text(skill_text(name=name))

    assert {found.skill.name for found in find_skills([tmp_path])} == {"outer", "inner"}
    assert {found.name for found in load_skills(tmp_path)} == {"outer"}


def _previous(measured: Measured) -> Version:
    [version] = measured.versions.values()
    assert version is not None
    return version


def _prompt(measured: Measured) -> str:
    return _previous(measured).prompt


def _files(measured: Measured) -> set[str]:
    return set(_previous(measured).files)
