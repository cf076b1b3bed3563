"""A pull request in, what came of it out: the part that `pr` and the action share.

Most pull requests change no skill. What they do not need (settings, eval files, runners) is
imported once a skill is known to have changed: it takes longer to load than the trees to compare.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skill_delta.core.changes import SkillChange
from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.history.base import Ends, Refs, find_ends
from skill_delta.history.layout import find_git
from skill_delta.history.pull_request import changed_skills
from skill_delta.history.remote import Remote
from skill_delta.history.repository import Repository, Unreadable
from skill_delta.wiring.keys import Keys

if TYPE_CHECKING:
    from pydantic import JsonValue

    from skill_delta.core.report import Report
    from skill_delta.settings.model import Settings
    from skill_delta.wiring.terminal import Terminal


@dataclass(frozen=True, slots=True)
class RemoteRepository:
    """A repository on a git server, over HTTP(S). The token may be blank."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check, where, and by whose rules.

    `command` is `pr` or `action`. `flags` gives the settings that were given, by field name; like
    `starting` it is called once it is known that some skill changed. `config` is a path at the base
    commit.
    """

    workspace: Path
    refs: Refs
    command: str
    flags: Callable[[], Mapping[str, JsonValue]]
    config: str | None = None
    keys: Keys = field(default_factory=Keys)
    remote: RemoteRepository | None = None
    """Where what the clone lacks can be fetched from."""
    without_key: str = ""
    """Why there may be no key, where that is known: a fork's runs get no secrets."""
    scripts_refused: str = ""
    """Why no script of the skills may run whatever the settings say; blank where it may."""
    starting: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """No skill differs between the two ends: there is nothing to do.

    `elsewhere` counts the skills that do, outside the folders that were asked for.
    """

    ends: Ends
    elsewhere: int = 0

    exit_code = ExitCode.PASSED


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The changed skills were measured."""

    report: Report
    ends: Ends
    settings: Settings

    @property
    def exit_code(self) -> ExitCode:
        if is_forgiven(self.report, self.settings.on_unmeasured):
            return ExitCode.PASSED
        return self.report.gate.exit_code


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing was measured: something has to be put right first, or a service gave out."""

    error: UserError | ServiceError
    ends: Ends | None = None
    changes: tuple[SkillChange, ...] = ()
    settings: Settings | None = None

    @property
    def exit_code(self) -> ExitCode:
        if isinstance(self.error, UserError):
            return ExitCode.USER_ERROR
        return _forgiven(self.settings)


def is_forgiven(report: Report, on_unmeasured: Literal["fail", "pass"]) -> bool:
    """Whether "not measured" is let through.

    What was measured is not forgiven: a cap or a ceiling that cut a part of it is no outage.
    """
    code = report.gate.exit_code
    unmeasured = code is ExitCode.NOT_MEASURED and report.measured_nothing
    return unmeasured and on_unmeasured == "pass"


def _forgiven(settings: Settings | None) -> ExitCode:
    """What "not measured" means for the check."""
    passes = settings is not None and settings.on_unmeasured == "pass"
    return ExitCode.PASSED if passes else ExitCode.NOT_MEASURED


CheckOutcome = Unchanged | Evaluated | Stopped


def check(request: CheckRequest, terminal: Terminal) -> CheckOutcome:
    """Find what changed, measure it, decide. Raises only for a fault of ours."""
    stopped = Stopped(ServiceError("nothing was read yet"))
    try:
        with (
            tempfile.TemporaryDirectory(prefix="skill-delta-") as scratch,
            _repository_at(request.workspace) as repository,
        ):
            if request.remote is not None:
                repository.complete_from(
                    Remote(request.remote.url, request.remote.token, Path(scratch) / "fetched")
                )
            ends = find_ends(repository, request.refs)
            stopped = replace(stopped, ends=ends)
            skills = changed_skills(repository, ends)
            if not skills:
                return Unchanged(ends)
            stopped = replace(stopped, changes=skills)
            from skill_delta.wiring import pull_request  # noqa: PLC0415 - see above
            from skill_delta.wiring.records import Keeping  # noqa: PLC0415

            found = pull_request.PullRequestChanges(repository, ends, skills)
            settings = pull_request.settings_for(
                found, request.command, request.flags(), request.config
            )
            stopped = replace(stopped, settings=settings)
            if request.scripts_refused and settings.allow_scripts:
                settings = settings.model_copy(update={"allow_scripts": False})
                found = replace(found, notes=(request.scripts_refused,))
            found = pull_request.selected(found, settings)
            if not found.skills:
                return Unchanged(ends, elsewhere=len(skills))
            _refuse_without_key(request, settings)
            token = request.remote.token if request.remote else ""
            record = pull_request.record_in(request.workspace, settings)
            keeping = Keeping(record, secrets=(token,))
            request.starting()
            report = pull_request.measure(
                found, settings, request.keys, terminal, Path(scratch), request.config, keeping
            )
            return Evaluated(report, ends, settings)
    except (UserError, ServiceError) as error:
        return replace(stopped, error=error)


def _repository_at(workspace: Path) -> Repository:
    folders = find_git(workspace)
    if folders is None:
        raise UserError(
            f"{workspace} is not in a git repository",
            hint="run it in a repository; in a workflow, run actions/checkout before this action",
        )
    try:
        return Repository.open(folders)
    except Unreadable as error:
        raise ServiceError(f"the git repository of {workspace} cannot be read: {error}") from None


def _refuse_without_key(request: CheckRequest, settings: Settings) -> None:
    if request.without_key and not request.keys.runner and settings.asking_runners:
        raise ServiceError(request.without_key)
