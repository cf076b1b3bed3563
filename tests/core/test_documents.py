"""A document is read as its author sees it, or refused with the place of the trouble."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skill_delta.core.documents import (
    MAX_BYTES,
    MAX_VALUES,
    Document,
    DocumentError,
    decode,
    dotted,
    parse_yaml,
    read_document,
)


def document(text: str) -> Document:
    return read_document(dedent(text).encode(), "suite.yaml")


def refusal(text: str | bytes) -> DocumentError:
    raw = text if isinstance(text, bytes) else dedent(text).encode()
    with pytest.raises(DocumentError) as caught:
        read_document(raw, "suite.yaml")
    return caught.value


# ---------------------------------------------------------------- what is read


def test_plain_values_keep_their_types() -> None:
    """Text, numbers, booleans, null, lists and mappings come out as JSON has them."""
    read = document("""
        text: hello
        number: 3
        share: 0.5
        really: true
        nothing: null
        list: [1, two]
    """)

    assert read.value == {
        "text": "hello",
        "number": 3,
        "share": 0.5,
        "really": True,
        "nothing": None,
        "list": [1, "two"],
    }


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "Yes", "NO", "y", "n"])
def test_everyday_words_are_not_booleans(word: str) -> None:
    """`contains: no` looks for the word, as YAML 1.2 and every reader would expect."""
    assert document(f"contains: {word}").value == {"contains": word}


@pytest.mark.parametrize("text", ["=", "<<"])
def test_yaml_1_1_oddities_are_text(text: str) -> None:
    """A plain `=` or `<<` as a value means itself."""
    assert document(f"equals: {text}").value == {"equals": text}


def test_a_date_stays_as_it_was_spelled() -> None:
    """An unquoted date is text, and is remembered to have been written as a date."""
    read = document("""
        released: 2024-01-05
        quoted: "2024-01-05"
    """)

    assert read.value == {"released": "2024-01-05", "quoted": "2024-01-05"}
    assert read.dates == {("released",)}


def test_keys_are_their_own_spelling() -> None:
    """A mapping of replies may have the key `404`, which names "404"."""
    assert document("404: missing\ntrue: yes").value == {"404": "missing", "true": "yes"}


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbfa: 1\n", b"a: 1\r\n", b"a: 1\r", b"a: 1"])
def test_the_editor_leaves_no_trace(raw: bytes) -> None:
    """A byte-order mark and the kind of line ends do not change what is read."""
    assert read_document(raw, "suite.yaml").value == {"a": 1}


def test_an_empty_file_is_a_null_document() -> None:
    """Nothing, or nothing but comments, is a document whose value is null."""
    assert document("# nothing here yet\n").value is None


def test_json_is_read_too() -> None:
    """JSON is a subset of YAML."""
    assert document('{"cases": [{"name": "a\\u00e9\\t"}]}').value == {"cases": [{"name": "aé\t"}]}


# ---------------------------------------------------------------- merge keys


def test_what_is_written_in_place_wins_over_a_merge() -> None:
    """`<<` fills in only the keys that are missing, the earlier source first."""
    read = document("""
        near: &near {a: near, b: near}
        far: &far {a: far, b: far, c: far}
        all:
          a: here
          <<: [*near, *far]
    """)

    assert read.value == {
        "near": {"a": "near", "b": "near"},
        "far": {"a": "far", "b": "far", "c": "far"},
        "all": {"a": "here", "b": "near", "c": "far"},
    }


def test_a_merge_that_loses_leaves_no_trace() -> None:
    """The line, and whether the value was a date, are those of the value that won."""
    read = document("""
        <<: {version: 2024-01-01, other: 2024-01-01}
        version: "1.0"
    """)

    assert read.value == {"version": "1.0", "other": "2024-01-01"}
    assert read.place(("version",)).line == 3
    assert read.dates == {("other",)}


def test_a_merge_takes_only_mappings() -> None:
    """Merging a list or a text is refused."""
    assert "<< takes a mapping" in refusal("<<: 3").problem


# ---------------------------------------------------------------- places


def test_every_value_knows_its_line() -> None:
    """A message can name the line of any value, and of what encloses a missing one."""
    read = document("""\
        cases:
          - name: first
          - name: second
            task: >
              hello
    """)

    assert str(read.place(("cases", 1, "name"))) == "suite.yaml:3:5: cases[1].name"
    assert read.place(("cases", 1, "task")).line == 4
    assert str(read.place(("cases", 1, "tools", 0))) == "suite.yaml:3:5: cases[1].tools[0]"


def test_lines_count_from_where_the_text_begins() -> None:
    """A frontmatter that starts on line 2 of its file is placed in the file, not in itself."""
    assert parse_yaml("a: 1\nb: 2", "SKILL.md", first_line=2).place(("b",)).line == 3
    with pytest.raises(DocumentError, match=r"SKILL\.md:3"):
        parse_yaml("a: 1\nb: c: d", "SKILL.md", first_line=2)


def test_a_way_is_written_as_people_write_it() -> None:
    """Steps by name are joined with dots, positions stand in brackets."""
    assert dotted(()) == ""
    assert dotted(("cases", 0, "tools", 12, "name")) == "cases[0].tools[12].name"


# ---------------------------------------------------------------- what is refused


def test_a_key_given_twice_is_refused() -> None:
    """One of the two would be lost without a word; both lines are named."""
    error = refusal("task: one\nother: 1\ntask: two\n")

    assert "already given on line 1" in error.problem
    assert str(error.place) == "suite.yaml:3:1: task"


def test_a_key_given_twice_in_other_quotes_is_refused() -> None:
    """`a` and `"a"` are the same key."""
    assert "already given" in refusal("a: 1\n'a': 2\n").problem


def test_laughs_by_the_billion_are_refused() -> None:
    """A small file whose aliases expand beyond all bounds is stopped at the bound."""
    lines = ["a0: &a0 [lol]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]

    assert f"more than {MAX_VALUES:,} values" in refusal("\n".join(lines)).problem


def test_merges_by_the_billion_are_refused() -> None:
    """The same bound holds for merge keys, even where every mapping is empty."""
    lines = ["a0: &a0 {}"]
    lines += [f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)]

    assert "values" in refusal("\n".join(lines)).problem


@pytest.mark.parametrize(
    "text",
    ["&a [*a]", "&a {<<: *a}", "x: &a {<<: [*a, *a]}", "[" * 100 + "]" * 100, "- " * 5000],
    ids=["list in itself", "merge of itself", "twice", "deep brackets", "deep dashes"],
)
def test_bottomless_nesting_is_refused(text: str) -> None:
    """No document is so deep that reading it ends the process."""
    assert "nest" in refusal(text).problem


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1.0e+999"])
def test_numbers_that_are_none_are_refused(value: str) -> None:
    """JSON has no infinity, and nothing compares with NaN."""
    assert "not a finite number" in refusal(f"tolerance: {value}").problem


@pytest.mark.parametrize("value", ["9" * 5000, "0x" + "f" * 5000, "0x_", "!!int ''", "!!int foo"])
def test_integers_that_cannot_be_used_are_refused(value: str) -> None:
    """Too large to print, or no number at all."""
    assert refusal(f"n: {value}").place is not None


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system [ls]",
        "!!python/name:os.system",
        "!custom {a: 1}",
        "!!set {a, b}",
        "!!omap [a: 1]",
        "!!binary aGk=",
        "!!bool perhaps",
        "!!float ''",
    ],
)
def test_tags_that_name_objects_are_refused(value: str) -> None:
    """Nothing but plain values is ever built."""
    assert str(refusal(f"a: {value}").place).startswith("suite.yaml:1")


def test_a_key_that_is_no_text_is_refused() -> None:
    """A list or mapping as a key has no name to be asked for."""
    assert "a key must be plain text" in refusal("? [a, b]\n: 1").problem


def test_two_documents_in_one_file_are_refused() -> None:
    """The second would be lost without a word."""
    error = refusal("a: 1\n---\nb: 2\n")

    assert str(error) == "suite.yaml:2:1: it holds several documents (---): keep one"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("cases:\n  - name: a\n  task: b\n", "check the indentation of this line"),
        ("- a\nb: 1\n", "check the indentation of this line"),
        ("a:\n  - x\n b: 1\n", "check the indentation of this line"),
        ('task: "Why" they ask\n', "begins with a quotation mark ends with it"),
        ("task: Note: be brief\n", 'text that holds ": " needs quotes'),
        ("a: 1\n  b: 2\n", "check the indentation of this line"),
        ("a: 1\nfoo\nb: 2\n", "a key is followed by a colon"),
        ("a:\n\tb: 1\n", "tabs cannot indent: use spaces"),
        ("cases:\n- a\n\t- b\n", "tabs cannot indent: use spaces"),
        ("é: 😀\nto: @ada\n", "text that begins with @ needs quotes"),
        ("value: `ls`\n", "text that begins with ` needs quotes"),
        ("value: %d\n", "text that begins with % needs quotes"),
        ("value: *bold text\n", "text that begins with * needs quotes"),
        ("value: * point\n", "text that begins with * or & needs quotes"),
        ("value: !important\n", "text that begins with ! needs quotes"),
        ("value: [a, !]\n", "text that begins with ! needs quotes"),
        ("value: !x!y\n", "text that begins with ! needs quotes"),
        ("value: !! now\n", "text that begins with ! needs quotes"),
        ("a: - b\n", "a list begins on the line below its key"),
        ("a: [1, 2\nb: 3\n", "a list that begins with [ ends with ]"),
        ("a: {b: 1\nc: 3\n", "a mapping that begins with { ends with }"),
        ('a: "x\n', "a quotation mark is not closed"),
        (r'a: "\d+"', "write a backslash within double quotes as two"),
    ],
)
def test_a_slip_in_the_yaml_comes_with_a_hint_in_plain_words(text: str, hint: str) -> None:
    """The parser speaks of tokens and mappings; the author wants to know what to write."""
    error = refusal(text)

    assert hint in error.hint
    assert error.place is not None
    assert error.place.line is not None


@pytest.mark.parametrize(
    "text",
    ["v: !", "- !", "v: ! # not", "v: [!, b]", "v: &x !", "v: ! &x", "! : a", "é: 😀\nv: !\n"],
)
def test_a_bare_exclamation_mark_is_not_read_as_nothing(text: str) -> None:
    """`not_contains: !` would look for the empty text, and fail on every output."""
    error = refusal(text)

    assert error.problem == 'it is empty text; an unquoted ! is a YAML tag: write "!"'


@pytest.mark.parametrize("text", ["value: ! wow", "value: !\n  wow", "! a: b"])
def test_an_exclamation_mark_is_not_dropped_from_a_text(text: str) -> None:
    """YAML takes it for a tag that says nothing, and the check would look for the rest."""
    assert "put the text in quotes" in refusal(text).problem


def test_an_exclamation_mark_in_quotes_or_within_a_text_is_text() -> None:
    """Only where it begins a plain text does YAML take it for itself."""
    assert document("['!', \"! a\", a!, a !]").value == ["!", "! a", "a!", "a !"]


HOSTILE = "x\n::error::y\u202e\x1b[1m\u2028" + "k" * 5_000
KEY = json.dumps(HOSTILE)
LONG = "9" * 3_000


@pytest.mark.parametrize(
    "text",
    [
        f"{KEY}: .nan",
        f"? {KEY}\n: 1\n? {KEY}\n: 2\n",
        f"{KEY}: {{{KEY}: {{{KEY}: [.inf]}}}}",
        f"a: !<tag:{'k' * 3_000}%0a%e2%80%aex> {{}}",
        f"a: !<tag:{'k' * 3_000}%0a%e2%80%aex> y",
        f"{KEY}: !",
        f"a: {LONG}e{LONG}",
        f"a: !!int {KEY}",
        f"a: !!float {KEY}",
        f"a: !!bool {KEY}",
        f"a: *{'k' * 3_000}",
        f"a: !{'k' * 3_000}!y z",
        "a: \x1b",
        "%k\u202e\n---\na",
    ],
    ids=range(14),
)
def test_a_message_repeats_the_files_words_on_one_short_line(text: str) -> None:
    """A key with a line break must not write a line of its own into the log."""
    error = refusal(text)

    assert str(error).replace("\n  help: ", " ").isprintable()
    assert len(str(error)) < 600


@given(st.lists(st.text() | st.integers(0, 9), max_size=5).map(tuple))
def test_a_way_is_told_on_one_line(path: tuple[str | int, ...]) -> None:
    """Whatever the keys are."""
    assert dotted(path) == "" or dotted(path).isprintable()


def test_bytes_that_are_not_utf_8_are_refused_with_their_line() -> None:
    """The line of the first bad byte is named, with what to do."""
    error = refusal(b"a: 1\nb: caf\xe9\n")

    assert "0xe9 is not UTF-8" in error.problem
    assert str(error.place) == "suite.yaml:2:7"
    assert "UTF-8" in error.hint


def test_a_file_over_the_limit_is_refused() -> None:
    """A mebibyte is read, one byte more is not."""
    assert len(decode(b"x" * MAX_BYTES, "big.yaml")) == MAX_BYTES
    assert "1,048,577 bytes" in refusal(b"x" * (MAX_BYTES + 1)).problem


def test_control_characters_are_refused() -> None:
    """A NUL byte is no YAML."""
    assert refusal(b"a: \x00").place is not None


yamlish = st.text(
    alphabet=st.sampled_from("ab0.:-,?!&*<[]{}\"'|>%@#=~ \n\t\r\\u85\u2028é\x00"), max_size=60
).map(str.encode)


@given(st.binary(max_size=200) | yamlish)
@example(b"a: !!bool maybe")
@example(b"!!int ''")
@example(b"? *a\n: &a")
def test_any_bytes_are_a_document_or_a_document_error(raw: bytes) -> None:
    """Whatever a pull request puts into a file, the reader answers in its own words."""
    answer: Document | DocumentError
    try:
        answer = read_document(raw, "any.yaml")
    except DocumentError as error:
        answer = error

    assert isinstance(answer, Document) or answer.place is not None


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(plain)
@example("\U0001f600")
def test_json_written_by_others_reads_back(value: object) -> None:
    """What a JSON writer wrote is what is read."""
    assert read_document(json.dumps(value).encode(), "any.json").value == value


# ---------------------------------------------------------------- columns

COLUMNS = {
    "a key": ("a: 1\n  b: 2\n", (2, 4)),
    "a tab": ("a:\n\t- b\n", (2, 1)),
    "a key given twice": ("x: {a: 1, ä: 2, a: 3}\n", (1, 17)),
    "a key that is no text": ("x:\n  ? [a]\n  : b\n", (2, 5)),
    "a tag": ("x: [é, !mine y]\n", (1, 8)),
    "a mark that is lost": ("x:\n  - ! text\n", (2, 5)),
    "a number that is none": ("x: [1, .nan]\n", (1, 8)),
    "a second document": ("a: 1\n---\nb: 2\n", (2, 1)),
    "an unknown alias": ("a: [é, *b]\n", (1, 8)),
    "a control character": ("a: é\n  b: \x07\n", (2, 6)),
    "a byte that is no text": ("é: ".encode() + b"\xff", (1, 4)),
}


@pytest.mark.parametrize(("text", "mark"), COLUMNS.values(), ids=COLUMNS)
def test_a_broken_file_is_told_with_line_and_column(
    text: str | bytes, mark: tuple[int, int]
) -> None:
    """The column in characters, counted from 1, as an editor counts."""
    place = refusal(text).place

    assert place is not None
    assert (place.line, place.column) == mark


def test_a_value_is_placed_by_its_key() -> None:
    """What stands in a list by itself; what is not there by what would hold it."""
    read = parse_yaml("a:\n  bé: {c: [x, yy]}\n", "suite.yaml", first_line=3)

    assert str(read.place(("a", "bé", "c", 1))) == "suite.yaml:4:15: a.bé.c[1]"
    assert str(read.place(("a", "bé", "c"))) == "suite.yaml:4:8: a.bé.c"
    assert str(read.place(("a", "bé", "d"))) == "suite.yaml:4:3: a.bé.d"
    assert str(read.place()) == "suite.yaml:3:1"
