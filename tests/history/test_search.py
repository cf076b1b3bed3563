"""The previous version is the one that git's own commands lead to, by hand and slowly."""

from __future__ import annotations

from hashlib import sha1
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commit_graphs import graph_writes, write_graph
from git_repositories import GitRepository, skill
from random_histories import Habits, RandomCommit, Tree, fast_import, random_histories
from skill_delta.core.documents import decode
from skill_delta.core.skill_text import parse_skill
from skill_delta.core.skills import Unresolved
from skill_delta.errors import UserError
from skill_delta.history.repository import Repository
from skill_delta.history.search import Candidate, find_previous
from skill_delta.history.versions import PastSkill

CONTENTS = (
    skill("one"),
    skill("two"),
    skill("one", version="1.0"),
    skill("two", version="1.0"),
    skill("one", version="2.0"),
    skill("one").replace("\n", "\r\n"),
    "---\nversion: 1.20\n---\nnot a skill",
)
SKILL_PATHS = ("a/SKILL.md", "b/SKILL.md", "a/b/SKILL.md", "SKILL.md", "a/old.md")

BY_BLOB = {
    sha1(b"blob %d\0" % len(text.encode()) + text.encode()).hexdigest(): text for text in CONTENTS
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


def candidate(path: str, text: str, version: str | None) -> Candidate:
    return Candidate(path.encode(), text, version, root_name="repository")


def found_in(repository: GitRepository, start: str, *candidates: Candidate) -> list[str | None]:
    """What the resolver finds for each candidate, as `commit:folder`."""
    store = Repository.discover(repository.folder)
    assert store is not None
    with store:
        answers = find_previous(store, bytes.fromhex(start), candidates)
    return [_told(answer) for answer in answers]


def _told(answer: PastSkill | Unresolved) -> str | None:
    if isinstance(answer, Unresolved):
        return None
    return f"{answer.skill.commit}:{answer.skill.folder}"


# ---------------------------------------------------------------- the slow reference


def by_hand(repository: GitRepository, start: str, wanted: Candidate) -> str | None:
    """What someone with a terminal would find: `git log`, and `git diff-tree` at each creation."""
    revision, path, left = start, wanted.path.decode(), 50
    while left:
        for commit in repository.log(path, revision, limit=left):
            left -= 1
            if _is_earlier(_text_at(repository, commit, path), wanted):
                return f"{commit}:{PurePosixPath(path).parent}"
            if (source := _moved_from(repository, commit, path)) is not None:
                revision, path = f"{commit}^", source
                break
        else:
            return None
    return None


def _text_at(repository: GitRepository, commit: str, path: str) -> str | None:
    """The text of a regular file at a commit."""
    mode, kind, blob, *_ = repository.git("ls-tree", commit, "--", path).split() or [""] * 3
    return BY_BLOB[blob] if kind == "blob" and mode.startswith("100") else None


def _is_earlier(text: str | None, wanted: Candidate) -> bool:
    if text is None:
        return False
    try:
        version = parse_skill(text.encode(), file="SKILL.md", folder_name="any").skill.version
    except UserError:
        return False
    if wanted.version is not None:
        return version != wanted.version
    return text.replace("\r\n", "\n") != wanted.text


def _moved_from(repository: GitRepository, commit: str, path: str) -> str | None:
    if len(repository.git("rev-list", "--parents", "-1", commit).split()) != 2:
        return None
    renames = ("diff-tree", "-r", "--find-renames=100%", "--diff-filter=R", "--name-status")
    for line in repository.git(*renames, f"{commit}^", commit).splitlines():
        _, source, target = line.split("\t")
        if target == path:
            return source
    return None


# ---------------------------------------------------------------- the property

mostly_moves = random_histories(
    Habits(CONTENTS, "weeemmmcd", parents=(1, 1, 1, 1, 2), reach=2, paths=SKILL_PATHS),
    least=5,
    most=20,
)
texts = st.sampled_from(CONTENTS)
versions = st.sampled_from([None, None, None, "1.0", "2.0"])


@st.composite
def candidates(draw: st.DrawFn, tree: Tree) -> list[Candidate]:
    """Mostly each skill as the last commit has it, which only an older text precedes."""
    wanted = []
    for path in [path for path in tree if path in SKILL_PATHS] or SKILL_PATHS:
        committed = tree[path][1] if path in tree and draw(st.integers(0, 3)) else draw(texts)
        wanted.append(candidate(path, decode(committed.encode(), path), draw(versions)))
    return wanted


@settings(max_examples=100, deadline=None)
@given(mostly_moves, st.data())
def test_the_previous_version_is_the_one_found_by_hand(
    shared: GitRepository, history: list[RandomCommit], data: st.DataObject
) -> None:
    """Whatever was merged, moved, copied, edited, reverted or broken, and in a commit-graph."""
    *_, head = commits = fast_import(shared, history)
    write_graph(shared, data.draw(graph_writes(commits)))
    wanted = data.draw(candidates(history[-1].tree))

    assert found_in(shared, head, *wanted) == [by_hand(shared, head, one) for one in wanted]
