"""Scripts of a skill: what they see, what they are told, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from conversations import run_trial
from runners.test_model import FakeModel, call, calls
from runners.test_toolbox import a_trial, shipping
from skill_delta.core.conversation import Completion
from skill_delta.core.transcript import Transcript
from skill_delta.core.trials import Trial
from skill_delta.errors import TrialError
from skill_delta.runners.model import ModelRunner
from skill_delta.runners.process import run_command
from skill_delta.runners.sandbox import NOBODY, Places, Sandbox, find_sandbox
from skill_delta.runners.scripts import MAX_OUTPUT_BYTES, Scripts, hand_over

WALLED = find_sandbox("auto")
OPEN = Sandbox(None, "the test wants none")
TOKEN = "sk-test-token-of-the-run"

needs_bwrap = pytest.mark.skipif(
    WALLED.bwrap is None, reason=f"there is no sandbox here: {WALLED.reason}"
)
EACH = [pytest.param(WALLED, marks=needs_bwrap, id="bwrap"), pytest.param(OPEN, id="open")]
each_sandbox = pytest.mark.parametrize("sandbox", EACH)


@pytest.fixture(autouse=True)
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret in our own environment, as a run has it."""
    monkeypatch.setenv("SKILL_DELTA_API_KEY", TOKEN)
    return TOKEN


@pytest.fixture
def skill_folder() -> Iterator[Path]:
    """Where anyone may look, as a checkout is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def ran(
    sandbox: Sandbox,
    trial: Trial,
    *asked: dict[str, JsonValue],
    seconds: float = 20.0,
) -> Transcript:
    """The trial in which these scripts were asked for, one after another."""
    turns = [calls(call("run_script", **arguments)) for arguments in asked]
    model = FakeModel([*turns, Completion("Done.")])
    runner = ModelRunner("openai", model, costs_money=True, scripts=Scripts(sandbox, seconds))
    return run_trial(runner, trial)


def told(
    sandbox: Sandbox,
    folder: Path,
    script: str,
    *args: str,
    name: str = "x.py",
    seconds: float = 20.0,
) -> str:
    """What a model is told of one script."""
    skill = shipping(folder, **{f"scripts/{name}": script})
    asked: dict[str, JsonValue] = {"path": f"scripts/{name}", "args": [*args]}
    transcript = ran(sandbox, a_trial(skill=skill), asked, seconds=seconds)
    return transcript.tool_calls[0].answer


@each_sandbox
def test_a_script_runs_in_the_working_folder(sandbox: Sandbox, skill_folder: Path) -> None:
    """It reads what is there, writes beside it, and finds what its skill ships."""
    script = (
        "import pathlib, sys\n"
        "rows = pathlib.Path('sales.csv').read_text().split()\n"
        "unit = pathlib.Path(__file__).with_name('unit.txt').read_text()\n"
        "pathlib.Path('out').mkdir()\n"
        "pathlib.Path('out/sum.txt').write_text(f'{sum(map(int, rows))} {unit}')\n"
        "print('done', sys.argv[1:])\n"
    )
    skill = shipping(skill_folder, **{"scripts/sum.py": script, "scripts/unit.txt": "units"})
    trial = a_trial(skill=skill, files={"sales.csv": "120\n80\n"})

    transcript = ran(sandbox, trial, {"path": "scripts/sum.py", "args": ["a b", "'; ls"]})

    assert transcript.tool_calls[0].answer == (
        "exit code: 0\nstdout:\ndone ['a b', \"'; ls\"]\n\nstderr:\n(empty)"
    )
    assert transcript.files is not None
    assert [file.path for file in transcript.files.files] == ["out/sum.txt", "sales.csv"]
    assert transcript.latency_ms > 0


@each_sandbox
def test_the_model_and_its_scripts_take_turns(sandbox: Sandbox, skill_folder: Path) -> None:
    """What one wrote the other may write again, whoever it runs as."""
    script = "import pathlib\np = pathlib.Path('a/n.txt')\np.write_text(p.read_text() + 'y')\n"
    trial = a_trial(skill=shipping(skill_folder, **{"scripts/x.py": script}))
    write = call("write_file", path="a/n.txt", content="x")
    run, read = call("run_script", path="scripts/x.py"), call("read_file", path="a/n.txt")
    model = FakeModel(
        [*(calls(each) for each in (write, run, read, write, run, read)), Completion("")]
    )
    runner = ModelRunner("openai", model, costs_money=True, scripts=Scripts(sandbox, 20.0))

    transcript = run_trial(runner, trial)

    answers = [made.answer for made in transcript.tool_calls]
    assert answers[2] == answers[5] == "xy"


@each_sandbox
def test_a_script_is_told_nothing_of_ours(sandbox: Sandbox, skill_folder: Path) -> None:
    """No key, no token: its environment is a short list, and its home is the working folder."""
    script = (
        "import os, json\nprint(json.dumps(dict(os.environ)), os.environ['HOME'] == os.getcwd())\n"
    )

    answer = told(sandbox, skill_folder, script)

    assert TOKEN not in answer
    assert "SKILL_DELTA" not in answer
    assert "True" in answer


SPYING = """
import glob
for path in glob.glob('/proc/[0-9]*/env' + 'iron'):
    try:
        print(open(path, 'rb').read())
    except OSError as error:
        print(error)
"""


@each_sandbox
def test_no_process_gives_our_token_away(sandbox: Sandbox, skill_folder: Path) -> None:
    """Not its parent, nor any other: in the sandbox they are not there, else they are not its.

    Without a sandbox that holds here because we are root, and a script is nobody.
    """
    if sandbox.bwrap is None and os.geteuid() != 0:
        pytest.skip("without root and without a sandbox a script runs as we do")
    os.environ["A_TOKEN_SET_LATE"] = TOKEN

    answer = told(sandbox, skill_folder, SPYING)

    del os.environ["A_TOKEN_SET_LATE"]
    assert answer.startswith("exit code: 0")
    assert TOKEN not in answer


@needs_bwrap
def test_the_sandbox_has_no_network(skill_folder: Path) -> None:
    """Not even to a port of this very machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\n"
        walled = told(WALLED, skill_folder, script)
        bare = told(OPEN, skill_folder, script)

    assert "exit code: 1" in walled
    assert "refused" in walled or "unreachable" in walled
    assert "exit code: 0" in bare  # which the documents say


@needs_bwrap
def test_the_sandbox_has_no_files_of_others(skill_folder: Path, tmp_path: Path) -> None:
    """Neither a home, nor a checkout, nor what lies beside the working folder, nor the skill's."""
    secret = tmp_path / "secret.txt"
    secret.write_text(TOKEN)
    secret.chmod(0o644)
    (skill_folder / "evals").mkdir()
    (skill_folder / "evals" / "answers.yaml").write_text(TOKEN)
    script = (
        "import os, pathlib, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        print(pathlib.Path(path).read_text())\n"
        "    except OSError as error:\n"
        "        print(error)\n"
        "for top in ('/home', '/root', '/work', '/var', '/run', '/opt', '/srv', '/mnt', '/sys'):\n"
        "    print(top, os.path.exists(top))\n"
        "print(sorted(os.listdir('/tmp')), sorted(os.listdir('/skill')))\n"
    )
    paths = (str(secret), "/etc/passwd", "/etc/shadow", str(skill_folder / "evals/answers.yaml"))

    answer = told(
        WALLED, skill_folder, script, *paths, "../secret.txt", "/skill/evals/answers.yaml"
    )

    assert "exit code: 0" in answer
    assert TOKEN not in answer
    assert "root:" not in answer
    assert "True" not in answer
    assert "[] ['scripts']" in answer


@needs_bwrap
def test_the_sandbox_writes_nowhere_else(skill_folder: Path, tmp_path: Path) -> None:
    """Not to the system, not to the skill's files, and not out of the working folder."""
    tmp_path.chmod(0o777)
    script = (
        "import pathlib, sys\n"
        "for path in sys.argv[1:]:\n"
        "    try:\n"
        "        pathlib.Path(path).write_text('x')\n"
        "        print('WRITTEN', path)\n"
        "    except OSError as error:\n"
        "        print(error)\n"
    )

    paths = ("/usr/x", "/x", "/skill/x", "/etc/x", str(tmp_path / "x"), "../x")
    answer = told(WALLED, skill_folder, script, *paths)

    assert "WRITTEN" not in answer
    assert not (tmp_path / "x").exists()
    assert not (skill_folder / "x").exists()


def test_without_a_sandbox_the_skills_own_folder_is_safe(skill_folder: Path) -> None:
    """A script works on a copy, so that the next trial finds the skill as it was."""
    script = (
        "import contextlib, pathlib\n"
        "with contextlib.suppress(OSError):\n    pathlib.Path(__file__).write_text('x')\n"
        "print(sorted(p.name for p in pathlib.Path(__file__).parent.parent.iterdir()))\n"
    )
    (skill_folder / "evals").mkdir()

    answer = told(OPEN, skill_folder, script)

    assert "['scripts']" in answer
    assert (skill_folder / "scripts" / "x.py").read_text() == script


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be someone else")
def test_without_a_sandbox_root_does_not_run_scripts_as_root(skill_folder: Path) -> None:
    """In a container we are root, and what root may read a script should not."""
    answer = told(
        OPEN, skill_folder, "import os\nprint(os.getuid(), os.getgid(), os.getgroups())\n"
    )

    assert "65534 65534 []" in answer


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_only_files_of_the_working_folder_are_given_to_a_script(tmp_path: Path) -> None:
    """A second name of a file elsewhere, or a link to one, does not give that away."""
    place = tmp_path / "trial"
    (place / "work" / "in").mkdir(parents=True)
    (place / "work" / "in" / "own.txt").write_text("")
    outside = tmp_path / "outside.txt"
    outside.write_text(TOKEN)
    (place / "work" / "hard").hardlink_to(outside)
    (place / "work" / "soft").symlink_to(outside)

    hand_over(place, place / "work", NOBODY)

    assert (place / "work" / "in" / "own.txt").stat().st_uid == NOBODY
    assert outside.stat().st_uid == 0


HIDING = """
import os, subprocess, sys
from skill_delta.runners.process import hide_memory
if sys.argv[1] == 'hide':
    hide_memory()
look = f"open('/proc/{os.getpid()}/env' + 'iron').read()"
sys.exit(subprocess.run([sys.executable, '-c', look], capture_output=True).returncode)
"""


@needs_bwrap
@pytest.mark.parametrize(("how", "code"), [("hide", 1), ("show", 0)])
def test_where_we_are_not_root_our_environment_is_closed(how: str, code: int) -> None:
    """Where a script runs as we do, it cannot ask the kernel for what it was not told."""
    assert WALLED.bwrap is not None
    as_someone = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid")
    machine = (WALLED.bwrap, "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc")

    ended = subprocess.run(
        [*machine, *as_someone, "--", sys.executable, "-c", HIDING, how], check=False
    )

    assert ended.returncode == code


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for step in range(200):
            open('alive', 'a').write('.')
            time.sleep(0.05)
    os._exit(0)
time.sleep(float(sys.argv[1]))
print('parent ends')
"""


@each_sandbox
@pytest.mark.parametrize(("waits", "seconds"), [("0.5", 20.0), ("60", 1.0)], ids=["ends", "stops"])
def test_nothing_outlives_a_script(
    sandbox: Sandbox, skill_folder: Path, waits: str, seconds: float
) -> None:
    """Neither what went into the background, in a session of its own, nor when its time is up."""
    at = Places(*(skill_folder / name for name in ("work", "skill", "scratch")))
    for folder in (at.work, at.skill, at.scratch):
        folder.mkdir()
        folder.chmod(0o777)
    (at.skill / "x.py").write_text(DAEMON)
    command = sandbox.command("/usr/bin/python3", "x.py", [waits], at)

    ended = asyncio.run(run_command(command, seconds=seconds, most_bytes=1_000))

    grown = (at.work / "alive").stat().st_size
    time.sleep(0.4)
    assert (at.work / "alive").stat().st_size == grown > 0
    assert ended.exit_code == (0 if seconds > 1 else None)


@each_sandbox
def test_a_script_that_says_too_much_is_cut_short(sandbox: Sandbox, skill_folder: Path) -> None:
    """On both streams, and how much was cut is said; the rest is read so that it can end."""
    script = "import sys\nsys.stdout.write('o' * 1_000_000)\nsys.stderr.write('e' * 30_000)\n"

    answer = told(sandbox, skill_folder, script)

    assert answer.count("o" * MAX_OUTPUT_BYTES) == 1
    assert "… (980,000 more bytes were cut)" in answer
    assert "… (10,000 more bytes were cut)" in answer


@each_sandbox
def test_how_a_script_ended_is_told(sandbox: Sandbox, skill_folder: Path) -> None:
    """Its exit code, also where a signal ended it."""
    assert told(sandbox, skill_folder, "exit 3\n", name="x.sh").startswith("exit code: 3\n")
    killed = "import os\nos.kill(os.getpid(), 9)\n"
    assert told(sandbox, skill_folder, killed).startswith("exit code: 137\n")


@each_sandbox
def test_a_folder_that_a_script_overfilled_is_told_of(sandbox: Sandbox, skill_folder: Path) -> None:
    """Nothing more can be written then; and one file has an end."""
    script = (
        "open('big', 'wb').write(b'x' * 6_000_000)\n"
        "open('huge', 'wb').truncate(200 * 1024 * 1024)\n"
    )

    answer = told(sandbox, skill_folder, script)

    assert answer.endswith("warning: the working folder holds more than 5,000,000 bytes")
    assert "File too large" in answer


def test_what_is_no_script_is_refused(skill_folder: Path) -> None:
    """With what would have been one."""
    skill = shipping(
        skill_folder, **{"scripts/x.py": "", "scripts/a.txt": "", "b.py": "", "scripts/in/y.sh": ""}
    )
    known = "in scripts/; it has scripts/in/y.sh, scripts/x.py"
    asked: list[tuple[dict[str, JsonValue], str]] = [
        ({"path": "scripts/z.py"}, f"refused: the skill ships no script scripts/z.py {known}"),
        ({"path": "b.py"}, f"refused: the skill ships no script b.py {known}"),
        ({"path": "scripts/a.txt"}, "refused: scripts/a.txt cannot be run: only .py, .sh can"),
        ({"path": "../x.py"}, 'refused: the path "../x.py" holds'),
        ({}, "refused: the argument path should be text"),
        ({"path": "scripts/x.py", "args": "a"}, "refused: args should be a list of texts"),
        ({"path": "scripts/x.py", "args": [1]}, "refused: args should be a list of texts"),
        ({"path": "scripts/x.py", "args": ["a\0b"]}, "refused: args should be a list of texts"),
        ({"path": "scripts/x.py", "args": ["\ud800"]}, "refused: args hold half a character"),
        ({"path": "scripts/x.py", "args": ["a"] * 101}, "refused: args are too many or too long"),
    ]

    transcript = ran(OPEN, a_trial(skill=skill), *(arguments for arguments, _ in asked))

    for made, (_, answer) in zip(transcript.tool_calls, asked, strict=True):
        assert made.answer.startswith(answer)


def test_only_what_can_be_run_is_offered(skill_folder: Path) -> None:
    """And only where scripts are allowed."""

    def offered(trial: Trial, scripts: Scripts | None) -> list[str]:
        model = FakeModel([Completion("Done.")])
        run_trial(ModelRunner("openai", model, costs_money=True, scripts=scripts), trial)
        return [tool.name for tool in model.told[0].tools]

    with_script = a_trial(skill=shipping(skill_folder / "a", **{"scripts/x.py": ""}))
    without = a_trial(skill=shipping(skill_folder / "b", **{"scripts/x.md": "", "x.py": ""}))

    assert "run_script" in offered(with_script, Scripts(OPEN))
    assert "run_script" not in offered(with_script, None)
    assert "run_script" not in offered(without, Scripts(OPEN))


def test_a_script_that_changed_under_the_run_loses_the_trial(skill_folder: Path) -> None:
    """It would be of no version."""
    skill = shipping(skill_folder, **{"scripts/x.py": "print(1)"})
    (skill_folder / "scripts" / "x.py").write_text("print(2)")

    with pytest.raises(TrialError, match=r"was changed while the run ran|cannot be read"):
        ran(OPEN, a_trial(skill=skill), {"path": "scripts/x.py"})


@each_sandbox
def test_a_cancelled_trial_ends_its_script(sandbox: Sandbox, skill_folder: Path) -> None:
    """A workflow that was cancelled does not leave one running."""
    name = f"scripts/only_of_{os.getpid()}.py"  # other tests run scripts beside this one
    skill = shipping(skill_folder, **{name: "import time\ntime.sleep(60)\n"})
    model = FakeModel([calls(call("run_script", path=name)), Completion("")])
    runner = ModelRunner("openai", model, costs_money=True, scripts=Scripts(sandbox, 60.0))

    async def cancelled() -> None:
        running = asyncio.create_task(runner.run(a_trial(skill=skill)))
        await asyncio.sleep(1.0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await runner.close()

    asyncio.run(cancelled())

    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if runs(path, name)]
    assert left == []


def runs(path: Path, script: str) -> bool:
    try:
        return script.encode() in path.read_bytes()
    except OSError:
        return False


def test_a_version_says_that_scripts_ran() -> None:
    """A record without them is not taken up by a run with them."""
    model = FakeModel([])

    bare, scripted = (
        ModelRunner("openai", model, costs_money=True, scripts=scripts).version
        for scripts in (None, Scripts(OPEN))
    )

    assert scripted == f"{bare} with scripts"


def test_a_sandbox_that_is_off_says_so() -> None:
    """For the report."""
    assert find_sandbox("off").told == (
        "scripts could run, without a sandbox (script-sandbox is off): the network, and all files "
        "that their user may read, were open to them"
    )
