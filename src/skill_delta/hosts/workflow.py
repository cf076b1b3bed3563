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

    def set_outputs(self, outputs: Mapping[str, str]) -> str:
        """Add outputs, each on one line: a line break would end the value and begin another.

        What went wrong, in words, where something did: it does not change the verdict.
        """
        lines = (f"{name}={' '.join(value.splitlines())}\n" for name, value in outputs.items())
        return _added(self.output, "".join(lines), "outputs")

    def add_summary(self, markdown: str) -> str:
        """Add to what the run's page shows of this step. What went wrong, as above."""
        return _added(self.summary, f"{markdown}\n", "job summary")


def _added(place: Path | None, text: str, what: str) -> str:
    if place is None:
        return ""
    try:
        with place.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"the {what} could not be written: {error.strerror}"
    return ""
