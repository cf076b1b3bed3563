"""A trial's working folder: fresh, outside of every repository, and gone when the trial is over."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from skill_delta.core.trials import Trial
from skill_delta.core.workspace import (
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TOTAL_BYTES,
    WorkspaceFile,
    WorkspaceFiles,
    path_refusal,
)
from skill_delta.errors import TrialError
from skill_delta.runners.folders import (
    Found,
    RefusedError,
    files_below,
    read_below,
    special,
    write_below,
)

PREFIX = "skill-delta-trials-"
"""How the folder of a run begins its name. What a killed run left of it is removed by the next."""
KEPT_PREFIX = "skill-delta-kept-"
MAX_TOLD = 4_000_000
"""How many characters of files a trial's model is told: a line of a record has to hold them."""
_LOCK = ".lock"
_YOUNG_SECONDS = 60.0
"""A run takes its lock well before its folder is this old."""


class Workspace:
    """The folder of one trial. `place` is the trial's own, with the working folder in it.

    What is asked for by a model is answered or refused (`RefusedError`), never taken on trust.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root = place / "work"
        self._left_to_tell = MAX_TOLD

    def listing(self) -> tuple[str, ...]:
        """Every regular file, by its path from here."""
        return tuple(_shown(file.path) for file in self._files() if file.is_regular)

    def read(self, path: str) -> str:
        """A file's text. Raises `RefusedError` where there is none."""
        place = _checked(path)
        try:
            return self._content(place, MAX_FILE_BYTES).decode()
        except FileNotFoundError:
            raise RefusedError(f"there is no file {path}") from None
        except UnicodeDecodeError:
            raise RefusedError(f"the content of {path} is not UTF-8 text") from None
        except RefusedError as refused:
            raise RefusedError(f"{path} cannot be read: {refused}") from None
        except OSError as error:
            raise RefusedError(f"{path} cannot be read: {error.strerror}") from None

    def write(self, path: str, text: str) -> int:
        """Create or replace a file; its size in bytes. Raises `RefusedError`."""
        place = _checked(path)
        try:
            content = text.encode()
        except UnicodeEncodeError:
            raise RefusedError(f"the content for {path} cannot be written as UTF-8") from None
        self._refuse_beyond_caps(place, len(content))
        try:
            write_below(self.root, place, content)
        except RefusedError as refused:
            raise RefusedError(f"{path} cannot be written: {refused}") from None
        except OSError as error:
            raise RefusedError(f"{path} cannot be written: {error.strerror}") from None
        return len(content)

    def told(self, text: str) -> str:
        """What the model is told of files, which has an end over the whole trial.

        Raises `RefusedError` beyond it.
        """
        if len(text) > self._left_to_tell:
            raise RefusedError(f"this trial may read {MAX_TOLD:,} characters of files, no more")
        self._left_to_tell -= len(text)
        return text

    def over_limit(self) -> str:
        """What is too much here, where a script wrote more than a model may; empty if nothing."""
        try:
            files = self._files()
        except RefusedError as refused:
            return str(refused)
        if len(files) > MAX_FILES:
            return f"the working folder holds more than {MAX_FILES:,} files"
        if sum(file.size for file in files) > MAX_TOTAL_BYTES:
            return f"the working folder holds more than {MAX_TOTAL_BYTES:,} bytes"
        return ""

    def left(self, is_read: Callable[[str], bool]) -> WorkspaceFiles:
        """What the folder holds now, with the text of those files that `is_read` says."""
        try:
            found = self._files()
        except RefusedError as refused:
            return WorkspaceFiles(problem=f"{refused}, so nothing in it was read")
        room = MAX_TOTAL_BYTES
        files = []
        for file in found:
            files.append(self._left_file(file, room, is_read))
            room -= len((files[-1].text or "").encode())
        return WorkspaceFiles(tuple(files))

    def _left_file(self, file: Found, room: int, is_read: Callable[[str], bool]) -> WorkspaceFile:
        path = _shown(file.path)
        if not file.is_regular:
            return WorkspaceFile(path, 0, problem=special(file.mode), is_regular=False)
        if not is_read(path):
            return WorkspaceFile(path, file.size)
        try:
            text = self._content(file.path, min(room, MAX_FILE_BYTES)).decode()
        except (RefusedError, OSError) as error:
            return WorkspaceFile(path, file.size, problem=str(error))
        except UnicodeDecodeError:
            return WorkspaceFile(path, file.size, problem="its content is not UTF-8 text")
        return WorkspaceFile(path, file.size, text)

    def _content(self, path: PurePosixPath, most: int) -> bytes:
        return read_below(self.root, path, most, may_be_linked=False)

    def _files(self) -> tuple[Found, ...]:
        try:
            found = files_below(self.root, MAX_ENTRIES)
        except (OSError, RefusedError) as error:
            raise RefusedError(f"the working folder cannot be listed: {error}") from None
        if found is None:
            raise RefusedError(f"the working folder holds more than {MAX_ENTRIES:,} entries")
        return found

    def _refuse_beyond_caps(self, place: PurePosixPath, size: int) -> None:
        if size > MAX_FILE_BYTES:
            raise RefusedError(
                f"{place} would have {size:,} bytes; a file has at most {MAX_FILE_BYTES:,}"
            )
        others = [file for file in self._files() if file.path != place]
        if len(others) >= MAX_FILES:
            raise RefusedError(
                f"the folder holds {len(others):,} files; at most {MAX_FILES} may be"
            )
        total = sum(file.size for file in others) + size
        if total > MAX_TOTAL_BYTES:
            raise RefusedError(
                f"the working folder would hold {total:,} bytes; it has at most {MAX_TOTAL_BYTES:,}"
            )


def _checked(path: str) -> PurePosixPath:
    wrong = path_refusal(path)
    if wrong:
        raise RefusedError(wrong)
    return PurePosixPath(path)


def _shown(path: PurePosixPath) -> str:
    return os.fsencode(str(path)).decode("utf-8", "backslashreplace")


class Workspaces:
    """The working folders of a run. With `keep` they stay, in a folder of their own: `kept_in`.

    `problems` tells of those that could not be removed.
    """

    def __init__(self, *, keep: bool = False) -> None:
        self._keeps = keep
        self._run: Path | None = None
        self._lock: int | None = None
        self.kept_in: Path | None = None
        self.problems: list[str] = []

    @contextmanager
    def opened(self, trial: Trial) -> Iterator[Workspace | None]:
        """The trial's folder with the case's files in it; None where the case has none.

        Raises `TrialError` where it cannot be made: that says nothing about the skill.
        """
        seed = trial.case.workspace
        if seed is None:
            yield None
            return
        place = None
        try:
            try:
                place = Path(tempfile.mkdtemp(dir=self._run_folder()))
                workspace = Workspace(place)
                workspace.root.mkdir()
                for path, text in seed.files.items():
                    workspace.write(path, text)
            except (OSError, RefusedError) as error:
                raise TrialError(f"the working folder cannot be made: {error}") from None
            yield workspace
        finally:
            if place is not None:
                self._put_away(place, trial)

    def close(self) -> None:
        """Remove what is left of the run."""
        if self._run is not None:
            self._remove(self._run)
            self._run = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _run_folder(self) -> Path:
        if self._run is None:
            _sweep()
            self._run = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
            self._lock = os.open(self._run / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if self._keeps:
                self.kept_in = Path(tempfile.mkdtemp(prefix=KEPT_PREFIX)).resolve()
        return self._run

    def _put_away(self, place: Path, trial: Trial) -> None:
        if self.kept_in is not None:
            with suppress(OSError):
                (place / "work").rename(self.kept_in / _label(trial, place.name))
        self._remove(place)

    def _remove(self, folder: Path) -> None:
        if not remove_folder(folder):
            self.problems.append(f"{folder} could not be removed")


def remove_folder(folder: Path) -> bool:
    """Remove the folder, whatever its owner has forbidden in it; whether it is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for place, folders, _ in os.walk(folder):
            for name in folders:
                inside = Path(place, name)
                with suppress(OSError):
                    if not inside.is_symlink():
                        inside.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def _label(trial: Trial, unique: str) -> str:
    session = f"{trial.skill}.{trial.case.name}.{trial.arm.name}.{trial.runner}"
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", session).strip("-.")[:100]
    return f"{plain or 'trial'}.{trial.repetition}.{unique}"


def _sweep() -> None:
    """Remove the folders of runs that were killed: nobody holds their locks any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
            if is_ours and time.time() - status.st_mtime > _YOUNG_SECONDS and _is_orphan(folder):
                remove_folder(folder)


def _is_orphan(folder: Path) -> bool:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(lock)
