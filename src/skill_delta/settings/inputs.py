"""Settings from the action's inputs, which are always text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args, get_origin

from pydantic import JsonValue

from skill_delta.errors import UserError, UserErrors
from skill_delta.settings.commands import Command
from skill_delta.settings.model import Settings, kebab
from skill_delta.settings.reading import shown


def from_texts(texts: Mapping[str, str], command: Command) -> Mapping[str, JsonValue]:
    """The command's settings, as inputs give them: always as text, lists one a line.

    A blank text is an absent one, and what is no setting is left out. Raises `UserErrors`.
    """
    values: dict[str, JsonValue] = {}
    problems = []
    for name in command.fields:
        text = texts.get(name, "").strip()
        if text:
            try:
                values[name] = _typed(name, text)
            except ValueError as error:
                problems.append(UserError(f"input '{kebab(name)}': {error} (got {shown(text)})"))
    if problems:
        raise UserErrors(tuple(problems))
    return values


def _typed(name: str, text: str) -> JsonValue:
    kinds = _kinds(Settings.model_fields[name].annotation)
    if tuple in kinds or name == "per_skill_min":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if bool in kinds:
        return _boolean(text)
    if int in kinds:
        return _number(int, text, "a whole number")
    if float in kinds and Mapping not in kinds:
        return _number(float, text, "a number")
    return text


def _kinds(annotation: object) -> set[object]:
    """The types that an annotation is made of."""
    origin = get_origin(annotation)
    parts = {kind for part in get_args(annotation) for kind in _kinds(part)}
    return parts | {annotation if origin is None else origin}


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("should be true or false")
    return text.lower() == "true"


def _number(kind: type[int | float], text: str, wanted: str) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise ValueError(f"should be {wanted}") from None
