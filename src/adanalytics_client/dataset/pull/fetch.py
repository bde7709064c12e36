"""Pull queries: threads, kept pages, attempts, export orders, and the events sorted into hours.

Pages and export orders are kept in the spool until their hours are committed, so that a kill does
not cost them again. Nothing here knows what the dataset holds.
"""

import threading
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from datetime import date, datetime
from functools import partial
from typing import NamedTuple

from adanalytics_client import errors
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import notify
from adanalytics_client._base.quantities import counted
from adanalytics_client.dataset.hours.events import EventTables, Table
from adanalytics_client.dataset.hours.files import write_hours
from adanalytics_client.dataset.hours.ids import Ids
from adanalytics_client.dataset.hours.sort import HourUnknown
from adanalytics_client.dataset.planning import ExpectedCounts, PullQuery, events_of, requests_of
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.dataset.records.manifest import FinishedHour
from adanalytics_client.dataset.report import FailedQuery
from adanalytics_client.dataset.service import ServiceDays
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.observers import HourWritten, PullPlanned
from adanalytics_client.types import Check

from .exports import OF_AN_EXPORT, REFUSED, ExportFetcher
from .spool import Spool, StoredPage

EVENTS_PER_PAGE = 10_000
"""The most that the service sends at a time, for the fewest requests."""

AT_A_TIME = 2
"""Queries that run at a time; each holds some 60 MB and requests one page ahead."""

ATTEMPTS = 3
"""How often a query is started if its data change while it is paged."""

FAILURES_IN_A_ROW = 4
"""After this many failures in a row the service counts as unavailable."""

# Errors that may affect one query and not others; a refused credential is not among them.
_OF_ONE_QUERY = (*OF_AN_EXPORT, errors.ServerError, errors.TransportError)


class _Drift(Exception):
    """The pages of a query do not hold all of its events; the text says how that shows."""


class Pulled(NamedTuple):
    """The result of a query.

    Attributes:
        hours: the wanted hours of the query, in files that have not been moved into place yet.
        spool: the pages or the export order of the query, kept until its hours are committed.
    """

    hours: list[FinishedHour]
    spool: Spool


class Fetcher(ExportFetcher):
    """Pulls queries by pages or exports, two at a time. An interruption closes the client."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # One thread at a time: the reader needs several times the memory of a page.
        self._reading = threading.Lock()

    def pulled(
        self,
        queries: Iterable[PullQuery],
        service: ServiceDays,
        instead: Callable[[PullQuery], list[PullQuery]] | None = None,
    ) -> Generator[Pulled | FailedQuery, None, None]:
        """Yield the result of each query; one that fails does not affect the others.

        Pages kept by an earlier run are not used if the summary of their days has changed since.
        `instead` returns the queries that replace an export that fails.

        Raises:
            AdAnalyticsError: for an error that affects more than one query; it is raised when the
                queries under way have ended.
        """
        waiting, running = [*queries][::-1], dict[Future[Pulled], PullQuery]()
        failures = 0
        stopped: Exception | None = None
        with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="adanalytics-sync") as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < AT_A_TIME:
                        query = waiting.pop()
                        spool = _spool_of(query, service, self.store)
                        is_empty = service.lacks(query.first, query.last)
                        pull = partial(self._pull, spool, is_empty=is_empty)
                        running[pool.submit(pull)] = query
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        query = running.pop(future)
                        try:
                            pulled = future.result()
                        except HourUnknown:
                            # Events of an hour that is requested separately need not name it.
                            waiting += [PullQuery.of_hour(hour) for hour in reversed(query.wanted)]
                        except (*_OF_ONE_QUERY, *REFUSED) as error:
                            if instead and query.way == "export":
                                text = "The export of %s failed, so pages follow: %s"
                                LOG.warning(text, query, error.message)
                                _spool_of(query, service, self.store).clear()
                                waiting += reversed(instead(query))
                            elif isinstance(error, REFUSED):
                                stopped = stopped or error
                            else:
                                yield FailedQuery(
                                    str(query),
                                    type(error).__name__,
                                    error.message,
                                    query.wanted,
                                    error.remedy,
                                    error.facts,
                                )
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
                self._pool.close()
                self.client.close()
                raise
        if stopped:
            raise stopped

    def _pull(self, spool: Spool, *, is_empty: bool) -> Pulled:
        """Pull one query; runs on its own thread.

        Days that the service seems to lack, and so `is_empty`, may be absent (404), too.
        """
        # An export is one moment of the service's data, in which nothing drifts.
        pull = self.pull_export if spool.query.way == "export" else self._pull_pages
        try:
            hours = pull(spool)
        except errors.NotFound:
            if not is_empty:
                raise
            tables = EventTables(self.identity.names, self.types)
            hours, _ = write_hours(spool.query, tables, (), self.folder, self.identity, self.now())
        pulled = Pulled(hours, spool)
        for finished in pulled.hours:
            report = HourWritten(str(finished.hour), finished.record.rows)
            notify(self.client.observer.written, report)
        return pulled

    def _pull_pages(self, spool: Spool) -> list[FinishedHour]:
        problem, per_page = "", 0
        for attempt in range(ATTEMPTS):
            start = spool.start
            if start is None or attempt:
                start = spool.begin(self.now(), per_page=per_page)
            try:
                return self._partition_pages(spool, start.at)
            except HourUnknown:
                spool.clear()
                raise
            except _Drift as drift:
                problem = f"{str(drift).rstrip('.')}."
                # An event that the service stores twice may be the last of a page and the first of
                # the next; smaller pages have both on one.
                first_page = next(spool.pages(), None)
                if first_page and not first_page.last:
                    per_page = first_page.jsonl.count(b"\n") - 1
        spool.clear()
        raise errors.ProtocolError(
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
        # A day that is over is compared with a count when all its hours are there.
        is_over = Hour(spool.query.last, 23).is_over(self.now())
        checks: tuple[Check, ...] = ("none", "auto") if is_over else ("auto",)
        for check in checks:
            try:
                for page in self._new_pages(spool, token, check):
                    token = page.token
                    yield page
            except (errors.InvalidRequest, errors.NotFound):
                # Some services refuse a page behind a full last one, which only a count can tell.
                if token is None or check == checks[-1]:
                    raise
            else:
                return

    def _new_pages(self, spool: Spool, token: str | None, check: Check) -> Iterator[StoredPage]:
        query = spool.query
        events = self.client.events(
            query.first,
            query.last,
            hour=query.hour,
            split="none",
            per_page=(spool.start and spool.start.per_page) or EVENTS_PER_PAGE,
            concurrency=1,
            resume=token,
            # Not left to the client: `_pull` also discards the kept pages and starts again.
            on_drift="warn",
            check=check,
        )
        with closing(events.text_pages()) as fresh:
            try:
                for page in fresh:
                    if doubt := page.drift or page.partial:
                        raise _Drift(str(doubt))
                    record = StoredPage(page.number, page.jsonl, page.last, page.token, page.total)
                    spool.put(record)
                    token = record.token
                    yield record
            except errors.ProtocolError as error:
                if token is None:
                    raise
                # The first page was good, so a fault of a later one may be temporary.
                raise _Drift(error.message) from error

    def _partition_pages(self, spool: Spool, asked_at: datetime) -> list[FinishedHour]:
        query, total, identity = spool.query, None, self.identity
        tables = EventTables(identity.names, self.types, with_texts=identity.form == "jsonl")

        def events() -> Iterator[Table]:
            nonlocal total
            for page in self._pages(spool):
                total = page.total
                # Arrow needs much memory to read a page, so one thread at a time.
                with self._reading:
                    table = tables.from_jsonl(page.jsonl)
                yield table

        finished, rows = write_hours(query, tables, events(), self.folder, identity, asked_at)
        if total is not None and total != rows:
            raise _Drift(f"{counted(rows, 'event')} arrived where the service counts {total:,}")
        # What one page has twice is twice in the service's data; pages that moved repeat events of
        # another one, which a run that goes on behind them does not know.
        if any(hour.record.repeated for hour in finished) and (moved := self._count_moved(spool)):
            raise _Drift(f"{counted(moved, 'event')} arrived twice")
        return finished

    def _count_moved(self, spool: Spool) -> int:
        """Return how many events came on another page once more."""
        names, copies = self.identity.names, 0
        tables = EventTables(names, self.types)

        def read() -> Iterator[Table]:
            return (tables.from_jsonl(page.jsonl) for page in spool.pages())

        with closing(Ids(names)) as ids:
            for table in read():
                ids.add(table)
                with closing(Ids(names)) as ids_of_page:
                    ids_of_page.add(table)
                    copies += ids_of_page.repeated(partial(iter, [table]), ids_of_page.shared())
            return ids.repeated(read, ids.shared()) - copies


def expected_counts(service: ServiceDays, whole: Collection[date] = ()) -> ExpectedCounts:
    """Return the counts for planning; `whole` lists the days of which every hour is needed."""
    page = min(EVENTS_PER_PAGE, service.page or EVENTS_PER_PAGE)
    counts = {day: events or service.usual for day, events in service.counts.items()}
    return ExpectedCounts(counts, whole, page, service.longest)


def forecast(queries: Collection[PullQuery], service: ServiceDays, store: Store) -> PullPlanned:
    """Estimate the requests, and the events on pages, except for pages that an earlier run kept."""
    counts, requests, events = expected_counts(service), 0, 0
    hours = sum(len(query.wanted) for query in queries)
    for query in queries:
        pages, is_whole = _pages_kept(query, service, store)
        if not is_whole:
            requests += max(1, requests_of(query, counts) - pages)
            if query.way == "pages":
                events += max(0, events_of(query, counts) - pages * counts.page)
    return PullPlanned(len(queries), requests, events, hours=hours)


def most_requests(
    queries: Collection[PullQuery],
    service: ServiceDays,
    store: Store,
    events: Mapping[date, int],
    events_by_day: Mapping[date, int],
) -> int:
    """Return the most requests that queries need, unless one has to be repeated.

    Args:
        events: the likely number of events of each day, filtered ones included.
        events_by_day: the number of events in the hours of each day that no query is for.
    """
    counts = expected_counts(service)._replace(counts=events)
    most, by_hour = 0, {}
    for query in queries:
        pages, is_whole = _pages_kept(query, service, store)
        if is_whole:
            continue
        if query.way == "export":
            most += requests_of(query, counts)
        elif query.hour is None:
            # A full page may be the last, which only one more request shows.
            most += max(1, events_of(query, counts) // counts.page + 1 - pages)
        else:
            most += 1
            # However the events are spread over the hours, no more pages of theirs are full.
            rest = events_by_day.get(query.first, 0)
            full = max(0, events.get(query.first, 0) - rest) // counts.page
            # The number of events of the day is an estimate, and so is the rest.
            by_hour[query.first] = full + bool(rest)
    return most + sum(by_hour.values())


def _pages_kept(query: PullQuery, service: ServiceDays, store: Store) -> tuple[int, bool]:
    """Count the pages that an earlier run kept; also return whether they are all."""
    pages, is_whole = 0, False
    for page in _spool_of(query, service, store).pages():
        pages, is_whole = page.number, page.last
    return pages, is_whole


def _spool_of(query: PullQuery, service: ServiceDays, store: Store) -> Spool:
    return Spool.open(store, query, service.basis(query.first, query.last))
