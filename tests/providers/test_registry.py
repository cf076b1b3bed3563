"""The vendors, by name."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import SecretStr

from conversations import KEY, a_conversation
from skill_delta.providers import PROVIDERS


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_vendor_spells_a_request(name: str) -> None:
    """To where it is reached by default, for the model asked for, and with its own key variable."""
    vendor = PROVIDERS[name]

    api = vendor.api(vendor.base_url, "a-model", SecretStr(KEY))

    assert str(api.request(a_conversation()).url).startswith(vendor.base_url)
    assert b"a-model" in api.request(a_conversation()).content
    assert api.endpoint.key_variable == vendor.key_variable


def test_looking_at_the_vendors_is_cheap() -> None:
    """A run that asks no model loads no HTTP client."""
    code = (
        "import sys\n"
        "from skill_delta.providers import PROVIDERS\n"
        "assert 'httpx' not in sys.modules and 'pydantic' not in sys.modules\n"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
