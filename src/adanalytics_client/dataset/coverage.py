"""What datasets cover: partner, currencies, days and hours, and the share of filtered events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import combinations

from adanalytics_client._base.dates import days_between

from .hours.totals import Totals
from .records.layout import Hour, hours_of
from .records.manifest import DayRecord, HourRecord


@dataclass(frozen=True)
class Coverage:
    """What a dataset covers, according to its manifest.

    Attributes:
        place: the folder or address of the dataset.
        partner: the partner whose events it holds.
        records: the records of the days, also of hours without events.
        flag: the field that says which events are filtered; None if no field does.
        zone: the time zone of the days and hours.
    """

    place: str
    partner: str
    records: Sequence[DayRecord]
    flag: str | None
    zone: str

    @cached_property
    def hours(self) -> Mapping[Hour, HourRecord]:
        """The records of all hours that were pulled."""
        return {hour: part for record in self.records for hour, part in record.by_hour.items()}

    @cached_property
    def totals(self) -> Totals | None:
        """The counts and sums of all events that are not filtered; None if they are not known."""
        return Totals.sum(record.totals for record in self.records)

    @property
    def currencies(self) -> tuple[str, ...] | None:
        """The currencies of the events, filtered ones included; None if they are not known."""
        return (self.totals and self.totals.currencies) or None

    @property
    def events(self) -> int:
        return sum(record.rows for record in self.records)

    @property
    def filtered(self) -> int | None:
        """The number of filtered events; None if no field says it, or the totals are not known."""
        return self.events - self.totals.events if self.flag and self.totals else None

    @property
    def days(self) -> list[date]:
        return [record.day for record in self.records if record.hours]

    @property
    def last_whole_day(self) -> date | None:
        """The last day whose 24 hours were all pulled after they were over."""
        return max((record.day for record in self.records if record.is_settled), default=None)

    @property
    def missing(self) -> list[Hour]:
        """The hours between the first and the last one that were not pulled."""
        if not self.hours:
            return []
        first, last = min(self.hours), max(self.hours)
        days = days_between(first.day, last.day)
        between = (hour for day in days for hour in hours_of(day) if first <= hour <= last)
        return [hour for hour in between if hour not in self.hours]


def overlaps(datasets: Sequence[Coverage]) -> Iterator[tuple[Coverage, Coverage, list[date]]]:
    """Yield pairs of datasets that have events of a partner in the same hours, and their days."""
    for one, other in combinations(datasets, 2):
        both = one.hours.keys() & other.hours.keys() if one.partner == other.partner else ()
        # An hour that is empty in one of them counts once.
        days = {hour.day for hour in both if one.hours[hour].rows and other.hours[hour].rows}
        if days:
            yield one, other, sorted(days)


def runs_of_hours(hours: Iterable[Hour]) -> list[tuple[Hour, Hour]]:
    """Return the first and last hour of each run of hours that follow each other.

    Examples:
        >>> hours = [Hour(date(2026, 1, 15), number) for number in (3, 4, 7)]
        >>> [f"{first} to {last}" for first, last in runs_of_hours(hours)]
        ['2026-01-15T03 to 2026-01-15T04', '2026-01-15T07 to 2026-01-15T07']
    """
    runs: list[tuple[Hour, Hour]] = []
    for hour in sorted(hours):
        if runs and hour.start - runs[-1][1].start == timedelta(hours=1):
            runs[-1] = (runs[-1][0], hour)
        else:
            runs.append((hour, hour))
    return runs
