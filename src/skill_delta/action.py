"""The container's entry point: inputs, event and token come from the environment.

Most pull requests change no skill, so little is imported before one is known to have.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.hosts.comment_marker import checked_comment_id
from skill_delta.hosts.events import load_event
from skill_delta.hosts.workflow import StepFiles
from skill_delta.providers import JUDGE_KEY_VARIABLE, KEY_VARIABLES
from skill_delta.render.commands import Annotation, Level, stopped
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.action import ActionRequest, act
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.terminal import Terminal

if TYPE_CHECKING:
    from pydantic import JsonValue, SecretStr


def inputs_of(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The action's inputs by name, with underscores; a blank one is absent."""
    return {
        variable.removeprefix("INPUT_").lower().replace("-", "_"): value
        for variable, value in environment.items()
        if variable.startswith("INPUT_") and value.strip()
    }


def request_of(environment: Mapping[str, str]) -> ActionRequest:
    """What the workflow asked for. Raises `UserError` for what it cannot have meant."""
    inputs = inputs_of(environment)

    def flags() -> Mapping[str, JsonValue]:
        from skill_delta.settings.commands import ACTION  # noqa: PLC0415 - once a skill changed
        from skill_delta.settings.inputs import from_texts  # noqa: PLC0415 - once a skill changed

        return from_texts(inputs, ACTION)

    return ActionRequest(
        event=load_event(environment),
        workspace=_workspace(environment),
        step=StepFiles.of(environment),
        flags=flags,
        comment_id=checked_comment_id(inputs.get("comment_id", "skill-delta").strip()),
        sets_status=_sets_status(inputs.get("status", "").strip()),
        base=inputs.get("base", "").strip() or None,
        pull_request=_number(inputs.get("pull_request", "").strip()),
        config=inputs.get("config", "").strip() or None,
        keys=Keys.of(environment, inputs.get("api_key"), inputs.get("judge_api_key")),
        token=_secret(inputs.get("github_token")),
    )


def published(
    inputs: Mapping[str, str],
    flags: Mapping[str, JsonValue],
    root: Path,
    environment: Mapping[str, str],
    terminal: Terminal,
) -> ExitCode:
    """Publish the record below `root` that the input `publish` names."""
    from skill_delta.wiring.publish import PublishRequest, publish  # noqa: PLC0415 - few jobs do
    from skill_delta.wiring.telling import Audience  # noqa: PLC0415 - as above

    audience = Audience(
        event=load_event(environment),
        step=StepFiles.of(environment),
        comment_id=checked_comment_id(inputs.get("comment_id", "skill-delta").strip()),
        sets_status=_sets_status(inputs.get("status", "").strip()),
        token=_secret(inputs.get("github_token")),
    )
    record, config = inputs["publish"].strip(), inputs.get("config", "").strip() or None
    return publish(PublishRequest(audience, root, record, flags, config), terminal)


def _published_by_inputs(inputs: Mapping[str, str], environment: Mapping[str, str]) -> ExitCode:
    from skill_delta.settings.commands import PUBLISH  # noqa: PLC0415 - few jobs publish
    from skill_delta.settings.inputs import from_texts  # noqa: PLC0415 - as above

    _refuse_unread(inputs)
    flags, terminal = from_texts(inputs, PUBLISH), Terminal(out=sys.stdout, err=sys.stderr)
    return published(inputs, flags, _workspace(environment), environment, terminal)


def _refuse_unread(inputs: Mapping[str, str]) -> None:
    from skill_delta.settings.commands import ACTION, PUBLISH  # noqa: PLC0415 - few jobs publish

    of_a_check = {"base", "pull_request", "api_key", "judge_api_key"}
    unread = {*ACTION.fields, *of_a_check} - {*PUBLISH.fields}
    given = sorted(name.replace("_", "-") for name in unread & inputs.keys())
    if given:
        raise UserError(
            f"with publish nothing reads the input{'s' * (len(given) > 1)} {', '.join(given)}",
            hint="leave them to the job that measures: this one runs nothing",
        )


def _workspace(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("GITHUB_WORKSPACE") or Path.cwd())


def _secret(value: str | None) -> SecretStr | None:
    from pydantic import SecretStr  # noqa: PLC0415 - loaded by the event's models already

    found = (value or "").strip()
    return SecretStr(found) if found else None


def _number(text: str) -> int | None:
    if not text:
        return None
    if not re.fullmatch("[1-9][0-9]{0,9}", text):
        raise UserError(f"input 'pull-request' is {text[:40]!r}", hint="it is a number, such as 7")
    return int(text)


def _sets_status(text: str) -> bool:
    if text not in {"", "commit"}:
        raise UserError(f"input 'status' is '{text}'", hint="it is commit, or blank for none")
    return text == "commit"


def main() -> None:
    """The action. Ends the process with one of `ExitCode`."""
    # A cancelled job's SIGTERM is a Ctrl-C. By itself it would end the process wherever it is, or
    # be ignored, as by the first process of a container.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(_guarded(os.environ))
    finally:
        signal.signal(signal.SIGTERM, before)


def _guarded(environment: Mapping[str, str]) -> int:
    try:
        inputs = inputs_of(environment)
        if "publish" in inputs:
            return _published_by_inputs(inputs, environment)
        return act(request_of(environment), Terminal(out=sys.stdout, err=sys.stderr))
    except UserError as error:
        message = f"{error.problem}\n{error.hint}".strip()
        print(Annotation(Level.ERROR, "skill-delta", message, error.place), flush=True)
        return ExitCode.USER_ERROR
    except ServiceError as error:
        print(Annotation(Level.ERROR, "Not measured", str(error)), flush=True)
        return ExitCode.NOT_MEASURED
    except KeyboardInterrupt:
        print(Annotation(Level.ERROR, "Not measured", "the run was cancelled"), flush=True)
        return ExitCode.NOT_MEASURED
    except Exception:  # noqa: BLE001 - whatever is left is ours
        _print_safely(traceback.format_exc(), environment)
        print(Annotation(Level.ERROR, "This is a bug in skill-delta", "please report it"))
        return ExitCode.BUG


def _print_safely(text: str, environment: Mapping[str, str]) -> None:
    """A traceback quotes values, which may be secrets, or lines that look like commands."""
    inputs = inputs_of(environment)
    values = (
        *(inputs.get(name, "") for name in ("api_key", "judge_api_key", "github_token")),
        *(environment.get(name, "") for name in (*KEY_VARIABLES, JUDGE_KEY_VARIABLE)),
    )
    safe = Redactor(filter(None, values)).redact(text)
    print(stopped(safe, secrets.token_hex(16)), end="", flush=True)


if __name__ == "__main__":
    main()
