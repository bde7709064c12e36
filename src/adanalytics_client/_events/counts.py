"""The numbers of events that the service states: of each day, and of a range."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from adanalytics_client._base.dates import LATENESS
from adanalytics_client._base.effects import Operation
from adanalytics_client._call.session import Session
from adanalytics_client._json.columns import count_events
from adanalytics_client._lists.summary import summary
from adanalytics_client.errors import (
    AdAnalyticsError,
    AuthenticationError,
    ProtocolError,
    RateLimited,
    StatusError,
)

from .page import FetchedPage
from .paging import Cursor
from .plan import Plan, Slice
from .reader import PageReader

if TYPE_CHECKING:
    from adanalytics_client.models import Summary

T = TypeVar("T")

DayCounts = Mapping[date, int]
"""Events by day, without filtered ones; a day that is missing has none."""


def day_counts(summary: "Summary") -> DayCounts | None:
    """Count the events of each day in a summary by day; None when a row lacks its day or counts."""
    counts: dict[date, int] = {}
    for row in summary.rows:
        events = count_events(dict(row))
        # A date in any form but YYYY-MM-DD stays text.
        if not isinstance(row.date, date) or events is None:
            return None
        counts[row.date] = counts.get(row.date, 0) + events
    return counts


def request_counts(session: Session, start: date, end: date) -> Operation[DayCounts | None]:
    """Request the events of each day; None when the service cannot state them."""
    answer = yield from optional(summary(session, start, end, group_by="day"))
    return None if answer is None else day_counts(answer)


def optional(operation: Operation[T]) -> Operation[T | None]:
    """Run an operation that a pull can do without; None if the service cannot answer it."""
    try:
        return (yield from operation)
    except (AuthenticationError, RateLimited):
        raise
    except (StatusError, ProtocolError):
        return None


class NotCounted(Exception):
    """A request for the service's count failed; the text says why.

    Its cause is the error of the request, if there is one.
    """


def first_open_day(session: Session, cut_day: date = date.max) -> date:
    """Return the first day of which events may still arrive, or the day that a pull cuts off."""
    return min((session.config.service.now(session.clock.time()) - LATENESS).date(), cut_day)


def request_total(
    session: Session, start: date, end: date, hour: int | None = None
) -> Operation[int | None]:
    """Request the number of events of some days, or of one hour of each.

    It is None if the service does not state it.

    Raises:
        NotCounted: when the request fails.
        ProtocolError: when the service, or a cache, ignores the query.
    """
    page = yield from request_first(session, Slice(start, end, hour))
    return total_of(page)


def total_of(page: FetchedPage) -> int | None:
    """Return the number of events of some days by their first page."""
    return page.signals.total if len(page) or page.signals.total is not None else 0


def request_first(session: Session, days: Slice) -> Operation[FetchedPage]:
    """Request the first event of some days, and with it the number of all.

    Raises:
        NotCounted: when the request fails.
        ProtocolError: when the service, or a cache, ignores the query.
    """
    page = yield from request_place(session, days, 1)
    if len(page) > 1:
        # A service may ignore `per_page`, but then the next page has other events.
        second = yield from request_place(session, days, 2)
        if second.rows.texts == page.rows.texts:
            raise ProtocolError(
                f"The first pages of {days} are the same with another page number and "
                "per_page, as if the service ignored the parameters, or a cache did.",
                remedy="Look for a caching proxy, or report it to the service.",
            )
    return page


def count_pull(session: Session, plan: Plan) -> Operation[int | None]:
    """Request the number of events of a plan, one request for each of its ranges.

    It is None if only the events can tell: without a total, or with one that counts the events of a
    page, for a plan that leaves out hours of its ranges, for an hour, which a service may ignore,
    and for nothing, which may be a day left out.
    """
    if plan.before is not None or plan.hour is not None:
        return None
    reader, events = PageReader(1, plan.params), 0
    for part in plan.ranges:
        cursor = Cursor(Slice(part.start, part.end, plan.hour))
        page = yield from reader.read(session, cursor)
        total = page.signals.total
        if total is None and len(page):
            return None
        if total == len(page) == 1:
            second = yield from optional(reader.read(session, replace(cursor, number=2, seen=1)))
            if second is None or len(second):
                return None
        events += total or 0
    return events or None


def request_places(
    session: Session, days: Slice, events: int
) -> Operation[tuple[bool, bool | None] | None]:
    """Return whether an event is at place `events`, and whether one is behind it.

    None means that the service does not tell: it refuses such pages, or ignores `per_page`. A place
    behind the last one may also be an error (404), which a limit to the depth of pages may be, too.

    Raises:
        NotCounted: when a request fails.
    """
    pages = []
    for place in (events, events + 1) if events else (1,):
        page = yield from request_place(session, days, place)
        # A service that ignores `per_page` has no places.
        if page.refusal is not None or len(page) > 1:
            return None
        pages.append(page)
    has_more = None if pages[-1].doubt else len(pages[-1]) == 1
    return not events or len(pages[0]) == 1, has_more


def request_place(session: Session, days: Slice, place: int) -> Operation[FetchedPage]:
    """Request the event at a place of some days, which is a page of one event.

    Raises:
        NotCounted: when the request fails.
        ProtocolError: when the response contradicts the request.
    """
    try:
        return (yield from PageReader(1, has_page=True).read(session, Cursor(days, place)))
    except AdAnalyticsError as error:
        if isinstance(error, ProtocolError) and not error.unreadable:
            raise
        raise NotCounted(error.message) from error
