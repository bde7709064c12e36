"""The hours that have data: the numbers behind the calendar and the heatmap."""

from datetime import date
from typing import NamedTuple

from adanalytics_server.storage.days import DayRange, day_number, day_of_number
from adanalytics_server.storage.pages import read_spans
from adanalytics_server.storage.store import PartnerStore

# Steps of the colour scale for hours and days with data; 0 means no data.
LEVELS = 5
HOURS = 24


class DayCoverage(NamedTuple):
    """The events of one day by hour, filtered ones included; ``gaps`` are the missing hours.

    An hour without events is a gap if there is data before and after it. Hours before the first
    event and after the last are not gaps.
    """

    day: date
    hours: tuple[int, ...]
    gaps: tuple[int, ...]

    @property
    def events(self) -> int:
        return sum(self.hours)

    @property
    def covered(self) -> int:
        return sum(1 for events in self.hours if events)

    @property
    def level(self) -> int:
        """Step of the calendar's colour: 0 for no data, 5 for all 24 hours."""
        if self.covered == HOURS:
            return LEVELS
        return -(-self.covered * (LEVELS - 1) // HOURS)


def read_coverage(store: PartnerStore, year: int) -> list[DayCoverage]:
    """Read the days of a calendar year, which has at most 8,784 hours."""
    start, end = date(year, 1, 1), date(year, 12, 31)
    events = {span.hour: span.n for span in read_spans(store, DayRange(start, end))}
    with store.reading("ledger") as ledger:
        # Of any year: a gap may begin before this one.
        query = "SELECT IFNULL(MIN(hour), 0), IFNULL(MAX(hour), 0) FROM hours WHERE n > 0"
        first, last = ledger.execute(query).fetchone()
    days = []
    for number in range(day_number(start), day_number(end) + 1):
        hours = range(number * HOURS, (number + 1) * HOURS)
        gaps = (hour % HOURS for hour in hours if hour not in events and first < hour < last)
        counts = tuple(events.get(hour, 0) for hour in hours)
        days.append(DayCoverage(day_of_number(number), counts, tuple(gaps)))
    return days


def level_of(events: int, fullest: int) -> int:
    """Return the step of the heatmap's colour for an hour, if the fullest hour has ``fullest``."""
    return 0 if not events else -(-events * LEVELS // fullest)
