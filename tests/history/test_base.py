"""Both ends of the comparison, for every event and every kind of checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_repositories import GitRepository
from pull_requests import clone, merged_by_github, on_branch, opened
from random_histories import Habits, RandomCommit, fast_import, random_histories
from skill_delta.history.base import (
    MergeGroupRefs,
    PullRequestRefs,
    PushRefs,
    Refs,
    RevisionRefs,
    UnknownBase,
    find_ends,
)
from skill_delta.history.revisions import UnknownRevision


def found(repository: GitRepository, refs: Refs) -> tuple[str, str, str]:
    """The base, the head, and how the base was found."""
    with opened(repository) as store:
        ends = find_ends(store, refs)
    return ends.base.hex(), ends.head.hex(), ends.how


def unknown(repository: GitRepository, refs: Refs) -> UnknownBase:
    with pytest.raises(UnknownBase) as raised:
        found(repository, refs)
    assert "\n  help: " in str(raised.value)
    return raised.value


@pytest.fixture
def pull_request(repository: GitRepository) -> PullRequestRefs:
    """A pull request of two commits; `main` moved on after it began."""
    repository.commit({"a": "1"})
    on_branch(repository, "topic")
    repository.commit({"b": "1"})
    head = repository.commit({"b": "2"})
    repository.git("switch", "--quiet", "main")
    repository.commit({"c": "1"})
    return PullRequestRefs(head, "main")


# ---------------------------------------------------------------- pull requests


def test_a_merge_commit_is_compared_with_its_first_parent(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """GitHub merged the head into the branch as it is now, wherever the pull request began."""
    merge = merged_by_github(repository)
    now = repository.git("rev-parse", "main")

    assert found(repository, pull_request) == (
        now,
        merge,
        "the first parent of the merge commit that GitHub made",
    )


def test_the_merge_commit_of_an_earlier_head_is_not_this_pull_requests(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """Its second parent tells: what is measured is the head that the event names."""
    merged_by_github(repository, head="topic~1")

    base, head, _ = found(repository, pull_request)

    assert (base, head) == (repository.git("merge-base", "main", "topic"), pull_request.head)


def test_a_head_that_is_checked_out_is_compared_with_where_it_left(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """`ref: head.sha`: what the branch gained since is not the pull request's doing."""
    repository.git("switch", "--quiet", "--detach", "topic")

    assert found(repository, pull_request) == (
        repository.git("rev-parse", "main~1"),
        pull_request.head,
        "where the pull request left main",
    )


def test_a_head_that_merged_the_branch_in_left_it_there(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """The author's own merge commit has the branch as its second parent, and is no GitHub merge."""
    repository.git("switch", "--quiet", "topic")
    head = repository.merge("main")

    base, measured, _ = found(repository, PullRequestRefs(head, "main"))

    assert (base, measured) == (repository.git("rev-parse", "main"), head)


def test_the_remotes_branch_comes_before_a_local_one(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """A local branch of that name may be years old."""
    repository.git("update-ref", "refs/remotes/origin/main", "main")
    repository.git("branch", "--force", "--quiet", "newer", "topic")
    repository.git("switch", "--quiet", "newer")
    head = repository.merge("main")
    repository.git("branch", "--force", "main", "main~1")

    base, _, _ = found(repository, PullRequestRefs(head, "main"))

    assert base == repository.git("rev-parse", "origin/main")


def test_nothing_checked_out_is_no_obstacle(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """Trees are read, never the work tree: the head need only be in the clone."""
    repository.git("switch", "--quiet", "--orphan", "empty")

    assert found(repository, pull_request)[1] == pull_request.head


def test_histories_without_a_common_commit_have_no_base(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """Everything would be new, and nothing proves it."""
    repository.git("switch", "--quiet", "--orphan", "other")
    head = repository.commit({"z": "1"})

    assert "no commit in common" in str(unknown(repository, PullRequestRefs(head, "main")))


def test_a_criss_cross_has_one_of_gits_bases(repository: GitRepository) -> None:
    """Two branches merged into each other share two equally good commits: the newest counts."""
    repository.commit({"a": "1"})
    on_branch(repository, "topic")
    ours = repository.commit({"b": "1"})
    repository.git("switch", "--quiet", "main")
    theirs = repository.commit({"c": "1"})
    repository.merge(ours)
    repository.git("switch", "--quiet", "topic")
    head = repository.merge(theirs)
    several = repository.git("merge-base", "--all", "main", "topic").split()

    assert sorted(several) == sorted([ours, theirs])
    assert found(repository, PullRequestRefs(head, "main"))[0] == theirs


# ---------------------------------------------------------------- other events


def test_a_merge_group_names_both_ends(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """The queue's own two commits, whatever is checked out."""
    base = repository.git("rev-parse", "main")
    head = merged_by_github(repository)

    assert found(repository, MergeGroupRefs(base, head))[:2] == (base, head)


def test_a_push_is_compared_with_what_was_there_before(repository: GitRepository) -> None:
    """All of its commits together."""
    before = repository.commit({"a": "1"})
    repository.commit({"a": "2"})
    after = repository.commit({"a": "3"})

    assert found(repository, PushRefs(before, after, "main")) == (
        before,
        after,
        "what the branch held before the push",
    )


def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """Nothing was there before the push."""
    assert found(repository, PushRefs(None, pull_request.head, "main")) == (
        repository.git("rev-parse", "main~1"),
        pull_request.head,
        "where the new branch left main",
    )


def test_a_tag_stands_for_its_commit(repository: GitRepository) -> None:
    """A push of an annotated tag names the tag."""
    before = repository.commit({"a": "1"})
    after = repository.commit({"a": "2"})
    repository.git("tag", "--annotate", "--message=release", "v1")

    assert (
        found(repository, PushRefs(before, repository.git("rev-parse", "v1"), "main"))[1] == after
    )


def test_what_a_force_push_replaced_is_unknown(repository: GitRepository) -> None:
    """The commit is nowhere in a fresh clone."""
    after = repository.commit({"a": "1"})
    gone = "beef" * 10

    error = unknown(repository, PushRefs(gone, after, "main"))

    assert error.commit == gone
    assert f"commit {gone}, what the branch held before the push, is not in" in str(error)


def test_without_revisions_head_is_compared_with_where_it_left_the_default_branch(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """`skill-delta pr` on a branch; uncommitted edits are not part of it."""
    repository.git("switch", "--quiet", "topic")
    repository.write({"b": "uncommitted"})

    assert found(repository, RevisionRefs()) == (
        repository.git("rev-parse", "main~1"),
        pull_request.head,
        "where HEAD left the default branch",
    )


def test_named_revisions_are_the_ends(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """`--base main --head topic`: the branch's tip itself, not where the head left it."""
    assert found(repository, RevisionRefs("main", "topic")) == (
        repository.git("rev-parse", "main"),
        pull_request.head,
        "main, as asked for",
    )


def test_a_misspelled_revision_is_the_callers_mistake(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """Exit 2, not 3: nothing is wrong with the clone."""
    with pytest.raises(UnknownRevision, match="mian"):
        found(repository, RevisionRefs("mian"))


def test_the_default_branch_may_have_any_name(
    repository: GitRepository, pull_request: PullRequestRefs
) -> None:
    """The event knows it, where the clone does not."""
    repository.git("branch", "--move", "main", "trunk")
    repository.git("switch", "--quiet", "topic")

    base, _, how = found(repository, RevisionRefs(default_branch="trunk"))

    assert base == repository.git("merge-base", "trunk", "topic")
    assert how == "where HEAD left trunk"


# ---------------------------------------------------------------- shallow clones


def test_a_checkout_of_depth_one_lacks_the_base(
    repository: GitRepository, pull_request: PullRequestRefs, tmp_path: Path
) -> None:
    """The merge commit names its parents though the clone has neither."""
    now = repository.git("rev-parse", "main")
    merged_by_github(repository)
    repository.git("switch", "--quiet", "--create", "merge")
    shallow = clone(repository, tmp_path / "clone", "--depth=1", "--branch=merge")

    error = unknown(shallow, pull_request)

    assert error.commit == now
    assert now in str(error)
    assert "fetch-depth: 0" in str(error)


def test_a_checkout_of_depth_two_has_it(
    repository: GitRepository, pull_request: PullRequestRefs, tmp_path: Path
) -> None:
    """The merge commit and its parents are all it takes."""
    merge = merged_by_github(repository)
    repository.git("switch", "--quiet", "--create", "merge")
    shallow = clone(repository, tmp_path / "clone", "--depth=2", "--branch=merge")

    assert found(shallow, pull_request)[:2] == (repository.git("rev-parse", "main"), merge)


def test_a_head_without_the_branch_it_goes_into_has_no_base(
    repository: GitRepository, pull_request: PullRequestRefs, tmp_path: Path
) -> None:
    """`ref: head.sha` with the default depth fetches one commit."""
    shallow = clone(repository, tmp_path / "clone", "--depth=1", "--branch=topic")

    assert "branch main is not in this clone" in str(unknown(shallow, pull_request))


def test_a_fork_point_beyond_the_boundary_is_unknown(
    repository: GitRepository, pull_request: PullRequestRefs, tmp_path: Path
) -> None:
    """Both branches are there, but not where they part."""
    shallow = clone(repository, tmp_path / "clone", "--depth=1", "--no-single-branch")

    error = unknown(shallow, pull_request)

    assert error.commit in {repository.git("rev-parse", name) for name in ("topic~1", "main~1")}
    assert "this clone is shallow and ends before commit" in str(error)


def test_an_older_shared_commit_is_no_base_where_a_newer_may_be_hidden(
    repository: GitRepository,
) -> None:
    """The boundary cuts off the side branch that both have merged."""
    oldest = repository.commit({"a": "1"})
    on_branch(repository, "side")
    newest = repository.commit({"s": "1"})
    on_branch(repository, "more")
    beyond_it = repository.commit({"s": "2"})
    for branch, merged in (("topic", "more"), ("other", "side")):
        on_branch(repository, branch, oldest)
        repository.commit({branch: "1"})
        repository.merge(merged)
    refs = PullRequestRefs(repository.git("rev-parse", "topic"), "other")
    assert found(repository, refs)[0] == newest

    (repository.folder / ".git" / "shallow").write_text(f"{beyond_it}\n")

    assert unknown(repository, refs).commit == newest


def test_a_merge_groups_missing_commits_are_unknown(
    repository: GitRepository, pull_request: PullRequestRefs, tmp_path: Path
) -> None:
    """Either end."""
    main = repository.git("rev-parse", "main")
    shallow = clone(repository, tmp_path / "clone", "--depth=1", "--branch=main")

    assert unknown(shallow, MergeGroupRefs(pull_request.head, main)).commit == pull_request.head
    assert unknown(shallow, MergeGroupRefs(main, pull_request.head)).commit == pull_request.head


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """One repository for all examples, with nothing checked out."""
    repository = GitRepository.create(tmp_path_factory.mktemp("histories"))
    repository.git("symbolic-ref", "HEAD", "refs/heads/empty")
    return repository


@settings(max_examples=120, deadline=None)
@given(random_histories(Habits()), st.data())
def test_where_branches_part_is_a_best_shared_commit_or_unknown(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """However much of the history a shallow clone hides, and whatever the clocks said."""
    commits = fast_import(shared, history)
    positions = st.integers(0, len(commits) - 1)
    head, tip = data.draw(positions), data.draw(positions)
    hidden_behind = data.draw(st.sets(st.sampled_from(commits), max_size=3))
    (shared.folder / ".git" / "refs" / "heads" / "trunk").write_text(commits[tip])
    (shared.folder / ".git" / "shallow").write_text("".join(f"{oid}\n" for oid in hidden_behind))
    best = {commits[position] for position in _best_shared(history, head, tip)}

    try:
        base = found(shared, PullRequestRefs(commits[head], "trunk"))[0]
    except UnknownBase:
        # A branch that holds all of a pull request is not the one that it goes into.
        assert hidden_behind or not best or best == {commits[head]}
    else:
        assert base in best


def _best_shared(history: list[RandomCommit], one: int, other: int) -> set[int]:
    """The commits that both have, and that are in no other such commit's history."""
    shared = _history_of(history, one) & _history_of(history, other)
    passed = {older for newer in shared for older in _history_of(history, newer) - {newer}}
    return shared - passed


def _history_of(history: list[RandomCommit], tip: int) -> set[int]:
    found = {tip}
    for position in range(tip, -1, -1):
        if position in found:
            found |= set(history[position].parents)
    return found
