"""No key leaves in a report."""

from __future__ import annotations

import json
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from builders import a_report, runs
from github_markdown import as_github_shows_it, visible
from skill_delta.render.escape import fenced, untrusted
from skill_delta.render.junit import render_junit
from skill_delta.render.machine import render_json
from skill_delta.render.markdown import render_markdown
from skill_delta.render.redaction import REDACTED, Redactor
from skill_delta.render.terminal import render_terminal

KEY = "s3cr3t/Key+with=odd_chars"

SECRETS = st.text(
    string.ascii_letters + string.digits + string.punctuation, min_size=8, max_size=50
).filter(lambda text: len(text) > 16 or not set(text) <= set(string.ascii_lowercase))


A_REPORT = a_report(runs("refund", candidate="F", previous="P"))
OUR_OWN_WORDS = render_json(A_REPORT) + render_junit(A_REPORT) + render_markdown(A_REPORT)
"""No key is `testcase`: taking our own words out would leave no report."""


@settings(deadline=None)
@given(SECRETS, st.integers(0, 4), st.integers(0, 4))
@example("abcdef0123456789abcdef0123456789", 1, 2)
@example("\\\\\\\\\\\\\\\\", 0, 0)
@example('"&<>|$#@`*_', 2, 1)
def test_a_secret_is_in_no_report_however_it_is_spelled(
    secret: str, before: int, after: int
) -> None:
    """Each format has its escapes, and a key hides behind none of them."""
    assume(secret not in OUR_OWN_WORDS)
    # What our own writers put where GitHub would make a link: no key holds it.
    assume("&#8203;" not in secret)
    said = f"{'x' * before} {secret} {'y' * after}"
    redact = Redactor([secret]).redact
    report = a_report(runs("refund", candidate="F", previous="P", evidence=said), notes=[said])
    machine = redact(render_json(report))
    junit = redact(render_junit(report))
    page = redact(render_markdown(report))

    assert secret not in redact(render_terminal(report))
    assert all(secret not in text for text in strings(json.loads(machine)))
    assert secret not in "".join(fromstring(junit.encode()).itertext())
    assert secret not in visible(as_github_shows_it(page))


def strings(value: object) -> list[str]:
    """Every string of a JSON value."""
    if isinstance(value, dict):
        return [text for pair in value.items() for item in pair for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


@settings(deadline=None)
@given(SECRETS, st.binary(max_size=4), st.binary(max_size=4))
def test_a_secret_is_found_inside_base64_at_any_place(
    secret: str, before: bytes, after: bytes
) -> None:
    """`Authorization: Basic` holds the key behind a user's name."""
    data = before + secret.encode() + after
    for encode in (b64encode, urlsafe_b64encode):
        text = encode(data).decode()
        redacted = Redactor([secret]).redact(f"got {text}.")

        assert REDACTED in redacted
        # What may be left are the digits that it shares with its neighbours.
        assert len(redacted.replace(REDACTED, "")) <= len("got .") + 4 * (len(before + after) + 2)


@pytest.mark.parametrize(
    "spell",
    [
        quote,
        quote_plus,
        lambda text: quote(text, safe=""),
        lambda text: quote(text, safe="").lower(),
        lambda text: json.dumps(json.dumps(text)),
        untrusted,
        fenced,
    ],
)
def test_a_secret_is_found_as_part_of_a_url_or_of_nested_json(spell: Callable[[str], str]) -> None:
    """A provider's error text quotes the request that it refused."""
    key = KEY if spell(KEY) != spell(KEY).lower() else KEY.lower()

    assert key not in Redactor([key]).redact(spell(key))
    assert REDACTED in Redactor([key]).redact(f"at {spell(key)} it failed")


def test_a_secret_that_a_limit_cut_short_is_taken_out_as_well() -> None:
    """Most of a key is as good as a key."""
    shown = untrusted("x" * 280 + " " + KEY)

    assert KEY[:15] in shown.replace("\\", "")
    assert Redactor([KEY]).redact(shown).endswith(f" {REDACTED}… (6 more characters)")


def test_a_key_file_is_found_line_by_line() -> None:
    """A secret of several lines is quoted one line at a time."""
    key_file = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n"

    assert Redactor([key_file]).redact("read MIIEvQIBADANBg") == f"read {REDACTED}"


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefghij0123456789",
        "sk-ant-api03-abcdefghij0123456789",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_0123456789abcdefghij_ABCDEFGHIJ",
        "xoxb-0123456789-abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA0123456789abcdefghijABCDEFGHIJ0123",
        "hf_0123456789abcdefghijABCD",
        "Bearer abcdefgh.ijklmnop.0123",
    ],
)
@pytest.mark.parametrize(
    "written", [str, untrusted, json.dumps, lambda text: json.dumps(f"\n{text}")]
)
def test_what_looks_like_a_key_is_taken_out_though_nobody_named_it(
    text: str, written: Callable[[str], str]
) -> None:
    """A model can print a key that this run was never given."""
    redacted = Redactor([]).redact(f"key: {written(text)}, then more")

    assert REDACTED in redacted
    assert text[12:] not in redacted
    assert redacted.endswith(", then more")


@pytest.mark.parametrize(
    "text",
    [
        "the task-force asked for a risk-assessment-of-something-rather-long",
        "the bearer internationalisation of it",
        "half_hearted and ghp_ and sk-",
        '"tokens": 12345678901234567890',
    ],
)
def test_what_does_not_look_like_a_key_stays(text: str) -> None:
    """A report without its words is no report."""
    assert Redactor([]).redact(text) == text


PLAIN = st.text(string.printable, max_size=7) | st.text(string.ascii_lowercase, max_size=16)


@settings(deadline=None)
@given(PLAIN)
@example("")
@example("none")
@example("true")
@example("1234567")
@example("outcomes")
@example("candidate")
def test_what_is_too_short_or_too_plain_to_be_a_secret_hides_nothing(secret: str) -> None:
    """Local servers take any word for a key, and a report without that word is none."""
    text = f"{OUR_OWN_WORDS} {secret}"

    assert Redactor([secret]).redact(text) == text


@pytest.mark.parametrize(
    "secret", ["hunter22", "Candidate", "abcdefghijklmnopq", "le mot de passe"]
)
def test_from_eight_characters_on_what_is_no_plain_word_is_a_secret(secret: str) -> None:
    """Nobody's key is safe for being weak."""
    assert Redactor([secret]).redact(f"it is {secret}!") == f"it is {REDACTED}!"


def test_what_only_looks_like_a_key_stays_in_what_is_still_to_be_graded() -> None:
    """An answer that shows how to send a token is graded as it was given; the key goes."""
    shown = "Authorization: Bearer abcdefgh.ijklmnop.0123"

    assert Redactor([KEY]).redact_known(f"{shown} {KEY}") == f"{shown} {REDACTED}"


@settings(deadline=None)
@given(SECRETS)
def test_a_redacted_json_report_is_still_json(secret: str) -> None:
    """Taking a secret out never takes a quote or half an escape with it."""
    report = a_report(runs(candidate="F", evidence=f"a\n{secret}\tb\\{secret}"))

    json.loads(Redactor([secret]).redact(render_json(report)))


@pytest.mark.parametrize(
    "text",
    [
        "\\" * 100_000,
        "sk-" * 30_000,
        "sk-" + "\\" * 100_000,
        (KEY[:8] + "x") * 10_000,
        "&#8203;" * 9_999,
    ],
)
def test_no_text_holds_up_the_redaction(text: str) -> None:
    """What a model prints may have been made to keep a pattern busy for hours."""
    Redactor([KEY, "\\" * 8, "a\\b\\c\\d\\e", "sk-not-the-one-1"]).redact(f"{text} sk- {KEY}")


def test_a_text_without_a_secret_is_the_same_text() -> None:
    """Redaction is in every writer's way, so it does nothing where there is nothing to do."""
    text = render_markdown(a_report(runs(candidate="PPF", previous="PPP")))

    assert Redactor([KEY, "another-secret"]).redact(text) is text
