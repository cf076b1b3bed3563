"""Working folders, sessions and their tools in a native eval file."""

from __future__ import annotations

import pytest

from skill_delta.core.suite import (
    FailingReturn,
    LookupEntry,
    LookupReturn,
    offered_name_collision,
    undeclared_tools,
)
from skill_delta.core.workspace import RESERVED_TOOLS, WorkspaceSeed
from source_files import problems_of, suite_of

HEAD = "cases:\n  - name: x\n"


def a_case(fields: str, task: str = "task: t") -> str:
    """An eval file of one case with these further fields, from line 4 on."""
    lines = "".join(f"    {line}\n" for line in (task, *fields.splitlines()))
    return f"{HEAD}{lines}"


def test_a_folder_begins_with_the_files_that_are_named() -> None:
    """By their plain paths; an empty one is a folder too, and none is none."""
    (case,) = suite_of(a_case('workspace: {files: {./sales.csv: "a,b\\n", in/x: y}}')).cases
    (empty,) = suite_of(a_case("workspace: {}")).cases
    (none,) = suite_of(a_case("workspace:")).cases

    assert case.workspace == WorkspaceSeed({"sales.csv": "a,b\n", "in/x": "y"})
    assert (empty.workspace, none.workspace) == (WorkspaceSeed({}), None)
    assert case.fingerprint != empty.fingerprint != none.fingerprint


def test_sessions_are_asked_one_after_another() -> None:
    """Whoever shows the task shows all of them."""
    (case,) = suite_of(a_case("workspace: {}", "sessions: [plan it, do it]")).cases

    assert case.sessions == case.tasks == ("plan it", "do it")
    assert case.task == "Session 1 of 2: plan it\n\nSession 2 of 2: do it"


def test_a_case_of_one_task_is_what_it_was() -> None:
    """A case without sessions has one."""
    (case,) = suite_of(a_case("")).cases

    assert (case.tasks, case.sessions) == (("t",), ())


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (
            "workspace: {files: {../a: b}}",
            '4: cases[0].workspace.files.../a: the path "../a" holds',
        ),
        ("workspace: {files: {/a: b}}", "absolute"),
        ("workspace: {files: {a: b, a/c: d}}", "a file and a folder"),
        ("workspace: {files: {a: 5}}", "the number 5 stands where text is wanted"),
        ("workspace: {files: [a]}", "a list stands where a mapping is wanted"),
        ("workspace: {fils: {}}", "did you mean files?"),
        ("workspace: true", "true stands where a mapping is wanted"),
        (
            "assertions: [{kind: contains, value: a, file: b}]",
            "assertions[0].file: the case has no working folder to look into\n  help: add `work",
        ),
        (
            "assertions: [{kind: file-produced, file_glob: '*'}]",
            "assertions[0].file_glob: the case",
        ),
        (
            "workspace: {}\nassertions: [{kind: contains, value: a, file_glob: '**'}]",
            "5: cases[0].assertions[0].file_glob: the pattern",
        ),
        (
            "workspace: {}\nassertions: [{kind: contains, value: a, file_glob: 5}]",
            "assertions[0].file_glob: the number 5 stands where a list is wanted",
        ),
        (
            "workspace: {files: {a.md: x}}\nassertions: [{kind: file-produced, file_glob: '*.md'}]",
            'it matches "a.md", which is there from the beginning',
        ),
        ("sessions: [a, b]", "the case has task and sessions; it takes one of them"),
        ("tools: [{name: a, error: b, returns: c}]", "returns and error; it takes one of them"),
        ("tools: [{name: a, delay_ms: -1}]", "the number -1 is less than 0"),
        ("tools: [{name: a, delay_ms: 60001}]", "the number 60001 is more than 60000"),
        ("tools: [{name: a, returns: [{when: {b: c}}]}]", "exactly one of value and error"),
        ("tools: [{name: a, returns: [{value: b, error: c}]}]", "exactly one of value and error"),
        ("assertions: [{kind: json-path, path: a}]", "assertions[0].path: the path"),
    ],
)
def test_a_slip_is_told_with_its_place(fields: str, problem: str) -> None:
    """Before anything is spent."""
    assert problem in "\n".join(problems_of(a_case(fields)))


@pytest.mark.parametrize(
    ("sessions", "problem"),
    [
        ("sessions: [a]", "3: cases[0].sessions: a case has two sessions or more\n  help: write"),
        ("sessions: []", "a case has two sessions or more"),
        ("sessions: [a, ' ']", "sessions[1]: it is blank"),
        ("sessions: a", "a list is wanted"),
        ("sessions:", "task: this field is missing"),
        ("sessions: [a, b]", "sessions have nothing in common without a working folder"),
    ],
)
def test_sessions_that_are_none_are_refused(sessions: str, problem: str) -> None:
    """One is a task; without a folder they are two cases."""
    fields = "" if "common" in problem else "workspace: {}"

    assert problem in "\n".join(problems_of(a_case(fields, sessions)))


@pytest.mark.parametrize("name", RESERVED_TOOLS)
def test_the_folders_own_tools_cannot_be_mocked(name: str) -> None:
    """The model could not tell the two apart. Without a folder the name is free, as it was."""
    tool = f"tools: [{{name: {name}}}]"

    (told,) = problems_of(a_case(f"{tool}\nworkspace: {{}}"))

    assert f"{name} is a tool that comes with the working folder" in told
    assert not problems_of(a_case(tool))


def test_a_skill_cannot_be_offered_under_one_of_their_names() -> None:
    """Reaching for it could not be told from reading a file."""
    (case,) = suite_of(a_case("mode: offered\nworkspace: {}")).cases

    assert "read_file" in str(offered_name_collision(case, "read-file"))
    assert offered_name_collision(case, "reader") is None


def test_the_folders_own_tools_may_be_watched() -> None:
    """They are declared by the folder."""
    watching = "trajectory: {called: [read_file], forbidden: [run_script]}"
    (case,) = suite_of(a_case(f"workspace: {{}}\n{watching}")).cases
    (bare,) = suite_of(a_case(watching)).cases

    assert undeclared_tools(case) == ()
    assert len(undeclared_tools(bare)) == 2


def test_a_tool_may_fail() -> None:
    """Always, or for some arguments; slowly if need be."""
    failing = "{name: a, error: HTTP 503, delay_ms: 250}"
    returns = "[{when: {id: x}, error: gone}, {value: found}]"
    sometimes = f"{{name: b, returns: {returns}, parameters: {{id: string}}}}"
    (case,) = suite_of(a_case(f"tools: [{failing}, {sometimes}]")).cases
    always, some = case.tools

    assert (always.returns, always.delay_ms) == (FailingReturn("HTTP 503"), 250)
    assert always.returns.answer("a", {}, 0) == "Error: HTTP 503"
    assert some.returns == LookupReturn(
        (LookupEntry({"id": "x"}, "gone", fails=True), LookupEntry(None, "found"))
    )
    assert some.returns.answer("b", {"id": "x"}, 0) == "Error: gone"
    assert some.returns.answer("b", {"id": "y"}, 0) == "found"


def test_a_file_that_is_there_from_the_beginning_is_noted() -> None:
    """As something that can never fail; skill-lens runs it, so it is no error."""
    checked = "assertions: [{kind: file-produced, file: a.md}]"

    (note,) = suite_of(a_case(f"workspace: {{files: {{a.md: x}}}}\n{checked}")).notes

    assert note.endswith("file-produced[0] asks for a file that is there from the beginning")
