"""Tool libraries: mock tools declared once and referred to."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.suite import Suite
from skill_delta.errors import UserErrors
from skill_delta.formats import read_suite
from skill_delta.formats.tool_libraries import relative_to
from source_files import SKILL, InMemoryFiles, problems_of, suite_of, without_columns

ORDERS = """\
tools:
  - name: lookup
    description: Look up an order
    parameters: {id: string}
    returns: not found
  - name: refund
"""
IMPORTS = "tool_libraries: [../../shared/orders.yaml]\n"
ONE_REF = "cases: [{name: x, task: t, tools: [{ref: lookup}]}]\n"


def read_with(evals: str, **libraries: str) -> Suite:
    """The suite of an eval file beside a folder `shared` with these libraries."""
    files = {f"skills/shared/{name}.yaml": text for name, text in libraries.items()}
    suite = read_suite(
        "order-support", InMemoryFiles({**files, "skills/order-support/evals/a.yaml": evals}), SKILL
    )
    assert suite is not None
    return suite


def problems_with(evals: str, **libraries: str) -> list[str]:
    try:
        read_with(evals, **libraries)
    except UserErrors as errors:
        return [
            without_columns(str(error)).replace("skills/order-support/", "")
            for error in errors.errors
        ]
    return []


def test_a_reference_is_the_librarys_tool() -> None:
    """Its name, description, arguments and answer."""
    (case,) = read_with(IMPORTS + ONE_REF, orders=ORDERS).cases
    (tool,) = case.tools

    assert (tool.name, tool.description) == ("lookup", "Look up an order")
    assert tool.input_schema["required"] == ["id"]
    assert tool.returns.answer("lookup", {}, 0) == "not found"


def test_the_case_says_what_its_tool_answers() -> None:
    """In any of the three shapes, checked against the library's arguments."""
    mine = ONE_REF.replace("lookup}", "lookup, returns: [{when: {id: '1'}, value: late}]}")
    wrong = ONE_REF.replace("lookup}", "lookup, returns: [{when: {no: '1'}, value: late}]}")

    (case,) = read_with(IMPORTS + mine, orders=ORDERS).cases
    (told,) = problems_with(IMPORTS + wrong, orders=ORDERS)

    assert case.tools[0].returns.answer("lookup", {"id": "1"}, 0) == "late"
    assert "evals/a.yaml:2: cases[0].tools[0].returns[0].when.no: no call can carry" in told


def test_an_empty_answer_of_the_cases_own_is_an_answer() -> None:
    """It takes the place of the library's."""
    mine = ONE_REF.replace("lookup}", "lookup, returns: ''}")

    (case,) = read_with(IMPORTS + mine, orders=ORDERS).cases

    assert case.tools[0].returns.answer("lookup", {}, 0) == ""


def test_references_and_own_tools_stand_side_by_side() -> None:
    """In the order in which they are written."""
    text = "cases: [{name: x, task: t, tools: [{name: mine}, {ref: refund}, {ref: lookup}]}]"

    (case,) = read_with(IMPORTS + text, orders=ORDERS).cases

    assert [tool.name for tool in case.tools] == ["mine", "refund", "lookup"]


def test_a_folder_stands_for_every_yaml_file_in_it() -> None:
    """Its other files are left alone."""
    files = InMemoryFiles(
        {
            "skills/order-support/evals/a.yaml": "tool_libraries: [../../shared]\n" + ONE_REF,
            "skills/shared/orders.yaml": ORDERS,
            "skills/shared/more.yml": "tools: [{name: more}]",
            "skills/shared/README.md": "# Tools",
            "skills/shared/deeper/x.yaml": "not: [a, library",
        }
    )

    suite = read_suite("order-support", files, SKILL)

    assert suite is not None
    assert suite.cases[0].tools[0].name == "lookup"


@pytest.mark.parametrize(
    ("evals", "problem"),
    [
        (
            IMPORTS + ONE_REF.replace("lookup", "lokup"),
            'tools[0].ref: no imported library declares the tool "lokup"\n  help: did you mean ',
        ),
        (ONE_REF, "help: import its file with `tool_libraries:`"),
        (
            IMPORTS + ONE_REF.replace("lookup}", "lookup, description: mine}"),
            "cannot stand beside ref\n  help: the library declares it at skills/shared/orders.ya",
        ),
        (IMPORTS.replace("orders", "order") + ONE_REF, "library skills/shared/order.yaml: "),
        ("tool_libraries: [/etc/tools.yaml]\ncases: []", '"/etc/tools.yaml" is absolute or leads'),
        ("tool_libraries: [../../../../x.yaml]\ncases: []", "or leads out of the files"),
        ("tool_libraries: ['C:x.yaml']\ncases: []", '"C:x.yaml" is absolute or leads out'),
        ("tool_libraries: ['..\\..\\x.yaml']\ncases: []", "is absolute or leads out"),
        ("tool_libraries: [5]\ncases: []", "tool_libraries[0]: it is no path"),
        ("tool_libraries: ['']\ncases: []", "tool_libraries[0]: it is no path"),
        ("tool_libraries: x.yaml\ncases: []", "tool_libraries: it is no list"),
        (
            "tool_libraries:\n- ../../shared/orders.yaml\n- ../../shared/./orders.yaml\ncases: []",
            "tool_libraries[1]: skills/shared/orders.yaml is already imported at evals/a.yaml:2",
        ),
        ("tool_libraries: [../../shared, ../../shared/orders.yaml]\ncases: []", "already imported"),
    ],
)
def test_what_cannot_be_imported_is_told_with_both_places(evals: str, problem: str) -> None:
    """The file to fix, and the file that it quarrels with."""
    assert problem in "\n".join(problems_with(evals, orders=ORDERS))


@pytest.mark.parametrize("entry", ["../../shared/order.yaml", "../../../../orders.yaml"])
def test_a_library_that_was_not_copied_along_is_the_one_thing_told(entry: str) -> None:
    """Every tool of it is missing too, which says nothing more."""
    (told,) = problems_with(f"tool_libraries: [{entry}]\n{ONE_REF}")

    assert "tool_libraries[0]" in told
    assert "a copy of the file needs its libraries copied along" in told


@pytest.mark.parametrize(
    ("library", "problem"),
    [
        ("tools: [{name: lookup, paramters: {}}]", "did you mean parameters?"),
        ("tools: [{name: a b}]", "skills/shared/orders.yaml:1: tools[0].name: the text"),
        ("tools: [{name: b, ref: a}]", 'tools[0].ref: there is no field "ref" here'),
        ("tools: [{name: a}, {name: a}]", "the tool a is already declared at skills/shared/ord"),
        ("tools: [{name: a, returns: []}]", "tools[0].returns: it is neither one text"),
        ("tools: [{name: a, returns: [{value: a}, {value: b}]}]", "returns[1]: it never answers"),
        ("tools: [{name: a, input_schema: {}}]", "its top level is not of type object"),
        ("tools: [{name: a, description: TODO(skill-lens)}]", "a placeholder is still to be"),
        ("tools: {name: a}", "a tool library has one top-level list, `tools`"),
        ("[]", "a tool library has one top-level list, `tools`"),
        ("", "a tool library has one top-level list, `tools`"),
        ("tools: []\ncases: []", "2: cases: a tool library has nothing beside `tools`"),
        ("tools: [", "skills/shared/orders.yaml:2"),
    ],
)
def test_what_is_wrong_within_a_library_is_told_at_its_own_place(
    library: str, problem: str
) -> None:
    """That is the file to fix; that its tools are missing then goes without saying."""
    (told,) = problems_with(IMPORTS + ONE_REF, orders=library)

    assert problem in told


def test_a_name_that_two_libraries_declare_means_neither() -> None:
    """The error names both."""
    (told,) = problems_with(
        "tool_libraries: [../../shared]\ncases: []", a="tools: [{name: x}]", b="tools: [{name: x}]"
    )

    assert told == (
        "skills/shared/b.yaml:1: tools[0]: the tool x is already declared at "
        "skills/shared/a.yaml:1: tools[0]\n  help: a ref can mean only one of them"
    )


def test_a_library_that_many_eval_files_import_is_told_of_once() -> None:
    """One slip, one error."""
    imports = "tool_libraries: [lib.yaml]\n"

    told = problems_of(
        imports + ONE_REF, lib="tools: [{nam: x}]", b=imports + ONE_REF.replace("x", "y")
    )

    assert len(told) == 2  # the field that is there, and the one that is missing


def test_the_number_of_libraries_is_bounded() -> None:
    """A pull request cannot make the run read the whole repository."""
    many = {f"lib{i}": "tools: []" for i in range(101)}

    (told,) = problems_with("tool_libraries: [../../shared]\ncases: []", **many)

    assert "more than 100 library files are imported" in told


@given(st.lists(st.sampled_from(["..", ".", "a", "b.yaml", "", "/"]), max_size=8).map("/".join))
def test_a_library_is_never_looked_for_outside(entry: str) -> None:
    """However a path is spelled, it stays below the root or is refused."""
    path = relative_to(PurePosixPath("skills/x"), entry)

    assert path is None or (not path.is_absolute() and ".." not in path.parts)


def test_a_library_beside_its_eval_file_is_no_eval_file() -> None:
    """It is named in a note, and imported all the same."""
    suite = suite_of("tool_libraries: [lib.yaml]\n" + ONE_REF, lib=ORDERS)

    assert suite.cases[0].tools[0].name == "lookup"
    assert "skills/order-support/evals/lib.yaml is not an eval file" in suite.notes
