"""Notice that pages moved while they were read, and leave out what had come before; no I/O.

When events arrive in front of the page that is asked for next, the last events of the page before
come again at its beginning, and the new ones are missed. Two signs are looked for, both cheap:
an event on both sides of the seam between two pages, and a total that changed. Without a sign no
page is read closely. From the first sign on, the ids of a slice are kept until its end.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from adanalytics_client._hooks import Observer, PageDrift, tell
from adanalytics_client._lines import Lines
from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client._rows import Found

TAIL = 32
"""The events of a page that a resume token remembers, to know them when they come again."""

DIGEST = 12
"""Characters of a digest; by chance one agrees with another on a page once in 10^9 pages."""

_LOG = logging.getLogger("adanalytics_client")


@dataclass(slots=True)
class Watch:
    """Repeats within one slice.

    In memory are the page before and, after the first sign of drift or when the slice goes on after
    a token, the ids of the slice.
    """

    repeated: int = 0
    ids: set[str] | None = field(default=None, repr=False)

    def kept(self, cursor: Cursor, page: Fetched) -> Fetched:
        """The page without the events that pages before it had or an earlier run handed out.

        Raises:
            ProtocolError: when pages moved and an event is not JSON.
        """
        self.repeated = max(self.repeated, cursor.repeated)
        again, handed = self._again(cursor, page), _handed(cursor, page)
        if not (handed or any(again)):
            return page
        again = again[handed:] or [False] * (len(page) - handed)
        self.repeated += sum(again)
        return replace(page, found=without(page.found, [True] * handed + again))

    def _again(self, cursor: Cursor, page: Fetched) -> list[bool]:
        """Which events of the page came before; nothing when there is no sign that any did."""
        if self.ids is None:
            if not (cursor.tail or _shows_drift(cursor, page)):
                return []
            self.ids = {each for each in ids_of(cursor.before) if each is not None}
        found = ids_of(page)
        tail = frozenset(cursor.tail)
        known = [
            each is not None and (each in self.ids or (bool(tail) and digest(each) in tail))
            for each in found
        ]
        self.ids.update(each for each in found if each is not None)
        return known

    def verdict(
        self, cursor: Cursor, page: Fetched, kept: Fetched, *, last: bool
    ) -> PageDrift | None:
        """What to tell of the page, as it came and as it was kept.

        Repeats, a wrong sum, or a smaller one: events that went took others to pages that were
        read, and the sum may be right again at the end. One that grows may only have grown behind.
        Of the last page also that it says that others follow, unless the sum is right.
        """
        repeated = len(page) - len(kept) - _handed(cursor, page)
        total = page.signals.total or cursor.total
        distinct = cursor.seen + len(page) - self.repeated
        fewer = cursor.total is not None and total is not None and total < cursor.total
        contradicted = last and total != distinct and _says_more(cursor, page)
        if repeated or fewer or contradicted or (last and total not in {None, distinct}):
            place = (str(cursor.slice), cursor.number)
            return PageDrift(*place, repeated, distinct, total, last, contradicted)
        return None


def announce(observer: Observer, drift: PageDrift) -> None:
    """Tell the observer and the log."""
    _LOG.warning("%s", drift)
    tell(observer.drift, drift)


def ids_of(page: Fetched | None, last: int = 0) -> list[str | None]:
    """The ids of a page's events, or of its last ones; None for an event without."""
    if page is None or page.lines is None:
        return []
    rows = page.last_rows(last) if last else page.rows()
    found = (row.get("event_id") for row in rows)
    return [each if isinstance(each, str) else None for each in found]


def cut(cursor: Cursor, page: Fetched, kept: Fetched, most: int) -> Cursor:
    """The cursor inside `page`, behind the first `most` events of what was kept of it."""
    rows, handed = islice(enumerate(page.found.rows, 1), cursor.handed, None), cursor.handed
    for each in islice(kept.found.rows, most):
        handed = next(number for number, row in rows if row == each)
    front = without(page.found, [at >= handed for at in range(len(page))])
    return replace(cursor, handed=handed, front=replace(page, found=front))


def tail_of(cursor: Cursor) -> tuple[str, ...]:
    """Digests of the last ids before a cursor, and of the last ones of its page, for its token."""
    before, front = (
        tuple(digest(each) for each in ids_of(page, TAIL) if each is not None)
        for page in (cursor.before, cursor.front)
    )
    return (*(before or cursor.tail), *front)


def digest(event_id: str) -> str:
    """`DIGEST` characters that stand for an id."""
    text = event_id.encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=DIGEST // 2).hexdigest()


def _handed(cursor: Cursor, page: Fetched) -> int:
    """Events at the front of the page that an earlier run handed out."""
    return min(cursor.handed, len(page))


def _says_more(cursor: Cursor, last: Fetched) -> bool:
    """Whether the last page, an empty one or one with a flag, says elsewhere that it is not."""
    says = last.signals
    # A "page count" that is the number of events is theirs.
    pages = 0 if says.pages in {None, len(last)} else says.pages
    return says.linked or says.more is True or pages > cursor.number


def _shows_drift(cursor: Cursor, page: Fetched) -> bool:
    before, after = cursor.before.lines if cursor.before else None, page.lines
    if before is None or after is None:
        return False
    if cursor.total is not None and page.signals.total not in {None, cursor.total}:
        return True
    return before.last(1)[0] in after or after.first in before.last(TAIL)


def without(found: Found, known: Sequence[bool]) -> Found:
    """The rows that are not marked as known."""
    if not isinstance(found.rows, Lines):
        return found
    texts = [each.encode() for each, gone in zip(found.rows, known, strict=True) if not gone]
    return replace(found, rows=Lines.of(texts) if texts else [])
