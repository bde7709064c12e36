"""Where the pages of a slice end: the cursor of a slice, and the rule that moves or ends it.

There are three cases after a page with events:

1. The response shows that another page follows, or its total is above the events so far: go on.
2. It states a total that is reached: the slice ends, unless the page is full. A service that cuts
   pages or totals in silence says the same of its first full page, so one more page is requested.
3. It states no total: the page is the last one if it is shorter than the first page of the slice.
   A flag alone does not end a slice, because a service that cuts `per_page` in silence may compute
   the flag from the number that was requested.
"""

from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._shapes.page import Signals

from .plan import Slice


class Cursor(Struct, frozen=True):
    """The next page of a slice to request, with the facts stated by the previous pages.

    Attributes:
        slice: the query.
        number: the page, from 1.
        seen: events on the previous pages.
        repeated: how many of them had arrived before.
        mark: digest of the previous page.
        yielded: how many of the first events of this page were yielded already.
        last: digest of the last event that was yielded, which shows that pages have moved.
        samples: digests of some events of all previous pages, which show another order.
        total: the largest number of events that the previous pages stated for the slice.
        fall: by how much a later number was below it, at most; below 0 once one rose again.
        first_size: events on the first page.
        attempt: 0, or how many times the slice was started before.
        to_the_end: whether only a page without events ends the slice.
    """

    slice: Slice
    number: int = 1
    seen: int = 0
    repeated: int = 0
    mark: str = ""
    yielded: int = 0
    last: str = ""
    samples: tuple[str, ...] = ()
    total: int | None = None
    fall: int = 0
    first_size: int = 1
    attempt: int = 0
    to_the_end: bool = False

    @property
    def is_first_page(self) -> bool:
        return self.number == 1

    @property
    def is_begun(self) -> bool:
        """Return whether its events may have been yielded: one that is read on had ended before."""
        return self.number > 1 or self.to_the_end

    def __str__(self) -> str:
        return f"page {self.number} of {self.slice}"

    def parameters(self, per_page: int, first: int = 1) -> dict[str, str]:
        """Return the query parameters of this page, all of them documented.

        `first` is the number of the first page at the service.
        """
        page = self.number - 1 + first
        return {**self.slice.parameters(), "page": str(page), "per_page": str(per_page)}


def following(cursor: Cursor, size: int, page_signals: Signals, per_page: int) -> Cursor | None:
    """Return the cursor behind a page of `size` events; None when that was the last page."""
    if size == 0:
        return None
    total_seen = cursor.seen + size
    # A service may cap its pages below what was requested; the first one shows how many a full page
    # has.
    first_size = size if cursor.is_first_page else cursor.first_size
    totals = [total for total in (cursor.total, page_signals.total) if total is not None]
    is_full = size >= min(per_page, page_signals.per_page or per_page)
    has_more = (
        cursor.to_the_end
        or bool(page_signals.sign_after(cursor.number))
        or (is_full or total_seen < max(totals) if totals else size >= first_size)
    )
    if not has_more:
        return None
    number = cursor.number + 1
    return replace(cursor, number=number, seen=total_seen, first_size=first_size, yielded=0)


def page_count(cursor: Cursor, next_cursor: Cursor | None, page_signals: Signals) -> int | None:
    """Count the pages of a slice, whose next is `next_cursor`; None while that is unknown."""
    if next_cursor is None:
        return cursor.number
    total = page_signals.total or cursor.total
    # By the size of the first page, which the service may have capped.
    pages = page_signals.pages or (total and ceil(total / next_cursor.first_size))
    return max(pages, next_cursor.number) if pages else None
