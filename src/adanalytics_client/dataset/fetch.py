"""Pull queries: threads, kept pages, attempts, export orders, and the events sorted into hours.

Pages and export orders are kept in the spool until their hours are committed, so that a kill does
not cost them again. Nothing here knows what the dataset holds.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adanalytics_client._base.quantities import counted
from adanalytics_client._call.connection import Connection
from adanalytics_client._events import EventRequest, plan_pull
from adanalytics_client._exports import read_saved, start_export
from adanalytics_client._io import SyncDriver
from adanalytics_client._quota import QuotaState
from adanalytics_client.dataset.days import ServiceDays, started_hours
from adanalytics_client.dataset.layout import Hour, PartFormat
from adanalytics_client.dataset.needs import Reason
from adanalytics_client.dataset.partition import HourPartition, HourUnknown
from adanalytics_client.dataset.parts import FinishedHour, write_hour
from adanalytics_client.dataset.planning import (
    ExpectedCounts,
    Query,
    Via,
    plan_queries,
    requests_of,
)
from adanalytics_client.dataset.report import FailedQuery
from adanalytics_client.dataset.spool import Page, Spool, Start, started_queries
from adanalytics_client.dataset.store import Store
from adanalytics_client.dataset.tables import EventTables
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
        asked_at: the moment before its first request, in UTC.
        spool: what is kept of it until its hours are committed.
    """

    hours: list[FinishedHour]
    asked_at: datetime
    spool: Spool


class Fetcher:
    """Pulls queries, two at a time.

    Args:
        connection: sends the requests; an interruption closes its driver.
        store: keeps pages and orders.
        form: the format of the hours.
        folder: for unfinished files.
        now: returns the current time in UTC.
    """

    def __init__(
        self,
        connection: Connection[SyncDriver],
        store: Store,
        form: PartFormat,
        folder: Path,
        now: Callable[[], datetime],
    ) -> None:
        self._connection = connection
        self._store = store
        self._form = form
        self._folder = folder
        self._now = now
        self._tables = EventTables(with_texts=form == "jsonl")

    def pulled(
        self, queries: Iterable[Query], service: ServiceDays
    ) -> Generator[Pulled | FailedQuery, None, None]:
        """Yield the result of each query; one that fails does not affect the others.

        Args:
            queries: the queries.
            service: pages that were kept while it said something else are not used.

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
                        spool = _spool_of(query, service, self._store)
                        running[pool.submit(self._pull, spool)] = query
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        query = running.pop(future)
                        try:
                            pulled = future.result()
                        except HourUnknown:
                            # Events of an hour that is requested separately need not name it.
                            waiting += [Query.of_hour(hour) for hour in reversed(query.wanted)]
                        except _OF_ONE_QUERY as error:
                            kind = type(error).__name__
                            yield FailedQuery(str(query), query.wanted, kind, str(error))
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
                self._connection.driver.close()
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
                start = spool.begin(self._now())
            try:
                return Pulled(self._partition_pages(spool), start.at, spool)
            except HourUnknown:
                spool.clear()
                raise
            except _Drift as drift:
                problem = f"{str(drift).rstrip('.')}."
        spool.clear()
        raise ProtocolError(
            f"The pages of {spool.query} did not fit together in {ATTEMPTS} attempts: {problem}"
        )

    def _pages(self, spool: Spool) -> Iterator[Page]:
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
        asked = plan_pull(request, self._connection.session.config.partner)
        with closing(EventQuery(asked, self._connection).text_pages()) as fresh:
            try:
                for each in fresh:
                    if doubt := each.drift or each.partial:
                        raise _Drift(str(doubt))
                    page = Page(each.number, each.jsonl, each.last, each.token, each.total)
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
                saved = read_saved(start.job).check(self._connection.session.config)
                job = ExportJob(saved, self._connection)
                return Pulled(self._partition_export(job, spool), start.at, spool)
            except _ORDER_LOST as error:
                # An export that is not done in a second run may never be.
                if not (_is_lost(error) or isinstance(error, ExportTimeout)):
                    raise
        at, query = self._now(), spool.query
        ordered = start_export(
            self._connection.session,
            query.first,
            query.last,
            file_format=_EXPORT_FORMAT,
            compression=None,
        )
        job = ExportJob(self._connection.driver.run(ordered), self._connection)
        spool.begin(at, job.to_json())
        try:
            return Pulled(self._partition_export(job, spool), at, spool)
        except _ORDER_LOST as error:
            if _is_lost(error):
                spool.clear()
            raise

    def _partition_pages(self, spool: Spool) -> list[FinishedHour]:
        query = spool.query
        only = query.wanted[0] if query.hour is not None else None
        with TemporaryDirectory(dir=self._folder) as scratch:
            partition, total = HourPartition(Path(scratch), only), None
            for page in self._pages(spool):
                total = page.total
                partition.add(self._tables.from_jsonl(page.jsonl))
            if total is not None and total != partition.rows:
                came = counted(partition.rows, "event")
                raise _Drift(f"{came} arrived where the service counts {total:,}")
            finished = self._finish(partition, query.wanted)
        if repeated := sum(each.repeated for each in finished):
            raise _Drift(f"{counted(repeated, 'event')} arrived twice")
        return finished

    def _partition_export(self, job: ExportJob, spool: Spool) -> list[FinishedHour]:
        """Download the file and sort its events into hours.

        The disk must hold the file, its events once more as Arrow columns, and the hours; the
        memory what `HourPartition` holds.
        """
        query, folder = spool.query, spool.folder() or self._folder
        file = job.download(folder / f"{query}.{_EXPORT_FORMAT}")
        with TemporaryDirectory(dir=self._folder) as scratch:
            partition = HourPartition(Path(scratch))
            for table in self._tables.from_csv(file):
                partition.add(table)
            stated = job.last_status.row_count
            if stated is not None and stated != partition.rows:
                raise ProtocolError(
                    f"The export of {query} has {counted(partition.rows, 'event')}, not {stated:,}."
                )
            finished = self._finish(partition, query.wanted)
        if repeated := sum(each.repeated for each in finished):
            raise ProtocolError(f"The export of {query} holds {counted(repeated, 'event')} twice.")
        return finished

    def _finish(self, partition: HourPartition, wanted: Iterable[Hour]) -> list[FinishedHour]:
        """Write the files of the wanted hours, and drop the other hours."""
        form, schema = self._form, self._tables.schema
        return [
            write_hour(hour, partition.take(hour), self._folder, form, schema) for hour in wanted
        ]


def list_queries(
    asked: Mapping[Hour, Reason],
    service: ServiceDays,
    store: Store,
    *,
    via: Via,
    quota: QuotaState,
    now: datetime,
    repull_began: datetime | None,
) -> list[Query]:
    """List the queries that an earlier run began, and new ones for the other hours.

    Args:
        asked: the needed hours, and why.
        service: what it says about their days.
        store: keeps the pages and orders of an earlier run.
        via: how hours may be pulled.
        quota: what is left of it.
        now: the current time, in UTC.
        repull_began: when the repull began that is under way.
    """

    def is_usable(start: Start) -> bool:
        forced = any(asked.get(hour) is Reason.FORCED for hour in start.query.wanted)
        too_old = forced and repull_began and start.at < repull_began
        return start.basis == service.basis(start.query.first, start.query.last) and not too_old

    started, rest = [], dict(asked)
    for query in started_queries(store, is_usable):
        limited = query.limited_to(rest)
        if limited.wanted:
            started.append(limited)
            for hour in limited.wanted:
                del rest[hour]
    whole = {
        day
        for day in {hour.day for hour in rest}
        if all(hour in rest for hour in started_hours(service.state(day), now))
    }
    expected = ExpectedCounts(service.counts(), whole, EVENTS_PER_PAGE)
    return started + plan_queries(rest, expected, via=via, quota=quota)


def price_of(queries: Iterable[Query], service: ServiceDays, store: Store) -> int:
    """Count the requests of queries, without the pages that an earlier run kept."""
    expected, requests = ExpectedCounts(service.counts(), (), EVENTS_PER_PAGE), 0
    for query in queries:
        kept, is_whole = 0, False
        for page in _spool_of(query, service, store).pages():
            kept, is_whole = page.number, page.last
        requests += 0 if is_whole else max(1, requests_of(query, expected) - kept)
    return requests


def _spool_of(query: Query, service: ServiceDays, store: Store) -> Spool:
    return Spool(store, query, service.basis(query.first, query.last))


def _is_lost(error: AdAnalyticsError) -> bool:
    """Return whether an export order cannot be continued."""
    if isinstance(error, DownloadError):
        return error.part is None
    return not isinstance(error, ExportTimeout)
