"""How each vendor spells a request and an answer; `http` alone sends them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pydantic import SecretStr

    from skill_delta.providers.endpoint import VendorApi


OUR_KEY_VARIABLE = "SKILL_DELTA_API_KEY"
"""The environment variable that is read before any vendor's own."""


class VendorFactory(Protocol):
    """Makes a vendor's wire of a base URL, a model and a key (None: the server wants none).

    `our_variable` is the environment variable of ours that messages about the key name.
    """

    def __call__(
        self,
        base_url: str,
        model: str,
        key: SecretStr | None,
        *,
        our_variable: str = OUR_KEY_VARIABLE,
    ) -> VendorApi: ...


@dataclass(frozen=True, slots=True)
class Vendor:
    """A wire that models are reached by.

    `base_url` is used where none is named. `key_variable` is the environment variable that
    holds the vendor's own key.
    """

    base_url: str
    key_variable: str
    api: VendorFactory


def _openai(
    base_url: str, model: str, key: SecretStr | None, *, our_variable: str = OUR_KEY_VARIABLE
) -> VendorApi:
    from skill_delta.providers.openai import OpenAiChat  # noqa: PLC0415 - httpx takes 0.1 s

    return OpenAiChat(base_url, model, key, our_variable=our_variable)


PROVIDERS: Mapping[str, Vendor] = {
    "openai": Vendor("https://api.openai.com/v1", "OPENAI_API_KEY", _openai),
}
"""The vendors, by the name of the runner that asks them."""

JUDGE_KEY_VARIABLE = "SKILL_DELTA_JUDGE_API_KEY"
"""The environment variable that holds the judge's own key."""

KEY_VARIABLES = (OUR_KEY_VARIABLE, *(vendor.key_variable for vendor in PROVIDERS.values()))
"""Where a key is looked for, in this order."""
