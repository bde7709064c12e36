"""The hours that have data: the numbers behind the calendar and the heatmap."""

from calendar import monthrange
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from adanalytics_server.storage.days import DayRange, day_number
from adanalytics_server.storage.pages import read_spans
from adanalytics_server.storage.store import PartnerStore

# Steps of the colour scale for hours and days with data; 0 means no data.
LEVELS = 5
HOURS = 24


@dataclass(frozen=True, slots=True)
class DayCoverage:
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


@dataclass(frozen=True, slots=True)
class Coverage:
    """The hours of one calendar year that have events, by hours since 1970.

    ``first`` and ``last`` are the partner's first and last such hour in any year.
    """

    year: int
    events: Mapping[int, int]
    first: int
    last: int

    def month(self, month: int) -> tuple[DayCoverage, ...]:
        days = monthrange(self.year, month)[1]
        return tuple(self._day(date(self.year, month, day)) for day in range(1, days + 1))

    def _day(self, day: date) -> DayCoverage:
        midnight = day_number(day) * HOURS
        hours = tuple(self.events.get(midnight + hour, 0) for hour in range(HOURS))
        gaps = tuple(
            hour
            for hour, events in enumerate(hours)
            if not events and self.first < midnight + hour < self.last
        )
        return DayCoverage(day, hours, gaps)


def read_coverage(store: PartnerStore, year: int) -> Coverage:
    """Read the coverage of a calendar year, which has at most 8,784 hours."""
    spans = read_spans(store, DayRange(date(year, 1, 1), date(year, 12, 31)))
    with store.reading("ledger") as ledger:
        first, last = ledger.execute(
            "SELECT MIN(hour), MAX(hour) FROM hours WHERE n > 0"
        ).fetchone()
    events = {span.hour: span.n for span in spans}
    return Coverage(year, events, first=first or 0, last=last or 0)


def level_of(events: int, most: int) -> int:
    """Return the step of the heatmap's colour for an hour, if the fullest hour has ``most``."""
    return 0 if not events else -(-events * LEVELS // most)
