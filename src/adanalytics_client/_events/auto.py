"""Plan a pull with `split="auto"` from its first page and the events of each day."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from adanalytics_client._base.dates import days_between, runs_of
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.observer import PullPlanned
from adanalytics_client._call.session import Session
from adanalytics_client._lists.dates import dates
from adanalytics_client.errors import InvalidRequest

from .counts import DayCounts, optional, request_counts
from .page import FetchedPage
from .paging import Cursor, page_count
from .plan import DateRange, Plan, begun, check_slices, slices_of
from .reader import PageReader
from .resume import Position

MOST_FULL_PAGES = 20
"""The most full pages that auto plans for one query: 200,000 events with pages of 10,000.

The pages of one query are fetched one after the other, and late data move the pages behind them, so
short queries are better; but each query ends with a page that is not full. At this depth that page
is one request in twenty.
"""


def lay_out(
    days: Sequence[date], counts: DayCounts, *, size: int, hour: int | None, by_hour: bool = True
) -> list[DateRange]:
    """Make one query of each run of small days, and one per hour of each day that is too large.

    Args:
        days: the days to pull, in order; a run also spans the gaps between them.
        counts: the rough number of events of each day; a missing day has none.
        size: events of a full page.
        hour: the only hour to pull; its days cannot be divided further.
        by_hour: whether large days may be divided by the hour.

    Examples:
        >>> days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]
        >>> [each.cut for each in lay_out(days, {days[2]: 900_000}, size=10_000, hour=None)]
        ['whole', 'hour']
    """
    ranges = []
    for group in _groups(days, counts, MOST_FULL_PAGES * size):
        if counts.get(group[0], 0) <= MOST_FULL_PAGES * size:
            ranges.append(DateRange(group[0], group[-1], "whole"))
        elif hour is None and by_hour:
            ranges += [DateRange(run[0], run[-1], "hour") for run in runs_of(group)]
        else:
            ranges += [DateRange(day, day, "whole") for day in group]
    return ranges


def _groups(days: Iterable[date], counts: DayCounts, limit: int) -> Iterator[list[date]]:
    """Group neighbouring days above `limit`, and runs whose events stay within `limit`."""
    group: list[date] = []
    total = 0
    for day in days:
        count = counts.get(day, 0)
        # A large day is queried by hour, so it never shares a query.
        large, all_large = count > limit, total > limit
        if group and (large != all_large or (not large and total + count > limit)):
            yield group
            group, total = [], 0
        group.append(day)
        total = total + count
    if group:
        yield group


def requests_of(
    ranges: Iterable[DateRange], counts: DayCounts, *, size: int, hour: int | None = None
) -> int:
    """Count the pages of a layout, assuming that the hours of a day share its events evenly.

    Examples:
        >>> part = DateRange(date(2026, 1, 1), date(2026, 1, 30), "whole")
        >>> requests_of([part], {date(2026, 1, 7): 145_000}, size=10_000)
        15
    """
    days = sorted(counts)
    total = 0
    for part in ranges:
        range_days = days[bisect_left(days, part.start) : bisect_right(days, part.end)]
        day_counts = [counts[day] for day in range_days]
        empty = (part.end - part.start).days + 1 - len(day_counts)
        if part.cut == "whole":
            total += pages_of(sum(day_counts), size)
        elif part.cut == "hour" and hour is None:
            total += part.hours * empty
            total += sum(_pages_by_hour(count, size, part.hours) for count in day_counts)
        else:
            total += empty + sum(pages_of(count, size) for count in day_counts)
    return total


def pages_of(events: int, size: int) -> int:
    return max(1, -(-events // size))


def _pages_by_hour(events: int, size: int, hours: int) -> int:
    """Count the pages of hours that share the events evenly; an empty hour is one page."""
    hourly, rest = divmod(events, hours)
    return rest * pages_of(hourly + 1, size) + (hours - rest) * pages_of(hourly, size)


class Planner(Struct, frozen=True):
    """Fetches the pages of an auto pull, and plans the pull after the first one.

    The only slice of `plan` is the whole range.
    """

    reader: PageReader
    plan: Plan

    def fetch(self, session: Session, cursor: Cursor) -> Operation[FetchedPage | Position]:
        """Fetch a page; return a new position if other slices replace the whole range."""
        # None of the slices that replace the whole range is itself the whole range.
        is_whole = cursor.slice == self.plan.slices[0] and cursor.number == 1
        try:
            page = yield from self.reader.read(session, cursor)
        except InvalidRequest:
            # A service may refuse a range for its length.
            if not is_whole or cursor.slice.start == cursor.slice.end:
                raise
            days = [DateRange(day, day, "whole") for day in self._days()]
            return self._divided(days, {}, self.plan.per_page)
        if is_whole and not cursor.attempt:
            decision = yield from self._decide(session, page)
            if isinstance(decision, Position):
                return decision
            page = replace(decision, plan=self._rest_of(decision))
        self.reader.report(session, page)
        return page

    def _decide(self, session: Session, page: FetchedPage) -> Operation[FetchedPage | Position]:
        """Choose between more pages of the whole range and smaller slices."""
        cursor, next_cursor, size, plan, hour = (
            page.cursor,
            page.next_cursor,
            len(page),
            self.plan,
            self.plan.hour,
        )
        if page.signals.contradiction_on(cursor.number):
            return page
        if next_cursor is None or (hour is not None and cursor.slice.start == cursor.slice.end):
            return page
        if page.signals.total is None and page.signals.pages is None and size < plan.per_page:
            # This is the only page, or one that the service cut silently: the next page shows
            # which. If that is the same page again, the error is raised after this page.
            next_page = yield from self.reader.read(session, next_cursor)
            if not len(next_page) and not page.signals.next_sign:
                return replace(page, next_cursor=None)
        bounds = [bound for bound in (_total(page), plan.max_events) if bound is not None]
        if bounds and min(bounds) <= MOST_FULL_PAGES * size:
            return page
        day_counts = yield from self._known(session, page)
        counts = self._estimated(day_counts, page)
        ranges = lay_out(self._days(), counts, size=size, hour=hour, by_hour=plan.by_hour)
        if [part.cut for part in ranges] in ([], ["whole"]):
            return page
        # Events that the summary leaves out may be on a day that neither it nor `dates` lists.
        if page.signals.total in {None, sum(day_counts.values())}:
            ranges = yield from self._without_empty(session, ranges, counts)
        return self._divided(ranges, counts, size)

    def _divided(self, ranges: list[DateRange], counts: DayCounts, size: int) -> Position:
        """Return the begin of a pull of ranges, whose days have about so many events, if known."""
        hour, before = self.plan.hour, self.plan.before
        if before is not None:
            ranges = [*begun(ranges, before, hour)]
        check_slices(ranges, hour)
        slices = slices_of(ranges, hour)
        requests = requests_of(ranges, counts, size=size, hour=hour)
        rest = PullPlanned(len(slices), requests, None)
        if counts:
            rest = self._bounded(len(slices), requests, sum(counts.values()), size)
        return Position(slices, tuple(ranges), plan=rest)

    def _rest_of(self, page: FetchedPage) -> PullPlanned | None:
        """Count the pages after the first, if any follow and their number is known."""
        pages = page_count(page.cursor, page.next_cursor, page.signals)
        if pages is None or pages == 1:
            return None
        size = len(page)
        total = page.signals.total
        rest = (pages - 1) * size if total is None else total - size
        return self._bounded(1, pages - 1, rest, size, start=size)

    def _bounded(
        self, queries: int, requests: int, events: int, size: int, *, start: int = 0
    ) -> PullPlanned:
        """Describe what is still to come, of which the pull takes no more than `max_events`."""
        if self.plan.max_events is not None:
            events = min(events, max(0, self.plan.max_events - start))
            requests = min(requests, -(-events // size))
        return PullPlanned(queries, requests, events)

    def _days(self) -> list[date]:
        slice_ = self.plan.slices[0]
        days = self.plan.days
        return [
            day for day in days_between(slice_.start, slice_.end) if days is None or day in days
        ]

    def _known(self, session: Session, page: FetchedPage) -> Operation[DayCounts]:
        days = self._days()
        # The total of the first page is that of the day: no summary is needed.
        if len(days) == 1 and _total(page) is not None:
            return {}
        counts = yield from request_counts(session, days[0], days[-1])
        if counts is None:
            self.reader.failures.add("summary")
            return dict.fromkeys(days, 0)
        return {day: counts.get(day, 0) for day in days}

    def _estimated(self, counts: DayCounts, page: FetchedPage) -> DayCounts:
        """Estimate the events of each day; empty without a summary and a total."""
        # The summary leaves filtered events out, so the total of the pages corrects it.
        days, total, event_count = self._days(), _total(page), sum(counts.values())
        if event_count and total is not None:
            return {day: -(-counts[day] * total // event_count) for day in days}
        if event_count:
            share = 1 if self.plan.hour is None else 24
            return {day: -(-counts[day] // share) for day in days}
        return {} if total is None else dict.fromkeys(days, -(-total // len(days)))

    def _without_empty(
        self, session: Session, ranges: list[DateRange], counts: DayCounts
    ) -> Operation[list[DateRange]]:
        """Leave out queries for days without data, if `dates` costs fewer requests than they do."""
        empty = [
            part
            for part in ranges
            if not any(counts.get(day) for day in days_between(part.start, part.end))
        ]
        # `dates` costs one request, as one empty query does.
        if len(empty) < 2:
            return ranges
        data_days = yield from optional(dates(session))
        if data_days is None:
            self.reader.failures.add("dates")
            return ranges
        data = {*data_days}
        absent = [part for part in empty if data.isdisjoint(days_between(part.start, part.end))]
        return [part for part in ranges if part not in absent]


def _total(page: FetchedPage) -> int | None:
    page_signals = page.signals
    if page_signals.total is not None:
        return page_signals.total
    return None if page_signals.pages is None else page_signals.pages * len(page)
