"""The hidden first line: what was written is read again, and nothing else is taken for it."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from github_scene import NOON, a_marker
from skill_delta.errors import UserError
from skill_delta.hosts.comment_marker import (
    MARKER_CHARACTERS,
    CommentMarker,
    RunIdentity,
    checked_comment_id,
)

ZONES = st.sampled_from([UTC, timezone(timedelta(hours=-11)), timezone(timedelta(hours=5.5))])
MOMENTS = st.datetimes(timezones=ZONES).filter(lambda moment: 1 < moment.year < 9999)
RUNS = st.builds(
    RunIdentity, st.integers(0, 10**19 - 1), st.integers(0, 10**9 - 1), started_at=MOMENTS
)
COMMENT_IDS = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?", fullmatch=True)
SHAS = st.from_regex("[0-9a-f]{40}|[0-9a-f]{64}", fullmatch=True)
MARKERS = st.builds(CommentMarker, COMMENT_IDS, SHAS, RUNS)


@given(MARKERS, st.text())
def test_a_marker_is_read_as_it_was_written(marker: CommentMarker, body: str) -> None:
    """Whatever stands below it; the start of the run is kept to the second."""
    read = CommentMarker.of(marker.above(body))

    assert read is not None
    assert (read.comment_id, read.head_sha) == (marker.comment_id, marker.head_sha)
    assert not read.run.is_older_than(marker.run)
    assert not marker.run.is_older_than(read.run)


@given(MARKERS, st.text(min_size=1))
def test_only_the_very_start_of_a_comment_counts(marker: CommentMarker, before: str) -> None:
    """A marker that is quoted, indented or put further down is somebody else's text."""
    assert CommentMarker.of(f"{before}{marker}") is None
    assert CommentMarker.of(f"{before}\n{marker}\nbody") is None


@given(st.text() | st.text(alphabet="<!- skill-delta:v1id=runattemptstartedhead0123456789abTZ>\n"))
def test_any_text_can_be_looked_at(text: str) -> None:
    """What people write into comments is no reason to stop."""
    assert CommentMarker.of(text) is None


@given(MARKERS)
def test_a_marker_fits_the_room_that_is_set_aside_for_it(marker: CommentMarker) -> None:
    """So a comment that was measured without it still fits with it."""
    assert len(marker.above("")) <= MARKER_CHARACTERS


@given(MARKERS)
def test_a_marker_is_one_hidden_line(marker: CommentMarker) -> None:
    """It ends no comment early, and shows nothing."""
    assert str(marker).count("-->") == 1
    assert str(marker).endswith(" -->")
    assert "\n" not in str(marker)


@pytest.mark.parametrize(
    "line",
    [
        str(a_marker()).replace(":v1 ", ":v2 "),
        str(a_marker()).replace("2026-11-30", "2026-11-31"),
        str(a_marker()).replace("head=a", "head="),
        str(a_marker()).replace("attempt=1 ", ""),
        str(a_marker()) + " and more",
        str(a_marker()).replace("run=100", "run=\u0661\u0660\u0660"),
        str(a_marker()).replace("id=default", "id=a--> <!--"),
    ],
)
def test_what_is_almost_a_marker_is_none(line: str) -> None:
    """Another version's, one with a date that does not exist, one with a part missing."""
    assert CommentMarker.of(f"{line}\nbody") is None


def test_a_comment_that_github_gave_other_line_breaks_is_still_ours() -> None:
    """People who edit a comment in the browser turn its line breaks into CR LF."""
    assert CommentMarker.of(f"{a_marker()}\r\nbody") == a_marker()


@given(RUNS, RUNS)
def test_of_two_runs_at_most_one_is_older(one: RunIdentity, other: RunIdentity) -> None:
    """Else each would wait for the other, or both would write."""
    assert not (one.is_older_than(other) and other.is_older_than(one))
    assert not one.is_older_than(one)


def test_a_later_attempt_of_one_run_is_newer_whatever_the_clocks_say() -> None:
    """Two machines of one run may not agree on the time."""
    first = RunIdentity(100, 1, NOON.replace(minute=9))
    second = RunIdentity(100, 2, NOON)

    assert first.is_older_than(second)
    assert not second.is_older_than(first)


def test_of_two_runs_the_one_that_began_later_is_newer() -> None:
    """A re-run of an old run is newer than the run that came in between."""
    rerun = RunIdentity(100, 2, NOON.replace(minute=9))
    in_between = RunIdentity(101, 1, NOON.replace(minute=5))

    assert in_between.is_older_than(rerun)
    assert not rerun.is_older_than(in_between)


@given(COMMENT_IDS)
def test_ordinary_words_name_a_comment(comment_id: str) -> None:
    """Letters, digits, dots, dashes and underscores."""
    assert checked_comment_id(comment_id) == comment_id


@pytest.mark.parametrize("text", ["", "a b", "-->", "skill-", "ä", "x" * 65, "a\n"])
def test_a_comment_id_that_could_end_the_marker_is_refused(text: str) -> None:
    """The workflow's author is told before anything is measured."""
    with pytest.raises(UserError, match="comment-id"):
        checked_comment_id(text)


@pytest.mark.parametrize(("comment_id", "head"), [("a b", "a" * 40), ("default", "main")])
def test_a_marker_that_could_not_be_read_again_is_never_made(comment_id: str, head: str) -> None:
    """Each push would find no comment of ours, and write one more."""
    with pytest.raises(ValueError, match="cannot hold"):
        a_marker(comment_id=comment_id, head=head)
