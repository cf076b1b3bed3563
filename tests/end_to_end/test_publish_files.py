"""A published record of cases with working folders: what a trial left there is judged anew."""

from __future__ import annotations

import pytest

from git_repositories import GitRepository
from read_only_run import CURT, KINDER, Lines, Measure, trials

CASES = """\
cases:
  - name: writes down the order
    task: Write down where order 1234 is.
    workspace: {}
    assertions:
      - {kind: contains, file: order.md, value: "1234"}
"""
REPLIES = """\
replies:
  - contains: Be curt
    text: Done.
    files: {order.md: "It was shipped."}
  - text: Done.
    files: {order.md: "Order 1234 was shipped."}
"""


@pytest.fixture
def of_files(repository: GitRepository, measured: Measure) -> Measure:
    """Measures pull requests to a skill whose case is about a file."""
    repository.commit(
        {"skills/orders/evals/orders.yaml": CASES, "skills/orders/evals/replies.yaml": REPLIES}
    )
    return measured


def all_checks_passed(lines: Lines) -> None:
    for line in trials(lines):
        for check in line["checks"]:
            check |= {"passed": True, "score": 1.0}


def no_text_was_kept(lines: Lines) -> None:
    for line in trials(lines):
        for file in line["transcript"]["files"]["files"]:
            file["text"] = None


def there_was_no_folder(lines: Lines) -> None:
    for line in trials(lines):
        line["transcript"]["files"] = None


def test_files_that_hold_what_is_asked_for_pass(of_files: Measure) -> None:
    """From the record alone: the folders are gone."""
    finished = of_files(KINDER).published()

    assert finished.outputs["pass-rate"] == "1"
    assert finished.outputs["delta"] == "0"


def test_a_file_is_judged_and_not_what_the_record_says_of_it(of_files: Measure) -> None:
    """Whatever the record says that its checks came to."""
    scene = of_files(CURT)
    scene.edit(all_checks_passed)

    finished = scene.published()

    assert finished.exit_code == 1
    assert finished.outputs["delta"] == "-1"


def test_files_whose_text_a_record_does_not_have_are_no_pass(of_files: Measure) -> None:
    """Nothing is known of what they held."""
    scene = of_files(KINDER)
    scene.edit(all_checks_passed)
    scene.edit(no_text_was_kept)

    finished = scene.published()

    assert finished.exit_code == 3
    assert finished.outputs["passed"] == "false"


def test_a_record_without_the_folder_has_no_file_in_it(of_files: Measure) -> None:
    """No check of a file holds where there is none, whatever the record says."""
    scene = of_files(KINDER)
    scene.edit(all_checks_passed)
    scene.edit(there_was_no_folder)

    assert scene.published().outputs["pass-rate"] == "0"


@pytest.mark.parametrize("size", [-1, 10**40])
def test_a_size_that_no_file_has_is_no_verdict(size: int, of_files: Measure) -> None:
    """A record may hold any number."""
    scene = of_files(KINDER)

    def resize(lines: Lines) -> None:
        trials(lines)[0]["transcript"]["files"]["files"][0]["size"] = size

    scene.edit(resize)

    assert scene.published().exit_code == 2
    assert "no file has so many bytes" in scene.words


def test_publishing_is_asked_for_no_scripts(of_files: Measure) -> None:
    """It runs nothing, and does not seem to."""
    finished = of_files(KINDER).published(allow_scripts="true")

    assert finished.exit_code == 2
    assert "nothing reads the input allow-scripts" in finished.log
