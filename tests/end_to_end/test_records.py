"""What a run record is for: nothing paid for is lost, and every report can be had again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from command_line import CommandLine, Finished
from git_repositories import GitRepository
from git_repositories import skill as skill_text
from github_job import Job
from github_stand_in import GitHubStandIn
from model_stand_in import Answer, ModelStandIn, Received, refuses, says
from pull_requests import merged_by_github, on_branch
from skill_delta.errors import ExitCode
from skill_delta.ledger.writer import RecordWriter

NAMES = ("Ada", "Bob", "Cy")
CASES = "cases:\n" + "".join(
    f"  - name: greets {name}\n    task: Greet {name}.\n    tags: [{name.lower()}]\n"
    f"    assertions: [{{kind: contains, value: {name}}}, {{kind: not_contains, value: '?'}}]\n"
    for name in NAMES
)
# Worse than before by a little, so that an adaptive run takes every look there is.
UNSTEADY = """\
  - {arm: candidate, case: greets Ada, repetition: [1, 4, 7], text: nobody}
  - {arm: candidate, case: greets Bob, repetition: [2, 5], text: nobody}
  - {arm: baseline, case: greets Cy, repetition: [3], text: nobody}
"""
ALL_FINE = (
    '  - {text: "Hello, Ada, Bob and Cy!", usage: {input_tokens: 7, output_tokens: 3}, '
    "cost_usd: 0.001, latency_ms: 40}\n"
)
FAILING = (
    '  - {case: greets Cy, error: "503 from the provider", '
    "usage: {input_tokens: 5, output_tokens: 0}, cost_usd: 0.0003}\n"
)
NO_PRICE = "  - {case: greets Cy, arm: candidate, text: Cy}\n"

EXAMPLE = Path(__file__).parents[2] / "examples" / "order-support"

SCRIPTED = ("--runner", "scripted")
NONE = ("--baseline", "none")
INTERVAL = ("--gate", "interval", "--min-delta", "0", "--repeat", "3", "--max-repeat", "9")


class Skill:
    """A skill in a repository, one commit old, with cases and a script of replies."""

    def __init__(self, repository: GitRepository) -> None:
        self.repository = repository
        self.tell("Greet people.")
        self.ask(CASES)
        self.reply(ALL_FINE)
        repository.commit()
        self.tell("Greet people by name.")

    def tell(self, body: str) -> None:
        self.repository.write({"greeter/SKILL.md": skill_text(body, name="greeter")})

    def ask(self, cases: str) -> None:
        self.repository.write({"greeter/evals/cases.yaml": cases})

    def reply(self, *replies: str) -> None:
        self.repository.write({"greeter/evals/replies.yaml": "replies:\n" + "".join(replies)})


@pytest.fixture
def skill(repository: GitRepository) -> Skill:
    return Skill(repository)


@dataclass(frozen=True)
class Told:
    """All that a command told: how it ended, the console, and each report."""

    exit_code: int
    console: str
    json: str
    junit: str
    markdown: str

    @property
    def report(self) -> Any:
        return json.loads(self.json)


class Reporting:
    """Calls a command with every report it can write."""

    def __init__(self, skill_delta: CommandLine, folder: Path) -> None:
        self._skill_delta = skill_delta
        self._folder = folder
        self._called = 0

    def __call__(self, *arguments: object, key: str = "") -> Told:
        self._called += 1
        named = ("json", "junit", "markdown")
        paths = {name: self._folder / f"{self._called}.{name}" for name in named}
        flags = [part for name, path in paths.items() for part in (f"--{name}-output", path)]
        ended = self._skill_delta(*arguments, *flags, env={"SKILL_DELTA_API_KEY": key})
        assert ended.exit_code != ExitCode.BUG, ended.all
        read = {name: path.read_text() if path.exists() else "" for name, path in paths.items()}
        return Told(ended.exit_code, _without_plan(ended), **read)


def _without_plan(ended: Finished) -> str:
    """The console without the plan, which is told before anything is spent."""
    lines = ended.out.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("Plan: "))


@pytest.fixture
def told(skill_delta: CommandLine, tmp_path: Path) -> Reporting:
    return Reporting(skill_delta, tmp_path)


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def timeless(value: Any) -> Any:
    """A report without what no two runs have alike: times, and how long a server took."""
    if isinstance(value, dict):
        return {
            key: timeless(each)
            for key, each in value.items()
            if not key.endswith("_at") and "latency" not in key
        }
    return [timeless(each) for each in value] if isinstance(value, list) else value


# ---------------------------------------------------------------- killed


KILLED_WHILE_WRITING = """
import json, os, signal, sys
from skill_delta import cli
from skill_delta.wiring import run  # once, for all the children

write = os.write  # what a record is written with

def dies_after(room):
    def writes(file, data):
        global room_left
        written = write(file, data[:room_left])
        room_left -= written
        if not room_left:
            os.kill(os.getpid(), signal.SIGKILL)
        return written
    global room_left
    room_left = room
    return writes

for arguments, room in json.load(sys.stdin):
    child = os.fork()
    if not child:
        os.write = dies_after(room)
        try:
            cli.main(arguments)
        finally:
            os._exit(0)
    _, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended), (room, ended)
"""
"""Runs commands that are killed (SIGKILL) as soon as they have written so many bytes."""


@pytest.mark.parametrize("adaptive", ["confirm", "resolve"])
def test_killed_at_twenty_places_and_resumed_it_is_the_same_run(
    adaptive: str, skill: Skill, told: Reporting, record: Path, tmp_path: Path
) -> None:
    """Half lines, whole lines, between two looks: the report is that of the run left alone."""
    skill.reply(UNSTEADY, ALL_FINE)
    flags = (*SCRIPTED, *NONE, *INTERVAL, "--adaptive", adaptive, "--min-pass-rate", "0")
    run = ("run", "greeter", *flags)
    undisturbed = told(*run, "--record", record)
    rng, size = Random(adaptive), record.stat().st_size
    killed = {tmp_path / f"killed-{n}.jsonl": rng.randrange(1, size) for n in range(20)}

    subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WRITING],
        input=json.dumps([[[*run, "--record", str(p)], room] for p, room in killed.items()]),
        text=True,
        check=True,
        capture_output=True,
        cwd=skill.repository.folder,
    )

    assert "3 of 3 planned looks" in undisturbed.console
    for path, room in killed.items():
        assert 0 < path.stat().st_size <= room
        resumed = told(*run, "--resume", path)
        assert (resumed.exit_code, resumed.console) == (
            undisturbed.exit_code,
            undisturbed.console,
        )
        assert timeless(resumed.report) == timeless(undisturbed.report)


def test_a_run_killed_again_and_again_asks_for_no_answer_twice(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """A real model, and a kill with every fifth request: what was answered stays answered."""
    run = ("run", "greeter", "--runner", "openai", "--model", "m", *NONE, "--repeat", "4")
    running: list[subprocess.Popen[bytes]] = []

    def kills(request: Received) -> Answer:
        if running and len(stand_in.requests) % 5 == 0:
            running[0].kill()
        return says(f"Hello! {request.last}")

    with ModelStandIn(kills) as stand_in:
        flags = (*run, "--base-url", stand_in.url, "--concurrency", "1")
        undisturbed = told(*flags)
        asked = len(stand_in.requests)
        for _ in range(3):
            command = (sys.executable, "-m", "skill_delta", *flags, "--resume", str(record))
            record.touch()
            with subprocess.Popen(
                command,
                cwd=skill.repository.folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "NO_PROXY": "127.0.0.1"},
            ) as process:
                running[:] = [process]
            assert process.returncode < 0
        running.clear()
        resumed = told(*flags, "--resume", record)
        assert len(stand_in.requests) == 2 * asked + 3  # one was in the air at each kill

    assert timeless(resumed.report) == timeless(undisturbed.report)


# ---------------------------------------------------------------- reported again

RUNS: dict[str, tuple[Sequence[str], Sequence[object]]] = {
    "one arm": ([ALL_FINE], ()),
    "failing": ([UNSTEADY, ALL_FINE], ("--repeat", "3")),
    "point": ([UNSTEADY, ALL_FINE], (*NONE, "--repeat", "3", "--min-delta", "0")),
    "several baselines": ([ALL_FINE], (*NONE, "--baseline", "previous", "--min-delta", "0")),
    "no such baseline": ([ALL_FINE], ("--baseline", "v1.0", "--min-delta", "0")),
    "lost trials": ([FAILING, ALL_FINE], (*NONE, "--repeat", "2")),
    "no price": ([NO_PRICE, ALL_FINE], NONE),
    "selected": ([ALL_FINE], (*NONE, "--tag", "ada", "--case", "greets")),
    "capped": ([ALL_FINE], (*NONE, "--max-cases", "2")),
    "ceiling": ([ALL_FINE], (*NONE, "--max-tokens", "30", "--concurrency", "1")),
    "adaptive": (
        [UNSTEADY, ALL_FINE],
        (*NONE, *INTERVAL, "--adaptive", "confirm", "--max-regressed-cases", "0"),
    ),
    "a look that a ceiling cut": (
        [UNSTEADY, ALL_FINE],
        (*NONE, *INTERVAL, "--adaptive", "confirm", "--max-tokens", "250", "--concurrency", "1"),
    ),
    "bars of its own": (
        [UNSTEADY, ALL_FINE],
        (*NONE, *INTERVAL, "--per-skill-min", "greeter=0.3", "--max-token-increase", "0.2"),
    ),
}
"""Runs of every kind: what the script replies, and the flags."""


@pytest.mark.parametrize(("replies", "flags"), RUNS.values(), ids=RUNS)
def test_a_record_is_reported_letter_for_letter(
    replies: Sequence[str], flags: Sequence[object], skill: Skill, told: Reporting, record: Path
) -> None:
    """Console, JSON, JUnit, Markdown and exit code; also with the same checks run again."""
    skill.reply(*replies)

    ran = told("run", "greeter", *SCRIPTED, *flags, "--record", record)

    assert told("report", record) == ran
    assert told("report", record, "--regrade") == ran
    assert told("report", record, "--regrade", "--evals", "greeter/evals/cases.yaml") == ran


def test_offered_skills_and_tools_are_reported_letter_for_letter(
    told: Reporting, record: Path
) -> None:
    """Calls, their arguments, what was triggered, and what was skipped on purpose."""
    ran = told("run", EXAMPLE, *SCRIPTED, *NONE, "--repeat", "2", "--record", record)

    assert ran.report["summary"]["skipped"] > 0
    assert told("report", record) == ran
    assert told("report", record, "--regrade") == ran


def test_a_service_that_gives_out_is_reported_letter_for_letter(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """A key that is refused in the middle of the run: the rest was not run, and why."""
    answers = [*(says(f"Hello, {name}!") for name in NAMES), refuses(401, "no such key")]
    with ModelStandIn(answers) as stand_in:
        live = ("--runner", "openai", "--model", "m", "--base-url", stand_in.url)
        ran = told("run", "greeter", *live, *NONE, "--concurrency", "1", "--record", record)
        asked = len(stand_in.requests)

        assert told("report", record) == ran
        assert len(stand_in.requests) == asked
    assert ran.exit_code == 3
    assert ran.report["summary"]["not_run"] > 0


BY_INTERVAL = (*NONE, "--gate", "interval", "--min-delta", "0", "--min-pass-rate", "0")
CEILING = ("--max-tokens", "1", "--concurrency", "1")
LOST = '  - {error: "503 from the provider", usage: {input_tokens: 5, output_tokens: 0}}\n'


@pytest.mark.parametrize(
    ("replies", "flags", "code"),
    [
        (LOST, BY_INTERVAL, 0),
        (LOST, (*NONE, "--min-delta", "0"), 1),
        (ALL_FINE, CEILING, 3),
    ],
    ids=["an outage", "an outage that the gate names a failure", "a ceiling"],
)
@pytest.mark.parametrize("regrade", [(), ("--regrade",)])
def test_what_a_run_let_through_its_record_lets_through(
    replies: str,
    flags: Sequence[object],
    code: int,
    regrade: Sequence[object],
    skill: Skill,
    told: Reporting,
    record: Path,
) -> None:
    """`on-unmeasured` decides of an outage, there as here; of a failure and a ceiling nowhere."""
    skill.reply(replies)
    run = ("run", "greeter", *SCRIPTED, *flags)

    ran = told(*run, "--on-unmeasured", "pass", "--record", record)

    assert ran.exit_code == code
    assert told("report", record, *regrade) == ran


def test_a_run_that_was_killed_let_nothing_through(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """It never came to say that nothing was measured."""
    skill.reply(LOST)
    run = ("run", "greeter", *SCRIPTED, *BY_INTERVAL)
    assert told(*run, "--on-unmeasured", "pass", "--record", record).exit_code == 0
    whole = record.read_text().splitlines(keepends=True)
    record.write_text("".join(whole[:-1]))

    assert told("report", record).exit_code == 3


KEY = "my-own-key-of-8"
ALIKE = ("ghp_" + "A1b2" * 9, "ghp_" + "B1b2" * 9, f"greets {KEY}", "greets (redacted)")
"""Names of cases that are the same text once secrets are taken out of them, two and two."""


@pytest.mark.parametrize("failing", ALIKE)
def test_cases_that_are_alike_but_for_a_secret_are_kept_apart(
    failing: str, skill: Skill, told: Reporting, record: Path
) -> None:
    """One of them failed, so the run did; whatever is made of its record says so."""
    skill.ask(
        "cases:\n"
        + "".join(
            f"  - name: {name}\n    task: '{name == failing}'\n"
            "    assertions: [{kind: contains, value: 'False'}]\n"
            for name in ALIKE
        )
    )
    with ModelStandIn(lambda request: says(request.last)) as model:
        live = ("--runner", "openai", "--model", "m", "--base-url", model.url)
        run = ("run", "greeter", *live, *NONE)
        ran = told(*run, "--record", record, key=KEY)
        asked = len(model.requests)
        again = told("report", record)
        resumed = told(*run, "--resume", record, key=KEY)
        assert len(model.requests) == asked

    for each in (ran, again, resumed, told("report", record), told("report", record, "--regrade")):
        assert each.exit_code == 1
        assert each.report["summary"] == ran.report["summary"]
    assert resumed.console == ran.console
    assert not any(secret in record.read_text() for secret in (*ALIKE[:2], KEY))


def test_a_record_that_is_still_being_written_says_so(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """It can be looked at meanwhile. What is not there yet is no pass, and was not ended."""
    skill.reply(ALL_FINE)
    told("run", "greeter", *SCRIPTED, "--record", record)
    head, first, *_ = record.read_text().splitlines(keepends=True)
    record.write_text(head + first)

    with RecordWriter(record, str, lambda: 0.0):
        running = told("report", record)
    killed = told("report", record)

    assert running.exit_code == killed.exit_code == 3
    assert running.report["summary"]["passed"] == 1
    assert "its record is still being written" in running.console
    assert "the run was ended before it" in killed.console


# ---------------------------------------------------------------- resumed


def reworded(skill: Skill) -> None:
    skill.tell("Greet people by name, warmly.")


def one_case_edited(skill: Skill) -> None:
    skill.ask(CASES.replace("task: Greet Ada.", "task: Greet Ada kindly."))


def one_check_added(skill: Skill) -> None:
    skill.ask(CASES.replace("value: Bob}", "value: Bob}, {kind: contains, value: Hello}"))


def a_file_added(skill: Skill) -> None:
    skill.repository.write({"greeter/names.txt": "Ada"})


def one_case_renamed(skill: Skill) -> None:
    skill.ask(CASES.replace("name: greets Cy", "name: greets Cy again"))


def nothing(skill: Skill) -> None:
    """The same again."""


@pytest.mark.parametrize(
    ("edit", "asked", "stale"),
    [
        (nothing, 0, 0),
        (reworded, 6, 6),  # the candidate's; the baseline is what it was
        (a_file_added, 6, 6),
        (one_case_edited, 4, 4),  # both arms of it
        (one_check_added, 4, 4),
        (one_case_renamed, 4, 0),
    ],
)
def test_only_what_changed_runs_again(
    edit: Callable[[Skill], None],
    asked: int,
    stale: int,
    skill: Skill,
    told: Reporting,
    record: Path,
) -> None:
    """What its answers depend on decides, trial by trial; those that could not be used are told."""
    with ModelStandIn(lambda request: says(f"Hello! {request.last}")) as model:
        live = ("--runner", "openai", "--model", "m", "--base-url", model.url)
        run = ("run", "greeter", *live, *NONE, "--repeat", "2")
        told(*run, "--record", record)
        edit(skill)
        before = len(model.requests)
        resumed = told(*run, "--resume", record)

    assert len(model.requests) - before == asked
    noted = f"{stale} recorded trials could not be used"
    strangers = "4 recorded trials of no skill, case or baseline of this run"
    again = told("report", record)
    assert (noted in resumed.console) == bool(stale)
    for each in (resumed, again):
        assert (strangers in each.console) == (edit is one_case_renamed)
    assert again.report["summary"] == resumed.report["summary"]
    assert again == resumed or stale


def test_another_model_is_asked_everything(skill: Skill, told: Reporting, record: Path) -> None:
    """An answer is that of one model."""
    with ModelStandIn(lambda request: says(f"Hello! {request.last}")) as model:
        run = ("run", "greeter", "--runner", "openai", "--base-url", model.url)
        told(*run, "--model", "small", "--record", record)
        resumed = told(*run, "--model", "large", "--resume", record)

    assert [request.json["model"] for request in model.requests] == ["small"] * 3 + ["large"] * 3
    assert "3 recorded trials could not be used" in resumed.console


def test_what_is_lost_again_and_again_is_billed_each_time(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """Lost twice for five tokens each, then answered for ten; every report of it says so."""
    record.touch()
    run = ("run", "greeter", *SCRIPTED, "--case", "Cy", "--resume", record)
    bills = []
    for replies in ((FAILING, ALL_FINE), (FAILING, ALL_FINE), (ALL_FINE,), (ALL_FINE,)):
        skill.reply(*replies)
        ran = told(*run)
        bills.append((ran.report["summary"]["tokens"], ran.report["summary"]["cost_usd"]))
        assert told("report", record) == ran

    assert bills == [(5, 0.0003), (10, 0.0006), (20, 0.0016), (20, 0.0016)]


def test_a_higher_ceiling_lets_a_run_go_on(skill: Skill, told: Reporting, record: Path) -> None:
    """What was spent before counts; what was not run is."""
    run = ("run", "greeter", *SCRIPTED, *NONE, "--concurrency", "1")
    undisturbed = told(*run)

    stopped = told(*run, "--max-cost", "0.003", "--record", record)
    same = told(*run, "--max-cost", "0.003", "--resume", record)
    resumed = told(*run, "--max-cost", "1", "--resume", record)

    assert stopped.exit_code == same.exit_code == 3
    assert stopped.report["summary"]["not_run"] == 3
    assert timeless(same.report) == timeless(stopped.report)
    assert resumed.exit_code == undisturbed.exit_code
    assert timeless(resumed.report) == timeless(undisturbed.report)


@pytest.mark.parametrize(
    ("edit", "asked"),
    [(nothing, 0), (reworded, 1), (one_case_edited, 1), (one_case_renamed, 1)],
)
def test_a_ceiling_is_that_of_the_whole_record(
    edit: Callable[[Skill], None], asked: int, skill: Skill, told: Reporting, record: Path
) -> None:
    """What its trials cost is spent, whatever became of them; a ceiling lets one more start."""
    with ModelStandIn(lambda request: says(f"Hello! {request.last}")) as model:
        live = ("--runner", "openai", "--model", "m", "--base-url", model.url)
        run = ("run", "greeter", *live, "--repeat", "2", "--concurrency", "1")
        spent = told(*run, "--record", record).report["summary"]["tokens"]
        edit(skill)
        before = len(model.requests)
        for _ in range(2):
            resumed = told(*run, "--max-tokens", spent + 1, "--resume", record)

    assert len(model.requests) - before == asked
    assert resumed.exit_code == (3 if asked else 0)


def test_a_lost_trial_that_never_ran_again_is_still_billed(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """The ceiling came first: it is not run now, and was paid for then."""
    skill.reply(FAILING, ALL_FINE)
    run = ("run", "greeter", *SCRIPTED, "--concurrency", "1")
    lost = told(*run, "--record", record)

    stopped = told(*run, "--max-tokens", "1", "--resume", record)

    assert stopped.report["summary"]["tokens"] == lost.report["summary"]["tokens"]
    assert stopped.report["summary"]["not_run"] == 1
    assert told("report", record) == stopped


# ---------------------------------------------------------------- regraded


def test_checks_that_leave_a_look_open_are_judged_by_the_looks_there_are(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """Another look cannot be had from a record: that is not as if trials had been lost."""
    run = ("run", "greeter", *SCRIPTED, *NONE, *INTERVAL, "--min-pass-rate", "0")
    skill.reply("  - {arm: candidate, repetition: 1, text: 'Ada, Bob, Cy'}\n", ALL_FINE)
    settled = told(*run, "--adaptive", "confirm", "--record", record)
    stricter = skill.repository.folder / "stricter.yaml"
    stricter.write_text(CASES.replace("value: Ada", "value: Hello"))

    regraded = told("report", record, "--regrade", "--evals", stricter)

    assert "1 of 3 planned looks" in settled.console
    assert regraded.report["gate"]["verdict"] == "inconclusive"
    assert regraded.report["summary"]["not_run"] == 0
    assert "judged by the first look" in regraded.console


def test_eval_files_of_other_cases_regrade_nothing(
    skill: Skill, skill_delta: CommandLine, record: Path
) -> None:
    """A path that was mistyped is no regrade."""
    skill_delta("run", "greeter", *SCRIPTED, "--record", record)
    other = skill.repository.folder / "other.yaml"
    other.write_text(CASES.replace("greets", "insults"))

    refused = skill_delta("report", record, "--regrade", "--evals", other)

    assert refused.exit_code == 2
    assert "greets Ada" in refused.err


def test_eval_files_without_their_tool_libraries_regrade_nothing(
    skill_delta: CommandLine, record: Path, tmp_path: Path
) -> None:
    """A folder that was copied alone: what is missing is told, and what to do, in two lines."""
    skill_delta("run", EXAMPLE, *SCRIPTED, "--record", record)
    copied = tmp_path / "copied" / "evals"
    shutil.copytree(EXAMPLE / "evals", copied)

    refused = skill_delta("report", record, "--regrade", "--evals", copied)

    assert refused.exit_code == 2
    assert len(refused.err.splitlines()) == 2
    assert "order-api.yaml" in refused.err
    assert "a copy of the file needs its libraries copied along" in refused.err


# ---------------------------------------------------------------- a pull request's


@pytest.fixture
def pull_request(skill: Skill) -> Skill:
    """A branch that makes the skill worse; the check is out on it."""
    repository = skill.repository
    skill.reply("  - {contains: curt, text: Hm.}\n", ALL_FINE)
    repository.commit()
    on_branch(repository, "topic")
    skill.tell("Be curt.")
    repository.commit()
    return skill


PR = ("pr", *SCRIPTED, "--base", "main", "--report-dir", ".skill-delta")


@pytest.mark.parametrize("gate", [(), ("--gate", "point")])
def test_a_pull_requests_record_is_reported_letter_for_letter(
    gate: tuple[str, ...], pull_request: Skill, told: Reporting, skill_delta: CommandLine
) -> None:
    """The reports beside it, and the verdict, are those that it gives again."""
    checked = skill_delta(*PR, *gate)
    folder = pull_request.repository.folder / ".skill-delta"

    again = told("report", folder / "record.jsonl")

    assert checked.exit_code == again.exit_code == 1
    assert again.json == (folder / "report.json").read_text()
    assert again.junit == (folder / "junit.xml").read_text()
    assert again.markdown == (folder / "report.md").read_text()
    assert told("report", folder / "record.jsonl", "--regrade") == again


def test_the_actions_record_is_reported_letter_for_letter(
    pull_request: Skill,
    told: Reporting,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a workflow uploads it, anyone can have the reports and the verdict again."""
    repository = pull_request.repository
    head = repository.head()
    merged_by_github(repository)
    with GitHubStandIn() as github:
        job = Job(repository, github, tmp_path / "runner", capsys, monkeypatch)
        finished = job.pull_request(head, runner="scripted", gate="point", report_dir="kept")
        assert not github.violations

    again = told("report", repository.folder / "kept" / "record.jsonl")

    assert finished.exit_code == again.exit_code == 1
    assert finished.outputs["verdict"] == again.report["gate"]["verdict"]
    assert again.json == (repository.folder / "kept" / "report.json").read_text()


def a_file(planted: Path, elsewhere: Path) -> None:
    planted.write_bytes(elsewhere.read_bytes())


def a_link(planted: Path, elsewhere: Path) -> None:
    planted.symlink_to(elsewhere)


def a_hard_link(planted: Path, elsewhere: Path) -> None:
    planted.hardlink_to(elsewhere)


def a_pipe(planted: Path, elsewhere: Path) -> None:
    os.mkfifo(planted)


@pytest.mark.parametrize("plant", [a_file, a_link, a_hard_link, a_pipe])
def test_a_record_that_a_pull_request_planted_is_neither_followed_nor_believed(
    plant: Callable[[Path, Path], None],
    pull_request: Skill,
    told: Reporting,
    skill_delta: CommandLine,
    record: Path,
) -> None:
    """It might hold better answers than were given, or lead out of the checkout."""
    folder = pull_request.repository.folder / ".skill-delta"
    told("run", "greeter", *SCRIPTED, "--replies", _fine(record), "--record", record)
    believable = record.read_bytes()
    folder.mkdir()
    plant(folder / "record.jsonl", record)

    checked = skill_delta(*PR, "--gate", "point")

    assert checked.exit_code == 1
    assert record.read_bytes() == believable
    assert told("report", folder / "record.jsonl").exit_code == 1
    assert not (folder / "record.jsonl").is_symlink()


def _fine(beside: Path) -> Path:
    replies = beside.with_name("fine.yaml")
    replies.write_text("replies:\n" + ALL_FINE)
    return replies


def test_a_folder_in_a_records_place_is_told_before_anything_is_spent(
    pull_request: Skill, skill_delta: CommandLine
) -> None:
    """A pull request can put one there; it is not removed."""
    planted = pull_request.repository.folder / ".skill-delta" / "record.jsonl"
    planted.mkdir(parents=True)

    refused = skill_delta(*PR)

    assert refused.exit_code == 2
    assert "record.jsonl cannot be written" in refused.err


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    "flags",
    [
        ("--record",),
        ("--resume",),
        ("--out",),
        ("--baseline-mode", "skill-off", "--out"),
        ("--baseline-mode", "both", "--out"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    "place",
    [
        "evals/run.jsonl",
        "evals/run.json",
        "run.jsonl",
        "evals/../run.eval.yaml",
        "linked/run.jsonl",
    ],
)
def test_a_record_lies_in_no_skill(
    place: str, flags: Sequence[str], skill: Skill, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """There it would be read as an eval file, or change the skill with every trial."""
    folder = skill.repository.folder / "greeter"
    (folder / "linked").symlink_to(folder / "evals")
    if "--resume" in flags:
        (folder / place).write_bytes(b"")
    before = sorted(folder.rglob("*"))

    refused = skill_delta("run", "greeter", *SCRIPTED, *flags, f"greeter/{place}")

    assert refused.exit_code == 2
    assert "lies in the folder of the skill 'greeter'" in refused.err
    assert sorted(folder.rglob("*")) == before


def test_a_record_may_lie_beside_a_skill(skill: Skill, skill_delta: CommandLine) -> None:
    """Also where its name begins as the skill's folder does."""
    for record in ("run.jsonl", "greeter.jsonl", "greeter-records/run.jsonl"):
        assert skill_delta("run", "greeter", *SCRIPTED, "--record", record).exit_code == 0


FULL_DISK = """
import resource, sys
from skill_delta import cli
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
cli.main(sys.argv[2:])
"""


def on_a_disk_with_room_for(room: int, skill: Skill, *arguments: object) -> Finished:
    """The command, where no file can be larger than so many bytes."""
    ended = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(room), *map(str, arguments)],
        cwd=skill.repository.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return Finished(ended.returncode, ended.stdout, ended.stderr)


def test_a_disk_that_fills_up_ends_no_run(skill: Skill, told: Reporting, record: Path) -> None:
    """The report is the run's, with a note; what fitted into the record is used again."""
    run = ("run", "greeter", *SCRIPTED, "--repeat", "9", "--concurrency", "1")
    undisturbed = told(*run, "--record", record)
    room = record.stat().st_size * 2 // 3
    record.unlink()

    ended = on_a_disk_with_room_for(room, skill, *run, "--record", record)
    resumed = told(*run, "--resume", record)

    assert ended.exit_code == undisturbed.exit_code == 0
    assert f"the record {record} could not be written: File too large" in ended.out
    assert ended.out.replace(_note(ended.out), "") == undisturbed.console
    assert timeless(resumed.report) == timeless(undisturbed.report)


def _note(console: str) -> str:
    start = console.index("\nNotes\n") + 1
    return console[start : console.index("\n\n", start) + 2]


def test_a_disk_without_room_for_the_head_is_told_before_anything_is_spent(
    skill: Skill, record: Path
) -> None:
    """A record that nobody can read keeps nothing."""
    ended = on_a_disk_with_room_for(100, skill, "run", "greeter", *SCRIPTED, "--record", record)

    assert ended.exit_code == 2
    assert ended.err.startswith(f"error: the record {record} could not be written: File too large")


def test_a_foreign_line_is_told_with_its_place(
    skill: Skill, skill_delta: CommandLine, record: Path
) -> None:
    """Half a line is what a killed run leaves; in the middle of one it is something else."""
    skill_delta("run", "greeter", *SCRIPTED, "--record", record)
    first, second, *rest = record.read_text().splitlines(keepends=True)
    record.write_text("".join([first, second[:40] + "\n", *rest]))

    refused = skill_delta("report", record)

    assert refused.exit_code == 2
    assert f"{record}:2" in refused.err


def test_a_record_that_cannot_be_read_to_its_end_is_told(skill_delta: CommandLine) -> None:
    """A disk may give out while it is read."""
    refused = skill_delta("report", "/proc/self/mem")

    assert refused.exit_code == 2
    assert "/proc/self/mem" in refused.err


@pytest.mark.parametrize(
    "impossible",
    [
        {"confidence": 1.0},
        {"margin": -0.5},
        {"margin": "Infinity"},
        {"looks": {"repetitions": 0, "most": 9, "adaptive": "confirm"}},
        {"looks": {"repetitions": 10**7, "most": 10**7}},
        {"looks": {"repetitions": 9, "most": 3}},
        {"looks": {"repetitions": 1, "most": 9, "adaptive": "confirm"}},
        {"method": "by vote"},
    ],
)
def test_a_gate_that_no_run_has_is_refused(
    impossible: dict[str, object], skill: Skill, skill_delta: CommandLine, record: Path
) -> None:
    """A record may come from an artifact that anyone wrote."""
    skill_delta("run", "greeter", *SCRIPTED, "--record", record)
    first, *rest = record.read_text().splitlines(keepends=True)
    head = json.loads(first)
    head["request"]["policy"] |= impossible
    record.write_text("".join([json.dumps(head) + "\n", *rest]))

    refused = skill_delta("report", record)

    assert refused.exit_code == 2
    assert "the record asks for what this version does not know" in refused.err


def test_a_finished_record_that_lacks_a_trial_of_a_later_look_is_not_measured(
    skill: Skill, told: Reporting, record: Path
) -> None:
    """That look was taken: no ceiling came before it, by which the one before would stand."""
    skill.reply(UNSTEADY, ALL_FINE)
    flags = (*NONE, *INTERVAL, "--adaptive", "resolve")
    told("run", "greeter", *SCRIPTED, *flags, "--record", record)
    lines = record.read_text().splitlines(keepends=True)
    later = next(
        n
        for n, line in enumerate(lines)
        if json.loads(line).get("key", {}).get("repetition", 0) >= 3
    )
    record.write_text("".join(lines[:later] + lines[later + 1 :]))

    assert told("report", record).exit_code == 3


@pytest.mark.parametrize(
    "flags",
    [
        ("--record", "r.jsonl", "--json-output", "r.jsonl"),
        ("--out", "r.jsonl", "--markdown-output", "./r.jsonl"),
        ("--baseline-mode", "both", "--out", "r.jsonl", "--junit-output", "r-skill-on.jsonl"),
        (*NONE, "--scorecard", "s.json", "--json-output", "s.json"),
        ("--json-output", "a.json", "--markdown-output", "a.json"),
        ("--json-output", "greeter/SKILL.md"),
        ("--json-output", "greeter/evals/cases.yaml"),
    ],
)
def test_no_report_takes_another_files_place(
    flags: Sequence[str], skill: Skill, skill_delta: CommandLine
) -> None:
    """What was paid for, or what was to be measured, would be gone."""
    skill.reply(ALL_FINE)
    before = (skill.repository.folder / "greeter" / "SKILL.md").read_text()

    finished = skill_delta("run", "greeter", *SCRIPTED, *flags)

    assert finished.exit_code == 2
    assert (skill.repository.folder / "greeter" / "SKILL.md").read_text() == before


def test_no_report_of_a_record_takes_its_place(
    skill: Skill, skill_delta: CommandLine, record: Path
) -> None:
    """Rendered again, and still there."""
    skill.reply(ALL_FINE)
    skill_delta("run", "greeter", *SCRIPTED, "--record", str(record))
    kept = record.read_bytes()

    assert skill_delta("report", str(record), "--json-output", str(record)).exit_code == 2
    assert record.read_bytes() == kept
