"""One walk for all files says of each what `git log -- PATH` says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_repositories import GitRepository
from random_histories import PATHS, Habits, RandomCommit, fast_import, random_histories
from skill_delta.history.repository import Repository
from skill_delta.history.walk import Touch, Walk

Trails = list[tuple[str, str]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """One repository for all examples: making a new one each time would take most of the time."""
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


def opened(repository: GitRepository) -> Repository:
    found = Repository.discover(repository.folder)
    assert found is not None
    return found


def walked(repository: GitRepository, trails: Trails) -> list[list[str]]:
    """For each trail, a start and a path, the commits that one shared walk gives."""
    with opened(repository) as store:
        walk = Walk(store)
        numbers = [walk.begin(bytes.fromhex(start), path.encode()) for start, path in trails]
        found: dict[int, list[str]] = {number: [] for number in numbers}
        for event in walk:
            assert isinstance(event, Touch)
            found[event.trail].append(event.commit.hex())
    return list(found.values())


@settings(max_examples=120, deadline=None)
@given(random_histories(Habits()))
def test_every_list_is_the_one_that_git_prints(
    shared: GitRepository, history: list[RandomCommit]
) -> None:
    """Merges, reverts, files that become folders, equal and skewed clocks: all paths at once."""
    *_, head = fast_import(shared, history)
    trails = [(head, path) for path in PATHS]

    assert walked(shared, trails) == [shared.log(path, head) for path in PATHS]


@settings(max_examples=30, deadline=None)
@given(random_histories(Habits()), st.data())
def test_trails_may_start_anywhere(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """Trails of one walk that start at different commits do not disturb each other."""
    commits = st.sampled_from(fast_import(shared, history))
    trails = data.draw(st.lists(st.tuples(commits, st.sampled_from(PATHS)), min_size=1, max_size=5))

    assert walked(shared, trails) == [shared.log(path, start) for start, path in trails]
