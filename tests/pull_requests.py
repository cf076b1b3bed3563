"""Pull requests as a workflow finds them checked out, in repositories made by `git`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from git_repositories import GitRepository
from skill_delta.history.base import Ends
from skill_delta.history.repository import Repository


def on_branch(repository: GitRepository, name: str, start: str = "HEAD") -> None:
    """Begin a branch and check it out."""
    repository.git("switch", "--quiet", "--create", name, start)


def merged_by_github(repository: GitRepository, base: str = "main", head: str = "topic") -> str:
    """Check out the merge commit that GitHub makes of a pull request; gives its id."""
    repository.git("switch", "--quiet", "--detach", base)
    return repository.merge(head)


def clone(repository: GitRepository, folder: Path, *options: str) -> GitRepository:
    """A clone as actions/checkout makes one."""
    repository.git("clone", "--quiet", *options, f"file://{repository.folder}", str(folder))
    return GitRepository(folder)


@contextmanager
def opened(repository: GitRepository) -> Iterator[Repository]:
    """The repository as the product reads it."""
    found = Repository.discover(repository.folder)
    assert found is not None
    with found:
        yield found


def ends(base: str, head: str) -> Ends:
    """Two commits to compare, by their ids."""
    return Ends(bytes.fromhex(base), bytes.fromhex(head), "as the test says")
