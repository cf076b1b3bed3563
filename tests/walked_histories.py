"""Walking a repository of a test."""

from __future__ import annotations

from collections.abc import Sequence

from git_repositories import GitRepository
from skill_delta.history.repository import Repository
from skill_delta.history.walk import Touch, Walk


def opened(repository: GitRepository) -> Repository:
    found = Repository.discover(repository.folder)
    assert found is not None
    return found


def walked(
    repository: GitRepository, trails: Sequence[tuple[str, str]], limits: Sequence[int] = ()
) -> list[list[str]]:
    """For each trail, a start and a path, the commits that one shared walk gives.

    A trail is ended once it gave as many as its limit.
    """
    with opened(repository) as store:
        walk = Walk(store)
        numbers = [walk.begin(bytes.fromhex(start), path.encode()) for start, path in trails]
        found: dict[int, list[str]] = {number: [] for number in numbers}
        for event in walk:
            assert isinstance(event, Touch)
            found[event.trail].append(event.commit.hex())
            if limits and len(found[event.trail]) == limits[event.trail]:
                walk.end(event.trail)
    return list(found.values())
