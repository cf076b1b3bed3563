"""What is read from a record is what was written: the very values, whatever they hold."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

import skill_delta
from builders import a_case, a_skill, a_trial, an_arm, unresolved
from ledger.records import a_run, a_subject, an_end, answered, lost, read, recorded, write
from skill_delta.core.changes import ChangeKind, SkillChange
from skill_delta.core.checks.base import CheckSpec
from skill_delta.core.checks.files import FileProduced
from skill_delta.core.checks.json_path import JsonPath
from skill_delta.core.checks.limits import MaxCostUsd, MaxLatencyMs, MaxTokens
from skill_delta.core.checks.rubric import RubricLine
from skill_delta.core.checks.structure import JsonSchema, Numeric
from skill_delta.core.checks.text import (
    AllOf,
    AnyOf,
    Contains,
    ContainsIgnoringCase,
    Equals,
    NotContains,
    NotRegex,
    Regex,
)
from skill_delta.core.checks.tools import (
    CallArgs,
    Called,
    Forbidden,
    MaxCalls,
    Order,
    SkillTriggered,
)
from skill_delta.core.judging import JudgedBy, Judging
from skill_delta.core.policy import Reason, Verdict
from skill_delta.core.report import BaselineSource, SkippedSkill
from skill_delta.core.skills import Bundle, BundleFile
from skill_delta.core.suite import (
    Check,
    FailingReturn,
    FixedReturn,
    LookupEntry,
    LookupReturn,
    MockTool,
    Mode,
    SequenceReturn,
)
from skill_delta.core.suite_changes import CaseChange, CaseChangeKind, CasePart
from skill_delta.core.transcript import ToolCall, Transcript, Usage
from skill_delta.core.trials import Arm, CheckResult, Errored, Outcome, Role, Scored, Subject
from skill_delta.core.workspace import WorkspaceFile, WorkspaceFiles, WorkspaceSeed
from skill_delta.errors import Place
from skill_delta.ledger.document import (
    MOST_BYTES,
    MOST_DOLLARS,
    MOST_MILLISECONDS,
    MOST_TOKENS,
    TrialKey,
)

NOWHERE = PurePosixPath()

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
floats = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | texts | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
costs = st.floats(0, MOST_DOLLARS)
counts = st.integers(0, MOST_TOKENS)
objects = st.dictionaries(texts, values, max_size=3)
some_names = st.lists(names, min_size=1, max_size=3).map(tuple)

SCHEMAS: list[dict[str, JsonValue]] = [
    {},
    {"type": "object", "required": ["a"]},
    {"enum": [1, 1.5, None]},
]

NO_VALUE = JsonPath(kind="json-path", path="$.a['b'][-1]")

KINDS: Mapping[type[CheckSpec], st.SearchStrategy[CheckSpec]] = {
    Contains: st.builds(
        Contains,
        kind=st.just("contains"),
        value=texts,
        file_glob=st.none() | st.just("*.md") | st.just(("plan.md", "*/plan.md")),
    ),
    FileProduced: st.builds(
        FileProduced, kind=st.just("file-produced"), file=st.sampled_from(["a.md", "b/c d.csv"])
    ),
    JsonPath: st.builds(JsonPath, kind=st.just("json-path"), path=st.just("$.a"), value=values)
    | st.just(NO_VALUE),
    NotContains: st.builds(NotContains, kind=st.just("not_contains"), value=texts),
    ContainsIgnoringCase: st.builds(ContainsIgnoringCase, kind=st.just("icontains"), value=texts),
    Regex: st.builds(Regex, kind=st.just("regex"), value=st.sampled_from(["", "a+b?", r"\d{3}"])),
    NotRegex: st.builds(NotRegex, kind=st.just("not_regex"), value=st.sampled_from(["^$", "x|y"])),
    Equals: st.builds(Equals, kind=st.just("equals"), value=texts),
    AnyOf: st.builds(AnyOf, kind=st.just("any_of"), values=some_names),
    AllOf: st.builds(AllOf, kind=st.just("all_of"), values=some_names),
    JsonSchema: st.builds(
        JsonSchema, kind=st.just("json-schema"), json_schema=st.sampled_from(SCHEMAS)
    ),
    Numeric: st.builds(
        Numeric, kind=st.just("numeric"), value=st.integers() | floats, tolerance=floats
    ),
    MaxTokens: st.builds(MaxTokens, limit=st.integers(min_value=0)),
    MaxCostUsd: st.builds(MaxCostUsd, limit=floats),
    MaxLatencyMs: st.builds(MaxLatencyMs, limit=floats),
    Called: st.builds(Called, tool=names),
    Forbidden: st.builds(Forbidden, tool=names),
    Order: st.builds(Order, tools=some_names),
    MaxCalls: st.builds(MaxCalls, limit=st.integers(min_value=0)),
    SkillTriggered: st.builds(SkillTriggered, expected=st.booleans()),
    RubricLine: st.builds(
        RubricLine, line=names.filter(lambda line: bool(line.strip())), expected=texts
    ),
    CallArgs: st.builds(CallArgs, tool=names, equals=objects, every=st.booleans()),
}
"""How each kind of check may be written."""

returns = (
    st.builds(FixedReturn, texts)
    | st.builds(SequenceReturn, st.lists(texts, min_size=1, max_size=3).map(tuple))
    | st.builds(
        LookupReturn,
        st.lists(st.builds(LookupEntry, st.none() | objects, texts, st.booleans()), max_size=3).map(
            tuple
        ),
    )
    | st.builds(FailingReturn, texts)
)
tools = st.lists(st.builds(MockTool, names, texts, objects, returns, floats), max_size=2).map(tuple)
left_files = st.builds(
    WorkspaceFile, names, st.integers(0, MOST_BYTES), st.none() | texts, texts, st.booleans()
)
seeds = st.none() | st.builds(WorkspaceSeed, st.dictionaries(names, texts, max_size=2))
transcripts = st.builds(
    Transcript,
    answer=texts,
    tool_calls=st.lists(st.builds(ToolCall, texts, objects, texts), max_size=2).map(tuple),
    skill_triggered=st.none() | st.booleans(),
    usage=st.builds(Usage, counts, counts),
    cost_usd=st.none() | costs,
    latency_ms=st.floats(0, MOST_MILLISECONDS),
    triggered_in=st.lists(st.booleans(), max_size=2).map(tuple),
    files=st.none() | st.builds(WorkspaceFiles, st.lists(left_files, max_size=2).map(tuple), texts),
)
results = st.builds(CheckResult, texts, st.none() | st.booleans(), texts, st.floats(0, 1))
judgings = st.builds(
    Judging,
    st.builds(JudgedBy, names, texts),
    st.lists(texts, max_size=2).map(tuple),
    texts,
    st.lists(texts, max_size=2).map(tuple),
    st.builds(Usage, counts, counts),
    st.none() | costs,
    texts,
)
trials = st.builds(a_trial, arm=st.sampled_from(["candidate", "previous", "none"]))
outcomes: st.SearchStrategy[Scored | Errored] = st.builds(
    Scored,
    trials,
    transcripts,
    st.lists(results, max_size=3).map(tuple),
    st.none() | judgings,
) | st.builds(
    Errored,
    trials,
    texts,
    st.builds(Usage, counts, counts),
    st.none() | costs,
    st.none() | transcripts,
    st.none() | judgings,
)


def kinds_of_checks() -> Iterator[type[CheckSpec]]:
    """Every check of the package, wherever its file is and whatever it is derived from."""
    for module in pkgutil.walk_packages(skill_delta.__path__, f"{skill_delta.__name__}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    pending = CheckSpec.__subclasses__()
    while pending:
        kind = pending.pop()
        pending += kind.__subclasses__()
        if kind.__module__.startswith(f"{skill_delta.__name__}."):
            yield kind


def there_and_back(subject: Subject) -> Subject:
    """The subject as a record gives it back."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        write(path, [a_run(subject)])
        (restored,) = read(path).subjects
    return restored


@settings(deadline=None)
@given(outcomes)
def test_an_outcome_comes_back_as_it_was(outcome: Scored | Errored) -> None:
    """Every answer, call, check and cost, to the last digit; unknown stays unknown."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        write(path, [a_run(), recorded(outcome)])
        restored: Outcome | None = read(path).outcome_of(outcome.trial)

    assert restored == outcome


@settings(deadline=None)
@given(st.data(), tools, st.frozensets(texts, max_size=3), texts, st.sampled_from(Mode), seeds)
def test_a_case_comes_back_as_it_was(
    data: st.DataObject,
    tools: tuple[MockTool, ...],
    tags: frozenset[str],
    task: str,
    mode: Mode,
    seed: WorkspaceSeed | None,
) -> None:
    """With every kind of check: the same values, so the same fingerprint and the same demands."""
    specs = [data.draw(strategy) for strategy in KINDS.values()]
    named = tuple(Check(f"{spec.__class__.__name__}[0]", spec) for spec in specs)
    sessions = data.draw(st.lists(names, max_size=2).map(tuple))
    case = replace(a_case(), checks=named, tools=tools, tags=tags, task=task, mode=mode)
    case = replace(case, workspace=seed, sessions=sessions)

    (restored,) = there_and_back(replace(a_subject(), cases=(case,))).cases

    assert restored == case
    assert [type(check.spec) for check in restored.checks] == list(KINDS)
    assert restored.fingerprint == case.fingerprint


@pytest.mark.parametrize("more", [{}, {"value": None}], ids=["any value", "null"])
def test_any_value_stays_another_demand_than_null(more: dict[str, JsonValue]) -> None:
    """In a record, a value that was left out does not become a null that is asked for."""
    spec = JsonPath.model_validate({"kind": "json-path", "path": "$.a", **more})
    case = replace(a_case(), checks=(Check("json-path[0]", spec),))

    (restored,) = there_and_back(replace(a_subject(), cases=(case,))).cases
    judged = restored.checks[0].spec.grade(Transcript('{"a": 1}'))

    assert restored.checks[0].demand == case.checks[0].demand
    assert judged.passed is not bool(more)


def test_no_kind_of_check_is_left_out() -> None:
    """A new kind has to be written and read here before it can be."""
    shared = {kind for kind in kinds_of_checks() if kind.__subclasses__()}

    assert set(kinds_of_checks()) - shared == set(KINDS)


def test_the_reader_knows_every_kind_by_itself() -> None:
    """Whoever reads a record need not have loaded eval files first."""
    program = (
        "import json, skill_delta.ledger.reader; from skill_delta.ledger.cases import check_kinds;"
        "print(json.dumps(sorted(check_kinds())))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert json.loads(found.stdout) == sorted(kind.__name__ for kind in KINDS)


def test_a_skill_comes_back_without_the_folder_it_lay_in() -> None:
    """Its files by name, size and hash; this machine's paths are nobody's business."""
    files = (BundleFile(PurePosixPath("scripts/refund.py"), 120, "ab" * 32),)
    skill = replace(a_skill(commit="1a2b" * 10), bundle=Bundle(Path("/home/ada/skills"), files))
    subject = replace(a_subject(), candidate=Arm(Role.CANDIDATE, skill))

    restored = there_and_back(subject).candidate.skill

    assert restored == replace(skill, bundle=Bundle(PurePosixPath(), files))


def test_where_a_baseline_came_from_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    """Versions read from history lie in a temporary folder: it is not written."""
    bundle = Bundle(Path("/home/ada/bundle-1"), (BundleFile(PurePosixPath("a.py"), 1, "ab" * 32),))
    source = BaselineSource("a", "previous", replace(a_skill(), bundle=bundle))
    write(tmp_path / "run.jsonl", [replace(a_run(), sources=(source,))])

    portable = replace(source, version=replace(a_skill(), bundle=replace(bundle, root=NOWHERE)))
    assert "ada" not in (tmp_path / "run.jsonl").read_text()
    assert read(tmp_path / "run.jsonl").run.sources == (portable,)


def test_a_record_leads_to_no_folder_of_this_machine(tmp_path: Path) -> None:
    """Whoever wrote it may have named any."""
    path = tmp_path / "run.jsonl"
    bundle = Bundle(NOWHERE, (BundleFile(PurePosixPath("a.py"), 1, "ab" * 32),))
    skill = replace(a_skill(), bundle=bundle)
    subject = replace(a_subject(), candidate=Arm(Role.CANDIDATE, skill))
    run = replace(a_run(subject), sources=(BaselineSource("a", "previous", skill),))
    write(path, [run])
    path.write_text(path.read_text().replace('"root": "."', '"root": "/etc"'))

    record = read(path)

    assert path.read_text().count('"/etc"') == 2
    assert record.subjects == (subject,)
    assert record.run.sources == run.sources


def test_what_was_settled_before_the_first_trial_comes_back(tmp_path: Path) -> None:
    """Sources, resolved or not, what was left out, what changed, and what was asked for."""
    changed = CaseChange(
        "a",
        CaseChangeKind.EDITED,
        Place("evals/cases.yaml", 3),
        ("lost a check",),
        altered=(CasePart.TASK, CasePart.TOOLS),
        deselected_by="tag smoke",
    )
    run = replace(
        a_run(),
        sources=(
            BaselineSource("a", "previous", a_skill(commit="1a2b" * 10)),
            BaselineSource("b", "previous", unresolved()),
        ),
        skipped=(SkippedSkill("c", "no eval files"),),
        notes=("a note",),
        objections=(Reason("no baseline", Verdict.NOT_MEASURED),),
        suite_changes={"a": (changed,)},
        base="b45e" * 10,
        head="4ead" * 10,
        is_working_copy=True,
        changes=(
            SkillChange(
                ChangeKind.MOVED, PurePosixPath("a"), PurePosixPath("b"), (PurePosixPath("a/x"),)
            ),
        ),
    )
    write(tmp_path / "run.jsonl", [run, an_end("the ceiling was reached")])

    record = read(tmp_path / "run.jsonl")

    assert record.run == run
    assert record.end == an_end("the ceiling was reached")


def test_a_record_from_before_a_field_was_there_is_read(tmp_path: Path) -> None:
    """Nothing was deselected or altered as far as it knows."""
    path = tmp_path / "run.jsonl"
    changed = CaseChange("a", CaseChangeKind.EDITED, Place("evals/cases.yaml", 3))
    write(path, [replace(a_run(), suite_changes={"a": (changed,)})])
    line = json.loads(path.read_text())
    (written,) = line["suite_changes"]["a"]
    del written["altered"], written["deselected_by"]
    path.write_text(json.dumps(line) + "\n")

    assert read(path).run.suite_changes == {"a": (changed,)}


@pytest.mark.parametrize("hooks_disabled", [True, False])
def test_hooks_disabled_is_written_only_where_it_is_true(
    hooks_disabled: bool, tmp_path: Path
) -> None:
    """Records of runs without hook suppression have no such key."""
    run = a_run()
    run = replace(run, environment=replace(run.environment, hooks_disabled=hooks_disabled))
    write(tmp_path / "run.jsonl", [run])

    written = json.loads((tmp_path / "run.jsonl").read_text())

    assert written["environment"].get("hooks_disabled", "no key") == (hooks_disabled or "no key")
    assert read(tmp_path / "run.jsonl").run == run


def test_repetitions_and_arms_are_kept_apart(tmp_path: Path) -> None:
    """Which arm, and which time: an answer is given to no other trial."""
    theirs = lost(a_trial(arm="previous"))
    lines = [answered(0), answered(1), recorded(theirs)]
    write(tmp_path / "run.jsonl", [a_run(), *lines])

    record = read(tmp_path / "run.jsonl")

    assert record.trials == {line.key: line for line in lines}
    assert record.outcome_of(a_trial(arm="previous")) == theirs
    assert record.outcome_of(a_trial(repetition=2)) is None
    assert TrialKey.of(theirs.trial).baseline == an_arm("previous").baseline
