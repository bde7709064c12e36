"""Choose the next page to fetch and the next page to yield, for many slices at once; no I/O.

A slice is opened, its pages are fetched one after the other, and it is closed when the last of them
was yielded. `read_slice` decides what its pages mean:

    not open  -> open: fetching <-> waiting to be yielded -> closed

After the last slice, the pull may be compared with the service's count, and slices read on.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import cast

from msgspec.structs import replace

from adanalytics_client._base.observer import Observer, notify
from adanalytics_client.errors import AdAnalyticsError

from .check import Comparison, PullCheck, Span
from .dedupe import Deduplicator
from .page import FetchedPage
from .paging import Cursor
from .resume import Position
from .slice import SliceEnd, SliceRules, read_slice, report_drift

_PAGES_A_REQUEST = 2

Job = Cursor | Comparison
Fetched = FetchedPage | Position | tuple[Span, ...]
"""The result of a job: a page, the slices that replace the only one of an auto plan, or the days
that differ from the service's count."""


@dataclass(slots=True)
class _OpenSlice:
    """A slice in flight.

    Attributes:
        cursor: the next page to request; None after the last.
        resume: the cursor of a later run, behind the yielded pages; None after the last.
        pages: receives its pages, and decides which are ready.
        place: its place in the plan; None for one that an earlier run opened.
        in_flight: whether the cursor is being fetched.
        ready: pages that wait to be yielded.
        error: the error that ended it, to be raised after its waiting pages.
    """

    cursor: Cursor | None
    resume: Cursor | None
    pages: Generator[FetchedPage | Cursor | None, FetchedPage, SliceEnd]
    place: int | None = None
    in_flight: bool = False
    ready: deque[FetchedPage] = field(default_factory=deque)
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return not (self.cursor or self.in_flight or self.ready or self.error)


class PageFanout:
    """Chooses cursors to fetch and takes their pages, until the plan is done.

    At most `concurrency` cursors are in flight, and at most `2 * concurrency` pages are in flight
    or waiting. Until the first page is taken it is one page, and each page that is taken doubles
    the number: a look at a few events sends few requests. Pages are yielded in the order of the
    plan; the slice at the front is fetched first, so waiting pages cannot block it. An error is
    raised in place of its page: the pages before it are not lost, and nothing after it is started.

    Args:
        position: the slices in order, and the end of an earlier run if there was one.
        concurrency: the most requests in flight.
        check: compares the pull with the service's count at its end.
        rules: the rules of reading a slice.
        max_events: events to yield, including those of earlier runs, or None for all. With a bound,
            pages are fetched one at a time: a page ahead might not be needed.
        observer: learns of drift when its page is yielded, and of what is still to come when the
            first page of an auto pull shows it.
        deduplicator: leaves out the events of earlier pulls.
    """

    def __init__(
        self,
        position: Position,
        *,
        concurrency: int,
        check: PullCheck,
        rules: SliceRules,
        max_events: int | None = None,
        observer: Observer | None = None,
        deduplicator: Deduplicator | None = None,
    ) -> None:
        self._position = position
        self._opened = position.opened
        self._open = deque[_OpenSlice]()
        self._concurrency = concurrency if max_events is None else 1
        self._most_held = 1
        self._max_events = max_events
        self._rules = rules
        self._in_flight = 0
        self._arrivals = self._yields = position.passed
        self._arrived = position.arrived
        self._failed = False
        self._observer = observer or Observer()
        self._deduplicator = deduplicator
        self._check = check
        for cursor in position.open:
            self._append(cursor, None)

    @property
    def finished(self) -> bool:
        idle = not self._in_flight and not any(s.ready or s.error for s in self._open)
        return idle and (self._full or not (self._open or self._may_open() or self._check.due))

    def start(self) -> Job | None:
        """Choose a cursor to fetch now, or None when enough are in flight.

        At the end it returns the comparison with the service's count, if there is to be one.
        """
        if self._in_flight >= self._concurrency or self._full:
            return None
        page_count = self._in_flight + sum(len(slice_.ready) for slice_ in self._open)
        if page_count >= self._most_held:
            return None
        # From the front: only pages of the front slice are yielded.
        for slice_ in self._open:
            if slice_.error is not None:
                return None
            if slice_.cursor is not None and not slice_.in_flight:
                return self._launch(slice_)
        if self._may_open():
            self._opened += 1
            self._append(Cursor(self._position.slices[self._opened - 1]), self._opened - 1)
            return self._launch(self._open[-1])
        if self._open or self._in_flight or (comparison := self._check.due) is None:
            return None
        self._in_flight += 1
        return comparison

    def receive(self, job: Job, outcome: Fetched | BaseException) -> None:
        self._in_flight -= 1
        if isinstance(job, Comparison):
            result = cast("tuple[Span, ...] | BaseException", outcome)
            for place, tail in self._check.receive(result):
                self._append(tail, place)
            return
        slice_ = next(
            candidate for candidate in self._open if candidate.in_flight and candidate.cursor is job
        )
        slice_.in_flight = False
        if isinstance(outcome, BaseException):
            self._fail(slice_, outcome)
        elif isinstance(outcome, Position):
            # Only the single slice of an auto plan is replaced, and only once.
            self._open.remove(slice_)
            slices, ranges, plan = outcome.slices, outcome.ranges, outcome.plan
            self._position = replace(self._position, slices=slices, ranges=ranges, plan=plan)
            self._opened = 0
        else:
            self._receive(slice_, cast("FetchedPage", outcome))
        if isinstance(outcome, Position | FetchedPage) and outcome.plan:
            # Before the next request is chosen, in case the observer ends the pull.
            notify(self._observer.plan, outcome.plan)

    def ready(self) -> FetchedPage | None:
        """Return the next page, or None when it has not arrived; raise an error in its place."""
        if not self._open:
            return None
        slice_ = self._open[0]
        if slice_.ready:
            return self._hand_out(slice_, slice_.ready.popleft())
        if slice_.error is not None:
            raise slice_.error
        return None

    def _receive(self, slice_: _OpenSlice, page: FetchedPage) -> None:
        try:
            ready = cast("FetchedPage | Cursor", slice_.pages.send(page))
            if isinstance(ready, Cursor):
                slice_.cursor = ready
                return
            slice_.cursor = ready.next_cursor
            slice_.ready.append(ready)
            self._arrivals += len(ready)
            if ready.last and not self._full:
                self._end(slice_)
        except AdAnalyticsError as error:
            self._fail(slice_, error)

    def _end(self, slice_: _OpenSlice) -> None:
        """End a slice behind its last page; that fails if events are missing."""
        try:
            next(slice_.pages)
        except StopIteration as stop:
            self._check.add(slice_.place, stop.value)

    def _hand_out(self, slice_: _OpenSlice, page: FetchedPage) -> FetchedPage:
        self._most_held = min(2 * self._most_held, self._concurrency * _PAGES_A_REQUEST)
        if page.drift:
            report_drift(self._observer, page.drift)
        remaining = None if self._max_events is None else self._max_events - self._yields
        size = len(page)
        if self._deduplicator is not None:
            page = self._deduplicator.filter(page, remaining)
        self._arrivals -= size - len(page)
        if remaining is not None and remaining < len(page):
            # A later run yields the page again from its start, so that it loses no event.
            slice_.resume = page.cursor
            page = page.without([index >= remaining for index in range(len(page))])
            return replace(page, position=self._left())
        slice_.resume = page.resume
        if slice_.done:
            self._open.popleft()
        self._yields += len(page)
        self._arrived += size
        return replace(page, position=self._left())

    def _append(self, cursor: Cursor, place: int | None) -> None:
        pages = read_slice(cursor, self._rules)
        next(pages)
        self._open.append(_OpenSlice(cursor, cursor, pages, place))

    def _launch(self, slice_: _OpenSlice) -> Cursor | None:
        slice_.in_flight = True
        self._in_flight += 1
        return slice_.cursor

    def _fail(self, slice_: _OpenSlice, error: BaseException) -> None:
        slice_.cursor, slice_.error, self._failed = None, error, True

    def _left(self) -> Position:
        """Return the position behind the yielded pages; pages fetched ahead do not count."""
        count = self._opened
        rest = [(slice_.place, slice_.resume) for slice_ in self._open if slice_.resume is not None]
        # Queries that were opened ahead and yielded nothing are not begun for the token.
        while rest and rest[-1][0] == count - 1 and not rest[-1][1].is_begun:
            rest.pop()
            count -= 1
        is_end = not rest and count == len(self._position.slices)
        return replace(
            self._position,
            opened=count,
            open=tuple(cursor for _, cursor in rest),
            passed=self._yields,
            arrived=self._arrived,
            doubt=self._check.doubt_at_end if is_end else self._check.doubt,
        )

    def _may_open(self) -> bool:
        return self._opened < len(self._position.slices) and not self._failed

    @property
    def _full(self) -> bool:
        return self._max_events is not None and self._arrivals >= self._max_events
