"""The command line: argv becomes settings, a verdict becomes an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from skill_delta import __version__
from skill_delta.errors import ExitCode, ServiceError, UserError

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
    """Keep `run` a subcommand, so that there is room for others."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USER_ERROR)


@app.command()
def run(
    context: typer.Context,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Skills, or folders of skills.")
    ],
    runner: Annotated[
        list[str] | None,
        typer.Option(help="What drives the trials: scripted or openai (repeatable) [openai]."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="The model to ask, or RUNNER=MODEL (repeatable).")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Base URL of the chat-completions endpoint.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        typer.Option(help="Compare with none, previous, base or a revision (repeatable)."),
    ] = None,
    base: Annotated[
        str | None, typer.Option(help="Revision that `previous` walks from and `base` reads.")
    ] = None,
    repeat: Annotated[int | None, typer.Option(help="Runs of each case in each arm [1].")] = None,
    min_delta: Annotated[
        str | None,
        typer.Option(help="Required pass-rate delta, or BASELINE=DELTA,… (needs --baseline)."),
    ] = None,
    min_pass_rate: Annotated[
        float | None, typer.Option(help="Required pass rate of the candidate [1.0].")
    ] = None,
    per_skill_min: Annotated[
        list[str] | None, typer.Option(help="SKILL=RATE: one skill's own bar (repeatable).")
    ] = None,
    fail_on_error: Annotated[
        bool | None,
        typer.Option("--fail-on-error/--no-fail-on-error", help="Lost trials fail the gate [yes]."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Only cases with this tag (repeatable).")
    ] = None,
    case: Annotated[
        list[str] | None, typer.Option(help="Only cases whose name has this text (repeatable).")
    ] = None,
    evals: Annotated[
        str | None, typer.Option(help="Eval file or folder, in place of the skills' own.")
    ] = None,
    replies: Annotated[str | None, typer.Option(help="What the scripted runner answers.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Trials at once [8].")] = None,
    max_cost: Annotated[
        float | None, typer.Option(help="Start no trial past this many US dollars.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Start no trial past this many tokens.")
    ] = None,
    max_time: Annotated[
        float | None, typer.Option(help="Start no trial past this many seconds.")
    ] = None,
    json_output: Annotated[str | None, typer.Option(help="Write the JSON report here.")] = None,
    junit_output: Annotated[str | None, typer.Option(help="Write a JUnit report here.")] = None,
    markdown_output: Annotated[
        str | None, typer.Option(help="Write a Markdown report here.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Orders the trials [0].")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Config file [.github/skill-delta.yml].")
    ] = None,
) -> None:
    """Run the skills' eval cases, with a baseline where one is named, and gate on the result."""
    from skill_delta.wiring.assembly import Terminal  # noqa: PLC0415 - `--help` needs none of it
    from skill_delta.wiring.run import run as run_skills  # noqa: PLC0415

    flags = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in context.params.items()
        if name not in {"paths", "config"} and value not in (None, (), [])
    }
    terminal = Terminal(
        out=sys.stdout, err=sys.stderr, colour=_wants_colour(), watched=sys.stderr.isatty()
    )
    key = _first_set("SKILL_DELTA_API_KEY", "OPENAI_API_KEY")
    raise typer.Exit(run_skills(paths, flags, config, key, terminal))


def _wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _first_set(*names: str) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)


def main(arguments: list[str] | None = None) -> None:
    """The `skill-delta` command. Ends the process with one of `ExitCode`."""
    sys.exit(_guarded(arguments))


def _guarded(arguments: list[str] | None) -> int:
    try:
        code: int | None = app(args=arguments, standalone_mode=False)
    except TyperException as usage:
        _complain(f"{usage.format_message()}\n  help: skill-delta run --help lists every flag")
        return ExitCode.USER_ERROR
    except UserError as error:
        _complain(str(error))
        return ExitCode.USER_ERROR
    except ServiceError as error:
        _complain(str(error))
        return ExitCode.NOT_MEASURED
    except (KeyboardInterrupt, typer.Abort):
        _complain("cancelled before anything was measured")
        return ExitCode.NOT_MEASURED
    except Exception:  # noqa: BLE001 - whatever is left is ours
        traceback.print_exc()
        _complain("this is a bug in skill-delta, not in your skill: please report it")
        return ExitCode.BUG
    return int(code or 0)


def _complain(text: str) -> None:
    for line in text.splitlines():
        print(line if line.startswith("  ") else f"error: {line}", file=sys.stderr)
