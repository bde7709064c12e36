"""Narrow a restated day down to the hours whose number of events moved.

The service states the number of events of a day and of each hour. A request for one of these totals
brings one event, so of a large day they cost less than its pages.
"""

from collections.abc import Callable, Collection

from .records.layout import Hour
from .records.manifest import DayRecord

MOST_MOVED = 6
"""Of a day of which more hours moved, all are pulled: it was reprocessed, and did not grow."""

Count = Callable[[int | None], int | None]
"""Returns the service's total of an hour of a day, or with None of the day; None without one."""


def expected_requests(hours: Collection[Hour], pages: int) -> int:
    """Return the likely cost of narrowing to one hour: the day, half of the hours, and its pages.

    Examples:
        >>> from datetime import date
        >>> expected_requests([Hour(date(2026, 1, 15), hour) for hour in range(24)], pages=1)
        14
    """
    return 1 + len(hours) // 2 + pages


def narrow(
    record: DayRecord, hours: Collection[Hour], least: int, count: Count
) -> list[Hour] | None:
    """Return the hours whose number of events moved.

    One total is requested after the other until the hours explain that of the day: first the hours
    that were pulled last, because late events go where others went before, or arrived last.

    Args:
        record: the day as the dataset holds it.
        hours: the hours that may have moved.
        least: the least number of events of the day, by the summary.
        count: requests a total.

    Returns:
        the hours in order; None if the totals do not tell which, because there are none, they do
        not add up, the service ignores the hour, or the day has as many events as before.
    """
    total = count(None)
    if total is None or total < least or total == record.rows:
        return None
    unexplained, moved, records = total - record.rows, [], record.by_hour
    for hour in sorted(hours, key=lambda hour: (records[hour].asked_at, hour), reverse=True):
        events, rows = count(hour.hour), records[hour].rows
        # An hour with all events of the day: the service ignores the parameter.
        if events is None or (events == total and rows < record.rows):
            return None
        if events != rows:
            moved.append(hour)
            unexplained -= events - rows
            if len(moved) > MOST_MOVED:
                return None
            # The hours found so far explain the day; the rest would only cost requests.
            if not unexplained:
                return sorted(moved)
    return None
