"""Skills are found wherever people keep them, each once, and nothing outside is read."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from git_repositories import GitRepository, skill
from skill_delta.core.documents import MAX_BYTES
from skill_delta.core.skills import MAX_BUNDLE_FILES, WorkingSkill
from skill_delta.errors import UserError, UserErrors
from skill_delta.history.working_copy import find_skills


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    """A repository that is also the current folder."""
    repository = GitRepository.create(tmp_path / "here")
    monkeypatch.chdir(repository.folder)
    return repository


def folders(skills: tuple[WorkingSkill, ...]) -> list[str]:
    return [str(one.skill.folder) for one in skills]


def found(repository: GitRepository, *paths: str) -> list[str]:
    return folders(find_skills([repository.folder / path for path in paths or (".",)]))


def refusals(*paths: Path | str) -> list[str]:
    """The messages of a search that must fail, without their hints."""
    with pytest.raises(UserErrors) as caught:
        find_skills([Path(path) for path in paths])
    return [str(error).partition("\n")[0] for error in caught.value.errors]


# ---------------------------------------------------------------- layouts

LAYOUTS = [
    ".",
    ".agents/skills/agent",
    ".claude/skills/claude",
    ".github/skills/hub",
    "plugins/p/skills/plug",
    "skills/a",
    "skills/a/nested/deep",
]


def test_every_layout_is_searched(here: GitRepository) -> None:
    """The root, hidden folders, plugins, skills within skills; in the order of their folders."""
    here.write({f"{folder}/SKILL.md": skill() for folder in LAYOUTS})

    assert found(here) == LAYOUTS


def test_a_skill_may_be_called_evals(here: GitRepository) -> None:
    """A folder of that name holds fixtures where it lies in a skill, or is none itself."""
    here.write({"skills/evals/SKILL.md": skill(), "evals/fixture/SKILL.md": skill()})

    assert found(here) == ["skills/evals"]


@pytest.mark.parametrize(
    "folder",
    [
        *(".git/x", "node_modules/x", ".venv/x", "venv/lib/x", "a/__pycache__", ".tox/x"),
        *("skills/a/evals/fixture", "skills/a/evals", "evals/fixture", "lib/site-packages/x"),
    ],
)
def test_what_is_not_anyones_own_skill_is_not_searched(here: GitRepository, folder: str) -> None:
    """Version control, dependencies, virtual environments, and skills that evals use."""
    here.write({"skills/a/SKILL.md": skill(), f"{folder}/SKILL.md": skill()})

    assert found(here) == ["skills/a"]


def test_a_virtual_environment_of_any_name_is_not_searched(here: GitRepository) -> None:
    """It is known by its `pyvenv.cfg`."""
    here.write({"py311/pyvenv.cfg": "", "py311/lib/x/SKILL.md": skill(), "a/SKILL.md": skill()})

    assert found(here) == ["a"]


def test_another_work_tree_of_the_repository_is_not_searched(here: GitRepository) -> None:
    """`.claude/worktrees/x` holds the same skills once more."""
    here.commit({"skills/a/SKILL.md": skill()})
    here.git("worktree", "add", "--quiet", "-b", "side", ".claude/worktrees/side")

    assert found(here) == ["skills/a"]
    assert found(here, ".claude/worktrees/side") == ["skills/a"]


@pytest.mark.parametrize("path", ["skills/a/SKILL.md", "skills/a", "skills", "."])
def test_a_path_is_a_file_a_skill_or_a_folder_above(here: GitRepository, path: str) -> None:
    """All of them lead to the same skill."""
    here.write({"skills/a/SKILL.md": skill("hello"), "skills/a/run.py": "x"})

    (one,) = find_skills([here.folder / path])

    assert one.location == (here.folder / "skills/a").resolve()
    assert one.filename == "SKILL.md"
    assert one.text == skill("hello").encode()
    assert one.skill.folder == PurePosixPath("skills/a")
    assert one.skill.instructions == "hello"
    assert one.skill.commit is None
    assert one.skill.bundle is not None
    assert one.skill.bundle.root == one.location


def test_a_file_names_one_skill_and_a_folder_all_below(here: GitRepository) -> None:
    """A SKILL.md does not bring the skills nested beside it."""
    here.write({"a/SKILL.md": skill(), "a/b/SKILL.md": skill()})

    assert found(here, "a/SKILL.md") == ["a"]
    assert found(here, "a") == ["a", "a/b"]


def test_paths_that_overlap_give_each_skill_once(here: GitRepository) -> None:
    """Whatever the order they are given in."""
    here.write({"a/SKILL.md": skill(), "b/SKILL.md": skill()})

    assert found(here, "b", ".", "a/SKILL.md", "b") == ["a", "b"]


def test_a_folder_without_skills_has_none(here: GitRepository) -> None:
    """That is no error here: whoever asked decides."""
    here.write({"README.md": "x"})
    (here.folder / "SKILL.md").mkdir()

    assert find_skills([here.folder]) == ()


def test_lower_case_counts_and_is_said(here: GitRepository) -> None:
    """Some runtimes only load the standard name; where both are, that one is read."""
    here.write({"a/skill.md": skill(), "b/skill.md": "lower", "b/SKILL.md": skill()})

    lower, both = find_skills([here.folder])

    assert lower.filename == "skill.md"
    assert any("some runtimes only load SKILL.md" in warning for warning in lower.warnings)
    assert both.filename == "SKILL.md"


def test_what_the_parser_says_is_passed_on(here: GitRepository) -> None:
    """A name that is not the folder's, for one."""
    here.write({"orders/SKILL.md": skill(name="other")})

    assert "not the folder's name 'orders'" in find_skills([here.folder])[0].warnings[0]


def test_outside_a_repository_the_folder_is_relative_to_where_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the current folder where that lies above, else to the skill's own parent."""
    (tmp_path / "x" / "a").mkdir(parents=True)
    (tmp_path / "x" / "a" / "SKILL.md").write_text(skill())
    (tmp_path / "y").mkdir()

    monkeypatch.chdir(tmp_path)
    assert folders(find_skills([tmp_path])) == ["x/a"]
    monkeypatch.chdir(tmp_path / "y")
    assert folders(find_skills([tmp_path])) == ["a"]


# ---------------------------------------------------------------- links


def test_a_linked_folder_is_one_skill(here: GitRepository) -> None:
    """Two ways lead to it; it is where it really is."""
    here.write({"skills/a/SKILL.md": skill()})
    (here.folder / ".claude").mkdir()
    (here.folder / ".claude" / "skills").symlink_to("../skills")
    (here.folder / "alias").symlink_to("skills/a")

    assert found(here) == ["skills/a"]
    assert found(here, "alias", ".claude/skills") == ["skills/a"]


def test_links_in_circles_end(here: GitRepository) -> None:
    """Up, to themselves, and to each other."""
    here.write({"skills/a/SKILL.md": skill()})
    for name, target in {"skills/up": "..", "skills/self": "self", "x": "y", "y": "x"}.items():
        (here.folder / name).symlink_to(target)

    assert found(here) == ["skills/a"]


def test_a_linked_folder_outside_is_not_searched(here: GitRepository, tmp_path: Path) -> None:
    """A link leads no further than the repository, or without one than the folder named."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "SKILL.md").write_text(skill())
    here.write({"a/SKILL.md": skill()})
    (here.folder / "out").symlink_to(outside)
    (here.folder / "dependency").symlink_to("node_modules/x")
    here.write({"node_modules/x/SKILL.md": skill()})
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "out").symlink_to(outside)

    assert found(here) == ["a"]
    assert find_skills([plain]) == ()


def test_a_folder_that_was_named_may_be_a_link(here: GitRepository, tmp_path: Path) -> None:
    """Who names it means it."""
    here.write({"a/SKILL.md": skill()})
    (tmp_path / "way").symlink_to(here.folder)

    assert folders(find_skills([tmp_path / "way"])) == ["a"]


def test_a_skill_file_that_links_inside_is_read_and_said(here: GitRepository) -> None:
    """Its text is the target's, and no commit has it under this path."""
    here.write({"a/TEXT.md": skill("text")})
    (here.folder / "a" / "SKILL.md").symlink_to("TEXT.md")

    (one,) = find_skills([here.folder])

    assert one.skill.instructions == "text"
    assert any("SKILL.md is a link" in warning for warning in one.warnings)


@pytest.mark.parametrize("target", ["/proc/self/environ", "../../outside.md", "/etc/passwd"])
@pytest.mark.parametrize("path", [".", "a", "a/SKILL.md"])
def test_a_skill_file_that_links_outside_is_refused(
    here: GitRepository, tmp_path: Path, target: str, path: str
) -> None:
    """What it leads to never becomes a prompt."""
    (tmp_path / "outside.md").write_text(skill("secret"))
    (here.folder / "a").mkdir()
    (here.folder / "a" / "SKILL.md").symlink_to(target)

    (message,) = refusals(path)

    assert message.startswith("a/SKILL.md: it cannot be read: it leads out of")
    assert "secret" not in message


# ---------------------------------------------------------------- refused


def test_all_problems_are_told_at_once(here: GitRepository) -> None:
    """One run is enough to see them all, each with its place."""
    here.write(
        {
            "a/SKILL.md": "---\nname: a\nversion: 1.20\n---\nx",
            "b/SKILL.md": "---\nname: b\n",
            "c/SKILL.md": skill(),
            "d/SKILL.md": b"caf\xe9",
            "e/SKILL.md": b"x" * (MAX_BYTES + 1),
            "README.md": "x",
        }
    )

    messages = refusals("missing", "missing/SKILL.md", "README.md", ".")

    assert [message.split(": ")[0] for message in messages] == [
        *("missing", "missing/SKILL.md", "README.md"),
        *("a/SKILL.md:3:1", "b/SKILL.md:1:1", "d/SKILL.md:1:4", "e/SKILL.md"),
    ]
    assert "there is no such file or folder" in messages[0]
    assert "it is not a skill" in messages[2]
    assert "1,048,576 bytes" in messages[-1]


@pytest.mark.parametrize("kind", ["pipe", "broken link", "circle", "link to a folder"])
def test_a_skill_file_that_is_no_file_is_refused(here: GitRepository, kind: str) -> None:
    """At once: nobody waits for a named pipe."""
    (here.folder / "a" / "b").mkdir(parents=True)
    path = here.folder / "a" / "SKILL.md"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(
            {"broken link": "gone", "circle": "SKILL.md", "link to a folder": "b"}[kind]
        )

    (message,) = refusals(".")

    assert message.startswith("a/SKILL.md: it cannot be read: ")


def test_a_skill_file_of_a_device_is_refused(here: GitRepository) -> None:
    """A device may never end."""
    if os.geteuid() != 0:
        pytest.skip("only root can make a device")
    (here.folder / "a").mkdir()
    try:
        os.mknod(here.folder / "a" / "SKILL.md", 0o020666, os.makedev(1, 5))
    except OSError:
        pytest.skip("devices cannot be made here")

    (message,) = refusals("a")

    assert message.startswith("a/SKILL.md: it cannot be read: ")


def test_a_folder_name_that_is_no_text_is_refused(here: GitRepository) -> None:
    """A report could not name it."""
    folder = Path(os.fsdecode(os.fsencode(here.folder) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "SKILL.md").write_text(skill())

    (message,) = refusals(here.folder)

    assert message == r"caf\xe9/SKILL.md: the folder's name is not UTF-8"


# ---------------------------------------------------------------- the bundle


def test_a_bundle_is_what_an_install_would_copy(here: GitRepository) -> None:
    """Everything beside SKILL.md, but evals, secrets, dependencies and nested skills."""
    shipped = ["assets/a.png", "run.py", "scripts/x/y.sh"]
    others = ["evals/a.yaml", ".env", "node_modules/x", "nested/SKILL.md", "nested/x", "b.eval.yml"]
    here.write({f"a/{name}": name for name in [*shipped, *others]} | {"a/SKILL.md": skill()})

    one = next(one for one in find_skills([here.folder / "a"]) if one.location.name == "a")

    assert one.skill.bundle is not None
    assert [str(file.path) for file in one.skill.bundle.files] == shipped
    assert [file.size for file in one.skill.bundle.files] == [len(name) for name in shipped]


def test_a_skill_that_ships_nothing_has_no_bundle(here: GitRepository) -> None:
    """Not an empty one."""
    here.write({"a/SKILL.md": skill(), "a/evals/x.yaml": "cases: []"})

    assert find_skills([here.folder])[0].skill.bundle is None


def test_special_files_are_left_out_and_named(here: GitRepository) -> None:
    """A named pipe in a bundle is neither opened nor waited for."""
    here.write({"a/SKILL.md": skill(), "a/run.py": "x"})
    os.mkfifo(here.folder / "a" / "pipe")

    (one,) = find_skills([here.folder])

    assert one.skill.bundle is not None
    assert len(one.skill.bundle.files) == 1
    assert any("pipe (not a regular file)" in warning for warning in one.warnings)


def test_a_skill_that_ships_too_much_is_refused(here: GitRepository) -> None:
    """A thousand files pass, one more is an error that says what to do."""
    here.write({"a/SKILL.md": skill(), **{f"a/{n}": "" for n in range(MAX_BUNDLE_FILES)}})
    assert found(here) == ["a"]

    here.write({"a/one-more": ""})

    with pytest.raises(UserError, match="more than 1,000 files") as caught:
        find_skills([here.folder])
    assert "a folder of its own" in str(caught.value)


def test_a_skill_that_ships_too_many_bytes_is_refused(here: GitRepository) -> None:
    """Counted while reading: what a disk says of a sparse file is not believed."""
    here.write({"a/SKILL.md": skill(), "a/small": "x"})
    with (here.folder / "a" / "large").open("wb") as file:
        file.truncate(100 * 1024 * 1024)

    (message,) = refusals(".")

    assert message == "a/SKILL.md: it ships more than 104,857,600 bytes"


@pytest.mark.parametrize("path", ["loop", "loop/SKILL.md", "a/SKILL.md"])
def test_a_path_that_leads_in_a_circle_is_refused(here: GitRepository, path: str) -> None:
    """With its name."""
    (here.folder / "a").mkdir()
    for place in ("loop", "a/SKILL.md"):
        (here.folder / place).symlink_to(Path(place).name)

    (message,) = refusals(path)

    assert message.startswith(f"{path}: ")


def test_a_link_in_a_circle_inside_a_skill_is_left_out(here: GitRepository) -> None:
    """As any other link is."""
    here.write({"a/SKILL.md": skill(), "a/run.py": "x", "a/x/file": "x"})
    for place in ("a/loop", "a/x/loop"):
        (here.folder / place).symlink_to("loop")

    (one,) = find_skills([here.folder])

    assert one.skill.bundle is not None
    assert [str(file.path) for file in one.skill.bundle.files] == ["run.py", "x/file"]
    assert [warning.rpartition(": ")[2] for warning in one.warnings[-2:]] == [
        "loop (a link)",
        "x/loop (a link)",
    ]


def test_a_search_from_a_folder_that_is_gone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing that a relative path could be relative to."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    messages = refusals(".", "skills", "SKILL.md")

    assert messages[:2] == [".: the current folder is not there any more"] * 2
    assert messages[2] == "SKILL.md: there is no such file or folder"


def test_a_path_that_no_disk_could_hold_is_refused(here: GitRepository) -> None:
    """Of three hundred letters, say."""
    (message,) = refusals("x" * 300)

    assert message.endswith("it cannot be read: File name too long")
