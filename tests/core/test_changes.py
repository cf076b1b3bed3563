"""What happened to each skill, told from the files that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath as Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.changes import (
    ChangedFile,
    ChangeKind,
    SkillChange,
    SkillFile,
    SkillsAt,
    baselines_for,
    skill_changes,
)
from skill_delta.core.skills import is_eval, withheld

Tree = Mapping[str, str]
"""Path → content. A SKILL.md's content is `name: text`."""


def skills_of(tree: Tree) -> Mapping[Path, SkillFile]:
    return {Path(path).parent: SkillFile("SKILL.md", tree[path]) for path in _skill_files(tree)}


def _skill_files(tree: Tree) -> Sequence[str]:
    return [path for path in tree if Path(path).name == "SKILL.md"]


def end(tree: Tree) -> SkillsAt:
    def name_of(folder: Path) -> str | None:
        return tree[str(folder / "SKILL.md")].partition(":")[0] or None

    def text_of(folder: Path) -> str:
        name, _, text = tree[str(folder / "SKILL.md")].partition(":")
        return text if name else ""

    return SkillsAt(skills_of(tree), name_of, text_of)


def differing(before: Tree, after: Tree) -> list[ChangedFile]:
    """All files that differ, and those around a SKILL.md that only one end has."""
    one_sided = skills_of(before).keys() ^ skills_of(after).keys()
    return [
        ChangedFile(Path(path), before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path) or one_sided.intersection(Path(path).parents)
    ]


def changes(before: Tree, after: Tree) -> tuple[SkillChange, ...]:
    return skill_changes(differing(before, after), end(before), end(after))


def told(before: Tree, after: Tree) -> list[str]:
    """Each change in one line."""
    return [
        f"{change.folder} {change.kind}"
        + (f" from {change.base_folder}" if change.base_folder not in {change.folder, None} else "")
        for change in changes(before, after)
    ]


ORDERS: Tree = {
    "orders/SKILL.md": "orders: be kind",
    "orders/scripts/run.py": "1",
    "orders/evals/cases.yaml": "1",
}


def edited(**files: str) -> Tree:
    """The skill with some of its files written anew."""
    return {**ORDERS, **{f"orders/{name}": text for name, text in files.items()}}


def at(folder: str, tree: Tree) -> Tree:
    """The same files in another folder than `orders`."""
    return {path.replace("orders/", f"{folder}/", 1): text for path, text in tree.items()}


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        (edited(**{"SKILL.md": "orders: be brief"}), "edited"),
        (edited(**{"SKILL.md": "orders: be brief", "scripts/run.py": "2"}), "edited"),
        (edited(**{"scripts/run.py": "2"}), "bundle only"),
        (edited(**{"scripts/run.py": "2", "evals/cases.yaml": "2"}), "bundle only"),
        (edited(**{"references/new.md": "1"}), "bundle only"),
        (edited(**{"evals/cases.yaml": "2"}), "evals only"),
        (edited(**{"evals/replies.yaml": "1"}), "evals only"),
        (edited(**{"more.eval.yaml": "1"}), "evals only"),
        (edited(**{"replies.yaml": "1"}), "evals only"),
        (edited(**{"evals/fixtures/deep/a.txt": "1"}), "evals only"),
        ({}, "removed"),
    ],
)
def test_the_kind_is_that_of_what_differs(after: Tree, kind: str) -> None:
    """SKILL.md before the files that it ships, and those before its eval files."""
    assert told(ORDERS, after) == [f"orders {kind}"]


@pytest.mark.parametrize("name", [".env", "__pycache__/run.pyc", "node_modules/a/index.js"])
def test_what_reaches_nobody_is_no_change(name: str) -> None:
    """It is not delivered, and grades nothing."""
    assert told(ORDERS, edited(**{name: "1"})) == []


def test_a_skill_that_the_base_lacks_is_added() -> None:
    """With all of its files."""
    (added,) = changes({}, ORDERS)

    assert added == SkillChange(ChangeKind.ADDED, Path("orders"), None, added.files)
    assert set(added.files) == set(map(Path, ORDERS))


def test_files_outside_of_skills_are_no_change() -> None:
    """Whatever they are called."""
    assert told(ORDERS, {**ORDERS, "README.md": "1", "evals/cases.yaml": "1"}) == []


def test_a_file_belongs_to_the_innermost_skill() -> None:
    """A nested skill ships its own files."""
    nested = {**ORDERS, "orders/refunds/SKILL.md": "refunds: pay", "orders/refunds/a.py": "1"}

    assert told(nested, {**nested, "orders/refunds/a.py": "2"}) == ["orders/refunds bundle only"]


def test_a_skill_at_the_root_ships_the_repository() -> None:
    """Except what belongs to the skills in it."""
    root = {"SKILL.md": "root: all", "a.py": "1", **ORDERS}

    assert told(root, {**root, "a.py": "2"}) == [". bundle only"]
    assert told(root, {**root, "orders/scripts/run.py": "2"}) == ["orders bundle only"]


def test_a_skill_that_arises_around_files_takes_them_from_the_outer_one() -> None:
    """The outer skill no longer ships them, though none of them differs."""
    before = {**ORDERS, "orders/refunds/a.py": "1"}

    assert told(before, {**before, "orders/refunds/SKILL.md": "refunds: pay"}) == [
        "orders bundle only",
        "orders/refunds added",
    ]


def test_a_new_nested_skill_in_a_new_folder_leaves_the_outer_one_alone() -> None:
    """It takes nothing from it."""
    new = {"orders/refunds/SKILL.md": "refunds: pay", "orders/refunds/a.py": "1"}

    assert told(ORDERS, {**ORDERS, **new}) == ["orders/refunds added"]


def test_a_skill_file_in_other_letters_moved() -> None:
    """`skill.md` became `SKILL.md`: more runtimes load it, and both arms are told the same."""
    files = [
        ChangedFile(Path("orders/skill.md"), "text", None),
        ChangedFile(Path("orders/SKILL.md"), None, "text"),
    ]
    lower, upper = (
        SkillsAt({Path("orders"): SkillFile(name, "text")}, lambda _: None)
        for name in ("skill.md", "SKILL.md")
    )

    (change,) = skill_changes(files, lower, upper)

    assert (change.kind, change.folder, change.base_folder) == (
        ChangeKind.MOVED,
        Path("orders"),
        Path("orders"),
    )


# ---------------------------------------------------------------- moves


def test_a_folder_that_moved_unchanged_moved() -> None:
    """Byte for byte, its evals too: one that lost them on the way is to be looked at."""
    moved = at("shop", ORDERS)

    assert told(ORDERS, moved) == ["shop moved from orders"]
    assert told(ORDERS, {**moved, "shop/evals/cases.yaml": "2"}) == ["shop evals only from orders"]


def test_a_move_that_left_a_file_behind_edited() -> None:
    """What the skill ships is another thing then."""
    after = {"shop/SKILL.md": ORDERS["orders/SKILL.md"], "orders/scripts/run.py": "1"}

    assert told(ORDERS, after) == ["shop moved and edited from orders"]


def test_the_same_name_tells_a_move_that_edited() -> None:
    """Where no other skill that went or came has it."""
    after = at("shop", edited(**{"SKILL.md": "orders: be brief"}))

    assert told(ORDERS, after) == ["shop moved and edited from orders"]


def test_a_name_that_two_have_tells_nothing() -> None:
    """Either could be the one that moved."""
    after = {"a/SKILL.md": "orders: one", "b/SKILL.md": "orders: two"}

    assert told(ORDERS, after) == ["a added", "b added", "orders removed"]


def test_a_skill_that_cannot_be_read_has_no_name() -> None:
    """Two of them are not the same skill for that."""
    assert told({"a/SKILL.md": ":broken"}, {"b/SKILL.md": ":broken too"}) == [
        "a removed",
        "b added",
    ]


def test_a_copy_is_a_new_skill() -> None:
    """Its source is still there."""
    assert told(ORDERS, {**ORDERS, **at("shop", ORDERS)}) == ["shop added"]


LONG = "be kind\nask for the order\nname it"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (LONG, "moved and edited from orders"),
        (LONG.replace("kind", "curt"), "moved and edited from orders"),
        ("\n\n" + "\n".join(reversed(LONG.splitlines())), "moved and edited from orders"),
        ("be kind\nsell whatever there is\nat any price", "added"),
        ("", "added"),
    ],
)
def test_half_of_the_text_tells_a_move_to_another_name(text: str, kind: str) -> None:
    """Whatever the skill is called now, and wherever its lines stand."""
    before = {"orders/SKILL.md": f"orders:{LONG}"}

    assert f"sales {kind}" in told(before, {"sales/SKILL.md": f"sales:{text}"})


def test_the_most_alike_are_taken_for_one_another() -> None:
    """Each skill went to one place, and those that are like none came and went."""
    before = {"a/SKILL.md": f"a:{LONG}", "b/SKILL.md": "b:tell\nthe news"}
    after = {
        "x/SKILL.md": f"x:{LONG}\nand more",
        "y/SKILL.md": f"y:{LONG}",
        "z/SKILL.md": "z:sing",
    }

    assert told(before, after) == [
        "b removed",
        "x added",
        "y moved and edited from a",
        "z added",
    ]


def test_a_flood_of_skills_is_not_looked_through() -> None:
    """It takes no time, and leaves nothing unsaid: they came and went."""
    after = {f"b{n}/SKILL.md": f"b{n}:{LONG}" for n in range(100)}
    before = {f"a{n}/SKILL.md": f"a{n}:{LONG}" for n in range(100)}

    assert len(told(before, after)) == 100
    assert len(told({**before, "a/SKILL.md": f"a:{LONG}"}, after)) == 201


def test_a_likeness_needs_a_text() -> None:
    """Two skills that say nothing are not the same one."""
    assert told({"a/SKILL.md": "a:"}, {"b/SKILL.md": "b:"}) == ["a removed", "b added"]


def test_among_equals_the_folders_name_decides() -> None:
    """Two skills with the same SKILL.md moved at once."""
    text = "orders: be kind"
    before = {"a/x/SKILL.md": text, "a/y/SKILL.md": text}
    after = {"b/y/SKILL.md": text, "c/x/SKILL.md": text}

    assert told(before, after) == ["b/y moved from a/y", "c/x moved from a/x"]


# ---------------------------------------------------------------- properties

FOLDERS = ("", "a/", "b/", "a/c/", "a/c/d/")
FILES = ("SKILL.md", "run.py", "evals/cases.yaml", "x.eval.yaml", "doc/a.md")
trees = st.dictionaries(
    st.builds("".join, st.tuples(st.sampled_from(FOLDERS), st.sampled_from(FILES))),
    st.sampled_from(["one: 1", "one: 2", "two: 1"]),
    max_size=12,
)


@given(trees, trees)
def test_every_file_of_a_skill_is_accounted_for_once(before: Tree, after: Tree) -> None:
    """A file that differs is in the one change of the skill that has it, at each of its ends."""
    found = changes(before, after)
    at_base = {change.base_folder: change for change in found if change.base_folder is not None}
    at_head = {c.folder: c for c in found if c.kind is not ChangeKind.REMOVED}
    ends = ((before, at_base), (after, at_head))
    expected = [
        (path, by_folder[owner])
        for path in sorted({*before, *after})
        for tree, by_folder in ends
        if before.get(path) != after.get(path) and (owner := _owner(tree, path)) is not None
    ]

    assert len(found) == len({*at_base.values(), *at_head.values()})
    assert {(path, change) for path, change in expected} == {
        (str(path), change) for change in found for path in change.files
    }


def _owner(tree: Tree, path: str) -> Path | None:
    """The skill that a tree's file belongs to; None too where the tree has no such file."""
    skills = skills_of(tree)
    inside = (above for above in Path(path).parents if above in skills)
    return next(inside, None) if path in tree else None


@given(trees, trees)
def test_swapping_the_ends_mirrors_the_changes(before: Tree, after: Tree) -> None:
    """Added becomes removed, and a move goes back."""
    assert sorted(map(_mirrored, changes(after, before)), key=str) == sorted(
        changes(before, after), key=str
    )


def _mirrored(change: SkillChange) -> SkillChange:
    if change.kind is ChangeKind.REMOVED:
        return SkillChange(ChangeKind.ADDED, change.folder, None, change.files)
    if change.base_folder is None:
        return SkillChange(ChangeKind.REMOVED, change.folder, change.folder, change.files)
    return SkillChange(change.kind, change.base_folder, change.folder, change.files)


@given(trees, trees, st.randoms(use_true_random=False))
def test_the_order_of_the_files_does_not_matter(before: Tree, after: Tree, rng: Random) -> None:
    """Nor that of the skills."""
    files = differing(before, after)
    rng.shuffle(files)

    assert skill_changes(files, _shuffled(before, rng), _shuffled(after, rng)) == changes(
        before, after
    )


def _shuffled(tree: Tree, rng: Random) -> SkillsAt:
    items = list(tree.items())
    rng.shuffle(items)
    return end(dict(items))


@given(trees, trees)
def test_each_kind_says_what_is_the_same(before: Tree, after: Tree) -> None:
    """Of a skill that both ends have, where it has a change and where it has none."""
    found = {change.folder: change for change in changes(before, after)}
    for folder in skills_of(before).keys() & skills_of(after).keys():
        same_text = skills_of(before)[folder] == skills_of(after)[folder]
        same_bundle = _shipped(before, folder) == _shipped(after, folder)
        same_evals = _evals(before, folder) == _evals(after, folder)
        kind = found[folder].kind if folder in found else None

        assert (kind is ChangeKind.EDITED) == (not same_text)
        assert (kind is ChangeKind.BUNDLE_ONLY) == (same_text and not same_bundle)
        assert (kind is ChangeKind.EVALS_ONLY) == (same_text and same_bundle and not same_evals)


def _owned(tree: Tree, folder: Path) -> dict[Path, str]:
    return {
        Path(path).relative_to(folder): text
        for path, text in tree.items()
        if _owner(tree, path) == folder
    }


def _shipped(tree: Tree, folder: Path) -> dict[Path, str]:
    return {path: text for path, text in _owned(tree, folder).items() if not withheld(path)}


def _evals(tree: Tree, folder: Path) -> dict[Path, str]:
    return {path: text for path, text in _owned(tree, folder).items() if is_eval(path)}


# ---------------------------------------------------------------- baselines


def change(kind: ChangeKind) -> SkillChange:
    base = None if kind is ChangeKind.ADDED else Path("orders")
    return SkillChange(kind, Path("orders"), base)


def test_a_new_skill_is_compared_with_none() -> None:
    """It has no previous version; what else was asked for stays."""
    added = change(ChangeKind.ADDED)

    assert baselines_for(added, ("previous",), "none") == ("none",)
    assert baselines_for(added, ("previous", "none", "v1"), "none") == ("none", "v1")


def test_a_new_skill_to_be_left_out_or_refused_is_compared_with_nothing() -> None:
    """Nothing else would be an answer to what was asked."""
    assert baselines_for(change(ChangeKind.ADDED), ("previous",), "skip") == ()
    assert baselines_for(change(ChangeKind.ADDED), ("previous",), "fail") == ()


def test_nothing_is_compared_where_nothing_was_asked() -> None:
    """A new skill is no reason to."""
    assert baselines_for(change(ChangeKind.ADDED), (), "none") is None


def test_a_skill_whose_evals_changed_is_measured_by_itself() -> None:
    """The suite is what is under review."""
    assert baselines_for(change(ChangeKind.EVALS_ONLY), ("previous",), "none") == ()


@pytest.mark.parametrize(
    "kind",
    [
        ChangeKind.EDITED,
        ChangeKind.BUNDLE_ONLY,
        ChangeKind.MOVED,
        ChangeKind.MOVED_AND_EDITED,
    ],
)
def test_any_other_skill_is_compared_as_the_run_was_asked(kind: ChangeKind) -> None:
    """The base has a version of it."""
    assert baselines_for(change(kind), ("previous", "none"), "none") is None
