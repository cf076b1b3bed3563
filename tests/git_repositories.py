"""Git repositories for tests, made by the `git` binary and the same on every machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

FIRST_SECOND = 1_700_000_000
"""When the first commit of a repository is made; each later one a minute after the last."""


class GitRepository:
    """A work tree with a history that grows by `commit`, which gives the new commit's id."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._second = FIRST_SECOND

    @classmethod
    def create(cls, folder: Path, *options: str) -> GitRepository:
        folder.mkdir(parents=True, exist_ok=True)
        repository = cls(folder)
        repository.git("init", "--quiet", "--initial-branch=main", *options)
        return repository

    def copied(self, folder: Path) -> GitRepository:
        """Another one with the same work tree and history, whose clock goes on from here."""
        shutil.copytree(self.folder, folder, symlinks=True)
        copy = GitRepository(folder)
        copy._second = self._second
        return copy

    def git(self, *arguments: str, input: bytes | None = None) -> str:  # noqa: A002
        """What git prints, without the last line end."""
        return os.fsdecode(self.git_bytes(*arguments, input=input)).removesuffix("\n")

    def git_bytes(self, *arguments: str, input: bytes | None = None) -> bytes:  # noqa: A002
        return subprocess.run(
            ["git", "-c", "gc.auto=0", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.folder,
            input=input,
            env=self._environment(),
            check=True,
            capture_output=True,
        ).stdout

    def _environment(self) -> dict[str, str]:
        people = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (
                ("NAME", "Ada"),
                ("EMAIL", "ada@example.org"),
                ("DATE", f"{self._second} +0000"),
            )
        }
        own = {"PATH": os.environ["PATH"], "HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return own | people

    # ------------------------------------------------------------ the work tree

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Put files into the work tree, without a commit."""
        for name, content in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes] | None = None, message: str = "edit") -> str:
        """Write the files and commit all there is."""
        self.write(files or {})
        self.git("add", "--all")
        return self.commit_staged(message)

    def commit_staged(self, message: str = "edit") -> str:
        self._second += 60
        self.git("commit", "--quiet", "--allow-empty", f"--message={message}")
        return self.head()

    def move(self, source: str, target: str) -> str:
        """Move a file or folder in a commit of its own."""
        (self.folder / target).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", source, target)
        return self.commit_staged(f"move {source} to {target}")

    def merge(self, branch: str) -> str:
        self._second += 60
        self.git("merge", "--quiet", "--no-ff", f"--message=merge {branch}", branch)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    # ------------------------------------------------------------ what git says

    def log(self, path: str, revision: str = "HEAD", limit: int | None = None) -> list[str]:
        """The reference: the commits that `git log` prints for a path."""
        most = [] if limit is None else [f"--max-count={limit}"]
        spec = f":(top,literal){path}"
        return self.git("log", *most, "--format=%H", revision, "--", spec).split()


def skill(
    body: str = "Be kind.", *, version: str = "", name: str = "order-support", extra: str = ""
) -> str:
    """The text of a SKILL.md."""
    declared = f'version: "{version}"\n' if version else ""
    return f"---\nname: {name}\ndescription: Helps with orders.\n{declared}{extra}---\n{body}\n"
