"""`previous` is the newest earlier version that git can prove."""

from __future__ import annotations

import os
import shutil
from pathlib import Path, PurePosixPath

import pytest

from git_repositories import GitRepository, skill
from resolved_skills import Resolve, files_of, nothing, refused, version
from skill_delta.core.skills import UnresolvedReason
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills
from skill_delta.ports import Baselines

ORDERS = "skills/orders/SKILL.md"


# ---------------------------------------------------------------- which version qualifies


def test_with_a_version_the_first_other_version_qualifies(
    repository: GitRepository, resolve: Resolve
) -> None:
    """An edit that did not bump the version is still this version, whatever it changed."""
    old = repository.commit({ORDERS: skill("old", version="1.0")})
    repository.commit({ORDERS: skill("new", version="2.0")})
    repository.commit({ORDERS: skill("newer", version="2.0")})

    found = version(resolve())

    assert (found.commit, found.version, found.instructions) == (old, "1.0", "old")


def test_without_a_version_the_first_other_content_qualifies(
    repository: GitRepository, resolve: Resolve
) -> None:
    """The text is the best evidence there is."""
    repository.commit({ORDERS: skill("old")})
    middle = repository.commit({ORDERS: skill("middle")})
    repository.commit({ORDERS: skill("new")})

    assert version(resolve()).commit == middle


def test_no_version_differs_from_any_version(repository: GitRepository, resolve: Resolve) -> None:
    """The commit before the first version was declared is an earlier one."""
    unversioned = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("old", version="1.0")})

    assert version(resolve()).commit == unversioned


def test_the_candidate_is_the_working_copy(repository: GitRepository, resolve: Resolve) -> None:
    """An edit that is not committed yet is compared with HEAD."""
    head = repository.commit({ORDERS: skill("committed")})
    repository.write({ORDERS: skill("edited")})

    assert version(resolve()).commit == head


def test_an_unchanged_working_copy_is_not_its_own_past(
    repository: GitRepository, resolve: Resolve
) -> None:
    """HEAD has the same content, so it is passed over."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    repository.commit({"README.md": "unrelated"})

    assert version(resolve()).commit == old


def test_line_ends_and_byte_order_marks_are_no_content(
    repository: GitRepository, resolve: Resolve
) -> None:
    """A checkout that turns line ends does not differ from its own commit: no model sees them."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    repository.commit({ORDERS: "\ufeff" + skill("new")})
    repository.write({ORDERS: skill("new").replace("\n", "\r\n")})

    assert version(resolve()).commit == old


@pytest.mark.parametrize("broken", ["---\nname: [\n---\n", "---\nversion: 1.20\n---\nx", ""])
def test_a_version_that_does_not_parse_cannot_qualify(
    repository: GitRepository, resolve: Resolve, broken: str
) -> None:
    """It is passed over, and never ends the run."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: broken})
    repository.commit({ORDERS: skill("new")})

    assert version(resolve()).commit == old


def test_the_search_may_start_elsewhere(repository: GitRepository, resolve: Resolve) -> None:
    """On a pull request it starts from the base, not from HEAD."""
    old = repository.commit({ORDERS: skill("old")})
    repository.git("branch", "base")
    repository.commit({ORDERS: skill("newer")})
    repository.commit({ORDERS: skill("newest")})

    assert version(resolve(start="base")).commit == old


def test_it_carries_the_name_and_folder_of_its_commit(
    repository: GitRepository, resolve: Resolve
) -> None:
    """Reports group by the candidate's name; the version keeps its own."""
    repository.commit({"old/place/SKILL.md": skill("old", name="place")})
    repository.move("old/place", "skills/orders")
    repository.commit({ORDERS: skill("new")})

    found = version(resolve())

    assert (found.name, found.folder) == ("place", PurePosixPath("skills/orders"))


# ---------------------------------------------------------------- moves, copies, edited moves


def test_a_move_is_followed(repository: GitRepository, resolve: Resolve) -> None:
    """A move by itself, byte for byte, carries on at the old path, with the old folder's files."""
    old = repository.commit({"a/SKILL.md": skill("old"), "a/run.py": "old"})
    repository.commit({"a/SKILL.md": skill("new"), "a/run.py": "new"})
    repository.move("a", "skills/orders")
    repository.commit({"skills/orders/run.py": "newest"})

    found = version(resolve())

    assert (found.commit, found.folder) == (old, PurePosixPath("a"))
    assert files_of(found) == {"run.py": "old"}


def test_moves_are_followed_one_after_another(repository: GitRepository, resolve: Resolve) -> None:
    """From the root over two folders, with edits of other files on the way."""
    old = repository.commit({"SKILL.md": skill("old")})
    repository.commit({"SKILL.md": skill("new")})
    repository.move("SKILL.md", "a/SKILL.md")
    repository.commit({"README.md": "unrelated"})
    repository.move("a", "b")
    repository.move("b", "skills/orders")

    found = version(resolve())

    assert (found.commit, found.folder) == (old, PurePosixPath())


def test_a_copy_is_never_followed(repository: GitRepository, resolve: Resolve) -> None:
    """A skill that started from another one's text is not compared with that skill's past."""
    repository.commit({"skills/refunds/SKILL.md": skill("old")})
    repository.commit({"skills/refunds/SKILL.md": skill("new")})
    copied = repository.commit({ORDERS: skill("new")})

    message = nothing(resolve())

    assert f"begins at commit {copied[:8]}, which copied it from skills/refunds/SKILL.md" in message


def test_a_copy_whose_source_goes_later_is_not_followed(
    repository: GitRepository, resolve: Resolve
) -> None:
    """Only a move in one commit is certain to be one."""
    repository.commit({"a/SKILL.md": skill("old")})
    repository.commit({"a/SKILL.md": skill("new")})
    repository.commit({ORDERS: skill("new")})
    shutil.rmtree(repository.folder / "a")
    repository.commit()

    assert "a copy is never followed" in nothing(resolve())


def test_an_edited_move_is_never_followed(repository: GitRepository, resolve: Resolve) -> None:
    """It may well be the same skill, but nothing proves it."""
    repository.commit({"a/SKILL.md": skill("old")})
    repository.git("mv", "a", "orders")
    moved = repository.commit({"orders/SKILL.md": skill("new")})

    message = nothing(resolve("orders"))

    assert f"begins at commit {moved[:8]}, which deleted a/SKILL.md" in message
    assert "did not edit" in message


def test_a_merge_is_read_and_moves_in_it_are_not_followed(
    repository: GitRepository, resolve: Resolve
) -> None:
    """A merge that changed SKILL.md is a commit like any other; what it moved is not certain."""
    repository.commit({ORDERS: skill("old")})
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit({ORDERS: skill("side")})
    repository.git("checkout", "--quiet", "main")
    repository.commit({ORDERS: skill("main")})
    repository.git("merge", "--quiet", "--no-commit", "--strategy=ours", "side")
    merge = repository.commit({ORDERS: skill("merged")})
    repository.commit({ORDERS: skill("new")})

    assert version(resolve()).commit == merge


def test_a_file_that_was_not_yet_a_skill_has_no_bundle(
    repository: GitRepository, resolve: Resolve
) -> None:
    """Before `docs/orders.md` became a skill, what lay beside it was not shipped with it."""
    old = repository.commit({"docs/orders.md": skill("old"), "docs/other.md": "x"})
    repository.commit({"docs/orders.md": skill("new")})
    repository.move("docs/orders.md", ORDERS)

    found = version(resolve())

    assert (found.commit, found.bundle) == (old, None)


# ---------------------------------------------------------------- the limit


def test_fifty_commits_are_read_and_no_more(repository: GitRepository, resolve: Resolve) -> None:
    """The fiftieth may still qualify, the fifty-first is never looked at."""
    repository.commit({ORDERS: skill("old", version="1.0")})
    for number in range(49):
        repository.commit({ORDERS: skill(str(number), version="2.0")})

    assert version(resolve()).version == "1.0"

    repository.commit({ORDERS: skill("one more", version="2.0")})

    assert nothing(resolve()) == (
        "no earlier version of SKILL.md: "
        "none of the 50 commits searched has a version other than 2.0"
    )


def test_the_limit_holds_across_moves(repository: GitRepository, resolve: Resolve) -> None:
    """Commits at the old path count on where those at the new one stopped."""
    repository.commit({"a/SKILL.md": skill("old", version="1.0")})
    for number in range(25):
        repository.commit({"a/SKILL.md": skill(str(number), version="2.0")})
    repository.move("a", "skills/orders")
    for number in range(23):
        repository.commit({ORDERS: skill(f"later {number}", version="2.0")})

    assert version(resolve()).version == "1.0"

    repository.commit({ORDERS: skill("one more", version="2.0")})

    assert "50 commits searched" in nothing(resolve())


# ---------------------------------------------------------------- many skills, many repositories


def test_skills_are_answered_together_and_apart(
    tmp_path: Path, scratch: Path, repository: GitRepository
) -> None:
    """One call may hold skills of several repositories, and skills of none."""
    old = repository.commit({ORDERS: skill("old"), "skills/refunds/SKILL.md": skill("same")})
    repository.commit({ORDERS: skill("new")})
    other = GitRepository.create(tmp_path / "other")
    other_old = other.commit({"SKILL.md": skill("old")})
    other.commit({"SKILL.md": skill("new")})
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose" / "SKILL.md").write_text(skill())
    skills = find_skills([repository.folder, other.folder, tmp_path / "loose"])
    baselines: Baselines = GitBaselines(scratch, None)

    answers = baselines.resolve(skills, "previous")

    assert set(answers) == {one.location for one in skills}
    by_name = {location.name: answer for location, answer in answers.items()}
    assert version(by_name["orders"]).commit == old
    assert version(by_name["other"]).commit == other_old
    assert "begins at commit" in nothing(by_name["refunds"])
    refused(by_name["loose"], UnresolvedReason.NOT_A_REPOSITORY)


@pytest.mark.parametrize(
    "folder",
    ["with blank", "qu'o\"te", "naïve/日本", "gl*b[a]?", "-dash", "$(x)", "a&b;c", ":(top)"],
)
def test_any_folder_name_is_found(repository: GitRepository, resolve: Resolve, folder: str) -> None:
    """Names are bytes, never patterns, options or commands."""
    old = repository.commit({f"{folder}/SKILL.md": skill("old"), f"{folder}/run.py": "old"})
    repository.commit({f"{folder}/SKILL.md": skill("new"), "gl/SKILL.md": skill("other")})

    found = version(resolve(folder))

    assert (found.commit, found.folder) == (old, PurePosixPath(folder))
    assert files_of(found) == {"run.py": "old"}


def test_a_skill_at_the_root_of_its_repository(repository: GitRepository, resolve: Resolve) -> None:
    """Its folder is the repository, and its bundle all of it but other skills."""
    old = repository.commit(
        {"SKILL.md": skill("old"), "run.py": "old", "nested/SKILL.md": skill(), "nested/x": "x"}
    )
    repository.commit({"SKILL.md": skill("new"), "run.py": "new"})

    found = version(resolve("."))

    assert (found.commit, found.folder) == (old, PurePosixPath())
    assert files_of(found) == {"run.py": "old"}


# ---------------------------------------------------------------- every kind of checkout


def test_a_packed_repository_is_read(repository: GitRepository, resolve: Resolve) -> None:
    """After `git gc`, with deltas, packed refs and a commit-graph."""
    old = repository.commit({ORDERS: skill("old\n" * 500)})
    repository.commit({ORDERS: skill("old\n" * 499 + "new")})
    repository.git("gc", "--quiet")

    assert version(resolve()).commit == old


def test_a_detached_head_is_where_the_search_starts(
    repository: GitRepository, resolve: Resolve
) -> None:
    """As on every pull request checkout."""
    old = repository.commit({ORDERS: skill("old")})
    detached = repository.commit({ORDERS: skill("new")})
    repository.commit({ORDERS: skill("newest")})
    repository.git("checkout", "--quiet", "--detach", detached)

    assert version(resolve()).commit == old


def test_a_linked_work_tree_is_read(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """Its HEAD and index are its own, its objects and branches are shared."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    repository.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    repository.commit({ORDERS: skill("unseen")})
    skills = find_skills([tmp_path / "side"])

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    assert version(answer).commit == old


def test_a_submodule_is_a_repository_of_its_own(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """A skill in it has the submodule's history."""
    inner = GitRepository.create(tmp_path / "inner")
    old = inner.commit({"SKILL.md": skill("old")})
    inner.commit({"SKILL.md": skill("new")})
    repository.git("submodule", "--quiet", "add", str(inner.folder), "skills/inner")
    repository.commit()
    skills = find_skills([repository.folder])

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    assert version(answer).commit == old


def test_borrowed_objects_are_read(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """A clone with `--shared` has its objects elsewhere."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    repository.git("gc", "--quiet")
    repository.git("clone", "--quiet", "--shared", ".", str(tmp_path / "shared"))
    skills = find_skills([tmp_path / "shared"])

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    assert version(answer).commit == old


def test_a_sha_256_repository_is_read(tmp_path: Path, scratch: Path) -> None:
    """The ids are longer, nothing else is different."""
    repository = GitRepository.create(tmp_path / "sha256", "--object-format=sha256")
    old = repository.commit({"a/SKILL.md": skill("old"), "a/x": "x"})
    repository.commit({"a/SKILL.md": skill("new")})
    repository.move("a", "b")
    repository.git("gc", "--quiet")

    skills = find_skills([repository.folder])
    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    assert version(answer).commit == old
    assert len(old) == 64


def test_somebody_elses_repository_is_read(repository: GitRepository, resolve: Resolve) -> None:
    """In a container the checkout belongs to another user, which git alone would refuse."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    for path in [repository.folder, *repository.folder.rglob("*")]:
        os.chown(path, 12345, 12345)

    assert version(resolve()).commit == old


# ---------------------------------------------------------------- base, and named revisions


def test_base_is_where_the_branch_left_the_default_branch(
    repository: GitRepository, resolve: Resolve
) -> None:
    """Without a revision that says otherwise."""
    base = repository.commit({ORDERS: skill("base"), "skills/orders/run.py": "base"})
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit({ORDERS: skill("one")})
    repository.commit({ORDERS: skill("two")})
    repository.git("checkout", "--quiet", "main")
    repository.commit({ORDERS: skill("elsewhere")})
    repository.git("checkout", "--quiet", "work")

    found = version(resolve(baseline="base"))

    assert (found.commit, found.instructions) == (base, "base")
    assert files_of(found) == {"run.py": "base"}


def test_base_is_the_start_where_one_is_given(repository: GitRepository, resolve: Resolve) -> None:
    """Exactly what that commit holds, an equal text included."""
    start = repository.commit({ORDERS: skill("same")})
    repository.commit({"README.md": "unrelated"})

    assert version(resolve(baseline="base", start="HEAD^")).commit == start


def test_any_revision_is_a_baseline(repository: GitRepository, resolve: Resolve) -> None:
    """The skill as that commit has it, though nothing touched it there."""
    repository.commit({ORDERS: skill("old", version="1.0")})
    tagged = repository.commit({"README.md": "unrelated"})
    repository.git("tag", "--annotate", "--message=first", "v1.0.0")
    repository.commit({ORDERS: skill("new", version="2.0")})

    found = version(resolve(baseline="v1.0.0"))

    assert (found.commit, found.version) == (tagged, "1.0")


def test_a_skill_that_is_not_at_a_revision_has_none(
    repository: GitRepository, resolve: Resolve
) -> None:
    """It was read there, and is absent: that is said."""
    first = repository.commit({"README.md": "x"})
    repository.commit({ORDERS: skill()})

    message = nothing(resolve(baseline="HEAD^"))

    assert message == (
        f"no earlier version of SKILL.md: HEAD^ (commit {first[:8]}) has no {ORDERS}"
    )


def test_a_revision_may_spell_the_file_in_lower_case(
    repository: GitRepository, resolve: Resolve
) -> None:
    """`skill.md` there is SKILL.md here."""
    repository.commit({"skills/orders/skill.md": skill("old")})
    repository.git("mv", "skills/orders/skill.md", ORDERS)
    repository.commit({ORDERS: skill("new")})

    assert version(resolve(baseline="HEAD^")).instructions == "old"
