"""A dataset and its operations."""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from adanalytics_client import Observer, Period, ServiceProfile
from adanalytics_client._base.choices import PartFormat, Partition, TableFormat, Via
from adanalytics_client._base.dates import to_range
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._base.validation import check_choice, check_number, import_extra, invalid
from adanalytics_client._json.fields import EVENT_KINDS
from adanalytics_client._json.types import NULL
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.types import Check, Day

from .errors import DatasetDamaged, DatasetError, DatasetInUse, UnsuitablePlace
from .records.layout import DATA, OURS, Hour
from .records.manifest import LAYOUT_OF, Identity, Manifest
from .report import SyncPlan, SyncReport, VerifyReport
from .storage.local import Store, open_store

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from adanalytics_client import Client
    from adanalytics_client._view import View

    from .changes import DayChange
    from .runs import Run
    from .tasks.task import Part, Task
    from .update import Update


@dataclass(frozen=True, slots=True)
class Holdings:
    """The contents of a dataset, according to its manifest.

    Attributes:
        partner: the partner whose events the dataset holds.
        origin: the address of the service.
        format: the format of the files.
        hours: the number of hours pulled for each day; 0 for a day without events.
        damaged: days whose records cannot be read, each with the reason.
        last_hour: the beginning of the last hour with events, in the zone of the service; None
            without events.
        table: the format of the table; None for a dataset without a table.
        events: the number of events of each pulled hour, 0 to 23, of each day.
        partition: `day` if a settled day is one file, `hour` if each hour is one.
    """

    partner: str
    origin: str
    format: PartFormat
    hours: dict[date, int] = field(default_factory=dict)
    damaged: dict[date, str] = field(default_factory=dict)
    last_hour: datetime | None = None
    table: TableFormat | None = None
    events: dict[date, dict[int, int]] = field(default_factory=dict)
    partition: Partition = "hour"


class Dataset:
    """Files of events, in a folder or in object storage, that `sync` keeps up to date.

    `adanalytics sync` needs at most 300 MB of memory and `adanalytics verify` 600 MB, however many
    events per hour there are. Data that do not fit in memory are kept on disk.

    Nothing is read or written until a method is called. Only one process at a time can sync or
    verify a dataset. All methods block; in asyncio, call them with `await asyncio.to_thread(...)`.

    Args:
        place: a folder, or an fsspec address such as `s3://bucket/events`.
        format: `parquet` or `jsonl`. By default, an existing dataset keeps its format, and a
            new one uses parquet.
        table: `delta` or `iceberg`: also keep a table in this format that lists the parquet files,
            for query engines that read such tables. By default, a new dataset has no table, and an
            existing dataset keeps its table if it has one.
        table_name: the name of an Iceberg table, such as `ads.events`; by default
            `adanalytics.PARTNER`. An existing table keeps its name.
        catalog: a catalog of pyiceberg's configuration that has the Iceberg table; by default its
            default catalog or, if there is none, a file in the dataset.
        partition: `day` or `hour`. With `day`, the default of a new dataset in parquet, a day that
            is over and agrees with the service becomes one file unless it has more than a million
            events, and the hours of other days are a file each. With `hour`, as always in JSON
            lines, every hour is a file in a folder of its own. An existing dataset keeps its
            partition; `repartition` changes it.
        clock: a function that returns the time in UTC; by default the clock of the client.

    Attributes:
        place (str): the folder or address.
        report: the result of the last `sync`, available even if that sync raised an error.

    Raises:
        ConfigurationError: for an unknown format, for a table or files of days that are not
            parquet, or for a name or a catalog without an Iceberg table.

    Examples:
        >>> dataset = Dataset("events", format="parquet")
        >>> dataset.sync(client, "2026-01-15").events
        300
        >>> dataset.verify(client, until="2026-01-15").is_whole
        True
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        format: PartFormat | None = None,  # noqa: A002  # the word that users expect here
        table: TableFormat | None = None,
        table_name: str | None = None,
        catalog: str | None = None,
        partition: Partition | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        if format is not None:
            check_choice("format", format, PartFormat)
        if table is not None:
            check_choice("table", table, TableFormat)
            if format not in {None, "parquet"}:
                raise invalid("format", format, "A table lists parquet files.")
        # Refused rather than ignored: the caller expects a table under that name.
        if table == "delta" and (table_name, catalog) != (None, None):
            raise ConfigurationError(
                "A Delta table has neither a name nor a catalog: its folder is its address.",
                remedy="Leave them out, or make an Iceberg table.",
            )
        if table_name is not None and not all(["." in table_name, *table_name.split(".")]):
            raise ConfigurationError(
                f"{table_name!r} is not the name of a table.",
                remedy="Name a namespace and a table, such as ads.events.",
            )
        if partition is not None:
            check_choice("partition", partition, Partition)
            if partition == "day" and format not in {None, "parquet"}:
                raise invalid("partition", partition, "Only parquet files hold whole days.")
        self.place = os.fspath(place)
        self._format = format
        self._table = table
        self._table_name = table_name
        self._catalog = catalog
        self._partition = partition
        self._clock = clock
        self.report: SyncReport | None = None

    def __repr__(self) -> str:
        return f"Dataset({self.place!r})"

    def sync(
        self,
        client: "Client",
        start: Day | None = None,
        end: Day | None = None,
        *,
        via: Via = "auto",
        repull: int = 0,
        moved_from: str | None = None,
        workers: int = 1,
        check: Check = "auto",
        retain: str | timedelta | None = None,
    ) -> SyncReport:
        """Pull hours that are missing, were not over when they were pulled, or were restated.

        An hour's events become visible all at once or not at all. If a sync is stopped in any way,
        the next one continues it. Existing events are replaced only if the new totals of their day
        match the summary and, by `check`, the service's own count. The client's observer is
        notified of the plan, each wait, each page and the bytes received. If the observer raises an
        error, the sync finishes open requests, then stops.

        A sync that commits events of a day whose names it has not requested also requests the
        summaries by campaign and by demand tag, if the events have such ids. A failure of these two
        requests is only logged.

        Args:
            client: sends the requests; it must be for the dataset's partner and service.
            start: as for `Client.events`; the default is every day that the service lists.
            end: as for `Client.events`.
            via: `pages`, `export` for bulk exports, or `auto` for whichever is faster.
            repull: how many of the last days to pull again, even if their summary has not changed.
            moved_from: the former address of the service, if the dataset was pulled from there.
            workers: the number of processes that sort large exports into hours. With more than one,
                each process imports the main program, which therefore needs `if __name__ ==
                "__main__":`.
            check: whether to compare the pulled days that are over with the service's own count,
                which costs one request: `auto` and `always` do, `none` does not.
            retain: for how long earlier versions of the table stay readable, such as `12h` or
                `7d`, at least an hour. Files that only older versions need are removed, once a day
                at most. It is kept for later syncs. By default a new table has `1d`, and a table
                whose record is lost keeps everything.

        Returns:
            The hours that were committed, and the queries that failed.

        Raises:
            ConfigurationError: for a wrong argument, or when pyarrow is not installed.
            DatasetError: when the dataset is in use, belongs to another partner or service, or
                cannot be written; see the subclasses of this error.
            AdAnalyticsError: when the hours to pull cannot be determined, or a request is refused.

        Examples:
            >>> report = Dataset("events").sync(client, "2026-01", via="pages")
            >>> report.left, [failed.message for failed in report.failed]
            (0, [])
        """
        check_number("workers", workers, 1)
        check_choice("check", check, Check)
        _check_pull(via, repull)
        retained_hours = None if retain is None else _hours_in(retain)
        import_extra("pyarrow")
        from .sync import sync

        with self._open_update(client, start, end, moved_from) as update:
            if retained_hours is not None:
                update.contents.retain(retained_hours)
            sync(update, via=via, repull=repull, workers=workers, check=check)
            return update.report

    def tasks(
        self, client: "Client", start: Day | None = None, end: Day | None = None
    ) -> "list[Task]":
        """Plan a sync as a list of tasks that any process or machine can run without a credential.

        This starts one bulk export for each day that has hours to pull, and waits for all exports.
        Each exported file becomes one or more tasks; `commit` takes the parts that they return.
        Calling `tasks` again replaces the plan. If the service does not offer exports, use `sync`
        with `via="pages"`.

        Args:
            client: starts the exports; it must be for the dataset's partner and service.
            start: as for `sync`.
            end: as for `sync`.

        Returns:
            The tasks in the order of their days; an empty list for a dataset that is up to date.

        Raises:
            ConfigurationError, DatasetError: as for `sync`.
            AdAnalyticsError: as for `sync`, and when an export fails or takes longer than an hour.

        Examples:
            >>> tasks = Dataset("events").tasks(client, "2026-01-15", "2026-01-16")
            >>> [str(task.start.query) for task in tasks]
            ['2026-01-15', '2026-01-16']
        """
        import_extra("pyarrow")
        from .tasks.plan import plan_tasks

        with self._open_update(client, start, end) as update:
            return plan_tasks(update)

    def commit(self, client: "Client", parts: "Iterable[Part]") -> SyncReport:
        """Make the tasks' hours visible; existing events are replaced only if a day's totals match.

        Committing the same parts again changes nothing. Names, such as those of campaigns, are
        requested by `sync` only. If a day lacks parts or differs from the summary, the report's
        `failed` names the day and the command that completes it.

        Args:
            client: requests the summary and the list of days with data, and downloads a file again
                if it could not be read in sections.
            parts: what the tasks of the last plan returned, in any order; repeats are allowed.

        Raises:
            ConfigurationError: when pyarrow is not installed.
            DatasetError: as for `sync`, and for a part from a different plan.
            AdAnalyticsError: when the service refuses a request.

        Examples:
            >>> dataset = Dataset("events")
            >>> parts = [task.run() for task in dataset.tasks(client, "2026-01-15")]
            >>> dataset.commit(client, parts).left
            0
        """
        import_extra("pyarrow")
        from .commit import commit

        with self._open_update(client) as update:
            commit(update, [*parts])
            return update.report

    def plan(
        self,
        client: "Client",
        start: Day | None = None,
        end: Day | None = None,
        *,
        via: Via = "auto",
        repull: int = 0,
        moved_from: str | None = None,
        check: Check = "auto",
    ) -> SyncPlan:
        """Return what a sync would pull and what it would cost; nothing is pulled or written.

        Args:
            client: sends the requests for the days with data, for a summary by day, and for the
                number of events of days that this does not count.
            start: as for `sync`.
            end: as for `sync`.
            via: as for `sync`.
            repull: as for `sync`.
            moved_from: as for `sync`.
            check: as for `sync`.

        Raises:
            ConfigurationError, DatasetError, AdAnalyticsError: as for `sync`.

        Examples:
            >>> plan = Dataset("events").plan(client, "2026-01-15")
            >>> len(plan.hours), plan.events, plan.requests
            (24, 290, 6)
        """
        check_choice("check", check, Check)
        _check_pull(via, repull)
        import_extra("pyarrow")
        from .sync import plan

        with self._open_update(client, start, end, moved_from, dry=True) as update:
            return plan(update, via=via, repull=repull, check=check)

    @contextmanager
    def _open_update(
        self,
        client: "Client",
        start: Day | None = None,
        end: Day | None = None,
        moved_from: str | None = None,
        *,
        dry: bool = False,
    ) -> Iterator["Update"]:
        """Check the days, then the place, lock the dataset and read its records.

        With `dry`, nothing is written but the lock of an existing dataset.
        """
        from adanalytics_client._view import View

        from .records.contents import Contents
        from .records.recover import recover
        from .runs import recorded_run
        from .update import Update

        view = View(client)
        now = self._clock_of(view.service, view)
        span = _span(start, end, now)
        report = SyncReport(now().astimezone(UTC))
        if not dry:
            self.report = report
        store = open_store(self.place)
        _check_place(store)
        with nullcontext() if dry and Identity.read(store) is None else store.lock():
            contents = Contents.open(store, self._identity(view, store, moved_from))
            update = Update(view, contents, span, now, report)
            if dry:
                yield update
                return
            recover(contents)
            with recorded_run(store, report, now):
                try:
                    yield update
                except DatasetInUse:
                    raise
                except BaseException:
                    # The hours before it are committed. If this fails, too, the next sync does it.
                    with suppress(DatasetError):
                        contents.publish(now())
                    raise
                contents.publish(now())

    def verify(
        self,
        client: "Client | None",
        *,
        deep: bool = False,
        until: Day | None = None,
        observer: Observer | None = None,
    ) -> VerifyReport:
        """Check every file, id and hour, and compare each day with the service.

        The totals of a day are compared with the summary, and its number of events with the
        service's own count. The report names the figures that were compared, and those that could
        not be.

        Without a client, nothing is sent, and the dataset is compared only with its own records.

        The dataset is expected to hold every day that the service lists from the dataset's first
        day on, including days that a killed sync had only begun to pull. An hour that was last
        pulled before its end counts as missing once it is over.

        Args:
            client: sends the requests; with None, nothing is sent.
            deep: also compare every event with a bulk export; this needs a client.
            until: the last day that the dataset should hold. The default is the last day that is
                over, or the last day in the dataset if that is later.
            observer: receives the number of verified hours; by default the observer of the client.

        Returns:
            The number of hours and events, and the problems.

        Raises:
            ConfigurationError: for an invalid day, for `deep` without a client, or when pyarrow is
                not installed.
            DatasetError: when there is no dataset of this partner and service, or it is in use.
            AdAnalyticsError: when the service cannot be reached or refuses a request.

        Examples:
            >>> dataset = Dataset("events")
            >>> dataset.sync(client).events
            600
            >>> report = dataset.verify(client, deep=True)
            >>> report.is_whole, "revenue" in map(str, report.compared)
            (True, True)
        """
        import_extra("pyarrow")
        from adanalytics_client._view import View

        from .records.contents import Contents
        from .records.recover import recover
        from .verify import Verification

        if deep and client is None:
            raise ConfigurationError("deep compares with the service.", remedy="Pass a client.")
        store = open_store(self.place)
        identity = Identity.require(store)
        view = View(client) if client else None
        service = view.service if view else ServiceProfile(zone=identity.zone)
        now = self._clock_of(service, view)
        last = Period.parse(until, now().date()).last if until is not None else None
        # Also while it only reads: a sync would change files between two checks.
        with store.lock():
            contents = Contents.open(store, self._identity(view, store) if view else identity)
            recover(contents)
            observer = observer or (view.observer if view else Observer())
            return Verification(contents, now, last, observer).run(view, deep=deep)

    def repartition(self, partition: Partition) -> None:
        """Write the files of the dataset anew as files of days or of hours; nothing is sent.

        It goes day by day. If it is stopped, the next operation that writes goes on with it. A plan
        of `tasks` ends, because its parts would be files of the other kind.

        Args:
            partition: as for `Dataset`.

        Raises:
            ConfigurationError: for another partition, or when pyarrow is not installed.
            DatasetDamaged: when a file differs from its record; the error names it.
            DatasetError: when there is no dataset, it is in use, has a table, or is not in parquet.

        Examples:
            >>> dataset = Dataset("events", partition="hour")
            >>> dataset.sync(client, "2026-01-15").events
            300
            >>> dataset.repartition("day")
            >>> dataset.holdings().partition
            'day'
        """
        check_choice("partition", partition, Partition)
        import_extra("pyarrow")
        from .pull.spool import keep_started, list_started
        from .records.contents import Contents
        from .records.recover import recover
        from .records.repartition import repartition

        store = open_store(self.place)
        identity = Identity.require(store)
        if identity.table or identity.form != "parquet":
            raise DatasetError(
                f"The partition of {store.place} cannot change: its format is "
                f"{identity.table or identity.form}.",
                remedy="Make a new dataset with a sync.",
            )
        with store.lock():
            contents = Contents.open(store, identity)
            recover(contents)
            keep_started(
                # An export in progress has parts for files of the former kind.
                store,
                [start for start in list_started(store) if start.query.way == "pages"],
            )
            if damaged := repartition(contents, partition):
                raise DatasetDamaged(
                    f"{store.place}/{damaged[0]} is corrupt (checksum mismatch) or was deleted.",
                    remedy="Delete it, then sync its day twice: the first sync pulls its hours "
                    "again, and the second repartitions them.",
                )

    def changes(self, start: Day | None = None, end: Day | None = None) -> "list[DayChange]":
        """List how the totals of days changed when the service restated them; nothing is sent.

        A sync keeps the former totals of a day when it replaces events that had agreed with the
        service, the last 20 of each day.

        Args:
            start: as for `sync`; the default is every day of the dataset.
            end: as for `sync`.

        Returns:
            The changes in the order of their days, and for a day in the order of time.

        Raises:
            ConfigurationError: for an invalid day.
            DatasetError: when there is no dataset, or the records of a day cannot be read.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").restated
            []
            >>> Dataset("events").changes("2026-01-15")
            []
        """
        from .changes import changes_of

        store = open_store(self.place)
        identity = Identity.require(store)
        manifest, service = Manifest(store), ServiceProfile(zone=identity.zone)
        days = manifest.days()
        if span := _span(start, end, self._clock_of(service)):
            days = [day for day in days if span.first <= day <= span.last]
        changes = [change for day in manifest.records(days) for change in changes_of(day)]
        # Part of a history would pass for the whole one.
        for day, problem in manifest.damaged.items():
            raise DatasetDamaged(
                f"The manifest of {day} is damaged: {problem}.", remedy="Repair it with a sync."
            )
        return changes

    def runs(self) -> "list[Run]":
        """List the last 100 runs that pulled hours or failed, in their order; nothing is sent.

        A sync that finds nothing to do is not among them, and writes nothing.

        Raises:
            DatasetError: when there is no dataset, or its identity cannot be read.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").events
            300
            >>> [(run.hours, run.events, run.error) for run in Dataset("events").runs()]
            [(24, 300, '')]
        """
        from .runs import read_runs

        store = open_store(self.place)
        Identity.require(store)
        return read_runs(store)

    def holdings(self) -> Holdings | None:
        """Return the contents of the dataset, or None if there is no dataset; no request is sent.

        Raises:
            DatasetDamaged: when the file that identifies the dataset cannot be read.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").events
            300
            >>> Dataset("events").holdings().hours
            {datetime.date(2026, 1, 15): 24}
        """
        store = open_store(self.place)
        identity = Identity.read(store)
        if identity is None:
            return None
        manifest = Manifest(store)
        events = {
            record.day: {number: of_hour.rows for number, of_hour in record.hours.items()}
            for record in manifest.records(manifest.days())
        }
        hours = {day: len(counts) if any(counts.values()) else 0 for day, counts in events.items()}
        filled = [Hour(day, n) for day, counts in events.items() for n in counts if counts[n]]
        zone = ServiceProfile(zone=identity.zone).tzinfo()
        last = filled[-1].start.replace(tzinfo=zone) if filled else None
        return Holdings(
            identity.partner,
            identity.origin,
            identity.form,
            hours,
            manifest.damaged,
            last,
            identity.table,
            events,
            identity.partition,
        )

    @property
    def schema(self) -> "pa.Schema":
        """Return the Arrow columns of the events, of types that hold the values of all files.

        They are learned from the events, and only widen; files of earlier days keep the types that
        they were written with. A dataset without events has the documented columns. Each access
        reads two small files.

        Raises:
            ConfigurationError: when pyarrow is not installed.
            DatasetError: when there is no dataset, or its records cannot be read.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").events
            300
            >>> Dataset("events").schema.field("revenue").type
            Decimal128Type(decimal128(38, 9))
        """
        import_extra("pyarrow")
        from adanalytics_client._outputs.arrow.schema import arrow_schema

        from .schema import Schema

        store = open_store(self.place)
        identity = Identity.require(store)
        kind_of, types = identity.names.kind, Schema.read(store).union
        return arrow_schema(types or dict.fromkeys(EVENT_KINDS, NULL), kind_of, wide=True)

    def query(self, sql: str, *, memory: str = "1GB") -> "pa.Table":
        """Run one SELECT on the views of the dataset with DuckDB; nothing is sent or written.

        The `events` view has the columns of `schema`, plus `date`, `hour`, `partner` and, unless a
        field is called so, `currency`. Where another field has one of these names, ours gets an
        underscore in front. A filter on `date` or `hour` limits which files are read. `traffic` is
        `events` without the filtered ones, so that its figures agree with the summary; if no field
        says which events are filtered, both are the same. Both contain the hours that the
        dataset's manifest lists when the query starts. A table for each group of a summary with
        ids has the names that syncs learned: `campaigns` has `campaign_id`, `campaign_name` and
        `partner`.

        The rates of a summary are functions, such as `ecpm(revenue, impressions)`, which round as a
        summary does. Times are in UTC, and sums of money are exact. A division gives a float, or
        null where the divisor is zero.

        The query is read-only: it cannot access other files, load extensions, change settings or
        use the network. This protects only against mistakes: isolate the process for untrusted SQL.

        Args:
            sql: one SELECT, or what DuckDB treats as one: DESCRIBE, SUMMARIZE, FROM or PIVOT.
            memory: DuckDB's memory limit, such as `500MB` or `4GB`, not counting the returned
                table. Data that exceed this limit go to a temporary folder, which is removed after
                the query.

        Raises:
            ConfigurationError: when duckdb is not installed, or `memory` is not a size.
            QueryError: for SQL that DuckDB does not understand, or that is not a single SELECT.
            DatasetDamaged: when a file or record cannot be read; the error names it.
            DatasetError: when there is no dataset, or `memory` is not enough.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").events
            300
            >>> Dataset("events").query("SELECT count(*) AS n FROM events").to_pylist()
            [{'n': 300}]
        """
        arrow = import_extra("pyarrow", "sql")
        from .query.session import run_query

        with run_query(sql, [self.place], memory=memory) as result:
            return arrow.Table.from_batches(result.batches, result.schema)

    def to_duckdb(
        self, connection: "duckdb.DuckDBPyConnection | None" = None
    ) -> "duckdb.DuckDBPyRelation":
        """Return the events as a DuckDB relation, for joins or further steps in Python.

        The relation has the same columns as the `events` view in `query`, but the limits of `query`
        do not apply: the connection determines the memory limit, the time zone and the access to
        files. The relation keeps reading the files that were committed when it was made, until a
        sync replaces one of them.

        Args:
            connection: the connection to use; by default the one that `duckdb.sql` uses.

        Raises:
            ConfigurationError, DatasetError: as for `query`.

        Examples:
            >>> Dataset("events").sync(client, "2026-01-15").events
            300
            >>> events = Dataset("events").to_duckdb()
            >>> events.filter("hour < 12").aggregate("count(*) > 0").fetchall()
            [(True,)]
        """
        duckdb = import_extra("duckdb")
        import_extra("pyarrow", "sql")
        from .query.files import CommittedFiles
        from .query.views import select_events

        files = CommittedFiles.read(self.place)
        connection = connection or duckdb.default_connection()
        files.mount(connection)
        return connection.sql(select_events({self.place: files}))

    def _clock_of(
        self, service: ServiceProfile, view: "View | None" = None
    ) -> Callable[[], datetime]:
        """Return the clock in the time zone of the service: the dataset's own, or the client's."""
        if (clock := self._clock) is not None:
            return lambda: clock().astimezone(service.tzinfo())
        return view.now if view else lambda: service.now(time.time())

    def _identity(self, client: "View", store: Store, moved_from: str | None = None) -> Identity:
        """Return the identity of the dataset, which must be that of the client.

        A dataset that holds nothing yet may become that of another client.
        """
        former = BaseUrl.parse(moved_from) if moved_from is not None else None
        identity, base = Identity.read(store), BaseUrl.parse(client.base_url)
        form = self._format or (identity.form if identity and not self._table else "parquet")
        table = self._table or (identity.table if identity and form == identity.form else None)
        service, partner = client.service, client.partner
        # A dataset without a day and without a file has nothing that another identity would
        # falsify.
        days, names = Manifest(store).days(), store.sizes(DATA)
        own = Identity(
            partner or "",
            base.text,
            form,
            layout=LAYOUT_OF[self._partition_of(form, identity if days or names else None, names)],
            table=table,
            zone=service.zone,
            fields=service.fields,
            time_field=service.time_field,
            table_name=self._table_name or (identity.table_name if identity and table else None),
            catalog=self._catalog or (identity.catalog if identity and table else None),
        )
        if table != "iceberg" and (self._table_name or self._catalog):
            raise ConfigurationError(
                "Only an Iceberg table has a name and a catalog.", remedy=remedy("iceberg_only")
            )
        if identity is None or not (days or names):
            return own
        # Only the address that the dataset has may move: a wrong `moved_from` changes nothing.
        has_moved = former is not None and former.is_at(identity.origin)
        same_service = has_moved or base.is_at(identity.origin)
        # The order of the messages: a wrong partner explains all that follows.
        for option, mine, value in (
            ("partner", partner, identity.partner),
            ("service", base.text, base.text if same_service else identity.origin),
            ("format", own.format_text(), identity.format_text()),
            ("table", own.table_text, identity.table_text),
            ("partition", own.partition, identity.partition),
            ("zone", own.zone, identity.zone),
            ("field names", own.names, identity.names),
        ):
            if mine != value:
                raise DatasetError(
                    f"{store.place} is a dataset of {option} {value}, not {mine}.",
                    remedy=remedy(f"dataset_{option.partition(' ')[0]}"),
                )
        return own if has_moved else identity

    def _partition_of(
        self, form: PartFormat, identity: Identity | None, names: Collection[str]
    ) -> Partition:
        """Return the partition that is given, that of the dataset, or that of a new one."""
        if self._partition == "day" and form != "parquet":
            raise invalid("partition", "day", "Only parquet files hold whole days.")
        if self._partition or form != "parquet":
            return self._partition or "hour"
        if identity:
            return identity.partition
        # The record of it may have been lost.
        return "hour" if any("/hour=" in name for name in names) else "day"


def _span(start: Day | None, end: Day | None, now: Callable[[], datetime]) -> Period | None:
    if start is not None:
        return Period(*to_range(start, end, today=now().date()))
    if end is not None:
        raise ConfigurationError("end is given without start.", remedy="Pass start, too.")
    return None


_DURATION = re.compile(r"([0-9]{1,5})([hd])", re.ASCII)


def _hours_in(retain: str | timedelta) -> int:
    """Return a retention in whole hours."""
    match = _DURATION.fullmatch(retain) if isinstance(retain, str) else None
    hours = int(match[1]) * (24 if match[2] == "d" else 1) if match else 0
    if isinstance(retain, timedelta):
        hours = int(retain / timedelta(hours=1))
    if hours < 1:
        raise ConfigurationError(
            f"{retain!r} is not a retention.",
            remedy="Give hours or days, such as 12h or 7d, at least 1h and longer than any query, "
            "which needs the files of the version that it began with.",
        )
    return hours


def _check_pull(via: Via, repull: int) -> None:
    check_choice("via", via, Via)
    check_number("repull", repull, 0)


def _check_place(store: Store) -> None:
    """Check that a dataset exists or can be created there; nothing is written.

    Readers would take other files for events, and a sync removes parts that it did not commit.
    """
    names = store.names()
    # The root of a file system always has lost+found.
    strangers = sorted(name for name in names if name[0] != "." and name != "lost+found")
    if OURS in names or not strangers:
        return
    rest = f" and {len(strangers) - 1} more" if len(strangers) > 1 else ""
    raise UnsuitablePlace(
        f"{store.place} is not a dataset and holds {strangers[0]}{rest}.",
        remedy=f"Name a new or an empty folder, such as {store.place.rstrip('/')}/events",
    )
