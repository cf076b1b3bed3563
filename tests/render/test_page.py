"""What is left out of a page that is too long, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from skill_delta.render.escape import Markdown
from skill_delta.render.page import Item, Listing, Page, Part, fitted

LINES = tuple(Markdown(f"line {number}") for number in range(3))


def a_page(**parts: Listing) -> Page:
    by_name = {part.name.lower(): part for part in Part}
    return Page(Markdown("heading"), {by_name[name]: found for name, found in parts.items()})


def a_listing(items: int, in_sight: int = 2, kind: str = "things") -> Listing:
    return Listing.of(kind, range(items), lambda n: Item(Markdown(f"item {n}"), LINES), in_sight)


def length(page: Page) -> int:
    """One for each title and each line that would be printed."""
    return sum(
        1 + len(item.lines)
        for listing in page.parts.values()
        for item in (*listing.open, *listing.folded)
    )


def at_most(limit: int) -> Callable[[Page], bool]:
    return lambda page: length(page) <= limit


def titles(items: Sequence[Item]) -> list[str]:
    return [item.title for item in items]


def test_a_page_that_fits_is_as_it_was() -> None:
    """Nothing is left out for its own sake."""
    page = a_page(regressed=a_listing(9), notes=a_listing(9))

    assert fitted(page, at_most(72)) == page


def test_diagnostics_go_before_notes_and_notes_before_evidence() -> None:
    """What says nothing about the edit is worth the least."""
    page = a_page(
        regressed=a_listing(9, kind="regressed"),
        notes=a_listing(9, kind="notes"),
        low_signal=a_listing(9, in_sight=0, kind="checks"),
    )

    assert list(fitted(page, at_most(100)).left_out.split(", ")) == ["2 of 9 checks"]
    assert fitted(page, at_most(60)).left_out == "3 of 9 notes, 9 of 9 checks"
    assert fitted(page, at_most(41)).left_out == (
        "the evidence of 1 of 9 regressed, 7 of 9 notes, 9 of 9 checks"
    )


def test_what_is_folded_goes_before_anything_in_sight() -> None:
    """The first screen is the last to suffer."""
    page = a_page(regressed=a_listing(9), skills=a_listing(9))
    cut = fitted(page, at_most(16))

    assert [len(found.open) for found in cut.parts.values()] == [2, 2]
    assert not any(found.folded for found in cut.parts.values())


def test_evidence_goes_before_names() -> None:
    """Which cases regressed is worth more than why the least of them did."""
    regressed = fitted(a_page(regressed=a_listing(9)), at_most(15)).parts[Part.REGRESSED]

    assert titles([*regressed.open, *regressed.folded]) == [f"item {n}" for n in range(9)]
    assert [len(item.lines) for item in regressed.open] == [3, 3]
    assert regressed.fold == "7 more things"


def test_a_fold_of_its_own_says_how_many_there_are() -> None:
    """Whoever opens it knows what to expect."""
    assert a_listing(1_234, in_sight=0).fold == "Things (1,234)"
    assert a_listing(1_234).showing(5).fold == "3 more things"


def test_a_listing_of_any_length_is_bounded_and_counted() -> None:
    """A run of a million cases is a page like any other."""
    listing = a_listing(5_000)

    assert len(listing.items) == 1_000
    assert list(listing.left_out) == ["4,000 of 5,000 things"]


parts = st.dictionaries(
    st.sampled_from([part.name.lower() for part in Part if part is not Part.MEASURED]),
    st.builds(a_listing, st.integers(0, 30), st.integers(0, 10)),
)


@settings(deadline=None)
@given(parts, st.integers(0, 200))
def test_it_fits_and_no_more_is_left_out_than_it_takes(
    found: dict[str, Listing], limit: int
) -> None:
    """Each listing keeps its first items, and the last cut cannot be smaller."""
    page = a_page(**found)
    cut = fitted(page, at_most(limit))

    assert length(cut) <= limit
    for part, listing in cut.parts.items():
        shown = [*listing.open, *listing.folded]
        assert titles(shown) == titles(page.parts[part].items[: len(shown)])
    # One item and its lines is the coarsest step.
    assert cut == page or length(cut) > limit - 4
