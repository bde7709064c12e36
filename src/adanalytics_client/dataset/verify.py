"""Check a dataset: its bytes, its hours, its ids, and its sums against the service."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow as pa

from adanalytics_client import Observer
from adanalytics_client._base.dates import days_between
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import notify
from adanalytics_client._base.quantities import counted
from adanalytics_client._outputs.arrow.conversion import comparable
from adanalytics_client.errors import AdAnalyticsError, ProtocolError
from adanalytics_client.observers import HoursVerified

from .hours.compare import (
    TOTAL,
    ComparedFigure,
    DayComparison,
    UncomparedFigure,
    compare_day,
    merge,
    uncompared,
)
from .hours.events import EventTables, Table, is_of_hour
from .hours.files import HourReader, checksum
from .hours.ids import Ids
from .hours.sort import HourPartition, Partition, split_by_id
from .hours.sums import totals_of
from .hours.totals import Totals
from .needs import Reason, find_need
from .planning import DAYS_PER_EXPORT
from .pull.spool import list_started
from .records.contents import Contents
from .records.layout import DATA, Hour, hours_of
from .records.manifest import DataFile, DayRecord, Identity, Manifest
from .report import Problem, Repair, VerifyReport, runs_of_days
from .service import Ranges, ServiceDays, count_days, fetch_service_days

if TYPE_CHECKING:
    from adanalytics_client import ExportJob
    from adanalytics_client._view import View


EVENTS_COMPARED = 65_536
"""About how many events of an hour are compared with an export at a time."""


@dataclass
class Verification:
    """Checks every file of a dataset, one hour of data at a time.

    The caller holds the lock of the dataset. The dataset should hold the days up to `until`; None
    means the last day that is over, or a later day of which the dataset holds some hours.
    `observer` is notified of each checked hour.
    """

    contents: Contents
    now: Callable[[], datetime]
    until: date | None
    observer: Observer

    def __post_init__(self) -> None:
        self._manifest = self.contents.manifest
        self._types = self.contents.schema.union
        self._names = self.contents.identity.names
        self._totals: dict[date, Totals | None] = {}
        self._comparisons: dict[date, DayComparison] = {}
        self._compared: list[ComparedFigure] = []
        self._uncompared: list[UncomparedFigure] = []
        self._hours = 0
        self._events = 0
        self._without_id = 0
        self._reader = HourReader(self.contents.store.open, self.contents.identity.form)

    def run(self, client: "View | None", *, deep: bool) -> VerifyReport:
        """Check the files, then days and totals with three requests and, if `deep`, every event.

        Without a client, check only the files, and the hours against the records of the dataset.
        """
        with closing(self._reader):
            return self._run(client, deep=deep)

    def _run(self, client: "View | None", *, deep: bool) -> VerifyReport:
        problems = [*self._check_files()]
        if client is None:
            problems += self._find_gaps()
        else:
            try:
                service = fetch_service_days(client, None, self._manifest, needs_list=False)
                problems += self._compare(service)
                problems += self._count(client, service, {problem.day for problem in problems})
                if deep:
                    broken = {problem.day for problem in problems}
                    problems += self._compare_with_exports(client, broken)
            except AdAnalyticsError as error:
                # Its error must not hide the damage that is already known.
                if not problems:
                    raise
                LOG.warning("The comparison with the service is incomplete: %s", error.message)
        compared, rest = merge(self._comparisons)
        return VerifyReport(
            self._hours,
            self._events,
            problems,
            [*compared, *self._compared],
            [*rest, *self._uncompared],
            self._without_id,
        )

    def _check_files(self) -> Iterator[Problem]:
        identity, names, days = self.contents.identity, set(), self._manifest.days()
        total = sum(len(record.hours) for record in self._manifest.records(days))
        sizes = self.contents.store.sizes(DATA)
        for day in days:
            if day in self._manifest.damaged:
                message = f"its manifest is damaged: {self._manifest.damaged[day]}"
                yield Problem(day, message, remedy="sync")
            self._totals[day] = Totals()
            record, sound = self._manifest.day(day), dict[Hour, DataFile]()
            for file in record.data_files(identity):
                names.add(file.name)
                if problem := self._check_bytes(file, sizes):
                    yield problem
                else:
                    sound |= dict.fromkeys(file.hours, file)
            for hour, of_hour in record.by_hour.items():
                self._hours += 1
                self._events += of_hour.rows
                if hour in sound:
                    for message in self._check_events(hour, sound[hour]):
                        yield Problem(day, message, hour.hour)
                notify(self.observer.verified, HoursVerified(self._hours, total, deep=False))
        yield from _strays(sizes.keys() - names, identity, self._manifest)
        yield from self._compare_table()

    def _compare_table(self) -> Iterator[Problem]:
        """Describe how the files of the table differ from the records; a sync repairs it."""
        if self.contents.table and (days := self._manifest.days()):
            lacking, foreign = self.contents.table.difference(self._manifest)
            if lacking or foreign:
                lists = f"lists {counted(len(foreign), 'other')}"
                message = f"the table lacks {counted(len(lacking), 'file')} and {lists}"
                day = min((file.day for file in lacking.values()), default=days[0])
                self.contents.table.doubt()
                yield Problem(day, message, remedy="sync")

    def _check_bytes(self, file: DataFile, sizes: Mapping[str, int]) -> Problem | None:
        """Compare the bytes of a file with its record."""
        size = sizes.get(file.name)
        if size == file.size and checksum(self.contents.store, file.name) == file.sha256:
            return None
        self._totals[file.day] = None
        message = (
            f"{file.name} {'was deleted' if size is None else 'is corrupt (checksum mismatch)'}"
        )
        # A sync compares names and sizes, not bytes.
        changed = file.name if size == file.size else ""
        remedy: Repair = "repull" if changed else "sync"
        hour = min(file.hours).hour if len(file.hours) == 1 else None
        return Problem(file.day, message, hour, remedy, changed=changed)

    def _check_events(self, hour: Hour, file: DataFile) -> Iterator[str]:
        record = file.hours[hour]
        rows, totals, strange = 0, self._totals[hour.day], 0
        tables = EventTables(self._names, self._types)
        with closing(Ids(self._names)) as ids:
            try:
                for table in self._held(hour, file, tables):
                    ids.add(table)
                    rows += table.num_rows
                    zone = self.contents.identity.zone
                    strange += not is_of_hour(table, hour, self._names, zone)
                    totals = Totals.sum([totals, totals_of(table, self._names)])
                repeated = ids.repeated(lambda: self._held(hour, file, tables), ids.shared())
            except (ProtocolError, OSError, ValueError) as error:
                # Without one hour, the sums of the day would seem wrong, too.
                self._totals[hour.day] = None
                yield f"its file cannot be read: {error}"
                return
            self._without_id += ids.without
        self._totals[hour.day] = totals
        if rows != record.rows:
            yield f"its file has {counted(rows, 'event')}, but {record.rows:,} were written"
        # The service may store events twice, as it did when they were pulled.
        if repeated != record.repeated:
            yield f"{repeated:,} of its events appear twice, not {record.repeated:,}"
        if strange:
            yield "its file holds events of other hours"

    def _find_gaps(self) -> Iterator[Problem]:
        """Describe hours that are missing on days of the dataset, and days up to `until`."""
        days = set(self._manifest.days())
        if self.until and days:
            # Without the service, only the caller knows how far the dataset should reach.
            days.update(days_between(max(days), self.until))
        for day in sorted(days.difference(self._manifest.damaged)):
            yield from self._missing(self._manifest.day(day))

    def _compare(self, service: ServiceDays) -> Iterator[Problem]:
        """Describe days and hours that are missing, and totals that differ from the summary."""
        days = {
            hour.day for start in list_started(self.contents.store) for hour in start.query.wanted
        }
        # A dataset need not begin with the service's first day, but has no gap from its own.
        first = min(days.union(self._manifest.days()), default=date.min)
        for day, state in service.days.items():
            if day < first or day in self._manifest.damaged:
                continue
            record, totals = self._manifest.day(day), self._totals.get(day)
            if self._is_expected(record, day in days):
                yield from self._missing(record)
            if not record.is_settled:
                # It would differ, but what is said to be compared is not to include it.
                if record.hours:
                    names = compare_day(None, state.figures, self._names).uncompared
                    reasons_of = dict.fromkeys(names, "the day was not over when it was pulled")
                    self._comparisons[day] = DayComparison(uncompared=reasons_of)
                continue
            comparison = compare_day(totals, state.figures, self._names)
            self._comparisons[day] = comparison
            reasons = find_need(record, state, self.now()).asked.values()
            if comparison.is_doubtful and Reason.RESTATED in reasons:
                yield Problem(day, "the service restated it after it was pulled", remedy="sync")
            elif difference := comparison.difference:
                message = f"its totals differ from the summary: {difference}"
                # An hour that was pulled by this very summary would not be pulled again by a sync.
                agreed = all(
                    hour_record.fingerprint == state.fingerprint
                    for hour_record in record.hours.values()
                )
                yield Problem(day, message, remedy="repull" if agreed else "sync")

    def _count(
        self, client: "View", service: ServiceDays, broken: Collection[date | None]
    ) -> Iterator[Problem]:
        """Describe days with another number of events than the service counts.

        Days in `broken` are left out: what they lack is known already.
        """
        # The summary and the list of days say nothing of a day whose events were all removed.
        days = {
            day: self._manifest.day(day).rows
            for day in self._manifest.days()
            if day not in broken and self._manifest.day(day).is_settled
        }
        counted_days = count_days(client, service, days)
        for day, message in counted_days.different_days.items():
            # A sync compares a day that seems unchanged only with the summary.
            yield Problem(day, message, remedy="repull")
        if len(counted_days.unknown_days) < len(days):
            self._compared.append(ComparedFigure(TOTAL))
        if counted_days.unknown_days:
            self._uncompared.append(uncompared(TOTAL, counted_days.unknown_days, len(days)))

    def _is_expected(self, record: DayRecord, is_begun: bool) -> bool:
        if self.until:
            return record.day <= self.until
        now = self.now()
        # A listed day is not in the future, so then the clock is behind.
        is_past = record.day > now.date() or Hour(record.day, 23).is_over(now)
        return is_begun or bool(record.hours) or is_past

    def _missing(self, record: DayRecord) -> Iterator[Problem]:
        """Describe the hours of a day that are over and were not pulled since."""
        now, hours = self.now(), [*hours_of(record.day)]
        due, over = record.due(now), sum(hour.is_over(now) for hour in hours)
        # By this machine's clock the day is to come; the service lists it, so the clock is behind.
        if record.day > now.date():
            due, over = [hour for hour in hours if hour.hour not in record.hours], len(hours)
        early = sum(hour.hour in record.hours for hour in due)
        if missing := len(due) - early:
            message = f"{missing} of {over} hours {'is' if missing == 1 else 'are'} missing"
            yield Problem(record.day, message, remedy="sync", missing=True)
        if early:
            message = f"{early} of {over} hours {'was' if early == 1 else 'were'} open when pulled"
            yield Problem(record.day, message, remedy="sync", missing=True)

    def _compare_with_exports(
        self, client: "View", broken: Iterable[date | None]
    ) -> Iterator[Problem]:
        """Compare days that were over when they were pulled with a bulk export, event by event.

        Days in `broken` are left out. The disk must hold the file of at most `DAYS_PER_EXPORT`
        days, its events once more, and those of one hour twice.
        """
        days = {day for day in self._manifest.days() if self._manifest.day(day).is_settled}
        # Of days with a problem the export tells nothing new.
        days -= {*broken}
        hours, total = 0, sum(len(self._manifest.day(day).hours) for day in days)
        missing = set[str]()
        for job in _order_exports(client, runs_of_days(days)):
            with TemporaryDirectory(prefix="adanalytics-") as name:
                folder, export = Path(name), Path(name) / "export.csv"
                if len(job.wait().files) > 1:
                    export.mkdir()
                job.download(export)
                notify(self.observer.verified, HoursVerified(hours, total, deep=True))
                tables = EventTables(self._names, self._types)
                partition = HourPartition(folder, self._names, zone=self.contents.identity.zone)
                columns = set[str]()
                for file in sorted(export.iterdir()) if export.is_dir() else [export]:
                    for table in tables.from_file(file):
                        columns |= {*table.column_names}
                        partition.add(table)
                missing |= {name for name in tables.schema.names if columns and name not in columns}
                if self.contents.identity.zone != "UTC":
                    order, are_local = job.order, tables.has_local_times
                    partition.check_days(order.start, order.end, are_local=are_local)
                for day in days_between(job.order.start, job.order.end):
                    record = self._manifest.day(day)
                    files = record.data_files(self.contents.identity)
                    file_of = {hour: file for file in files for hour in file.hours}
                    for hour in record.by_hour:
                        exported = map(tables.widened, partition.pop(hour))
                        difference = self._difference(
                            hour, file_of.get(hour), exported, tables, folder, missing
                        )
                        if difference:
                            yield Problem(day, difference, hour.hour)
                        hours += 1
                        notify(self.observer.verified, HoursVerified(hours, total, deep=True))
        # That the service exports fewer fields, no pull can mend.
        reason = "which the export does not have"
        self._uncompared += [UncomparedFigure(name, reason) for name in sorted(missing)]

    def _difference(
        self,
        hour: Hour,
        file: DataFile | None,
        exported: Iterator[Table],
        tables: EventTables,
        folder: Path,
        missing: AbstractSet[str],
    ) -> str:
        """Describe how an hour differs from its export, whatever their order; empty if it agrees.

        The columns that are `missing` in the export are left out. Both are divided into groups by
        the ids of their events, and compared group by group.
        """
        events_held = self._held(hour, file, tables) if file else iter(())
        events = file.hours[hour].rows if file else 0
        # An hour may have more events than fit into memory, and the two sides have other orders.
        # Equal ids come into equal groups, so that a group of one side needs only that of the
        # other.
        groups, rows = 1 + events // EVENTS_COMPARED, Counter[str]()
        with TemporaryDirectory(dir=folder) as name:
            parts = Partition(Path(name))
            for side, whole in (("held", events_held), ("exported", exported)):
                for table in whole:
                    rows[side] += table.num_rows
                    shared = table.drop_columns([*missing & {*table.column_names}])
                    for group, part in split_by_id(shared, self._names, groups):
                        parts.put(f"{side}-{group}", part)
            if rows["held"] != rows["exported"]:
                return (
                    f"has {counted(rows['held'], 'event')}, but the export has {rows['exported']:,}"
                )
            names = [*tables.schema.names]
            differing = set()
            for group in range(groups if rows["held"] else 0):
                mine = self._sorted(parts.pop(f"held-{group}"), tables)
                theirs = self._sorted(parts.pop(f"exported-{group}"), tables)
                differing |= {name for name in names if not mine[name].equals(theirs[name])}
        names = [name for name in names if name in differing]
        return f"its events differ from the export: {', '.join(names)}" if names else ""

    def _held(self, hour: Hour, file: DataFile, tables: EventTables) -> Iterator[Table]:
        return self._reader.read(file.name, hour, tables)

    def _sorted(self, parts: Iterator[Table], tables: EventTables) -> Table:
        whole = pa.concat_tables([tables.schema.empty_table(), *map(tables.widened, parts)])
        whole = pa.table({name: comparable(whole[name]) for name in whole.column_names})
        return whole.sort_by([(name, "ascending") for name in whole.column_names])


def _order_exports(client: "View", runs: Sequence[tuple[date, date]]) -> Iterator["ExportJob"]:
    """Order exports of runs of days, and of fewer days each once the service has refused one."""
    ranges, order = Ranges(DAYS_PER_EXPORT), partial(client.start_export, format="csv")
    for begin, end in runs:
        yield from ranges.request(order, begin, end)


def _strays(names: Iterable[str], identity: Identity, manifest: Manifest) -> Iterator[Problem]:
    """Describe files under `data` that no record names; readers would take them for events.

    Readers of a table see only what it lists, and earlier versions of it list earlier files. A day
    whose manifest is damaged has no known files, so its files are left out.
    """
    damaged = tuple(map(identity.day_folder, manifest.damaged))
    for name in () if identity.table else sorted(names):
        if not name.startswith(damaged):
            yield Problem(None, f"{name} does not belong here; delete it", remedy="delete")
