"""What a model is offered in a case with a working folder, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path, PurePosixPath

import pytest
from pydantic import JsonValue

from conversations import ORDER_SUPPORT, a_tool, a_trial_of, run_trial
from runners.test_model import FakeModel, call, calls
from skill_delta.core.checks.text import Contains
from skill_delta.core.checks.tools import SkillTriggered
from skill_delta.core.conversation import Completion, Conversation, UserTurn
from skill_delta.core.prompt import WORKSPACE
from skill_delta.core.skills import Bundle, BundleFile, SkillVersion
from skill_delta.core.suite import Check, FailingReturn, Mode
from skill_delta.core.transcript import Transcript, Usage
from skill_delta.core.trials import Trial
from skill_delta.core.workspace import WorkspaceFile, WorkspaceFiles, WorkspaceSeed
from skill_delta.errors import TrialError
from skill_delta.runners.model import ModelRunner
from skill_delta.runners.workspace import MAX_TOLD

FILE_TOOLS = ["list_files", "read_file", "write_file"]
BUNDLE_TOOLS = ["list_skill_files", "read_skill_file"]


def a_trial(
    *sessions: str,
    skill: SkillVersion = ORDER_SUPPORT,
    mode: Mode = Mode.LOADED,
    files: dict[str, str] | None = None,
) -> Trial:
    """A trial of a case with a working folder."""
    trial = a_trial_of(skill, mode=mode)
    seed = WorkspaceSeed(files or {})
    return replace(trial, case=replace(trial.case, workspace=seed, sessions=sessions))


def run(model: FakeModel, trial: Trial) -> Transcript:
    return run_trial(ModelRunner("openai", model, costs_money=True), trial)


def answers(trial: Trial, *asked: tuple[str, dict[str, JsonValue]]) -> list[str]:
    """What each of these calls is answered, made one after another."""
    turns = [calls(call(name, **arguments)) for name, arguments in asked]
    transcript = run(FakeModel([*turns, Completion("Done.")]), trial)
    return [made.answer for made in transcript.tool_calls]


def shipping(folder: Path, **files: str) -> SkillVersion:
    """A skill that ships these files, which lie in `folder`."""
    shipped = []
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        digest = sha256(text.encode()).hexdigest()
        shipped.append(BundleFile(PurePosixPath(name), len(text.encode()), digest))
    return replace(ORDER_SUPPORT, bundle=Bundle(folder, tuple(shipped)))


def offered(trial: Trial) -> list[str]:
    model = FakeModel([Completion("Done.")])
    run(model, trial)
    return [tool.name for tool in model.told[0].tools]


def test_a_folder_comes_with_its_tools(tmp_path: Path) -> None:
    """And a skill's files with theirs, where it ships some."""
    assert offered(a_trial()) == FILE_TOOLS
    assert offered(a_trial(skill=shipping(tmp_path, a="b"))) == [*FILE_TOOLS, *BUNDLE_TOOLS]
    assert offered(a_trial_of(shipping(tmp_path, a="b"))) == []
    assert offered(a_trial(skill=SkillVersion.none("x"))) == FILE_TOOLS


@pytest.mark.parametrize("skill", [ORDER_SUPPORT, SkillVersion.none("order-support")])
@pytest.mark.parametrize("mode", Mode)
def test_every_arm_is_told_of_the_folder_in_the_same_words(skill: SkillVersion, mode: Mode) -> None:
    """After what it is told anyway: the difference between the arms is the skill alone."""
    with_folder, without = FakeModel([Completion("")]), FakeModel([Completion("")])
    run(with_folder, a_trial(skill=skill, mode=mode))
    run(without, a_trial_of(skill, mode=mode))

    assert with_folder.told[0].system == f"{without.told[0].system}\n\n{WORKSPACE}"


def test_a_model_reads_and_writes() -> None:
    """What it wrote it reads again; a refusal is an answer, and the trial goes on."""
    assert answers(
        a_trial(files={"sales.csv": "north,120"}),
        ("list_files", {}),
        ("read_file", {"path": "sales.csv"}),
        ("write_file", {"path": "out/report.md", "content": "120"}),
        ("read_file", {"path": "out/report.md"}),
        ("list_files", {}),
        ("read_file", {"path": "../secret"}),
        ("read_file", {"path": 5}),
        ("read_file", {}),
        ("write_file", {"path": "a"}),
    ) == [
        "sales.csv",
        "north,120",
        "wrote out/report.md (3 bytes)",
        "120",
        "out/report.md\nsales.csv",
        'refused: the path "../secret" holds ".."; no path leads out of the working folder',
        "refused: the argument path should be text",
        "refused: the argument path should be text",
        "refused: the argument content should be text",
    ]


def test_an_empty_folder_says_so() -> None:
    """An empty answer would look like a broken tool."""
    assert answers(a_trial(), ("list_files", {})) == ["(empty)"]


def test_a_model_reads_what_its_skill_ships(tmp_path: Path) -> None:
    """And nothing that lies beside it: eval files hold the answers."""
    skill = shipping(tmp_path, **{"references/a.md": "A", "b.txt": "B"})
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "a.yaml").write_text("the answer")
    (tmp_path / "SKILL.md").write_text("instructions")

    refusal = "refused: the skill ships no file "
    assert answers(
        a_trial(skill=skill),
        ("list_skill_files", {}),
        ("read_skill_file", {"path": "references/a.md"}),
        ("read_skill_file", {"path": "evals/a.yaml"}),
        ("read_skill_file", {"path": "SKILL.md"}),
        ("read_skill_file", {"path": "references"}),
        ("read_skill_file", {"path": "../secret"}),
    ) == [
        "b.txt\nreferences/a.md",
        "A",
        f"{refusal}evals/a.yaml",
        f"{refusal}SKILL.md",
        f"{refusal}references",
        'refused: the path "../secret" holds ".."; no path leads out of the working folder',
    ]


@pytest.mark.parametrize("change", ["edited", "linked", "gone"])
def test_a_skill_that_changes_under_the_run_loses_the_trial(tmp_path: Path, change: str) -> None:
    """What was measured would be of no version."""
    skill = shipping(tmp_path / "skill", a="old")
    (tmp_path / "b").write_text("old")
    match change:
        case "edited":
            (tmp_path / "skill" / "a").write_text("new")
        case "linked":
            (tmp_path / "skill" / "a").unlink()
            (tmp_path / "skill" / "a").symlink_to(tmp_path / "b")
        case _:
            (tmp_path / "skill" / "a").unlink()

    with pytest.raises(TrialError, match="the skill's file a "):
        answers(a_trial(skill=skill), ("read_skill_file", {"path": "a"}))


def test_a_trial_is_told_only_so_much_of_files() -> None:
    """Over all of its sessions: a record has to hold it."""
    size = MAX_TOLD // 4
    read = calls(call("read_file", path="big"))
    model = FakeModel([read, read, Completion(""), read, read, read, Completion("Done.")])

    made = run(model, a_trial("one", "two", files={"big": "x" * size})).tool_calls

    assert [len(each.answer) for each in made[:4]] == [size] * 4
    assert made[4].answer == "refused: this trial may read 4,000,000 characters of files, no more"


def test_a_transcript_has_the_files_at_the_end() -> None:
    """With the text of those that a check reads."""
    trial = a_trial(files={"a.md": "1", "b.md": "2"})
    check = Check("contains[0]", Contains(kind="contains", file="b.md", value="x"))
    trial = replace(trial, case=replace(trial.case, checks=(check,)))
    model = FakeModel([calls(call("write_file", path="b.md", content="new")), Completion("Done.")])

    assert run(model, trial).files == WorkspaceFiles(
        (WorkspaceFile("a.md", 1), WorkspaceFile("b.md", 3, "new"))
    )
    assert run(FakeModel([Completion("Done.")]), a_trial_of()).files is None


def test_sessions_share_the_folder_and_nothing_else() -> None:
    """Each is a fresh conversation; what one wrote, the next finds."""

    def spoken(conversation: Conversation) -> Completion:
        if conversation.turns == (UserTurn("plan"),):
            return calls(call("write_file", path="plan.md", content="sell"))
        if conversation.turns == (UserTurn("act"),):
            return calls(call("read_file", path="plan.md"))
        said = f"said in {conversation.session}"
        return Completion(said, (), Usage(10, 1), 0.5, 100.0)

    model = FakeModel(spoken)
    transcript = run(model, a_trial("plan", "act"))

    assert [(told.session, told.turns[0]) for told in model.told] == [
        *((0, UserTurn("plan")), (0, UserTurn("plan"))),
        *((1, UserTurn("act")), (1, UserTurn("act"))),
    ]
    assert transcript.answer == "said in 1"
    assert [made.answer for made in transcript.tool_calls] == ["wrote plan.md (4 bytes)", "sell"]
    assert transcript.usage == Usage(20, 2)
    assert transcript.cost_usd == 1.0
    assert transcript.latency_ms == 200.0


def test_mock_tools_begin_anew_in_each_session() -> None:
    """As for any conversation."""
    trial = a_trial("one", "two")
    trial = replace(trial, case=replace(trial.case, tools=(a_tool(),)))
    talk = [calls(call("lookup_order")), Completion("")] * 2

    assert [c.answer for c in run(FakeModel(talk), trial).tool_calls] == ["shipped", "shipped"]


@pytest.mark.parametrize(
    ("reached", "triggered", "holds"),
    [
        ([True, True], True, {True: True, False: False}),
        ([True, False], True, {True: False, False: False}),
        ([False, False], False, {True: False, False: True}),
    ],
)
def test_an_offered_skill_is_watched_in_every_session(
    reached: Sequence[bool], triggered: bool, holds: dict[bool, bool]
) -> None:
    """It was to be reached for in all of them, or in none."""
    said = [
        *([calls(call("order_support")), Completion("")] if reached[0] else [Completion("")]),
        *([calls(call("order_support")), Completion("")] if reached[1] else [Completion("")]),
    ]

    transcript = run(FakeModel(said), a_trial("one", "two", mode=Mode.OFFERED))

    assert (transcript.skill_triggered, transcript.triggered_in) == (triggered, tuple(reached))
    for expected, passed in holds.items():
        assert SkillTriggered(expected=expected).grade(transcript).passed is passed


def test_a_session_that_is_lost_loses_the_trial_with_its_bill() -> None:
    """What the earlier ones cost was spent."""
    model = FakeModel(
        [
            Completion("one", (), Usage(100, 10), 0.25),
            TrialError("HTTP 503", input_tokens=7, output_tokens=1, cost_usd=0.5),
        ]
    )

    with pytest.raises(TrialError, match="HTTP 503") as lost:
        run(model, a_trial("one", "two"))

    spent = lost.value
    assert (spent.input_tokens, spent.output_tokens, spent.cost_usd) == (107, 11, 0.75)


def test_a_slow_tool_is_waited_for() -> None:
    """Its time is a part of the trial's."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    slow = replace(a_tool(returns=FailingReturn("HTTP 503")), delay_ms=250)
    model = FakeModel(
        [calls(call("lookup_order"), call("lookup_order")), Completion("", latency_ms=100)]
    )
    runner = ModelRunner("openai", model, costs_money=True, sleep=sleep)

    transcript = run_trial(runner, a_trial_of(tools=[slow]))

    assert waits == [0.25, 0.25]
    assert transcript.latency_ms == 600.0
    assert {made.answer for made in transcript.tool_calls} == {"Error: HTTP 503"}


def test_a_loss_in_a_tool_does_not_lose_the_bill(tmp_path: Path) -> None:
    """The request that asked for it was paid for."""
    skill = shipping(tmp_path, a="old")
    (tmp_path / "a").write_text("new")
    asked = Completion("", (call("read_skill_file", path="a"),), Usage(5, 2), 0.5)

    with pytest.raises(TrialError) as lost:
        run(FakeModel([asked]), a_trial(skill=skill))

    assert (lost.value.input_tokens, lost.value.cost_usd) == (5, 0.5)
