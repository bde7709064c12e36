"""Check a dataset: its bytes, its hours, its ids, and its sums against the service."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._base.dates import days_between
from adanalytics_client.dataset.contents import Contents
from adanalytics_client.dataset.days import ServiceDays
from adanalytics_client.dataset.layout import DATA, Hour, PartFormat, hours_of, part_name
from adanalytics_client.dataset.manifest import HourRecord
from adanalytics_client.dataset.partition import HourPartition
from adanalytics_client.dataset.parts import checksum, read_part
from adanalytics_client.dataset.planning import DAYS_PER_EXPORT
from adanalytics_client.dataset.report import Problem, VerifyReport, runs_of_days
from adanalytics_client.dataset.tables import EventTables, Ids, Table, is_of_hour, totals_of
from adanalytics_client.dataset.totals import Totals
from adanalytics_client.errors import ProtocolError

if TYPE_CHECKING:
    from adanalytics_client.client import Client


class Verification:
    """Looks at every file of a dataset, an hour at a time.

    Args:
        contents: the dataset; its lock is held.
        now: the present moment in UTC.
    """

    def __init__(self, contents: Contents, now: Callable[[], datetime]) -> None:
        self._contents = contents
        self._manifest = contents.manifest
        self._now = now
        self._tables = EventTables()
        self._totals: dict[date, Totals | None] = {}
        self._hours = 0
        self._events = 0

    def run(self, client: "Client", *, deep: bool) -> VerifyReport:
        """Check the files, then days and sums with two requests, then, `deep`, every event."""
        problems = [*self._check_files()]
        problems += self._compare(ServiceDays(client, None, self._manifest.days()))
        if deep:
            broken = {problem.day for problem in problems}
            problems += self._compare_with_exports(client, broken)
        return VerifyReport(self._hours, self._events, problems)

    def _check_files(self) -> Iterator[Problem]:
        """Describe what is wrong with the files, the manifest and the events."""
        form, known = self._contents.form, set()
        for day in self._manifest.days():
            hours = self._manifest.day(day).hours
            if day in self._manifest.damaged:
                yield Problem(day, f"its manifest is damaged: {self._manifest.damaged[day]}")
            self._totals[day] = Totals()
            for number, record in hours.items():
                hour = Hour(day, number)
                if record.size:
                    known.add(part_name(hour, form))
                yield from (Problem(day, what, number) for what in self._check_hour(hour, record))
        strays = _strays(set(self._contents.store.sizes(DATA)) - known, form, self._now())
        # Of a day whose manifest is damaged nothing is known, so each of its files would be one.
        yield from (stray for stray in strays if stray.day not in self._manifest.damaged)

    def _check_hour(self, hour: Hour, record: HourRecord) -> Iterator[str]:
        self._hours += 1
        self._events += record.rows
        if not record.size:
            return
        name = part_name(hour, self._contents.form)
        found = checksum(self._contents.store, name)
        if found != record.sha256:
            self._totals[hour.day] = None
            yield f"{name} {'is missing' if found is None else 'has other bytes than were written'}"
        elif record.rows:
            yield from self._check_events(hour, record)

    def _check_events(self, hour: Hour, record: HourRecord) -> Iterator[str]:
        ids, rows, totals, strange = Ids(), 0, self._totals[hour.day], 0
        try:
            form = self._contents.form
            for table in read_part(self._contents.store, hour, form, self._tables):
                ids.add(table)
                rows += table.num_rows
                strange += not is_of_hour(table, hour)
                totals = Totals.sum([totals, totals_of(table)])
        except (ProtocolError, OSError, ValueError) as error:
            self._totals[hour.day] = None
            yield f"its file cannot be read: {error}"
            return
        self._totals[hour.day] = totals
        if rows != record.rows:
            yield f"its file has {rows:,} events, and {record.rows:,} were written"
        if repeated := ids.repeated():
            yield f"{repeated:,} of its events are there twice"
        if strange:
            yield "its file holds events of other hours"

    def _compare(self, service: ServiceDays) -> Iterator[Problem]:
        """Describe days and hours that are missing, and sums that are not those of the service."""
        now, held = self._now(), self._manifest.days()
        for day, state in service.days.items():
            if not held or not held[0] <= day <= held[-1] or day in self._manifest.damaged:
                continue
            record = self._manifest.day(day)
            started = [hour for hour in hours_of(day) if hour.start <= now]
            missing = [hour for hour in started if hour.hour not in record.hours]
            totals = self._totals.get(day)
            if missing:
                yield Problem(day, f"{len(missing)} of its {len(started)} hours are missing")
            elif record.is_settled and totals and (wrong := totals.differences(state.figures)):
                more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
                yield Problem(day, f"its sums are not the summary's: {wrong[0]}{more}")

    def _compare_with_exports(
        self, client: "Client", broken: Iterable[date | None]
    ) -> Iterator[Problem]:
        """Compare every event of days that were over when they were pulled with a bulk export.

        Days that are `broken` anyway are left out. Memory holds one hour, twice; disk space is
        needed for the file of at most `DAYS_PER_EXPORT` days and once more for its events.
        """
        days = {day for day in self._manifest.days() if self._manifest.day(day).is_settled}
        for first, last in _bounded(runs_of_days(days.difference(broken))):
            with TemporaryDirectory(prefix="adanalytics-") as name:
                folder = Path(name)
                file = client.export(first, last, to=folder / "export.csv")
                partition = HourPartition(folder)
                for table in self._tables.from_csv(file):
                    partition.add(table)
                for day in days_between(first, last):
                    for number, record in self._manifest.day(day).hours.items():
                        hour = Hour(day, number)
                        theirs = self._joined(partition.take(hour))
                        if wrong := _difference(self._read(hour, record), theirs):
                            yield Problem(day, wrong, number)

    def _read(self, hour: Hour, record: HourRecord) -> Table:
        store, form = self._contents.store, self._contents.form
        parts = read_part(store, hour, form, self._tables) if record.rows else iter(())
        return self._joined(parts)

    def _joined(self, parts: Iterator[Table]) -> Table:
        return pa.concat_tables([self._tables.schema.empty_table(), *parts])


def _bounded(runs: list[tuple[date, date]]) -> Iterator[tuple[date, date]]:
    step = timedelta(DAYS_PER_EXPORT - 1)
    for first, last in runs:
        begin = first
        while begin <= last:
            yield begin, min(begin + step, last)
            begin += step + timedelta(1)


def _difference(mine: Table, theirs: Table) -> str:
    """Describe how two sets of events differ, whatever their order; empty when they do not."""
    if mine.num_rows != theirs.num_rows:
        return f"has {mine.num_rows:,} events, and the export {theirs.num_rows:,}"
    mine, theirs = mine.sort_by("event_id"), theirs.sort_by("event_id")
    names = [name for name in mine.column_names if not _is_same(mine[name], theirs[name])]
    return f"its events are not those of the export: {', '.join(names)}" if names else ""


def _is_same(mine: Table, theirs: Table) -> bool:
    if mine.type == pa.string():
        # A csv that does not quote an empty text cannot tell it from null.
        mine, theirs = pc.fill_null(mine, ""), pc.fill_null(theirs, "")
    return bool(mine.equals(theirs))


def _strays(names: Iterable[str], form: PartFormat, now: datetime) -> Iterator[Problem]:
    """Describe files under data that were never committed; readers would take them for events.

    A sync replaces one that has the name of a part, once its hour is over, and leaves others alone.
    """
    for name in sorted(names):
        day = name.partition("date=")[2].partition("/")[0]
        try:
            hours = {part_name(hour, form): hour for hour in hours_of(date.fromisoformat(day))}
        except ValueError:
            hours = {}
        hour = hours.get(name)
        if hour is not None and hour.is_over(now):
            yield Problem(hour.day, f"{name} was never committed")
        elif hour is not None:
            yield Problem(None, f"{name} is of an hour that is not over; delete it")
        else:
            yield Problem(None, f"{name} does not belong here; delete it")
