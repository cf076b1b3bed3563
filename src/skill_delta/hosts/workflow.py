"""What a step leaves behind: outputs and a summary, in files that the runner names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StepFiles:
    """The runner's files; None where there is no runner to read them."""

    output: Path | None = None
    summary: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> StepFiles:
        """The files that `GITHUB_OUTPUT` and `GITHUB_STEP_SUMMARY` name."""
        output, summary = (
            Path(name) if (name := environment.get(variable, "")) else None
            for variable in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        )
        return cls(output, summary)

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Add outputs, each on one line: a line break would end the value and begin another."""
        if self.output is None:
            return
        lines = (f"{name}={' '.join(value.splitlines())}\n" for name, value in outputs.items())
        with self.output.open("a", encoding="utf-8") as file:
            file.write("".join(lines))

    def add_summary(self, markdown: str) -> None:
        """Add to what the run's page shows of this step."""
        if self.summary is None:
            return
        with self.summary.open("a", encoding="utf-8") as file:
            file.write(f"{markdown}\n")
