"""A repository is read as git reads it, without git."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dulwich.refs import Ref
from dulwich.reftable import ReftableRefsContainer

from git_repositories import GitRepository
from skill_delta.history.layout import find_git
from skill_delta.history.repository import BLOB, TREE, Repository, Unreadable
from walked_histories import opened
from walked_histories import walked as walks


def walked(repository: GitRepository, path: str) -> list[str]:
    (found,) = walks(repository, [(repository.head(), path)])
    return found


# ---------------------------------------------------------------- finding it


def test_it_is_found_from_anywhere_below_its_top(repository: GitRepository) -> None:
    """From a folder, from a file, and from a folder that is not there any more."""
    repository.write({"a/b/file": "x"})

    for place in (".", "a", "a/b", "a/b/file", "a/gone/away"):
        found = find_git(repository.folder / place)
        assert found is not None
        assert found.worktree == repository.folder.resolve()


def test_outside_there_is_none(tmp_path: Path) -> None:
    """No folder up to the root is a repository's."""
    assert find_git(tmp_path) is None
    assert Repository.discover(tmp_path) is None


@pytest.mark.parametrize("damage", ["HEAD", "objects", "config", "packed-refs"])
def test_a_broken_repository_never_raises(repository: GitRepository, damage: str) -> None:
    """Without HEAD or objects it is none; with a garbled file it is read as far as it goes."""
    repository.commit({"a": "x"})
    broken = repository.folder / ".git" / damage
    if damage in ("HEAD", "objects"):
        broken.rename(broken.with_name("away"))
    else:
        broken.write_bytes(b"\xff[[garbage\0")

    found = Repository.discover(repository.folder)

    if found is not None:
        found.close()
    assert damage not in ("HEAD", "objects") or found is None


def test_an_empty_git_folder_is_passed_over(repository: GitRepository) -> None:
    """As git does: the repository above it is the one."""
    (repository.folder / "a" / ".git").mkdir(parents=True)

    found = find_git(repository.folder / "a")

    assert found is not None
    assert found.worktree == repository.folder.resolve()


def test_a_partial_clone_can_be_opened(repository: GitRepository, tmp_path: Path) -> None:
    """An extension of the format that does not matter for reading is no reason to refuse it."""
    repository.commit({"a": "x"})
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = GitRepository(tmp_path / "clone")
    source = f"file://{repository.folder}"
    repository.git(
        "clone", "--quiet", "--filter=blob:none", "--no-checkout", source, str(clone.folder)
    )

    with opened(clone) as store:
        head = store.head()
        assert head is not None
        entry = store.entry(store.commit(head).tree, b"a")
        assert entry is not None
        with pytest.raises(Unreadable, match="not in this clone"):
            store.read(entry.oid, BLOB)


def test_branches_kept_in_a_reftable_are_found(repository: GitRepository) -> None:
    """The newer way to store refs; HEAD is in it as well, and the old file says nothing."""
    head = repository.commit({"a": "x"})
    git = repository.folder / ".git"
    (git / "reftable").mkdir()
    table = ReftableRefsContainer(str(git))
    table.set_if_equals(Ref(b"refs/heads/main"), None, head.encode())  # type: ignore[arg-type]
    table.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
    (git / "HEAD").write_text("ref: refs/heads/.invalid\n")
    with (git / "config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")

    with opened(repository) as store:
        found = store.head()

    assert found is not None
    assert found.hex() == head


def test_nothing_is_written(repository: GitRepository) -> None:
    """Neither into the work tree nor into `.git`."""

    def everything() -> dict[str, int]:
        return {str(p): p.lstat().st_mtime_ns for p in repository.folder.rglob("*")}

    repository.commit({"a": "x"})
    before = everything()

    with opened(repository) as store:
        store.is_tracked(b"a")
        store.is_tracked(b"untracked")
    walked(repository, "a")

    assert everything() == before


# ---------------------------------------------------------------- what git does to its own history


def test_replaced_commits_are_read_as_their_replacements(repository: GitRepository) -> None:
    """`git replace`: git's log shows the replacement under the name of the replaced."""
    first = repository.commit({"a": "1"})
    middle = repository.commit({"a": "2"})
    repository.commit({"a": "3"})
    repository.git("checkout", "--quiet", "-b", "other", first)
    replacement = repository.commit({"b": "x"})
    repository.git("checkout", "--quiet", "main")
    repository.git("replace", middle, replacement)

    assert walked(repository, "a") == repository.log("a")
    assert middle not in walked(repository, "a")


def test_grafted_parents_are_followed(repository: GitRepository) -> None:
    """`info/grafts`, the older way to say the same."""
    first = repository.commit({"a": "1"})
    repository.commit({"a": "2"})
    last = repository.commit({"a": "3"})
    (repository.folder / ".git" / "info" / "grafts").write_text(f"# note\n{last} {first}\n")

    assert walked(repository, "a") == repository.log("a") == [last, first]


def test_a_shallow_history_ends_at_its_boundary(repository: GitRepository, tmp_path: Path) -> None:
    """What lies beyond is not there, and git says the same."""
    for number in range(4):
        repository.commit({"a": str(number)})
    clone = GitRepository(tmp_path / "clone")
    source = f"file://{repository.folder}"
    repository.git("clone", "--quiet", "--depth=2", source, str(clone.folder))

    assert walked(clone, "a") == clone.log("a")
    assert len(walked(clone, "a")) == 2


def test_modes_that_git_takes_for_equal_are_equal(repository: GitRepository) -> None:
    """Old trees hold 100664, which git compares as 100644."""
    x = repository.git("hash-object", "-w", "--stdin", input=b"x")
    parent: list[str] = []
    for mode in ("100644", "100664", "100755", "100775"):
        raw = f"{mode} a\0".encode() + bytes.fromhex(x)
        tree = repository.git(
            "hash-object", "-t", "tree", "-w", "--stdin", "--literally", input=raw
        )
        parent = ["-p", repository.git("commit-tree", *parent, "-m", mode, tree)]
    repository.git("update-ref", "refs/heads/main", parent[1])

    assert walked(repository, "a") == repository.log("a")
    assert len(walked(repository, "a")) == 2


# ---------------------------------------------------------------- objects


def test_an_object_of_another_kind_is_unreadable(repository: GitRepository) -> None:
    """A forged tree may name a file as a folder."""
    head = bytes.fromhex(repository.commit({"a": "x"}))

    with opened(repository) as store:
        with pytest.raises(Unreadable, match="is not a tree"):
            store.read(head, TREE)
        with pytest.raises(Unreadable, match="is not a commit"):
            store.commit(store.commit(head).tree)


def test_a_path_is_looked_up_by_its_whole_names(repository: GitRepository) -> None:
    """A name that ends like another, as bytes in a tree may, is another name."""
    repository.commit({"40000 a/x": "decoy", "x40000 a/x": "decoy", "a/x": "x", "b a": "y"})
    head = repository.head()

    with opened(repository) as store:
        tree = store.commit(bytes.fromhex(head)).tree
        entry = store.entry(tree, b"a/x")
        assert entry is not None
        assert store.read(entry.oid, BLOB) == b"x"
        assert store.entry(tree, b"a/x/y") is None
        assert store.entry(tree, b"a/y") is None
        assert store.entry(tree, b"") is not None


def test_a_file_is_tracked_by_head_or_by_the_index(repository: GitRepository) -> None:
    """Staged, or committed and taken out of the index."""
    repository.commit({"committed": "x", "removed": "x"})
    repository.write({"staged": "x", "untracked": "x"})
    repository.git("add", "staged")
    repository.git("rm", "--quiet", "--cached", "removed")

    with opened(repository) as store:
        names = (b"committed", b"removed", b"staged", b"untracked", b"")
        assert [store.is_tracked(name) for name in names[:4]] == [True, True, True, False]

    (repository.folder / ".git" / "index").write_bytes(b"garbage")
    with opened(repository) as store:
        assert not store.is_tracked(b"staged")


# ---------------------------------------------------------------- what never ends


@pytest.mark.parametrize("name", ["config", "shallow", "info/grafts", "index", "refs/heads/side"])
def test_a_named_pipe_among_gits_files_counts_as_missing(
    repository: GitRepository, name: str
) -> None:
    """Nobody waits for it."""
    head = repository.commit({"a": "x"})
    path = repository.folder / ".git" / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    with opened(repository) as store:
        found = store.head()
        assert store.ref(b"refs/heads/side") is None
        assert not store.is_tracked(b"b")
        assert store.shallow == frozenset()

    assert found is not None
    assert found.hex() == head


@pytest.mark.parametrize("name", ["packed-refs", "objects/info/alternates", "pack"])
def test_a_named_pipe_in_the_place_of_what_is_needed_makes_it_unreadable(
    repository: GitRepository, name: str
) -> None:
    """Without it nothing true could be said; the reason names it."""
    repository.commit({"a": "x"})
    repository.git("gc", "--quiet")
    git = repository.folder / ".git"
    path = next((git / "objects" / "pack").glob("*.idx")) if name == "pack" else git / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    folders = find_git(repository.folder)
    assert folders is not None

    with pytest.raises(Unreadable, match=f"{path.name} is a named pipe, not a file"):
        Repository.open(folders)


def test_a_named_pipe_in_the_place_of_an_object_is_damage(
    repository: GitRepository, tmp_path: Path
) -> None:
    """In the repository, and in one that it borrows from."""
    oid = repository.commit({"a": "x"})
    borrower = GitRepository(tmp_path / "borrower")
    repository.git("clone", "--quiet", "--shared", "--no-checkout", ".", str(borrower.folder))
    path = repository.folder / ".git" / "objects" / oid[:2] / oid[2:]
    path.unlink()
    os.mkfifo(path)

    for one in (repository, borrower):
        with opened(one) as store, pytest.raises(Unreadable, match="named pipe"):
            store.commit(bytes.fromhex(oid))


def test_objects_are_borrowed_in_circles(repository: GitRepository) -> None:
    """Two repositories may name each other, or one itself."""
    head = repository.commit({"a": "x"})
    objects = repository.folder / ".git" / "objects"
    (objects / "info" / "alternates").write_text(f"{objects}\n../objects\n# note\n/nowhere\n")

    with opened(repository) as store:
        assert store.commit(bytes.fromhex(head)).parents == ()


def test_an_empty_list_of_packed_refs_is_one(repository: GitRepository) -> None:
    """Git takes it, and so do we."""
    repository.commit({"a": "x"})
    (repository.folder / ".git" / "packed-refs").write_bytes(b"")

    assert walked(repository, "a") == repository.log("a")


@pytest.mark.parametrize("date", ["9" * 5_000, "99999999999999999999", "soon", ""])
def test_an_absurd_date_is_taken_as_git_takes_it(repository: GitRepository, date: str) -> None:
    """It only says in which order commits are shown."""
    base = repository.commit({"a": "1"})
    tree = repository.git("rev-parse", "HEAD^{tree}")
    sides = []
    for number, when in enumerate((date, "1700000100")):
        repository.commit({"a": f"side {number}"})
        tree = repository.git("rev-parse", "HEAD^{tree}")
        raw = f"tree {tree}\nparent {base}\nauthor A <a@b> 1 +0000\n"
        raw += f"committer A <a@b> {when} +0000\n\nside {number}\n"
        forged = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
        sides.append(repository.git(*forged, input=raw.encode()))
    repository.write({"a": "merged"})
    repository.git("add", "--all")
    tree = repository.git("write-tree")
    merge = repository.git("commit-tree", "-p", sides[0], "-p", sides[1], "-m", "x", tree)
    repository.git("update-ref", "refs/heads/main", merge)

    assert walked(repository, "a") == repository.log("a")
    assert set(sides) < set(walked(repository, "a"))
