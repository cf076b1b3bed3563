"""What stands on a page of Markdown, and what goes first where the whole of it is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, TypeVar

from skill_delta.render.escape import Markdown, untrusted

_MOST_ITEMS = 1_000
"""The most that one listing holds, so that a run of any size is a page in a moment."""

_NOTHING = Markdown()
_BULLET = Markdown("- ")

T = TypeVar("T")


class Part(StrEnum):
    """The listings of a page, as a reader meets them."""

    REASONS = "reasons"
    SKILLS = "skills"
    REGRESSED = "regressed"
    NOT_PASSED = "not passed"
    NOT_COMPARED = "not compared"
    CHANGED = "changed"
    NOTES = "notes"
    IMPROVED = "improved"
    LOW_SIGNAL = "low signal"
    SUSPECT = "suspect"
    HIGH_VARIANCE = "high variance"
    SOURCES = "sources"
    STEPS = "steps"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Item:
    """One bullet and the bullets below it, or one row of a table."""

    title: Markdown
    lines: tuple[Markdown, ...] = ()


def said(text: str) -> Item:
    """What someone said, as a bullet."""
    return Item(untrusted(text))


@dataclass(frozen=True, slots=True)
class Listing:
    """Some items of one kind, what matters most first.

    The first `in_sight` stand open, the others are folded. `total` is how many there were, `shown`
    how many are left on the page, and `detailed` how many of those keep their lines. `title`,
    `above` and `below` are what is printed around the items, and `bullet` before each of them.
    """

    kind: str
    items: tuple[Item, ...]
    in_sight: int
    total: int
    shown: int
    detailed: int
    title: Markdown = _NOTHING
    above: Markdown = _NOTHING
    below: Markdown = _NOTHING
    bullet: Markdown = _BULLET

    @classmethod
    def of(
        cls, kind: str, found: Sequence[T], drawn: Callable[[T], Item], in_sight: int
    ) -> Listing:
        """As many of what was found as a page may hold, each drawn as an item."""
        items = tuple(map(drawn, found[:_MOST_ITEMS]))
        title = Markdown(f"#### {_capital(kind)}")
        return cls(kind, items, in_sight, len(found), len(items), len(items), title)

    def showing(self, number: int) -> Listing:
        """The first so many items at most."""
        return replace(self, shown=min(number, self.shown))

    def detailing(self, number: int) -> Listing:
        """All items, and the lines of the first so many at most."""
        return replace(self, detailed=min(number, self.detailed))

    @property
    def open(self) -> Sequence[Item]:
        return self._range(0, min(self.in_sight, self.shown))

    @property
    def folded(self) -> Sequence[Item]:
        return self._range(self.in_sight, self.shown)

    @property
    def fold(self) -> Markdown:
        """What the fold is called: `Improved (3)`, or `7 more regressed`."""
        if not self.in_sight:
            return Markdown(f"{_capital(self.kind)} ({self.total:,})")
        return Markdown(f"{self.shown - self.in_sight:,} more {self.kind}")

    @property
    def left_out(self) -> Iterator[str]:
        """What is not there, counted: `3 of 40 notes`, `the evidence of 7 of 12 regressed`."""
        if self.shown < self.total:
            yield f"{self.total - self.shown:,} of {self.total:,} {self.kind}"
        bare = sum(bool(item.lines) for item in self.items[self.detailed : self.shown])
        if bare:
            yield f"the evidence of {bare:,} of {self.total:,} {self.kind}"

    def _range(self, start: int, end: int) -> Sequence[Item]:
        return [
            item if position < self.detailed else Item(item.title)
            for position, item in enumerate(self.items[start:end], start)
        ]


@dataclass(frozen=True, slots=True)
class Page:
    """All that is printed: a heading, the parts that there are, and where the whole report is."""

    heading: Markdown
    parts: Mapping[Part, Listing]
    elsewhere: Markdown = _NOTHING

    def having(self, part: Part, listing: Listing) -> Page:
        """The same page with another listing for `part`."""
        return replace(self, parts={**self.parts, part: listing})

    @property
    def listings(self) -> Sequence[Listing]:
        """In reading order, all but the closing line."""
        return [
            self.parts[part] for part in Part if part in self.parts and part is not Part.MEASURED
        ]

    @property
    def left_out(self) -> Markdown:
        """What did not fit, in words; empty where everything did."""
        return Markdown(", ".join(count for found in self.listings for count in found.left_out))

    @property
    def closing(self) -> Markdown:
        """What the numbers were measured with, in one line."""
        found = self.parts.get(Part.MEASURED)
        return Markdown(" · ".join(item.title for item in found.open) if found else "")


Cut: TypeAlias = Callable[[Listing, int], Listing]

_SACRIFICES: Sequence[tuple[Part, Cut]] = (
    (Part.HIGH_VARIANCE, Listing.showing),
    (Part.LOW_SIGNAL, Listing.showing),
    (Part.SUSPECT, Listing.showing),
    (Part.SOURCES, Listing.showing),
    (Part.IMPROVED, Listing.detailing),
    (Part.IMPROVED, Listing.showing),
    (Part.NOTES, Listing.showing),
    (Part.NOT_COMPARED, Listing.detailing),
    (Part.NOT_PASSED, Listing.detailing),
    (Part.REGRESSED, Listing.detailing),
    (Part.NOT_COMPARED, Listing.showing),
    (Part.NOT_PASSED, Listing.showing),
    (Part.CHANGED, Listing.showing),
    (Part.SKILLS, Listing.showing),
    (Part.REGRESSED, Listing.showing),
    (Part.REASONS, Listing.showing),
    (Part.STEPS, Listing.showing),
    (Part.MEASURED, Listing.showing),
)
"""What goes first: diagnostics, then evidence, then names, then rows, and reasons last."""


def fitted(page: Page, fits: Callable[[Page], bool]) -> Page:
    """The page with as much left out as it takes: what is folded before anything in sight.

    `fits` says of a page, as it would be printed, whether it is short enough.
    """
    for folded_only in (True, False):
        for part, cut in _SACRIFICES:
            if fits(page):
                return page
            listing = page.parts.get(part)
            if listing is not None:
                page = _cut(page, part, cut, listing.in_sight if folded_only else 0, fits)
    return page


def _cut(page: Page, part: Part, cut: Cut, least: int, fits: Callable[[Page], bool]) -> Page:
    """The page with the most of one listing that fits, but at least `least` where it has them."""
    listing = page.parts[part]

    def with_first(number: int) -> Page:
        return page.having(part, cut(listing, number))

    if listing.shown <= least or not fits(with_first(least)):
        return with_first(least)
    kept, too_many = least, listing.shown
    while too_many - kept > 1:
        middle = (kept + too_many) // 2
        if fits(with_first(middle)):
            kept = middle
        else:
            too_many = middle
    return with_first(kept)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
