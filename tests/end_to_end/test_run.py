"""`skill-delta run`, from a folder to an exit code, as a person would call it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import CommandLine
from git_repositories import GitRepository
from model_stand_in import Answer, ModelStandIn, Received, refuses, says

GREETING = """\
---
name: greeting
description: Greets a person warmly and by name.
{version}---

When you greet someone, use their name and keep it to one short sentence.
{more}"""
QUIET = "Do not use exclamation marks: be warm, not loud.\n"

CASES = """\
cases:
  - name: greets the named person
    task: Say hello to Ada.
    assertions:
      - {kind: contains, value: Ada}
      - {kind: not_contains, value: "!"}
"""
REPLIES = """\
replies:
  - contains: exclamation marks
    text: "Hello, Ada."
    usage: {input_tokens: 63, output_tokens: 9}
    latency_ms: 410
  - text: "Hello, Ada!"
    usage: {input_tokens: 52, output_tokens: 5}
    latency_ms: 420
"""

SCRIPTED = ("--runner", "scripted")
PREVIOUS = ("--baseline", "previous")

ROOT = Path(__file__).parent.parent.parent


def skill(version: str = "", more: str = "") -> str:
    return GREETING.format(version=version and f"version: {version}\n", more=more)


@pytest.fixture
def greeting(repository: GitRepository) -> GitRepository:
    """The example's story: 1.0.0 first, then 1.1.0 which is not loud."""
    repository.commit(
        {
            "greeting/SKILL.md": skill("1.0.0"),
            "greeting/evals/greeting.yaml": CASES,
            "greeting/evals/replies.yaml": REPLIES,
        }
    )
    repository.commit({"greeting/SKILL.md": skill("1.1.0", QUIET)})
    return repository


def test_an_edit_that_helps_is_measured(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """The candidate passes the new assertion, the version before it does not."""
    run = skill_delta("run", "greeting", *SCRIPTED, *PREVIOUS)

    assert run.exit_code == 0
    assert (
        "[PASS] greeting :: greets the named person (scripted)  "
        "candidate 1/1  baseline 0/1  +100%\n"
    ) in run.out
    assert (
        "\nDelta vs baseline (previous)\n"
        "  pass rate  0% -> 100%  +100%   (higher is better)\n"
        "  tokens     +15   (negative is better)\n"
        "  cost       $+0.0000   (negative is better)\n"
        "  latency    -10ms   (negative is better)\n"
    ) in run.out


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or (ROOT / ".git" / "shallow").exists(),
    reason="this checkout has no history, or not all of it",
)
def test_the_example_works_on_this_repositorys_own_history(skill_delta: CommandLine) -> None:
    """What the README promises."""
    skill_delta.folder = ROOT

    run = skill_delta("run", "examples/greeting", *SCRIPTED, *PREVIOUS)

    assert run.exit_code == 0
    assert "candidate 1/1  baseline 0/1  +100%" in run.out


def test_uncommitted_edits_are_the_candidate(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """A change need not be committed to be measured."""
    greeting.write({"greeting/SKILL.md": skill("1.2.0")})

    run = skill_delta("run", "greeting", *SCRIPTED, *PREVIOUS)

    assert "candidate 0/1  baseline 1/1  -100%" in run.out
    assert run.exit_code == 1


def test_a_bar_out_of_reach_fails_with_its_reason(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Exit 1, and why."""
    run = skill_delta("run", "greeting", *SCRIPTED, *PREVIOUS, "--min-delta", "1.5")

    assert run.exit_code == 1
    assert "Gate FAILED:\n  - pass-rate delta +100% is below the required +150%\n" in run.out


def test_a_bar_without_a_baseline_is_a_user_error(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Nothing runs: the gate would check nothing."""
    run = skill_delta("run", "greeting", *SCRIPTED, "--min-delta", "0")

    assert run.exit_code == 2
    assert "no baseline was named" in run.err
    assert run.out == ""


def test_an_unquoted_version_is_a_user_error(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """1.20 and 1.2 are the same number: the message shows the quoted form."""
    greeting.write({"greeting/SKILL.md": skill("1.20")})

    run = skill_delta("run", "greeting", *SCRIPTED)

    assert run.exit_code == 2
    assert 'version: "1.20"' in run.err
    assert "greeting/SKILL.md:4" in run.err


def test_without_history_the_run_goes_on_and_only_a_required_delta_fails(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """An unresolved baseline is reported, never taken for "no change"."""
    shutil.rmtree(greeting.folder / ".git")

    noted = skill_delta("run", "greeting", *SCRIPTED, *PREVIOUS)
    gated = skill_delta("run", "greeting", *SCRIPTED, *PREVIOUS, "--min-delta", "0")

    assert noted.exit_code == 0
    assert "greeting is not in a git repository" in noted.out
    assert gated.exit_code == 1
    assert "no baseline arm ran" in gated.out
    assert "skill 'greeting' has no resolvable baseline" in gated.out


OFFERED = """\
cases:
  - name: reaches for the skill
    mode: offered
    task: Say hello to Ada.
    trajectory: {skill_triggered: true}
"""


def test_an_offered_case_under_none_runs_the_candidate_alone(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """There is nothing to offer in an empty skill; that is a note, not a failure."""
    greeting.write(
        {
            "greeting/evals/greeting.yaml": OFFERED,
            "greeting/evals/replies.yaml": "replies: [{text: Hello., loads_skill: true}]",
        }
    )

    run = skill_delta(
        "run", "greeting", *SCRIPTED, "--baseline", "none", "--json-output", "report.json"
    )

    report = json.loads((greeting.folder / "report.json").read_text())
    assert run.exit_code == 0
    assert [(o["arm"], o["status"]) for o in report["outcomes"]] == [
        ("candidate", "pass"),
        ("baseline", "skipped"),
    ]
    assert "cannot be offered" in run.out


def answer(request: Received) -> Answer:
    """A model that does as it is told."""
    loud = "exclamation" not in request.system
    return says("Hello, Ada!" if loud else "Hello, Ada.", input_tokens=50, output_tokens=4)


def openai(server: ModelStandIn) -> tuple[str, ...]:
    return ("--runner", "openai", "--model", "gpt-test", "--base-url", server.url)


def test_two_runners_have_a_block_each(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """Runners spend differently: one number for both would describe neither."""
    with ModelStandIn(answer) as server:
        run = skill_delta("run", "greeting", *SCRIPTED, *openai(server), *PREVIOUS)

    assert run.exit_code == 0
    assert (
        "Delta vs baseline (previous), per runner\n  scripted\n    pass rate  0% -> 100%" in run.out
    )
    assert "\n  openai\n    pass rate  0% -> 100%  +100%   (higher is better)\n" in run.out
    assert "    cost       unknown\n" in run.out
    assert run.out.startswith(
        "Plan: up to 2 arm(s) x 1 repeat(s) x 2 runner(s) x 1 case(s) = 4 runs\n"
    )


def test_an_endpoint_that_is_gone_gives_errors_and_no_score(
    greeting: GitRepository, skill_delta: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage is never a failed check."""
    with ModelStandIn(answer) as server:
        url = server.url
    _without_waits(monkeypatch)

    run = skill_delta(
        *("run", "greeting", "--model", "m", "--base-url", url, *PREVIOUS),
        *("--json-output", "report.json"),
    )

    report = json.loads((greeting.folder / "report.json").read_text())
    assert run.exit_code == 3
    assert "NOT MEASURED" in run.out
    assert {outcome["status"] for outcome in report["outcomes"]} == {"error"}
    assert report["summary"]["failed"] == 0
    assert report["summary"]["pass_rate"] is None


def test_a_case_lost_in_one_arm_is_out_of_both_halves(
    greeting: GitRepository, skill_delta: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the report says so."""
    _without_waits(monkeypatch)
    greeting.write({"greeting/evals/more.yaml": CASES.replace("greets the", "welcomes the")})

    def flaky(request: Received) -> Answer:
        return answer(request) if "exclamation" in request.system else refuses(500, "overloaded")

    with ModelStandIn(flaky) as server:
        run = skill_delta(
            *("run", "greeting", *openai(server), *PREVIOUS, "--json-output", "report.json")
        )

    delta = json.loads((greeting.folder / "report.json").read_text())["delta"]
    assert delta["comparable_cases"] == 0
    assert {entry["reason"] for entry in delta["excluded"]} == {"every baseline repetition errored"}
    assert "(excluded: every baseline repetition errored)" in run.out


def test_several_baselines_share_the_candidates_trials(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Each is an arm of its own, with a delta of its own."""
    run = skill_delta(
        *("run", "greeting", *SCRIPTED, *PREVIOUS, "--baseline", "none"),
        *("--min-delta", "previous=0.5,none=0.5", "--json-output", "report.json"),
    )

    report = json.loads((greeting.folder / "report.json").read_text())
    assert run.exit_code == 0
    assert [delta["baseline"] for delta in report["deltas"]] == ["previous", "none"]
    assert report["delta"] == report["deltas"][0]
    assert [o["arm"] for o in report["outcomes"]].count("candidate") == 1


def test_the_empty_skill_leaks_nothing(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """Not one byte of the baseline's request names the skill or quotes it."""
    with ModelStandIn(answer) as server:
        skill_delta("run", "greeting", *openai(server), "--baseline", "none")
        bodies = [request.body for request in server.requests]

    with_skill, without = sorted(bodies, key=len, reverse=True)
    assert b"# greeting" in with_skill
    assert b"greeting" not in without.lower().replace(b"say hello", b"")
    assert b"You are a helpful assistant." in without


def test_a_key_is_needed_where_the_vendor_wants_one(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Exit 3: it could not be measured; the variable to set is named."""
    run = skill_delta("run", "greeting", "--model", "gpt-5")

    assert run.exit_code == 3
    assert "SKILL_DELTA_API_KEY" in run.err


def test_the_key_reaches_the_endpoint_and_no_report(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Not even where a model says it aloud."""
    key = "sk-live-0123456789abcdef"
    with ModelStandIn(lambda _: says(f"Hello, Ada! The key is {key}.")) as server:
        run = skill_delta(
            *("run", "greeting", *openai(server), "--json-output", "r.json"),
            *("--markdown-output", "r.md", "--junit-output", "r.xml"),
            env={"SKILL_DELTA_API_KEY": key},
        )
        sent = server.requests[0].headers["authorization"]

    assert sent == f"Bearer {key}"
    assert run.exit_code == 1
    for text in (
        run.all,
        *((greeting.folder / f"r.{e}").read_text() for e in ("json", "md", "xml")),
    ):
        assert key not in text
        assert text


def test_a_key_is_gone_before_evidence_is_cut(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Half a key is a leak too, and what a base URL holds is one."""
    key = "SecretKey-0123456789abcdef-XYZ"
    said = f"{'x' * 90} {key}{'z' * 30} password-of-bob {'y' * 20}!{'z' * 200}"
    with ModelStandIn(lambda _: says(said)) as server:
        url = server.url.replace("http://", "http://bob:password-of-bob@")
        run = skill_delta(
            *("run", "greeting", "--model", "m", "--base-url", url, "--json-output", "r.json"),
            env={"SKILL_DELTA_API_KEY": key},
        )

    for text in (run.all, (greeting.folder / "r.json").read_text()):
        assert not any(key[i : i + 8] in text for i in range(len(key) - 8))
        assert "password-of-bob" not in text


def test_broken_eval_files_cost_nothing(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """Every file is read before the first trial; each problem names file, line and field."""
    greeting.write(
        {
            "greeting/evals/a.yaml": "cases:\n  - name: a\n    task: t\n    assertion: []\n",
            "greeting/evals/b.yaml": "cases:\n  - name: b\n",
        }
    )
    with ModelStandIn(answer) as server:
        run = skill_delta("run", "greeting", *openai(server))

        assert not server.requests
    assert run.exit_code == 2
    assert "greeting/evals/a.yaml:4" in run.err
    assert "did you mean assertions?" in run.err
    assert "greeting/evals/b.yaml:2" in run.err


def test_a_folder_without_skills_never_passes(
    repository: GitRepository, skill_delta: CommandLine
) -> None:
    """A gate that verified nothing is not green."""
    repository.write({"docs/README.md": "hello"})

    run = skill_delta("run", "docs", *SCRIPTED)

    assert run.exit_code == 1
    assert "no eval case ran: no SKILL.md was found" in run.out


def test_a_path_that_is_not_there_is_a_user_error(skill_delta: CommandLine) -> None:
    """It is named."""
    run = skill_delta("run", "nowhere", *SCRIPTED)

    assert run.exit_code == 2
    assert "nowhere" in run.err


def test_a_filter_that_matches_nothing_says_so(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """The likeliest cause of an empty run is a typo in the filter."""
    run = skill_delta("run", "greeting", *SCRIPTED, "--tag", "smoek")

    assert run.exit_code == 1
    assert "no case matches --tag smoek (greeting)" in run.out


def test_the_config_file_is_read_and_flags_win(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """From the repository's root, wherever the command is called."""
    greeting.write(
        {".github/skill-delta.yml": "runner: scripted\nbaseline: previous\nmin-delta: 1.5\n"}
    )

    configured = skill_delta("run", "greeting")
    overruled = skill_delta("run", "greeting", "--min-delta", "0.5")

    assert configured.exit_code == 1
    assert overruled.exit_code == 0


def test_a_report_that_cannot_be_written_is_an_error_and_hides_no_failure(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Exit 2 where the gate passed; a failing gate stays exit 1."""
    target = ("--json-output", "/proc/skill-delta.json")

    passed = skill_delta("run", "greeting", *SCRIPTED, *target)
    failed = skill_delta("run", "greeting", *SCRIPTED, *target, *PREVIOUS, "--min-delta", "2")

    assert passed.exit_code == 2
    assert "could not be written" in passed.err
    assert failed.exit_code == 1


def test_two_skills_of_one_name_stay_two(
    repository: GitRepository, skill_delta: CommandLine
) -> None:
    """Even where their folders are called alike, or a name imitates another's label."""
    for folder, answer_, name in (
        ("a", "ok", "x"),
        ("b", "bad", "x"),
        ("c", "ok", '"x (b)"'),
    ):
        repository.write(
            {
                f"{folder}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nHello.\n",
                f"{folder}/evals/cases.yaml": CASES.replace("Ada", "ok").replace("!", "bad"),
                f"{folder}/evals/replies.yaml": f"replies: [{{text: {answer_}}}]",
            }
        )

    run = skill_delta("run", ".", *SCRIPTED, "--json-output", "report.json")

    outcomes = json.loads((repository.folder / "report.json").read_text())["outcomes"]
    assert run.exit_code == 1
    assert len({outcome["skill"] for outcome in outcomes}) == 3
    assert [outcome["status"] for outcome in outcomes] == ["pass", "fail", "pass"]


def test_a_blank_setting_switches_nothing_off(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """`min-pass-rate:` without a value is the default."""
    greeting.write({"skill-delta.yml": "min-pass-rate:\n", "greeting/SKILL.md": skill("1.2.0")})

    assert skill_delta("run", "greeting", *SCRIPTED).exit_code == 1


def test_a_report_is_not_written_through_a_link(
    greeting: GitRepository, skill_delta: CommandLine, tmp_path: Path
) -> None:
    """The repository may have put it there."""
    target = tmp_path / "precious"
    target.write_text("mine")
    (greeting.folder / "report.json").symlink_to(target)

    run = skill_delta("run", "greeting", *SCRIPTED, "--json-output", "report.json")

    assert run.exit_code == 2
    assert target.read_text() == "mine"


@pytest.mark.parametrize("path", ["x" * 300, "a\0b", "folder/", "."])
def test_an_output_that_cannot_be_is_refused_unspent(
    path: str, greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """Before the first trial."""
    greeting.write({"folder/x": "", "skill-delta.yml": f"json-output: {json.dumps(path)}\n"})

    assert skill_delta("run", "greeting", *SCRIPTED).exit_code == 2


HOSTILE_KEY = '"a\\n  ::error::pwned\\e[31m"'


def test_no_line_of_an_error_is_written_by_a_file(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """In a workflow's log it would be a command."""
    greeting.write(
        {"greeting/SKILL.md": f"---\nname: x\n{HOSTILE_KEY}: 1\n{HOSTILE_KEY}: 2\n---\nhi"}
    )

    run = skill_delta("run", "greeting", *SCRIPTED)

    assert run.exit_code == 2
    assert "pwned" in run.err
    assert all(line.startswith(("error: ", "  help: ")) for line in run.err.splitlines())
    assert "\x1b" not in run.err


@pytest.mark.parametrize("closed", ["1>&-", "2>&-", "1>/dev/full", "2>/dev/full"])
def test_a_terminal_that_gives_out_takes_nothing_with_it(
    closed: str, greeting: GitRepository
) -> None:
    """The report is written, and the exit code is the gate's."""
    command = f"{sys.executable} -m skill_delta run greeting --runner scripted"
    report = "--json-output report.json"

    ended = subprocess.run(
        ["/bin/sh", "-c", f"{command} {report} {closed}"],
        cwd=greeting.folder,
        check=False,
        capture_output=True,
    )
    refused = subprocess.run(
        ["/bin/sh", "-c", f"{command} --min-delta 0 {closed}"],
        cwd=greeting.folder,
        check=False,
        capture_output=True,
    )

    assert ended.returncode == 0
    assert json.loads((greeting.folder / "report.json").read_text())["gate"]["passed"]
    assert refused.returncode == 2


def test_a_ceiling_names_what_it_cut(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """And the run is not measured."""
    run = skill_delta(
        *("run", "greeting", *SCRIPTED, *PREVIOUS, "--repeat", "3"),
        *("--max-tokens", "60", "--concurrency", "1"),
    )

    assert run.exit_code == 3
    assert "trials were not run: max-tokens 60 was reached" in run.out


def test_a_cost_ceiling_needs_a_price(greeting: GitRepository, skill_delta: CommandLine) -> None:
    """It is refused before anything is spent."""
    with ModelStandIn(answer) as server:
        run = skill_delta("run", "greeting", *openai(server), "--max-cost", "1")

        assert not server.requests
    assert run.exit_code == 2
    assert "no price is known for model 'gpt-test'" in run.err


def _without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Back off in no time: what is waited for is tested elsewhere."""
    monkeypatch.setattr("skill_delta.providers.gate.full_jitter", lambda *_: 0.0)
    monkeypatch.setattr("skill_delta.providers.http.full_jitter", lambda *_: 0.0)


def test_a_markdown_report_is_as_short_as_asked(
    greeting: GitRepository, skill_delta: CommandLine
) -> None:
    """What does not fit is left out and counted; a limit that nothing would read is refused."""
    flags = ("run", "greeting", "--runner", "scripted", "--markdown-max-chars", "1000")

    skill_delta(*flags, "--markdown-output", "r.md")

    assert len((greeting.folder / "r.md").read_text()) <= 1000
    assert skill_delta(*flags).exit_code == 2
