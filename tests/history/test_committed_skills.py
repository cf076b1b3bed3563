"""The candidates of a pull request: its skills as the head commit has them."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from git_repositories import GitRepository, skill
from pull_requests import ends, opened
from resolved_skills import files_of
from skill_delta.core.changes import ChangeKind
from skill_delta.core.skills import WorkingSkill
from skill_delta.errors import UserErrors
from skill_delta.history.base import UnknownBase
from skill_delta.history.bundle import Limits
from skill_delta.history.committed_skills import ChangedSkill, names_at, read_changed_skills
from skill_delta.history.pull_request import changed_skills


def read(
    repository: GitRepository, scratch: Path, limits: Limits | None = None
) -> tuple[ChangedSkill, ...]:
    """The candidates of a pull request of one commit."""
    commits = ends(repository.git("rev-parse", "HEAD~1"), repository.head())
    with opened(repository) as store:
        changes = changed_skills(store, commits)
        return read_changed_skills(store, commits.head, changes, scratch, limits)


def read_one(repository: GitRepository, scratch: Path) -> WorkingSkill:
    (one,) = read(repository, scratch)
    return one.working


def problems(repository: GitRepository, scratch: Path, limits: Limits | None = None) -> list[str]:
    with pytest.raises(UserErrors) as raised:
        read(repository, scratch, limits)
    return [f"{error.place}: {error.problem}" for error in raised.value.errors]


@pytest.fixture(autouse=True)
def _first_commit(repository: GitRepository) -> None:
    repository.commit({"README.md": "1"})


def test_a_candidate_is_what_the_commit_has(repository: GitRepository, scratch: Path) -> None:
    """Text, version, folder, commit, and the files that it ships."""
    repository.commit(
        {
            "skills/orders/SKILL.md": skill("Be kind.", version="1.1.0"),
            "skills/orders/scripts/run.py": "print(1)",
            "skills/orders/evals/cases.yaml": "cases: []",
        }
    )

    found = read_one(repository, scratch)

    assert found.text == skill("Be kind.", version="1.1.0").encode()
    assert found.filename == "SKILL.md"
    assert found.location == repository.folder.resolve() / "skills/orders"
    assert found.skill.name == "order-support"
    assert found.skill.version == "1.1.0"
    assert found.skill.folder == PurePosixPath("skills/orders")
    assert found.skill.commit == repository.head()
    assert files_of(found.skill) == {"scripts/run.py": "print(1)"}


def test_the_work_tree_is_not_read(repository: GitRepository, scratch: Path) -> None:
    """A step before ours may have edited it; what is measured is what will be merged."""
    repository.commit({"orders/SKILL.md": skill("Committed."), "orders/run.py": "1"})
    repository.write({"orders/SKILL.md": skill("Edited."), "orders/run.py": "2"})

    found = read_one(repository, scratch)

    assert found.skill.instructions == "Committed."
    assert files_of(found.skill) == {"run.py": "1"}


def test_a_removed_skill_is_no_candidate(repository: GitRepository, scratch: Path) -> None:
    """There is nothing to run."""
    repository.commit({"orders/SKILL.md": skill(), "refunds/SKILL.md": skill(name="refunds")})
    repository.git("rm", "--quiet", "-r", "orders")
    repository.commit({"refunds/SKILL.md": skill("New.", name="refunds")})

    (found,) = read(repository, scratch)

    assert found.working.skill.name == "refunds"
    assert found.change.kind is ChangeKind.EDITED


def test_a_skill_at_the_root_is_called_after_the_repository(
    repository: GitRepository, scratch: Path
) -> None:
    """Where it does not say itself what it is called."""
    repository.commit({"SKILL.md": "Be kind."})

    found = read_one(repository, scratch)

    assert found.skill.name == "repository"
    assert found.location == repository.folder.resolve()
    assert files_of(found.skill) == {"README.md": "1"}


def test_what_is_odd_is_said(repository: GitRepository, scratch: Path) -> None:
    """A name that some runtimes do not load, a link in the bundle, an unknown field."""
    repository.write({"order-support/skill.md": skill(extra="colour: red\n")})
    (repository.folder / "order-support/keys").symlink_to("/proc/self/environ")
    repository.commit()

    found = read_one(repository, scratch)

    assert found.filename == "skill.md"
    assert found.skill.bundle is None
    assert found.warnings == (
        "fields that the specification does not know: colour",
        "left out of the files that the skill ships: keys (a link)",
        "the file is called skill.md: some runtimes only load SKILL.md",
    )


def test_a_skill_file_that_is_a_link_is_refused(repository: GitRepository, scratch: Path) -> None:
    """It would put the job's keys into a prompt, and then into a comment."""
    (repository.folder / "orders").mkdir()
    (repository.folder / "orders/SKILL.md").symlink_to("/proc/self/environ")
    repository.commit()

    assert problems(repository, scratch) == [
        "orders/SKILL.md: it cannot be read: SKILL.md is a link, and links are not followed"
    ]


def test_every_skill_that_cannot_be_read_is_named(repository: GitRepository, scratch: Path) -> None:
    """One run is enough to see them all."""
    repository.commit(
        {
            "a/SKILL.md": "---\nversion: 1.20\n---\n",
            "b/SKILL.md": "---\nname: b\n",
            "c/SKILL.md": skill(name="c"),
            b"caf\xe9/SKILL.md".decode("utf-8", "surrogateescape"): skill(name="d"),
        }
    )

    found = problems(repository, scratch)

    assert found[0].startswith("a/SKILL.md:2:1: version: YAML reads 1.20 as a number")
    assert found[1] == "b/SKILL.md:1:1: the frontmatter is not closed"
    assert found[2] == r"caf\xe9/SKILL.md: the folder's name is not UTF-8"
    assert len(found) == 3


def test_a_bundle_beyond_the_limit_is_refused(repository: GitRepository, scratch: Path) -> None:
    """And nothing of it is left on the disk."""
    repository.commit({"orders/SKILL.md": skill(), "orders/a": "12", "orders/b": "34"})

    (problem,) = problems(repository, scratch, Limits(bytes=3))

    assert problem.endswith("that the skill ships cannot be extracted: it has more than 3 bytes")
    assert list(scratch.iterdir()) == []


def test_a_folder_that_is_not_in_this_clone_is_unknown(
    repository: GitRepository, scratch: Path
) -> None:
    """Exit 3, not 2: the skill's author can do nothing about it."""
    repository.commit({"orders/SKILL.md": skill(), "orders/a/b": "1"})
    commits = ends(repository.git("rev-parse", "HEAD~1"), repository.head())
    with opened(repository) as store:
        changes = changed_skills(store, commits)
    oid = repository.git("rev-parse", "HEAD:orders")
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    with opened(repository) as store, pytest.raises(UnknownBase, match=oid[:8]):
        read_changed_skills(store, commits.head, changes, scratch)


@pytest.mark.parametrize("file", ["orders/SKILL.md", "orders/run.py"])
def test_a_file_that_is_not_in_this_clone_is_unknown(
    repository: GitRepository, scratch: Path, file: str
) -> None:
    """As in a partial clone: exit 3, and nothing half-extracted stays behind."""
    repository.commit({"orders/SKILL.md": skill(), "orders/a": "1", "orders/run.py": "2"})
    oid = repository.git("rev-parse", f"HEAD:{file}")
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    with pytest.raises(UnknownBase, match=oid[:8]):
        read(repository, scratch)

    assert list(scratch.iterdir()) == []


# ---------------------------------------------------------------- names


def names(repository: GitRepository, *folders: str) -> list[str]:
    places = list(map(PurePosixPath, folders))
    with opened(repository) as store:
        found = names_at(store, bytes.fromhex(repository.head()), places)
    assert list(found) == places
    return list(found.values())


def test_a_skill_is_called_what_its_commit_says(repository: GitRepository) -> None:
    """By its frontmatter, else by its folder; one that cannot be read by its folder, too."""
    repository.commit(
        {
            "SKILL.md": "Be kind.",
            "a/SKILL.md": skill(name="orders"),
            "b/SKILL.md": "Be kind.",
            "c/skill.md": skill(name="lower"),
            "d/SKILL.md": "---\nname: [\n---\n",
        }
    )

    root = repository.folder.name
    assert names(repository, ".", "a", "b", "c", "d") == [root, "orders", "b", "lower", "d"]


def test_a_name_that_cannot_be_read_is_unknown(repository: GitRepository) -> None:
    """It may have a bar: a clone that lacks it is no excuse."""
    repository.commit({"a/SKILL.md": skill(name="orders")})
    oid = repository.git("rev-parse", "HEAD:a/SKILL.md")
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    with pytest.raises(UnknownBase, match=oid[:8]):
        names(repository, "a")
