"""What a model is told about a skill, in either mode; the same rules for every arm and runner."""

from __future__ import annotations

from pydantic import JsonValue

from skill_delta.core.conversation import OfferedTool
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode, offered_tool_name

NEUTRAL = "You are a helpful assistant."
"""The system prompt where there is no skill to tell of, or where it is only offered."""
WORKSPACE = (
    "You have a working directory. Use `list_files` to see what is in it, "
    "`read_file` to read a file, and `write_file` to create or replace one. "
    "All paths are relative to that directory."
)
"""What follows where the case has a working folder: the same in every arm, and of no skill."""


def system_prompt(skill: SkillVersion, mode: Mode, *, has_workspace: bool = False) -> str:
    """What the model is told before the task."""
    told = _of_skill(skill, mode)
    return f"{told}\n\n{WORKSPACE}" if has_workspace else told


def _of_skill(skill: SkillVersion, mode: Mode) -> str:
    # The rule keys on emptiness: a header over nothing would put the skill's name into the very
    # prompt that is to show what the model does without the skill.
    if mode is Mode.OFFERED or skill.is_empty:
        return NEUTRAL
    parts = (f"# {skill.name}", skill.description.strip(), skill.instructions.strip())
    return "\n\n".join(part for part in parts if part)


def offered_skill(skill: SkillVersion) -> OfferedTool:
    """The skill as a tool that the model may reach for. It takes nothing."""
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
    return OfferedTool(offered_tool_name(skill.name), skill.description, schema)
