"""What tokens cost: the vendor's list price, from the data that `genai-prices` ships."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from skill_delta.core.transcript import Usage

_DOMAIN = re.compile(r"(?:[a-z0-9-]+\.)+[a-z][a-z0-9-]*\.?", re.IGNORECASE)


def price_of(model: str, base_url: str, usage: Usage) -> float | None:
    """The price of `usage` in US dollars; None where the list has none.

    The vendor is told by the URL: a local server that serves a model of a vendor's name does not
    charge the vendor's price. It is the list price without any discount for cached input.
    """
    if not _names_a_vendor(base_url):
        return None
    # The list takes 0.2 s and 30 MB: only where there is something to look up.
    import genai_prices  # noqa: PLC0415

    counted = genai_prices.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        price = genai_prices.calc_price(counted, model, provider_api_url=base_url)
    except LookupError:
        return None
    # The list names some models without a price, and reckons them at 0: unknown is never 0.
    return None if price.model_price.output_mtok is None else float(price.total_price)


def is_priced(model: str, base_url: str) -> bool:
    """Whether a ceiling in US dollars could be kept."""
    return price_of(model, base_url, Usage(1, 1)) is not None


def _names_a_vendor(base_url: str) -> bool:
    """Vendors are listed by domain: an address or a bare host name is none of them."""
    try:
        host = urlsplit(base_url).hostname
    except ValueError:
        return False
    return _DOMAIN.fullmatch(host or "") is not None
