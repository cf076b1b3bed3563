"""Files read from a commit: what git has, whatever lies in the work tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath as Path

import pytest

from git_repositories import GitRepository
from pull_requests import opened
from skill_delta.core.documents import MAX_BYTES
from skill_delta.errors import UserError
from skill_delta.history.tree_files import TreeFiles
from skill_delta.ports import SourceFiles

NOT_UTF_8 = b"caf\xe9.yaml".decode("utf-8", "surrogateescape")


@pytest.fixture
def files(repository: GitRepository) -> Iterator[SourceFiles]:
    """A commit with files of every kind; the work tree has lost and changed some since."""
    repository.write(
        {
            "skills/a/SKILL.md": "a",
            "skills/a/evals/b.yaml": "b",
            "skills/a/evals/a.yaml": "a",
            "skills/a/evals/deep/c.yaml": "c",
            f"names/{NOT_UTF_8}": "x",
            "large.yaml": b"x" * (MAX_BYTES + 1),
            "fits.yaml": b"x" * MAX_BYTES,
        }
    )
    (repository.folder / "link.yaml").symlink_to("/proc/self/environ")
    (repository.folder / "linked").symlink_to("skills")
    repository.git("add", "--all")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{'5' * 40},sub")
    repository.commit_staged()
    repository.write({"skills/a/SKILL.md": "uncommitted", "untracked": "1"})
    (repository.folder / "skills/a/evals/a.yaml").unlink()
    with opened(repository) as store:
        head = store.head()
        assert head is not None
        yield TreeFiles(store, store.commit(head).tree)


def refusal(files: SourceFiles, path: str) -> str:
    with pytest.raises(UserError) as raised:
        files.read(Path(path))
    assert raised.value.place is not None
    assert raised.value.place.file == files.shown(Path(path))
    return raised.value.problem


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("skills/a/SKILL.md", b"a"),
        ("skills/a/evals/a.yaml", b"a"),
        (f"names/{NOT_UTF_8}", b"x"),
        ("fits.yaml", b"x" * MAX_BYTES),
    ],
)
def test_what_the_commit_has_is_read(files: SourceFiles, path: str, content: bytes) -> None:
    """The work tree's edits and deletions are not part of it."""
    assert files.read(Path(path)) == content


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("untracked", "it cannot be read: there is no such file in the commit"),
        ("skills/b/SKILL.md", "it cannot be read: there is no such file in the commit"),
        ("skills/a/SKILL.md/x", "it cannot be read: there is no such file in the commit"),
        ("skills/../large.yaml", "it cannot be read: there is no such file in the commit"),
        ("/etc/passwd", "it cannot be read: there is no such file in the commit"),
        ("\ud800", "it cannot be read: there is no such file in the commit"),
        ("skills/a", "it cannot be read: it is a folder"),
        ("large.yaml", "it cannot be read: it has more than 1,048,576 bytes"),
        ("link.yaml", "it cannot be read: link.yaml is a link, and links are not followed"),
        ("linked/a/SKILL.md", "it cannot be read: linked is a link, and links are not followed"),
        ("sub", "it cannot be read: sub is a submodule"),
        ("sub/a", "it cannot be read: sub is a submodule"),
    ],
)
def test_anything_else_is_refused(files: SourceFiles, path: str, problem: str) -> None:
    """With what it is, and where."""
    assert refusal(files, path) == problem


def test_a_listing_has_the_files_of_one_folder(files: SourceFiles) -> None:
    """Sorted, and without folders."""
    assert files.listing(Path("skills/a/evals")) == [
        Path("skills/a/evals/a.yaml"),
        Path("skills/a/evals/b.yaml"),
    ]
    assert files.listing(Path("names")) == [Path(f"names/{NOT_UTF_8}")]


def test_the_root_is_a_folder_too(files: SourceFiles) -> None:
    """Links and submodules are named, so that reading one says what it is."""
    assert files.listing(Path()) == [
        Path(name) for name in ("fits.yaml", "large.yaml", "link.yaml", "linked", "sub")
    ]


@pytest.mark.parametrize("folder", ["nothing", "skills/a/SKILL.md", "skills/a/SKILL.md/x"])
def test_what_is_no_folder_has_no_listing(files: SourceFiles, folder: str) -> None:
    """A skill without evals is no mistake."""
    assert files.listing(Path(folder)) is None


@pytest.mark.parametrize("folder", ["linked", "linked/a/evals", "sub"])
def test_a_link_in_the_way_is_a_mistake(files: SourceFiles, folder: str) -> None:
    """Taken for nothing, it would lose a skill its cases without a word."""
    with pytest.raises(UserError, match=r"is a link|is a submodule"):
        files.listing(Path(folder))


def test_a_missing_object_is_told(repository: GitRepository) -> None:
    """In a partial clone, or a damaged one."""
    repository.commit({"evals/a.yaml": "1", "b.yaml": "2"})
    for name in ("HEAD:evals", "HEAD:b.yaml"):
        oid = repository.git("rev-parse", name)
        (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with opened(repository) as store:
        files = TreeFiles(store, bytes.fromhex(repository.git("rev-parse", "HEAD^{tree}")))

        assert "is not in this clone" in refusal(files, "b.yaml")
        assert "is not in this clone" in refusal(files, "evals/a.yaml")
        with pytest.raises(UserError, match="is not in this clone"):
            files.listing(Path("evals"))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("skills/größe/a.yaml", "skills/größe/a.yaml"),
        (NOT_UTF_8, r"caf\xe9.yaml"),
        ("a\nb\x1b[1m", r"a\nb\x1b[1m"),
        ("\ud800", r"\ud800"),
    ],
)
def test_a_path_can_be_printed_anywhere(files: SourceFiles, path: str, shown: str) -> None:
    """Whatever a commit calls its files, a message stays one line of text."""
    assert files.shown(Path(path)) == shown
