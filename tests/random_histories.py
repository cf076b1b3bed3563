"""Random git histories: merges, criss-cross, moves, copies, reverts, equal and skewed clocks."""

from __future__ import annotations

from dataclasses import dataclass

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


def put(tree: Tree, path: str, file: tuple[str, str]) -> None:
    """Write a file; a file in the way of its folder, or a folder in its way, gives way."""
    for other in list(tree):
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            del tree[other]
    tree[path] = file


@st.composite
def random_histories(
    draw: st.DrawFn,
    contents: tuple[str, ...] = ("one", "two", "three"),
    actions: str = "eeeemcdr",
    most: int = 14,
) -> tuple[RandomCommit, ...]:
    """A history whose last commit is a good place to start a walk from.

    `actions` are what a commit does, the likelier the more often named: edit, move, copy, delete,
    revert. Two in one commit make a move that also edited.
    """
    files = st.tuples(
        st.sampled_from(["100644"] * 6 + ["100755", "120000"]), st.sampled_from(contents)
    )
    # Two parents of a merge must often touch the same path for their order to matter.
    paths = st.sampled_from(PATHS[:1] * 8 + PATHS[1:3] * 2 + PATHS)
    clock = draw(st.sampled_from(["steady", "coarse", "skewed"]))
    history: list[RandomCommit] = []
    for number in range(draw(st.integers(1, most))):
        parents = _parents(draw, number)
        tree = _merged(draw, [history[parent].tree for parent in parents])
        for action in draw(st.lists(st.sampled_from(actions), min_size=1, max_size=2)):
            path, source = draw(paths), draw(paths)
            match action:
                case "e":  # edit or create
                    put(tree, path, draw(files))
                case "m" if source in tree:
                    put(tree, path, tree.pop(source))
                case "c" if source in tree:
                    put(tree, path, tree[source])
                case "d":
                    tree.pop(path, None)
                case "r" if history:  # revert the whole tree
                    tree = dict(history[draw(st.integers(0, number - 1))].tree)
                case _:
                    pass
        ticks = {"steady": number, "coarse": number // 6, "skewed": draw(st.integers(0, 3))}
        history.append(RandomCommit(parents, FIRST_SECOND + ticks[clock], tree))
    return tuple(history)


def _parents(draw: st.DrawFn, number: int) -> tuple[int, ...]:
    if number == 0 or draw(st.integers(0, 19)) == 0:
        return ()
    latest = st.integers(max(0, number - 4), number - 1)
    wanted = draw(st.sampled_from([1, 1, 2, 2, 2, 3]))
    return tuple(draw(st.lists(latest, min_size=1, max_size=wanted, unique=True)))


def _merged(draw: st.DrawFn, trees: list[Tree]) -> Tree:
    """Each path as one of the parents has it, or all as the first has them."""
    if len(trees) < 2 or draw(st.booleans()):
        return dict(trees[0]) if trees else {}
    result: Tree = {}
    for path in PATHS:
        tree = draw(st.sampled_from(trees))
        if path in tree:
            put(result, path, tree[path])
    return result


def fast_import(repository: GitRepository, history: tuple[RandomCommit, ...]) -> list[str]:
    """Put a random history beside what is there; gives the ids of its commits, in its order."""
    stream = bytearray(b"feature done\nreset refs/heads/main\n")
    for number, commit in enumerate(history, start=1):
        stream += b"commit refs/heads/main\nmark :%d\n" % number
        stream += b"committer Ada <ada@example.org> %d +0000\n" % commit.second
        stream += _data(f"commit {number}")
        for kind, parent in zip(["from"] + ["merge"] * 9, commit.parents, strict=False):
            stream += b"%s :%d\n" % (kind.encode(), parent + 1)
        stream += b"deleteall\n"
        for path, (mode, content) in sorted(commit.tree.items()):
            stream += f"M {mode} inline {path}\n".encode() + _data(content)
        if number < len(history) and not history[number].parents:
            stream += b"reset refs/heads/main\n"
    for number in range(1, len(history) + 1):
        stream += b"get-mark :%d\n" % number
    stream += b"done\n"
    return repository.git("fast-import", "--quiet", "--force", input=bytes(stream)).split()


def _data(text: str) -> bytes:
    return b"data %d\n%s\n" % (len(text.encode()), text.encode())
