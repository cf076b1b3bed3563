"""The report files that a person named on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from skill_delta.core.report import Report
from skill_delta.errors import ExitCode, UserError
from skill_delta.history.working_files import shown
from skill_delta.render import RENDERERS, Renderer
from skill_delta.render.terminal import ANSI, PLAIN, Style
from skill_delta.settings.model import Settings
from skill_delta.wiring.terminal import Terminal


def outputs_of(settings: Settings, records: Iterable[Path] = ()) -> Mapping[str, Path]:
    """The reports to write, by format, as `checked_outputs`. `records` are of the same run."""
    named = {
        "json": settings.json_output,
        "junit": settings.junit_output,
        "markdown": settings.markdown_output,
    }
    others = {f"the record {path}": path for path in records}
    if settings.scorecard is not None:
        refuse_output("--scorecard", Path(settings.scorecard))
        others["the scorecard"] = Path(settings.scorecard)
    if settings.replies is not None:
        others["the replies file"] = Path(settings.replies)
    return checked_outputs({name: path for name, path in named.items() if path is not None}, others)


def checked_outputs(
    named: Mapping[str, str], others: Mapping[str, Path] = MappingProxyType({})
) -> Mapping[str, Path]:
    """The reports to write, their folders made: a path that cannot be is found unspent.

    `others` are further files of the run, by what they are. Raises `UserError` for such a path, and
    for a report in the place of another file.
    """
    outputs = {name: Path(path) for name, path in named.items()}
    taken = {_place(path): what for what, path in others.items()}
    for name, path in outputs.items():
        refuse_output(f"--{name}-output", path)
        if _is_of_a_skill(path):
            raise UserError(f"--{name}-output: {path} is a file of a skill", hint="name another")
        if (place := _place(path)) in taken:
            raise UserError(f"--{name}-output: {shown(place)} is {taken[place]} already")
        taken[place] = f"--{name}-output"
    return outputs


def _place(path: Path) -> Path:
    return path.parent.resolve() / path.name


def _is_of_a_skill(path: Path) -> bool:
    """Whether it is what a run reads of a skill."""
    return path.name.lower() == "skill.md" or path.absolute().parent.name == "evals"


def refuse_output(flag: str, path: Path) -> None:
    """Raise `UserError` for what cannot be written, or is no file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.lstat()  # names what cannot be the name of a file
        is_folder, is_link = path.is_dir(), path.is_symlink()
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UserError(f"{flag}: {path}: {reason}") from None
    if is_link:
        # What it leads to may be anything, and the repository may have put it there.
        raise UserError(
            f"{flag}: {path} is a link, and is not followed", hint="name the file itself"
        )
    if is_folder:
        raise UserError(f"{flag}: {path} is a folder", hint="name a file in it")


def deliver(
    files: Iterable[tuple[Path, str]],
    text: Callable[[Style], str],
    redact: Callable[[str], str],
    terminal: Terminal,
    code: ExitCode,
) -> ExitCode:
    """Write the files, say the text, and complain of each file that could not be written.

    `code` is what the gate says, and what is given back: a pass that left a file out is no pass.
    """
    # The files first: a terminal that gives out takes nothing with it.
    written = [write(path, redact(content)) for path, content in files]
    terminal.say(redact(text(ANSI if terminal.colour else PLAIN)))
    unwritten = [problem for problem in written if problem]
    for problem in unwritten:
        terminal.complain(f"error: {problem}\n")
    return ExitCode.USER_ERROR if unwritten and code is ExitCode.PASSED else code


def rendered(
    report: Report, outputs: Mapping[str, Path], renderers: Mapping[str, Renderer] = RENDERERS
) -> Iterator[tuple[Path, str]]:
    """The files of a report, by format, each rendered when it is its turn."""
    return ((path, renderers[name](report)) for name, path in outputs.items())


def write(path: Path, text: str) -> str:
    """Write a report; what went wrong, in words, where something did."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"the report {path} could not be written: {error.strerror}"
    return ""
