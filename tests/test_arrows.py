"""The house's one diagram, enforced: imports go only downward, and siblings never meet."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import skill_delta

ROOT = Path(skill_delta.__file__).parent

CORE_ORDER = (
    "wording",
    "documents",
    "workspace",
    "transcript",
    "checks",
    "suite",
    "selection",
    "suite_changes",
    "judging",
    "skills",
    "changes",
    "skill_text",
    "trials",
    "conversation",
    "prompt",
    "agreement",
    "scores",
    "intervals",
    "inference",
    "power",
    "looks",
    "simulation",
    "paired",
    "diagnostics",
    "readings",
    "noise_floor",
    "sampling",
    "policy",
    "regressions",
    "judgements",
    "gate_rules",
    "gate",
    "report",
    "scorecard",
)
"""Inside the core, each imports only from those before it."""

SOCKETS = ("history", "providers", "runners", "hosts", "formats", "ledger")
"""Rooms that plug into a port. They know ports, core, settings and errors, never each other."""

OF_FILES = ("history", "ledger")
"""Those of them that open files which others may have put there."""

MAY_IMPORT = {
    "errors": set[str](),
    "flags": set[str](),
    "regular_files": set[str](),
    "deadline": set[str](),
    "core": {"core", "errors"},
    "settings": {"settings", "core", "errors"},
    "ports": {"core", "errors"},
    "render": {"render", "core", "errors"},
    "grading": {"ports", "core", "errors"},
    "execution": {"grading", "ports", "core", "errors"},
    "preparation": {"ports", "core", "errors"},
    "pipeline": {"preparation", "execution", "ports", "core", "errors"},
    **{room: {room, "ports", "core", "errors", "settings"} for room in SOCKETS},
    **{room: {room, "regular_files", "ports", "core", "errors", "settings"} for room in OF_FILES},
    "history": {"history", "regular_files", "deadline", "ports", "core", "errors", "settings"},
    "hosts": {"hosts", "deadline", "ports", "core", "errors", "settings"},
}
"""Rooms below the wiring; `wiring`, `cli` and `action` may import anything."""

ENTRIES = {"wiring", "cli", "action", "__main__", "__init__"}


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def room(module: Path) -> str:
    return module.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(module: Path) -> set[str]:
    """Our own modules that `module` imports anywhere, lazily or for types included."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(f"relative import in {module.name}")
    return {name for name in found if name.startswith(("skill_delta.", "relative"))}


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_only_downward(module: Path) -> None:
    """A room imports only from the rooms that the diagram puts below it."""
    if room(module) in ENTRIES:
        return
    rooms = {name.split(".")[1] for name in imported(module)} - {"__version__"}

    assert rooms <= MAY_IMPORT[room(module)]


@pytest.mark.parametrize("module", sorted((ROOT / "core").rglob("*.py")), ids=lambda p: p.name)
def test_the_core_grows_in_one_order(module: Path) -> None:
    """What a transcript is never depends on what a gate is."""
    own = module.relative_to(ROOT / "core").parts[0].removesuffix(".py")
    if own == "__init__":
        return
    before = set(CORE_ORDER[: CORE_ORDER.index(own) + 1])
    used = {name.split(".")[2] for name in imported(module) if name.startswith("skill_delta.core.")}

    assert used <= before


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_entries_read_the_environment(module: Path) -> None:
    """A key that only two files can see is a key that only two files can leak."""
    if room(module) in {"cli", "action"}:
        return

    assert "environ" not in module.read_text(encoding="utf-8").replace("environment", "")


def test_only_the_wiring_starts_an_event_loop() -> None:
    """`asyncio.run` has one place, so that clients open and close in one place."""
    starts = [m for m in modules() if "asyncio.run(" in m.read_text(encoding="utf-8")]

    assert {room(module) for module in starts} <= {"wiring"}
