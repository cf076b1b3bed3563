"""Tell which skills the commit HEAD changes against BASE, and resolve `previous` for each.

Says for how many there is one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from skill_delta.core.skills import SkillVersion
from skill_delta.history.base import RevisionRefs, find_ends
from skill_delta.history.committed_skills import read_changed_skills
from skill_delta.history.layout import find_git
from skill_delta.history.pull_request import changed_skills
from skill_delta.history.pull_request_baselines import PullRequestBaselines
from skill_delta.history.repository import Repository


def main(folder: str, base: str, head: str) -> int:
    folders = find_git(Path(folder))
    if folders is None:
        raise SystemExit(f"{folder} is no repository")
    with tempfile.TemporaryDirectory() as scratch, Repository.open(folders) as repository:
        ends = find_ends(repository, RevisionRefs(base, head))
        changes = changed_skills(repository, ends)
        skills = read_changed_skills(repository, ends.head, changes, Path(scratch))
        baselines = PullRequestBaselines(repository, ends, skills, Path(scratch))
        versions = baselines.resolve([skill.working for skill in skills], "previous")
    return sum(isinstance(version, SkillVersion) for version in versions.values())


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
