"""A move is what git calls a rename of 100 %, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from git_repositories import FIRST_SECOND, GitRepository
from random_histories import RandomCommit, Tree, fast_import
from skill_delta.history.moves import FileChanges, exact_moves, file_changes
from skill_delta.history.repository import Entry, Repository

PATHS = ("a/SKILL.md", "b/SKILL.md", "b/c/SKILL.md", "SKILL.md", "d.md", "e/d.md", "e/f.md", "z")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("moves"))


def moves_in(repository: GitRepository, before: Tree, after: Tree) -> tuple[object, object]:
    """The moves between two trees, as we and as git see them, by the new path."""
    commits = [RandomCommit((), FIRST_SECOND, before), RandomCommit((0,), FIRST_SECOND, after)]
    first, second = fast_import(repository, commits)
    store = Repository.discover(repository.folder)
    assert store is not None
    with store:
        trees = [store.commit(bytes.fromhex(commit)).tree for commit in (first, second)]
        ours = exact_moves(file_changes(store, trees[0], trees[1]))
    renames = ("diff-tree", "-r", "--find-renames=100%", "--diff-filter=R", "--name-status")
    lines = repository.git(*renames, first, second).splitlines()
    theirs = {line.split("\t")[2]: line.split("\t")[1] for line in lines}
    return {new.decode(): old.decode() for new, old in ours.items()}, theirs


trees = st.dictionaries(
    st.sampled_from(PATHS),
    st.tuples(st.sampled_from(["100644"] * 4 + ["100755", "120000"]), st.sampled_from("xxy")),
)


@settings(max_examples=120, deadline=None)
@given(trees, trees)
@example({"a/SKILL.md": ("100644", "x"), "d.md": ("100644", "x")}, {"e/d.md": ("100644", "x")})
@example({"a/SKILL.md": ("100644", "x")}, {"b/SKILL.md": ("120000", "x")})
@example({"a/SKILL.md": ("100644", "x")}, {"b/SKILL.md": ("100755", "x")})
@example({"z": ("100644", "x")}, {"d.md": ("100644", "x"), "SKILL.md": ("100644", "x")})
def test_moves_are_those_that_git_detects(shared: GitRepository, before: Tree, after: Tree) -> None:
    """The choice among several files of the same content included."""
    ours, theirs = moves_in(shared, before, after)

    assert ours == theirs


def test_a_copy_is_no_move(shared: GitRepository) -> None:
    """Its source is still there."""
    skill = ("100644", "x")

    assert (
        moves_in(shared, {"a/SKILL.md": skill}, {"a/SKILL.md": skill, "b/SKILL.md": skill})[0] == {}
    )


def test_a_move_that_edited_is_no_move(shared: GitRepository) -> None:
    """Nothing proves that it is the same file."""
    before, after = {"a/SKILL.md": ("100644", "x")}, {"b/SKILL.md": ("100644", "y")}

    assert moves_in(shared, before, after)[0] == {}


def test_a_folder_may_take_the_place_of_its_own_file(shared: GitRepository) -> None:
    """`z` becomes `z/SKILL.md`: the file moved into a folder of its old name."""
    before, after = {"z": ("100644", "x")}, {"z/SKILL.md": ("100644", "x")}

    assert moves_in(shared, before, after)[0] == {"z/SKILL.md": "z"}


def test_git_looks_at_a_hundred_files_and_so_do_we(shared: GitRepository) -> None:
    """A file of the same name beyond the hundredth is not found, as long as others are in front."""
    before = {f"old/{number:03}": ("100644", "x") for number in range(250)}
    after = {f"new/{number:03}": ("100644", "x") for number in (240, 120, 99, 5, 101, 249, 0)}

    ours, theirs = moves_in(shared, before, after)

    assert ours == theirs
    assert len(after) == len(theirs)  # type: ignore[arg-type]


def test_thousands_of_equal_files_move_at_once() -> None:
    """Each costs what it costs alone: 400 million comparisons would outlast the test."""
    empty = Entry(0o100644, bytes(20))
    names = [b"%05d/__init__.py" % number for number in range(20_000)]
    changes = FileChanges(
        added={b"new/" + name: empty for name in names},
        deleted={b"old/" + name: empty for name in names},
    )

    assert exact_moves(changes) == {b"new/" + name: b"old/" + name for name in names}
