"""What a clone lacks is fetched from where it came from, and nothing is written into it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from git_http_server import GitServer, git_server
from git_repositories import GitRepository
from skill_delta.history import remote
from skill_delta.history.base import PullRequestRefs, UnknownBase, find_ends
from skill_delta.history.layout import find_git
from skill_delta.history.remote import MOST_FAILURES, Remote
from skill_delta.history.repository import BLOB, Repository, Unreadable
from skill_delta.history.walk import Touch, Walk

# dulwich leaves the connection of a refused request to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SKILL = "skills/greeting/SKILL.md"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path / "served") as running:
        yield running


@pytest.fixture
def origin(server: GitServer) -> GitRepository:
    """Seventy commits; the skill changes in the first, the middle and the last."""
    origin = GitRepository.create(server.root / "octo" / "skills")
    for number in range(70):
        text = f"version {number // 35}" if number < 69 else "version 2"
        origin.commit({SKILL: text, "other.txt": str(number)})
    return origin


def clone(origin: GitRepository, server: GitServer, folder: Path, *options: str) -> Path:
    url = f"http://x-access-token:{server.token}@" if server.token else "http://"
    address = server.url.replace("http://", url) + "/octo/skills"
    origin.git("clone", "--quiet", *options, address, str(folder))
    server.asked.clear()
    return folder


@contextmanager
def completed(
    checkout: Path, server: GitServer, store: Path, token: str = ""
) -> Iterator[Repository]:
    folders = find_git(checkout)
    assert folders is not None
    with Repository.open(folders) as repository:
        repository.complete_from(Remote(f"{server.url}/octo/skills", token, store))
        yield repository


def touched(repository: Repository) -> list[str]:
    walk = Walk(repository)
    head = repository.head()
    assert head is not None
    walk.begin(head, SKILL.encode())
    return [event.commit.hex() for event in walk if isinstance(event, Touch)]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_walk_goes_on_beyond_a_shallow_boundary(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """It finds what git finds in the whole history, in a handful of requests."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")
    before = files_of(checkout)

    with completed(checkout, server, tmp_path / "store") as repository:
        found = touched(repository)

    assert found == origin.git("log", "--format=%H", "--", SKILL).split()
    assert sum(request.startswith("GET") for request in server.asked) <= 4
    assert files_of(checkout) == before


def test_only_as_much_history_as_is_walked_is_fetched(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """The first commits are asked for only once someone walks to them."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")

    with completed(checkout, server, tmp_path / "store") as repository:
        walk = Walk(repository)
        walk.begin(repository.head() or b"", SKILL.encode())
        events = iter(walk)
        next(events)
        oldest = bytes.fromhex(origin.git("rev-list", "--max-parents=0", "HEAD"))
        requests = len(server.asked)
        assert repository.commit(oldest).parents == ()

    assert len(server.asked) > requests


def test_the_files_of_a_partial_clone_are_fetched(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """One by one as they are read, or together where it is known which."""
    checkout = clone(origin, server, tmp_path / "clone", "--filter=blob:none", "--no-checkout")

    with completed(checkout, server, tmp_path / "store") as repository:
        tree = repository.commit(repository.head() or b"").tree
        skill, other = (repository.entry(tree, path) for path in (SKILL.encode(), b"other.txt"))
        assert skill is not None
        assert other is not None
        repository.fetch_together([skill.oid, other.oid])
        requests = len(server.asked)
        assert repository.read(skill.oid, BLOB) == b"version 2"
        assert repository.read(other.oid, BLOB) == b"69"
        assert len(server.asked) == requests


def test_the_base_branch_of_a_head_checkout_is_asked_for(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """A clone of the pull request's branch alone knows no other branch."""
    forked = origin.head()
    origin.git("switch", "--quiet", "--create", "topic")
    head = origin.commit({SKILL: "version 3"})
    origin.git("switch", "--quiet", "main")
    origin.commit({"other.txt": "the base moved on"})
    checkout = clone(
        origin, server, tmp_path / "clone", "--depth", "1", "--single-branch", "--branch", "topic"
    )

    with completed(checkout, server, tmp_path / "store") as repository:
        ends = find_ends(repository, PullRequestRefs(head, "main"))

    assert (ends.base.hex(), ends.head.hex()) == (forked, head)


def test_the_token_is_sent_and_never_told(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """A private repository answers those who may read it."""
    server.token = "ghs_0123456789abcdef"
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")

    with completed(checkout, server, tmp_path / "a", server.token) as repository:
        assert len(touched(repository)) == 3
    with completed(checkout, server, tmp_path / "b", "ghs_wrong_token_00") as repository:
        oldest = bytes.fromhex(origin.git("rev-list", "--max-parents=0", "HEAD"))
        with pytest.raises(Unreadable, match="could not be fetched") as refused:
            repository.commit(oldest)
    assert "ghs_" not in str(refused.value)


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 502])
def test_a_server_that_refuses_is_an_unknown_never_a_new_skill(
    origin: GitRepository, server: GitServer, tmp_path: Path, status: int
) -> None:
    """And after a few refusals it is left in peace."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")
    server.refuse_with = status

    with completed(checkout, server, tmp_path / "store") as repository:
        for number in range(MOST_FAILURES + 2):
            with pytest.raises(Unreadable, match="could not be fetched"):
                repository.commit(bytes([number]) * 20)
        asked = len(server.asked)
        with pytest.raises(UnknownBase):
            find_ends(repository, PullRequestRefs("ab" * 20, "main"))

    assert 0 < asked == len(server.asked) - 1 or asked == len(server.asked)


def test_an_answer_that_breaks_off_is_refused(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """Half a pack is no pack."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")
    server.cut_after = 300

    with (
        completed(checkout, server, tmp_path / "store") as repository,
        pytest.raises(Unreadable),
    ):
        repository.commit(bytes.fromhex(origin.git("rev-parse", "HEAD~1")))


def test_a_server_that_answers_byte_by_byte_keeps_no_job(
    origin: GitRepository, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not whole in time is missing, and the server is left in peace."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")
    monkeypatch.setattr(remote, "ANSWER_SECONDS", 0.5)
    server.drips = True

    with completed(checkout, server, tmp_path / "store") as repository:
        with pytest.raises(Unreadable, match="no whole answer within"):
            repository.commit(bytes.fromhex(origin.git("rev-parse", "HEAD~1")))
        asked = len(server.asked)
        with pytest.raises(Unreadable, match="not asked for again"):
            repository.commit(b"x" * 20)

    assert asked == len(server.asked)


def test_a_server_without_filters_sends_more_and_will_do(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """Older servers know no partial clones."""
    server.allows_filters = False
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")

    with completed(checkout, server, tmp_path / "store") as repository:
        assert len(touched(repository)) == 3


def test_what_the_server_does_not_have_either_is_missing(
    origin: GitRepository, server: GitServer, tmp_path: Path
) -> None:
    """A forged tree may name objects that are nowhere."""
    checkout = clone(origin, server, tmp_path / "clone", "--depth", "1")

    with (
        completed(checkout, server, tmp_path / "store") as repository,
        pytest.raises(Unreadable, match="is not in this clone"),
    ):
        repository.read(b"\x12" * 20, BLOB)
