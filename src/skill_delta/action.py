"""The container's entry point: inputs, event and token come from the environment.

Most pull requests change no skill, so little is imported before one is known to have.
"""

from __future__ import annotations

import os
import re
import secrets
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
    from pydantic import JsonValue


def inputs_of(environment: Mapping[str, str]) -> Mapping[str, str]:
    """The action's inputs by name, with underscores; a blank one is absent."""
    return {
        variable.removeprefix("INPUT_").lower().replace("-", "_"): value
        for variable, value in environment.items()
        if variable.startswith("INPUT_") and value.strip()
    }


def request_of(environment: Mapping[str, str]) -> ActionRequest:
    """What the workflow asked for. Raises `UserError` for what it cannot have meant."""
    from pydantic import SecretStr  # noqa: PLC0415 - loaded by the event's models already

    inputs = inputs_of(environment)

    token = inputs.get("github_token", "").strip()

    def flags() -> Mapping[str, JsonValue]:
        from skill_delta.settings.commands import ACTION  # noqa: PLC0415 - once a skill changed
        from skill_delta.settings.inputs import from_texts  # noqa: PLC0415 - once a skill changed

        return from_texts(inputs, ACTION)

    return ActionRequest(
        event=load_event(environment),
        workspace=Path(environment.get("GITHUB_WORKSPACE") or Path.cwd()),
        step=StepFiles.of(environment),
        flags=flags,
        comment_id=checked_comment_id(inputs.get("comment_id", "skill-delta").strip()),
        sets_status=_sets_status(inputs.get("status", "").strip()),
        base=inputs.get("base", "").strip() or None,
        pull_request=_number(inputs.get("pull_request", "").strip()),
        config=inputs.get("config", "").strip() or None,
        keys=_keys(environment),
        token=SecretStr(token) if token else None,
    )


def _keys(environment: Mapping[str, str]) -> Keys:
    inputs = inputs_of(environment)
    return Keys.of(environment, inputs.get("api_key"), inputs.get("judge_api_key"))


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
    sys.exit(_guarded(os.environ))


def _guarded(environment: Mapping[str, str]) -> int:
    try:
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
