"""A trial's working folder: what a model can do in it, and that nothing outside is reached."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations import a_trial_of
from skill_delta.core.trials import Trial
from skill_delta.core.workspace import MAX_ENTRIES, MAX_FILE_BYTES, MAX_FILES, WorkspaceSeed
from skill_delta.errors import TrialError
from skill_delta.runners import workspace as module
from skill_delta.runners.folders import RefusedError, files_below, read_below, write_below
from skill_delta.runners.workspace import PREFIX, Workspace, Workspaces, remove_folder

SECRET = "sk-test-0123456789"


def a_trial_with(**files: str) -> Trial:
    trial = a_trial_of()
    return replace(trial, case=replace(trial.case, workspace=WorkspaceSeed(files)))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where folders are made: a place of the test's own."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Workspace]:
    """A working folder with a secret beside it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    workspaces = Workspaces()
    with workspaces.opened(a_trial_with(**{"notes.txt": "hello"})) as workspace:
        assert workspace is not None
        yield workspace
    workspaces.close()


def test_a_case_without_a_folder_has_none() -> None:
    """And nothing is made for it."""
    workspaces = Workspaces()
    with workspaces.opened(a_trial_of()) as workspace:
        assert workspace is None
    workspaces.close()


def test_each_trial_has_a_fresh_folder_that_is_gone_afterwards(temporary: Path) -> None:
    """What one trial wrote, no other sees; nothing is left when the run is over."""
    workspaces, seen = Workspaces(), []
    for _ in range(2):
        with workspaces.opened(a_trial_with(**{"in/a.txt": "seed"})) as workspace:
            assert workspace is not None
            assert workspace.listing() == ("in/a.txt",)
            workspace.write("b.txt", "new")
            seen.append(workspace.root)
        assert not workspace.root.exists()
    workspaces.close()

    assert len(set(seen)) == 2
    assert not [*temporary.iterdir()]


def test_a_trial_that_is_lost_leaves_nothing_either(temporary: Path) -> None:
    """However it ends."""
    workspaces = Workspaces()
    with (
        suppress(KeyboardInterrupt),
        workspaces.opened(a_trial_with(a="b")) as workspace,
    ):
        assert workspace is not None
        raise KeyboardInterrupt
    workspaces.close()

    assert not [*temporary.iterdir()]


def test_what_forbids_its_removal_is_removed(folder: Workspace) -> None:
    """A script may take away the rights to its own folders."""
    locked = folder.root / "locked" / "inner"
    locked.mkdir(parents=True)
    (locked / "file").write_text("x")
    locked.chmod(0)
    locked.parent.chmod(0)

    assert remove_folder(folder.root)


def test_a_folder_can_be_kept(temporary: Path) -> None:
    """Under a name that says whose it was."""
    workspaces = Workspaces(keep=True)
    with workspaces.opened(a_trial_with(**{"a.txt": "b"})):
        pass
    workspaces.close()

    assert workspaces.kept_in is not None
    (kept,) = workspaces.kept_in.iterdir()
    assert kept.name.startswith("order-support.refund-request.candidate.openai.0.")
    assert (kept / "a.txt").read_text() == "b"
    assert [*temporary.iterdir()] == [workspaces.kept_in]


def test_the_next_run_removes_what_a_killed_one_left(temporary: Path) -> None:
    """And neither what another run is using, nor what is none of ours."""
    living = Workspaces()
    with living.opened(a_trial_with()):
        (in_use,) = temporary.iterdir()
        orphan, young, other = (temporary / f"{PREFIX}{n}" for n in ("old", "new", "link"))
        orphan.mkdir()
        young.mkdir()
        (orphan / ".lock").touch()
        other.symlink_to(temporary)
        long_ago = time.time() - 3600
        for place in (in_use, orphan):
            os.utime(place, (long_ago, long_ago))

        following = Workspaces()
        with following.opened(a_trial_with()):
            assert not orphan.exists()
            assert in_use.exists()
            assert young.exists()
            assert other.is_symlink()
        following.close()
    living.close()


def test_a_folder_that_cannot_be_made_loses_the_trial(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk says nothing about the skill."""
    monkeypatch.setattr("tempfile.tempdir", str(temporary / "gone"))

    with pytest.raises(TrialError, match="cannot be made"), Workspaces().opened(a_trial_with()):
        pass


def test_files_are_listed_read_and_written(folder: Workspace) -> None:
    """In folders too, which are made."""
    assert folder.write("out/report.md", "é") == 2
    assert folder.write("out/report.md", "new") == 3

    assert folder.listing() == ("notes.txt", "out/report.md")
    assert folder.read("./out//report.md") == "new"
    assert stat.S_IMODE((folder.root / "out/report.md").stat().st_mode) & 0o600 == 0o600


HOSTILE = ["../secret.txt", "/etc/passwd", "..", ".", "", "a/../../secret.txt", "a\0b", "\ud800"]


@pytest.mark.parametrize("path", HOSTILE)
def test_no_path_leads_out(folder: Workspace, path: str) -> None:
    """Neither to read nor to write."""
    with pytest.raises(RefusedError):
        folder.read(path)
    with pytest.raises(RefusedError):
        folder.write(path, "x")


@pytest.mark.parametrize("target", ["../../../../secret.txt", "{secret}", "notes.txt", "/dev/zero"])
def test_no_link_is_followed(folder: Workspace, tmp_path: Path, target: str) -> None:
    """Wherever it leads: a script may have made it."""
    secret = tmp_path / "secret.txt"
    (folder.root / "link").symlink_to(target.format(secret=secret))

    with pytest.raises(RefusedError, match="it is a link"):
        folder.read("link")
    with pytest.raises(RefusedError, match="it is a link"):
        folder.write("link", "x")

    assert secret.read_text() == SECRET
    assert folder.listing() == ("notes.txt",)


def test_no_folder_that_is_a_link_is_entered(folder: Workspace, tmp_path: Path) -> None:
    """Not to read, not to write, not to list, and not to look at what is left."""
    (folder.root / "out").symlink_to(tmp_path, target_is_directory=True)

    for attempt in (lambda: folder.read("out/secret.txt"), lambda: folder.write("out/x", "x")):
        with pytest.raises(RefusedError, match="out is on the way: it is a link"):
            attempt()

    left = folder.left(lambda _: True)
    assert [(file.path, file.is_regular) for file in left.files] == [
        ("notes.txt", True),
        ("out", False),
    ]
    assert not (tmp_path / "x").exists()


def test_a_working_folder_that_was_replaced_is_not_entered(
    folder: Workspace, tmp_path: Path
) -> None:
    """The folder itself may not be a link either."""
    folder.root.rename(folder.place / "moved")
    folder.root.symlink_to(tmp_path, target_is_directory=True)

    with pytest.raises(RefusedError):
        folder.read("secret.txt")
    with pytest.raises(RefusedError):
        folder.write("x", "y")
    assert folder.left(lambda _: True).problem


def test_what_would_block_is_not_opened(folder: Workspace) -> None:
    """A pipe has no end, and nobody at the other one."""
    os.mkfifo(folder.root / "pipe")

    with pytest.raises(RefusedError, match="named pipe"):
        folder.read("pipe")
    with pytest.raises(RefusedError, match="named pipe"):
        folder.write("pipe", "x")
    left = folder.left(lambda _: True).find("pipe")
    assert left is not None
    assert (left.text, left.is_regular) == (None, False)


def test_a_second_name_of_a_file_is_not_written_through(folder: Workspace, tmp_path: Path) -> None:
    """Writing makes a file of its own: what a hard link shares stays as it is."""
    (folder.root / "hard").hardlink_to(tmp_path / "secret.txt")

    folder.write("hard", "overwritten")

    assert (tmp_path / "secret.txt").read_text() == SECRET


def test_a_second_name_of_a_file_is_not_read(folder: Workspace, tmp_path: Path) -> None:
    """What a script may not read, it may have named; we are not to read it for it."""
    (folder.root / "hard").hardlink_to(tmp_path / "secret.txt")

    with pytest.raises(RefusedError, match="it is a hard link"):
        folder.read("hard")
    left = folder.left(lambda _: True).find("hard")
    assert left is not None
    assert (left.text, left.problem) == (None, "it is a hard link, and no link is followed")


def test_files_and_folders_are_not_mistaken(folder: Workspace) -> None:
    """A refusal, in words."""
    folder.write("out/a", "x")

    with pytest.raises(RefusedError, match="out cannot be read: it is a folder"):
        folder.read("out")
    with pytest.raises(RefusedError, match=r"notes\.txt is on the way: it is a file"):
        folder.write("notes.txt/a", "x")
    with pytest.raises(RefusedError, match=r"there is no file gone\.txt"):
        folder.read("gone.txt")


def test_a_model_cannot_fill_the_disk(folder: Workspace) -> None:
    """Neither with one file, nor with many, nor with all; what is there may be replaced."""
    with pytest.raises(RefusedError, match="1,000,001 bytes"):
        folder.write("a", "x" * (MAX_FILE_BYTES + 1))
    for number in range(4):
        folder.write(f"big{number}", "x" * MAX_FILE_BYTES)
    with pytest.raises(RefusedError, match="5,000,005 bytes"):
        folder.write("big4", "x" * MAX_FILE_BYTES)
    for number in range(MAX_FILES - 5):
        folder.write(f"small{number}", "")
    with pytest.raises(RefusedError, match="200 files"):
        folder.write("one more", "")

    assert folder.write("notes.txt", "replaced") == 8


def test_what_is_no_text_is_refused(folder: Workspace) -> None:
    """Bytes that are not UTF-8 cannot be told to a model; half a character cannot be written."""
    (folder.root / "a.bin").write_bytes(b"\xff\xfe")

    with pytest.raises(RefusedError, match="not UTF-8"):
        folder.read("a.bin")
    with pytest.raises(RefusedError, match="cannot be written as UTF-8"):
        folder.write("b", "\ud800")


def test_what_is_left_is_kept_as_far_as_a_check_reads_it(folder: Workspace) -> None:
    """The names of all, the text of those that are asked for; and why there is none."""
    (folder.root / "a.bin").write_bytes(b"\xff")
    os.truncate(folder.root / "a.bin", 1)
    with (folder.root / "sparse").open("wb") as sparse:
        sparse.truncate(10**12)
    (folder.root / "report.md").write_text("total")

    left = folder.left(lambda path: path != "notes.txt")

    assert [(file.path, file.size, file.text, file.problem) for file in left.files] == [
        ("a.bin", 1, None, "its content is not UTF-8 text"),
        ("notes.txt", 5, None, ""),
        ("report.md", 5, "total", ""),
        ("sparse", 10**12, None, "it has 1,000,000,000,000 bytes; at most 1,000,000 are read"),
    ]


def test_all_that_is_kept_has_a_bound(folder: Workspace) -> None:
    """A script may write more than a model; a record holds no more of it than there may be."""
    for number in range(8):
        (folder.root / f"big{number}").write_bytes(b"x" * MAX_FILE_BYTES)

    left = folder.left(lambda _: True)

    kept = [file for file in left.files if file.text is not None]
    assert sum(len(file.text or "") for file in kept) <= 5_000_000
    assert all(file.problem for file in left.files if file not in kept)
    assert folder.over_limit() == "the working folder holds more than 5,000,000 bytes"


def test_a_folder_of_too_much_is_not_looked_at(folder: Workspace) -> None:
    """Whatever a script strewed about: nothing of it can pass."""
    for number in range(MAX_ENTRIES + 1):
        (folder.root / f"{number}").touch()

    left = folder.left(lambda _: True)

    assert left.files == ()
    assert "more than 1,000 entries" in left.problem
    assert "more than 1,000 entries" in folder.over_limit()
    with pytest.raises(RefusedError, match="1,000"):
        folder.listing()


def test_a_name_that_is_no_text_is_spelled_out(folder: Workspace) -> None:
    """So that a report and a record can hold it."""
    (Path(os.fsdecode(os.fsencode(folder.root) + b"/\xff.md"))).touch()

    assert folder.listing() == ("notes.txt", "\\xff.md")


parts = st.sampled_from(["a", "b", "..", ".", "", "link", "secret.txt", "notes.txt", "up"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(parts, max_size=5), st.booleans())
def test_whatever_is_asked_for_nothing_outside_is_reached(
    folder: Workspace, tmp_path: Path, steps: list[str], absolute: bool
) -> None:
    """With links of every kind in the way."""
    for name, target in (("link", tmp_path / "secret.txt"), ("up", tmp_path)):
        with suppress(FileExistsError):
            (folder.root / name).symlink_to(target)
    before = {*tmp_path.iterdir()}
    path = ("/" if absolute else "") + "/".join(steps)

    with suppress(RefusedError):
        assert folder.read(path) != SECRET
    with suppress(RefusedError):
        folder.write(path, "written")

    assert {*tmp_path.iterdir()} == before
    assert (tmp_path / "secret.txt").read_text() == SECRET


def test_a_write_that_fails_leaves_no_half_file(
    folder: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there is there still."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RefusedError, match="No space left"):
        folder.write("notes.txt", "new")

    assert (folder.listing(), folder.read("notes.txt")) == (("notes.txt",), "hello")


def test_reading_is_bounded_by_what_is_read(tmp_path: Path) -> None:
    """A file that grows while it is read does not take the memory."""
    (tmp_path / "a").write_bytes(b"x" * 10)

    assert read_below(tmp_path, PurePosixPath("a"), 10) == b"x" * 10
    with pytest.raises(RefusedError, match="it has 10 bytes; at most 9"):
        read_below(tmp_path, PurePosixPath("a"), 9)


def test_files_are_found_at_any_depth(tmp_path: Path) -> None:
    """Sorted, folders left out."""
    write_below(tmp_path, PurePosixPath("b/c/d"), b"x")
    write_below(tmp_path, PurePosixPath("a"), b"")

    found = files_below(tmp_path, 5)
    assert found is not None
    assert [str(file.path) for file in found] == ["a", "b/c/d"]
    assert files_below(tmp_path, 3) is None


def test_the_folder_lies_outside_of_where_the_run_was_started(folder: Workspace) -> None:
    """What is in a checkout is not beside it."""
    assert not folder.root.is_relative_to(Path.cwd())
    assert module.PREFIX in str(folder.root)
