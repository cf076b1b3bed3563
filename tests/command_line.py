"""The `skill-delta` command as a test calls it: in this process, with its own folder and keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from skill_delta import cli


@dataclass(frozen=True)
class Finished:
    """What a command printed, and how it ended."""

    exit_code: int
    out: str
    err: str

    @property
    def all(self) -> str:
        return self.out + self.err


class CommandLine:
    """A shell in `folder`, without any key in its environment unless one is given."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        for name in ("SKILL_DELTA_API_KEY", "SKILL_DELTA_JUDGE_API_KEY", "OPENAI_API_KEY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def __call__(self, *arguments: object, env: Mapping[str, str] | None = None) -> Finished:
        self._capsys.readouterr()
        with self._monkeypatch.context() as shell:
            shell.chdir(self.folder)
            for name, value in (env or {}).items():
                shell.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main([str(argument) for argument in arguments])
        printed = self._capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Finished(code, printed.out, printed.err)
