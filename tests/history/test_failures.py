"""What cannot be resolved is reported in its own words, never raised, never "no change"."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from git_repositories import GitRepository, skill
from resolved_skills import Resolve, nothing, refused, version
from skill_delta.core.skills import UnresolvedReason
from skill_delta.errors import UserError
from skill_delta.history.bundle import Limits
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills

ORDERS = "skills/orders/SKILL.md"
BASELINES = ["previous", "base"]


def loose_object(repository: GitRepository, name: str) -> Path:
    oid = repository.git("rev-parse", name)
    return repository.folder / ".git" / "objects" / oid[:2] / oid[2:]


# ---------------------------------------------------------------- there is no history to search


@pytest.mark.parametrize("baseline", BASELINES)
def test_a_folder_outside_any_repository(tmp_path: Path, scratch: Path, baseline: str) -> None:
    """Not a git repository."""
    (tmp_path / "SKILL.md").write_text(skill())
    skills = find_skills([tmp_path / "SKILL.md"])

    (answer,) = GitBaselines(scratch, None).resolve(skills, baseline).values()

    message = refused(answer, UnresolvedReason.NOT_A_REPOSITORY)
    assert message.endswith("is not in a git repository")


@pytest.mark.parametrize("git", ["gitdir: /nowhere", "nonsense", ""])
def test_a_repository_that_leads_nowhere(
    repository: GitRepository, scratch: Path, git: str
) -> None:
    """A `.git` file whose target is gone is no repository, whatever lies above it."""
    repository.commit({"README.md": "x"})
    repository.write({ORDERS: skill(), "skills/.git": git})
    skills = find_skills([repository.folder / "skills"])

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    refused(answer, UnresolvedReason.NOT_A_REPOSITORY)


def test_a_skill_that_git_does_not_know(repository: GitRepository, resolve: Resolve) -> None:
    """Not tracked: neither in HEAD nor in the index."""
    repository.commit({"README.md": "x"})
    repository.write({ORDERS: skill()})

    for baseline in BASELINES:
        message = refused(resolve(baseline=baseline), UnresolvedReason.NOT_TRACKED)
        assert message.startswith(f"{ORDERS} is not tracked by git")


def test_a_skill_that_is_only_staged(repository: GitRepository, resolve: Resolve) -> None:
    """It is tracked, and no commit has it."""
    head = repository.commit({"README.md": "x"})
    repository.write({ORDERS: skill()})
    repository.git("add", "--all")

    assert nothing(resolve()) == (
        f"no earlier version of SKILL.md: no commit up to {head[:8]} touched {ORDERS}"
    )


def test_a_repository_without_a_commit(repository: GitRepository, resolve: Resolve) -> None:
    """HEAD is not born yet."""
    repository.write({ORDERS: skill()})
    repository.git("add", "--all")

    for baseline in BASELINES:
        assert "no commit yet" in nothing(resolve(baseline=baseline))


def test_a_skill_that_went_away_meanwhile(repository: GitRepository, scratch: Path) -> None:
    """The working copy cannot be read any more."""
    repository.commit({ORDERS: skill()})
    skills = find_skills([repository.folder])
    (repository.folder / ORDERS).unlink()

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    message = refused(answer, UnresolvedReason.WORKING_COPY_UNREADABLE)
    assert "No such file" in message


def test_a_working_copy_that_is_no_text(repository: GitRepository, scratch: Path) -> None:
    """Nothing can be compared with bytes that are not UTF-8."""
    repository.commit({ORDERS: skill()})
    skills = [replace(one, text=b"caf\xe9") for one in find_skills([repository.folder])]

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    assert "not UTF-8" in refused(answer, UnresolvedReason.WORKING_COPY_UNREADABLE)


def test_a_revision_that_nobody_knows(repository: GitRepository, resolve: Resolve) -> None:
    """That is the person's mistake, not the repository's: exit 2."""
    repository.commit({ORDERS: skill()})

    with pytest.raises(UserError, match="unknown revision 'v9'"):
        resolve(baseline="v9")
    with pytest.raises(UserError, match="unknown revision 'v9'"):
        resolve(start="v9")


# ---------------------------------------------------------------- the history holds nothing earlier


def test_the_first_commit_ends_the_search(repository: GitRepository, resolve: Resolve) -> None:
    """The message says where, and what was looked for."""
    first = repository.commit({ORDERS: skill("one", version="1.0")})
    repository.commit({ORDERS: skill("two", version="1.0")})

    assert nothing(resolve()) == (
        "no earlier version of SKILL.md: no commit that touched it has a version other than 1.0 "
        f"(2 read); its history begins at commit {first[:8]}"
    )


def test_a_shallow_clone_ends_the_search(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """The message says that the clone is to blame, and what to do."""
    repository.commit({ORDERS: skill("old")})
    boundary = repository.commit({ORDERS: skill("new")})
    repository.commit({"README.md": "unrelated"})
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.folder}", str(clone))
    skills = find_skills([clone])

    (answer,) = GitBaselines(scratch, None).resolve(skills, "previous").values()

    message = nothing(answer)
    assert f"this clone is shallow and ends at commit {boundary[:8]}" in message
    assert "fetch-depth: 0" in message


def test_a_shallow_boundary_may_still_qualify(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """Its text is there, whatever came before it."""
    repository.commit({ORDERS: skill("older")})
    boundary = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    clone = tmp_path / "clone"
    repository.git("clone", "--quiet", "--depth=2", f"file://{repository.folder}", str(clone))

    (answer,) = GitBaselines(scratch, None).resolve(find_skills([clone]), "previous").values()

    assert version(answer).commit == boundary


def test_a_base_beyond_a_shallow_boundary(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """Two branches that were cut off before they meet share no commit."""
    repository.commit({ORDERS: skill("old")})
    repository.git("checkout", "--quiet", "-b", "work")
    repository.commit({ORDERS: skill("new")})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"README.md": "x"})
    clone = tmp_path / "clone"
    depth = ("--depth=1", "--no-single-branch", "--branch=work")
    repository.git("clone", "--quiet", *depth, f"file://{repository.folder}", str(clone))

    (answer,) = GitBaselines(scratch, None).resolve(find_skills([clone]), "base").values()

    assert "share no commit; this clone is shallow" in nothing(answer)


# ---------------------------------------------------------------- links and submodules


def test_a_past_skill_that_is_a_link_is_never_followed(
    repository: GitRepository, resolve: Resolve
) -> None:
    """`SKILL.md -> /proc/self/environ` would put the job's keys into a prompt."""
    old = repository.commit({ORDERS: skill("old")})
    (repository.folder / ORDERS).unlink()
    (repository.folder / ORDERS).symlink_to("/proc/self/environ")
    linked = repository.commit()
    (repository.folder / ORDERS).unlink()
    repository.commit({ORDERS: skill("new")})

    assert version(resolve()).commit == old
    message = refused(resolve(baseline=linked), UnresolvedReason.COMMIT_UNREADABLE)
    assert f"{ORDERS} is a link" in message


def test_a_past_skill_under_a_submodule_is_absent(
    repository: GitRepository, tmp_path: Path, resolve: Resolve
) -> None:
    """What a submodule held is not in this repository."""
    inner = GitRepository.create(tmp_path / "inner")
    inner.commit({"SKILL.md": skill("inner")})
    repository.commit({"README.md": "x"})
    repository.git("submodule", "--quiet", "add", str(inner.folder), "skills/orders")
    added = repository.commit()
    repository.git("rm", "--quiet", "--cached", "skills/orders")
    shutil.rmtree(repository.folder / "skills" / "orders")
    created = repository.commit({ORDERS: skill("new")})

    assert f"begins at commit {created[:8]}" in nothing(resolve())
    assert "has no skills/orders" in nothing(resolve(baseline=added))


# ---------------------------------------------------------------- damage


def test_a_text_that_is_missing_is_not_passed_over(
    repository: GitRepository, resolve: Resolve
) -> None:
    """As in a partial clone: whether that version qualifies is not known, so none is chosen."""
    repository.commit({ORDERS: skill("older")})
    damaged = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    loose_object(repository, f"{damaged}:{ORDERS}").unlink()

    message = refused(resolve(), UnresolvedReason.COMMIT_UNREADABLE)

    assert message.startswith(f"the files of commit {damaged[:8]} cannot be read")
    assert "not in this clone" in message


@pytest.mark.parametrize("what", ["{}", "{}^{{tree}}", "{}:skills", "{}:skills/orders"])
@pytest.mark.parametrize("content", [None, b"", b"garbage", b"x\x9c\x03\x00"])
def test_damaged_objects_are_facts_not_crashes(
    repository: GitRepository, resolve: Resolve, what: str, content: bytes | None
) -> None:
    """A commit or tree that is missing, empty or garbage."""
    damaged = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    path = loose_object(repository, what.format(damaged))
    path.unlink()
    if content is not None:
        path.write_bytes(content)

    refused(resolve(), UnresolvedReason.COMMIT_UNREADABLE)
    if what != "{}":  # a commit that is not there is no revision to name
        refused(resolve(baseline=damaged), UnresolvedReason.COMMIT_UNREADABLE)


def test_one_damaged_history_leaves_the_others_alone(
    repository: GitRepository, scratch: Path
) -> None:
    """Skills that are decided before the damage keep their answers."""
    first = repository.commit({"a/SKILL.md": skill("a"), "b/SKILL.md": skill("b")})
    repository.commit({"a/SKILL.md": skill("a2")})
    old = repository.commit({"a/SKILL.md": skill("a3")})
    repository.commit({"a/SKILL.md": skill("a4")})
    loose_object(repository, first).unlink()
    skills = find_skills([repository.folder])

    found = GitBaselines(scratch, None).resolve(skills, "previous")
    by_name = {location.name: answer for location, answer in found.items()}

    assert version(by_name["a"]).commit == old
    refused(by_name["b"], UnresolvedReason.COMMIT_UNREADABLE)


# ---------------------------------------------------------------- the bundle


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(files=1), "more than 1 files"),
        (Limits(bytes=5), "more than 5 bytes"),
        (Limits(seconds=-1), "longer than -1 seconds"),
    ],
)
def test_a_bundle_beyond_its_limits(
    repository: GitRepository, resolve: Resolve, scratch: Path, limits: Limits, why: str
) -> None:
    """It is given up, and nothing half-extracted stays behind."""
    old = repository.commit(
        {ORDERS: skill("old"), "skills/orders/a": "aaa", "skills/orders/b": "bbb"}
    )
    repository.commit({ORDERS: skill("new")})

    message = refused(resolve(limits=limits), UnresolvedReason.BUNDLE_UNREADABLE)

    assert message.startswith(f"the bundle of commit {old[:8]} cannot be extracted: ")
    assert why in message
    assert list(scratch.iterdir()) == []


def test_a_bundle_with_a_missing_file(
    repository: GitRepository, resolve: Resolve, scratch: Path
) -> None:
    """The instructions alone would be another skill than the one that was shipped."""
    old = repository.commit({ORDERS: skill("old"), "skills/orders/a": "a", "skills/orders/b": "b"})
    repository.commit({ORDERS: skill("new"), "skills/orders/b": "new"})
    loose_object(repository, f"{old}:skills/orders/b").unlink()

    message = refused(resolve(), UnresolvedReason.BUNDLE_UNREADABLE)

    assert "not in this clone" in message
    assert list(scratch.iterdir()) == []


def test_a_bundle_that_cannot_be_written(
    repository: GitRepository, resolve: Resolve, scratch: Path
) -> None:
    """A file system error is said as it is."""
    repository.commit({ORDERS: skill("old"), "skills/orders/a": "a"})
    repository.commit({ORDERS: skill("new")})
    scratch.rmdir()

    assert "cannot be written" in refused(resolve(), UnresolvedReason.BUNDLE_UNREADABLE)


@pytest.mark.parametrize("baseline", BASELINES)
def test_a_repository_that_cannot_be_read(
    repository: GitRepository, resolve: Resolve, baseline: str
) -> None:
    """It is one all the same; the message says what is wrong, and quotes nothing."""
    repository.commit({ORDERS: skill()})
    (repository.folder / ".git" / "packed-refs").write_text("KEY=not-for-the-log\n")

    message = refused(resolve(baseline=baseline), UnresolvedReason.NOT_A_REPOSITORY)

    assert "repository cannot be read: packed-refs is damaged" in message
    assert "not-for-the-log" not in message


def test_a_head_commit_of_an_absurd_date(repository: GitRepository, resolve: Resolve) -> None:
    """It is read like any other."""
    old = repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})
    raw = repository.git_bytes("cat-file", "commit", "HEAD")
    line = next(line for line in raw.splitlines() if line.startswith(b"committer"))
    forged = raw.replace(line, b"committer A <a@b> " + b"9" * 5_000 + b" +0000")
    options = ("-t", "commit", "-w", "--stdin", "--literally")
    repository.git("reset", "--soft", repository.git("hash-object", *options, input=forged))

    assert version(resolve()).commit == old
