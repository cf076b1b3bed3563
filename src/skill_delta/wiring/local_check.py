"""`pr`: the action's check on this machine, with the comment printed in place of posted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from skill_delta.errors import ExitCode, UserError
from skill_delta.history.base import Ends, RevisionRefs
from skill_delta.render.comment import render_comment
from skill_delta.render.frame import Frame, render_unchanged
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.action import write_reports
from skill_delta.wiring.check import CheckRequest, Evaluated, Stopped, Unchanged, check
from skill_delta.wiring.endpoints import redactor_for
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.terminal import Terminal


def check_here(
    flags: Mapping[str, JsonValue],
    base: str | None,
    head: str | None,
    config: str | None,
    keys: Keys,
    terminal: Terminal,
) -> ExitCode:
    """Check what lies between two revisions of the repository around the current folder.

    Raises what stopped the check: `UserError`, or `ServiceError` where nothing could be measured.
    """
    outcome = check(
        CheckRequest(
            workspace=Path.cwd(),
            refs=RevisionRefs(base, head),
            command="pr",
            flags=lambda: flags,
            config=config,
            keys=keys,
        ),
        terminal,
    )
    match outcome:
        case Stopped(error=error):
            if outcome.exit_code is not ExitCode.PASSED:
                raise error
            terminal.complain(f"not measured: {error}\n")
            return ExitCode.PASSED
        case Unchanged(ends=ends, elsewhere=elsewhere):
            frame = Frame(base_found=ends.how)
            terminal.say(
                render_unchanged(ends.base.hex(), ends.head.hex(), frame=frame, elsewhere=elsewhere)
            )
            terminal.complain(f"note: {_seen_of(ends)}\n")
            return outcome.exit_code
        case Evaluated():
            redactor = redactor_for(outcome.settings, keys)
            return _told(outcome, redactor, terminal)


def _seen_of(ends: Ends) -> str:
    """Why an edit may not be among what was compared."""
    if ends.base == ends.head:
        return "base and head are the same commit; name another by --base"
    return "commits are compared: an edit that is not committed is not among them"


def _told(outcome: Evaluated, redactor: Redactor, terminal: Terminal) -> ExitCode:
    redact, folder = redactor.redact, outcome.settings.report_dir
    frame = Frame(base_found=outcome.ends.how, report_path=f"{folder}/report.md" if folder else "")
    terminal.say(redact(render_comment(outcome.report, frame=frame, redact=redact)))
    code = outcome.exit_code
    unwritten = write_reports(Path.cwd(), folder, outcome.report, redact) if folder else ""
    if unwritten and code is ExitCode.PASSED:
        raise UserError(unwritten)
    return code
