"""How slips are recognised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from skill_delta.formats.problems import TYPO, edit_distance, nearest, placeholders

words = st.text(alphabet="abc", max_size=6)


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("cases", "cases", 0),
        ("case", "cases", 1),
        ("caess", "cases", 2),
        ("", "ab", 2),
        ("tasks", "cases", 2),
        ("evals", "cases", 3),
        ("x" * 1_000_000, "cases", 3),
    ],
)
def test_edits_are_counted_up_to_three(one: str, other: str, edits: int) -> None:
    """Three stands for "too many", and is found without comparing long words."""
    assert edit_distance(one, other) == edits


@given(words, words)
def test_distance_is_the_same_both_ways(one: str, other: str) -> None:
    """And none only between equal words."""
    assert edit_distance(one, other) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) is (one == other)


@given(words, st.integers(0, 5), st.sampled_from("abc"))
def test_one_letter_more_is_one_edit(word: str, position: int, letter: str) -> None:
    """Wherever it is put."""
    assert edit_distance(word, word[:position] + letter + word[position:]) == 1


def test_the_nearest_word_is_found_in_any_case() -> None:
    """A word that is no slip of any has none."""
    assert nearest("Cases", ["cases", "tool_libraries"]) == "cases"
    assert nearest("owner", ["cases", "tool_libraries"]) is None
    assert nearest("cases", []) is None
    assert TYPO == 2


def test_placeholders_are_found_at_any_depth() -> None:
    """In keys and in values, each told once."""
    value: JsonValue = {
        "a": ["x", {"TODO(skill-delta) key": "TODO(skill-lens)"}],
        "b": "TODO(skill-lens): y",
    }

    assert list(placeholders(value)) == [("a", 1, "TODO(skill-delta) key"), ("b",)]
