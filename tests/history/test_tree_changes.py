"""Two trees compared: the files that `git diff-tree` names, and no folder read in vain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings

from git_repositories import GitRepository
from pull_requests import opened
from random_histories import Habits, RandomCommit, fast_import, random_histories
from skill_delta.history.repository import Entry, Unreadable
from skill_delta.history.tree_changes import FileChange, NotComparable, tree_changes

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name for the empty tree."""


def changes(repository: GitRepository, before: str, after: str) -> Sequence[FileChange]:
    """What differs between two commits, or trees."""
    trees = [repository.git("rev-parse", f"{name}^{{tree}}") for name in (before, after)]
    with opened(repository) as store:
        old, new = (None if tree == EMPTY else bytes.fromhex(tree) for tree in trees)
        return tree_changes(store, old, new)


def paths(repository: GitRepository, before: str, after: str) -> list[str]:
    found = changes(repository, before, after)
    return [change.path.decode("utf-8", "surrogateescape") for change in found]


def by_git(repository: GitRepository, before: str, after: str) -> list[FileChange]:
    raw = repository.git_bytes("diff-tree", "-r", "-z", "--no-renames", before, after)
    fields = raw.split(b"\0")[:-1]
    return [
        FileChange(path, *_entries(header))
        for header, path in zip(fields[::2], fields[1::2], strict=True)
    ]


def _entries(header: bytes) -> tuple[Entry | None, Entry | None]:
    old_mode, new_mode, old, new, _ = header.lstrip(b":").split(b" ")
    return _entry(old_mode, old), _entry(new_mode, new)


def _entry(mode: bytes, oid: bytes) -> Entry | None:
    return Entry(int(mode, 8), bytes.fromhex(oid.decode())) if int(mode, 8) else None


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


@settings(max_examples=100, deadline=None)
@given(random_histories(Habits(actions="wwemcdr"), least=2))
def test_the_changes_are_those_that_git_names(
    shared: GitRepository, history: list[RandomCommit]
) -> None:
    """Edits, modes, links, files that become folders and folders that become files."""
    commits = fast_import(shared, history)
    first, last = commits[0], commits[-1]

    assert changes(shared, first, last) == tuple(by_git(shared, first, last))


def test_the_empty_tree_has_everything_to_gain(repository: GitRepository) -> None:
    """A whole tree is listed by comparing it with nothing."""
    repository.commit({"b/c/d": "1", "a": "1"})

    assert paths(repository, EMPTY, "HEAD") == ["a", "b/c/d"]
    assert paths(repository, "HEAD", EMPTY) == ["a", "b/c/d"]


def test_paths_are_bytes(repository: GitRepository) -> None:
    """Not UTF-8, with spaces, quotes and line ends: git stores any of them."""
    repository.commit({"a": "1"})
    name = b'caf\xe9 "x"\n'.decode("utf-8", "surrogateescape")
    repository.commit({f"{name}/{name}": "1"})

    assert paths(repository, "HEAD~1", "HEAD") == [f"{name}/{name}"]


def test_a_submodule_is_one_path(repository: GitRepository) -> None:
    """What it holds is another repository's."""
    repository.commit({"a": "1"})
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},vendor/lib")
    repository.commit_staged()

    (change,) = changes(repository, "HEAD~1", "HEAD")

    assert change == FileChange(b"vendor/lib", None, Entry(0o160000, b"\x55" * 20))


def test_our_own_reports_are_no_change(repository: GitRepository) -> None:
    """Only at the root: elsewhere the name means nothing."""
    repository.commit({"a": "1"})
    repository.commit({".skill-delta/report.md": "1", "b/.skill-delta/report.md": "1"})

    assert paths(repository, "HEAD~1", "HEAD") == ["b/.skill-delta/report.md"]


def test_folders_that_are_equal_are_not_read(repository: GitRepository) -> None:
    """A partial clone need not even have them."""
    repository.commit({"same/a": "1", "other/b": "1"})
    repository.commit({"other/b": "2"})
    _lose(repository, "HEAD:same")

    assert paths(repository, "HEAD~1", "HEAD") == ["other/b"]


def test_a_folder_that_differs_and_is_not_there_is_an_error(repository: GitRepository) -> None:
    """Nothing is guessed."""
    repository.commit({"other/b": "1"})
    repository.commit({"other/b": "2"})
    _lose(repository, "HEAD~1:other")

    with pytest.raises(Unreadable):
        changes(repository, "HEAD~1", "HEAD")


def _lose(repository: GitRepository, name: str) -> None:
    oid = repository.git("rev-parse", name)
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()


# ---------------------------------------------------------------- hostile trees


def _hostile_tree(repository: GitRepository, *entries: tuple[str, bytes, str]) -> str:
    raw = b"".join(
        mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
    )
    options = ("hash-object", "-t", "tree", "-w", "--stdin", "--literally")
    return repository.git(*options, input=raw)


@pytest.mark.parametrize("name", [b"..", b".", b"a/b", b"../x"])
def test_a_name_that_is_no_file_name_is_refused(repository: GitRepository, name: bytes) -> None:
    """Git itself would not check it out; two spellings of one path would confuse us."""
    blob = repository.git("hash-object", "-w", "--stdin", input=b"1")
    tree = _hostile_tree(repository, ("100644", name, blob))

    with pytest.raises(NotComparable, match="no system could check out"):
        changes(repository, EMPTY, tree)


def test_a_path_without_end_is_refused(repository: GitRepository) -> None:
    """Each level is one small object."""
    tree = EMPTY
    repository.git("mktree", input=b"")
    for _ in range(25):
        tree = _hostile_tree(repository, ("40000", b"x" * 200, tree))

    with pytest.raises(NotComparable, match="no system could check out"):
        changes(repository, EMPTY, tree)


def test_a_tree_that_repeats_itself_is_refused(repository: GitRepository) -> None:
    """Ten levels of ten times the same folder are ten small objects, and ten billion paths."""
    tree = EMPTY
    repository.git("mktree", input=b"")
    for _ in range(10):
        names = (b"%d" % number for number in range(10))
        tree = _hostile_tree(repository, *(("40000", name, tree) for name in names))

    with pytest.raises(NotComparable, match="250,000 paths"):
        changes(repository, EMPTY, tree)
