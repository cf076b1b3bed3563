"""Situations about which earlier version is the previous one, and what it shipped."""

from __future__ import annotations

from conformance.situation import (
    Bars,
    Situation,
    Story,
    case,
    cases,
    model,
    says,
    skill_text,
)
from git_repositories import GitRepository

EVALS = cases(case("a"))
BETTER = model({"a": says("P")}, {"a": says("F", 60)})
TWO_BETTER = model({"a": says("P"), "b": says("P")}, {"a": says("F", 60, 420), "b": says("F", 40)})
SKILL = "order-support/SKILL.md"

COUNT = "print(len(input()))\n"
ORDERS = "1234 paid\n"


def versions(*texts: str) -> Story:
    """The skill's texts, one commit each; the cases come with the last."""

    def story(repository: GitRepository) -> None:
        for text in texts:
            repository.commit({SKILL: text})
        repository.commit({"order-support/evals/cases.yaml": EVALS})

    return story


def uncommitted(before: Story, text: str) -> Story:
    """The story, and an edit that is not committed."""

    def story(repository: GitRepository) -> None:
        before(repository)
        repository.write({SKILL: text})

    return story


def moved(repository: GitRepository) -> None:
    """The folder moves by itself, with its bundle; the version is bumped afterwards."""
    repository.commit({"old/support/SKILL.md": skill_text("1.0"), "old/support/a.txt": "first"})
    repository.commit({"old/support/a.txt": "second"})
    repository.move("old/support", "new/order-support")
    repository.commit({"new/order-support/SKILL.md": skill_text("1.1")})
    repository.commit({"new/order-support/evals/cases.yaml": EVALS})


def moved_after_the_bump(repository: GitRepository) -> None:
    """What is earlier lies before two moves, at the first path."""
    repository.commit({"a/SKILL.md": skill_text("1.0"), "a/data/orders.txt": ORDERS})
    repository.commit({"a/SKILL.md": skill_text("1.1"), "a/data/orders.txt": ORDERS * 2})
    repository.move("a", "b")
    repository.commit({"b/SKILL.md": skill_text("1.1", rules="Edited between the moves.")})
    repository.move("b", "order-support")
    repository.commit({"order-support/evals/cases.yaml": EVALS})


def moved_and_edited(repository: GitRepository) -> None:
    """The commit that moved it edited it too: nothing proves that it is the same skill."""
    repository.commit({"old/SKILL.md": skill_text("1.0", rules="Be kind. " * 40)})
    repository.git("mv", "old", "order-support")
    repository.commit({SKILL: skill_text("1.1", rules="Be kind. " * 40)})
    repository.commit({"order-support/evals/cases.yaml": EVALS})


def copied(repository: GitRepository) -> None:
    """It began as another skill's file, byte for byte, whose history is not its own."""
    repository.commit({"returns/SKILL.md": skill_text("0.9", "returns")})
    repository.commit({"returns/SKILL.md": skill_text("1.0")})
    repository.commit({SKILL: skill_text("1.0"), "order-support/evals/cases.yaml": EVALS})
    repository.commit({"returns/SKILL.md": skill_text("2.0", "returns")})


def copied_and_the_source_deleted(repository: GitRepository) -> None:
    """The source goes in a later commit: that is still a copy."""
    repository.commit({"returns/SKILL.md": skill_text("0.9")})
    repository.commit({"returns/SKILL.md": skill_text("1.0")})
    repository.commit({SKILL: skill_text("1.0"), "order-support/evals/cases.yaml": EVALS})
    repository.git("rm", "-r", "--quiet", "returns")
    repository.commit_staged("remove the source")


def untracked(repository: GitRepository) -> None:
    repository.commit({"README.md": "Skills."})
    repository.write({SKILL: skill_text("1.1"), "order-support/evals/cases.yaml": EVALS})


def staged(repository: GitRepository) -> None:
    """Added, in a repository without any commit."""
    repository.write({SKILL: skill_text("1.1"), "order-support/evals/cases.yaml": EVALS})
    repository.git("add", "--all")


def bundled(repository: GitRepository) -> None:
    """A script changes after the last edit of version 1.0, and again with version 1.1.

    What no skill ships lies beside it: eval files, secrets, dependencies.
    """
    folder = "order-support"
    repository.commit(
        {
            SKILL: skill_text("1.0"),
            f"{folder}/scripts/count.py": COUNT,
            f"{folder}/references/policy.md": "Thirty days.\n",
            f"{folder}/templates/a b/réponse.md": "Dear …\n",
            f"{folder}/evals/cases.yaml": EVALS,
            f"{folder}/extra.eval.yaml": "cases: []\n",
            f"{folder}/.env": "KEY=sk-123\n",
            f"{folder}/node_modules/left-pad/index.js": "0\n",
        }
    )
    repository.commit({f"{folder}/scripts/count.py": COUNT * 2})
    repository.commit(
        {SKILL: skill_text("1.1"), f"{folder}/scripts/count.py": COUNT * 3}, "release"
    )


def bundled_since(repository: GitRepository) -> None:
    """Version 1.0 shipped nothing: its instructions never meet the scripts of 1.1."""
    repository.commit({SKILL: skill_text("1.0")})
    repository.commit({SKILL: skill_text("1.1"), "order-support/scripts/count.py": COUNT})
    repository.commit({"order-support/evals/cases.yaml": EVALS})


def at_the_root(repository: GitRepository) -> None:
    """The repository is the skill."""
    repository.commit({"SKILL.md": skill_text("1.0"), "data/orders.txt": ORDERS})
    repository.commit({"SKILL.md": skill_text("1.1"), "evals/cases.yaml": EVALS})


def oddly_named(repository: GitRepository) -> None:
    """A folder whose name is a pattern to git, beside one that the pattern matches."""
    folder = "skills/über [sb]*"
    repository.commit({f"{folder}/SKILL.md": skill_text("1.0"), f"{folder}/a.txt": "mine"})
    repository.commit({"skills/über sb/SKILL.md": skill_text("9.0", "other")})
    repository.commit({f"{folder}/SKILL.md": skill_text("1.1")})
    repository.commit({f"{folder}/evals/cases.yaml": EVALS})


def merged(repository: GitRepository) -> None:
    """Two branches edit the skill, one bumps it; the merge takes that one's side."""
    repository.commit({SKILL: skill_text("1.0"), "order-support/evals/cases.yaml": EVALS})
    repository.git("switch", "--quiet", "--create", "bump")
    repository.commit({SKILL: skill_text("1.1", rules="Be brief.")})
    repository.commit({SKILL: skill_text("2.0", rules="Be brief.")})
    repository.git("switch", "--quiet", "main")
    repository.commit({"order-support/notes.txt": "on main"})
    repository.merge("bump")


def renamed(repository: GitRepository) -> None:
    """The skill had another name: both arms stand under the candidate's."""
    repository.commit({SKILL: skill_text("1.0", "order-helper")})
    repository.commit({SKILL: skill_text("1.1"), "order-support/evals/cases.yaml": EVALS})


def fifty_commits(repository: GitRepository) -> None:
    """Two skills are edited 49 and 50 times without a bump: the 50th read is the last."""
    near, far = "near/SKILL.md", "far/SKILL.md"
    repository.commit({far: skill_text("1.0", "far")})
    repository.commit({near: skill_text("1.0", "near"), far: skill_text("1.1", "far", "0.")})
    for number in range(1, 50):
        repository.commit(
            {
                near: skill_text("1.1", "near", f"{number}."),
                far: skill_text("1.1", "far", f"{number}."),
            }
        )
    repository.write({"near/evals/a.yaml": cases(case("a")), "far/evals/b.yaml": cases(case("b"))})


def one_of_two_is_new(repository: GitRepository) -> None:
    repository.commit({SKILL: skill_text("1.0")})
    repository.commit({SKILL: skill_text("1.1"), "order-support/evals/cases.yaml": EVALS})
    repository.commit(
        {"new/SKILL.md": skill_text("1.0", "new"), "new/evals/b.yaml": cases(case("b"))}
    )


BROKEN = skill_text("1.0").replace('"1.0"', "1.20")

SITUATIONS = (
    Situation("moved by itself", moved, BETTER, bars=Bars(min_delta=1.0)),
    Situation("moved twice since the version before", moved_after_the_bump, BETTER),
    Situation("moved and edited at once", moved_and_edited, BETTER),
    Situation(
        "moved and edited at once, with a bar", moved_and_edited, BETTER, bars=Bars(min_delta=0.0)
    ),
    Situation("copied", copied, BETTER, bars=Bars(min_delta=0.0)),
    Situation("copied, and the source deleted later", copied_and_the_source_deleted, BETTER),
    Situation("untracked", untracked, BETTER),
    Situation("untracked, with a bar", untracked, BETTER, bars=Bars(min_delta=0.0)),
    Situation("staged, never committed", staged, BETTER),
    Situation("no earlier version", versions(skill_text("1.0")), BETTER),
    Situation(
        "no earlier version, with a bar",
        versions(skill_text("1.0"), skill_text("1.0", rules="Be brief.")),
        BETTER,
        bars=Bars(min_delta=-1.0),
    ),
    Situation(
        "unversioned: other content is an earlier version",
        versions(skill_text(rules="One."), skill_text(rules="Two."), skill_text(rules="Three.")),
        BETTER,
    ),
    Situation(
        "unversioned, and back to an older text",
        versions(skill_text(rules="One."), skill_text(rules="Two."), skill_text(rules="One.")),
        BETTER,
    ),
    Situation(
        "unversioned, edited and not committed",
        uncommitted(versions(skill_text(rules="One.")), skill_text(rules="Two.")),
        BETTER,
    ),
    Situation(
        "an edit without a bump is the same version",
        uncommitted(
            versions(skill_text("1.0"), skill_text("1.1"), skill_text("1.1", rules="Be brief.")),
            skill_text("1.1", rules="Be brief and kind."),
        ),
        BETTER,
    ),
    Situation(
        "a bump that is not committed",
        uncommitted(versions(skill_text("1.0"), skill_text("1.1")), skill_text("1.2")),
        BETTER,
    ),
    Situation(
        "back to an older version number",
        versions(skill_text("1.0"), skill_text("2.0"), skill_text("1.0")),
        BETTER,
    ),
    Situation(
        "versions that only their spelling tells apart",
        versions(skill_text("1.2"), skill_text("1.20")),
        BETTER,
    ),
    Situation(
        "a version that is declared no more",
        versions(skill_text("1.0"), skill_text()),
        BETTER,
    ),
    Situation(
        "a version that was not declared before", versions(skill_text(), skill_text("1.0")), BETTER
    ),
    Situation(
        "a past version that cannot be read is passed over",
        versions(skill_text("0.9"), BROKEN, skill_text("1.0")),
        BETTER,
    ),
    Situation("a bundle of its own commit", bundled, BETTER),
    Situation("no bundle at that commit", bundled_since, BETTER),
    Situation("at the root of the repository", at_the_root, BETTER),
    Situation("a folder whose name is a pattern", oddly_named, BETTER),
    Situation("merged from a branch", merged, BETTER),
    Situation("renamed", renamed, BETTER),
    Situation(
        "the last of fifty commits, and one beyond it",
        fifty_commits,
        TWO_BETTER,
        bars=Bars(min_delta=1.0),
    ),
    Situation(
        "one of two skills has no version before",
        one_of_two_is_new,
        TWO_BETTER,
    ),
    Situation(
        "one of two skills has no version before, with a bar",
        one_of_two_is_new,
        TWO_BETTER,
        bars=Bars(min_delta=0.5),
    ),
)
