"""Git's commit-graph, written by git over a part of a history, and tampered with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from hypothesis import strategies as st

from git_repositories import GitRepository

OPTIONS = (
    ("--no-changed-paths",),
    ("--changed-paths",),
    ("--no-changed-paths", "--split=no-merge"),
    ("--changed-paths", "--split=no-merge"),
    ("--changed-paths", "--split"),
    ("--changed-paths", "--max-new-filters=2"),
)


@dataclass(frozen=True)
class Write:
    """One `git commit-graph write`, of a commit and all before it."""

    commit: str
    options: tuple[str, ...]


def graph_writes(commits: Sequence[str]) -> st.SearchStrategy[list[Write]]:
    """None, one, or several one after the other: plain, in layers, with filters and without."""
    write = st.builds(Write, st.sampled_from(commits), st.sampled_from(OPTIONS))
    return st.lists(write, max_size=3)


def write_graph(repository: GitRepository, writes: Sequence[Write]) -> None:
    """Replace what graph there is by one that came about so."""
    for file in graph_files(repository):
        file.unlink()
    for write in writes:
        options = ("--no-progress", "--stdin-commits", *write.options)
        repository.git("commit-graph", "write", *options, input=f"{write.commit}\n".encode())


def write_whole_graph(repository: GitRepository, *options: str) -> None:
    write_graph(repository, [Write(repository.head(), options)])


def graph_files(repository: GitRepository) -> list[Path]:
    """The files of the graph, and the list of its layers."""
    info = repository.folder / ".git" / "objects" / "info"
    return sorted([*info.glob("commit-graph"), *info.glob("commit-graphs/*")])


def tamper(file: Path, content: bytes) -> None:
    """Git writes these files read-only."""
    file.unlink()
    file.write_bytes(content)


def sealed(content: bytes) -> bytes:
    """With the checksum that a graph file of this content ends with."""
    return content[:-20] + sha1(content[:-20], usedforsecurity=False).digest()
