"""Choose the next page to fetch and the next page to yield, for many slices at once; no I/O.

A slice is opened, its pages are fetched one after the other, and it is closed when the last of them
was yielded:

    not open  -> open: fetching <-> waiting to be yielded -> closed
                   ^         |
                   +---------+  started again if pages moved, at most twice

After the last slice, those that were answered without a body may be opened once more.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

from adanalytics_client._base.observer import PageDrift, PullPlanned
from adanalytics_client._base.quantities import counted
from adanalytics_client._events.counts import DayCounts
from adanalytics_client._events.drift import MOST_ATTEMPTS, OnDrift, SliceHistory
from adanalytics_client._events.end_check import EndCheck, Repeats, SummaryRequest
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.paging import Cursor, contradiction, following
from adanalytics_client._events.plan import Plan
from adanalytics_client._events.resume import Position
from adanalytics_client.errors import ProtocolError

_PAGES_A_REQUEST = 2

_LOG = logging.getLogger("adanalytics_client")

Job = Cursor | SummaryRequest
Fetched = FetchedPage | Position | DayCounts | None
"""The result of a job: a page, the slices that replace the only one of an auto plan, or counts."""


@dataclass(frozen=True, slots=True)
class ReadyPage:
    """A page that waits to be yielded, or was yielded.

    Attributes:
        cursor: the requested page.
        page: its events to yield, without those that arrived before.
        last: whether its slice ends with it.
        drift: repeats, or a contradiction of the counts.
        fetched: the page as received.
        resume: the cursor of a later run of the slice; None when nothing of the slice is left.
        position: where the pull continues after this page.
    """

    cursor: Cursor
    page: FetchedPage
    last: bool
    drift: PageDrift | None
    fetched: FetchedPage
    resume: Cursor | None
    position: Position = field(default_factory=Position)


@dataclass(slots=True)
class _OpenSlice:
    """A slice in flight.

    Attributes:
        cursor: the next page to request; None after the last.
        resume: the cursor of a later run, behind the yielded pages; None after the last.
        history: the comparison of its pages.
        beyond: the cursor behind the last page, if some of its events are missing.
        index: its place in the plan; None for one that an earlier run opened.
        in_flight: whether the cursor is being fetched.
        waiting: pages that wait to be yielded.
        error: the error that ended it, to be raised after its waiting pages.
    """

    cursor: Cursor | None
    resume: Cursor | None
    history: SliceHistory
    beyond: Cursor | None = None
    index: int | None = None
    in_flight: bool = False
    waiting: deque[ReadyPage] = field(default_factory=deque)
    error: BaseException | None = None

    @property
    def done(self) -> bool:
        return not (self.cursor or self.in_flight or self.waiting or self.error)


class PageFanout:
    """Chooses cursors to fetch and takes their pages, until the plan is done.

    At most `concurrency` cursors are in flight, and at most `2 * concurrency` pages are in flight
    or waiting. Until the first page is taken it is one page, and each page that is taken doubles
    the number: a look at a few events sends few requests. When ordered, pages are yielded in the
    order of the plan; the slice at the front is fetched first, so waiting pages cannot block it. An
    error is raised in place of its page: the pages before it are not lost, and nothing after it is
    started.

    Args:
        plan: the slices in order.
        concurrency: the most requests in flight.
        ordered: whether pages keep the order of the plan.
        max_events: events to yield, including those of earlier runs, or None for all. With a bound,
            pages are fetched one at a time: a page ahead might not be needed.
        position: the end of an earlier run of the same plan; by default the first slice.
        on_drift: `raise` pulls slices again if fewer events arrive than the service states, and
            fails if they are still missing; `warn` accepts the events that arrived.
        report: called with the drift that a page shows, when that page is yielded.
        announce: called when the first page of an auto pull shows what is still to come.
        leave_out: called with each page and the number of events that may still be yielded; returns
            the page with fewer events.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        concurrency: int,
        ordered: bool,
        max_events: int | None = None,
        position: Position | None = None,
        on_drift: OnDrift = "raise",
        report: Callable[[PageDrift], None] = lambda _: None,
        announce: Callable[[PullPlanned], None] = lambda _: None,
        leave_out: Callable[[FetchedPage, int | None], FetchedPage] = lambda page, _: page,
    ) -> None:
        self._position = position or Position(plan.slices, plan.ranges)
        self._opened = self._position.opened
        self._open = deque(
            _OpenSlice(each, each, SliceHistory(each, on_drift)) for each in self._position.open
        )
        self._concurrency = concurrency if max_events is None else 1
        self._most_held = 1
        self._ordered = ordered
        self._max_events = max_events
        self._on_drift = on_drift
        self._in_flight = 0
        self._received = self._passed = self._position.passed
        self._failed = False
        self._report = report
        self._announce = announce
        self._leave_out = leave_out
        self._end_check = EndCheck(
            self._position,
            strict=on_drift == "raise",
            countable=plan.hour is None and not plan.params,
        )

    @property
    def finished(self) -> bool:
        idle = not self._in_flight and not any(each.waiting or each.error for each in self._open)
        return idle and (self._full or not (self._open or self._may_open() or self._due))

    def start(self) -> Job | None:
        """Choose a cursor to fetch now, or None when enough are in flight.

        At the end it raises a ProtocolError if events are missing.
        """
        if self._in_flight >= self._concurrency or self._full:
            return None
        if self._failed and not self._ordered:
            return None
        held = self._in_flight + sum(len(each.waiting) for each in self._open)
        if held >= self._most_held:
            return None
        # From the front: when ordered, only pages of the front slice are yielded.
        for each in self._open:
            if each.error is not None and self._ordered:
                return None
            if each.cursor is not None and not each.in_flight:
                return self._launch(each)
        if self._may_open():
            self._opened += 1
            self._append(self._opened - 1)
            return self._launch(self._open[-1])
        return None if self._open or self._in_flight else self._check_end()

    def settle(self, job: Job, outcome: Fetched | BaseException) -> None:
        self._in_flight -= 1
        if isinstance(job, SummaryRequest):
            if isinstance(outcome, BaseException):
                raise outcome
            self._end_check.take(cast("DayCounts | None", outcome), self._position)
            return
        opened = next(each for each in self._open if each.in_flight and each.cursor is job)
        opened.in_flight = False
        if isinstance(outcome, BaseException):
            self._fail(opened, outcome)
        elif isinstance(outcome, Position):
            # Only the single slice of an auto plan is replaced, and only once.
            self._open.remove(opened)
            self._position, self._opened = outcome, 0
        else:
            try:
                self._receive(opened, job, cast("FetchedPage", outcome))
            except ProtocolError as error:
                self._fail(opened, error)
        if isinstance(outcome, Position | FetchedPage) and outcome.planned:
            # Before the next request is chosen, in case the observer ends the pull.
            self._announce(replace(outcome.planned, rounds=self._rounds(outcome.planned)))

    def _rounds(self, planned: PullPlanned) -> float:
        """Estimate how many pages are fetched one after the other.

        The pages of a query are. When ordered, half of those that may wait are of the next query;
        if it has more, the others are fetched once it is at the front.
        """
        pages = planned.requests / planned.queries
        at_once = min(self._concurrency, planned.queries)
        waiting = self._concurrency * _PAGES_A_REQUEST - 1
        alone = pages - waiting / 2 if self._ordered and planned.queries > 1 else 0.0
        return planned.queries * max(pages / at_once, alone)

    def ready(self) -> ReadyPage | None:
        """Return the next page, or None when it has not arrived; raise an error in its place."""
        for each in list(self._open):
            if each.waiting:
                return self._hand_out(each, each.waiting.popleft())
            if each.error is not None:
                raise each.error
            self._close(each)
            if self._ordered and not each.done:
                return None
        return None

    def _receive(self, opened: _OpenSlice, cursor: Cursor, page: FetchedPage) -> None:
        history = opened.history
        both = contradiction(cursor, page.signals)
        if both and self._on_drift == "raise":
            raise page.rows.source.sign(_contradicted(cursor, both))
        ahead = following(cursor, len(page), page.signals)
        kept, drift = history.compare(cursor, page, last=ahead is None)
        if ahead is not None:
            ahead = replace(
                ahead, mark=history.mark, repeated=history.repeated, total=history.total
            )
        missing = ahead is None and history.short and self._on_drift == "raise"
        if missing and not cursor.attempt:
            opened.beyond = Cursor(cursor.slice, cursor.number + 1, total=history.total)
        resume = ahead
        if opened.beyond and (missing or ahead):
            # A later run does not know which events were yielded, but from a cursor behind the last
            # page it can tell that some are missing.
            resume = replace(opened.beyond, seen=history.distinct)
        opened.cursor = ahead
        self._received += len(kept)
        error = None
        if missing and not self._full:
            if history.repeatable and cursor.attempt + 1 < MOST_ATTEMPTS:
                opened.cursor = _first_page_again(cursor, history)
                # The drift advises pulling the slice again, which happens now.
                drift = None
            else:
                error = page.rows.source.sign(_short(cursor, history))
        last = opened.cursor is None
        opened.waiting.append(ReadyPage(cursor, kept, last, drift, page, resume))
        if error is not None:
            self._fail(opened, error)

    def _hand_out(self, opened: _OpenSlice, waiting: ReadyPage) -> ReadyPage:
        self._most_held = min(2 * self._most_held, self._concurrency * _PAGES_A_REQUEST)
        if waiting.drift:
            self._report(waiting.drift)
        remaining = None if self._max_events is None else self._max_events - self._passed
        page = self._leave_out(waiting.page, remaining)
        self._received -= len(waiting.page) - len(page)
        if remaining is not None and remaining < len(page):
            # A later run yields the page again from its start, so that it loses no event.
            opened.resume = waiting.cursor
            page = page.without([at >= remaining for at in range(len(page))])
            return replace(waiting, page=page, position=self._left())
        opened.resume = waiting.resume
        self._close(opened)
        self._passed += len(page)
        self._count(opened, waiting)
        return replace(waiting, page=page, position=self._left())

    def _count(self, opened: _OpenSlice, handed: ReadyPage) -> None:
        asked = handed.cursor.slice
        self._end_check.add(asked, len(handed.page))
        if not handed.fetched.has_body:
            index = self._position.slices.index(asked) if opened.index is None else opened.index
            self._end_check.add_bodiless(index, asked, self._position.total)

    @property
    def _due(self) -> SummaryRequest | Repeats | ProtocolError | None:
        return self._end_check.due(self._position)

    def _check_end(self) -> Job | None:
        due = self._due
        if isinstance(due, ProtocolError):
            raise due
        if isinstance(due, SummaryRequest):
            self._in_flight += 1
            return due
        if due is None:
            return None
        self._end_check.repeat(self._position, due)
        for each in due:
            self._append(each)
        return self._launch(self._open[0])

    def _append(self, index: int) -> None:
        first = Cursor(self._position.slices[index])
        self._open.append(
            _OpenSlice(first, first, SliceHistory(first, self._on_drift), index=index)
        )

    def _launch(self, opened: _OpenSlice) -> Cursor | None:
        opened.in_flight = True
        self._in_flight += 1
        return opened.cursor

    def _fail(self, opened: _OpenSlice, error: BaseException) -> None:
        opened.cursor, opened.error, self._failed = None, error, True

    def _left(self) -> Position:
        """Return the position behind the yielded pages; pages fetched ahead do not count."""
        opened = self._opened
        rest = [(each.index, each.resume) for each in self._open if each.resume is not None]
        while rest and rest[-1][0] == opened - 1 and rest[-1][1].untouched:
            rest.pop()
            opened -= 1
        cursors = tuple(cursor for _, cursor in rest)
        check, slices = self._end_check, self._position.slices
        unfinished = (*(each.slice for each in cursors), *slices[opened : opened + 1])
        return replace(
            self._position,
            opened=opened,
            open=cursors,
            passed=self._passed,
            arrived=check.arrived,
            bodiless=check.bodiless,
            by_day=check.days(self._position, unfinished),
        )

    def _close(self, opened: _OpenSlice) -> None:
        if opened.done:
            self._open.remove(opened)

    def _may_open(self) -> bool:
        return self._opened < len(self._position.slices) and not self._failed

    @property
    def _full(self) -> bool:
        return self._max_events is not None and self._received >= self._max_events


def _first_page_again(cursor: Cursor, history: SliceHistory) -> Cursor:
    """Return to the first page of a slice with missing events."""
    text = "Requesting %s again: the service counts %s, but %s arrived."
    total = counted(history.total or 0, "event")
    _LOG.warning(text, cursor.slice, total, f"{history.distinct:,}")
    history.begin_attempt()
    return Cursor(cursor.slice, total=history.total, attempt=cursor.attempt + 1)


def _contradicted(cursor: Cursor, both: str) -> ProtocolError:
    return ProtocolError(
        f"Page {cursor.number} of {cursor.slice} states {both}, so it is not known whether another "
        "page follows.",
        remedy='Report it to the service, or pass on_drift="warn" to take its first flag.',
    )


def _short(cursor: Cursor, history: SliceHistory) -> ProtocolError:
    total = counted(history.total or 0, "event")
    counts = f"The service counts {total} in {cursor.slice}, but {history.distinct:,} arrived"
    if cursor.attempt:
        return ProtocolError(
            f"{counts}, after {cursor.attempt + 1} attempts.",
            remedy='Pull it later, or pass on_drift="warn" to accept those.',
        )
    return ProtocolError(
        f"{counts}; it is not known which are missing.",
        remedy="Pull it again from its first page, by "
        'the hour if it is large, or pass on_drift="warn" to accept those that arrived.',
    )
