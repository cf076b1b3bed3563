"""Names become objects: settings in, a report written, an exit code out."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from random import Random
from typing import TextIO

from pydantic import JsonValue, SecretStr

from skill_delta import pipeline
from skill_delta.core.documents import Document, read_document
from skill_delta.core.gate import GatePolicy
from skill_delta.core.report import Report
from skill_delta.core.skills import WorkingSkill
from skill_delta.core.suite import Suite
from skill_delta.core.trials import NO_SKILL
from skill_delta.errors import ExitCode, Place, ServiceError, UserError, UserErrors
from skill_delta.execution import Ceilings
from skill_delta.formats import read_suite
from skill_delta.history.previous import GitBaselines
from skill_delta.history.repository import Repository
from skill_delta.history.revisions import find_commit
from skill_delta.history.working_copy import find_skills
from skill_delta.history.working_files import WorkingFiles, source_files_for
from skill_delta.hosts.terminal import BarProgress, LineProgress
from skill_delta.pipeline import FoundSkill, Ports, RunRequest, Selection
from skill_delta.ports import Model, Progress, Runner
from skill_delta.providers import PROVIDERS, Vendor
from skill_delta.providers.scripted import Reply, ScriptedModel, read_replies
from skill_delta.render import RENDERERS
from skill_delta.render.redaction import Redactor
from skill_delta.render.terminal import ANSI, PLAIN, render_terminal
from skill_delta.runners.model import ModelRunner
from skill_delta.settings import CONFIG_FILES, Settings, settle

REPLY_FILES = ("evals/replies.yaml", "evals/replies.yml")
"""Where a skill keeps what the scripted runner answers."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where a run speaks. `watched` is whether a person looks at `err` as it grows."""

    out: TextIO
    err: TextIO
    colour: bool = False
    watched: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A skill of this machine, the files around it, and its folder among them."""

    working: WorkingSkill
    files: WorkingFiles
    folder: PurePosixPath


def run(
    paths: Sequence[Path],
    flags: Mapping[str, JsonValue],
    config_file: Path | None,
    key: str | None,
    terminal: Terminal,
) -> ExitCode:
    """The `run` command. `flags` are those given, by field name; `key` is the provider's.

    Raises `UserError` before anything is spent, and `ServiceError` where there is no key.
    """
    settings = settle(flags, _config(paths, config_file))
    outputs = _outputs(settings)
    candidates = [_candidate(skill) for skill in find_skills(paths)]
    skills = _with_suites(candidates, settings)
    request = _request(settings)
    redactor = Redactor([key] if key else [])
    runners = _runners(settings, candidates, skills, key)
    if any(runner.costs_money for runner in runners.values()):
        cases = pipeline.chosen_cases(skills, request.selection)
        print(pipeline.ceiling_of_runs(request, cases, len(runners)), file=terminal.out, flush=True)
    with tempfile.TemporaryDirectory(prefix="skill-delta-") as scratch:
        history = GitBaselines(Path(scratch), settings.base)
        progress = (BarProgress if terminal.watched else LineProgress)(terminal.err)
        report = asyncio.run(_evaluate(skills, request, runners, history, progress))
    report = _completed(report, skills, history, settings)
    style = ANSI if terminal.colour else PLAIN
    print(redactor.redact(render_terminal(report, style)), end="", file=terminal.out, flush=True)
    unwritten = [
        problem
        for name, path in outputs.items()
        if (problem := _write(path, redactor.redact(RENDERERS[name](report))))
    ]
    for problem in unwritten:
        print(f"error: {problem}", file=terminal.err)
    return ExitCode.USER_ERROR if unwritten and report.gate.passed else report.gate.exit_code


async def _evaluate(
    skills: Sequence[FoundSkill],
    request: RunRequest,
    runners: Mapping[str, Runner],
    history: GitBaselines,
    progress: Progress,
) -> Report:
    cancelled = asyncio.Event()
    with _cancelled_by_signals(cancelled):
        try:
            return await pipeline.evaluate(
                skills,
                request,
                Ports(
                    runners=runners,
                    baselines=history,
                    progress=progress,
                    cancelled=cancelled,
                    now=lambda: datetime.now(UTC),
                    clock=time.monotonic,
                ),
            )
        finally:
            for runner in runners.values():
                await runner.close()


@contextlib.contextmanager
def _cancelled_by_signals(cancelled: asyncio.Event) -> Iterator[None]:
    """The first Ctrl-C (or a cancelled job's SIGTERM) asks for the partial report.

    The second is the ordinary one again: it ends the process.
    """
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        cancelled.set()
        for number in signals:
            loop.remove_signal_handler(number)

    with contextlib.suppress(NotImplementedError):  # an event loop without signals: Windows
        for number in signals:
            loop.add_signal_handler(number, ask)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in signals:
                loop.remove_signal_handler(number)


def _config(paths: Sequence[Path], named: Path | None) -> Document | None:
    if named is not None:
        return _read_config(named)
    root = _root_of(paths)
    for name in CONFIG_FILES:
        if (root / name).is_file():
            return _read_config(root / name)
    return None


def _root_of(paths: Sequence[Path]) -> Path:
    repository = Repository.discover(paths[0].absolute()) if paths else None
    if repository is None:
        return Path.cwd()
    with repository:
        return repository.worktree


def _read_config(path: Path) -> Document:
    raw, shown = _read(path)
    return read_document(raw, shown)


def _read(path: Path) -> tuple[bytes, str]:
    """A file that a person named, and its name in messages."""
    files, name = WorkingFiles(path.absolute().parent), PurePosixPath(path.name)
    return files.read(name), files.shown(name)


def _candidate(working: WorkingSkill) -> _Candidate:
    files, folder = source_files_for(Path(working.location))
    return _Candidate(working, files, folder)


def _with_suites(candidates: Sequence[_Candidate], settings: Settings) -> tuple[FoundSkill, ...]:
    """Every eval file is read before the first trial: a broken one ends the run unspent."""
    if settings.evals is not None and len(candidates) > 1:
        raise UserError(
            f"--evals names the cases of one skill, but {len(candidates)} were found",
            hint="run one skill at a time, or drop --evals",
        )
    found: list[FoundSkill] = []
    errors: list[UserError] = []
    for candidate in candidates:
        try:
            found.append(FoundSkill(candidate.working, _suite(candidate, settings.evals)))
        except UserErrors as several:
            errors += several.errors
        except UserError as error:
            errors.append(error)
    if errors:
        raise UserErrors(tuple(errors))
    return tuple(found)


def _suite(candidate: _Candidate, evals: str | None) -> Suite | None:
    name = candidate.working.skill.name
    if evals is None:
        return read_suite(name, candidate.files, candidate.folder)
    path = Path(evals).absolute()
    files, folder = source_files_for(path if path.is_dir() else path.parent)
    explicit = folder if path.is_dir() else folder / path.name
    return read_suite(name, files, candidate.folder, (explicit,))


def _request(settings: Settings) -> RunRequest:
    return RunRequest(
        baselines=settings.baseline,
        repetitions=settings.repeat,
        selection=Selection(settings.tag, settings.case),
        policy=GatePolicy(
            min_pass_rate=settings.min_pass_rate,
            skill_min_pass_rate=settings.skill_rates(),
            fail_on_error=settings.fail_on_error,
            min_delta=settings.bars(),
            skill_min_delta=settings.skill_bars(),
        ),
        ceilings=Ceilings(settings.max_cost, settings.max_tokens, settings.max_time),
        at_once=settings.concurrency,
        seed=settings.seed,
    )


def _runners(
    settings: Settings,
    candidates: Sequence[_Candidate],
    skills: Sequence[FoundSkill],
    key: str | None,
) -> Mapping[str, Runner]:
    runners: dict[str, Runner] = {}
    for name in settings.runner:
        if name in PROVIDERS:
            runners[name] = _asking_runner(name, PROVIDERS[name], settings, key)
        else:
            replies = _replies(settings, candidates, skills)
            runners[name] = ModelRunner(name, ScriptedModel(replies), costs_money=False)
    return runners


def _asking_runner(name: str, vendor: Vendor, settings: Settings, key: str | None) -> Runner:
    from skill_delta.providers.http import HttpModel  # noqa: PLC0415 - httpx takes 0.1 s
    from skill_delta.providers.prices import is_priced, price_of  # noqa: PLC0415

    if key is None and settings.base_url is None:
        raise ServiceError(
            f"there is no API key for runner '{name}': set SKILL_DELTA_API_KEY "
            f"or {vendor.key_variable}, or name another endpoint with --base-url"
        )
    model = settings.model_of(name)
    api = vendor.api(settings.base_url or vendor.base_url, model, SecretStr(key) if key else None)
    endpoint = str(api.endpoint.url)
    # Asked in any case: the price list loads here, not while the first answer's time is taken.
    priced = is_priced(model, endpoint)
    if settings.max_cost is not None and not priced:
        raise UserError(
            f"--max-cost cannot be kept: no price is known for model '{model}' at this endpoint",
            hint="limit the run with --max-tokens or --max-time instead",
        )
    asked: Model = HttpModel(
        api,
        price=lambda usage: price_of(model, endpoint, usage),
        workers=settings.concurrency,
        rng=Random(settings.seed),  # noqa: S311 - spreads retries
    )
    return ModelRunner(name, asked, costs_money=True, model_name=model)


def _replies(
    settings: Settings, candidates: Sequence[_Candidate], skills: Sequence[FoundSkill]
) -> tuple[Reply, ...]:
    if settings.replies is not None:
        return read_replies(*_read(Path(settings.replies)))
    replies: list[Reply] = []
    for label, candidate, skill in zip(pipeline.labels(skills), candidates, skills, strict=True):
        if skill.suite is not None and skill.suite.cases:
            replies += _own_replies(label, candidate)
    return tuple(replies)


def _own_replies(label: str, candidate: _Candidate) -> Iterator[Reply]:
    for name in REPLY_FILES:
        path = candidate.folder / name
        if path in (candidate.files.listing(path.parent) or ()):
            for reply in read_replies(candidate.files.read(path), candidate.files.shown(path)):
                # A skill's own file speaks for that skill alone.
                yield reply if reply.skill else reply.model_copy(update={"skill": label})
            return
    raise UserError(
        f"skill '{label}' has no {REPLY_FILES[0]} for the scripted runner to answer from",
        hint="write one, or name a file with --replies",
        place=Place(candidate.files.shown(candidate.folder)),
    )


def _completed(
    report: Report, skills: Sequence[FoundSkill], history: GitBaselines, settings: Settings
) -> Report:
    """Name both ends of the comparison, where there is a repository, and what no bundle holds."""
    notes = tuple(
        f"{label}: not in the baseline's bundle: {', '.join(names)}"
        for label, skill in zip(pipeline.labels(skills), skills, strict=True)
        if (names := history.left_out.get(skill.working.location))
    )
    report = replace(report, notes=(*report.notes, *notes))
    repository = Repository.discover(Path(skills[0].working.location)) if skills else None
    if repository is None:
        return report
    with repository:
        head = repository.head()
        start = find_commit(repository, settings.base) if settings.base else head
    compared = any(name != NO_SKILL for name in settings.baseline)
    return replace(
        report, head=head.hex() if head else None, base=start.hex() if start and compared else None
    )


def _outputs(settings: Settings) -> Mapping[str, Path]:
    """The reports to write, their folders made: a path that cannot be is found unspent."""
    named = {
        "json": settings.json_output,
        "junit": settings.junit_output,
        "markdown": settings.markdown_output,
    }
    outputs = {name: Path(path) for name, path in named.items() if path is not None}
    for name, path in outputs.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"--{name}-output: {path.parent}: {error.strerror}") from None
        if path.is_dir():
            raise UserError(f"--{name}-output: {path} is a folder", hint="name a file in it")
    if len(set(outputs.values())) < len(outputs):
        raise UserError("two reports would be written to the same file")
    return outputs


def _write(path: Path, text: str) -> str:
    """Write a report; what went wrong, in words, where something did."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        return f"the report {path} could not be written: {error.strerror}"
    return ""
