"""Where a model is reached, and how messages may speak of it: never with a key in them."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote, unquote_to_bytes

import httpx
from pydantic import SecretStr

from skill_delta.errors import UserError
from skill_delta.ports import ModelApi
from skill_delta.providers import OUR_KEY_VARIABLE

MAX_QUOTE = 200
"""How much of a server's words a message repeats, in characters."""

_SECRET_NAME = re.compile(r"key|token|secret|sig|pass|auth", re.IGNORECASE)
"""What a query parameter is called that holds a secret."""


class VendorApi(ModelApi, Protocol):
    """A `ModelApi` that also says where it is reached."""

    @property
    def endpoint(self) -> Endpoint: ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A URL to post to, the model asked for there, and whose key it takes.

    `url` holds no user name or password: those become `basic`, the value of a header. `base` is
    what the person named, for messages: without the path posted to, and without any secret.
    """

    url: httpx.URL
    model: str
    key_variable: str
    base: str
    our_variable: str = OUR_KEY_VARIABLE
    key: str = field(default="", repr=False)
    basic: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def shown(self) -> str:
        """The URL for messages, without its query, where some servers take a key."""
        return str(self.url.copy_with(query=None))

    @property
    def key_variables(self) -> str:
        """The variables that may hold the key, for messages."""
        return f"{self.our_variable} or {self.key_variable}"

    def quote(self, text: str) -> str:
        """The beginning of what a server said, on one line, without any secret it echoes."""
        # Secrets go before the text is cut (half a key would not be recognised), and once more
        # after invisible characters are gone (they may have stood inside one).
        start = self._redacted(text)[: 20 * MAX_QUOTE]
        line = self._redacted(" ".join("".join(map(_printable, start)).split()))
        return line if len(line) <= MAX_QUOTE else f"{line[:MAX_QUOTE]}…"

    def _redacted(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "(redacted)")
        return text


def secrets_of(url: str) -> tuple[str, ...]:
    """What a base URL holds that no report may: a user's name, a password, and the query's values.

    Each as the server would read it and, for a user, as the header that carries both. An API's
    version is none of them, under whatever name ends so; a URL that cannot be read holds nothing.
    """
    try:
        read = httpx.URL(url.strip())
    except (httpx.InvalidURL, UnicodeError):
        return ()
    return _secrets_in(read)


def endpoint_at(
    base_url: str,
    path: str,
    model: str,
    *,
    key: SecretStr | None,
    key_variable: str,
    our_variable: str = OUR_KEY_VARIABLE,
) -> Endpoint:
    """The endpoint `path` under a base URL, which may already end in it.

    Raises `UserError` for a URL that is none, and for a key that no HTTP header can carry.
    """
    url = _url(base_url)
    before, _, query = url.raw_path.partition(b"?")
    root = before.rstrip(b"/").removesuffix(path.encode()).rstrip(b"/")
    whole = root + path.encode()
    raw_path = whole + b"?" + query if query else whole
    plain = SecretStr("") if key is None else key
    secret = _header_safe(plain.get_secret_value().strip(), key_variable)
    plain_url = url.copy_with(userinfo=b"", fragment=None)
    basic = _basic(url)
    return Endpoint(
        url=plain_url.copy_with(raw_path=raw_path),
        model=model,
        key_variable=key_variable,
        our_variable=our_variable,
        base=str(plain_url.copy_with(raw_path=root or b"/")),
        key=secret,
        basic=basic,
        secrets=_spellings(url, secret, basic),
    )


def _url(base_url: str) -> httpx.URL:
    # Neither the URL nor what the parser says of it is repeated: it may hold a password.
    hint = "give it as in https://api.openai.com/v1 or http://localhost:11434/v1"
    try:
        url = httpx.URL(base_url.strip())
        url.host.encode("idna")  # as the look-up of the address will
    except (httpx.InvalidURL, UnicodeError):
        raise UserError("the base URL cannot be read", hint=hint) from None
    if url.scheme not in ("http", "https"):
        raise UserError("the base URL does not begin with http:// or https://", hint=hint)
    if not url.host:
        raise UserError("the base URL names no host", hint=hint)
    return url


def _header_safe(key: str, key_variable: str) -> str:
    if re.fullmatch(r"[\x21-\x7e]*", key):
        return key
    raise UserError(
        "the API key holds a character that no HTTP header can carry (a line break, a space, "
        "a letter that is not ASCII)",
        hint=f"set {OUR_KEY_VARIABLE} or {key_variable} to the key alone",
    )


def _basic(url: httpx.URL) -> str:
    return base64.b64encode(unquote_to_bytes(url.userinfo)).decode("ascii")


def _secrets_in(url: httpx.URL) -> tuple[str, ...]:
    query = (value for name, value in url.params.multi_items() if not name.endswith("version"))
    return tuple(dict.fromkeys(filter(None, (url.username, url.password, _basic(url), *query))))


def _spellings(url: httpx.URL, *keys: str) -> tuple[str, ...]:
    """Every secret as it stands, and as JSON, a URL or base64 would spell it; the longest first."""
    query = {value for name, value in url.params.multi_items() if _SECRET_NAME.search(name)}
    # A short user's name or unnamed parameter is a word like any other.
    plain = {*keys, url.password, *query, *(s for s in _secrets_in(url) if len(s) >= 8)}
    spelled = {spelling for secret in plain for spelling in (secret, json.dumps(secret)[1:-1])}
    spelled |= {quote(secret, safe="") for secret in plain}
    spelled |= {digits for secret in plain for digits in _in_base64(secret.encode())}
    # Hiding each `a` would hide the message, and keep no secret.
    return tuple(sorted((s for s in spelled if len(s) >= 4), key=len, reverse=True))


def _in_base64(secret: bytes) -> Iterator[str]:
    """The digits that it alone decides, behind any number of bytes: a `user:`, for one."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode("ascii")
        yield encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]


def _printable(character: str) -> str:
    if character in "\t\n\r ":
        return " "
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character
