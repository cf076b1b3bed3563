"""Random git histories: merges, criss-cross, moves, copies, reverts, equal and skewed clocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from git_repositories import FIRST_SECOND, GitRepository

PATHS = ("a/SKILL.md", "b/SKILL.md", "a/b/SKILL.md", "SKILL.md", "a", "b", "c/d/other.md")
"""Few, so that they collide; `a` is a file in some commits and a folder in others."""

Tree = dict[str, tuple[str, str]]
"""Path → (mode, content)."""


@dataclass(frozen=True)
class RandomCommit:
    """`parents` are positions in the history; `second` need not be later than theirs."""

    parents: tuple[int, ...]
    second: int
    tree: Tree


@dataclass(frozen=True)
class Habits:
    """How a history comes about; what is named more often happens more often.

    `actions`: write, edit, move, copy, delete, revert. Two in one commit make a move that also
    edited. `parents`: how many a commit has, out of the last `reach` commits.
    """

    contents: Sequence[str] = ("one", "two", "three")
    actions: str = "wwwwmcdr"
    parents: Sequence[int] = (1, 1, 2, 2, 2, 3)
    reach: int = 4
    paths: Sequence[str] = PATHS


def random_histories(
    habits: Habits, least: int = 1, most: int = 16
) -> st.SearchStrategy[list[RandomCommit]]:
    """Histories whose last commit is a good place to start a walk from.

    Made from a seed: choices that hypothesis makes one by one come out much alike.
    """
    sizes, seeds = st.sampled_from(range(least, most + 1)), st.integers(0, 2**32)
    return st.builds(lambda size, seed: _history(Random(seed), size, habits), sizes, seeds)


def _history(rng: Random, size: int, habits: Habits) -> list[RandomCommit]:
    clock = rng.choice(["steady", "coarse", "skewed"])
    history: list[RandomCommit] = []
    for number in range(size):
        parents = _parents(rng, number, habits)
        tree = _merged(rng, [history[parent].tree for parent in parents])
        for action in rng.choices(habits.actions, k=rng.choice([1, 1, 2])):
            _act(rng, action, tree, history, habits)
        ticks = {"steady": number, "coarse": number // 6, "skewed": rng.randrange(4)}
        history.append(RandomCommit(parents, FIRST_SECOND + ticks[clock], tree))
    return history


def _parents(rng: Random, number: int, habits: Habits) -> tuple[int, ...]:
    if number == 0 or rng.random() < 0.02:
        return ()
    latest = range(max(0, number - habits.reach), number)
    return tuple(rng.sample(latest, k=min(len(latest), rng.choice(habits.parents))))


def _merged(rng: Random, trees: list[Tree]) -> Tree:
    """All as the first parent has it, or each path as one of them has it."""
    if len(trees) < 2 or rng.random() < 0.5:
        return dict(trees[0]) if trees else {}
    result: Tree = {}
    for path in PATHS:
        tree = rng.choice(trees)
        if path in tree:
            _put(result, path, tree[path])
    return result


def _act(rng: Random, action: str, tree: Tree, history: list[RandomCommit], habits: Habits) -> None:
    # Two parents of a merge must often touch the same path for their order to matter.
    weights = [9, 3, 3] + [1] * len(habits.paths)
    path = rng.choices(habits.paths, weights[: len(habits.paths)])[0]
    source = rng.choice(sorted(tree) or [path])
    match action:
        case "w" | "e":
            mode = rng.choice(["100644"] * 8 + ["100755", "120000"])
            target = path if action == "w" else source
            _put(tree, target, (mode, rng.choice(habits.contents)))
        case "m" if source in tree:
            free = [path for path in habits.paths if path not in tree]
            _put(tree, rng.choice(free or [path]), tree.pop(source))
        case "c" if source in tree:
            _put(tree, path, tree[source])
        case "d":
            tree.pop(path, None)
        case "r" if history:
            tree.clear()
            tree.update(rng.choice(history).tree)


def _put(tree: Tree, path: str, file: tuple[str, str]) -> None:
    """Write a file; a file in the way of its folder, or a folder in its way, gives way."""
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = file


def fast_import(repository: GitRepository, history: Sequence[RandomCommit]) -> list[str]:
    """Put a random history beside what is there; gives the ids of its commits, in its order."""
    stream = bytearray(b"feature done\n")
    for number, commit in enumerate(history, start=1):
        if not commit.parents:
            stream += b"reset refs/heads/main\n"
        stream += b"commit refs/heads/main\nmark :%d\n" % number
        stream += b"committer Ada <ada@example.org> %d +0000\n" % commit.second
        stream += _data(f"commit {number}")
        for kind, parent in zip(["from"] + ["merge"] * 9, commit.parents, strict=False):
            stream += b"%s :%d\n" % (kind.encode(), parent + 1)
        stream += b"deleteall\n"
        for path, (mode, content) in sorted(commit.tree.items()):
            stream += f"M {mode} inline {path}\n".encode() + _data(content)
    for number in range(1, len(history) + 1):
        stream += b"get-mark :%d\n" % number
    stream += b"done\n"
    return repository.git("fast-import", "--quiet", "--force", input=bytes(stream)).split()


def _data(text: str) -> bytes:
    return b"data %d\n%s\n" % (len(text.encode()), text.encode())
