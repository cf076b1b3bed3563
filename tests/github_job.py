"""A job on GitHub, as the action finds it: a checkout, an event, inputs, files to fill."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from git_repositories import GitRepository
from github_stand_in import GitHubStandIn
from skill_delta import action
from skill_delta.providers import KEY_VARIABLES

EVENTS = Path(__file__).parent / "github_events"
NUMBER = 7

Change = Callable[[Any], object]


@dataclass(frozen=True)
class Finished:
    """How the action ended and what it left."""

    exit_code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


class Job:
    """Runs the action's own entry point, in this process, against the GitHub stand-in."""

    def __init__(
        self,
        checkout: GitRepository,
        github: GitHubStandIn,
        files: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        server_url: str = "https://github.com",
    ) -> None:
        """`server_url` is where git serves the repository."""
        self.checkout = checkout
        self.server_url = server_url
        self.actor = "octocat"
        self.attempt = 1
        self.process: Callable[[Mapping[str, str]], tuple[int, str]] = self._called
        """Runs the entry point: exit code and log. In this process, where nothing else is set."""
        self.github = github
        self._files = files
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self._run = 100

    def pull_request(
        self, head: str, *, fork: bool = False, into: str = "main", **inputs: str
    ) -> Finished:
        """An event of pull request 7, whose head is this commit, to go `into` that branch."""
        if NUMBER not in self.github.repository.pull_requests:
            self.github.repository.open_pull_request(NUMBER, head)
        pull = self.github.repository.pull_requests[NUMBER]
        pull.head_sha = head
        payload = _payload("pull_request.fork_deleted" if fork else "pull_request.synchronize")
        payload["number"] = NUMBER
        described = payload["pull_request"]
        described |= {"number": NUMBER, "comments": len(self.github.repository.comments)}
        described["head"] |= {"sha": head}
        described["base"] |= {"ref": into}
        if not fork:
            described["head"]["repo"]["id"] = described["base"]["repo"]["id"]
        return self.run("pull_request", payload, inputs)

    def merge_group(self, base: str, head: str, **inputs: str) -> Finished:
        payload = _payload("merge_group")
        payload["merge_group"] |= {"base_sha": base, "head_sha": head}
        return self.run("merge_group", payload, inputs)

    def push(self, before: str, after: str, **inputs: str) -> Finished:
        payload = _payload("push") | {"before": before, "after": after}
        return self.run("push", payload, inputs)

    def dispatch(self, **inputs: str) -> Finished:
        """Someone runs the workflow by hand."""
        return self.run("workflow_dispatch", _payload("workflow_dispatch"), inputs)

    def follow(
        self, workspace: Path, head: str, *, change: Change = lambda _: None, **inputs: str
    ) -> Finished:
        """Another workflow's run of this commit is over; nothing is checked out.

        `change` is what is different about that run.
        """
        payload = _payload("workflow_run")
        run = payload["workflow_run"]
        run |= {"id": self._run, "head_sha": head, "head_branch": "topic"}
        run["run_started_at"] = datetime.now(UTC).isoformat(timespec="seconds")
        change(payload)
        return self.run("workflow_run", payload, inputs, workspace)

    def run(
        self,
        event: str,
        payload: Mapping[str, object],
        inputs: Mapping[str, str],
        workspace: Path | None = None,
    ) -> Finished:
        """The job of an event, on the checkout unless another workspace is named."""
        self._run += 1
        folder = self._files / str(self._run)
        folder.mkdir(parents=True)
        (folder / "event.json").write_text(json.dumps(payload))
        environment = {
            **self.environment(event, folder),
            **({"GITHUB_WORKSPACE": str(workspace)} if workspace else {}),
            **{f"INPUT_{name.replace('_', '-').upper()}": value for name, value in inputs.items()},
        }
        code, log = self.process(environment)
        return Finished(
            code,
            log,
            dict(line.split("=", 1) for line in _read(folder / "output").splitlines()),
            _read(folder / "summary"),
        )

    def _called(self, environment: Mapping[str, str]) -> tuple[int, str]:
        self._capsys.readouterr()
        with self._monkeypatch.context() as runner:
            for name in KEY_VARIABLES:
                runner.delenv(name, raising=False)
            for name, value in environment.items():
                runner.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                action.main()
        printed = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return ended.value.code, printed.out + printed.err

    def environment(self, event: str, folder: Path) -> dict[str, str]:
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTOR": self.actor,
            "GITHUB_API_URL": self.github.api_url,
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_GRAPHQL_URL": self.github.graphql_url,
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_REPOSITORY": self.github.repository.name,
            "GITHUB_RUN_ATTEMPT": str(self.attempt),
            "GITHUB_RUN_ID": str(self._run),
            "GITHUB_SERVER_URL": self.server_url,
            "GITHUB_SHA": self.checkout.head(),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GITHUB_WORKSPACE": str(self.checkout.folder),
            "INPUT_GITHUB-TOKEN": self.github.token,
            "NO_PROXY": "127.0.0.1",
        }


def _payload(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text())


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def commands_in(log: str) -> list[str]:
    """The lines that the runner takes for commands, given what is stopped."""
    active, token = [], None
    for line in log.splitlines():
        stripped = line.strip()
        if token is not None:
            token = None if stripped == f"::{token}::" else token
        elif stripped.startswith("::stop-commands::"):
            token = stripped.removeprefix("::stop-commands::")
        elif stripped.startswith("::") or "##[" in stripped:
            active.append(stripped)
    return active
