"""The numbers of events that the service states: of each day, and of a range."""

import logging
from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, TypeVar

from adanalytics_client._base.effects import Operation
from adanalytics_client._call.lists import summary
from adanalytics_client._call.session import Session
from adanalytics_client._events.paging import Cursor
from adanalytics_client._events.plan import Slice
from adanalytics_client._events.reader import PageReader
from adanalytics_client._json.columns import count_events
from adanalytics_client.errors import (
    AdAnalyticsError,
    AuthenticationError,
    ProtocolError,
    RateLimited,
    StatusError,
)

if TYPE_CHECKING:
    from adanalytics_client.models import Summary

T = TypeVar("T")

_LOG = logging.getLogger("adanalytics_client")

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
    found = yield from optional(summary(session, start, end, group_by="day"))
    return None if found is None else day_counts(found)


def optional(operation: Operation[T]) -> Operation[T | None]:
    """Run an operation that a pull can do without; None if the service cannot answer it."""
    try:
        return (yield from operation)
    except (AuthenticationError, RateLimited):
        raise
    except (StatusError, ProtocolError):
        return None


def count_range(session: Session, start: date, end: date) -> Operation[int | None]:
    """Request the total of a range with one page of one event.

    Returns:
        The number of events of all days from `start` to `end`; None if the service does not state
        it or the request fails, which is logged.
    """
    whole = Slice(start, end)
    try:
        page = yield from PageReader(per_page=1).read(session, Cursor(whole))
    except AdAnalyticsError as error:
        _LOG.warning("%s was not compared with the service's count: %s", whole, error.message)
        return None
    if page.signals.total is None:
        _LOG.warning("%s was not compared: the service states no count", whole)
    return page.signals.total
