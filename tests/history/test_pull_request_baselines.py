"""What the skills of a pull request are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from git_repositories import GitRepository, skill
from pull_requests import clone, ends, merged_by_github, on_branch, opened
from resolved_skills import files_of, nothing, refused, version
from skill_delta.core.skills import SkillVersion, Unresolved, UnresolvedReason
from skill_delta.errors import UserError
from skill_delta.history.bundle import Limits
from skill_delta.history.committed_skills import read_changed_skills
from skill_delta.history.pull_request import changed_skills
from skill_delta.history.pull_request_baselines import PullRequestBaselines

ORDERS = "skills/orders"
PATH = f"{ORDERS}/SKILL.md"
SCRIPT = f"{ORDERS}/run.py"

UNCHANGED = "SKILL.md is unchanged: compared with the base commit"
NOT_BUMPED = "version not bumped: compared with the base commit"


@dataclass(frozen=True)
class Compared:
    """Each changed skill's baseline, and what is said of it, by the skill's folder now."""

    answers: Mapping[str, SkillVersion | Unresolved]
    notes: Mapping[str, str]
    left_out: Mapping[str, tuple[str, ...]]

    @property
    def only(self) -> SkillVersion | Unresolved:
        """The answer where one skill changed."""
        (answer,) = self.answers.values()
        return answer

    @property
    def version(self) -> SkillVersion:
        return version(self.only)


def compare(
    repository: GitRepository,
    scratch: Path,
    baseline: str = "previous",
    *,
    base: str = "main",
    limits: Limits | None = None,
) -> Compared:
    """The pull request from HEAD into `base`."""
    commits = ends(repository.git("rev-parse", base), repository.head())
    with opened(repository) as store:
        changes = changed_skills(store, commits)
        skills = read_changed_skills(store, commits.head, changes, scratch)
        baselines = PullRequestBaselines(store, commits, skills, scratch, limits)
        found = baselines.resolve([skill.working for skill in skills], baseline)
    folders = {skill.working.location: str(skill.change.folder) for skill in skills}
    return Compared(
        {folders[location]: answer for location, answer in found.items()},
        {folders[location]: note for location, note in baselines.notes.items()},
        {folders[location]: names for location, names in baselines.left_out.items()},
    )


@pytest.fixture
def released(repository: GitRepository) -> Mapping[str, str]:
    """`main` with two released versions of a skill, and a branch that begins at the second.

    By version, the commit that released it.
    """
    commits = {
        "1.0.0": repository.commit({PATH: skill("One.", version="1.0.0"), SCRIPT: "1"}),
        "1.1.0": repository.commit({PATH: skill("Two.", version="1.1.0"), SCRIPT: "2"}),
    }
    repository.commit({SCRIPT: "2, fixed"})
    on_branch(repository, "topic")
    return commits


# ---------------------------------------------------------------- previous


def test_previous_is_the_version_before_the_pull_request(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """With the files of the commit that released it; the pull request's own commits count not."""
    repository.commit({PATH: skill("Draft.", version="1.2.0-draft"), SCRIPT: "3"})
    repository.commit({PATH: skill("Three.", version="1.2.0")})

    found = compare(repository, scratch)

    assert found.version.commit == released["1.1.0"]
    assert found.version.instructions == "Two."
    assert files_of(found.version) == {"run.py": "2"}
    assert found.notes == {}


def test_previous_is_searched_from_what_github_merged_into(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """A release that `main` gained meanwhile is the one to be better than."""
    repository.commit({"skills/orders/guide.md": "1"})
    repository.commit({SCRIPT: "3"})
    repository.git("switch", "--quiet", "main")
    newer = repository.commit({PATH: skill("Three.", version="1.2.0")})
    repository.git("switch", "--quiet", "topic")
    repository.git("merge", "--quiet", "main")
    repository.commit({PATH: skill("Four.", version="1.3.0")})
    merged_by_github(repository)

    assert compare(repository, scratch).version.commit == newer


def test_without_a_version_it_is_the_last_other_content(
    repository: GitRepository, scratch: Path
) -> None:
    """The commit of the base that edited it last."""
    last = repository.commit({PATH: skill("One.")})
    repository.commit({SCRIPT: "1"})
    on_branch(repository, "topic")
    repository.commit({PATH: skill("Two.")})

    found = compare(repository, scratch)

    assert found.version.commit == last
    assert found.version.bundle is None


def test_a_version_not_bumped_is_compared_with_an_older_one(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """A declared version is the authority, as long as there is another one."""
    repository.commit({PATH: skill("Two, edited.", version="1.1.0")})

    found = compare(repository, scratch)

    assert found.version.commit == released["1.0.0"]
    assert found.notes == {}


def test_a_version_never_bumped_is_compared_with_the_base(
    repository: GitRepository, scratch: Path
) -> None:
    """No commit has another one, and the base's content differs; the report says so."""
    repository.commit({PATH: skill("One.", version="1.0.0")})
    base = repository.commit({SCRIPT: "1"})
    on_branch(repository, "topic")
    repository.commit({PATH: skill("Edited.", version="1.0.0")})

    found = compare(repository, scratch)

    assert found.version.commit == base
    assert found.version.instructions == "One."
    assert files_of(found.version) == {"run.py": "1"}
    assert found.notes == {ORDERS: NOT_BUMPED}


def test_a_bundle_that_changed_is_compared_with_the_base(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """Not with an earlier SKILL.md: this pull request does not touch it."""
    repository.commit({SCRIPT: "3"})

    found = compare(repository, scratch)

    assert found.version.commit == repository.git("rev-parse", "main")
    assert files_of(found.version) == {"run.py": "2, fixed"}
    assert found.notes == {ORDERS: UNCHANGED}


def test_line_ends_are_no_edit(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """No model sees them, so there is nothing in SKILL.md to measure."""
    repository.commit({PATH: skill("Two.", version="1.1.0").replace("\n", "\r\n")})

    assert compare(repository, scratch).notes == {ORDERS: UNCHANGED}


def test_a_skill_that_moved_is_compared_where_it_was(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """Unchanged, with the base's own."""
    repository.move(ORDERS, "shop")

    found = compare(repository, scratch)

    assert found.version.commit == repository.git("rev-parse", "main")
    assert str(found.version.folder) == ORDERS
    assert found.notes == {"shop": UNCHANGED}


def test_a_skill_that_moved_and_was_edited_is_searched_where_it_was(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """Its name is the same at both ends of the pull request, which proves more than one commit."""
    repository.git("mv", ORDERS, "shop")
    repository.commit({"shop/SKILL.md": skill("Three.", version="1.2.0")})

    found = compare(repository, scratch)

    assert found.version.commit == released["1.1.0"]
    assert str(found.version.folder) == ORDERS


def test_a_new_skill_has_no_previous_version(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """Nor is it in the base."""
    repository.commit({"skills/refunds/SKILL.md": skill("Pay.", name="refunds")})

    for baseline in ("previous", "base"):
        message = nothing(compare(repository, scratch, baseline).only)
        assert message.endswith("has no skill in skills/refunds")


def test_a_broken_version_in_the_base_is_passed_over(
    repository: GitRepository, scratch: Path
) -> None:
    """The pull request repairs it: what is compared is what last worked."""
    worked = repository.commit({PATH: skill("One.", version="1.0.0")})
    repository.commit({PATH: skill("Two.", extra="version: 1.10\n")})
    on_branch(repository, "topic")
    repository.commit({PATH: skill("Two.", version="1.1.0")})

    assert compare(repository, scratch).version.commit == worked
    refused(compare(repository, scratch, "base").only, UnresolvedReason.COMMIT_UNREADABLE)


def test_a_link_in_the_base_is_never_followed(repository: GitRepository, scratch: Path) -> None:
    """The pull request replaces it with a file; there is no earlier version."""
    repository.write({"README.md": "1"})
    (repository.folder / ORDERS).mkdir(parents=True)
    (repository.folder / PATH).symlink_to("../../README.md")
    repository.commit()
    on_branch(repository, "topic")
    (repository.folder / PATH).unlink()
    repository.commit({PATH: skill()})

    assert "is a link" in refused(
        compare(repository, scratch, "base").only, UnresolvedReason.COMMIT_UNREADABLE
    )
    nothing(compare(repository, scratch).only)


def test_hundreds_of_skills_share_one_walk(repository: GitRepository, scratch: Path) -> None:
    """Each gets its own answer."""
    first = repository.commit(
        {f"skills/s{n:03}/SKILL.md": skill("One.", name=f"s{n:03}") for n in range(300)}
    )
    on_branch(repository, "topic")
    repository.commit(
        {f"skills/s{n:03}/SKILL.md": skill("Two.", name=f"s{n:03}") for n in range(300)}
    )

    found = compare(repository, scratch)

    assert {folder: version(answer).commit for folder, answer in found.answers.items()} == {
        f"skills/s{n:03}": first for n in range(300)
    }
    assert all(version(answer).name in folder for folder, answer in found.answers.items())


# ---------------------------------------------------------------- shallow clones


def test_a_shallow_base_is_still_the_version_before(
    repository: GitRepository, released: Mapping[str, str], scratch: Path, tmp_path: Path
) -> None:
    """Whatever lies behind it, it has another version."""
    repository.commit({PATH: skill("Three.", version="1.2.0")})
    merged_by_github(repository)
    repository.git("switch", "--quiet", "--create", "merge")
    shallow = clone(repository, tmp_path / "clone", "--depth=2", "--branch=merge")

    found = compare(shallow, scratch, base="HEAD^1")

    assert found.version.commit == repository.git("rev-parse", "main")
    assert found.version.version == "1.1.0"


def test_a_shallow_clone_may_hide_another_version(
    repository: GitRepository, released: Mapping[str, str], scratch: Path, tmp_path: Path
) -> None:
    """So the note does not claim that there is none."""
    repository.commit({PATH: skill("Two, edited.", version="1.1.0")})
    merged_by_github(repository)
    repository.git("switch", "--quiet", "--create", "merge")
    shallow = clone(repository, tmp_path / "clone", "--depth=2", "--branch=merge")

    found = compare(shallow, scratch, base="HEAD^1")

    assert found.version.instructions == "Two."
    assert found.notes == {
        ORDERS: f"{NOT_BUMPED} (this clone is shallow: an earlier version may lie beyond its end)"
    }


# ---------------------------------------------------------------- base, and named revisions


def test_base_is_exactly_what_the_base_commit_holds(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """SKILL.md and files of that one commit."""
    repository.commit({PATH: skill("Three.", version="1.2.0")})

    found = compare(repository, scratch, "base")

    assert found.version.commit == repository.git("rev-parse", "main")
    assert found.version.instructions == "Two."
    assert files_of(found.version) == {"run.py": "2, fixed"}


def test_a_revision_is_what_it_names(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """A tag, a branch, a commit; of a skill that moved, where it was."""
    repository.git("tag", "v1.0.0", released["1.0.0"])
    repository.git("mv", ORDERS, "shop")
    repository.commit({"shop/SKILL.md": skill("Three.", version="1.2.0")})

    found = compare(repository, scratch, "v1.0.0")

    assert found.version.commit == released["1.0.0"]
    assert files_of(found.version) == {"run.py": "1"}


def test_a_revision_without_the_skill_has_no_version_of_it(
    repository: GitRepository, scratch: Path
) -> None:
    """It says which commit was looked at."""
    first = repository.commit({"README.md": "1"})
    repository.commit({PATH: skill("One.")})
    on_branch(repository, "topic")
    repository.commit({PATH: skill("Two.")})

    message = nothing(compare(repository, scratch, first[:10]).only)

    assert message == (
        f"no earlier version of SKILL.md: {first[:10]} (commit {first[:8]}) "
        f"has no skill in {ORDERS}"
    )


def test_a_misspelled_revision_is_the_callers_mistake(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """Nothing is measured for it."""
    repository.commit({SCRIPT: "3"})

    with pytest.raises(UserError, match="v9"):
        compare(repository, scratch, "v9")


# ---------------------------------------------------------------- bundles


def test_a_bundle_that_is_too_large_is_no_baseline(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """The candidate's scripts are never paired with old instructions."""
    repository.commit({SCRIPT: "3"})

    found = compare(repository, scratch, limits=Limits(bytes=2))

    assert "it has more than 2 bytes" in refused(found.only, UnresolvedReason.BUNDLE_UNREADABLE)


def test_what_a_bundle_leaves_out_is_named(repository: GitRepository, scratch: Path) -> None:
    """A link is in neither arm."""
    repository.write({PATH: skill("One."), SCRIPT: "1"})
    (repository.folder / ORDERS / "keys").symlink_to("/proc/self/environ")
    repository.commit()
    on_branch(repository, "topic")
    repository.commit({PATH: skill("Two.")})

    found = compare(repository, scratch)

    assert files_of(found.version) == {"run.py": "1"}
    assert found.left_out == {ORDERS: ("keys (a link)",)}


def test_a_missing_commit_is_no_baseline(
    repository: GitRepository, released: Mapping[str, str], scratch: Path
) -> None:
    """The search does not end as if there were none."""
    repository.commit({PATH: skill("Two, edited.", version="1.1.0")})
    oid = repository.git("rev-parse", f"{released['1.0.0']}:{PATH}")
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    found = compare(repository, scratch)

    assert oid[:8] in refused(found.only, UnresolvedReason.COMMIT_UNREADABLE)
    assert found.notes == {}
