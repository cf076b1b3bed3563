"""The files around a skill are read as data, and none outside their root."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from git_repositories import GitRepository, skill
from skill_delta.core.documents import MAX_BYTES
from skill_delta.errors import Place, UserError
from skill_delta.history.layout import find_git
from skill_delta.history.repository import Repository
from skill_delta.history.working_copy import WorkingFiles, source_files_for
from skill_delta.ports import SourceFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file in it, beside one that must not be read."""
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "file").write_text("inside")
    (tmp_path / "secret").write_text("hidden words")
    return tmp_path / "root"


@pytest.fixture
def files(root: Path) -> SourceFiles:
    return WorkingFiles(root)


def refusal(files: SourceFiles, path: str) -> str:
    with pytest.raises(UserError) as caught:
        files.read(PurePosixPath(path))
    assert "hidden words" not in str(caught.value)
    return caught.value.problem


def test_a_file_is_read_by_its_path_from_the_root(files: SourceFiles) -> None:
    """A way over `..` that stays inside is fine."""
    assert files.read(PurePosixPath("a/file")) == b"inside"
    assert files.read(PurePosixPath("a/../a/file")) == b"inside"


def test_a_link_that_stays_inside_is_followed(root: Path, files: SourceFiles) -> None:
    """To a file, and through a folder."""
    (root / "link").symlink_to("a/file")
    (root / "folder").symlink_to(root / "a")

    assert files.read(PurePosixPath("link")) == b"inside"
    assert files.read(PurePosixPath("folder/file")) == b"inside"


@pytest.mark.parametrize(
    "path", ["../secret", "a/../../secret", "{tmp}/secret", "link", "up/secret"]
)
def test_nothing_outside_is_read(root: Path, files: SourceFiles, path: str) -> None:
    """Neither by `..`, nor by an absolute path, nor by a link."""
    (root / "link").symlink_to("../secret")
    (root / "up").symlink_to("..")

    assert "leads out of" in refusal(files, path.format(tmp=root.parent))


@pytest.mark.parametrize(
    "path", ["gone", "gone/file", "a/file/x", "broken", "circle", "a", "nul\0"]
)
def test_what_is_no_file_is_refused(root: Path, files: SourceFiles, path: str) -> None:
    """Missing, a folder, a link to nothing or in a circle, a name that no file can have."""
    (root / "broken").symlink_to("gone")
    (root / "circle").symlink_to("circle")

    assert refusal(files, path).startswith("it cannot be read: ")


def test_a_named_pipe_is_not_waited_for(root: Path, files: SourceFiles) -> None:
    """It says what it is."""
    os.mkfifo(root / "pipe")

    assert refusal(files, "pipe") == "it cannot be read: it is a named pipe, not a file"


def test_a_large_file_is_refused(root: Path, files: SourceFiles) -> None:
    """A mebibyte is read, one byte more is not."""
    (root / "most").write_bytes(b"x" * MAX_BYTES)
    (root / "more").write_bytes(b"x" * (MAX_BYTES + 1))

    assert len(files.read(PurePosixPath("most"))) == MAX_BYTES
    assert "1,048,576 bytes" in refusal(files, "more")


def test_a_listing_has_the_files_of_one_folder(root: Path, files: SourceFiles) -> None:
    """Sorted, without folders and special files; None where there is no folder."""
    (root / "a" / "B").write_text("")
    (root / "a" / "inner").mkdir()
    (root / "a" / "linked").symlink_to("file")
    (root / "a" / "folder").symlink_to("inner")
    os.mkfifo(root / "a" / "pipe")

    listed = files.listing(PurePosixPath("a"))

    assert [str(path) for path in listed or ()] == ["a/B", "a/file", "a/linked"]
    assert [str(path) for path in files.listing(PurePosixPath()) or ()] == []
    assert files.listing(PurePosixPath("gone")) is None
    assert files.listing(PurePosixPath("a/file")) is None


def test_a_listed_link_says_what_is_wrong_when_it_is_read(root: Path, files: SourceFiles) -> None:
    """An eval file that leads nowhere, or out, is not passed over in silence."""
    (root / "a" / "out.yaml").symlink_to("../../secret")
    (root / "a" / "gone.yaml").symlink_to("gone")

    assert PurePosixPath("a/out.yaml") in (files.listing(PurePosixPath("a")) or ())
    assert "leads out of" in refusal(files, "a/out.yaml")
    assert "No such file" in refusal(files, "a/gone.yaml")


def test_a_folder_outside_is_not_listed(root: Path, files: SourceFiles) -> None:
    """`evals -> ..` is refused, not taken for a skill without evals."""
    (root / "evals").symlink_to("..")

    with pytest.raises(UserError, match="leads out of"):
        files.listing(PurePosixPath("evals"))


def test_paths_are_shown_from_the_current_folder(
    root: Path, files: SourceFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one would type them; elsewhere in full; and always printable."""
    monkeypatch.chdir(root.parent)
    assert files.shown(PurePosixPath("a/file")) == "root/a/file"
    monkeypatch.chdir(root / "a")
    assert files.shown(PurePosixPath("b\n\x1b[31m")) == f"{root}/b\\n\\x1b[31m"
    assert files.shown(PurePosixPath("a/caf\udce9 ü")) == "caf\\xe9 ü"


def test_the_root_is_the_top_of_the_work_tree(repository: GitRepository) -> None:
    """So an eval file may name tools that several skills share."""
    repository.write({"skills/a/SKILL.md": skill(), "shared/tools.yaml": "tools: []"})

    files, folder = source_files_for(repository.folder / "skills" / "a")

    assert folder == PurePosixPath("skills/a")
    assert files.read(PurePosixPath("shared/tools.yaml")) == b"tools: []"


def test_without_a_repository_the_root_is_where_one_is_or_the_parent(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder if the skill lies below it, else the folder it lies in."""
    monkeypatch.chdir(root.parent)
    assert source_files_for(root / "a")[1] == PurePosixPath("root/a")
    monkeypatch.chdir(root / "a")
    assert source_files_for(root / "a")[1] == PurePosixPath()
    monkeypatch.chdir("/")
    assert source_files_for(Path("/"))[1] == PurePosixPath()
    (root / "b").mkdir()
    monkeypatch.chdir(root / "b")
    assert source_files_for(root / "a")[1] == PurePosixPath("a")


def test_a_link_in_a_circle_does_not_hide_its_neighbours(root: Path, files: SourceFiles) -> None:
    """It is listed, so that whoever reads it is told."""
    (root / "a" / "loop").symlink_to("loop")

    listed = files.listing(PurePosixPath("a"))

    assert [str(path) for path in listed or ()] == ["a/file", "a/loop"]
    assert refusal(files, "a/loop").startswith("it cannot be read: ")


@pytest.mark.parametrize("ask", [find_git, source_files_for, WorkingFiles, Repository.discover])
def test_a_place_that_leads_in_a_circle_is_refused(
    root: Path, ask: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its name, whoever asks for it."""
    (root / "loop").symlink_to("loop")
    monkeypatch.chdir(root)

    with pytest.raises(UserError, match="in a circle") as caught:
        ask(Path("loop"))

    assert caught.value.place == Place("loop")


@pytest.fixture
def _gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder that was deleted."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()


@pytest.mark.usefixtures("_gone")
@pytest.mark.parametrize("ask", [find_git, source_files_for, WorkingFiles, Repository.discover])
def test_a_current_folder_that_is_gone_is_said(ask: Callable[[Path], object]) -> None:
    """Where a path is relative to it."""
    for path in (Path(), Path("skills")):
        with pytest.raises(UserError, match="current folder is not there any more"):
            ask(path)


@pytest.mark.usefixtures("_gone")
def test_without_a_current_folder_paths_are_shown_in_full(root: Path, files: SourceFiles) -> None:
    """Messages are made of them, this one's too."""
    assert files.shown(PurePosixPath("a")) == f"{root}/a"
    with pytest.raises(UserError, match="current folder is not there any more"):
        source_files_for(root / "a")
