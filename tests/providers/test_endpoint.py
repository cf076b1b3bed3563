"""What a base URL holds that no report may."""

from __future__ import annotations

import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from conversations import KEY
from skill_delta.providers.endpoint import Endpoint, endpoint_at, secrets_of


def at(url: str) -> Endpoint:
    return endpoint_at(
        url, "/chat/completions", "gpt-test", key=SecretStr(KEY), key_variable="OPENAI_API_KEY"
    )


@pytest.mark.parametrize(
    ("url", "secrets"),
    [
        ("https://api.openai.com/v1", ()),
        ("https://bob@models.example", ("bob", "Ym9i")),
        ("https://bob:p%40ss@models.example/v1", ("bob", "p@ss", "Ym9iOnBAc3M=")),
        ("https://models.example/v1?code=a%2Fb+c&k=x&code=&k=x", ("a/b c", "x")),
        ("https://x.azure.com/v1?api-version=2024-12-01-preview&sig=s", ("s",)),
        (" https://models.example/v1?k=x\n", ("x",)),
        ("http://[::1", ()),
        ("", ()),
    ],
)
def test_a_base_urls_secrets_are_its_user_and_its_query(url: str, secrets: tuple[str, ...]) -> None:
    """As the server reads them, each once; a version of its API is none."""
    assert secrets_of(url) == secrets


@given(st.text() | st.text().map("http://{}".format) | st.text().map("https://a:b@c/?d={}".format))
def test_any_text_has_secrets_or_none(url: str) -> None:
    """What cannot be read is somebody else's to refuse."""
    assert all(secrets_of(url))


words = st.text("abcXYZ0189-._~ /+=&é", min_size=8, max_size=30)


@given(user=words, password=words, value=words)
def test_no_secret_of_a_url_is_repeated_in_the_servers_words(
    user: str, password: str, value: str
) -> None:
    """Neither as it stands, nor as JSON, a URL or a header spells it."""
    url = f"https://{quote(user, safe='')}:{quote(password, safe='')}@models.example/v1"
    endpoint = at(f"{url}?code={quote(value, safe='')}")
    for secret in (user, password, value):
        for said in (secret, json.dumps(secret), quote(secret, safe="")):
            assert said.strip('"') not in endpoint.quote(f"[{said}]")
    basic = b64encode(f"{user}:{password}".encode()).decode()
    assert basic not in endpoint.quote(f"Basic {basic}")


@pytest.mark.parametrize("before", ["", "x", "me", "bob:"])
def test_a_key_inside_base64_is_not_repeated(before: str) -> None:
    """A proxy that makes a user of it says it like this; nor is the beginning of it, cut short."""
    encoded = b64encode(f"{before}{KEY}".encode()).decode()

    for padding in range(150, 200):
        assert encoded[8:16] not in at("https://models.example").quote("x" * padding + encoded)


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("https://user:hunter22@models.example/v1/?code=q#top", "https://models.example/v1"),
        ("https://models.example/v1/chat/completions/", "https://models.example/v1"),
        ("http://localhost:11434", "http://localhost:11434/"),
    ],
)
def test_messages_name_the_base_url(url: str, base: str) -> None:
    """As it was given, without what is secret."""
    assert at(url).base == base
