"""One walk for all files says of each what `git log -- PATH` says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commit_graphs import graph_writes, write_graph
from git_repositories import GitRepository
from random_histories import PATHS, Habits, RandomCommit, fast_import, random_histories
from walked_histories import walked


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """One repository for all examples: making a new one each time would take most of the time."""
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


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


@settings(max_examples=60, deadline=None)
@given(random_histories(Habits()), st.lists(st.integers(1, 4), min_size=7, max_size=7), st.data())
def test_trails_may_end_before_the_others(
    shared: GitRepository, history: list[RandomCommit], limits: list[int], data: st.DataObject
) -> None:
    """What is no longer asked for is forgotten, and nothing else."""
    *_, head = commits = fast_import(shared, history)
    write_graph(shared, data.draw(graph_writes(commits)))
    trails = [(head, path) for path in PATHS]

    found = walked(shared, trails, limits)

    assert found == [shared.log(path, head, one) for path, one in zip(PATHS, limits, strict=True)]
