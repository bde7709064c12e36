"""Read one slice from its first page to its last, in one straight function; no I/O.

A slice is whole when its events are as many as its pages state, without those that came on an
earlier page. When events are inserted before the next page, that page begins by repeating the last
events of the previous one, and the inserted events are missed. So the events of a slice of several
pages are remembered, which reveals every repeat; a slice with fewer events than it states is read
again, twice at most. So is one whose stated number fell and rose: an event that went can hide
behind one that came. An event that one page has twice is no repeat: the service stores it twice.
"""

from collections import deque
from collections.abc import Generator, Mapping
from datetime import date
from typing import Literal, NamedTuple

from msgspec.structs import replace

from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import Observer, PageDrift, notify
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.raw import RawRows
from adanalytics_client.errors import AdAnalyticsError, ProtocolError, StatusError

from .order import PageOrder
from .page import FetchedPage, PageKeys, digest_of, ids_of
from .paging import Cursor
from .plan import Slice
from .repeats import EventMemory
from .times import time_of

OnDrift = Literal["raise", "warn"]
"""Whether to raise an error or only warn if events differ from the number that the service states.
"""

MOST_ATTEMPTS = 3
"""How often a slice is started from its first page."""

MOST_IDS: Mapping[OnDrift, int] = {"raise": 2_000_000, "warn": 200_000}
"""The most events of a slice to remember, about 130 bytes each; then the older half is dropped.

With "warn" no slice is pulled again, so the events need only show repeats of the last pages.
"""

MOST_STALE = 3
"""The number of pages in a row without a new event that ends a slice."""

ROUND = 500
"""A last page of a multiple of so many events is in doubt: services cut pages at round numbers.

So is one that is as large as the first of several pages.
"""

_REMEMBERED_MARKS = 8

# The events of a page, and of all pages, that a token remembers.
_PAGE_SAMPLES = 4
_MOST_SAMPLES = 16


class SliceEnd(NamedTuple):
    """What is remembered of a slice that has ended.

    Attributes:
        rows: the number of its events in this run, without repeats.
        total: the number that its pages state.
        doubt: why it may be incomplete, in words; empty for no doubt.
        first: the text of the first event; the same of the `last` one.
        is_identified: whether these events have an id or a time, so that equal texts are of one.
        is_typed: whether each of them has one type, so that a summary counts as many.
        days: the days of which events arrived; empty if that is not known.
        full: why it may have been cut, in words; empty for no doubt.
        is_blind: whether pages with the same events could not be told from others.
        tail: its last page with events, or its first one, from which it can be read on until a page
            has no events.
        refusal: the error that ended its pages.
        oddity: how events share an id, in words; empty if none do.
    """

    slice: Slice
    rows: int
    total: int | None
    doubt: str
    first: bytes
    last: bytes
    is_identified: bool
    is_typed: bool
    days: tuple[date, ...]
    full: str
    is_blind: bool
    tail: Cursor
    refusal: StatusError | None
    oddity: str


class SliceRules(NamedTuple):
    """The rules of reading slices.

    Attributes:
        on_drift: what a difference from the stated number means.
        most_pages: the most pages of a slice that states no total.
    """

    on_drift: OnDrift = "raise"
    most_pages: int = 1_000


def read_slice(
    start: Cursor, rules: SliceRules
) -> Generator[FetchedPage | Cursor | None, FetchedPage, SliceEnd]:
    """Receive the pages of a slice, and yield each as it is to be handed out.

    The first value is None. A cursor is a page to request again before the last one is handed out.
    After a page with `next_cursor=None`, `next` ends the slice.

    Raises:
        ProtocolError: when pages contradict themselves, or when events are missing or too many.
    """
    history = SliceHistory(start, rules)
    cursor: Cursor | None = start
    retry_from: Cursor | None = None
    ready: FetchedPage | None = None
    problem: AdAnalyticsError | None = None
    while cursor is not None:
        page = yield ready
        if cursor.yielded:
            history.skip(page)
        _refuse(page, history)
        repeats, drift = history.compare(page)
        while doubt := history.doubtful_page():
            moved = history.moved_page((yield doubt))
            if moved and rules.on_drift == "raise":
                raise page.error(f"{moved}", remedy("smaller_queries"))
            drift = moved or drift
        if page.refusal is not None and history.missing and rules.on_drift == "warn":
            # By the total of the slice the page exists, so a later run can go on with it.
            raise page.refusal
        next_cursor = page.next_cursor
        if next_cursor is not None:
            next_cursor = replace(
                next_cursor,
                mark=history.mark,
                last=history.last,
                samples=tuple(history.samples),
                repeated=history.repeated,
                total=history.total,
                fall=history.fall,
            )
            if history.total is None and next_cursor.number > rules.most_pages:
                raise page.error(
                    f"{cursor.slice} has more than {cursor.number:,} pages and states no total, so "
                    "its end is not in sight.",
                    remedy("smaller_queries"),
                )
        resume = next_cursor
        is_whole = not (history.missing or history.gone or history.is_unsteady)
        if next_cursor is None and not is_whole and rules.on_drift == "raise":
            problem = page.refusal or _different(page, history)
            if not cursor.attempt:
                retry_from = Cursor(cursor.slice, cursor.number + 1, total=history.total, fall=-1)
            if history.repeatable and history.missing >= 0 and cursor.attempt + 1 < MOST_ATTEMPTS:
                # The drift advises pulling the slice again, which happens now.
                LOG.warning("%s; requesting all again.", _counts(cursor, history))
                history.begin_attempt()
                next_cursor = Cursor(cursor.slice, total=history.total, attempt=cursor.attempt + 1)
                drift = problem = None
        if retry_from and (problem or next_cursor):
            # A later run does not know which events were yielded and which are gone, but behind the
            # last page it can say that some are missing.
            resume = replace(retry_from, seen=history.distinct)
        ready = replace(page.without(repeats), next_cursor=next_cursor, drift=drift, resume=resume)
        cursor = next_cursor
    if problem is not None and ready is not None and ready.cursor is start and not len(ready):
        # Its token leads to this page again, so runs of one page each would not reach the error.
        raise problem
    yield ready
    if problem is not None:
        raise problem
    return history.end(start.slice)


class SliceHistory:
    """The pages of one slice so far, from `cursor` on, which may be of a resumed pull.

    Attributes:
        distinct: events so far, without repeats.
        repeated: events that arrived again.
        overlap: how many events of this attempt came on two pages.
        total: the largest number of events that its pages stated.
        fall: by how much a later number was below it, at most; below 0 once one rose again.
        mark: digest of the previous page; empty for the only page of a slice.
        last: digest of the last event of the previous page; empty if it had none.
        samples: digests of some events of all previous pages.
    """

    def __init__(self, cursor: Cursor, rules: SliceRules) -> None:
        self.distinct = self._before = cursor.seen - cursor.repeated
        self.repeated = cursor.repeated
        self.overlap = 0
        self.total = cursor.total
        self.fall = cursor.fall
        # The events of all attempts before this one.
        self._before_attempt = -1
        self.mark, self.last = cursor.mark, cursor.last
        self.samples, self._earlier = [*cursor.samples], {*cursor.samples}
        if cursor.last and not cursor.yielded:
            self._earlier.add(cursor.last)
        self._strict = rules.on_drift == "raise"
        self._total_is_old = False
        self._resumed = not cursor.is_first_page
        # The last event that an earlier run yielded; empty once it has arrived again.
        self._yielded, self._is_first_page = cursor.last, True
        self._most_ids = MOST_IDS[rules.on_drift]
        self._yielded_ids = EventMemory(self._most_ids)
        self._attempt = self._yielded_ids
        self._order = PageOrder(cursor, self._most_ids)
        # The events of an attempt after the first one, each counted once.
        self._again = 0
        self._marks = deque([cursor.mark] if cursor.mark else (), maxlen=_REMEMBERED_MARKS)
        self._stale = 0
        self._first = RawRows()
        self._days: set[date] | None = set()
        self._skipped = 0
        # The last page, and the last one with events.
        self._end = self._tail = FetchedPage(cursor)

    @property
    def repeatable(self) -> bool:
        """Return whether the slice can be pulled again without yielding an event twice."""
        is_identified = self._order.all_have_ids and not self._yielded_ids.oddity
        return is_identified and not self._resumed and not self._yielded_ids.texts.forgotten

    @property
    def missing(self) -> int:
        """Return how many events fewer arrived than the pages state; below 0 if more arrived."""
        return 0 if self.total is None else self.total - self.distinct

    def doubtful_page(self) -> Cursor | None:
        """Return a page to request again; None if no page is in doubt."""
        number = self._order.doubtful_number()
        return Cursor(self._tail.cursor.slice, number, attempt=1) if number is not None else None

    def moved_page(self, page: FetchedPage) -> PageDrift | None:
        """Describe a page that has no longer the events of an earlier request, or fewer behind."""
        total = page.signals.total
        if self._order.is_same(page) and (total is None or total >= (self.total or 0)):
            return None
        slice_, number = str(page.cursor.slice), page.cursor.number
        return PageDrift(slice_, number, 0, self.distinct, self.total, False, moved=True)

    @property
    def gone(self) -> int:
        """Return how many events of earlier attempts did not arrive in this one.

        The service has removed them, so that as many as it counts are not those that it has.
        """
        if self._attempt is self._yielded_ids:
            return 0
        # A copy is none of the events of earlier attempts.
        return self.distinct - (self._again - self._attempt.copies)

    @property
    def is_unsteady(self) -> bool:
        """Return whether the number fell and rose, and no other attempt brought the same events.

        Then an event may have gone, so that another one was skipped, and a new one was counted. Or
        pages moved, and a copy stands for an event that was missed, if the service counts it once.
        """
        is_masked = self._yielded_ids.copies > 0 and self.overlap > 0
        return (self.fall < 0 or is_masked) and self.distinct != self._before_attempt

    def begin_attempt(self) -> None:
        """Forget the order of the pages, but not the events, to pull the slice again."""
        self._attempt, self._again, self.overlap = EventMemory(self._most_ids), 0, 0
        self._marks.clear()
        self._order.begin_attempt()
        self._stale = 0
        self._total_is_old = True
        self.fall, self._before_attempt = 0, self.distinct

    def skip(self, page: FetchedPage) -> None:
        """Count and remember the first events of a page, which were yielded before.

        Raises:
            ProtocolError: if the page no longer begins with them.
        """
        cursor = page.cursor
        count = self._skipped = cursor.yielded
        if len(page) < count or digest_of(page.rows.texts[count - 1]) != cursor.last:
            raise page.error(
                f"The events of {cursor.slice} changed while they were pulled.", "Pull it again."
            )
        self._yielded = ""
        self.distinct += count
        self._before += count
        if page.keys:
            self._yielded_ids.add(PageKeys.of(page.rows.first(count)))

    def compare(self, page: FetchedPage) -> tuple[list[bool], PageDrift | None]:
        """Mark the events that arrived before, and detect drift and endless pages.

        Raises:
            ProtocolError: when pages repeat, or more events arrive than the pages state.
        """
        cursor, repeats = page.cursor, [False] * len(page)
        if page.keys and len(page):
            self.mark = page.keys.mark
            repeats = self._repeats(page, page.keys)
            self._find_earlier(page, page.keys, repeats)
            self._is_first_page = False
            self.last = digest_of(page.rows.texts[-1])
            step = -(-len(page) // _PAGE_SAMPLES)
            self.samples += map(digest_of, page.rows.texts[::step])
            if len(self.samples) > _MOST_SAMPLES:
                del self.samples[::2]
        repeats[: self._skipped] = [True] * self._skipped
        new_count = len(page) - sum(repeats)
        repeat_count = len(page) - new_count - self._skipped
        self._skipped = 0
        self.repeated += repeat_count
        self.distinct += new_count
        if (total := page.signals.total) is not None:
            last_total = 0 if self._total_is_old else self.total or 0
            self.total, self._total_is_old = max(last_total, total), False
            if self.fall >= 0:
                fall = self.total - total
                self.fall = fall if fall >= self.fall else -1
        # Of a later attempt, another page may state more.
        if self._strict and self.missing < 0 and not cursor.attempt:
            raise _different(page, self)
        self._end = page
        if len(page):
            self._first = self._first if len(self._first) else page.rows.first(1)
            self._tail = page
            if page.days is None or self._days is None:
                self._days = None
            else:
                self._days |= page.days
        is_different = page.next_cursor is None and (self.missing != 0 or self.is_unsteady)
        drift = None
        # A slice that is pulled again repeats itself.
        if cursor.attempt == 0 and (repeat_count or is_different):
            drift = PageDrift(
                slice=str(cursor.slice),
                number=cursor.number,
                repeated=repeat_count,
                distinct=self.distinct,
                total=self.total,
                last=page.next_cursor is None,
                unsteady=self.is_unsteady,
            )
        return repeats, drift

    def _find_earlier(self, page: FetchedPage, keys: PageKeys, repeats: list[bool]) -> None:
        """Mark the events that an earlier run yielded, as far as its token shows them.

        An event without an id, or whose service gives ids to several events, may be another one
        with the same text. Without a total, the first page of a run may be its only one, so its
        order is in doubt.
        """
        is_behind = self._is_first_page and self._order.has_earlier_page
        if is_behind and self.total is None and page.signals.total is None:
            self._order.doubt_opening()
        if not self._earlier:
            return
        are_shared = bool(self._yielded_ids.shared)
        for at, (text, value) in enumerate(zip(page.rows.texts, keys.ids, strict=True)):
            if (digest := digest_of(text)) not in self._earlier:
                continue
            if value is not None and digest == self._yielded:
                self._yielded = ""
                # On the first page all events before it were yielded, too.
                first = 0 if self._is_first_page else at
                repeats[first : at + 1] = [True] * (at + 1 - first)
            is_identified = value is not None and not are_shared
            repeats[at] |= is_identified
            if not is_identified:
                self._order.doubt_opening()

    def end(self, slice_: Slice) -> SliceEnd:
        """Return what the end of the pull needs to know of the slice."""
        has_events, is_timed = len(self._first) > 0, time_of(self._first) is not None
        # Events that are as many as the service counts hide behind nothing.
        doubt = "" if self.total else self._end.doubt
        if self.total is None:
            doubt = doubt or "its pages state no total"
        if has_events and not is_timed:
            doubt = doubt or "its events have no time under a known name"
        days = sorted({slice_.start, slice_.end})
        if len(days) > 1:
            days = sorted(self._days or ())
            # The first events of a resumed slice arrived in an earlier run.
            days = [slice_.start, *days] if self._resumed and days else days
        if has_events and (not days or (days[0], days[-1]) != (slice_.start, slice_.end)):
            doubt = doubt or f"its events are not known to be of {slice_.start} and {slice_.end}"
        size, cursor = len(self._end), self._tail.cursor
        # An empty page behind a full one shows the end.
        is_full = size > 0 and (
            size % ROUND == 0 or (cursor.number > 1 and size >= cursor.first_size)
        )
        last = replace(self._tail.rows, texts=self._tail.rows.texts[-1:])
        texts = [*self._first.texts, *last.texts]
        ids = [*ids_of(self._first), *ids_of(last)]
        # Two events that share an id have none.
        are_ids = None not in ids and len({*ids}) == len({*texts})
        return SliceEnd(
            slice_,
            self.distinct - self._before,
            self.total,
            doubt,
            first=texts[0] if texts else b"",
            last=texts[-1] if texts else b"",
            is_identified=is_timed or are_ids,
            is_typed=bool(self._first.names.sent("event_type", self._first.sample())),
            days=tuple(days) if has_events else (),
            full=f"its last page has {size:,} events" if is_full else "",
            is_blind=not (self._order.all_have_ids and are_ids) and cursor.number > 1,
            tail=replace(
                cursor,
                total=None,
                mark="",
                yielded=len(self._tail),
                last=digest_of(texts[-1]) if texts else "",
                to_the_end=True,
            ),
            refusal=self._end.refusal,
            oddity=self._yielded_ids.oddity,
        )

    def _repeats(self, page: FetchedPage, keys: PageKeys) -> list[bool]:
        """Return for each event whether it arrived before, and remember the others."""
        cursor = page.cursor
        if keys.has_distinct_ids and self.mark in self._marks:
            pages_back = cursor.number - 1 - [*reversed(self._marks)].index(self.mark)
            raise page.error(
                f"Pages {pages_back} and {cursor.number} of {cursor.slice} are the same: the "
                "service ignores the page number, or a full page of new events arrived in between.",
                "Pull it again.",
            )
        self._marks.append(self.mark)
        repeats = self._yielded_ids.add(keys)
        stale = repeats if self._attempt is self._yielded_ids else self._attempt.add(keys)
        self._order.add(page, keys, has_equal=self._attempt.has_equal)
        self._again += stale.count(False)
        self.overlap += stale.count(True)
        self._stale = self._stale + 1 if all(stale) else 0
        if self._stale == MOST_STALE:
            first = cursor.number - MOST_STALE + 1
            raise page.error(
                f"Pages {first} to {cursor.number} of {cursor.slice} contain no new events: the "
                "service repeats its pages.",
                "Pull it with another split.",
            )
        if not cursor.attempt:
            return repeats
        # An event without an id may have been yielded, or be another one with the same text.
        return [repeat or value is None for repeat, value in zip(repeats, keys.ids, strict=True)]


def _refuse(page: FetchedPage, history: SliceHistory) -> None:
    """Refuse a page that contradicts itself.

    Raises:
        ProtocolError: naming both statements.
    """
    page_signals, cursor = page.signals, page.cursor
    problem = page_signals.contradiction_on(cursor.number)
    sign = page_signals.sign_after(cursor.number)
    if not len(page) and sign and not (page_signals.total or history.total):
        # An empty page with a next one may be a filter that removed its events, or an endless
        # query.
        problem = f"no events and {sign}"
    if problem:
        raise page.error(
            f"Page {cursor.number} of {cursor.slice} states {problem}, so it is not known whether "
            "another page follows.",
            "Report it to the service.",
        )


def _counts(cursor: Cursor, history: SliceHistory) -> str:
    """Say in which way the events are not those that the service counts."""
    if history.missing:
        total = counted(history.total or 0, "event")
        return f"The service counts {total} in {cursor.slice}, but {history.distinct:,} arrived"
    if history.gone:
        return f"{counted(history.gone, 'event')} of {cursor.slice} arrived only once"
    return f"The events of {cursor.slice} changed while they were pulled, so some may be missing"


def _different(page: FetchedPage, history: SliceHistory) -> ProtocolError:
    cursor = page.cursor
    step = "Pull it again from its first page, by the hour if it is large"
    detail = "; it is not known which are missing" if history.missing > 0 else ""
    if cursor.attempt:
        step, detail = "Pull it later", f", after {cursor.attempt + 1} attempts"
    elif history.missing < 0:
        step = "Report it to the service"
    advice = remedy("accept_difference", step)
    if cursor.attempt and history.overlap:
        advice = remedy("other_pages", step)
    return page.error(f"{_counts(cursor, history)}{detail}.", advice)


def report_drift(observer: Observer, drift: PageDrift) -> None:
    LOG.warning("%s", drift)
    notify(observer.drift, drift)
