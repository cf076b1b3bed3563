"""A run whose cases have a rubric, from the command line to the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from model_stand_in import ModelStandIn, Received, refuses, says

SKILL = "---\nname: greeter\ndescription: Greets.\n---\nGreet people by name.\n"
CASES = """\
cases:
  - name: greets Ada
    task: Greet Ada.
    judge:
      expected: A warm greeting.
      rubric: [It names Ada., It is warm.]
"""
REPLIES = """\
replies:
  - {arm: candidate, text: "Hello, dear Ada!", usage: {input_tokens: 10}, cost_usd: 0.001}
  - {text: "Hello.", usage: {input_tokens: 10}, cost_usd: 0.001}
judge:
  - contains: Ada
    verdicts:
      - {passed: true, evidence: Ada}
      - {passed: true, evidence: dear}
    usage: {input_tokens: 100, output_tokens: 20}
    cost_usd: 0.01
  - verdicts:
      - {passed: true, evidence: Ada}
      - {passed: false, reason: It is curt.}
    usage: {input_tokens: 100, output_tokens: 20}
    cost_usd: 0.01
"""
BOTH = ("--runner", "scripted", "--baseline", "none", "--json-output", "report.json")
KEY, JUDGES_KEY = "sk-runner-0123456789abcdef", "the-judges-own-0123456789"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "greeter"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "evals" / "cases.yaml").write_text(CASES)
    (folder / "evals" / "replies.yaml").write_text(REPLIES)
    return folder


def report_in(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text())


def test_a_rubric_is_judged_in_both_arms(skill: Path, skill_delta: CommandLine) -> None:
    """Without a key: the scripted judge. A quotation that was made up is a fail."""
    outputs = ("--markdown-output", "r.md", "--junit-output", "r.xml")
    run = skill_delta("run", skill, *BOTH, *outputs)

    with_skill, without = report_in(skill_delta.folder)["outcomes"]
    assert run.exit_code == 0
    assert [check["passed"] for check in with_skill["checks"]] == [True, True]
    assert [check["passed"] for check in without["checks"]] == [False, False]
    assert without["checks"] == [
        {
            "id": "judge[0]",
            "passed": False,
            "evidence": '"It names Ada.": the judge passes it by "Ada", which is not in the answer',
            "score": 0.0,
        },
        {
            "id": "judge[1]",
            "passed": False,
            "evidence": '"It is warm.": the judge says no: It is curt.',
            "score": 0.0,
        },
    ]
    assert "of it the judge scripted: 240 tokens" in (skill_delta.folder / "r.md").read_text()


def test_the_judges_spend_is_told_apart(skill: Path, skill_delta: CommandLine) -> None:
    """In the whole bill, and in neither arm's tokens or cost."""
    run = skill_delta("run", skill, *BOTH)

    report = report_in(skill_delta.folder)
    assert "Spent 260 tokens, $0.0220 (of it the judge scripted: 240 tokens, $0.0200)" in run.out
    assert report["summary"]["tokens"] == 260
    assert report["summary"]["judge"] == {"tokens": 240, "cost_usd": 0.02}
    assert report["delta"]["tokens_delta"] == 0
    assert report["outcomes"][0]["usage"] == {"input_tokens": 10, "output_tokens": 0}
    assert report["outcomes"][0]["judge"] == {
        "model": "scripted",
        "attempts": 1,
        "usage": {"input_tokens": 100, "output_tokens": 20},
        "cost_usd": 0.01,
    }
    assert report["environment"]["judge"] == {"name": "scripted", "model": None}


def test_a_failing_rubric_shows_its_line_and_reason(skill: Path, skill_delta: CommandLine) -> None:
    """On the console and in JUnit, as other checks do."""
    replies = skill / "evals" / "replies.yaml"
    replies.write_text(REPLIES.replace("arm: candidate", "arm: baseline"))

    run = skill_delta("run", skill, "--runner", "scripted", "--junit-output", "r.xml")

    assert run.exit_code == 1
    assert '        judge[1]: "It is warm.": the judge says no: It is curt.' in run.out
    assert "It is curt." in (skill_delta.folder / "r.xml").read_text()


def test_a_judges_words_are_harmless(skill: Path, skill_delta: CommandLine) -> None:
    """They leave by the one door that everyone else's do."""
    said = "@org/team </details> <!-- x --> \\e[31m | `x`"
    replies = skill / "evals" / "replies.yaml"
    replies.write_text(REPLIES.replace("It is curt.", f'"{said}"').replace("candidate", "none"))

    run = skill_delta("run", skill, "--runner", "scripted", "--markdown-output", "r.md")

    page = (skill_delta.folder / "r.md").read_text()
    assert run.exit_code == 1
    assert "\x1b" not in run.out + page
    assert "@org/team" not in page
    assert "<!-- x" not in page


def test_a_reply_that_is_no_verdict_is_an_error_and_no_fail(
    skill: Path, skill_delta: CommandLine
) -> None:
    """The trial says nothing about the skill."""
    replies = skill / "evals" / "replies.yaml"
    replies.write_text(REPLIES.partition("judge:")[0] + "judge: [{text: Lovely!, cost_usd: 0.01}]")

    run = skill_delta("run", skill, *BOTH)

    report = report_in(skill_delta.folder)
    assert run.exit_code == 3
    assert {outcome["status"] for outcome in report["outcomes"]} == {"error"}
    assert "judge: its reply is no verdict on the rubric: it is not JSON" in run.out
    assert report["outcomes"][0]["judge"]["attempts"] == 3
    assert report["summary"]["judge"]["cost_usd"] == 0.06


def verdict(*passed: bool) -> str:
    entries = [{"line": n, "passed": each, "evidence": "Ada"} for n, each in enumerate(passed)]
    return json.dumps({"verdicts": entries})


def greets(request: Received) -> str:
    return "Hello, Ada!" if "Greet people" in request.system else "Hello."


def judged_over_http(
    skill: Path, skill_delta: CommandLine, *flags: object, env: dict[str, str] | None = None
) -> tuple[Any, list[Received], list[Received]]:
    """A run with a model and a judge on servers of their own; what each of them was sent."""
    with (
        ModelStandIn(lambda request: says(greets(request))) as model,
        ModelStandIn(says(verdict(True, True))) as judge,
    ):
        run = skill_delta(
            *("run", skill, "--model", "gpt-5-mini", "--base-url", model.url),
            *("--judge-model", "gpt-5", "--judge-base-url", judge.url, *flags),
            *("--baseline", "none", "--json-output", "report.json"),
            env=env or {},
        )
        return run, model.requests, judge.requests


def test_a_judge_has_a_model_a_url_and_a_key_of_its_own(
    skill: Path, skill_delta: CommandLine
) -> None:
    """And neither endpoint is shown the other's key."""
    env = {"SKILL_DELTA_API_KEY": KEY, "SKILL_DELTA_JUDGE_API_KEY": JUDGES_KEY}

    run, to_model, to_judge = judged_over_http(skill, skill_delta, env=env)

    assert run.exit_code == 0
    assert "= 2 runs\nJudge: gpt-5 judges every run of 1 case\n" in run.out
    assert [request.json["model"] for request in to_judge] == ["gpt-5", "gpt-5"]
    assert {request.json["model"] for request in to_model} == {"gpt-5-mini"}
    assert {request.headers["authorization"] for request in to_judge} == {f"Bearer {JUDGES_KEY}"}
    assert {request.headers["authorization"] for request in to_model} == {f"Bearer {KEY}"}


def test_the_runners_key_goes_to_no_other_server(skill: Path, skill_delta: CommandLine) -> None:
    """A judge elsewhere, without a key of its own, is asked without any."""
    _, _, to_judge = judged_over_http(skill, skill_delta, env={"SKILL_DELTA_API_KEY": KEY})

    assert to_judge
    assert all("authorization" not in request.headers for request in to_judge)


def test_on_one_server_the_runners_key_is_the_judges(skill: Path, skill_delta: CommandLine) -> None:
    """It is that server's key already."""

    def answer(request: Received) -> Any:
        return says(verdict(True, True) if "rubric" in request.system else greets(request))

    with ModelStandIn(answer) as server:
        run = skill_delta(
            *("run", skill, "--model", "gpt-5-mini", "--base-url", server.url),
            env={"SKILL_DELTA_API_KEY": KEY},
        )

    assert run.exit_code == 0
    assert [request.json["model"] for request in server.requests] == ["gpt-5-mini"] * 2
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert "the judge gpt-5-mini and the model gpt-5-mini" in run.out


def test_a_judge_of_the_models_own_family_is_noted(skill: Path, skill_delta: CommandLine) -> None:
    """It may like what its own kind writes."""
    run, _, _ = judged_over_http(skill, skill_delta)
    other, _, _ = judged_over_http(skill, skill_delta, "--model", "openai=claude-opus-4")

    assert "the judge gpt-5 and the model gpt-5-mini of runner openai are of one family" in run.out
    assert "of one family" not in other.out


def test_no_key_of_the_judge_reaches_an_output(skill: Path, skill_delta: CommandLine) -> None:
    """Not even where the judge says it aloud, in its evidence or its reason."""
    said = json.dumps(
        {"verdicts": [{"line": n, "passed": False, "reason": JUDGES_KEY} for n in range(2)]}
    )
    with ModelStandIn(says(said)) as judge:
        run = skill_delta(
            *("run", skill, "--runner", "scripted", "--record", "run.jsonl"),
            *("--judge-model", "gpt-5", "--judge-base-url", judge.url),
            *("--json-output", "r.json", "--markdown-output", "r.md", "--junit-output", "r.xml"),
            env={"SKILL_DELTA_JUDGE_API_KEY": JUDGES_KEY},
        )

    assert run.exit_code == 1
    for name in ("r.json", "r.md", "r.xml", "run.jsonl"):
        assert JUDGES_KEY not in (skill_delta.folder / name).read_text()
    assert JUDGES_KEY not in run.all


def test_what_the_judges_url_holds_reaches_no_output(skill: Path, skill_delta: CommandLine) -> None:
    """A password in it is a secret like any other."""
    password = "hunter2-of-the-judge"
    entries = [{"line": n, "passed": False, "reason": password} for n in range(2)]
    with ModelStandIn(says(json.dumps({"verdicts": entries}))) as judge:
        run = skill_delta(
            *("run", skill, "--runner", "scripted", "--record", "run.jsonl"),
            *("--judge-model", "gpt-5", "--markdown-output", "r.md", "--judge-base-url"),
            judge.url.replace("http://", f"http://ada:{password}@"),
        )

    assert "the judge says no: (redacted)" in run.out
    for name in ("r.md", "run.jsonl"):
        assert password not in (skill_delta.folder / name).read_text()
    assert password not in run.all


@pytest.mark.parametrize(
    ("flags", "env", "code", "told"),
    [
        (("--judge", "openai"), {}, 2, "name one with --judge-model"),
        (("--judge-model", "gpt-5"), {}, 3, "set SKILL_DELTA_JUDGE_API_KEY"),
        (
            ("--judge-model", "m", "--judge-base-url", "https://api.openai.com/v1"),
            {},
            3,
            "there is no API key for the judge",
        ),
        (
            ("--judge", "scripted", "--judge-model", "gpt-5"),
            {},
            2,
            "--judge-model has no effect: the scripted judge asks no model",
        ),
        (
            ("--judge", "gpt-5"),
            {},
            2,
            "--judge: there is no judge 'gpt-5'; the judges are scripted, openai",
        ),
        (
            ("--judge-model", "m", "--judge-base-url", "http://x.test", "--max-cost", "1"),
            {},
            2,
            "no price is known for model 'm'",
        ),
    ],
)
def test_a_judge_that_cannot_be_asked_is_told_before_anything_is_spent(
    skill: Path,
    skill_delta: CommandLine,
    flags: tuple[str, ...],
    env: dict[str, str],
    code: int,
    told: str,
) -> None:
    """What to set or to name is said."""
    run = skill_delta("run", skill, "--runner", "scripted", *flags, env=env)

    assert run.exit_code == code
    assert told in run.err
    assert run.out == ""


def test_no_judge_is_needed_where_no_case_that_runs_has_a_rubric(
    skill: Path, skill_delta: CommandLine
) -> None:
    """Nobody is asked for a key that nobody uses."""
    more = "  - {name: says hello, task: Hi., assertions: [{kind: contains, value: Hello}]}\n"
    (skill / "evals" / "cases.yaml").write_text(CASES + more)

    run = skill_delta(
        *("run", skill, "--runner", "scripted", "--judge-model", "gpt-5"),
        *("--case", "says hello", "--json-output", "report.json"),
    )

    assert run.exit_code == 0
    assert "judge" not in report_in(skill_delta.folder)["environment"]
    assert "judge" not in report_in(skill_delta.folder)["summary"]


def test_the_judge_counts_toward_the_ceilings(skill: Path, skill_delta: CommandLine) -> None:
    """The bill is the bill, whoever runs it up."""
    run = skill_delta("run", skill, *BOTH, "--max-tokens", "100", "--concurrency", "1")

    assert run.exit_code == 3
    assert "max-tokens 100 was reached (130 used)" in run.out
    assert report_in(skill_delta.folder)["summary"]["not_run"] == 1


def test_a_record_has_what_the_judge_said(skill: Path, skill_delta: CommandLine) -> None:
    """The report comes out of it word for word, and the judge is not asked again."""
    ran = skill_delta("run", skill, *BOTH, "--record", "run.jsonl")
    (skill / "evals" / "replies.yaml").unlink()

    rendered = skill_delta("report", "run.jsonl", "--json-output", "again.json")
    regraded = skill_delta("report", "run.jsonl", "--regrade")

    assert rendered.out == regraded.out == ran.out
    assert (skill_delta.folder / "again.json").read_text() == (
        skill_delta.folder / "report.json"
    ).read_text()
    lines = [
        json.loads(line) for line in (skill_delta.folder / "run.jsonl").read_text().splitlines()
    ]
    judging = lines[1]["judging"]
    assert judging["lines"] == ["It names Ada.", "It is warm."]
    assert judging["expected"] == "A warm greeting."
    assert judging["judge"] == {"name": "scripted", "model": ""}


def test_resuming_does_not_mix_judges(skill: Path, skill_delta: CommandLine) -> None:
    """What another judge said is not taken over; what needs none is."""
    more = "  - {name: says hello, task: Hi., assertions: [{kind: contains, value: Hello}]}\n"
    (skill / "evals" / "cases.yaml").write_text(CASES + more)
    skill_delta("run", skill, "--runner", "scripted", "--record", "run.jsonl")
    resumed = ("run", skill, "--runner", "scripted", "--resume", "run.jsonl")

    same = skill_delta(*resumed)
    with ModelStandIn(says(verdict(True, True))) as judge:
        other = skill_delta(*resumed, "--judge-model", "gpt-5", "--judge-base-url", judge.url)

    assert "could not be used" not in same.out
    assert (
        "1 recorded trial could not be used: the skill, the case, the runner, the model or the "
        "judge is another now"
    ) in other.out
    assert len(judge.requests) == 1


DOWN = "judge: [{error: 503 from the judge, usage: {input_tokens: 5}, cost_usd: 0.25}]"


@pytest.fixture
def unjudged(skill: Path, skill_delta: CommandLine) -> Path:
    """A record of two answers that the judge gave out on; it is well again by now."""
    replies, record = skill / "evals" / "replies.yaml", skill_delta.folder / "run.jsonl"
    whole = replies.read_text()
    replies.write_text(whole.partition("judge:")[0] + DOWN)
    skill_delta("run", skill, *BOTH, "--record", record)
    # Whoever ran again would say something else.
    replies.write_text(whole.replace("Hello, dear Ada!", "Hello, dear Ada! Again!"))
    return record


def test_an_answer_that_lacks_a_verdict_is_judged_and_not_run_again(
    skill: Path, skill_delta: CommandLine, unjudged: Path
) -> None:
    """It was paid for; so was what the judge took before it gave out, and both once."""
    resumed = ("run", skill, *BOTH, "--resume", unjudged)

    first = skill_delta(*resumed)
    report = report_in(skill_delta.folder)
    rendered, second = skill_delta("report", unjudged), skill_delta(*resumed)

    assert first.exit_code == 0
    assert [o["transcript"]["answer"] for o in report["outcomes"]] == ["Hello, dear Ada!", "Hello."]
    assert report["outcomes"][0]["judge"]["cost_usd"] == pytest.approx(0.25 + 0.01)
    assert report["summary"]["cost_usd"] == pytest.approx(2 * (0.001 + 0.25 + 0.01))
    assert report["summary"]["tokens"] == 2 * (10 + 5 + 120)
    assert rendered.out == first.out == second.out


def test_an_answer_that_is_not_judged_now_either_is_what_it_was(
    skill: Path, skill_delta: CommandLine, unjudged: Path
) -> None:
    """Errored, with its cost, and not a trial that was never run."""
    resumed = skill_delta(
        *("run", skill, *BOTH, "--resume", unjudged, "--max-time", "0.000000001"),
    )

    report = report_in(skill_delta.folder)
    assert resumed.exit_code == 3
    assert {outcome["status"] for outcome in report["outcomes"]} == {"error"}
    assert report["summary"]["cost_usd"] == pytest.approx(2 * (0.001 + 0.25))
    assert skill_delta("report", unjudged).out == resumed.out


def test_a_judge_that_gives_out_again_is_paid_again(
    skill: Path, skill_delta: CommandLine, unjudged: Path
) -> None:
    """The answer was bought once."""
    replies = skill / "evals" / "replies.yaml"
    replies.write_text(replies.read_text().partition("judge:")[0] + DOWN)

    resumed = skill_delta("run", skill, *BOTH, "--resume", unjudged)
    again = skill_delta("run", skill, *BOTH, "--resume", unjudged)

    cost = report_in(skill_delta.folder)["summary"]["cost_usd"]
    assert resumed.exit_code == again.exit_code == 3
    assert cost == pytest.approx(2 * (0.001 + 3 * 0.25))
    assert skill_delta("report", unjudged).out == again.out


@pytest.mark.parametrize(("ceiling", "judged"), [("0.515", 2), ("0.511", 1), ("0.5", 0)])
def test_what_judging_took_counts_toward_the_ceiling_of_the_whole_record(
    ceiling: str, judged: int, skill: Path, skill_delta: CommandLine, unjudged: Path
) -> None:
    """What the answers and the judge that gave out cost, once; then what it takes by now."""
    priced = ("--resume", unjudged, "--max-cost", ceiling, "--concurrency", "1")

    skill_delta("run", skill, *BOTH, *priced)

    report = report_in(skill_delta.folder)
    statuses = [outcome["status"] for outcome in report["outcomes"]]
    assert len(statuses) - statuses.count("error") == judged
    assert report["summary"]["cost_usd"] == pytest.approx(2 * (0.001 + 0.25) + judged * 0.01)


def test_what_judged_answers_cost_counts_toward_the_ceiling(
    skill: Path, skill_delta: CommandLine, recorded: Path
) -> None:
    """Of six answers, the judge's part is ten times that of the runner."""
    more = ("--repeat", "4", "--resume", recorded, "--concurrency", "1")

    reached = skill_delta("run", skill, *BOTH, *more, "--max-cost", "0.06")

    assert reached.exit_code == 3
    assert "max-cost $0.06 was reached ($0.0660 spent)" in reached.out


# ---------------------------------------------------------------- judging again


@pytest.fixture
def recorded(skill: Path, skill_delta: CommandLine) -> Path:
    """Three answers of either arm, judged by the scripted judge."""
    path = skill_delta.folder / "run.jsonl"
    skill_delta("run", skill, *BOTH, "--repeat", "3", "--record", path)
    return path


def replies_in(folder: Path, judge: str) -> Path:
    path = folder / "judge.yaml"
    path.write_text(f"judge:\n{judge}")
    return path


AGAIN = """\
  - {contains: dear, verdicts: [{passed: true, evidence: Ada}, {passed: false}]}
  - {passed: false, cost_usd: 0.5}
"""


def test_a_judge_can_be_asked_again(recorded: Path, skill_delta: CommandLine) -> None:
    """The report goes by the new verdicts, and says which of them changed."""
    replies = replies_in(recorded.parent, AGAIN)

    again = skill_delta(
        *("report", recorded, "--regrade", "--judge", "scripted", "--replies", replies),
        *("--json-output", "again.json"),
    )

    told = json.loads((skill_delta.folder / "again.json").read_text())
    assert again.exit_code == 1
    assert "judged again by scripted (as before): 3 of 12 verdicts changed (judge noise 25%)" in (
        again.out
    )
    assert (
        'greeter :: greets Ada: judge[1] "It is warm.": 3 of 6 verdicts the same when judged again'
    ) in again.out
    assert "judge[0]" not in again.out.split("Notes", 1)[1]
    assert told["judge_agreement"]["flip_rate"] == 0.25
    assert [line["same"] for line in told["judge_agreement"]["lines"]] == [6, 3]


def test_both_judgings_are_on_the_bill(recorded: Path, skill_delta: CommandLine) -> None:
    """Six answers at a cent before, three at half a dollar now."""
    replies = replies_in(recorded.parent, AGAIN)

    again = skill_delta(
        *("report", recorded, "--regrade", "--judge", "scripted", "--replies", replies),
        *("--json-output", "again.json"),
    )

    summary = json.loads((skill_delta.folder / "again.json").read_text())["summary"]
    assert again.exit_code == 1
    assert summary["judge"] == {"tokens": 0, "cost_usd": 1.5}
    assert summary["cost_usd"] == pytest.approx(6 * 0.001 + 6 * 0.01 + 1.5)


def test_another_judge_is_asked_at_its_own_endpoint(
    recorded: Path, skill_delta: CommandLine
) -> None:
    """The answers are those of the record; no model is asked for one."""
    with ModelStandIn(says(verdict(True, True))) as judge:
        again = skill_delta(
            *("report", recorded, "--regrade", "--judge-model", "gpt-5"),
            *("--judge-base-url", judge.url),
            env={"SKILL_DELTA_JUDGE_API_KEY": JUDGES_KEY},
        )

    assert again.out.startswith("Plan: 6 recorded answers judged by gpt-5\n")
    assert "judged again by gpt-5 (in the record by scripted): 0 of 12 verdicts changed" in (
        again.out
    )
    assert len(judge.requests) == 6
    assert {request.headers["authorization"] for request in judge.requests} == {
        f"Bearer {JUDGES_KEY}"
    }


def test_as_many_answers_are_judged_at_once_as_the_run_had_trials(
    skill: Path, skill_delta: CommandLine
) -> None:
    """One after the other needs one connection."""
    skill_delta("run", skill, *BOTH, "--repeat", "3", "--concurrency", "1", "--record", "1.jsonl")

    with ModelStandIn(says(verdict(True, True))) as judge:
        skill_delta(
            *("report", "1.jsonl", "--regrade", "--judge-model", "gpt-5"),
            *("--judge-base-url", judge.url),
        )

    assert len(judge.requests) == 6
    assert judge.connections == 1


@pytest.mark.parametrize("at_once", [0, -1, 10**9])
def test_a_record_cannot_say_that_nobody_is_ever_asked(
    at_once: int, recorded: Path, skill_delta: CommandLine
) -> None:
    """Anyone may have written it."""
    head, *rest = recorded.read_text().splitlines(keepends=True)
    run = json.loads(head)
    run["request"]["at_once"] = at_once
    recorded.write_text("".join((json.dumps(run) + "\n", *rest)))
    replies = replies_in(recorded.parent, "  - {passed: true}\n")

    again = skill_delta(
        *("report", recorded, "--regrade", "--judge", "scripted", "--replies", replies)
    )

    assert again.exit_code == 2
    assert "concurrency" in again.err


def test_a_note_on_the_judges_family_is_of_the_judge_that_was_asked(
    skill: Path, skill_delta: CommandLine
) -> None:
    """Not of the one before it."""
    ran, _, _ = judged_over_http(skill, skill_delta, "--record", "run.jsonl")

    def again(model: str) -> str:
        with ModelStandIn(says(verdict(True, True))) as judge:
            return skill_delta(
                *("report", "run.jsonl", "--regrade", "--judge-model", model),
                *("--judge-base-url", judge.url),
            ).out

    assert "of one family (gpt)" in ran.out
    assert "of one family" not in again("claude-opus-4")
    assert again("gpt-4.1").count("of one family (gpt)") == 1


def test_a_trial_that_was_lost_for_want_of_a_verdict_can_be_judged(
    skill: Path, skill_delta: CommandLine
) -> None:
    """Its answer was paid for, and is in the record."""
    replies = skill / "evals" / "replies.yaml"
    whole = replies.read_text()
    replies.write_text(whole.partition("judge:")[0] + "judge: [{error: 503 from the judge}]")
    lost = skill_delta("run", skill, *BOTH, "--record", "run.jsonl")
    replies.write_text(whole)

    again = skill_delta(
        *("report", "run.jsonl", "--regrade", "--judge", "scripted", "--replies", replies)
    )

    assert "judge: 503 from the judge" in lost.out
    assert again.exit_code == 0
    assert "no verdict could be compared" in again.out
    assert "2 answers could not be compared" in again.out


def test_a_judge_that_refuses_everything_ends_it(recorded: Path, skill_delta: CommandLine) -> None:
    """There is no report to make of that."""
    with ModelStandIn(refuses(401)) as judge:
        again = skill_delta(
            *("report", recorded, "--regrade", "--judge-model", "gpt-5"),
            *("--judge-base-url", judge.url),
        )

    assert again.exit_code == 3
    assert "it wants a key; set SKILL_DELTA_JUDGE_API_KEY or OPENAI_API_KEY" in again.err


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (("--judge-model", "gpt-5"), 2, "--judge-model has no effect: only --regrade reads it"),
        (("--regrade", "--replies", "x.yaml"), 2, "x.yaml"),
        (("--regrade", "--judge", "scripted"), 2, "add --replies"),
        (("--regrade", "--judge", "openai"), 2, "name one with --judge-model"),
        (("--regrade", "--judge-model", "gpt-5"), 3, "set SKILL_DELTA_JUDGE_API_KEY"),
        (("--regrade", "--judge-model", "m", "--replies", "x"), 2, "--replies has no effect"),
    ],
)
def test_what_cannot_be_judged_again_is_told(
    recorded: Path, skill_delta: CommandLine, flags: tuple[str, ...], code: int, told: str
) -> None:
    """Before anyone is asked."""
    again = skill_delta("report", recorded, *flags)

    assert again.exit_code == code
    assert told in again.err


def test_a_record_without_a_rubric_has_nothing_to_judge(
    skill: Path, skill_delta: CommandLine
) -> None:
    """Silence would look like a verdict."""
    (skill / "evals" / "cases.yaml").write_text(
        "cases: [{name: a, task: t, assertions: [{kind: contains, value: Hello}]}]"
    )
    skill_delta("run", skill, "--runner", "scripted", "--record", "run.jsonl")
    replies = skill / "evals" / "replies.yaml"

    again = skill_delta(
        *("report", "run.jsonl", "--regrade", "--judge", "scripted", "--replies", replies)
    )

    assert again.exit_code == 2
    assert "no recorded answer is to a case with a rubric" in again.err


def test_rubric_lines_that_were_put_right_keep_the_verdicts_of_the_others(
    recorded: Path, skill: Path, skill_delta: CommandLine
) -> None:
    """Under `--evals`; what the judge was never asked is not evaluated, and so no pass."""
    evals = skill / "evals" / "cases.yaml"
    evals.write_text(CASES.replace("It names Ada., It is warm.", "It is warm., It is brief."))

    again = skill_delta(
        *("report", recorded, "--regrade", "--evals", evals, "--json-output", "again.json")
    )

    first = json.loads((skill_delta.folder / "again.json").read_text())["outcomes"][0]
    assert again.exit_code == 1
    assert [(check["id"], check["passed"]) for check in first["checks"]] == [
        ("judge[0]", True),
        ("judge[1]", None),
    ]
