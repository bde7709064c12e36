"""Check a dataset: its bytes, its hours, its ids, and its sums against the service."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from adanalytics_client import ProtocolError
from adanalytics_client.dataset.arrow_events import EventTables
from adanalytics_client.dataset.dataset import Dataset
from adanalytics_client.dataset.day_states import ServiceView
from adanalytics_client.dataset.empty_part import empty_part_name
from adanalytics_client.dataset.hours import Hour, hours_of
from adanalytics_client.dataset.journal import checksum
from adanalytics_client.dataset.layout import DATA, PartFormat, part_name
from adanalytics_client.dataset.manifest import HourRecord
from adanalytics_client.dataset.needs import is_closed, is_settled
from adanalytics_client.dataset.part_reader import read_part
from adanalytics_client.dataset.table_totals import Ids, is_of_hour, tally_of
from adanalytics_client.dataset.totals import Tally

NO_DAY = date.min
"""The day of a problem that no pull can mend."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something of a day, or of one hour of it, that is not as it should be."""

    day: date
    what: str
    hour: int | None = None

    def __str__(self) -> str:
        if self.day == NO_DAY:
            return self.what
        place = str(self.day) if self.hour is None else str(Hour(self.day, self.hour))
        return f"{place}  {self.what}"


@dataclass(slots=True)
class Checked:
    """What was looked at."""

    hours: int = 0
    events: int = 0


class Verification:
    """Looks at every file of a dataset, an hour at a time.

    Args:
        dataset: what to check; its lock is held.
        clock: the present moment in UTC.
    """

    def __init__(self, dataset: Dataset, clock: Callable[[], datetime]) -> None:
        self._dataset = dataset
        self._manifest = dataset.manifest
        self._clock = clock
        self._tables = EventTables()
        self._sums: dict[date, Tally | None] = {}
        self.checked = Checked()

    def files(self) -> Iterator[Problem]:
        """What is wrong with the files, the manifest and the events, without the service."""
        known = set()
        for day in self._manifest.days():
            hours = self._manifest.day(day).hours
            if day in self._manifest.damaged:
                yield Problem(day, f"its manifest is damaged: {self._manifest.damaged[day]}")
            self._sums[day] = Tally()
            for number, record in hours.items():
                hour = Hour(day, number)
                if record.rows:
                    known.add(part_name(hour, self._dataset.identity.form))
                yield from (Problem(day, what, number) for what in self._hour(hour, record))
        form = self._dataset.identity.form
        known.add(empty_part_name(form))
        strays = _strays(set(self._dataset.store.sizes(DATA)) - known, form, self._clock())
        # Of a day whose manifest is damaged nothing is known, so each of its files would be one.
        yield from (stray for stray in strays if stray.day not in self._manifest.damaged)

    def against(self, view: ServiceView) -> Iterator[Problem]:
        """Days and hours that are not there, and sums that are not those of the service."""
        now = self._clock()
        held = self._manifest.days()
        for day in view.days:
            if not held or not held[0] <= day <= held[-1] or day in self._manifest.damaged:
                continue
            record = self._manifest.day(day)
            begun = [hour for hour in hours_of(day) if hour.begins <= now]
            missing = [hour for hour in begun if hour.hour not in record.hours]
            if missing:
                yield Problem(day, f"{len(missing)} of its {len(begun)} hours are missing")
            elif is_settled(record):
                yield from self._reconcile(day, view.state(day).tally)

    def _hour(self, hour: Hour, record: HourRecord) -> Iterator[str]:
        self.checked.hours += 1
        self.checked.events += record.rows
        if not record.rows:
            return
        name = part_name(hour, self._dataset.identity.form)
        found = checksum(self._dataset.store, name)
        if found != record.sha256:
            self._sums[hour.day] = None
            yield f"{name} {'is missing' if found is None else 'has other bytes than were written'}"
            return
        yield from self._events(hour, record)

    def _events(self, hour: Hour, record: HourRecord) -> Iterator[str]:
        ids, rows, total, strange = Ids(), 0, self._sums[hour.day], 0
        try:
            form = self._dataset.identity.form
            for table in read_part(self._dataset.store, hour, form, self._tables):
                ids.add(table)
                rows += table.num_rows
                strange += not is_of_hour(table, hour)
                more = tally_of(table)
                total = None if total is None or more is None else total + more
        except (ProtocolError, OSError, ValueError) as error:
            self._sums[hour.day] = None
            yield f"its file cannot be read: {error}"
            return
        self._sums[hour.day] = total
        if rows != record.rows:
            yield f"its file has {rows:,} events, and {record.rows:,} were written"
        if repeated := ids.repeated():
            yield f"{repeated:,} of its events are there twice"
        if strange:
            yield "its file holds events of other hours"

    def _reconcile(self, day: date, theirs: Tally) -> Iterator[Problem]:
        mine = self._sums.get(day)
        if mine is not None and (wrong := mine.differences(theirs)):
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            yield Problem(day, f"its sums are not the summary's: {wrong[0]}{more}")


def _strays(names: Iterable[str], form: PartFormat, now: datetime) -> Iterator[Problem]:
    """Files under data that nobody committed; readers would take them for events.

    A sync puts the right file in place of one that has the name of a part, once its hour is over,
    and leaves others alone.
    """
    for name in sorted(names):
        day = name.partition("date=")[2].partition("/")[0]
        try:
            hours = {part_name(hour, form): hour for hour in hours_of(date.fromisoformat(day))}
        except ValueError:
            hours = {}
        hour = hours.get(name)
        if hour is not None and is_closed(hour, now):
            yield Problem(hour.day, f"{name} was never committed")
        elif hour is not None:
            yield Problem(NO_DAY, f"{name} is of an hour that is not over; delete it")
        else:
            yield Problem(NO_DAY, f"{name} does not belong here; delete it")


def runs_of_days(days: Iterable[date]) -> list[tuple[date, date]]:
    """Days as stretches without gaps, each with its first and last day.

    >>> runs_of_days([date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2)])
    [(datetime.date(2026, 1, 1), datetime.date(2026, 1, 3))]
    """
    runs: list[tuple[date, date]] = []
    for day in sorted(set(days)):
        if runs and (day - runs[-1][1]).days == 1:
            runs[-1] = (runs[-1][0], day)
        else:
            runs.append((day, day))
    return runs
