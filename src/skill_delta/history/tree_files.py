"""`ports.SourceFiles` from a commit: what git has, whatever lies in the work tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from skill_delta.core.documents import MAX_BYTES
from skill_delta.errors import Place, UserError
from skill_delta.history.repository import BLOB, Entry, Repository, Unreadable


class TreeFiles:
    """The files of one commit's tree. No link is followed, and no submodule entered."""

    def __init__(self, repository: Repository, tree: bytes) -> None:
        self._repository = repository
        self._tree = tree

    def read(self, path: PurePosixPath) -> bytes:
        """The file's bytes. Raises `UserError` where it is missing, no file, or over 1 MiB."""
        entry = self._entry(path)
        if entry is None:
            raise self._refusal(path, "there is no such file in the commit")
        if not entry.is_file:
            raise self._refusal(path, "it is a folder")
        try:
            content = self._repository.read(entry.oid, BLOB)
        except Unreadable as error:
            raise self._refusal(path, str(error)) from None
        if len(content) > MAX_BYTES:
            raise self._refusal(path, f"it has more than {MAX_BYTES:,} bytes")
        return content

    def listing(self, folder: PurePosixPath) -> Sequence[PurePosixPath] | None:
        """The files directly in a folder, sorted; None where there is no such folder.

        Links and submodules are listed, so that reading one says what is wrong. Raises
        `UserError` where one of them stands in the way of the folder.
        """
        entry = self._entry(folder)
        if entry is None or not entry.is_tree:
            return None
        try:
            entries = self._repository.entries(entry.oid)
        except Unreadable as error:
            raise self._refusal(folder, str(error)) from None
        names = (name.decode("utf-8", "surrogateescape") for name, at in entries if not at.is_tree)
        return [folder / name for name in sorted(names)]

    def shown(self, path: PurePosixPath) -> str:
        """The path from the repository's root, printable whatever its bytes are."""
        return "".join(map(_printable, str(path)))

    def _entry(self, path: PurePosixPath) -> Entry | None:
        """What the tree has at a path. Raises `UserError` for a link or submodule on the way."""
        entry = Entry(0o040000, self._tree)
        for part in path.parts:
            if not entry.is_tree:
                return None
            try:
                found = self._repository.entry(entry.oid, part.encode("utf-8", "surrogateescape"))
            except Unreadable as error:
                raise self._refusal(path, str(error)) from None
            except UnicodeEncodeError:
                return None  # no file has a name that is not even bytes
            if found is None:
                return None
            if not (found.is_tree or found.is_file):
                kind = "a link, and links are not followed" if found.is_link else "a submodule"
                raise self._refusal(path, f"{self.shown(PurePosixPath(part))} is {kind}")
            entry = found
        return entry

    def _refusal(self, path: PurePosixPath, reason: str) -> UserError:
        return UserError(f"it cannot be read: {reason}", place=Place(self.shown(path)))


def _printable(letter: str) -> str:
    if letter.isprintable():
        return letter
    if "\udc80" <= letter <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(letter) - 0xDC00:02x}"
    return repr(letter)[1:-1]
