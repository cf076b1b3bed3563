"""What made the workflow run, from GitHub's published payloads."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.errors import UserError
from skill_delta.hosts.events import (
    PAYLOAD_BYTES,
    Dispatch,
    Event,
    FinishedRun,
    MergeGroup,
    PullRequest,
    Push,
    Schedule,
    load_event,
    read_event,
)

PAYLOADS = Path(__file__).parent.parent / "github_events"
SHA = "5" * 40


def environment(name: str, **changes: str) -> dict[str, str]:
    """What GitHub sets for a job, as far as we read it."""
    return {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": "event.json",
        "GITHUB_REPOSITORY": "Codertocat/Hello-World",
        "GITHUB_ACTOR": "Codertocat",
        "GITHUB_SHA": SHA,
        "GITHUB_RUN_ID": "1658821493",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_API_URL": "https://api.github.com",
        "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
        **changes,
    }


def payload(file: str) -> Any:
    return json.loads((PAYLOADS / f"{file}.json").read_text(encoding="utf-8"))


def event(file: str, change: Callable[[Any], object] = lambda _: None, **variables: str) -> Event:
    """The event of a payload, which may be changed first."""
    content = payload(file)
    change(content)
    name = file.partition(".")[0]
    return read_event(json.dumps(content).encode(), environment(name, **variables))


@pytest.mark.parametrize("file", ["pull_request.opened", "pull_request.synchronize"])
def test_a_pull_request_from_a_branch_of_the_repository(file: str) -> None:
    """Its head is what is measured; the commit that is checked out is another one."""
    read = event(file)

    head = "ec26c3e57ca3a959ca5aad62de7213c562f8c821"
    assert read.trigger == PullRequest(2, head, "master", is_fork=False, comments=0)
    assert (read.head_sha, read.sha) == (head, SHA)
    assert (read.repository, read.default_branch) == ("Codertocat/Hello-World", "master")
    assert (read.run_id, read.run_attempt) == (1658821493, 2)
    assert read.run_url == "https://github.com/Codertocat/Hello-World/actions/runs/1658821493"


def test_a_pull_request_from_a_fork() -> None:
    """Another repository holds its head, whatever that is called."""

    def elsewhere(content: Any) -> None:
        content["pull_request"]["head"]["repo"]["id"] += 1

    assert is_fork(event("pull_request.opened", elsewhere))


def test_a_pull_request_whose_fork_is_gone_is_a_fork() -> None:
    """`head.repo` is null then."""
    assert is_fork(event("pull_request.fork_deleted"))


def is_fork(read: Event) -> bool:
    assert isinstance(read.trigger, PullRequest)
    return read.trigger.is_fork


def test_the_comments_of_a_pull_request_are_counted() -> None:
    """Where there are none, there is none of ours to look for."""
    read = event("pull_request.opened", lambda c: c["pull_request"].update(comments=3))

    assert isinstance(read.trigger, PullRequest)
    assert read.trigger.comments == 3


def test_a_merge_group_names_both_its_commits() -> None:
    """It is the one event whose base is to be believed."""
    read = event("merge_group")

    assert read.trigger == MergeGroup(
        head_sha="2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d",
        base_sha="380387fbc80638b734a49e1be1c4dfec1c01b33c",
        base_ref="refs/heads/main",
    )
    assert read.head_sha == "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"


def test_a_push_names_what_was_there_before() -> None:
    """Both commits are in the payload."""
    assert event("push").trigger == Push(
        "refs/heads/master",
        before="1f0a3a9ef3b0b2e2f9e5d2c9f6c1d1b7a4e8c360",
        after="6113728f27ae82c7b1a177c8d03f9e96e0adf246",
    )


def test_the_push_of_a_new_branch_has_nothing_before_it() -> None:
    """GitHub writes zeros."""
    trigger = event("push.new_branch").trigger

    assert isinstance(trigger, Push)
    assert trigger.before is None


def test_a_deleted_branch_has_nothing_after_it() -> None:
    """What the run speaks of is then the commit it runs on."""
    read = event("push", lambda content: content.update(after="0" * 40))

    assert isinstance(read.trigger, Push)
    assert read.trigger.after is None
    assert read.head_sha == SHA


def test_a_run_by_hand_is_of_the_commit_it_runs_on() -> None:
    """Nothing else is known of it."""
    read = event("workflow_dispatch")

    assert read.trigger == Dispatch("refs/heads/master")
    assert read.head_sha == SHA


def test_a_run_by_the_clock() -> None:
    """There is no published example; the field is `schedule`."""
    read = read_event(b'{"schedule": "15 3 * * 1"}', environment("schedule"))

    assert read.trigger == Schedule("15 3 * * 1")
    assert read.head_sha == SHA
    assert read.default_branch == ""


@pytest.mark.parametrize("repository", ["the same", "another", "none"])
def test_a_run_that_follows_another(repository: str) -> None:
    """The commit is the other run's; a repository that is not this one, or is gone, is a fork."""

    def change(content: Any) -> None:
        run = content["workflow_run"]
        if repository == "another":
            run["head_repository"]["id"] += 1
        elif repository == "none":
            run["head_repository"] = None

    trigger = event("workflow_run", change).trigger

    assert isinstance(trigger, FinishedRun)
    assert trigger.event == "pull_request"
    assert trigger.head_sha == "3484a3fb816e0859fd6e1cea078d76385ff50625"
    assert trigger.head == ("" if repository == "none" else "octo-org:master")
    assert trigger.is_fork == (repository != "the same")
    assert (trigger.run_id, trigger.attempt) == (289782451, 1)
    assert trigger.started_at == datetime(2020, 10, 5, 16, 33, 49, tzinfo=UTC)
    assert trigger.is_over


def test_a_run_that_only_began_is_not_over() -> None:
    """An older server does not say when an attempt began: then it is when the run did."""

    def change(content: Any) -> None:
        content["action"] = "requested"
        del content["workflow_run"]["run_started_at"]

    trigger = event("workflow_run", change).trigger

    assert isinstance(trigger, FinishedRun)
    assert not trigger.is_over
    assert trigger.started_at == datetime(2020, 10, 5, 16, 33, 24, tzinfo=UTC)


def test_dependabot_is_known_by_the_actor() -> None:
    """Its pull requests are of this repository, and yet get no secrets."""
    assert event("pull_request.opened", GITHUB_ACTOR="dependabot[bot]").is_dependabot
    assert not event("pull_request.opened").is_dependabot


def test_github_enterprise_server_is_elsewhere() -> None:
    """All three addresses are told to a job."""
    read = event(
        "push",
        GITHUB_SERVER_URL="https://git.example.com/",
        GITHUB_API_URL="https://git.example.com/api/v3",
        GITHUB_GRAPHQL_URL="https://git.example.com/api/graphql",
    )

    assert read.server_url == "https://git.example.com"
    assert read.api_url == "https://git.example.com/api/v3"
    assert read.graphql_url == "https://git.example.com/api/graphql"


def refusal(content: bytes, variables: dict[str, str]) -> str:
    with pytest.raises(UserError) as refused:
        read_event(content, variables)
    return str(refused.value)


def test_pull_request_target_is_warned_of() -> None:
    """It would run a fork's skills with the repository's secrets."""
    assert "would hand your secrets" in refusal(b"{}", environment("pull_request_target"))


def test_an_event_without_commits_names_those_that_have_some() -> None:
    """An issue has nothing to measure."""
    message = refusal(b"{}", environment("issues"))

    assert "the event 'issues' is not one to measure on" in message
    assert "pull_request, merge_group, push" in message


@pytest.mark.parametrize(
    "variable", [name for name in environment("push") if name != "GITHUB_EVENT_PATH"]
)
def test_a_missing_variable_is_named(variable: str) -> None:
    """Outside a workflow there are none."""
    variables = environment("push")
    del variables[variable]

    message = refusal((PAYLOADS / "push.json").read_bytes(), variables)

    assert f"{variable} is not set" in message
    assert "skill-delta pr" in message


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_REPOSITORY", "no-owner"),
        ("GITHUB_REPOSITORY", "a/b/../c"),
        ("GITHUB_SHA", "main"),
        ("GITHUB_RUN_ID", "first"),
        ("GITHUB_API_URL", "api.github.com"),
        ("GITHUB_API_URL", "file:///etc/passwd"),
    ],
)
def test_a_variable_that_github_would_not_set_is_shown(variable: str, value: str) -> None:
    """They end up in addresses, so they are looked at first."""
    content = (PAYLOADS / "push.json").read_bytes()

    assert f"{variable} is {value!r}" in refusal(content, environment("push", **{variable: value}))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[]", "should be an object"),
        (b'{"pull_request": ' * 5000, "JSON"),
        (b"{}", "pull_request: Field required"),
        (b'{"pull_request": {"number": "7"}}', "pull_request.number"),
        (b'{"pull_request": {"number": 7, "head": {"sha": "main"}}}', "pull_request.head.sha"),
    ],
    ids=["empty", "binary", "list", "deep", "nothing", "text", "branch"],
)
def test_a_broken_payload_says_what_is_wrong_with_it(content: bytes, said: str) -> None:
    """The file, and the field."""
    message = refusal(content, environment("pull_request"))

    assert message.startswith("event.json: this is not the payload of the event 'pull_request'")
    assert said in message


def test_a_payload_beyond_githubs_own_limit_is_refused() -> None:
    """Nothing is read without a bound."""
    assert "larger than 26,214,400 bytes" in refusal(
        b" " * (PAYLOAD_BYTES + 1), environment("push")
    )


@given(st.sampled_from(sorted(p.stem for p in PAYLOADS.glob("*.json"))), st.data())
def test_a_payload_with_anything_in_it_is_read_or_refused(file: str, data: st.DataObject) -> None:
    """Any one value replaced by any other: an event or a `UserError`, and nothing else."""
    content = payload(file)
    keys = [key for key in content if key not in {"repository", "sender", "organization"}]
    part = content
    while isinstance(part, dict) and part:
        key = data.draw(st.sampled_from(sorted(part) if part is not content else sorted(keys)))
        inside, part = part, part[key]
    inside[key] = data.draw(st.none() | st.booleans() | st.integers() | st.text(max_size=5))
    try:
        read = read_event(json.dumps(content).encode(), environment(file.partition(".")[0]))
    except UserError:
        return
    assert {field.name for field in fields(read)}


def test_the_file_of_the_event_is_read(tmp_path: Path) -> None:
    """At the path that GitHub names."""
    variables = environment("push", GITHUB_EVENT_PATH=str(PAYLOADS / "push.json"))

    assert isinstance(load_event(variables).trigger, Push)


def test_a_missing_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    """Not a traceback."""
    missing = tmp_path / "event.json"

    with pytest.raises(UserError, match=r"event\.json: the event's payload cannot be read"):
        load_event(environment("push", GITHUB_EVENT_PATH=str(missing)))


@pytest.mark.parametrize("module", ["events", "github"])
def test_a_run_that_posts_nothing_loads_no_client(module: str) -> None:
    """Most pushes touch no skill, and end in a fraction of a second."""
    heavy = ("github", "requests", "httpx", "typer")
    program = (
        f"import sys, skill_delta.hosts.{module};"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout.decode().strip() == "[]"
