"""What a pull request changes in a long history, and `previous`, next to `git log` per skill."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.processes import Cost, measure, median, probe, taking_turns
from bench.repositories import COMMITS, SKILLS, build, edit_skills, git, is_quiet, skill_folder
from bench.table import Row, memory_row, ratio_row

_ASKED = "50"
"""How many commits `git log` is asked for: as many as the search looks at."""


@dataclass(frozen=True, slots=True)
class _Question:
    """Some of the skills. `git log` runs for every `nth` of them, and counts for all."""

    skills: Sequence[int]
    target: float
    nth: int = 1
    times: int = 1

    @property
    def label(self) -> str:
        number = len(self.skills)
        return f"{number} skills" if number > 1 else "1 skill, quiet for 40,000 commits"


_QUESTIONS = (
    # Seven and not five: every tenth skill is quiet, and has to be among those asked.
    _Question(range(SKILLS), target=0.2, nth=7),
    _Question(range(20), target=1.2, times=3),
    _Question([next(filter(is_quiet, range(SKILLS)))], target=10, times=3),
)

_GRAPHS: Mapping[str, tuple[str, ...]] = {
    f"{COMMITS:,} commits": (),
    "a commit-graph": ("--no-changed-paths",),
    "a commit-graph with changed paths": ("--changed-paths",),
}
"""What a repository may have besides its commits, as `git commit-graph write` is asked for it."""


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder)
        asked = [(question, edit_skills(folder, question.skills)) for question in _QUESTIONS]
        for where, options in _GRAPHS.items():
            if options:
                git(folder, "commit-graph", "write", "--reachable", "--no-progress", *options)
            yield from _answers(folder, asked, where)


def _answers(folder: Path, asked: Sequence[tuple[_Question, str]], where: str) -> Iterator[Row]:
    peaks = []
    for question, head in asked:
        ours, log = taking_turns(
            question.times, partial(_resolve, folder, head), partial(_log, folder, question)
        )
        peaks += [cost.peak for cost in ours]
        yield ratio_row(
            f"changed skills and `previous` of {question.label}; {where}",
            median(cost.wall for cost in ours),
            median(cost.wall for cost in log),
            question.target,
            of="`git log` of each" + (" (sampled)" if question.nth > 1 else ""),
            ours=f"({ours[0].output.strip()} found)",
        )
    yield memory_row(f"peak of these; {where}", max(peaks), 250)


def _resolve(folder: Path, head: str) -> Cost:
    return measure(probe("resolve_previous", folder, "main", head))


def _log(folder: Path, question: _Question) -> Cost:
    """What `git log -n 50 -- PATH` takes, one process per skill, for all the skills."""
    asked = question.skills[:: question.nth]
    command = ["git", "log", "-n", _ASKED, "--format=%H", "--"]
    costs = [measure([*command, f"{skill_folder(number)}/SKILL.md"], folder) for number in asked]
    scale = len(question.skills) / len(asked)
    return Cost(
        began=costs[0].began,
        wall=sum(cost.wall for cost in costs) * scale,
        cpu=sum(cost.cpu for cost in costs) * scale,
        peak=max(cost.peak for cost in costs),
        output="",
    )
