"""The files of a branch on GitHub, for a job that has checked out nothing."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, TypeAdapter

from skill_delta.errors import Place, UserError
from skill_delta.hosts.github import reading
from skill_delta.hosts.github_api import (
    UNKNOWN_ANSWER,
    Api,
    Connection,
    LostAnswerError,
    RefusalError,
    read_reply,
)

MOST_BYTES = 1024 * 1024
"""No file that is read this way is larger."""

T = TypeVar("T")

_REGULAR = frozenset({"100644", "100755"})
_TREE_MODE = "040000"


class _Reply(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Entry(_Reply):
    path: str
    mode: str
    sha: str
    size: int = 0


class _Tree(_Reply):
    tree: list[_Entry]
    truncated: bool = False


class _Named(_Reply):
    sha: str


class _Content(_Reply):
    tree: _Named


class _Commit(_Reply):
    commit: _Content


class _Branch(_Reply):
    commit: _Commit


class _Blob(_Reply):
    content: str
    encoding: str


_BRANCH = TypeAdapter(_Branch)
_TREE = TypeAdapter(_Tree)
_BLOB = TypeAdapter(_Blob)


@dataclass(frozen=True, slots=True)
class BranchFiles:
    """A branch as it was when it was first asked for, read as data: no link is followed.

    Every method raises `UserError` where GitHub refuses, `ServiceError` where it gives no answer.
    Files are looked for in their folders: asked for one by its name, GitHub answers a token that
    may not read it as if it were not there.
    """

    connection: Connection
    repository: str
    """`owner/name`."""
    branch: str
    _folders: dict[PurePosixPath, Mapping[str, _Entry] | None] = field(default_factory=dict)

    def read(self, path: PurePosixPath) -> bytes:
        """The file's bytes. Raises `UserError` for what is no file, or too large."""
        entry = (self._folder(path.parent) or {}).get(path.name)
        place = Place(self.shown(path))
        if entry is None:
            raise UserError("there is no such file", place=place)
        if entry.mode not in _REGULAR:
            raise UserError("this is a link or a folder, and not followed", place=place)
        if entry.size > MOST_BYTES:
            raise UserError(f"the file is larger than {MOST_BYTES:,} bytes", place=place)
        return self._asked(lambda api: self._blob(api, entry.sha))

    def listing(self, folder: PurePosixPath) -> Sequence[PurePosixPath] | None:
        """The regular files directly in a folder, sorted; None where there is no such folder."""
        entries = self._folder(folder)
        if entries is None:
            return None
        return sorted(folder / name for name, e in entries.items() if e.mode in _REGULAR)

    def shown(self, path: PurePosixPath) -> str:
        return f"{path} (at {self.branch})"

    def _folder(self, folder: PurePosixPath) -> Mapping[str, _Entry] | None:
        if folder not in self._folders:
            self._folders[folder] = self._entries(folder)
        return self._folders[folder]

    def _entries(self, folder: PurePosixPath) -> Mapping[str, _Entry] | None:
        if not folder.parts:
            return self._asked(lambda api: self._tree(api, self._tree_of_branch(api)))
        entry = (self._folder(folder.parent) or {}).get(folder.name)
        if entry is None or entry.mode != _TREE_MODE:
            return None
        return self._asked(lambda api: self._tree(api, entry.sha))

    def _tree_of_branch(self, api: Api) -> str:
        path = f"/repos/{self.repository}/branches/{quote(self.branch, safe='')}"
        return read_reply(_BRANCH, api.read(path).content).commit.commit.tree.sha

    def _tree(self, api: Api, sha: str) -> Mapping[str, _Entry]:
        content = api.read(f"/repos/{self.repository}/git/trees/{sha}").content
        found = read_reply(_TREE, content)
        if found.truncated:
            raise RefusalError("the folder has too many files to list")
        return {entry.path: entry for entry in found.tree}

    def _blob(self, api: Api, sha: str) -> bytes:
        found = read_reply(_BLOB, api.read(f"/repos/{self.repository}/git/blobs/{sha}").content)
        try:
            return b64decode(found.content) if found.encoding == "base64" else _unknown()
        except ValueError:
            return _unknown()

    def _asked(self, step: Callable[[Api], T]) -> T:
        what = f"branch {self.branch} of {self.repository}"
        return reading(self.connection, step, what, "give the job `permissions: contents: read`")


def _unknown() -> bytes:
    raise LostAnswerError(UNKNOWN_ANSWER)
