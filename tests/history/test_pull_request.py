"""The skills that a pull request changes, told from its two trees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings

from git_repositories import GitRepository, skill
from pull_requests import clone, ends, opened
from random_histories import Habits, RandomCommit, Tree, fast_import, random_histories
from skill_delta.core.changes import (
    ChangedFile,
    SkillChange,
    SkillFile,
    SkillsAt,
    skill_changes,
)
from skill_delta.core.skill_text import parse_skill
from skill_delta.core.skills import SkillVersion
from skill_delta.errors import UserError
from skill_delta.history.base import UnknownBase
from skill_delta.history.pull_request import changed_skills

ORDERS = {
    "skills/orders/SKILL.md": skill(),
    "skills/orders/scripts/run.py": "print(1)",
    "skills/orders/evals/cases.yaml": "cases: []",
}


def changes(
    repository: GitRepository, base: str = "HEAD~1", head: str = "HEAD"
) -> tuple[SkillChange, ...]:
    commits = (repository.git("rev-parse", name) for name in (base, head))
    with opened(repository) as store:
        return changed_skills(store, ends(*commits))


def told(repository: GitRepository, base: str = "HEAD~1", head: str = "HEAD") -> list[str]:
    """Each change in one line."""
    return [
        f"{change.folder} {change.kind}"
        + (f" from {change.base_folder}" if change.base_folder not in {change.folder, None} else "")
        for change in changes(repository, base, head)
    ]


def remove(repository: GitRepository, *paths: str) -> None:
    repository.git("rm", "-r", "--quiet", *paths)


# ---------------------------------------------------------------- kinds


def test_a_pull_request_without_skills_changes_none(repository: GitRepository) -> None:
    """The usual case in most repositories."""
    repository.commit({**ORDERS, "README.md": "1"})
    repository.commit({"README.md": "2", "src/evals/a.yaml": "1"})

    assert told(repository) == []


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        ({"SKILL.md": skill("Be brief.")}, "edited"),
        ({"scripts/run.py": "print(2)"}, "bundle only"),
        ({"evals/cases.yaml": "cases: [] # none"}, "evals only"),
        ({"SKILL.md": skill("Be brief."), "evals/cases.yaml": "cases: [1]"}, "edited"),
    ],
)
def test_the_kind_is_that_of_what_differs(
    repository: GitRepository, edit: Mapping[str, str], kind: str
) -> None:
    """SKILL.md before the files that it ships, and those before its eval files."""
    repository.commit(ORDERS)
    repository.commit({f"skills/orders/{name}": text for name, text in edit.items()})

    assert told(repository) == [f"skills/orders {kind}"]


def test_skills_come_go_and_move(repository: GitRepository) -> None:
    """In the order of their folders."""
    repository.commit({**ORDERS, "skills/old/SKILL.md": skill("Old.", name="old")})
    repository.git("mv", "skills/orders", "shop")
    remove(repository, "skills/old")
    repository.commit({"skills/new/SKILL.md": skill("New.", name="new")})

    assert told(repository) == [
        "shop moved from skills/orders",
        "skills/new added",
        "skills/old removed",
    ]


def test_a_move_that_edited_is_known_by_its_name(repository: GitRepository) -> None:
    """The frontmatter says that it is the same skill."""
    repository.commit(ORDERS)
    repository.git("mv", "skills/orders", "shop")
    repository.commit({"shop/SKILL.md": skill("Be brief.")})

    assert told(repository) == ["shop moved and edited from skills/orders"]


def test_a_move_to_another_name_is_known_by_its_text(repository: GitRepository) -> None:
    """Folder and name are others; most of what it says is the same."""
    body = "Ask for the order.\nBe kind.\nName the order."
    repository.commit({**ORDERS, "skills/orders/SKILL.md": skill(body, name="orders")})
    repository.git("mv", "skills/orders", "shop")
    repository.commit({"shop/SKILL.md": skill(body.replace("kind", "brief"), name="shop")})

    assert told(repository) == ["shop moved and edited from skills/orders"]


def test_a_skill_without_frontmatter_is_called_after_its_folder(repository: GitRepository) -> None:
    """Also when its folder is what moved."""
    repository.commit({"a/orders/SKILL.md": "Be kind."})
    remove(repository, "a")
    repository.commit({"b/orders/SKILL.md": "Be brief."})

    assert told(repository) == ["b/orders moved and edited from a/orders"]


@pytest.mark.parametrize("text", ["---\nversion: 1.20\n---\n", "---\nname: [\n---\n", "\xff"])
def test_a_skill_that_cannot_be_read_moved_nowhere(repository: GitRepository, text: str) -> None:
    """The authoring error is told when the candidate is read."""
    repository.commit({"a/SKILL.md": skill()})
    remove(repository, "a")
    repository.commit({"b/SKILL.md": text.encode("latin-1")})

    assert told(repository) == ["a removed", "b added"]


def test_a_file_left_behind_is_no_longer_shipped(repository: GitRepository) -> None:
    """Only SKILL.md moved: its scripts did not differ, and are not the skill's any more."""
    repository.commit(ORDERS)

    repository.move("skills/orders/SKILL.md", "shop/SKILL.md")

    assert told(repository) == ["shop moved and edited from skills/orders"]


def test_a_skill_that_arises_around_files_takes_them(repository: GitRepository) -> None:
    """The outer skill ships less, though no file of its own differs."""
    repository.commit({**ORDERS, "skills/orders/refunds/deep/pay.py": "1"})
    repository.commit({"skills/orders/refunds/SKILL.md": skill("Pay.", name="refunds")})

    assert told(repository) == ["skills/orders bundle only", "skills/orders/refunds added"]


def test_a_mode_that_changed_is_a_change_of_the_bundle(repository: GitRepository) -> None:
    """A script that can be run is another thing; a SKILL.md that can be run is not."""
    repository.commit(ORDERS)
    repository.git("update-index", "--chmod=+x", "skills/orders/SKILL.md")
    repository.commit_staged()
    repository.git("update-index", "--chmod=+x", "skills/orders/scripts/run.py")
    repository.commit_staged()

    assert told(repository, "HEAD~2", "HEAD~1") == []
    assert told(repository) == ["skills/orders bundle only"]


def test_a_skill_at_the_root_ships_what_no_other_skill_does(repository: GitRepository) -> None:
    """A repository that is a skill, with one more in it."""
    repository.commit({**ORDERS, "SKILL.md": skill(name="root"), "lib/a.py": "1"})
    repository.commit({"lib/a.py": "2"})
    repository.commit({"skills/orders/scripts/run.py": "2"})

    assert told(repository, "HEAD~2", "HEAD~1") == [". bundle only"]
    assert told(repository) == ["skills/orders bundle only"]


def test_the_outermost_skill_may_come_while_inner_ones_stay(repository: GitRepository) -> None:
    """What the inner skill ships is none of its files."""
    repository.commit({**ORDERS, "lib/a.py": "1"})
    repository.commit({"SKILL.md": skill(name="root")})

    assert told(repository) == [". added"]


@pytest.mark.parametrize("folder", ["caf\xe9", "a b", 'a"b', "größe"])
def test_folders_have_any_name(repository: GitRepository, folder: str) -> None:
    """Git stores bytes."""
    place = folder.encode("latin-1").decode("utf-8", "surrogateescape")
    repository.commit({"a": "1"})
    repository.commit({f"{place}/SKILL.md": skill()})

    assert [change.folder for change in changes(repository)] == [PurePosixPath(place)]


def test_a_lower_case_skill_file_makes_a_skill(repository: GitRepository) -> None:
    """Some runtimes load it."""
    repository.commit({"orders/skill.md": skill()})
    repository.commit({"orders/skill.md": skill("Be brief.")})
    repository.move("orders/skill.md", "orders/SKILL.md")

    assert told(repository, "HEAD~2", "HEAD~1") == ["orders edited"]
    assert told(repository) == ["orders moved"]


def test_a_skill_file_that_became_a_link_is_a_change(repository: GitRepository) -> None:
    """Reading it is what fails, later and by name."""
    repository.commit(ORDERS)
    (repository.folder / "skills/orders/SKILL.md").unlink()
    (repository.folder / "skills/orders/SKILL.md").symlink_to("/proc/self/environ")
    repository.commit()

    assert told(repository) == ["skills/orders edited"]


def test_no_file_hides_a_folder_of_skills(repository: GitRepository) -> None:
    """On a machine `pyvenv.cfg` marks an environment; anyone could commit one."""
    repository.commit(ORDERS)
    repository.commit({"skills/pyvenv.cfg": "", "skills/orders/SKILL.md": skill("Be curt.")})

    assert told(repository) == ["skills/orders edited"]


@pytest.mark.parametrize(
    "folder",
    [
        "node_modules/a",
        ".git-like/.venv/a",
        "skills/orders/evals/fixtures/a",
        "evals/a",
        ".skill-delta/a",
    ],
)
def test_where_nobody_keeps_skills_none_is_found(repository: GitRepository, folder: str) -> None:
    """Dependencies, environments, fixtures and our own reports."""
    repository.commit(ORDERS)
    repository.commit({f"{folder}/SKILL.md": skill("Other.", name="other")})

    assert [line for line in told(repository) if "added" in line] == []


def test_a_skill_may_be_called_evals(repository: GitRepository) -> None:
    """Where it lies in no other skill."""
    repository.commit({"a": "1"})
    repository.commit({"skills/evals/SKILL.md": skill(name="evals")})

    assert told(repository) == ["skills/evals added"]


def test_hundreds_of_skills_are_no_more_than_one(repository: GitRepository) -> None:
    """No list ends early."""
    repository.commit({f"skills/s{n:03}/SKILL.md": skill(name=f"s{n:03}") for n in range(300)})
    repository.commit(
        {f"skills/s{n:03}/SKILL.md": skill("New.", name=f"s{n:03}") for n in range(300)}
    )

    assert told(repository) == [f"skills/s{n:03} edited" for n in range(300)]


# ---------------------------------------------------------------- unknown


def test_a_base_that_cannot_be_read_makes_nothing_new(
    repository: GitRepository, tmp_path: Path
) -> None:
    """Absent is what the base's tree says, not what a clone lacks."""
    repository.commit({**ORDERS, "a": "1"})
    repository.commit({**ORDERS, "skills/orders/SKILL.md": skill("Be brief.")})
    base = repository.git("rev-parse", "HEAD~1")
    shallow = clone(repository, tmp_path / "clone", "--depth=1")

    with opened(shallow) as store, pytest.raises(UnknownBase, match="nothing was measured"):
        changed_skills(store, ends(base, shallow.head()))


@pytest.mark.parametrize("lost", ["HEAD~1:skills", "HEAD:skills/orders"])
def test_a_missing_folder_is_neither_new_nor_unchanged(
    repository: GitRepository, lost: str
) -> None:
    """At either end."""
    repository.commit(ORDERS)
    repository.commit({"skills/orders/SKILL.md": skill("Be brief.")})
    oid = repository.git("rev-parse", lost)
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    with pytest.raises(UnknownBase, match=oid[:8]):
        told(repository)


def test_a_missing_skill_that_may_have_moved_is_unknown(repository: GitRepository) -> None:
    """Its name would tell, and cannot be read."""
    repository.commit({"a/SKILL.md": skill()})
    remove(repository, "a")
    repository.commit({"b/SKILL.md": skill("Be brief.")})
    oid = repository.git("rev-parse", "HEAD~1:a/SKILL.md")
    (repository.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    with pytest.raises(UnknownBase, match=oid[:8]):
        told(repository)


# ---------------------------------------------------------------- properties


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return GitRepository.create(tmp_path_factory.mktemp("histories"))


PATHS = (
    *("a/SKILL.md", "a/run.py", "b/SKILL.md", "a/evals/x.yaml", "b/run.py", "SKILL.md"),
    *("a/c/SKILL.md", "a/c/run.py", "a/c", "a/c/d/doc.md", "a/.env", "x.eval.yaml"),
)
CONTENTS = (skill("one"), skill("two"), skill("one", name="other"), "no frontmatter", "")
busy = Habits(contents=CONTENTS, actions="wwwemmcd", parents=(1,), paths=PATHS, reach=1)


@settings(max_examples=80, deadline=None)
@given(random_histories(busy, least=4, most=24))
def test_reading_only_what_differs_misses_nothing(
    shared: GitRepository, history: list[RandomCommit]
) -> None:
    """The changes are those that a comparison of every file of both trees finds."""
    commits = fast_import(shared, history)
    middle = len(history) // 2
    before, after = history[middle].tree, history[-1].tree

    with opened(shared) as store:
        found = changed_skills(store, ends(commits[middle], commits[-1]))

    files = [
        ChangedFile(PurePosixPath(path), _mark(before.get(path)), _mark(after.get(path)))
        for path in {*before, *after}
    ]
    assert found == skill_changes(files, _end(before), _end(after))


def _mark(file: tuple[str, str] | None) -> str | None:
    return None if file is None else " ".join(file)


def _end(tree: Tree) -> SkillsAt:
    files = {
        PurePosixPath(path).parent: SkillFile("SKILL.md", _content(*file))
        for path, file in tree.items()
        if PurePosixPath(path).name == "SKILL.md"
    }

    def read(folder: PurePosixPath) -> SkillVersion | None:
        return _skill(folder, *tree[str(folder / "SKILL.md")])

    def name_of(folder: PurePosixPath) -> str | None:
        found = read(folder)
        return found.name if found else None

    def text_of(folder: PurePosixPath) -> str:
        found = read(folder)
        return found.instructions if found else ""

    return SkillsAt(files, name_of, text_of)


def _content(mode: str, text: str) -> str:
    return text if mode.startswith("100") else f"{mode} {text}"


def _skill(folder: PurePosixPath, mode: str, text: str) -> SkillVersion | None:
    if not mode.startswith("100"):
        return None
    try:
        raw = f"{text}\n".encode().removesuffix(b"\n")
        return parse_skill(raw, file="", folder_name=folder.name or "histories0").skill
    except UserError:
        return None


# ---------------------------------------------------------------- speed


def test_telling_what_changed_loads_no_heavy_library(repository: GitRepository) -> None:
    """Most pull requests touch no skill, and their check takes a moment."""
    repository.commit(ORDERS)
    repository.commit({"skills/orders/SKILL.md": skill("Be brief.")})
    program = """if True:
        import sys
        from pathlib import Path
        from skill_delta.history.base import RevisionRefs, find_ends
        from skill_delta.history.pull_request import changed_skills
        from skill_delta.history.repository import Repository
        with Repository.discover(Path(sys.argv[1])) as repository:
            ends = find_ends(repository, RevisionRefs("HEAD~1"))
            print(*(change.kind for change in changed_skills(repository, ends)))
        heavy = {"pydantic", "yaml", "httpx", "github", "typer", "rich", "jinja2", "regex"}
        print(*heavy.intersection(sys.modules))
    """
    command = [sys.executable, "-c", program, str(repository.folder)]

    assert subprocess.run(command, check=True, capture_output=True).stdout == b"edited\n\n"
