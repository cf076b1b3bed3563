"""A skill with an eval file, for runs of the command."""

from __future__ import annotations

from pathlib import Path

_SKILL = """---
name: order-support
description: Answers questions about orders.
---
{instructions}
"""

_CASE = """  - name: case {number:03}
    task: I want a refund for order 1234. Ticket {number:03}.
    assertions:
      - kind: contains
        value: "1234"
      - kind: not_contains
        value: sorry
"""


def write_skill(folder: Path, cases: int) -> Path:
    """Put a skill with so many cases into a folder of its own; gives that folder."""
    skill = folder / "order-support"
    (skill / "evals").mkdir(parents=True)
    instructions = "Name the order in the first sentence.\n" * 20
    (skill / "SKILL.md").write_text(_SKILL.format(instructions=instructions))
    listed = "".join(_CASE.format(number=number) for number in range(cases))
    (skill / "evals" / "cases.yaml").write_text(f"cases:\n{listed}")
    return skill
