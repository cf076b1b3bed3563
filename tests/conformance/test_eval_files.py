"""An eval file that skill-lens 0.25 runs or refuses, skill-delta runs or refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from command_line import CommandLine
from conformance.eval_files import (
    ACCEPTED,
    MORE_LENIENT,
    NUMBERS,
    PLAIN,
    REFUSED,
    SKILL,
    STRICTER,
    Files,
    suite,
    with_fields,
)
from git_repositories import GitRepository

PASSED, FAILED, REFUSAL = 0, 1, 2

ExitCodes = Callable[..., tuple[int, int]]


@pytest.fixture
def exit_codes(
    skill_lens: None,
    repository: GitRepository,
    skill_delta: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
) -> ExitCodes:
    """How `run` ends in skill-delta and in skill-lens, on these files and with these flags."""
    from skill_lens.cli import app  # type: ignore[import-untyped]  # noqa: PLC0415

    def run(files: Files, *flags: str, path: str = "s") -> tuple[int, int]:
        said = 'replies: [{text: "[fake] s handled: t"}]'
        repository.write({"s/SKILL.md": SKILL, "replies.yaml": said, **files})
        scripted = ("--runner", "scripted", "--replies", "replies.yaml")
        ours = skill_delta("run", path, *scripted, *flags)
        with monkeypatch.context() as shell:
            shell.chdir(repository.folder)
            with pytest.raises(SystemExit) as ended:
                app(["run", path, "--runner", "fake", *flags])
        theirs = ended.value.code
        assert isinstance(theirs, int)
        return ours.exit_code, theirs

    return run


def each(table: Mapping[str, Files]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("files", table.values(), ids=table.keys())


@each(REFUSED)
def test_both_refuse(files: Files, exit_codes: ExitCodes) -> None:
    """A mistake of the author's says nothing about the skill: it ends the run."""
    assert exit_codes(files) == (REFUSAL, REFUSAL)


@each(ACCEPTED)
def test_both_accept(files: Files, exit_codes: ExitCodes) -> None:
    """What is unusual but clear runs."""
    assert exit_codes(files) == (PASSED, PASSED)


@each(STRICTER)
def test_skill_delta_alone_refuses(files: Files, exit_codes: ExitCodes) -> None:
    """Where a slip would lose a result or a check, its author is told."""
    assert exit_codes(files) == (REFUSAL, PASSED)


@each(MORE_LENIENT)
def test_skill_delta_alone_accepts(files: Files, exit_codes: ExitCodes) -> None:
    """Where only one thing can be meant, it is what is done."""
    assert exit_codes(files) == (PASSED, REFUSAL)


@each(NUMBERS)
def test_a_suite_of_skill_lens_runs_unchanged(files: Files, exit_codes: ExitCodes) -> None:
    """However its author wrote a number that skill-lens reads."""
    assert exit_codes(files) == (PASSED, PASSED)


@pytest.mark.parametrize(
    "flags",
    [
        ("--min-delta", "0"),
        ("--repeat", "0"),
        ("--concurrency", "0"),
        ("--runner", "nobody"),
        ("--evals", "nowhere"),
    ],
    ids=" ".join,
)
def test_both_refuse_a_flag(flags: tuple[str, str], exit_codes: ExitCodes) -> None:
    """A bar without a baseline would check nothing; the others cannot be done."""
    assert exit_codes(suite(PLAIN), *flags) == (REFUSAL, REFUSAL)


@pytest.mark.parametrize(
    ("path", "ending"),
    [("s/SKILL.md", PASSED), (".", PASSED), ("s/evals", FAILED), ("nowhere", REFUSAL)],
)
def test_both_find_skills_alike(path: str, ending: int, exit_codes: ExitCodes) -> None:
    """By their file or from above; a folder without any is never green."""
    assert exit_codes(suite(PLAIN), path=path) == (ending, ending)


def test_other_cases_may_be_named(exit_codes: ExitCodes) -> None:
    """In place of the skill's own, which fail."""
    own = with_fields("assertions: [{kind: contains, value: never}]")
    files = {**own, "elsewhere/b.yaml": PLAIN}

    assert exit_codes(files) == (FAILED, FAILED)
    assert exit_codes(files, "--evals", "elsewhere") == (PASSED, PASSED)
    assert exit_codes(files, "--evals", "elsewhere/b.yaml") == (PASSED, PASSED)


def test_a_bar_of_a_skill_that_is_not_there(
    exit_codes: ExitCodes, skill_delta: CommandLine
) -> None:
    """The config's are left to the runs that have the skill, a flag's is refused.

    skill-lens, which knows it from the config alone, fails the gate by it.
    """
    bars = {
        "skill-delta.yml": "per-skill-min: {unheard-of: 0.5}\n",
        "skill-lens.toml": "[per_skill_min]\nunheard-of = 0.5\n",
    }
    assert exit_codes({**suite(PLAIN), **bars}) == (PASSED, FAILED)

    flag = ("--per-skill-min", "unheard-of=0.5")
    scripted = ("--runner", "scripted", "--replies", "replies.yaml")
    assert skill_delta("run", "s", *scripted, *flag).exit_code == REFUSAL
