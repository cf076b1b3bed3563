"""A commit-graph makes a walk faster, and never another one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commit_graphs import (
    Write,
    graph_files,
    graph_writes,
    sealed,
    tamper,
    write_graph,
    write_whole_graph,
)
from git_repositories import GitRepository
from random_histories import PATHS, Habits, RandomCommit, fast_import, random_histories
from skill_delta.history.commit_graph import CommitGraph
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.revisions import merge_base
from skill_delta.history.walk import Walk
from walked_histories import opened, walked

FOREIGN_PATHS = ("a/SKILL.md", "é/SKILL.md", "日本/b/SKILL.md", "日本", "ﬀ/ÿþ")
"""Version 1 of the filters hashes these as no other murmur3 does."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """One repository for all examples: making a new one each time would take most of the time."""
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


def knows(store: Repository, commit: str) -> bool:
    """Whether the graph has a commit, by asking where its object cannot be read."""
    try:
        store.commit(bytes.fromhex(commit))
    except Unreadable:
        return False
    return True


def lose(repository: GitRepository, *revisions: str) -> None:
    """Remove the files of objects that have one each."""
    for revision in revisions:
        name = repository.git("rev-parse", revision)
        (repository.folder / ".git" / "objects" / name[:2] / name[2:]).unlink()


def quiet_history(repository: GitRepository) -> list[str]:
    """A skill that two commits touch, with six that do not between them; their ids, in order."""
    first = repository.commit({"a/SKILL.md": "1", "b": "0"})
    between = [repository.commit({"b": str(number)}) for number in range(1, 7)]
    return [first, *between, repository.commit({"a/SKILL.md": "2"})]


# ---------------------------------------------------------------- the same answer


@settings(max_examples=120, deadline=None)
@given(random_histories(Habits()), st.data())
def test_the_lists_are_those_that_git_prints(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """Over graphs of a part of the history or of all of it, in one file or in layers."""
    *_, head = commits = fast_import(shared, history)
    write_graph(shared, data.draw(graph_writes(commits)))

    trails = [(head, path) for path in PATHS]

    assert walked(shared, trails) == [shared.log(path, head) for path in PATHS]


@settings(max_examples=40, deadline=None)
@given(random_histories(Habits(paths=FOREIGN_PATHS)))
def test_paths_beyond_ascii_are_found_in_filters(
    shared: GitRepository, history: list[RandomCommit]
) -> None:
    """Git hashed their bytes with a sign, and may have done so without one elsewhere."""
    *_, head = fast_import(shared, history)
    write_graph(shared, [Write(head, ("--changed-paths",))])

    trails = [(head, path) for path in FOREIGN_PATHS]

    assert walked(shared, trails) == [shared.log(path, head) for path in FOREIGN_PATHS]


@settings(max_examples=40, deadline=None)
@given(random_histories(Habits()), st.data())
def test_two_histories_part_where_they_part_without_a_graph(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """The merge base is found over the same commits."""
    commits = fast_import(shared, history)
    ours, theirs = (bytes.fromhex(data.draw(st.sampled_from(commits))) for _ in "ab")
    write_graph(shared, [])
    with opened(shared) as store:
        without = merge_base(store, ours, theirs)
    write_graph(shared, data.draw(graph_writes(commits)))

    with opened(shared) as store:
        assert merge_base(store, ours, theirs) == without


def test_a_commit_of_many_files_has_no_filter(repository: GitRepository) -> None:
    """Git gives up on it, and then it may have changed anything."""
    repository.commit({"a/SKILL.md": "1"})
    repository.commit({"a/SKILL.md": "2", **{f"many/{number}": "" for number in range(600)}})
    repository.commit({"b": "1"})
    write_whole_graph(repository, "--changed-paths")

    head = repository.head()

    assert walked(repository, [(head, "a/SKILL.md")]) == [repository.log("a/SKILL.md")]


# ---------------------------------------------------------------- it is used


@pytest.mark.parametrize("options", [(), ("--split",)], ids=["one file", "in layers"])
def test_commits_come_from_it(repository: GitRepository, options: tuple[str, ...]) -> None:
    """Their objects are not read: one that is lost is not missed."""
    first, *between, last = quiet_history(repository)
    write_whole_graph(repository, "--no-changed-paths", *options)
    lose(repository, *between)

    assert walked(repository, [(last, "a/SKILL.md")]) == [[last, first]]


def test_commits_beside_it_come_from_their_objects(repository: GitRepository) -> None:
    """It is as old as when it was written."""
    first, *between, last = quiet_history(repository)
    write_graph(repository, [Write(between[2], ("--changed-paths",))])

    assert walked(repository, [(last, "a/SKILL.md")]) == [[last, first]]


def test_trees_of_commits_that_changed_something_else_are_not_read(
    repository: GitRepository,
) -> None:
    """The filter says so. (Where it is wrong about a path, one tree would be: it is not here.)"""
    first, *between, last = quiet_history(repository)
    write_whole_graph(repository, "--changed-paths")
    lose(repository, *(f"{commit}^{{tree}}" for commit in between[1:-1]))

    assert walked(repository, [(last, "a/SKILL.md")]) == [[last, first]]


def test_the_graph_of_a_repository_that_objects_are_borrowed_from_is_used(
    repository: GitRepository, tmp_path: Path
) -> None:
    """Also its layers, below one of our own."""
    quiet_history(repository)
    write_whole_graph(repository, "--split")
    clone = GitRepository(tmp_path / "clone")
    repository.git("clone", "--quiet", "--shared", str(repository.folder), str(clone.folder))
    borrowed = clone.head()
    own = clone.commit({"a/SKILL.md": "3"})
    write_whole_graph(clone, "--split=no-merge")
    folders = [one.folder / ".git" / "objects" for one in (clone, repository)]

    graph = CommitGraph.open(folders)

    assert all(graph.commit(bytes.fromhex(commit)) is not None for commit in (borrowed, own))
    assert walked(clone, [(own, "a/SKILL.md")]) == [clone.log("a/SKILL.md")]


# ---------------------------------------------------------------- it is not used


def replace_one(repository: GitRepository, commit: str, other: str) -> None:
    repository.git("replace", commit, other)


def graft_one(repository: GitRepository, commit: str, other: str) -> None:
    (repository.folder / ".git" / "info" / "grafts").write_text(f"{commit} {other}\n")


def end_at_one(repository: GitRepository, commit: str, other: str) -> None:
    assert other
    (repository.folder / ".git" / "shallow").write_text(f"{commit}\n")


@pytest.mark.parametrize("alter", [replace_one, graft_one, end_at_one])
def test_an_altered_history_is_read_without_it(
    repository: GitRepository, alter: Callable[[GitRepository, str, str], None]
) -> None:
    """Replaced, grafted and cut off commits are not what it says, and git leaves it alone too."""
    first = repository.commit({"a/SKILL.md": "1"})
    middle = repository.commit({"a/SKILL.md": "2"})
    last = repository.commit({"a/SKILL.md": "3"})
    write_whole_graph(repository, "--changed-paths")
    alter(repository, middle if alter is not graft_one else last, first)

    found = walked(repository, [(last, "a/SKILL.md")])

    assert found == [repository.log("a/SKILL.md")]
    assert found != [[last, middle, first]]


@pytest.mark.parametrize("value", ["false", "no", "off", "0"])
def test_it_can_be_turned_off(repository: GitRepository, value: str) -> None:
    """`core.commitGraph`, as for git."""
    _, *between, _ = quiet_history(repository)
    write_whole_graph(repository)
    repository.git("config", "core.commitGraph", value)
    lose(repository, between[0])

    with opened(repository) as store:
        assert not knows(store, between[0])


def test_that_of_a_sha256_repository_is_left_alone(tmp_path: Path) -> None:
    """Its ids are longer; the walk reads the objects."""
    repository = GitRepository.create(tmp_path / "repository", "--object-format=sha256")
    first, *_, last = quiet_history(repository)
    write_whole_graph(repository, "--changed-paths")

    assert walked(repository, [(last, "a/SKILL.md")]) == [[last, first]]


# ---------------------------------------------------------------- it is damaged


@dataclass(frozen=True, repr=False)
class Graphed:
    """A repository with merges, an octopus among them, and what a graph of it may look like."""

    repository: GitRepository
    shapes: list[dict[Path, bytes]]
    trails: list[tuple[str, str]]
    answer: list[list[str]]


@pytest.fixture(scope="module")
def graphed(tmp_path_factory: pytest.TempPathFactory) -> Graphed:
    repository = GitRepository.create(tmp_path_factory.mktemp("graphed"))
    files = [{"a/SKILL.md": ("100644", str(n // 3)), "b": ("100644", str(n))} for n in range(9)]
    parents: list[tuple[int, ...]] = [(), (0,), (0,), (0,), (1, 2, 3), (4,), (4,), (5, 6), (7,)]
    history = [
        RandomCommit(above, 1_700_000_000 + n, tree)
        for n, (above, tree) in enumerate(zip(parents, files, strict=True))
    ]
    commits = fast_import(repository, history)
    shapes = []
    for options in (("--changed-paths",), ("--changed-paths", "--split=no-merge")):
        write_graph(repository, [Write(commit, options) for commit in (commits[4], commits[-1])])
        shapes.append({file: file.read_bytes() for file in graph_files(repository)})
    trails = [(commits[-1], path) for path in ("a/SKILL.md", "b", "c")]
    return Graphed(repository, shapes, trails, [repository.log(path) for _, path in trails])


@st.composite
def damaged(draw: st.DrawFn, content: bytes) -> bytes:
    at = draw(st.integers(0, len(content) - 1))
    match draw(st.sampled_from(["flip", "cut", "grow", "gap", "garbage"])):
        case "flip":
            flipped = bytes([content[at] ^ 1 << draw(st.integers(0, 7))])
            return content[:at] + flipped + content[at + 1 :]
        case "cut":
            return content[:at]
        case "grow":
            return content + draw(st.binary(min_size=1, max_size=40))
        case "gap":
            return content[:at] + content[at + draw(st.integers(1, 40)) :]
        case _:
            return draw(st.binary(max_size=100))


def put(graphed: Graphed, shape: dict[Path, bytes]) -> None:
    """Replace what graph the repository has."""
    for file in graph_files(graphed.repository):
        file.unlink()
    for file, content in shape.items():
        file.write_bytes(content)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damage_is_seen(graphed: Graphed, data: st.DataObject) -> None:
    """Whatever happens to one of its files, that file is not believed."""
    shape = graphed.shapes[data.draw(st.integers(0, 1))]
    file = data.draw(st.sampled_from(sorted(shape)))
    put(graphed, shape | {file: data.draw(damaged(shape[file]))})

    assert walked(graphed.repository, graphed.trails) == graphed.answer


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_file_made_to_lie_is_survived(graphed: Graphed, data: st.DataObject) -> None:
    """Its checksum is right, so it may be believed; but every walk comes to an end."""
    shape = graphed.shapes[data.draw(st.integers(0, 1))]
    file = data.draw(st.sampled_from([file for file in sorted(shape) if "chain" not in file.name]))
    lie = sealed(data.draw(damaged(shape[file])))
    true_name, lying_name = (content[-20:].hex() for content in (shape[file], lie))
    put(graphed, shape | {file.with_name(file.name.replace(true_name, lying_name)): lie})
    for chain in (one for one in shape if "chain" in one.name):
        tamper(chain, shape[chain].replace(true_name.encode(), lying_name.encode()))

    with opened(graphed.repository) as store:
        walk = Walk(store)
        for start, path in graphed.trails:
            try:
                walk.begin(bytes.fromhex(start), path.encode())
            except Unreadable:
                continue
        assert sum(1 for _ in walk) <= 9 * len(graphed.trails)


@pytest.mark.parametrize("by", [-4, -1, 1, 4])
@pytest.mark.parametrize("part", range(8))
def test_a_part_that_begins_elsewhere_is_survived(graphed: Graphed, part: int, by: int) -> None:
    """Each part's beginning is the end of the one before, so both have another length."""
    ((file, content),) = graphed.shapes[0].items()
    at = 8 + 12 * part + 4
    begin = int.from_bytes(content[at : at + 8], "big") + by
    put(graphed, {file: sealed(content[:at] + begin.to_bytes(8, "big") + content[at + 8 :])})

    with opened(graphed.repository) as store:
        walk = Walk(store)
        for start, path in graphed.trails:
            with contextlib.suppress(Unreadable):
                walk.begin(bytes.fromhex(start), path.encode())
        assert sum(1 for _ in walk) <= 9 * len(graphed.trails)


class Layers:
    """The graph that has two layers, and which of its commits are known: of the upper, the lower.

    Files are told from one another by the names they should have.
    """

    def __init__(self, graphed: Graphed) -> None:
        self._graphed = graphed
        shape = graphed.shapes[1]
        (self.chain,) = (file for file in shape if "chain" in file.name)
        self.lower, self.upper = map(self.named, shape[self.chain].decode().split())
        self.lower_content, self.upper_content = shape[self.lower], shape[self.upper]

    def named(self, checksum: str) -> Path:
        return self.chain.with_name(f"graph-{checksum}.graph")

    def known(self, changed: dict[Path, bytes]) -> tuple[bool, bool]:
        put(self._graphed, self._graphed.shapes[1] | changed)
        repository = self._graphed.repository
        graph = CommitGraph.open([repository.folder / ".git" / "objects"])
        top, base = (repository.git("rev-parse", name) for name in ("main", "main~3"))
        is_known = [graph.commit(bytes.fromhex(one)) is not None for one in (top, base)]
        return is_known[0], is_known[1]


def test_a_whole_layer_below_a_damaged_one_is_used(graphed: Graphed) -> None:
    """The lower ones know nothing of those above them."""
    layers = Layers(graphed)

    assert layers.known({}) == (True, True)
    assert layers.known({layers.upper: layers.upper_content[:-1]}) == (False, True)
    assert layers.known({layers.lower: layers.lower_content[:-1]}) == (False, False)


def test_a_layer_is_the_one_that_it_is_named_after(graphed: Graphed) -> None:
    """Though it is whole."""
    layers = Layers(graphed)
    other = sealed(layers.lower_content[:-21] + b"x" * 21)

    assert layers.known({layers.lower: other}) == (False, False)


def test_a_layer_is_read_only_above_those_it_was_made_for(graphed: Graphed) -> None:
    """Its parents are numbers, which would be other commits above another layer."""
    layers = Layers(graphed)
    other = sealed(layers.lower_content[:-21] + b"x" * 21)
    names = f"{other[-20:].hex()}\n{layers.upper.name[6:46]}\n".encode()

    assert layers.known({layers.named(other[-20:].hex()): other, layers.chain: names}) == (
        False,
        True,
    )


@pytest.mark.parametrize(("version", "is_used"), [(1, True), (2, True), (3, False), (0, False)])
def test_filters_of_an_unknown_kind_are_not_used(
    graphed: Graphed, version: int, *, is_used: bool
) -> None:
    """The commits beside them are. Both known kinds hash the same where a path is ASCII."""
    ((file, content),) = graphed.shapes[0].items()
    settings_at = content.index(b"\0\0\0\1\0\0\0\7\0\0\0\x0a")
    changed = content[: settings_at + 3] + bytes([version]) + content[settings_at + 4 :]
    put(graphed, {file: sealed(changed)})
    head = bytes.fromhex(graphed.trails[0][0])

    graph = CommitGraph.open([graphed.repository.folder / ".git" / "objects"])

    assert graph.commit(head) is not None
    assert (graph.changed_paths(head) is not None) == is_used
    assert walked(graphed.repository, graphed.trails) == graphed.answer
