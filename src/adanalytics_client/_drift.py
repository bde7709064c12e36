"""Notice that pages moved while they were read, and leave out what had come before; no I/O.

When events arrive in front of the page that is asked for next, the last events of the page before
come again at its beginning, and the new ones are missed. Two signs are looked for, both cheap:
an event on both sides of the seam between two pages, and a total that changed. Without a sign no
page is read closely. From the first sign on, the ids of a slice are kept until its end.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from adanalytics_client._event_ids import TAIL, EventId, ids_of, marks_of
from adanalytics_client._hooks import Observer, PageDrift, tell
from adanalytics_client._lines import Lines
from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client._rows import Found

_LOG = logging.getLogger("adanalytics_client")


@dataclass(slots=True)
class Watch:
    """Repeats within one slice.

    In memory are the page before and, after the first sign of drift or when the slice goes on after
    a token, the ids of the slice.
    """

    repeated: int = 0
    alike: bool = False
    ids: set[EventId] | None = field(default=None, repr=False)

    def judged(
        self, cursor: Cursor, page: Fetched, *, last: bool
    ) -> tuple[Fetched, PageDrift | None]:
        """The page without what pages before it had or an earlier run handed out; what to tell.

        Told are repeats, a wrong sum, or a smaller one: events that went took others to pages that
        were read, and the sum may be right again at the end. One that grows may only have grown
        behind. Of the last page also that it says that others follow, unless the sum is right.

        Raises:
            ProtocolError: when pages moved and an event is not JSON.
        """
        self.repeated = max(self.repeated, cursor.repeated)
        seam = _repeats(cursor, page)
        brought = _brought(cursor, page)
        gone = _either(brought.known, self._again(cursor, page, seam=seam))
        repeated = max(0, sum(gone) - min(cursor.handed, len(page)))
        self.repeated += repeated
        alike = (seam or brought.alike) and not any(gone) and not self.alike
        self.alike |= alike
        kept = _rest(page, gone) if any(gone) else page
        total = page.signals.total or cursor.total
        distinct = cursor.seen + len(page) - self.repeated
        fewer = cursor.total is not None and total is not None and total < cursor.total
        contradicted = last and total != distinct and _says_more(cursor, page)
        shown = repeated or fewer or contradicted or brought.moved or alike
        if not (shown or (last and total not in {None, distinct})):
            return kept, None
        place, signs = (str(cursor.slice), cursor.number), (contradicted, brought.moved, alike)
        return kept, PageDrift(*place, repeated, distinct, total, last, *signs)

    def _again(self, cursor: Cursor, page: Fetched, *, seam: bool) -> list[bool]:
        """Which events of the page came before; nothing when there is no sign that any did."""
        if self.ids is None:
            if not (seam or cursor.tail or _other_total(cursor, page)):
                return []
            self.ids = {each for each in ids_of(cursor.before) if each is not None}
        found = ids_of(page)
        known = [each is not None and each in self.ids for each in found]
        self.ids.update(each for each in found if each is not None)
        return known


@dataclass(frozen=True, slots=True)
class _Brought:
    """Which events of a page an earlier run handed out, as its token remembers them.

    Attributes:
        known: a mark for each event; nothing where no token tells.
        moved: they are not where they were.
        alike: some look like them, but have no id.
    """

    known: Sequence[bool] = ()
    moved: bool = False
    alike: bool = False


def announce(observer: Observer, drift: PageDrift) -> None:
    """Tell the observer and the log."""
    _LOG.warning("%s", drift)
    tell(observer.drift, drift)


def cut(cursor: Cursor, page: Fetched, kept: Fetched, most: int) -> Cursor:
    """The cursor inside `page`, behind the first `most` events of what was kept of it."""
    rows, handed = islice(enumerate(page.found.rows, 1), kept.before, None), kept.before
    for each in islice(kept.found.rows, most):
        handed = next(number for number, row in rows if row == each)
    front = without(page.found, [at >= handed for at in range(len(page))])
    before = cursor.tail[: len(cursor.tail) - len(_front(cursor))]
    return replace(cursor, handed=handed, tail=before, front=replace(page, found=front))


def _brought(cursor: Cursor, page: Fetched) -> _Brought:
    if not (cursor.handed or cursor.tail):
        return _Brought()
    marks, ids, tail = marks_of(page), ids_of(page), frozenset(cursor.tail)
    known = [mark in tail and each is not None for mark, each in zip(marks, ids, strict=True)]
    handed, front = cursor.handed, _front(cursor)
    if not handed:
        return _Brought(known, alike=not tail.isdisjoint(marks) and not any(known))
    if tuple(marks[handed - len(front) : handed]) == front:
        return _Brought([*[True] * min(handed, len(known)), *known[handed:]])
    # The place says nothing any more, so what the token remembers decides. In front of that are
    # those of a long page that it does not remember.
    left = Counter(front)
    first = next((at for at, mark in enumerate(marks) if mark in left), 0)
    for at, mark in enumerate(marks):
        known[at] |= left[mark] > 0 or (at < first and handed > TAIL)
        left[mark] -= 1
    return _Brought(known, moved=True)


def _front(cursor: Cursor) -> tuple[str, ...]:
    """Marks of the last events of its own page that were handed out."""
    return cursor.tail[-min(cursor.handed, TAIL) :] if cursor.handed else ()


def _either(some: Sequence[bool], others: Sequence[bool]) -> Sequence[bool]:
    """Both, where none at all stands for nothing but False."""
    if not (some and others):
        return some or others
    return [one or other for one, other in zip(some, others, strict=True)]


def _rest(page: Fetched, gone: Sequence[bool]) -> Fetched:
    """The events of a page that are not gone."""
    in_front = next((at for at, each in enumerate(gone) if not each), len(gone))
    return replace(page, found=without(page.found, gone), before=in_front)


def _says_more(cursor: Cursor, last: Fetched) -> bool:
    """Whether the last page, an empty one or one with a flag, says elsewhere that it is not."""
    says = last.signals
    # A "page count" that is the number of events is theirs.
    pages = 0 if says.pages in {None, len(last)} else says.pages
    return says.linked or says.more is True or pages > cursor.number or bool(says.left)


def _repeats(cursor: Cursor, page: Fetched) -> bool:
    """Whether an event stands on both sides of the seam between two pages."""
    before, after = cursor.before.lines if cursor.before else None, page.lines
    if before is None or after is None:
        return False
    return before.last(1)[0] in after or after.first in before.last(TAIL)


def _other_total(cursor: Cursor, page: Fetched) -> bool:
    return cursor.total is not None and page.signals.total not in {None, cursor.total}


def without(found: Found, known: Sequence[bool]) -> Found:
    """The rows that are not marked as known."""
    if not isinstance(found.rows, Lines):
        return found
    texts = [each.encode() for each, gone in zip(found.rows, known, strict=True) if not gone]
    return replace(found, rows=Lines.of(texts) if texts else [])
