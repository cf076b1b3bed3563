"""Resolve `previous` for the skills at the paths given; says for how many there is one."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from skill_delta.core.skills import SkillVersion
from skill_delta.history.previous import GitBaselines
from skill_delta.history.working_copy import find_skills

if __name__ == "__main__":
    skills = find_skills([Path(path) for path in sys.argv[1:]])
    with tempfile.TemporaryDirectory() as scratch:
        versions = GitBaselines(Path(scratch), None).resolve(skills, "previous")
    print(sum(isinstance(version, SkillVersion) for version in versions.values()))
