"""Whether the pages of a slice kept their order, where equal texts without ids cannot tell."""

from .page import FetchedPage, PageKeys
from .paging import Cursor
from .repeats import Hashes


class PageOrder:
    """Which pages of a slice to request again, because events without an id came on two pages.

    They may be equal. Or the service orders its events anew for each request, which the first page
    shows, or the last one of an earlier run. Or events that came meanwhile moved them to the next
    page: then the page in front of it is another one now, or the first one where many are equal,
    and the service counts as many events as arrived, for some came twice and others not at all.

    Attributes:
        all_have_ids: whether each event so far has an id.
    """

    def __init__(self, cursor: Cursor, most_texts: int) -> None:
        self.all_have_ids = True
        # Of the events without an id, which are all yielded.
        self._texts, self._last_text, self._total = Hashes(most_texts), 0, cursor.total
        # The numbers and marks of the first page, the page before, and pages to request again.
        self._opening = self._front = {cursor.number - 1: cursor.mark} if cursor.mark else {}
        self._doubts: dict[int, str] = {}
        self._is_opening_sure = False

    @property
    def has_earlier_page(self) -> bool:
        """Return whether the first page so far is one of an earlier run."""
        return self._opening != self._front

    def begin_attempt(self) -> None:
        """Forget the pages, but not the events."""
        self._opening = self._front = {}

    def add(self, page: FetchedPage, keys: PageKeys, *, has_equal: bool) -> None:
        """Doubt a page if events that nothing identifies have the texts of earlier ones.

        Args:
            has_equal: whether it has an event that is kept, although an earlier one has its text.
        """
        texts: set[int] = set()
        if None in keys.ids:
            self.all_have_ids = False
            pairs = zip(page.rows.texts, keys.ids, strict=True)
            texts = {hash(text) for text, value in pairs if value is None}
        if has_equal or not self._texts.are_new(texts):
            # Events that came meanwhile are counted, or moved the last event.
            total = page.signals.total
            if total != self._total or (total is None and self._last_text in {*texts, *keys.texts}):
                self._doubts |= self._opening | self._front
            else:
                self.doubt_opening()
        self._texts.update(texts)
        self._last_text, self._total = hash(page.rows.texts[-1]), page.signals.total
        self._front = {page.cursor.number: keys.mark}
        self._opening = self._opening or self._front

    def doubt_opening(self) -> None:
        """Doubt the first page, unless it was requested again before."""
        if not self._is_opening_sure:
            self._doubts |= self._opening

    def doubtful_number(self) -> int | None:
        """Return the number of a page to request again; None if no page is in doubt."""
        self._is_opening_sure |= not self._opening.keys().isdisjoint(self._doubts)
        return max(self._doubts, default=None)

    def is_same(self, page: FetchedPage) -> bool:
        """Return whether a page that was in doubt has the events of the earlier request."""
        mark = self._doubts.pop(page.cursor.number)
        return page.keys is not None and page.keys.mark == mark
