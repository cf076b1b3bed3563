"""A generated git repository: many skills, a long history with merges, the same every time."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import IO

from bench.processes import ENVIRONMENT

COMMITS = 50_000
SKILLS = 200
QUIET_AFTER = 10_000
"""The commit after which every tenth skill is left alone."""

_SOURCE_FILES = 1_000
_SKILL_SHARE = 0.15
"""How many of the commits edit a skill; the n-th skill is edited 1/n as often as the first."""
_BRANCH_SHARE = 0.1
"""How many of the commits on the main line are where a branch begins."""
_BRANCHES = 3
"""How many branches are under way at once."""
_ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
_FIRST_SECOND = 1_500_000_000

_GUIDANCE = "".join(f"{n}. Say what was done, and why, in the first sentence.\n" for n in range(20))
_CODE = "def work() -> int:\n    return 1\n\n\n" * 5


def skill_folder(number: int) -> str:
    """Where the skill of this number lies, counted from 0."""
    return f"skills/skill-{number:03}"


def is_quiet(number: int) -> bool:
    """Whether a skill is left alone after `QUIET_AFTER` commits."""
    return number % 10 == 9


def build(folder: Path) -> None:
    """Make the repository in an empty folder, and check it out."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    importer = ["git", "-C", str(folder), "fast-import", "--quiet"]
    with subprocess.Popen(importer, stdin=subprocess.PIPE, env=ENVIRONMENT) as process:  # noqa: S603
        if process.stdin is not None:
            _History(process.stdin).write()
    git(folder, "reset", "--quiet", "--hard")


def edit_skills(folder: Path, numbers: Sequence[int]) -> str:
    """A commit on top of main, and on no branch, that edits these skills; gives its id."""
    git(folder, "switch", "--quiet", "--detach", "main")
    for number in numbers:
        (folder / _skill(number)).write_text(_text(_skill(number), COMMITS))
    git(folder, *_ADA, "commit", "--quiet", "--all", "--message=edit")
    head = git(folder, "rev-parse", "HEAD")
    git(folder, "switch", "--quiet", "main")
    return head


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder; gives what it prints, without white space at the ends."""
    command = ["git", "-C", str(folder), *arguments]
    ran = subprocess.run(command, env=ENVIRONMENT, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return ran.stdout.strip()


@dataclass(slots=True)
class _Branch:
    """A line of commits. `tip` is its last one's mark; `files` are the blobs that it changed."""

    ref: str
    tip: int = 0
    left: int = 0
    files: dict[str, int] = field(default_factory=dict)

    def begin(self, commit: int, length: int) -> None:
        """Start anew at a commit, with so many commits to come before the merge."""
        self.tip = commit
        self.left = length
        self.files = {}


class _History:
    """Commits in the language of `git fast-import`: a main line, and short branches off it."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._rng = Random(COMMITS)  # noqa: S311 - the same history every time
        self._marks = 0
        self._commits = 0
        self._main = _Branch("refs/heads/main")
        self._branches = [_Branch(f"refs/heads/work-{number}") for number in range(_BRANCHES)]
        shares = [1 / (number + 1) for number in range(SKILLS)]
        loud = [0 if is_quiet(number) else share for number, share in enumerate(shares)]
        self._early, self._late = list(accumulate(shares)), list(accumulate(loud))

    def write(self) -> None:
        self._write("feature done")
        self._edit(self._main, [*map(_source, range(_SOURCE_FILES)), *map(_skill, range(SKILLS))])
        while self._commits < COMMITS:
            self._go_on()
        self._write("done")

    def _go_on(self) -> None:
        under_way = [branch for branch in self._branches if branch.left]
        if under_way and self._rng.random() < 0.5:
            self._advance(self._rng.choice(under_way))
            return
        self._edit(self._main, self._some_files())
        if len(under_way) < _BRANCHES and self._rng.random() < _BRANCH_SHARE:
            idle = next(branch for branch in self._branches if not branch.left)
            idle.begin(self._main.tip, length=self._rng.randint(1, 8))

    def _advance(self, branch: _Branch) -> None:
        self._edit(branch, self._some_files())
        branch.left -= 1
        if not branch.left:
            self._commit(self._main, (self._main.tip, branch.tip), branch.files)

    def _some_files(self) -> list[str]:
        if self._commits in {QUIET_AFTER - 1_000, QUIET_AFTER}:
            return [_skill(number) for number in range(SKILLS) if is_quiet(number)]
        if self._rng.random() < _SKILL_SHARE:
            shares = self._early if self._commits < QUIET_AFTER else self._late
            return [_skill(self._rng.choices(range(SKILLS), cum_weights=shares)[0])]
        numbers = self._rng.sample(range(_SOURCE_FILES), self._rng.randint(1, 2))
        return [_source(number) for number in numbers]

    def _edit(self, branch: _Branch, paths: Sequence[str]) -> None:
        for path in paths:
            self._marks += 1
            branch.files[path] = self._marks
            self._write(f"blob\nmark :{self._marks}")
            self._data(_text(path, self._commits))
        changed = {path: branch.files[path] for path in paths}
        self._commit(branch, (branch.tip,) if branch.tip else (), changed)

    def _commit(self, branch: _Branch, parents: Sequence[int], files: Mapping[str, int]) -> None:
        self._marks += 1
        self._commits += 1
        branch.tip = self._marks
        when = _FIRST_SECOND + 60 * self._commits
        self._write(f"commit {branch.ref}\nmark :{branch.tip}")
        self._write(f"committer Ada <ada@example.org> {when} +0000")
        self._data("edit")
        for word, parent in zip(("from", "merge"), parents, strict=False):
            self._write(f"{word} :{parent}")
        for path, blob in files.items():
            self._write(f"M 100644 :{blob} {path}")

    def _data(self, text: str) -> None:
        self._write(f"data {len(text)}\n{text}")

    def _write(self, line: str) -> None:
        self._out.write(f"{line}\n".encode("ascii"))


def _skill(number: int) -> str:
    return f"{skill_folder(number)}/SKILL.md"


def _source(number: int) -> str:
    return f"src/package_{number // 25:02}/module_{number % 25:02}.py"


def _text(path: str, edition: int) -> str:
    """A file's content, which no two commits share."""
    if path.endswith(".md"):
        name = path.split("/")[1]
        head = f"---\nname: {name}\ndescription: Does the work of {name}.\n---\n"
        return f"{head}Edition {edition}.\n\n{_GUIDANCE}"
    return f"EDITION = {edition}\n\n\n{_CODE}"
