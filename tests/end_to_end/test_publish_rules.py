"""By whose rules a published run is judged: never by those that its record brings."""

from __future__ import annotations

import pytest

from github_job import NUMBER
from read_only_run import CURT, KINDER, Lines, Measure


def test_the_rules_are_those_of_the_job_that_publishes(measured: Measure) -> None:
    """The run was asked for less: its request is not what decides."""
    scene = measured(CURT, min_delta="-1")

    assert scene.published().exit_code == 1
    assert scene.published(min_delta="-0.5").exit_code == 0


def test_the_base_branchs_config_is_the_judge(measured: Measure) -> None:
    """Read from GitHub, as nothing is checked out; an input wins over it."""
    scene = measured(CURT)
    files = scene.github.repository.git.files["main"]
    files[".github/skill-delta.yml"] = b"runner: scripted\nmin-delta: -0.5\nmax-cost: 5\n"

    assert scene.published(runner="").exit_code == 0
    assert scene.published(runner="", min_delta="0").exit_code == 1


def test_a_base_branch_may_have_any_name(measured: Measure) -> None:
    """GitHub is asked for it as one part of an address."""
    scene = measured(CURT)
    scene.github.repository.pull_requests[NUMBER].base_ref = "release/1.0 #2"
    files = scene.github.repository.git.files
    files["release/1.0 #2"] = {"skill-delta.yaml": b"min-delta: -0.5\n"}

    assert scene.published().exit_code == 0


def test_a_config_file_that_is_named_must_be_there(measured: Measure) -> None:
    """Else the defaults would judge without a word."""
    scene = measured(CURT)
    scene.github.repository.git.files["main"]["rules/strict.yml"] = b"min-delta: -0.5\n"

    assert scene.published(config="rules/strict.yml").exit_code == 0
    refused = scene.published(config="rules/lax.yml")
    assert refused.exit_code == 2
    assert "rules/lax.yml" in refused.log


def test_a_config_file_that_is_a_link_is_not_followed(measured: Measure) -> None:
    """As in a checkout."""
    scene = measured(CURT)
    git = scene.github.repository.git
    git.files["main"]["rules.yml"] = b"/etc/passwd"
    git.links.add("rules.yml")

    assert scene.published(config="rules.yml").exit_code == 2


def test_a_config_that_may_not_be_read_is_not_taken_for_none(measured: Measure) -> None:
    """The defaults may be easier than it."""
    scene = measured(KINDER)
    scene.github.permissions = {"contents": "none", "pull_requests": "write"}

    finished = scene.published()

    assert finished.exit_code == 2
    assert "contents: read" in finished.log


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"runner": "openai", "model": "gpt-5-mini"}, "without runner 'openai'"),
        ({"baseline": "previous\nbase"}, "was not compared with 'base'"),
    ],
)
def test_what_was_measured_otherwise_is_no_verdict(
    inputs: dict[str, str], said: str, measured: Measure
) -> None:
    """Another runner, or fewer comparisons, than the job asks for."""
    scene = measured(KINDER)

    finished = scene.published(**inputs)

    assert finished.exit_code == 2
    assert said in finished.log
    assert "not measured" in scene.comments[0].splitlines()[1]


def test_fewer_runs_than_are_asked_for_are_not_measured(measured: Measure) -> None:
    """Nothing unmeasured passes."""
    scene = measured(KINDER)

    finished = scene.published(repeat="5", status="commit")

    assert finished.exit_code == 3
    assert finished.outputs["verdict"] == "not measured"
    assert scene.statuses == ["failure"]


def test_a_new_skill_may_be_refused_here_too(measured: Measure) -> None:
    """Whatever the measuring run was asked for."""
    scene = measured(KINDER)

    def is_new(lines: Lines) -> None:
        lines[0]["changes"][0] |= {"kind": "added", "base_folder": None}

    scene.edit(is_new)

    finished = scene.published(new_skills="fail")

    assert finished.exit_code == 1
    assert "is new, and new-skills is fail" in finished.log


def test_a_pull_request_without_a_case_is_judged_as_in_the_run_itself(measured: Measure) -> None:
    """There was nothing to run, and that is named."""
    scene = measured(KINDER)

    def without_cases(lines: Lines) -> None:
        del lines[1:-1]
        skipped = [{"skill": "orders", "reason": "no eval cases"}]
        lines[0] |= {"subjects": [], "sources": [], "skipped": skipped}

    scene.edit(without_cases)

    assert scene.published().exit_code == 0
    assert "no eval cases" in scene.words
    assert scene.published(uncovered_skills="fail").exit_code == 1


def test_a_skill_without_cases_may_be_refused_here_too(measured: Measure) -> None:
    """The run only named it."""
    scene = measured(KINDER)
    uncovered = {
        "kind": "edited", "folder": "skills/x", "base_folder": "skills/x", "files": [],
    }  # fmt: skip
    scene.edit(lambda lines: lines[0]["changes"].append(uncovered))

    assert scene.published().exit_code == 0
    assert scene.published(uncovered_skills="fail").exit_code == 1


def test_an_input_that_nothing_reads_is_refused(measured: Measure) -> None:
    """A key above all: this job asks no model."""
    scene = measured(KINDER)

    finished = scene.published(api_key="sk-secret-0123456789", max_cost="5")

    assert finished.exit_code == 2
    assert "nothing reads the inputs api-key, max-cost" in finished.log
    assert not scene.github.exchanges[-1].operation.startswith("issues/create")
