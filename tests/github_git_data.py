"""The commits and files that the GitHub stand-in can be asked about."""

from __future__ import annotations

from base64 import encodebytes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import PurePosixPath
from typing import Any

from github_contract import contract


@dataclass(slots=True)
class GitData:
    """Bodies as GitHub's own examples have them; None for what is not there."""

    parents: dict[str, Sequence[str]] = field(default_factory=dict)
    """By commit."""
    files: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})
    """What each branch has, by path."""
    links: set[str] = field(default_factory=set)
    """Paths of links: what `files` has for them is where they lead."""

    def branch(self, name: str) -> Any:
        if name not in self.files:
            return None
        body = contract().example("branch-get") | {"name": name}
        body["commit"]["commit"]["tree"]["sha"] = _object_id("tree", name, "")
        return body

    def commit(self, sha: str) -> Any:
        if sha not in self.parents:
            return None
        body = contract().example("git-commit-2") | {"sha": sha}
        (example,) = body["parents"]
        body["parents"] = [example | {"sha": parent} for parent in self.parents[sha]]
        return body

    def tree(self, sha: str) -> Any:
        for branch, files in self.files.items():
            for folder in ("", *_folders(files)):
                if sha == _object_id("tree", branch, folder):
                    body = contract().example("git-tree-default-response")
                    return body | {"sha": sha, "tree": [*self._entries(branch, folder)]}
        return None

    def blob(self, sha: str) -> Any:
        for branch, files in self.files.items():
            for path, content in files.items():
                if sha == _object_id("blob", branch, path):
                    body = contract().example("blob")
                    text = encodebytes(content).decode()
                    return body | {"sha": sha, "size": len(content), "content": text}
        return None

    def _entries(self, branch: str, folder: str) -> Iterator[Any]:
        files = self.files[branch]
        for path in filter(lambda path: _is_in(folder, path), files):
            mode = "120000" if path in self.links else "100644"
            size = len(files[path])
            yield _entry(path, mode, "blob", _object_id("blob", branch, path)) | {"size": size}
        for path in filter(lambda path: _is_in(folder, path), _folders(files)):
            yield _entry(path, "040000", "tree", _object_id("tree", branch, path))


def _entry(path: str, mode: str, kind: str, sha: str) -> dict[str, Any]:
    return {"path": PurePosixPath(path).name, "mode": mode, "type": kind, "sha": sha}


def _folders(files: dict[str, bytes]) -> list[str]:
    above = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    return sorted(above - {"."})


def _is_in(folder: str, path: str) -> bool:
    return str(PurePosixPath(path).parent) == (folder or ".")


def _object_id(kind: str, branch: str, path: str) -> str:
    return sha1(f"{kind} {branch} {path}".encode()).hexdigest()
