"""Eval files and SKILL.md files, by what is the matter with them."""

from __future__ import annotations

from collections.abc import Mapping

Files = Mapping[str, str | bytes]
"""By path within the repository. The skill is `s`; its SKILL.md is a plain one unless named."""

EVALS = "s/evals/a.yaml"
PLAIN = "cases:\n  - name: a\n    task: t\n"
SKILL = "---\nname: s\ndescription: Helps.\n---\n\nBe kind.\n"


def suite(text: str, **more: str) -> Files:
    """An eval file, and files beside it by their names without `.yaml`."""
    return {EVALS: text, **{f"s/{name}.yaml": content for name, content in more.items()}}


def with_fields(*fields: str) -> Files:
    """One case with these fields beside its name and task."""
    return suite(PLAIN + "".join(f"    {field}\n" for field in fields))


def with_tool(tool: str, *fields: str) -> Files:
    """One case with this mock tool, and these fields."""
    return with_fields(f"tools: [{{name: x, {tool}}}]", *fields)


def in_folder(check: str) -> Files:
    """One case with a working folder and this check."""
    return with_fields("workspace: {}", f"assertions: [{{{check}}}]")


def sessions(tasks: str, *fields: str) -> Files:
    """One case of several tasks, and these fields."""
    lines = (f"sessions: {tasks}", *fields)
    return suite("cases:\n  - name: a\n" + "".join(f"    {line}\n" for line in lines))


def skill(text: str | bytes) -> Files:
    """A plain case for this SKILL.md."""
    return {EVALS: PLAIN, "s/SKILL.md": text}


def declaring(version: str) -> Files:
    """A skill whose frontmatter says this of its version."""
    return skill(SKILL.replace("---\n\n", f"version: {version}\n---\n\n"))


IMPORTING = "tool_libraries: [../lib.yaml]\n" + PLAIN
ONE_OF_A = "parameters: {a: string}"
CLOSED = (
    "input_schema: {type: object, properties: {a: {type: string}}, additionalProperties: false}"
)

REFUSED: Mapping[str, Files] = {
    "a kind that there is not": with_fields("assertions: [{kind: contain, value: x}]"),
    "an assertion without a kind": with_fields("assertions: [{value: x}]"),
    "contains without a value": with_fields("assertions: [{kind: contains}]"),
    "json-schema with a value": with_fields(
        "assertions: [{kind: json-schema, value: x, json_schema: {}}]"
    ),
    "a value that is a number": with_fields("assertions: [{kind: contains, value: 12}]"),
    "a regex that is none": with_fields("assertions: [{kind: regex, value: '('}]"),
    "a schema that is none": with_fields(
        "assertions: [{kind: json-schema, json_schema: {type: nope}}]"
    ),
    "called names an undeclared tool": with_fields("trajectory: {called: [x]}"),
    "forbidden names an undeclared tool": with_fields("trajectory: {forbidden: [x]}"),
    "order names an undeclared tool": with_tool("returns: a", "trajectory: {order: [x, y]}"),
    "call_args names an undeclared tool": with_fields(
        "trajectory: {call_args: [{tool: x, contains: {a: 1}}]}"
    ),
    "call_args with contains and equals": with_tool(
        "returns: a", "trajectory: {call_args: [{tool: x, contains: {a: 1}, equals: {a: 1}}]}"
    ),
    "call_args with neither": with_tool("returns: a", "trajectory: {call_args: [{tool: x}]}"),
    "call_args with nothing to contain": with_tool(
        "returns: a", "trajectory: {call_args: [{tool: x, contains: {}}]}"
    ),
    "a loaded skill that should be triggered": with_fields("trajectory: {skill_triggered: true}"),
    "a mode that there is not": with_fields("mode: offer"),
    "a tool with the offered skill's name": with_fields("mode: offered", "tools: [{name: s}]"),
    "a tool declared twice": with_fields("tools: [{name: x}, {name: x}]"),
    "a tool whose name no provider takes": with_fields("tools: [{name: look up}]"),
    "a tool with both kinds of schema": with_tool(f"{ONE_OF_A}, input_schema: {{type: object}}"),
    "a tool whose arguments are no object": with_tool("input_schema: {type: string}"),
    "a tool whose schema is none": with_tool("input_schema: {type: objekt}"),
    "a parameter of a type that there is not": with_tool("parameters: {a: array}"),
    "no answer": with_tool("returns: []"),
    "answers of two sorts": with_tool("returns: [a, {value: b}]"),
    "an answer that is a number": with_tool("returns: 3"),
    "an answer below the fallback": with_tool(
        f"{ONE_OF_A}, returns: [{{value: b}}, {{when: {{a: x}}, value: c}}]"
    ),
    "an answer that an earlier one gives": with_tool(
        "parameters: {a: string, b: string}, "
        "returns: [{when: {a: x}, value: b}, {when: {a: x, b: y}, value: c}]"
    ),
    "an answer to an argument of no call": with_tool(
        f"{ONE_OF_A}, returns: [{{when: {{z: x}}, value: b}}]"
    ),
    "an answer to an argument of no call, by schema": with_tool(
        f"{CLOSED}, returns: [{{when: {{z: x}}, value: b}}]"
    ),
    "an answer to no argument": with_tool(f"{ONE_OF_A}, returns: [{{when: {{}}, value: b}}]"),
    "a ref without a library": with_fields("tools: [{ref: x}]"),
    "a library that is not there": suite(IMPORTING),
    "a library that is not in a list": suite(
        IMPORTING.replace("[../lib.yaml]", "../lib.yaml"), lib="tools: [{name: x}]\n"
    ),
    "a library that declares a tool twice": suite(
        IMPORTING + "    tools: [{ref: x}]\n", lib="tools: [{name: x}, {name: x}]\n"
    ),
    "two libraries that declare one tool": suite(
        IMPORTING.replace("]", ", ../more.yaml]") + "    tools: [{ref: x}]\n",
        lib="tools: [{name: x}]\n",
        more="tools: [{name: x}]\n",
    ),
    "a library with a key of its own": suite(IMPORTING, lib="tools: [{name: x}]\nnote: hi\n"),
    "a ref that declares": suite(
        IMPORTING + "    tools: [{ref: x, description: d}]\n", lib="tools: [{name: x}]\n"
    ),
    "a judge without a rubric": with_fields("judge: {expected: a}"),
    "a rubric without a line": with_fields("judge: {rubric: []}"),
    "a rubric with a blank line": with_fields("judge: {rubric: ['It helps.', ' ']}"),
    "a rubric that is a text": with_fields("judge: {rubric: It helps.}"),
    "a judge with a field that there is not": with_fields("judge: {rubric: [a], rubrics: [b]}"),
    "a seeded path that leads out": with_fields("workspace: {files: {../a: b}}"),
    "a seeded path that is absolute": with_fields("workspace: {files: {/a: b}}"),
    "a seeded path that is empty": with_fields("workspace: {files: {'': b}}"),
    "a seeded file that is a number": with_fields("workspace: {files: {a: 5}}"),
    "a field of the workspace that there is not": with_fields("workspace: {file: {}}"),
    "a file without a workspace": with_fields("assertions: [{kind: contains, value: x, file: a}]"),
    "a file that leads out": in_folder("kind: contains, value: x, file: ../a"),
    "a file and a pattern": in_folder("kind: contains, value: x, file: a, file_glob: '*'"),
    "file-produced without a file": in_folder("kind: file-produced"),
    "file-produced with a value": in_folder("kind: file-produced, file: a, value: x"),
    "a pattern of any depth": in_folder("kind: contains, value: x, file_glob: '**/a'"),
    "a pattern without a wildcard": in_folder("kind: contains, value: x, file_glob: a"),
    "a pattern that leads out": in_folder("kind: contains, value: x, file_glob: '../*'"),
    "a pattern of a folder": in_folder("kind: contains, value: x, file_glob: 'a*/'"),
    "a pattern whose set is not closed": in_folder("kind: contains, value: x, file_glob: 'a[1'"),
    "a list of one pattern": in_folder("kind: contains, value: x, file_glob: ['*']"),
    "a list of the same patterns": in_folder("kind: contains, value: x, file_glob: ['*', '*']"),
    "a produced file that is seeded": with_fields(
        "workspace: {files: {a.md: x}}", "assertions: [{kind: file-produced, file_glob: '*.md'}]"
    ),
    "a mock of the folder's own tool": with_fields("tools: [{name: read_file}]", "workspace: {}"),
    "a mock of the bundle's own tool": with_fields("tools: [{name: run_script}]", "workspace: {}"),
    "one session": sessions("[t]", "workspace: {}"),
    "a blank session": sessions("[t, ' ']", "workspace: {}"),
    "sessions without a workspace": sessions("[t, u]"),
    "sessions and a task": with_fields("sessions: [t, u]", "workspace: {}"),
    "no name": suite("cases:\n  - task: t\n"),
    "a name that is a number": suite("cases:\n  - name: 1\n    task: t\n"),
    "no task": suite("cases:\n  - name: a\n"),
    "a field that there is not": with_fields("assertion: []"),
    "a list that is null": with_fields("assertions:"),
    "a list that is a text": with_fields("tags: smoke"),
    "cases that are no list": suite("cases: {}\n"),
    "a slip in the key `cases`": suite(PLAIN.replace("cases:", "case:")),
    "a placeholder": with_fields("assertions: [{kind: contains, value: 'TODO(skill-lens)'}]"),
    "no YAML": suite("cases: [\n"),
    "two documents": suite(f"{PLAIN}---\n{PLAIN}"),
    "a version that is a decimal": declaring("1.20"),
    "a version that is a whole number": declaring("2"),
    "a version that is a date": declaring("2024-01-01"),
    "a version that is a list": declaring("[1]"),
    "a frontmatter that is a list": skill("---\n- a\n---\nBe kind.\n"),
    "a frontmatter that is no YAML": skill("---\nname: [\n---\nBe kind.\n"),
    "a SKILL.md that is not UTF-8": skill(b"---\nname: s\ndescription: \xe9\n---\nBe kind.\n"),
}
"""What neither tool runs: exit 2, before anything is spent."""

ACCEPTED: Mapping[str, Files] = {
    "nothing but a name and a task": suite(PLAIN),
    "a top-level key of someone else": suite(f"notes: mine\n{PLAIN}"),
    "anchors": suite(
        "x: &mine\n  - {kind: contains, value: handled}\n"
        "cases:\n  - name: a\n    task: t\n    assertions: *mine\n"
    ),
    "merge keys": suite("cases:\n  - &a\n    name: a\n    task: t\n  - <<: *a\n    name: b\n"),
    "a byte-order mark": suite(f"\ufeff{PLAIN}"),
    "line ends of Windows": suite(PLAIN.replace("\n", "\r\n")),
    "blocks that are null": with_fields("trajectory:", "budget:", "judge:"),
    "blocks that are empty": with_fields("trajectory: {}", "budget: {}", "assertions: []"),
    "a value that is empty": with_fields("assertions: [{kind: contains, value: ''}]"),
    "an answer whose `when` is null": with_tool("returns: [{when: , value: a}]"),
    "an open schema takes any argument": with_tool(
        "input_schema: {type: object}, returns: [{when: {z: x}, value: b}]"
    ),
    "an empty workspace": with_fields("workspace: {}"),
    "a workspace that is null": with_fields("workspace:"),
    "a seeded file that is looked into": with_fields(
        "workspace: {files: {in/a.md: x}}",
        "assertions: [{kind: contains, value: x, file: in/a.md},"
        " {kind: equals, value: x, file_glob: '*/*.md'}, {kind: file-produced, file: in/a.md},"
        " {kind: contains, value: x, file_glob: [b.md, '*/a.md']}]",
    ),
    "the folder's own tools in a trajectory": with_fields(
        "workspace: {}", "trajectory: {forbidden: [read_file, run_script]}"
    ),
    "a mock of the name without a workspace": with_fields("tools: [{name: read_file}]"),
    "a limit in whole dollars": with_fields("budget: {max_cost_usd: 1}"),
    "yes as a text": with_fields("assertions: [{kind: not_contains, value: yes}]"),
    "the extension yml": {"s/evals/a.yml": PLAIN},
    "a JSON fixture among the eval files": {EVALS: PLAIN, "s/evals/orders.json": "[1234]"},
    "a SKILL.md without a frontmatter": skill("Be kind.\n"),
    "a version of three parts": declaring("1.0.0"),
    "a version that says yes": declaring("yes"),
    "a version that is null": declaring(""),
    "a SKILL.md with line ends of Windows": skill(SKILL.replace("\n", "\r\n")),
    "a name that is a number, in a SKILL.md": skill(SKILL.replace("name: s", "name: 12")),
}
"""What both run, and pass."""

STRICTER: Mapping[str, Files] = {
    "a key twice": suite(f"{PLAIN}    task: u\n"),
    "a name twice": suite(f"{PLAIN}  - name: a\n    task: u\n"),
    "a blank task": suite("cases:\n  - name: a\n    task: ''\n"),
    "an empty SKILL.md": skill(""),
    "a frontmatter that is not closed": skill("---\nname: s\n"),
    "a key twice in the frontmatter": skill(SKILL.replace("name: s", "name: t\nname: s")),
}
"""What only skill-delta refuses: each hides a slip of its author's, or loses a result."""

MORE_LENIENT: Mapping[str, Files] = {
    "a name that looks like a date": suite("cases:\n  - name: 2024-01-01\n    task: t\n"),
    "half a millisecond": with_fields("budget: {max_latency_ms: 100.5}"),
    "a key that looks like a number": with_tool(
        "input_schema: {type: object}, returns: [{when: {1: a}, value: b}]"
    ),
    "a look-behind of any width": with_fields("assertions: [{kind: regex, value: '(?<=f.*)h'}]"),
    "a colon in the description": skill(SKILL.replace("Helps.", "Helps: a lot")),
    "a file among the eval files that is none": {EVALS: PLAIN, "s/evals/notes.yaml": "a: 1\n"},
}
"""What only skill-delta runs: nobody meant anything else by it."""

NUMBERS: Mapping[str, Files] = {
    "an exponent without a point": with_fields("budget: {max_cost_usd: 5e-05}"),
    "a whole number in quotes": with_fields("trajectory: {max_calls: '3'}"),
    "a whole number with a point": with_fields("budget: {max_tokens: 100.0}"),
}
"""Numbers that YAML 1.1 takes for a text or a fraction, and skill-lens for what they say."""
