"""Whatever became of a folder, skill-lens 0.25 and skill-delta find the same previous version."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance.situation import skill_text
from git_repositories import FIRST_SECOND, GitRepository
from random_histories import RandomCommit, Tree, fast_import

FOLDERS = ("order-support", "returns", "old/order-support")
NOT_A_SKILL = "---\nname: order-support\nversion: 1.20\n---\n"
TEXTS = (
    skill_text(rules="One."),
    skill_text(rules="Two."),
    skill_text("1.0", rules="One."),
    skill_text("1.0", rules="Two."),
    skill_text("2.0", rules="One."),
)

texts = st.sampled_from(TEXTS)
actions = st.sampled_from("eeefmmcd")


@st.composite
def histories(draw: st.DrawFn) -> tuple[RandomCommit, ...]:
    """One commit after the other edits, moves, copies or deletes skills; branches are elsewhere.

    Two actions in one commit make a move that also edited, or a copy whose source went with it.
    """
    tree: Tree = {f"{FOLDERS[0]}/SKILL.md": ("100644", draw(texts))}
    commits = [RandomCommit((), FIRST_SECOND, dict(tree))]
    for number in range(draw(st.integers(1, 8))):
        for action in draw(st.lists(actions, min_size=1, max_size=2)):
            _act(tree, action, draw)
        commits.append(RandomCommit((number,), FIRST_SECOND + 60 * number, dict(tree)))
    return tuple(commits)


def _act(tree: Tree, action: str, draw: st.DrawFn) -> None:
    source = draw(st.sampled_from(FOLDERS))
    target = draw(st.sampled_from(FOLDERS))
    match action:
        case "e":
            tree[f"{source}/SKILL.md"] = ("100644", draw(texts | st.just(NOT_A_SKILL)))
        case "f":
            tree[f"{source}/orders.txt"] = ("100644", draw(st.sampled_from(["1234\n", "77\n"])))
        case "d":
            _remove(tree, source)
        case _ if source != target:
            files = {path: tree[path] for path in tree if path.startswith(f"{source}/")}
            _remove(tree, target)
            tree |= {path.replace(source, target, 1): file for path, file in files.items()}
            if action == "m":
                _remove(tree, source)
        case _:
            pass


def _remove(tree: Tree, folder: str) -> None:
    for path in [path for path in tree if path.startswith(f"{folder}/")]:
        del tree[path]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("histories") / "repository")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(histories(), texts)
def test_both_find_the_same_version(
    skill_lens: None,
    shared: GitRepository,
    monkeypatch: pytest.MonkeyPatch,
    history: tuple[RandomCommit, ...],
    working_copy: str,
) -> None:
    """Its commit and folder, what it tells a model, and the files it ships."""
    from conformance import by_skill_delta, by_skill_lens  # noqa: PLC0415

    *_, head = fast_import(shared, history)
    shared.git("reset", "--quiet", "--hard", head)
    skills = [path for path in history[-1].tree if path.endswith("/SKILL.md")]
    shared.write(dict.fromkeys(skills, working_copy))

    for path in skills:
        folder = (shared.folder / path).parent
        ours = by_skill_delta.previous(folder)
        assert ours == by_skill_lens.previous(folder, monkeypatch)
