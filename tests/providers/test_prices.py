"""What tokens cost, by the vendor that the URL names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.core.transcript import Usage
from skill_delta.providers.prices import is_priced, price_of

OPENAI = "https://api.openai.com/v1"


def test_a_vendors_model_has_a_price() -> None:
    """It grows with the tokens, of either kind."""
    base = price_of("gpt-4o-mini", OPENAI, Usage(1_000_000, 0))
    more = price_of("gpt-4o-mini", OPENAI, Usage(1_000_000, 1_000_000))

    assert base is not None
    assert more is not None
    assert 0 < base < more
    assert price_of("gpt-4o-mini", f"{OPENAI}/chat/completions", Usage(1_000_000, 0)) == base


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "http://localhost:11434/v1",
        "http://gpu-box/v1",
        "https://models.example/v1",
        "http://[::1",
        "",
    ],
)
def test_a_server_of_ones_own_has_no_vendors_price(url: str) -> None:
    """Whatever its model is called."""
    assert price_of("gpt-4o-mini", url, Usage(1000, 100)) is None
    assert not is_priced("gpt-4o-mini", url)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        ("no-such-model", OPENAI),
        ("", OPENAI),
        ("gpt-4o", "https://api.githubcopilot.com"),  # listed, without a price
    ],
)
def test_an_unlisted_price_is_unknown(model: str, url: str) -> None:
    """Unknown is never 0."""
    assert price_of(model, url, Usage(1000, 100)) is None


@given(st.text(max_size=30))
def test_any_model_has_a_price_or_none(model: str) -> None:
    """A model's name is whatever someone typed."""
    price = price_of(model, OPENAI, Usage(1, 1))

    assert price is None or price > 0


def test_the_list_is_read_only_where_it_is_asked() -> None:
    """It is large, and a local server needs none of it."""
    code = (
        "import sys\n"
        "from skill_delta.core.transcript import Usage\n"
        "from skill_delta.providers.prices import price_of\n"
        "price_of('gpt-4o-mini', 'http://127.0.0.1/v1', Usage(1, 1))\n"
        "assert 'genai_prices' not in sys.modules\n"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
