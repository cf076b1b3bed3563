"""The checks of the output's text."""

from __future__ import annotations

import re
import threading
import tracemalloc
import warnings
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from skill_delta.core.checks import AnyAssertion
from skill_delta.core.checks.base import CheckSpec, Finding
from skill_delta.core.checks.patterns import compiled
from skill_delta.core.checks.text import Contains, NotContains
from skill_delta.core.transcript import Transcript
from skill_delta.errors import TrialError

ASSERTION: TypeAdapter[CheckSpec] = TypeAdapter(AnyAssertion)


def check(kind: str, **fields: object) -> CheckSpec:
    return ASSERTION.validate_python({"kind": kind, **fields})


def judged(spec: CheckSpec, answer: str) -> Finding:
    return spec.grade(Transcript(answer))


HOLDS = [
    (check("contains", value="order 1234"), "Your order 1234 is late."),
    (check("not_contains", value="!"), "Hello, Ada."),
    (check("icontains", value="STRASSE"), "Die Straße ist gesperrt."),
    (check("regex", value=r"(?m)^total: \d+$"), "north 120\ntotal: 200\n"),
    (check("regex", value="{id}"), "see {id}"),
    (check("not_regex", value=r"(?i)as an ai\b"), "As an aim, we ship on Friday."),
    (check("equals", value="42"), "  42\n"),
    (check("any_of", values=["north", "south"]), "the south wing"),
    (check("all_of", values=["north", "south"]), "south and north"),
]

FAILS = [
    (check("contains", value="order 1234"), "Your Order 1234 is late."),
    (check("not_contains", value="!"), "Hello, Ada!"),
    (check("icontains", value="refund"), "no money back"),
    (check("regex", value=r"^total"), "the total"),
    (check("regex", value="a{e}"), "anything at all"),
    (check("not_regex", value=r"(?i)as an ai\b"), "As an AI, I cannot."),
    (check("equals", value="42\n"), "42\n"),
    (check("any_of", values=["north", "south"]), "the east wing"),
    (check("all_of", values=["north", "south"]), "south only"),
]


@pytest.mark.parametrize(("spec", "answer"), HOLDS)
def test_a_check_that_holds_passes_with_evidence(spec: CheckSpec, answer: str) -> None:
    """A pass scores 1 and says what was found."""
    finding = judged(spec, answer)

    assert (finding.passed, finding.score) == (True, 1.0)
    assert finding.evidence


@pytest.mark.parametrize(("spec", "answer"), FAILS)
def test_a_check_that_does_not_hold_fails_with_evidence(spec: CheckSpec, answer: str) -> None:
    """A fail scores 0 and says what was expected and what was found."""
    finding = judged(spec, answer)

    assert (finding.passed, finding.score) == (False, 0.0)
    assert "expected" in finding.evidence


def test_evidence_of_a_missing_text_quotes_the_output() -> None:
    """The reader sees what the model said instead, without opening a transcript."""
    finding = judged(check("contains", value="1234"), "No such\torder.\n")

    assert finding.evidence == 'expected "1234" in the output; the output is "No such\\torder.\\n"'


def test_evidence_of_an_unwanted_text_shows_its_surroundings() -> None:
    """Where the text stands is what helps, not how the output began."""
    finding = judged(check("not_contains", value="Traceback"), "x" * 500 + "Traceback" + "y" * 500)

    assert "Traceback" in finding.evidence.split("found")[1]
    assert len(finding.evidence) < 300


def test_evidence_says_where_long_texts_part() -> None:
    """Two long texts that begin alike would otherwise look equal."""
    finding = judged(check("equals", value="a" * 300 + "b"), "a" * 300 + "c")

    assert finding.evidence.endswith("they differ from character 301")


def test_an_empty_output_is_called_empty() -> None:
    """`""` in quotation marks is easily overlooked."""
    finding = judged(check("any_of", values=["yes", "no"]), " \n")

    assert finding.evidence == 'expected any of "yes", "no" in the output; the output is empty'


@given(st.text(), st.text(min_size=1))
def test_contains_and_not_contains_are_opposites(answer: str, value: str) -> None:
    """One of the two always holds."""
    one = judged(Contains(kind="contains", value=value), answer)
    other = judged(NotContains(kind="not_contains", value=value), answer)

    assert one.passed is (value in answer)
    assert other.passed is not one.passed


@given(st.text(max_size=400), st.sampled_from([spec for spec, _ in HOLDS]))
def test_evidence_is_one_plain_line(answer: str, spec: CheckSpec) -> None:
    """Whatever the model says, it cannot break a report's line or hide in it."""
    evidence = judged(spec, answer).evidence

    assert evidence.isprintable()
    assert len(evidence) < 2_500


def test_a_catastrophic_pattern_loses_the_trial() -> None:
    """It is the pattern's fault, not the skill's: errored, and the check is named."""
    spec = check("not_regex", value="^(a|aa)+$")

    with pytest.raises(TrialError) as lost:
        judged(spec, "a" * 60 + "!")

    assert str(lost.value) == 'regex "^(a|aa)+$" took longer than 1 s'


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a+)+$", r"^(\w+\s?)*$", "(x+x+)+y", "(.*a){20}$"])
def test_a_textbook_bomb_is_answered_within_the_second(pattern: str) -> None:
    """The engine sees through these; were it not to, the trial would be lost, not the job."""
    assert judged(check("regex", value=pattern), "a" * 40 + "! ").passed is False


@pytest.mark.parametrize(
    "pattern",
    ["(", "[a", "*", "(?V1)a", r"\L<x>", "(" * 1500, "[[" * 1000, "[]", "[\\"],
)
def test_a_malformed_pattern_is_refused_when_read(pattern: str) -> None:
    """Before any money is spent."""
    with pytest.raises(ValidationError, match="the regular expression cannot be read"):
        check("regex", value=pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "((a{1000}){1000}){1000}",
        "(((a|b){500}){500}){500}",
        "(?:(?:ab){900,1000}c){900,1000}",
        "((ab){1000}(?#not a group)){1000}",
        "(a)(?#x){1000}(b)(?#[){1000}",
        "(?x)((a b) {1000}) {1000}",
        "(?x)((ab){1 # one\n000}){1000}",
        "(?:(?R)a|b)",
        "(a(?1)?)",
        "(?P<x>(?&x)a|b)",
        "(?x)a # [\n(?R)?",
        "a{10000000}",
        ".{20000000}",
        "a{99999999999}",
        r"(?:\X{19000}){2}",
        "[" + r"\p{L}" * 300 + "]{1000}",
        "[ab[:alpha:]" + r"\p{L}" * 300 + "[:digit:]]{1000}",
    ],
)
def test_a_pattern_that_would_exhaust_the_memory_is_refused_when_read(pattern: str) -> None:
    """No timeout watches over the compilation of a pattern."""
    refusal = "write out to more|a verbose pattern|call itself"
    with pytest.raises(ValidationError, match=refusal):
        check("regex", value=pattern)


def test_the_length_of_a_pattern_is_bounded() -> None:
    """Reading some patterns takes time that grows with the square of their length."""
    judged(check("regex", value="a" * 2_000), "b")
    with pytest.raises(ValidationError, match="has 2,001 characters; at most 2,000 are read"):
        check("regex", value="a" * 2_001)


REPEATED = st.sampled_from(["a", "[ab]", "(?:ab)", "(?=a)", r"\X", r"\p{L}", "(a|b)", ")", "{5}"])


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        REPEATED,
        lambda inner: st.tuples(st.lists(inner, min_size=1, max_size=4), st.integers(0, 10**9)).map(
            lambda part: f"(?:{''.join(part[0])}){{{part[1]}}}"
        ),
    ),
    st.integers(1, 10**9),
)
def test_no_pattern_is_read_that_takes_much_memory(pattern: str, rounds: int) -> None:
    """Whatever is repeated, however often, at whatever depth."""
    tracemalloc.start()
    with suppress(ValueError):
        compiled(f"{pattern}{{{rounds}}}")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 64 * 1024 * 1024


def test_a_search_lets_other_threads_run() -> None:
    """Trials that are graded in a thread do not stop the run that they are part of."""
    spec = check("regex", value="^(a|aa)+$")
    turns = 0

    def grade() -> None:
        with suppress(TrialError):
            judged(spec, "a" * 60 + "!")

    searching = threading.Thread(target=grade)
    searching.start()
    while searching.is_alive():
        searching.join(timeout=0.01)
        turns += 1

    assert turns > 5


SLOW = {"regex", "not_regex", "json-schema"}


@pytest.mark.parametrize(
    "spec", [*(spec for spec, _ in HOLDS), check("json-schema", json_schema={})], ids=repr
)
def test_checks_that_search_say_that_they_may_be_slow(spec: CheckSpec) -> None:
    """They are the ones that are run in a thread."""
    assert spec.may_be_slow is (getattr(spec, "kind", "") in SLOW)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
        r"^(?:\d{1,3}\.){3}\d{1,3}$",
        r"^(?:\S+\s+){20,80}\S+$",
        r"\p{Lu}\p{Ll}{3}",
        r"^[A-Za-z0-9+/]{64,}={0,2}$",
        r"^.{0,100000}$",
        "(?x) a  # the first [of all\n b",
        "(?x) ( a b ) {3}  c",
        r'"status": {"ok": true}',
        "{}",
        r"\(?Rome\)?",
    ],
)
def test_an_everyday_pattern_is_read(pattern: str) -> None:
    """The bound is far above what a check needs."""
    judged(check("regex", value=pattern), "anything")


@pytest.mark.parametrize("kind", ["contains", "icontains", "regex"])
def test_an_empty_value_always_holds_and_says_so(kind: str) -> None:
    """Such a check measures nothing; whoever reads the suite can tell."""
    assert check(kind, value="").always_holds
    assert not check(kind, value="x").always_holds


@pytest.mark.parametrize(
    ("kind", "value"),
    [("not_contains", ""), ("not_regex", ""), ("equals", "42\n"), ("equals", " 42")],
)
def test_a_value_that_every_output_breaks_says_so(kind: str, value: str) -> None:
    """Such a check measures nothing either."""
    assert check(kind, value=value).never_holds
    assert not check(kind, value="42").never_holds
    assert not judged(check(kind, value=value), value).passed


@pytest.mark.parametrize("values", [[], [""], ["a", ""]])
def test_a_list_of_texts_has_texts(values: list[str]) -> None:
    """An empty text in a list would make `any_of` hold for every output."""
    with pytest.raises(ValidationError):
        check("any_of", values=values)


PARTS = (
    *("a", "b", "(", ")", "(?:", "[", "[^", "]", "{2}", "{1,3}", "{2,}", "{,2}", "{", "}", "{e}"),
    *("{d<=1}", "*", "+", "?", "|", r"\d", r"\w", r"\b", r"\{", "^", "$", ".", "(?=", "(?!", "0"),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map("".join),
    st.text(alphabet="ab0e{}d(", max_size=12),
)
def test_a_pattern_means_what_it_means_in_python(pattern: str, answer: str) -> None:
    """A suite written for `re` keeps its verdicts."""
    try:
        ours = compiled(pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # `[[`: a set in a set, some day
            theirs = re.compile(pattern)
    except (ValueError, re.error):
        return
    assert (ours.search(answer, timeout=1) is None) is (theirs.search(answer) is None)
