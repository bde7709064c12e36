"""Compare the pages of a slice with each other: repeats, endless pages, missing events.

When events are inserted before the next page, that page begins by repeating the last events of
the previous one, and the inserted events are missed. So the ids of a slice of several pages are
kept, which reveals every repeat, and at the end their number is compared with the total in the
pages. No I/O.
"""

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal

from adanalytics_client._base.observer import Observer, PageDrift, notify
from adanalytics_client._events.page import EventId, FetchedPage, keys_of, mark_of
from adanalytics_client._events.paging import Cursor, contradiction
from adanalytics_client.errors import ProtocolError

OnDrift = Literal["raise", "warn"]
"""Whether to raise an error or only warn if a slice has fewer events than the service states."""

MOST_ATTEMPTS = 3
"""How often a slice is started from its first page."""

MOST_IDS: Mapping[OnDrift, int] = {"raise": 2_000_000, "warn": 200_000}
"""The most ids of a slice to remember, about 100 bytes each; then the older half is dropped.

With "warn" no slice is pulled again, so the ids need only show repeats of the last pages.
"""

MOST_STALE = 3
"""The number of pages in a row without a new event that ends a slice."""

_REMEMBERED_MARKS = 8

_LOG = logging.getLogger("adanalytics_client")


class SliceHistory:
    """The pages of one slice so far, from `cursor` on, which may be of a resumed pull.

    Attributes:
        distinct: events so far, each counted once.
        repeated: events that arrived again.
        total: the largest number of events that its pages stated.
        mark: digest of the previous page; empty for the only page of a slice.
    """

    def __init__(self, cursor: Cursor, on_drift: OnDrift) -> None:
        self.distinct = cursor.seen - cursor.repeated
        self.repeated = cursor.repeated
        self.total = cursor.total
        self.mark = cursor.mark
        self._total_is_old = False
        self._resumed = not cursor.untouched
        self._all_have_ids = True
        self._most_ids = MOST_IDS[on_drift]
        self._handed = _Ids(self._most_ids)
        self._attempt = self._handed
        self._marks = deque([cursor.mark] if cursor.mark else (), maxlen=_REMEMBERED_MARKS)
        self._stale = 0

    @property
    def repeatable(self) -> bool:
        """Return whether the slice can be pulled again without yielding an event twice."""
        return self._all_have_ids and not self._resumed and not self._handed.forgotten

    @property
    def short(self) -> bool:
        return self.total is not None and self.distinct < self.total

    def begin_attempt(self) -> None:
        """Forget the order of the pages, but not the events, to pull the slice again."""
        self._attempt = _Ids(self._most_ids)
        self._marks.clear()
        self._stale = 0
        self._total_is_old = True

    def compare(
        self, cursor: Cursor, page: FetchedPage, *, last: bool
    ) -> tuple[FetchedPage, PageDrift | None]:
        """Leave out events that arrived before, and detect drift and endless pages."""
        known = [False] * len(page)
        if page.ids:
            keys = keys_of(page.rows, page.ids)
            self.mark = mark_of(keys)
            known = self._known(cursor, page, page.ids, keys)
        repeated = sum(known)
        self.repeated += repeated
        self.distinct += len(page) - repeated
        if (stated := page.signals.total) is not None:
            earlier = 0 if self._total_is_old else self.total or 0
            self.total, self._total_is_old = max(earlier, stated), False
        contradicted = last and (
            bool(contradiction(cursor, page.signals))
            or (self.total != self.distinct and _says_more(cursor, page))
        )
        off = last and self.total not in {None, self.distinct}
        drift = None
        # A slice that is pulled again repeats itself; if it counts fewer events, some are gone.
        if (off and not self.short) or (cursor.attempt == 0 and (repeated or off or contradicted)):
            drift = PageDrift(
                slice=str(cursor.slice),
                number=cursor.number,
                repeated=0 if cursor.attempt else repeated,
                distinct=self.distinct,
                total=self.total,
                last=last,
                contradicted=contradicted,
            )
        return page.without(known), drift

    def _known(
        self,
        cursor: Cursor,
        page: FetchedPage,
        ids: Sequence[EventId | None],
        keys: Sequence[EventId | bytes],
    ) -> list[bool]:
        """Return for each event whether it arrived before, and remember the others."""
        if self.mark in self._marks:
            before = cursor.number - 1 - [*reversed(self._marks)].index(self.mark)
            raise page.rows.source.sign(
                ProtocolError(
                    f"Pages {before} and {cursor.number} of {cursor.slice} are the same: the "
                    "service ignores the page number, or a full page of new events arrived in "
                    "between.",
                    remedy="Pull it again.",
                )
            )
        self._marks.append(self.mark)
        self._all_have_ids &= keys is ids
        known = self._handed.add(keys)
        stale = known if self._attempt is self._handed else self._attempt.add(keys)
        self._stale = self._stale + 1 if all(stale) else 0
        if self._stale == MOST_STALE:
            first = cursor.number - MOST_STALE + 1
            raise page.rows.source.sign(
                ProtocolError(
                    f"Pages {first} to {cursor.number} of {cursor.slice} contain no new events: "
                    "the service repeats its pages.",
                    remedy="Pull it with another split.",
                )
            )
        if keys is ids:
            return known
        # An event without an id may have been yielded, or be another one with the same text.
        return [
            cursor.attempt > 0 if each is None else came
            for came, each in zip(known, ids, strict=True)
        ]


class _Ids:
    """The hashes of ids; beyond `most` the older half is forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.forgotten = False
        self._older: set[int] = set()
        self._newer: set[int] = set()

    def add(self, keys: Sequence[EventId | bytes]) -> list[bool]:
        """Return for each key whether it is known or repeated, and remember the others."""
        # In C, for 10,000 keys a page. In a tuple, because a whole number is its own hash.
        hashes = [*map(hash, zip(keys))]
        fresh = {*hashes}
        if (
            len(fresh) == len(hashes)
            and self._newer.isdisjoint(fresh)
            and self._older.isdisjoint(fresh)
        ):
            known = [False] * len(hashes)
            self._newer |= fresh
        else:
            known = []
            for hashed in hashes:
                known.append(hashed in self._newer or hashed in self._older)
                self._newer.add(hashed)
        if len(self._newer) > self._most // 2:
            self.forgotten |= bool(self._older)
            self._older, self._newer = self._newer, set()
        return known


def _says_more(cursor: Cursor, last: FetchedPage) -> bool:
    """Return whether the last page, an empty or a flagged one, also states that others follow."""
    says = last.signals
    # A "page count" that equals the number of events on the page counts those.
    pages = 0 if says.pages in {None, len(last)} else says.pages or 0
    return says.more is True or pages > cursor.number


def report_drift(observer: Observer, drift: PageDrift) -> None:
    _LOG.warning("%s", drift)
    notify(observer.drift, drift)
