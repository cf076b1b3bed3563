"""The command line: argv becomes settings, a verdict becomes an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.exceptions import TyperException

from skill_delta import __version__
from skill_delta.errors import ExitCode, ServiceError, UserError
from skill_delta.flags import with_flags
from skill_delta.render.problems import problem_lines
from skill_delta.render.redaction import Redactor
from skill_delta.wiring.keys import Keys
from skill_delta.wiring.terminal import Terminal, write

if TYPE_CHECKING:
    from pydantic import JsonValue

app = typer.Typer(
    name="skill-delta",
    help="Measure what an edit to an Agent Skill changes: two arms, a delta, a gate.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skill-delta {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USER_ERROR)


@app.command()
@with_flags("run")
def run(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Skills, or folders of skills.")
    ],
    config: Annotated[
        Path | None, typer.Option(help="Config file [.github/skill-delta.yml].")
    ] = None,
) -> None:
    """Run the skills' eval cases, with a baseline where one is named, and gate on the result."""
    from skill_delta.wiring import run as running  # noqa: PLC0415 - `--help` needs none of it

    flags = _given(context, without=("paths", "config"))
    raise typer.Exit(running.run(paths, flags, config, _keys(), _terminal()))


@app.command()
@with_flags("selfcheck")
def selfcheck(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Skills, or folders of skills.")
    ],
    config: Annotated[
        Path | None, typer.Option(help="Config file [.github/skill-delta.yml].")
    ] = None,
) -> None:
    """Run the skill against itself, and print how noisy its eval cases are."""
    from skill_delta.wiring import selfcheck as checking  # noqa: PLC0415 - as above

    flags = _given(context, without=("paths", "config"))
    raise typer.Exit(checking.selfcheck(paths, flags, config, _keys(), _terminal()))


@app.command()
def report(  # noqa: PLR0913, PLR0917 - each is a flag
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="A run record.")],
    json_output: Annotated[str | None, typer.Option(help="Write the JSON report here.")] = None,
    junit_output: Annotated[str | None, typer.Option(help="Write a JUnit report here.")] = None,
    markdown_output: Annotated[
        str | None, typer.Option(help="Write a Markdown report here.")
    ] = None,
    regrade: Annotated[
        bool, typer.Option("--regrade", help="Run the checks again over the recorded answers.")
    ] = False,
    evals: Annotated[
        Path | None, typer.Option(help="Regrade by the checks of these eval files.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="Ask this judge again: scripted or openai.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option(help="The model that judges [the recorded judge's].")
    ] = None,
    judge_base_url: Annotated[
        str | None, typer.Option(help="Base URL of the judge's endpoint.")
    ] = None,
    replies: Annotated[str | None, typer.Option(help="What the scripted judge says.")] = None,
) -> None:
    """Render a run record's report again, without a model call unless a judge is named."""
    from skill_delta.wiring import replay  # noqa: PLC0415 - as above

    named = {"json": json_output, "junit": junit_output, "markdown": markdown_output}
    asked = {"judge": judge, "judge_model": judge_model, "judge_base_url": judge_base_url}
    code = replay.report(
        record,
        {name: path for name, path in named.items() if path is not None},
        _terminal(),
        regrade=regrade,
        evals=evals,
        judge={k: v for k, v in {**asked, "replies": replies}.items() if v is not None},
        keys=_keys(),
    )
    raise typer.Exit(code)


@app.command()
@with_flags("pr")
def pr(
    context: typer.Context,
    base: Annotated[
        str | None,
        typer.Option(help="The commit to compare with [where HEAD left the default branch]."),
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="The commit to measure, without uncommitted edits [HEAD].")
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="Config file at the base commit [.github/skill-delta.yml].")
    ] = None,
) -> None:
    """Check what a branch changes, as the action does, and print the comment it would post."""
    from skill_delta.wiring import local_check  # noqa: PLC0415 - `--help` needs none of it

    flags = _given(context, without=("base", "head", "config"))
    raise typer.Exit(local_check.check_here(flags, base, head, config, _keys(), _terminal()))


@app.command()
@with_flags("publish")
def publish(
    context: typer.Context,
    record: Annotated[str, typer.Argument(metavar="RECORD", help="The other run's record.")],
    config: Annotated[
        str | None, typer.Option(help="Config file on the base branch [.github/skill-delta.yml].")
    ] = None,
    comment_id: Annotated[
        str, typer.Option(help="Tells the comment from those of other jobs.")
    ] = "skill-delta",
    status: Annotated[
        str | None, typer.Option(help="commit: set a commit status too [none].")
    ] = None,
) -> None:
    """In a `workflow_run` job: judge another run's record anew, and comment on its pull request.

    The token is that of GITHUB_TOKEN.
    """
    from skill_delta.action import published  # noqa: PLC0415 - `--help` needs none of it

    flags = _given(context, without=("record", "config", "comment_id", "status"))
    inputs = {
        "publish": record,
        "config": config or "",
        "comment_id": comment_id,
        "status": status or "",
        "github_token": os.environ.get("GITHUB_TOKEN", ""),
    }
    raise typer.Exit(published(inputs, flags, Path.cwd(), os.environ, _terminal()))


def _given(context: typer.Context, without: tuple[str, ...]) -> Mapping[str, JsonValue]:
    """The flags on the command line, by field name."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in context.params.items()
        if name not in without and value not in (None, (), [])
    }


def _terminal() -> Terminal:
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Terminal(sys.stdout, sys.stderr, colour=colour, watched=sys.stderr.isatty())


def _keys() -> Keys:
    return Keys.of(os.environ)


def main(arguments: list[str] | None = None) -> None:
    """The `skill-delta` command. Ends the process with one of `ExitCode`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called us
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_guarded(arguments))


def _guarded(arguments: list[str] | None) -> int:
    try:
        code: int | None = app(args=arguments, standalone_mode=False)
    except TyperException as usage:
        return _ended(UserError(usage.format_message(), hint="add --help to see every flag"))
    except (UserError, ServiceError) as error:
        return _ended(error)
    except (KeyboardInterrupt, typer.Abort):
        return _ended(ServiceError("cancelled before anything was measured"))
    except SystemExit:
        # The library's own way out when Ctrl-C comes early, or nobody reads what it prints.
        return ExitCode.NOT_MEASURED
    except Exception:  # noqa: BLE001 - whatever is left is ours
        write(sys.stderr, Redactor(_keys().given).redact(traceback.format_exc()))
        write(sys.stderr, "error: this is a bug in skill-delta, not in your skill: report it\n")
        return ExitCode.BUG
    return int(code or 0)


def _ended(error: UserError | ServiceError) -> ExitCode:
    """Say what went wrong. Others may have written parts of it, so no line of it is theirs."""
    redactor = Redactor(_keys().given)
    write(sys.stderr, redactor.redact("".join(f"{line}\n" for line in problem_lines(error))))
    return ExitCode.USER_ERROR if isinstance(error, UserError) else ExitCode.NOT_MEASURED
