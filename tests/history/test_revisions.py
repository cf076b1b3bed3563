"""A revision names the commit that git says it names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_repositories import GitRepository
from random_histories import Habits, RandomCommit, fast_import, random_histories
from skill_delta.errors import UserError
from skill_delta.history.repository import Repository
from skill_delta.history.revisions import default_branch, find_commit, merge_base


@pytest.fixture
def branching(repository: GitRepository) -> GitRepository:
    """A merge of two branches, with tags, and one commit after it."""
    repository.commit({"a": "1"})
    repository.git("tag", "light")
    repository.commit({"a": "2"})
    repository.git("tag", "--annotate", "--message=x", "v1.0.0")
    repository.git("tag", "--annotate", "--message=x", "tag-of-tag", "v1.0.0")
    repository.git("checkout", "--quiet", "-b", "feature/x")
    repository.commit({"b": "1"})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"a": "3"})
    repository.merge("feature/x")
    repository.commit({"a": "4"})
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD~3")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    repository.git("update-ref", "refs/pull/7/head", "HEAD~2")
    repository.git("tag", "blob", repository.git("rev-parse", "HEAD:a"))
    return repository


@pytest.fixture
def store(repository: GitRepository) -> Iterator[Repository]:
    found = Repository.discover(repository.folder)
    assert found is not None
    with found:
        yield found


NAMES = [
    *("HEAD", "@", "main", "refs/heads/main", "heads/main", "feature/x", "light"),
    *("v1.0.0", "tags/v1.0.0", "refs/tags/v1.0.0", "tag-of-tag"),
    *("origin/main", "origin", "remotes/origin/main", "refs/pull/7/head", "pull/7/head"),
    *("HEAD~", "HEAD~2", "HEAD^", "HEAD^0", "HEAD~0", "HEAD^1", "main~1^2", "HEAD^^2", "@~1"),
    *("HEAD~1^2~1", "v1.0.0^{}", "v1.0.0^{commit}", "v1.0.0^{}~1", "feature/x^"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("packed", ["loose", "packed"])
def test_a_name_is_what_git_takes_it_for(
    branching: GitRepository, store: Repository, name: str, packed: str
) -> None:
    """Branches, tags of both kinds, remotes, and steps back from them."""
    if packed == "packed":
        branching.git("pack-refs", "--all")

    expected = branching.git("rev-parse", "--verify", f"{name}^{{commit}}")

    assert find_commit(store, name).hex() == expected


@pytest.mark.parametrize("digits", [40, 39, 12, 7])
def test_a_commit_is_named_by_the_beginning_of_its_id(
    branching: GitRepository, store: Repository, digits: int
) -> None:
    """In full or abbreviated, in either case, loose or packed."""
    head = branching.head()

    assert find_commit(store, head[:digits]).hex() == head
    assert find_commit(store, head[:digits].upper()).hex() == head
    assert find_commit(store, f"v1.0.0-4-g{head[:digits]}").hex() == head

    branching.git("gc", "--quiet")
    with Repository.discover(branching.folder) or store as packed:
        assert find_commit(packed, head[:digits]).hex() == head


def test_an_abbreviation_that_begins_several_ids_is_refused(
    repository: GitRepository, store: Repository
) -> None:
    """Files and folders of the same beginning do not count, commits do."""
    seen: dict[str, str] = {}
    stream = b""
    for number in range(1, 600):
        stream += b"commit refs/heads/main\nmark :%d\n" % number
        stream += b"committer A <a@b> %d +0000\ndata 1\nx\n" % number
    stream += b"".join(b"get-mark :%d\n" % number for number in range(1, 600)) + b"done\n"
    for commit in repository.git("fast-import", "--quiet", "--done", input=stream).split():
        if commit[:4] in seen:
            with pytest.raises(UserError, match="begins the names of"):
                find_commit(store, commit[:4])
            return
        seen[commit[:4]] = commit
    pytest.fail("no two of the commits begin alike")


@pytest.mark.parametrize(
    "name",
    [
        *(
            "nothing",
            "v9",
            "HEAD~99",
            "HEAD^3",
            "light^",
            "deadbeef",
            "0" * 40,
            "abc",
            "",
            "^",
            "~1",
        ),
        *("blob", "HEAD:a", "@{-1}", ":/x", "main..HEAD", "../../etc/passwd", "refs/heads/../x"),
        *("a\0b", "a\nb", "-n", "heads", "refs/heads", "caf\udce9", "main ", "HEAD^{tree}"),
        *("config", "index", "HEAD.lock", "objects", "description"),
    ],
)
def test_what_names_no_commit_is_refused(
    branching: GitRepository, store: Repository, name: str
) -> None:
    """With the name, and what to do; no file outside the refs is ever read for it."""
    with pytest.raises(UserError, match="unknown revision") as caught:
        find_commit(store, name)

    assert "shallow clone" in caught.value.hint


def test_the_default_branch(repository: GitRepository, store: Repository) -> None:
    """The remote's HEAD, else main, else master, local before remote; else HEAD."""
    assert default_branch(store) is None
    names = ("refs/remotes/origin/master", "refs/heads/master", "refs/remotes/origin/main")
    repository.git("symbolic-ref", "HEAD", "refs/heads/work")
    commits = [repository.commit({"a": str(number)}) for number in range(6)]

    told = [default_branch(store)]
    for name, commit in zip((*names, "refs/heads/main", "refs/heads/dev"), commits, strict=False):
        repository.git("update-ref", name, commit)
        told.append(default_branch(store))
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/dev")
    told.append(default_branch(store))

    expected = [commits[5], *commits[:4], commits[3], commits[4]]
    assert [oid.hex() if oid else None for oid in told] == expected


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


@settings(max_examples=80, deadline=None)
@given(random_histories(Habits(actions="w"), least=2, most=14), st.data())
def test_a_merge_base_is_one_that_git_finds(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """In criss-cross histories with skewed clocks there may be several, all equally good."""
    commits = st.sampled_from(fast_import(shared, history))
    ours, theirs = data.draw(commits), data.draw(commits)
    store = Repository.discover(shared.folder)
    assert store is not None

    with store:
        found = merge_base(store, bytes.fromhex(ours), bytes.fromhex(theirs))

    try:
        expected = shared.git("merge-base", "--all", ours, theirs).split()
    except Exception:  # noqa: BLE001 - git says "none" with its exit code
        expected = []
    assert (found.hex() in expected) if found else expected == []


@pytest.mark.parametrize(
    "steps", ["~" + "9" * 5_000, "^" + "9" * 5_000, "~999999999", "^999999999"]
)
def test_steps_beyond_any_history_are_refused(
    branching: GitRepository, store: Repository, steps: str
) -> None:
    """Whatever their number of digits, and in few words."""
    with pytest.raises(UserError, match="unknown revision") as caught:
        find_commit(store, f"HEAD{steps}")

    assert len(str(caught.value)) < 500


def test_a_history_that_leads_in_a_circle_ends(repository: GitRepository) -> None:
    """Grafts can make a commit its own ancestor."""
    first, second = repository.commit({"a": "1"}), repository.commit({"a": "2"})
    (repository.folder / ".git" / "info" / "grafts").write_text(f"{first} {second}\n")
    store = Repository.discover(repository.folder)
    assert store is not None

    with store, pytest.raises(UserError, match="is its own ancestor"):
        find_commit(store, "HEAD~999999999")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        *(("Previous", "previous"), ("previuos", "previous"), ("NONE", "none"), ("bas", "base")),
        *(("previous,none", "previous"), ("none, base", "none"), ("main,base", "base")),
    ],
)
def test_a_baseline_that_was_misspelt_is_named(
    branching: GitRepository, store: Repository, name: str, meant: str
) -> None:
    """A shallow clone has nothing to do with it."""
    with pytest.raises(UserError, match="unknown revision") as caught:
        find_commit(store, name)

    assert caught.value.hint == f"did you mean {meant}? Several baselines: repeat --baseline"
