"""`run_script`: a script that the skill ships, run in the trial's working folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import JsonValue

from skill_delta.core.conversation import OfferedTool
from skill_delta.core.workspace import RUN_SCRIPT
from skill_delta.errors import TrialError
from skill_delta.runners.bundle import SCRIPTS, ShippedFiles
from skill_delta.runners.folders import RefusedError, write_below
from skill_delta.runners.process import Ended, run_command
from skill_delta.runners.sandbox import SEARCHED, Places, Sandbox
from skill_delta.runners.toolbox import Arguments, BuiltIn, text_of
from skill_delta.runners.workspace import Workspace, remove_folder

INTERPRETERS = {".py": "python3", ".sh": "bash"}
"""What runs a script, by how its name ends."""
SECONDS = 30.0
"""How long one script may run."""
MAX_OUTPUT_BYTES = 20_000
"""How much of each of its streams the model is told."""
MAX_ARGUMENTS = 100
MAX_ARGUMENT_CHARACTERS = 10_000
"""How long all arguments may be together."""


def runnable(shipped: ShippedFiles) -> tuple[PurePosixPath, ...]:
    """The scripts for which there is an interpreter by their names."""
    return tuple(path for path in shipped.scripts if path.suffix.lower() in INTERPRETERS)


def interpreter_of(script: PurePosixPath) -> str | None:
    """The program that runs it; None where this machine has it not."""
    return shutil.which(INTERPRETERS[script.suffix.lower()], path=SEARCHED)


@dataclass(frozen=True, slots=True)
class Scripts:
    """Runs the scripts of skills. `seconds` is how long each may take."""

    sandbox: Sandbox
    seconds: float = SECONDS

    def tool(self, shipped: ShippedFiles, workspace: Workspace) -> BuiltIn | None:
        """The tool for one conversation; None where the skill has nothing to run."""
        if not runnable(shipped):
            return None
        calls = _Calls(self, shipped, workspace)
        schema: dict[str, JsonValue] = {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "args": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["path"],
            "additionalProperties": False,
        }
        description = (
            "Run a script that comes with the skill, in the working directory. `path` is relative "
            "to the skill; `args` are passed to the script."
        )
        return BuiltIn(OfferedTool(RUN_SCRIPT, description, schema), calls.answer, is_slow=True)


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls of one conversation."""

    scripts: Scripts
    shipped: ShippedFiles
    workspace: Workspace

    async def answer(self, arguments: Arguments) -> str:
        try:
            script = self._script(text_of(arguments, "path"))
            passed = _passed(arguments.get("args"))
            interpreter = interpreter_of(script)
            if interpreter is None:
                raise RefusedError(f"{script} needs {INTERPRETERS[script.suffix.lower()]}")
            ended = await self._run(interpreter, script, passed)
        except RefusedError as refused:
            return f"refused: {refused}"
        return _told(ended, self.scripts.seconds, self.workspace.over_limit())

    def _script(self, path: str) -> PurePosixPath:
        script = self.shipped.checked(path)
        if script not in self.shipped.scripts:
            known = ", ".join(map(str, runnable(self.shipped)))
            raise RefusedError(f"the skill ships no script {path} in {SCRIPTS}/; it has {known}")
        if script.suffix.lower() not in INTERPRETERS:
            raise RefusedError(f"{path} cannot be run: only {', '.join(INTERPRETERS)} can")
        return script

    async def _run(self, interpreter: str, script: PurePosixPath, passed: list[str]) -> Ended:
        # In a thread: a skill may ship much, and other trials are being timed.
        at = await asyncio.to_thread(self._places)
        command = self.scripts.sandbox.command(interpreter, str(script), passed, at)
        try:
            if command.user is not None:
                hand_over(self.workspace.place, at.work, command.user)
                os.chown(at.scratch, command.user, command.user)
            return await run_command(
                command, seconds=self.scripts.seconds, most_bytes=MAX_OUTPUT_BYTES
            )
        except (OSError, ValueError) as error:
            raise TrialError(f"{script} cannot be run: {error}") from None
        finally:
            remove_folder(at.scratch)

    def _places(self) -> Places:
        place = self.workspace.place
        at = Places(self.workspace.root, place / "skill", place / "scratch")
        try:
            if not at.skill.exists():
                self._stage(at.skill)
            at.scratch.mkdir(mode=0o700)
        except (OSError, RefusedError) as error:
            raise TrialError(f"the skill's files cannot be put in place: {error}") from None
        return at

    def _stage(self, folder: Path) -> None:
        """A copy for this trial: beside the skill's own files lie those with the answers."""
        folder.mkdir()
        for path in self.shipped.files:
            write_below(folder, path, self.shipped.content(path), 0o755)
        for place, folders, files in os.walk(folder):
            for name in (*folders, *files):
                Path(place, name).chmod(0o755)
        folder.chmod(0o755)


def _passed(arguments: JsonValue) -> list[str]:
    if arguments is None:
        return []
    texts = arguments if isinstance(arguments, list) else [arguments]
    passed = [text for text in texts if isinstance(text, str) and "\0" not in text]
    if len(passed) < len(texts) or not isinstance(arguments, list):
        raise RefusedError("args should be a list of texts")
    if len(passed) > MAX_ARGUMENTS or sum(map(len, passed)) > MAX_ARGUMENT_CHARACTERS:
        raise RefusedError("args are too many or too long")
    try:
        "".join(passed).encode()
    except UnicodeEncodeError:
        raise RefusedError("args hold half a character (a lone surrogate)") from None
    return passed


def hand_over(place: Path, work: Path, user: int) -> None:
    """Give the working folder to the user that the script runs as."""
    for on_the_way in (place.parent, place):
        on_the_way.chmod(0o711)
    os.chown(work, user, user)
    for _, folders, files, here in os.fwalk(work, follow_symlinks=False):
        for name in (*folders, *files):
            with suppress(FileNotFoundError):
                status = os.lstat(name, dir_fd=here)
                # A further name of what lies elsewhere would give that away.
                if status.st_uid != user and (status.st_nlink == 1 or name in folders):
                    os.chown(name, user, user, dir_fd=here, follow_symlinks=False)


def _told(ended: Ended, seconds: float, warning: str) -> str:
    code = ended.exit_code
    head = f"stopped after {seconds:g} s" if code is None else f"exit code: {code}"
    lines = [head, "stdout:", ended.stdout or "(empty)", "stderr:", ended.stderr or "(empty)"]
    return "\n".join([*lines, f"warning: {warning}"] if warning else lines)
