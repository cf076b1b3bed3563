"""What a changed-path filter is asked, and what it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_delta.history.asked_paths import AskedFolder
from skill_delta.history.changed_paths import ChangedPaths, PathHashes, Shape, murmur3

long_names = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name)
names = st.sampled_from([b"a", b"b", b"\xff"]) | long_names
paths = st.lists(names, min_size=1, max_size=3).map(b"/".join)
"""Some of them are folders of others."""


@pytest.mark.parametrize(
    ("data", "seed", "value"),
    [
        (b"", 0, 0),
        (b"", 1, 0x514E28B7),
        (b"", 0xFFFFFFFF, 0x81F16F39),
        (b"\0\0\0\0", 0, 0x2362F9DE),
        (b"\xff\xff\xff\xff", 0, 0x76293B50),
        (b"\x21\x43\x65\x87", 0, 0xF55B516B),
        (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
        (b"\x21\x43\x65", 0, 0x7E4A8634),
        (b"\x21\x43", 0, 0xA0F7B07A),
        (b"\x21", 0, 0x72661CF4),
        ("ππππππππ".encode(), 0x9747B28C, 0xD58063C1),
        (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    ],
)
def test_version_2_hashes_as_everyone_does(data: bytes, seed: int, value: int) -> None:
    """Known values of 32-bit murmur3."""
    assert murmur3(data, seed, signed=False) == value


@given(st.binary(max_size=20).filter(bytes.isascii), st.integers(0, 2**32 - 1))
def test_a_sign_matters_beyond_ascii_only(data: bytes, seed: int) -> None:
    """So most paths have one mask in both versions."""
    assert murmur3(data, seed, signed=True) == murmur3(data, seed, signed=False)


def filter_of(changed: list[bytes], shape: Shape, variant: int) -> ChangedPaths:
    """The filter of a commit that changed these files."""
    bits = 0
    for path in changed:
        names = path.split(b"/")
        for depth in range(len(names)):
            masks = PathHashes(b"/".join(names[: depth + 1])).masks(shape)
            bits |= masks[variant % len(masks)]
    return ChangedPaths(bits, shape)


@given(
    st.lists(paths, min_size=1, max_size=6, unique=True),
    st.integers(1, 40),
    st.sampled_from([1, 2]),
    st.integers(0, 1),
    st.data(),
)
def test_a_changed_path_is_always_possible(
    asked: list[bytes], size: int, version: int, variant: int, data: st.DataObject
) -> None:
    """Of any trails, whichever compiler hashed, and after others were asked for no longer."""
    folder = AskedFolder()
    for trail, path in enumerate(asked):
        folder.begin(path, 1 << trail)
    changed = data.draw(st.lists(st.sampled_from(asked), min_size=1))
    changes = filter_of(changed, Shape(size, version, hashes=7), variant)
    everyone = 2 ** len(asked) - 1
    expected = sum(1 << trail for trail, path in enumerate(asked) if path in changed)

    assert folder.possible(changes, everyone) & expected == expected

    for trail in data.draw(st.sets(st.sampled_from(range(len(asked))))):
        folder.end(asked[trail], 1 << trail)
        expected &= ~(1 << trail)
        assert folder.possible(changes, everyone) & expected == expected
        assert not folder.possible(changes, everyone) >> trail & 1


def test_an_empty_filter_rules_everything_out() -> None:
    """A commit that changed nothing."""
    folder = AskedFolder()
    folder.begin(b"a/SKILL.md", 1)

    assert folder.possible(ChangedPaths(0, Shape(1, 1, 7)), 1) == 0


def test_a_full_filter_rules_nothing_out() -> None:
    """How newer versions of git mark a commit that changed too much."""
    folder = AskedFolder()
    folder.begin(b"a/SKILL.md", 1)
    folder.begin("é/SKILL.md".encode(), 2)

    assert folder.possible(ChangedPaths(0xFF, Shape(1, 1, 7)), 3) == 3
