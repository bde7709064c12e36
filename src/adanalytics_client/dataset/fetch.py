"""Pull queries: threads, kept pages, attempts, export orders, and the events sorted into hours.

Pages and export orders are kept in the spool until their hours are committed, so that a kill does
not cost them again. Nothing here knows what the dataset holds.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adanalytics_client._base.observer import PullPlanned
from adanalytics_client._base.quantities import counted
from adanalytics_client._call.session import Connection
from adanalytics_client._events.query import EventRequest, plan_pull
from adanalytics_client._exports.order import start_export
from adanalytics_client._exports.saved import read_saved
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client.dataset.days import ServiceDays
from adanalytics_client.dataset.layout import Hour, PartFormat
from adanalytics_client.dataset.partition import HourPartition, HourUnknown
from adanalytics_client.dataset.parts import FinishedHour, write_hour
from adanalytics_client.dataset.planning import ExpectedCounts, Query, events_of, requests_of
from adanalytics_client.dataset.report import FailedQuery
from adanalytics_client.dataset.spool import Spool, StoredPage
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.tables import EventTables, Table
from adanalytics_client.errors import (
    AdAnalyticsError,
    ConfigurationError,
    DownloadError,
    ExportError,
    ExportTimeout,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProtocolError,
    ServerError,
    TransportError,
)
from adanalytics_client.events import EventQuery
from adanalytics_client.jobs import ExportJob

EVENTS_PER_PAGE = 10_000
"""The most that the service sends at a time, for the fewest requests."""

AT_A_TIME = 2
"""Queries that run at a time; each holds some 60 MB and requests one page ahead."""

ATTEMPTS = 3
"""How often a query is started if its data change while it is paged."""

FAILURES_IN_A_ROW = 4
"""After this many failures in a row the service counts as unavailable."""

# The only format that the service documents.
_EXPORT_FORMAT = "csv"
# Errors that may affect one query and not others; a refused credential is not among them.
_OF_ONE_QUERY = (DownloadError, ExportError, ProtocolError, ServerError, TransportError)
# After these errors, another try with the same order would always fail.
_ORDER_LOST = (
    ConfigurationError,
    DownloadError,
    ExportError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProtocolError,
)


class _Drift(Exception):
    """The pages of a query do not hold all of its events; the text says how that shows."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """The result of a query.

    Attributes:
        hours: its wanted hours, in files that are not in place yet.
        spool: what is kept of it until its hours are committed.
    """

    hours: list[FinishedHour]
    spool: Spool


@dataclass
class Fetcher:
    """Pulls queries, two at a time.

    Unfinished files are in `folder`. An interruption closes the driver of the connection.
    """

    connection: Connection[SyncDriver]
    store: Store
    form: PartFormat
    folder: Path
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._tables = EventTables(with_texts=self.form == "jsonl")

    def pulled(
        self, queries: Iterable[Query], service: ServiceDays
    ) -> Generator[Pulled | FailedQuery, None, None]:
        """Yield the result of each query; one that fails does not affect the others.

        Pages that were kept while the service said something else are not used.

        Raises:
            AdAnalyticsError: for an error that affects more than one query, after the queries
                under way.
        """
        waiting, running = [*queries][::-1], dict[Future[Pulled], Query]()
        failures, stopped = 0, None
        with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="adanalytics-sync") as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < AT_A_TIME:
                        query = waiting.pop()
                        spool = _spool_of(query, service, self.store)
                        running[pool.submit(self._pull, spool)] = query
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        query = running.pop(future)
                        try:
                            pulled = future.result()
                        except HourUnknown:
                            # Events of an hour that is requested separately need not name it.
                            waiting += [Query.of_hour(hour) for hour in reversed(query.wanted)]
                        except _OF_ONE_QUERY as error:
                            kind, facts = type(error).__name__, error.facts
                            message = f"{error.message} {error.remedy}".rstrip()
                            yield FailedQuery(str(query), query.wanted, kind, message, facts)
                            failures += 1
                        except Exception as error:  # noqa: BLE001  # raised below
                            # Requests that other queries have already sent are not wasted.
                            stopped = stopped or error
                        else:
                            yield pulled
                            failures = 0
                    if stopped or failures >= FAILURES_IN_A_ROW:
                        waiting.clear()
            except BaseException:
                self.connection.driver.close()
                raise
        if stopped:
            raise stopped

    def _pull(self, spool: Spool) -> Pulled:
        """Pull one query; runs on its own thread."""
        if spool.query.way == "export":
            return self._pull_export(spool)
        problem = ""
        for attempt in range(ATTEMPTS):
            start = spool.start
            if start is None or attempt:
                start = spool.begin(self.now())
            try:
                return Pulled(self._partition_pages(spool, start.at), spool)
            except HourUnknown:
                spool.clear()
                raise
            except _Drift as drift:
                problem = f"{str(drift).rstrip('.')}."
        spool.clear()
        raise ProtocolError(
            f"The pages of {spool.query} did not fit together in {ATTEMPTS} attempts: {problem}"
        )

    def _pages(self, spool: Spool) -> Iterator[StoredPage]:
        """Yield every page in order; a new page is kept before it is yielded."""
        token = None
        for page in spool.pages():
            yield page
            if page.last:
                return
            token = page.token
        query = spool.query
        request: EventRequest[Any] = EventRequest(
            start=query.first,
            end=query.last,
            hour=query.hour,
            split="none",
            per_page=EVENTS_PER_PAGE,
            concurrency=1,
            resume=token,
            # Not left to the client: `_pull` also discards the kept pages and starts again.
            on_drift="warn",
        )
        asked = plan_pull(request, self.connection.session.config.partner)
        with closing(EventQuery(asked, self.connection).text_pages()) as fresh:
            try:
                for each in fresh:
                    if doubt := each.drift or each.partial:
                        raise _Drift(str(doubt))
                    page = StoredPage(each.number, each.jsonl, each.last, each.token, each.total)
                    spool.put(page)
                    token = page.token
                    yield page
            except ProtocolError as error:
                if token is None:
                    raise
                # The first page was good, so a fault of a later one may be temporary.
                raise _Drift(error.message) from error

    def _pull_export(self, spool: Spool) -> Pulled:
        """Continue the export that an earlier run ordered, or order one."""
        if start := spool.start:
            try:
                saved = read_saved(start.job).check(self.connection.session.config)
                job = ExportJob(saved, self.connection)
                return Pulled(self._partition_export(job, spool, start.at), spool)
            except _ORDER_LOST as error:
                # An export that is not done in a second run may never be.
                if not (_is_lost(error) or isinstance(error, ExportTimeout)):
                    raise
        at, query = self.now(), spool.query
        ordered = start_export(
            self.connection.session,
            query.first,
            query.last,
            file_format=_EXPORT_FORMAT,
            compression=None,
        )
        job = ExportJob(self.connection.driver.run(ordered), self.connection)
        spool.begin(at, job.to_json())
        try:
            return Pulled(self._partition_export(job, spool, at), spool)
        except _ORDER_LOST as error:
            if _is_lost(error):
                spool.clear()
            raise

    def _partition_pages(self, spool: Spool, asked_at: datetime) -> list[FinishedHour]:
        query, total = spool.query, None

        def tables() -> Iterator[Table]:
            nonlocal total
            for page in self._pages(spool):
                total = page.total
                yield self._tables.from_jsonl(page.jsonl)

        only = query.wanted[0] if query.hour is not None else None
        finished, rows = self._write_hours(query, tables(), asked_at, only)
        if total is not None and total != rows:
            raise _Drift(f"{counted(rows, 'event')} arrived where the service counts {total:,}")
        if repeated := sum(each.repeated for each in finished):
            raise _Drift(f"{counted(repeated, 'event')} arrived twice")
        return finished

    def _partition_export(
        self, job: ExportJob, spool: Spool, asked_at: datetime
    ) -> list[FinishedHour]:
        """Download the file and sort its events into hours.

        The disk must hold the file, its events once more as Arrow columns, and the hours; the
        memory what `HourPartition` holds.
        """
        query, folder = spool.query, spool.folder() or self.folder
        file = job.download(folder / f"{query}.{_EXPORT_FORMAT}")
        finished, rows = self._write_hours(query, self._tables.from_csv(file), asked_at)
        stated = job.last_status.row_count
        if stated is not None and stated != rows:
            raise ProtocolError(
                f"The export of {query} has {counted(rows, 'event')}, not {stated:,}."
            )
        if repeated := sum(each.repeated for each in finished):
            raise ProtocolError(f"The export of {query} holds {counted(repeated, 'event')} twice.")
        return finished

    def _write_hours(
        self, query: Query, tables: Iterator[Table], asked_at: datetime, only: Hour | None = None
    ) -> tuple[list[FinishedHour], int]:
        """Write the files of the wanted hours, and count the events of all hours."""
        with TemporaryDirectory(dir=self.folder) as scratch:
            partition = HourPartition(Path(scratch), only)
            for table in tables:
                partition.add(table)
            finished = [
                write_hour(hour, partition.take(hour), self.folder, self.form, asked_at)
                for hour in query.wanted
            ]
        return finished, partition.rows


def expected_counts(service: ServiceDays, whole: Collection[date] = ()) -> ExpectedCounts:
    """Return the counts for planning; `whole` are the days of which every hour is needed."""
    return ExpectedCounts(service.counts(), whole, EVENTS_PER_PAGE)


def forecast(queries: Collection[Query], service: ServiceDays, store: Store) -> PullPlanned:
    """Count requests, and events on pages, without the pages that an earlier run kept."""
    expected, requests, events = expected_counts(service), 0, 0
    for query in queries:
        kept, is_whole = 0, False
        for page in _spool_of(query, service, store).pages():
            kept, is_whole = page.number, page.last
        if not is_whole:
            requests += max(1, requests_of(query, expected) - kept)
            if query.way == "pages":
                events += max(0, events_of(query, expected) - kept * expected.page)
    return PullPlanned(len(queries), requests, events)


def _spool_of(query: Query, service: ServiceDays, store: Store) -> Spool:
    return Spool(store, query, service.basis(query.first, query.last))


def _is_lost(error: AdAnalyticsError) -> bool:
    """Return whether an export order cannot be continued."""
    if isinstance(error, DownloadError):
        return error.part is None
    return not isinstance(error, ExportTimeout)
