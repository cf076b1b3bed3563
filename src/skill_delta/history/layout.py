"""Where a git repository keeps its parts on this machine. No git, no dulwich: only the folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from skill_delta.history.places import resolved
from skill_delta.regular_files import open_followed

_GITFILE_BYTES = 4096
"""How much of a `.git` file is read: it holds one path."""


@dataclass(frozen=True, slots=True)
class GitFolders:
    """A repository's folders, links resolved.

    `git` belongs to this work tree alone (HEAD, index); `common` is shared with its siblings
    (objects, refs). They differ only in a linked work tree.
    """

    worktree: Path
    git: Path
    common: Path

    @property
    def is_linked(self) -> bool:
        """Whether this is a second work tree of a repository that has its home elsewhere."""
        return self.git != self.common


def find_git(path: Path) -> GitFolders | None:
    """The repository that `path` lies in; None where it lies in none, or in a broken one.

    Raises `UserError` for a path that is a link in a circle, or relative to a folder that is gone.
    """
    here = resolved(path)
    for folder in (here, *here.parents):
        marker = folder / ".git"
        try:
            if marker.is_file():
                # As git does: a `.git` file that leads nowhere is not passed over.
                return _folders(folder, folder / _target(marker))
            if (folders := _folders(folder, marker)) is not None:
                return folders
        except OSError:
            return None
    return None


def _target(gitfile: Path) -> str:
    with open_followed(gitfile) as stream:
        text = stream.read(_GITFILE_BYTES).decode("utf-8", "surrogateescape")
    return text.removeprefix("gitdir:").strip().replace("\0", "")


def _folders(worktree: Path, git: Path) -> GitFolders | None:
    if not (git / "HEAD").is_file():
        return None
    shared = git / "commondir"
    common = git / _target(shared) if shared.is_file() else git
    if not (common / "objects").is_dir():
        return None
    return GitFolders(worktree, git.resolve(), common.resolve())
