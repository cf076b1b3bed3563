"""The bundle of a past version is what the skill shipped then, and stays in its folder."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest

from git_repositories import GitRepository, skill
from resolved_skills import Resolve, files_of, refused, version
from skill_delta.core.skills import Bundle, BundleFile, SkillVersion, UnresolvedReason
from skill_delta.history.bundle import BundleError, Limits, extract_bundle
from skill_delta.history.previous import GitBaselines
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.history.working_copy import find_skills

ORDERS = "skills/orders/SKILL.md"


def bundle(found: SkillVersion) -> Bundle:
    assert found.bundle is not None
    return found.bundle


def names(bundle: Bundle) -> list[str]:
    return [str(file.path) for file in bundle.files]


def tree(repository: GitRepository, *entries: tuple[str, bytes, str]) -> str:
    """A tree object with any names at all, as no git command would write it."""
    raw = b"".join(
        b"%s %s\0" % (mode.encode(), name) + bytes.fromhex(oid) for mode, name, oid in entries
    )
    return repository.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", input=raw)


def blob(repository: GitRepository, content: str = "x") -> str:
    return repository.git("hash-object", "-w", "--stdin", input=content.encode())


def extracted(
    repository: GitRepository, folder: str, scratch: Path
) -> tuple[Bundle | None, tuple[str, ...]]:
    store = Repository.discover(repository.folder)
    assert store is not None
    with store:
        return extract_bundle(store, bytes.fromhex(folder), scratch, Limits())


# ---------------------------------------------------------------- what is in it


def test_it_comes_from_the_commit_of_the_instructions(
    repository: GitRepository, resolve: Resolve
) -> None:
    """Later edits of scripts alone are not seen, and the candidate's are never paired with it."""
    repository.commit({ORDERS: skill("old"), "skills/orders/run.py": "old"})
    repository.commit({"skills/orders/run.py": "later", "skills/orders/more.py": "later"})
    repository.commit({ORDERS: skill("new"), "skills/orders/run.py": "new"})

    assert files_of(version(resolve())) == {"run.py": "old"}


def test_without_files_there_is_no_bundle(repository: GitRepository, resolve: Resolve) -> None:
    """The candidate's scripts do not step in."""
    repository.commit({ORDERS: skill("old"), "skills/orders/evals/a.yaml": "cases: []"})
    repository.commit({ORDERS: skill("new"), "skills/orders/run.py": "new"})

    assert version(resolve()).bundle is None


def test_what_is_withheld_from_the_candidate_is_withheld_here(
    repository: GitRepository, resolve: Resolve
) -> None:
    """The same rule on both sides: evals, secrets, dependencies, nested skills."""
    shipped = ["assets/logo.svg", "reference.md", "scripts/run.py", "templates/SKILL-guide.md"]
    withheld = ["evals/a.yaml", "Evals/b.yaml", "x.eval.yaml", "scripts/.env", "replies.yaml"]
    withheld += ["node_modules/a.js", "nested/SKILL.md", "nested/run.py", "nested/deep/x", ".npmrc"]
    files = {f"skills/orders/{name}": name for name in [*shipped, *withheld]}
    repository.commit({ORDERS: skill("old"), **files})
    repository.commit({ORDERS: skill("new")})

    past = bundle(version(resolve()))
    candidate = find_skills([repository.folder / ORDERS])[0].skill.bundle

    assert names(past) == shipped
    assert candidate is not None
    assert candidate.files == past.files


def test_every_file_is_measured(repository: GitRepository, resolve: Resolve, scratch: Path) -> None:
    """Size and SHA-256 are of the extracted bytes; the folder is a fresh one under scratch."""
    repository.commit({ORDERS: skill("old"), "skills/orders/a/b.bin": b"\x00\r\n\xff"})
    repository.commit({ORDERS: skill("new")})

    past = bundle(version(resolve()))

    content = b"\x00\r\n\xff"
    assert past.files == (BundleFile(PurePosixPath("a/b.bin"), 4, sha256(content).hexdigest()),)
    assert (Path(past.root) / "a/b.bin").read_bytes() == content
    assert Path(past.root).parent == scratch.resolve()


def test_scripts_stay_executable(repository: GitRepository, resolve: Resolve) -> None:
    """A script that could be run then can be run now."""
    repository.write({"skills/orders/run.sh": "#!/bin/sh\n", "skills/orders/data.txt": "x"})
    (repository.folder / "skills/orders/run.sh").chmod(0o755)
    repository.commit({ORDERS: skill("old")})
    repository.commit({ORDERS: skill("new")})

    root = Path(bundle(version(resolve())).root)

    assert (root / "run.sh").stat().st_mode & stat.S_IXUSR
    assert not (root / "data.txt").stat().st_mode & stat.S_IXUSR


def test_export_ignore_changes_nothing(repository: GitRepository, resolve: Resolve) -> None:
    """The candidate's bundle knows no git attributes, so neither does this one."""
    repository.commit(
        {
            ".gitattributes": "*.py export-ignore\n*.txt export-subst\n",
            ORDERS: skill("old"),
            "skills/orders/run.py": "x",
            "skills/orders/a.txt": "$Format:%H$",
        }
    )
    repository.commit({ORDERS: skill("new")})

    assert files_of(version(resolve())) == {"run.py": "x", "a.txt": "$Format:%H$"}


def test_two_versions_never_share_a_folder(repository: GitRepository, resolve: Resolve) -> None:
    """Resolving again extracts again."""
    repository.commit({ORDERS: skill("old"), "skills/orders/a": "x"})
    repository.commit({ORDERS: skill("new")})

    first, second = bundle(version(resolve())), bundle(version(resolve()))

    assert first.root != second.root
    assert first.files == second.files


@pytest.mark.parametrize(
    "name", ["naïve file.md", 'it\'s "quoted".md', "日本/語.md", "-rf", "*?.md"]
)
def test_any_portable_name_is_extracted(
    repository: GitRepository, resolve: Resolve, name: str
) -> None:
    """Blanks, quotes, other alphabets and what shells expand."""
    repository.commit({ORDERS: skill("old"), f"skills/orders/{name}": "x"})
    repository.commit({ORDERS: skill("new")})

    assert files_of(version(resolve())) == {name: "x"}


# ---------------------------------------------------------------- what is left out of both arms


def test_links_and_submodules_are_left_out_and_named(
    repository: GitRepository, tmp_path: Path, scratch: Path
) -> None:
    """Wherever they lead: nothing outside is read, and the other files are there."""
    inner = GitRepository.create(tmp_path / "inner")
    inner.commit({"x": "x"})
    folder = repository.folder / "skills" / "orders"
    repository.write({ORDERS: skill("old"), "skills/orders/a.md": "a"})
    (folder / "environ").symlink_to("/proc/self/environ")
    (folder / "inside").symlink_to("a.md")
    (folder / "folder").symlink_to("../../..")
    repository.git("submodule", "--quiet", "add", str(inner.folder), "skills/orders/inner")
    repository.commit()
    repository.commit({ORDERS: skill("new")})
    (candidate,) = find_skills([repository.folder / ORDERS])
    baselines = GitBaselines(scratch, None)

    (answer,) = baselines.resolve([candidate], "previous").values()

    links = ("environ (a link)", "folder (a link)", "inside (a link)")
    assert files_of(version(answer)) == {"a.md": "a"}
    assert baselines.left_out[candidate.location] == (*links[:2], "inner (a submodule)", links[2])
    named = [warning for warning in candidate.warnings if "left out" in warning]
    assert [warning.rpartition(": ")[2] for warning in named] == list(links)


def test_names_that_cannot_be_carried_everywhere_are_left_out_of_both_arms(
    repository: GitRepository, resolve: Resolve
) -> None:
    """A backslash is a folder elsewhere, `aux` a device, and a report is UTF-8."""
    folder = repository.folder / "skills" / "orders"
    repository.write({ORDERS: skill("old"), "skills/orders/a.md": "a"})
    for name in (b"b\\c.md", b"aux.md", b"caf\xe9.md", b"C:d"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    repository.commit()
    repository.commit({ORDERS: skill("new")})

    (candidate,) = find_skills([repository.folder / ORDERS])

    assert files_of(version(resolve())) == {"a.md": "a"} == files_of(candidate.skill)
    assert any(r"caf\xe9.md (its name is not UTF-8)" in warning for warning in candidate.warnings)


# ---------------------------------------------------------------- what must not get out


@pytest.mark.parametrize("name", [b"..", b".", b"a/b", b"../escaped", b"/etc/escaped"])
def test_a_name_that_leads_out_is_refused(
    repository: GitRepository, scratch: Path, tmp_path: Path, name: bytes
) -> None:
    """Only a forged tree holds one; nothing of it is extracted."""
    x = blob(repository)
    forged = tree(repository, ("100644", b"fine.md", x), ("100644", name, x))

    with pytest.raises(BundleError, match="leads out of the skill's folder"):
        extracted(repository, forged, scratch)

    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "escaped").exists()


def test_a_folder_that_leads_out_is_refused(repository: GitRepository, scratch: Path) -> None:
    """`..` as a folder with files in it."""
    inner = tree(repository, ("100644", b"escaped.md", blob(repository)))

    with pytest.raises(BundleError, match="leads out"):
        extracted(repository, tree(repository, ("40000", b"..", inner)), scratch)


def test_a_link_and_a_folder_of_one_name_cannot_be_combined(
    repository: GitRepository, scratch: Path, tmp_path: Path
) -> None:
    """A forged tree has a link first and a folder of the same name after it: the link is no way."""
    target = blob(repository, str(tmp_path))
    inner = tree(repository, ("100644", b"escaped.md", blob(repository)))
    forged = tree(repository, ("120000", b"out", target), ("40000", b"out", inner))

    found, left_out = extracted(repository, forged, scratch)

    assert found is not None
    assert names(found) == ["out/escaped.md"]
    assert left_out == ("out (a link)",)
    assert not (tmp_path / "escaped.md").exists()


def test_two_files_of_one_name_are_refused(repository: GitRepository, scratch: Path) -> None:
    """As on a disk that folds case: the second would overwrite the first."""
    forged = tree(
        repository,
        ("100644", b"a.md", blob(repository)),
        ("100644", b"a.md", blob(repository, "y")),
    )

    with pytest.raises(BundleError, match="cannot be written: File exists"):
        extracted(repository, forged, scratch)

    assert list(scratch.iterdir()) == []


def test_git_folders_in_any_spelling_are_withheld(repository: GitRepository, scratch: Path) -> None:
    """An agent that runs git in its workspace must not meet hooks of the pull request."""
    config = tree(repository, ("100644", b"config", blob(repository)))
    forged = tree(
        repository,
        ("40000", b".GIT", config),
        ("40000", b".git", config),
        ("40000", b"git~1", config),
        ("100644", b"a.md", blob(repository)),
    )

    found, _ = extracted(repository, forged, scratch)

    assert found is not None
    assert names(found) == ["a.md"]


def test_a_tree_that_is_cut_short_is_refused(repository: GitRepository, scratch: Path) -> None:
    """A file that would silently be missing is an error instead."""
    whole = b"100644 a.md\0" + bytes.fromhex(blob(repository)) + b"100644 b.md\0abc"
    oid = repository.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", input=whole)

    with pytest.raises(Unreadable, match="damaged"):
        extracted(repository, oid, scratch)


def test_a_bottomless_tree_is_given_up(repository: GitRepository, scratch: Path) -> None:
    """Folders in folders, deeper than any disk takes."""
    inner = tree(repository, ("100644", b"a.md", blob(repository)))
    for _ in range(300):
        inner = tree(repository, ("40000", b"d" * 20, inner))

    with pytest.raises(BundleError, match="cannot be written"):
        extracted(repository, inner, scratch)

    assert list(scratch.iterdir()) == []


def test_a_tree_that_repeats_itself_is_given_up(repository: GitRepository, scratch: Path) -> None:
    """A few small objects that stand for more folders than there are atoms."""
    inner = tree(repository)
    for _ in range(20):
        inner = tree(repository, *(("40000", b"%d" % number, inner) for number in range(10)))

    with pytest.raises(BundleError, match="more than 10,000 folders"):
        extracted(repository, inner, scratch)


def test_a_large_file_is_never_written(
    repository: GitRepository, resolve: Resolve, scratch: Path
) -> None:
    """The limit is met before the disk is."""
    repository.commit({ORDERS: skill("old"), "skills/orders/big": b"\0" * 200_000})
    repository.commit({ORDERS: skill("new")})

    refused(resolve(limits=Limits(bytes=100_000)), UnresolvedReason.BUNDLE_UNREADABLE)

    assert list(scratch.iterdir()) == []


def test_folders_that_no_disk_takes_are_a_bundle_error(
    repository: GitRepository, tmp_path: Path
) -> None:
    """However deep they are, they end no run with a fault of ours."""
    deep = tree(repository, ("100644", b"f", blob(repository)))
    for _ in range(1_100):
        deep = tree(repository, ("40000", b"d", deep))

    with pytest.raises(BundleError, match="cannot be written"):
        extracted(repository, deep, tmp_path)
