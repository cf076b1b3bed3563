"""The native eval file: what its cases become, and what is wrong with them."""

from __future__ import annotations

import pytest

from skill_delta.core.checks.limits import MaxCostUsd
from skill_delta.core.checks.text import Contains, Equals
from skill_delta.core.checks.tools import CallArgs, Called
from skill_delta.core.documents import read_document
from skill_delta.core.suite import Case, Mode
from skill_delta.errors import Place
from skill_delta.formats import native
from source_files import SKILL, InMemoryFiles, places_of, problems_of, suite_of

FULL = """\
cases:
  - name: refuses a late refund
    task: |
      I want my money back.
    tags: [smoke, refund]
    mode: offered
    tools:
      - name: lookup
      - name: refund
    assertions:
      - kind: contains
        value: "1234"
      - {kind: regex, value: '^\\w+'}
      - {kind: any_of, values: [late, too late]}
    trajectory:
      called: [lookup, refund]
      forbidden: [refund]
      order: [lookup, refund]
      max_calls: 3
      skill_triggered: true
      call_args:
        - {tool: lookup, contains: {id: "1234"}}
        - {tool: lookup, equals: {}, every: true}
    budget:
      max_tokens: 2000
      max_cost_usd: 1
      max_latency_ms: 20000
"""


def a_case(fields: str) -> str:
    """An eval file of one case with these further fields, each on its own line from line 4 on."""
    indented = "".join(f"    {line}\n" for line in fields.splitlines())
    return f"cases:\n  - name: x\n    task: t\n{indented}"


def the_case(fields: str) -> Case:
    (case,) = suite_of(a_case(fields)).cases
    return case


def test_a_case_is_read_whole() -> None:
    """Every part of a case has its place."""
    (case,) = suite_of(FULL).cases

    assert case.name == "refuses a late refund"
    assert case.task == "I want my money back.\n"
    assert case.tags == {"smoke", "refund"}
    assert case.mode is Mode.OFFERED
    assert [tool.name for tool in case.tools] == ["lookup", "refund"]
    assert case.place == Place("skills/order-support/evals/a.yaml", 2, "cases[0]", 5)


def test_checks_have_stable_ids_in_a_stable_order() -> None:
    """The id comes from what the author wrote, so both arms have the same."""
    (case,) = suite_of(FULL).cases

    assert [check.id for check in case.checks] == [
        *("contains[0]", "regex[1]", "any_of[2]"),
        *("called:lookup", "called:refund", "forbidden:refund", "order", "max_calls"),
        *("skill_triggered", "call_args[0]", "call_args[1]"),
        *("max_tokens", "max_cost_usd", "max_latency_ms"),
    ]
    assert case.checks[3].spec == Called(tool="lookup")
    assert case.checks[9].spec == CallArgs(tool="lookup", contains={"id": "1234"})
    assert case.checks[12].spec == MaxCostUsd(limit=1.0)


def test_a_case_is_loaded_unless_it_says_otherwise() -> None:
    """The fields that may be left out have quiet defaults."""
    case = the_case("assertions: [{kind: contains, value: a}]")

    assert case.mode is Mode.LOADED
    assert (case.tools, case.tags) == ((), frozenset())


@pytest.mark.parametrize(
    ("environment", "disable_hooks"),
    [
        ("", False),
        ("environment: {}", False),
        ("environment: {disable_hooks: false}", False),
        ("environment: {disable_hooks: true}", True),
    ],
)
def test_a_suite_keeps_its_hooks_unless_it_says_otherwise(
    environment: str, disable_hooks: bool
) -> None:
    """A suite that leaves it out runs as before."""
    text = f"cases: [{{name: x, task: t}}]\n{environment}"

    suite = native.read(read_document(text.encode(), "a.yaml"), InMemoryFiles({}), SKILL / "a.yaml")

    assert suite.disable_hooks is disable_hooks


def test_what_means_nothing_is_as_if_left_out() -> None:
    """`budget:` with nothing under it limits nothing."""
    case = the_case("trajectory:\nbudget: {max_tokens: 5, max_cost_usd: null}")

    assert [check.id for check in case.checks] == ["max_tokens"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("nmae: y", '4: cases[0].nmae: there is no field "nmae" here\n  help: did you mean name?'),
        ("assertion: []", "did you mean assertions?"),
        ("name2: y", "did you mean name?"),
        (
            "colour: red",
            "it can be: name, task, sessions, tags, mode, tools, workspace, as",
        ),
        (
            "mode: offred",
            'the text "offred" is not one of its values\n  help: did you mean offered?',
        ),
        ("tags: smoke", 'the text "smoke" stands where a list is wanted'),
        (
            "tags: [2024]",
            "4: cases[0].tags[0]: the number 2024 stands where text is wanted\n  help: put it",
        ),
        ("tags: [true]", "true stands where text is wanted"),
        ("tags: ['']", "cases[0].tags[0]: it is blank"),
        ("assertions: 5", "the number 5 stands where a list is wanted"),
        (
            "assertions: [5]",
            "cases[0].assertions[0]: the number 5 stands where a mapping is wanted",
        ),
        ("assertions: [{value: a}]", "its kind is missing\n  help: the kinds are contains, not_"),
        (
            "assertions: [{kind: contians, value: a}]",
            'there is no kind "contians"\n  help: did you mean contains?',
        ),
        ("assertions: [{kind: llm-rubric}]", "it can be: contains, not_contains, icontains"),
        ("assertions: [{kind: contains}]", "cases[0].assertions[0].value: this field is missing"),
        ("assertions: [{kind: contains, value: 5}]", "assertions[0].value: the number 5 stands"),
        ("assertions: [{kind: contains, value: a, vaule: b}]", "assertions[0].vaule: there is no"),
        ("assertions: [{kind: regex, value: '('}]", "assertions[0].value: the regular expression"),
        ("assertions: [{kind: all_of, values: []}]", "assertions[0].values: it is empty"),
        ("assertions: [{kind: numeric, value: '5'}]", "write it without quotes"),
        ("assertions: [{kind: numeric, value: 5, tolerance: -1}]", "the number -1 is less than 0"),
        (
            "assertions: [{kind: json-schema, json_schema: {type: 5}}]",
            "assertions[0].json_schema: it is no valid JSON Schema at type",
        ),
        ("trajectory: {max_calls: -1}", "trajectory.max_calls: the number -1 is less than 0"),
        ("trajectory: {max_calls: 1.5}", "the number 1.5 stands where a whole number is wanted"),
        ("trajectory: {max_calls: true}", "true stands where a whole number is wanted"),
        ("trajectory: {called: lookup}", "write it as a list: [ … ]"),
        ("trajectory: {caled: [a]}", "did you mean called?"),
        ("trajectory: {skill_triggered: yes}", 'the text "yes" stands where true or false is'),
        (
            "trajectory: {skill_triggered: true}",
            "so there is nothing to trigger\n  help: add `mode: offered` to the case",
        ),
        ("trajectory: {call_args: [{tool: a}]}", "exactly one of contains and equals"),
        ("trajectory: {call_args: [{tool: a, contains: {}}]}", "an empty contains holds for every"),
        ("judge: {rubric: []}", "judge.rubric: it is empty"),
        ("judge: {}", "judge.rubric: this field is missing"),
        ("judge: {rubric: [' ']}", "judge.rubric[0]: it is blank"),
        ("judge: {rubric: a}", "write it as a list: [ … ]"),
        ("judge: {rubric: [a], expects: b}", "did you mean expected?"),
        ("budget: {max_tokens: -1}", "is less than 0"),
        ("budget: {max_cost: 1}", '"max_cost" here\n  help: it can be: max_tokens, max_cost_usd'),
    ],
)
def test_a_slip_is_an_error_that_says_where_and_what_to_do(fields: str, problem: str) -> None:
    """One problem, with its line, its field and a hint."""
    (told,) = problems_of(a_case(fields))

    assert problem in told


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ("judge: {rubric: [a], artifacts: [report.md]}", "artifacts"),
        ("assertions: [{kind: judge, rubric: [a]}]", "judge"),
    ],
)
def test_what_comes_later_is_said_and_not_ignored(fields: str, word: str) -> None:
    """A check that is left out quietly would be a pass that nobody verified."""
    (told,) = problems_of(a_case(fields))

    assert told.endswith(f"this version of skill-delta does not support {word} yet")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cases: {name: x}", "1: cases: it is no list\n  help: each case begins with `- name:`"),
        ("cases:", "1: cases: it is no list"),
        ("cases: [5]", "1: cases[0]: the number 5 stands where a mapping is wanted"),
        ("cases: [{}]", "1: cases[0].name: this field is missing"),
        ("cases: [{name: ' ', task: t}]", "1: cases[0].name: it is blank"),
        ("cases: [{name: x, task: ''}]", "1: cases[0].task: it is blank"),
        ("cases: [{name: x, task: null}]", "1: cases[0].task: this field is missing"),
        ("cases: []\ncase: []", "2: case: there is no top-level key"),
        ("cases: []\ntool_librarie: []", "2: tool_librarie: there is no top-level key"),
        ("cases: []\nenvironmnt: {}", "2: environmnt: there is no top-level key"),
        ("cases: []\nenvironment: 5", "2: environment: the number 5 stands where a mapping"),
        ("cases: []\nenvironment:", "2: environment: nothing stands where a mapping is wanted"),
        (
            "cases: []\nenvironment: {disable_hooks: yes}",
            '2: environment.disable_hooks: the text "yes" stands where true or false is wanted',
        ),
        (
            "cases: []\nenvironment:\n  disable_hook: true",
            'there is no field "disable_hook" here\n  help: did you mean disable_hooks',
        ),
        ("cases: [", "did not find expected node content"),
        ("cases: []\ncases: []", "2: cases: the key 'cases' was already given on line 1"),
        ("cases: [!!python/name:os.system x]", "could not determine a constructor"),
        ("cases: [{name: !mine x}]", "1: could not determine a constructor"),
    ],
)
def test_a_broken_file_is_told_with_its_line(text: str, problem: str) -> None:
    """Everything is read before the first trial."""
    assert problem in "\n".join(problems_of(text))


def test_all_problems_are_told_at_once() -> None:
    """One run is enough to see them all, in the order of the file."""
    told = problems_of(
        "cases:\n"
        "  - {name: 5, tsk: a, mode: b}\n"
        "  - {name: fine, task: a}\n"
        "  - {name: fine2, task: a, assertions: [{kind: regex, value: '('}]}\n"
        "  - {name: fine3, task: a, trajectory: {skill_triggered: true}}\n"
    )

    assert [line.split(": ")[1] for line in told] == [
        *("cases[0].task", "cases[0].name", "cases[0].mode", "cases[0].tsk"),
        *("cases[2].assertions[0].value", "cases[3].trajectory.skill_triggered"),
    ]


def test_endless_problems_are_counted() -> None:
    """A file of nothing but problems does not flood the log."""
    told = problems_of("cases: [" + "5, " * 1_000 + "]")

    assert len(told) == 51
    assert "and 950 more problems" in told[-1]


@pytest.mark.parametrize("mark", ["TODO(skill-lens)", "TODO(skill-delta)"])
def test_an_unfilled_scaffold_is_refused(mark: str) -> None:
    """In values and in keys; what else is wrong with it is not worth telling yet."""
    told = problems_of(
        f"cases:\n  - name: '{mark}: name it'\n    task: [a, {mark}]\n    '{mark}': 5\n"
    )

    assert told == [
        "2: cases[0].name: a placeholder is still to be filled in",
        "3: cases[0].task[1]: a placeholder is still to be filled in",
        f"4: cases[0].{mark}: a placeholder is still to be filled in",
    ]


def test_a_comment_may_speak_of_placeholders() -> None:
    """Only what is read counts."""
    assert suite_of("# TODO(skill-delta)\ncases: [{name: x, task: t}]").cases


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("cases: []", "it has no cases"),
        ("cases: [{name: x, task: t}]", 'the case "x" has no checks, so it can never fail'),
        ("cases: [{name: x, task: t, budget: {}}]", 'the case "x" has no checks'),
        (
            "cases: [{name: x, task: t, assertions: [{kind: contains, value: ''}]}]",
            'the case "x": the check contains[0] can never fail',
        ),
        (
            "cases: [{name: x, task: t, assertions: [{kind: not_contains, value: ''}]}]",
            'the case "x": the check not_contains[0] can never pass',
        ),
        (
            'cases: [{name: x, task: t, assertions: [{kind: equals, value: "42\\n"}]}]',
            'the case "x": the check equals[0] can never pass',
        ),
        (
            "cases: [{name: x, task: t, trajectory: {called: [a, a]}}]",
            'the case "x": called names a tool twice, which is checked once',
        ),
        (
            "owner: me\ncases: [{name: x, task: t, budget: {max_tokens: 1}}]",
            'the top-level key "owner" means nothing here and is not read',
        ),
    ],
)
def test_what_a_reader_should_know_is_a_note(text: str, note: str) -> None:
    """Nothing is ignored in silence, and nothing that skill-lens runs is refused."""
    (told,) = suite_of(text).notes

    assert told.startswith(f"skills/order-support/evals/a.yaml: {note}")


def test_a_tool_named_twice_is_checked_once() -> None:
    """Two checks of one id could not be told apart."""
    case = the_case("trajectory: {called: [a, b, a], forbidden: [c, c]}")

    assert [check.id for check in case.checks] == ["called:a", "called:b", "forbidden:c"]


def test_names_in_any_script_are_kept() -> None:
    """No slug is made of them."""
    (case,) = suite_of("cases: [{name: 返金を断る 🙅‍♀️, task: Grüße}]").cases

    assert (case.name, case.task) == ("返金を断る 🙅‍♀️", "Grüße")


def test_yes_and_no_are_text() -> None:
    """YAML 1.1 would have read them as booleans."""
    case = the_case("assertions: [{kind: contains, value: yes}, {kind: equals, value: off}]")

    assert [check.spec for check in case.checks] == [
        Contains(kind="contains", value="yes"),
        Equals(kind="equals", value="off"),
    ]


SLIPS = """\
cases:
  - name: x
    task: t
    assertions: [{kind: contains, value: a, vaule: b}, {kind: contians}]
    workspace: {files: {ok: a, ../no: b}}
    trajectory:
      called: [5]
      max_calls: -1
    tools: [{name: a b}, {ref: gone, returns: []}]
  - {name: y, task: t, colour: red}
  - name: z
"""


def test_every_problem_has_a_line_and_a_column() -> None:
    """An editor goes there by itself."""
    assert places_of(SLIPS) == [
        *((4, 45), (4, 56), (7, 16), (8, 7), (9, 14), (9, 38)),
        *((10, 24), (11, 5)),
    ]
