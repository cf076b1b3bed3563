"""What a model is told about a skill."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import ORDER_SUPPORT
from skill_delta.core.prompt import NEUTRAL, offered_skill, system_prompt
from skill_delta.core.skills import SkillVersion
from skill_delta.core.suite import Mode

texts = st.text(max_size=200)


def test_a_loaded_skill_is_told_from_name_to_instructions() -> None:
    """The prompt opens with the skill's name, then its description, then its instructions."""
    assert system_prompt(ORDER_SUPPORT, Mode.LOADED) == (
        "# order-support\n\n"
        "Answers questions about orders.\n\n"
        "Name the order in the first sentence."
    )


@pytest.mark.parametrize(
    "half",
    [replace(ORDER_SUPPORT, description=""), replace(ORDER_SUPPORT, instructions="")],
    ids=["no description", "no instructions"],
)
def test_half_a_skill_is_still_a_skill(half: SkillVersion) -> None:
    """Only a skill with neither description nor instructions has nothing to tell."""
    prompt = system_prompt(half, Mode.LOADED)

    assert prompt == f"# order-support\n\n{half.description}{half.instructions}"


@given(name=texts, blank=st.text(alphabet=" \n\t", max_size=5), mode=st.sampled_from(Mode))
def test_an_empty_skill_leaves_no_trace(name: str, blank: str, mode: Mode) -> None:
    """Whatever it is called: its name would tell the model what the baseline must not know."""
    empty = SkillVersion(name, description=blank, instructions=blank)

    assert system_prompt(empty, mode) == "You are a helpful assistant."


@given(name=texts, description=texts, instructions=texts)
def test_an_offered_skill_is_not_in_the_prompt(
    name: str, description: str, instructions: str
) -> None:
    """A hint in the prompt would measure the hint, not the description."""
    skill = SkillVersion(name, description, instructions)

    assert system_prompt(skill, Mode.OFFERED) == NEUTRAL


def test_an_offered_skill_is_a_tool_that_takes_nothing() -> None:
    """Its name is the skill's, its description the skill's, its schema empty and closed."""
    tool = offered_skill(ORDER_SUPPORT)

    assert (tool.name, tool.description) == ("order_support", "Answers questions about orders.")
    assert tool.input_schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }
