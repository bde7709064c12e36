"""One sync from top to bottom: plan, fetch, partition, commit, compare, report.

1. Plan: two requests show which hours are missing, were open when they were pulled, or belong to a
day that was restated; `planning` turns them into queries.
2. Fetch: two queries at a time. Pages and export orders are kept in the spool until their hours are
   committed, so that a kill does not cost them again.
3. Partition: the events are sorted into hours, and each hour is written to a temporary file.
4. Commit: an hour that holds no events yet gets its file at once. If it already holds events, the
new file waits until the day is complete.
5. Compare: the events of a complete day, held and new, must add up to the summary. Only then are
held events replaced. A day that does not add up is pulled again, once, with a new summary; then it
is reported, and the next sync begins with it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from adanalytics_client._base.dates import Period, days_between
from adanalytics_client._base.quantities import counted
from adanalytics_client._call.connection import Connection
from adanalytics_client._events import EventRequest, plan_pull
from adanalytics_client._exports import read_saved, start_export
from adanalytics_client._io import SyncDriver
from adanalytics_client.dataset.contents import Contents
from adanalytics_client.dataset.days import (
    DayNeed,
    DayState,
    Reason,
    ServiceDays,
    find_need,
    started_hours,
)
from adanalytics_client.dataset.layout import REPORTS, REPULL, Hour, hours_of
from adanalytics_client.dataset.manifest import (
    UNCONFIRMED,
    Damaged,
    DayRecord,
    HourRecord,
    Identity,
    seal,
    unseal,
)
from adanalytics_client.dataset.partition import HourPartition, HourUnknown
from adanalytics_client.dataset.parts import FinishedHour, write_hour
from adanalytics_client.dataset.planning import Outlook, Query, Via, plan_queries, requests_of
from adanalytics_client.dataset.report import FailedQuery, SyncPlan, SyncReport
from adanalytics_client.dataset.spool import Page, Spool, Start, started_queries
from adanalytics_client.dataset.tables import EventTables
from adanalytics_client.dataset.totals import Totals, events_in
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

REPULL_LASTS = timedelta(days=1)
"""How long a stopped repull is continued; later, the same arguments begin a new one."""

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
class _Pulled:
    """The result of a query: its hours, the time of its request, and its spool."""

    hours: list[FinishedHour]
    asked_at: datetime
    spool: Spool


class Sync:
    """Brings a dataset up to date.

    Args:
        connection: sends the requests; an error closes its driver.
        contents: the dataset; its lock is held.
        identity: recorded once the service has answered.
        span: the days, or None for all that the service lists.
        via: how hours may be pulled.
        repull: how many of the last days to pull in any case.
        now: returns the current time in UTC.
        expect: called with the number of queries before they are sent.
        report: filled during the run, so that it is available even when the run is stopped.
    """

    def __init__(
        self,
        connection: Connection[SyncDriver],
        contents: Contents,
        identity: Identity,
        *,
        span: Period | None,
        via: Via,
        repull: int,
        now: Callable[[], datetime],
        expect: Callable[[int], None],
        report: SyncReport,
    ) -> None:
        self._connection = connection
        self._contents = contents
        self._identity = identity
        self._span = span
        self._via: Via = via
        self._repull = repull
        self._now = now
        self._expect = expect
        self._report = report
        self._tables = EventTables(with_texts=contents.form == "jsonl")
        # The state of the service, and the folder for unfinished files: set by `run`.
        self._service: ServiceDays
        self._folder: Path
        self._repull_began: datetime | None = None
        self._wanted: set[Hour] = set()
        # The number of requested hours of each day that have not arrived.
        self._open: Counter[date] = Counter()
        # Finished hours that wait for the rest of their day, because they replace held events.
        self._waiting: dict[Hour, tuple[FinishedHour, datetime]] = {}
        self._spools: list[tuple[Query, Spool]] = []
        # Complete days that do not add up to the summary, and how that shows.
        self._differing: dict[date, str] = {}

    def run(self) -> None:
        """Pull missing and changed hours, and commit them.

        Raises:
            AdAnalyticsError: for an error that affects more than one query, and any error that an
                observer raises to end the run. Hours committed before stay.
        """
        needs = self._find_needs()
        if not needs:
            return
        self._report.wanted = 0
        if self._contents.is_readable and not any(map(_asks_for_work, needs.values())):
            self._end_repull()
            return
        with self._contents.writing() as self._folder:
            now = self._now()
            for day, need in needs.items():
                self._contents.note_empty(need.empty, now, self._service.state(day).fingerprint)
            self._contents.keep_readable(Hour(min(needs), 0))

            self._fetch(_asked(needs))
            for day, need in needs.items():
                if need.doubtful and not need.asked:
                    self._compare(day)
            # The change may be in hours that had seemed unchanged.
            doubtful = [hour for day in sorted(self._differing) for hour in needs[day].doubtful]
            self._fetch(dict.fromkeys(doubtful, Reason.RESTATED))
            if self._differing:
                self._ask_again({hour.day for hour in doubtful})
            for day, difference in sorted(self._differing.items()):
                self._reject(day, difference)
            if not self._report.left:
                self._end_repull()
                # A kill may have left pages that no hour needs any more.
                started_queries(self._contents.store, lambda _start: False)
            self._write_report()

    def plan(self) -> SyncPlan:
        """Find the needed hours, as `run` does, and price them; nothing is pulled."""
        asked = _asked(self._find_needs())
        queries, counts = self._queries(asked), self._counts()
        return SyncPlan(
            {hour: why.value for hour, why in asked.items()},
            sum(counts.get(hour.day, 0) for hour in asked) // 24,
            sum(self._price(query, Outlook(counts, (), EVENTS_PER_PAGE)) for query in queries),
            sum(query.way == "export" for query in queries),
            self._report.damaged,
        )

    # 1. Plan

    def _find_needs(self) -> dict[date, DayNeed]:
        """Ask the service for its days, and compare each with the dataset; empty without any."""
        self._service = self._ask_service()
        self._write_identity()
        if self._service.lists_nothing and not self._contents.manifest.days():
            self._service = self._ask_service()
        if (span := self._service.span) is None:
            return {}
        days = list(days_between(span.first, span.last))
        self._find_damage(days)
        forced = self._begin_repull(days[-self._repull :] if self._repull else [])
        needs = self._plan(days, forced)
        if any(self._lacks_answer(day) for day, need in needs.items() if need.asked):
            self._service = self._ask_service()
            needs = self._plan(days, forced)
        return needs

    def _write_identity(self) -> None:
        """Record whose dataset this is; before a good answer, that may be a mistake."""
        store = self._contents.store
        if Identity.read(store) != self._identity:
            # Pages of another service or partner.
            started_queries(store, lambda _start: False)
            self._identity.write(store)

    def _ask_service(self) -> ServiceDays:
        return ServiceDays(self._connection, self._span, self._contents.manifest.days())

    def _find_damage(self, days: list[date]) -> None:
        contents = self._contents
        self._report.damaged += contents.find_damage(h for day in days for h in hours_of(day))
        damaged = contents.manifest.damaged.items()
        self._report.damaged += [f"the manifest of {day}: {problem}" for day, problem in damaged]

    def _plan(self, days: list[date], forced: set[Hour]) -> dict[date, DayNeed]:
        """Compare each day with what the service says about it."""
        held, state, now = self._contents.manifest.day, self._service.state, self._now()
        return {day: find_need(held(day), state(day), now, force=forced) for day in days}

    def _lacks_answer(self, day: date) -> bool:
        """Return whether events are held of a day that the service says nothing about."""
        state = self._service.state(day)
        silent = not state.has_data or not state.figures
        return silent and bool(self._contents.manifest.day(day).rows)

    def _begin_repull(self, days: list[date]) -> set[Hour]:
        """Record a repull, and return its hours, without those that a stopped one completed."""
        if not days:
            return set()
        store, now = self._contents.store, self._now()
        order = {"first": str(days[0]), "last": str(days[-1])}
        state = self._service.state
        hours = {hour for day in days for hour in started_hours(state(day), now)}
        try:
            note = unseal(store.read(REPULL) or b"")
            began = datetime.fromisoformat(note.pop("since"))
        except (Damaged, KeyError, TypeError, ValueError):
            note, began = {}, now
        if note == order and now - began < REPULL_LASTS:
            self._repull_began = began
            held = self._contents.manifest.record
            return {hour for hour in hours if (of := held(hour)) is None or of.asked_at < began}
        self._repull_began = now
        store.write(REPULL, seal({**order, "since": now.isoformat()}))
        return hours

    def _end_repull(self) -> None:
        if self._repull_began is not None:
            self._contents.store.remove(REPULL)

    def _queries(self, asked: Mapping[Hour, Reason]) -> list[Query]:
        """List the queries that an earlier run began, and new ones for the other hours."""

        def is_usable(start: Start) -> bool:
            forced = any(asked.get(hour) is Reason.FORCED for hour in start.query.wanted)
            too_old = forced and self._repull_began and start.at < self._repull_began
            return start.basis == self._basis(start.query) and not too_old

        started, rest = [], dict(asked)
        for query in started_queries(self._contents.store, is_usable):
            limited = query.limited_to(rest)
            if limited.wanted:
                started.append(limited)
                for hour in limited.wanted:
                    del rest[hour]
        now = self._now()
        whole = {
            day
            for day in {hour.day for hour in rest}
            if all(hour in rest for hour in started_hours(self._service.state(day), now))
        }
        outlook = Outlook(self._counts(), whole, EVENTS_PER_PAGE)
        quota = self._connection.driver.atomic(self._connection.session.quota_state)
        return started + plan_queries(rest, outlook, via=self._via, quota=quota)

    def _counts(self) -> dict[date, int]:
        return {day: events_in(state.figures) for day, state in self._service.days.items()}

    def _price(self, query: Query, outlook: Outlook) -> int:
        """Count the requests of a query, without the pages that an earlier run kept."""
        kept = 0
        for page in Spool(self._contents.store, query, self._basis(query)).pages():
            if page.last:
                return 0
            kept = page.number
        return max(1, requests_of(query, outlook) - kept)

    def _basis(self, query: Query) -> str:
        days = days_between(query.first, query.last)
        texts = " ".join(self._service.state(day).fingerprint for day in days)
        return hashlib.sha256(texts.encode()).hexdigest()

    # 2. Fetch

    def _fetch(self, asked: Mapping[Hour, Reason]) -> None:
        """Pull hours; a query that fails is recorded and does not affect the others."""
        if not asked:
            return
        self._wanted.update(asked)
        self._report.wanted = len(self._wanted)
        self._open.update(hour.day for hour in asked)
        queries = self._queries(asked)
        self._expect(len(queries))
        waiting, running = queries[::-1], dict[Future[_Pulled], Query]()
        failures, stopped = 0, None
        with ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="adanalytics-sync") as pool:
            try:
                while waiting or running:
                    while waiting and len(running) < AT_A_TIME:
                        query = waiting.pop()
                        running[pool.submit(self._pull, query)] = query
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        query = running.pop(future)
                        try:
                            pulled = future.result()
                        except HourUnknown:
                            # Events of an hour that is requested separately need not name it.
                            waiting += [Query.of_hour(hour) for hour in reversed(query.wanted)]
                        except _OF_ONE_QUERY as error:
                            self._fail(query, error)
                            failures += 1
                        except Exception as error:  # noqa: BLE001  # raised below
                            # Requests that other queries have already sent are not wasted.
                            stopped = stopped or error
                        else:
                            self._commit(query, pulled)
                            failures = 0
                    if stopped or failures >= FAILURES_IN_A_ROW:
                        waiting.clear()
            except BaseException:
                self._connection.driver.close()
                raise
        if stopped:
            raise stopped

    def _pull(self, query: Query) -> _Pulled:
        """Pull one query; runs on its own thread and commits nothing."""
        spool = Spool(self._contents.store, query, self._basis(query))
        if query.way == "export":
            return self._pull_export(query, spool)
        problem = ""
        for attempt in range(ATTEMPTS):
            start = spool.start
            if start is None or attempt:
                start = spool.begin(self._now())
            try:
                return _Pulled(self._partition_pages(query, spool), start.at, spool)
            except HourUnknown:
                spool.clear()
                raise
            except _Drift as drift:
                problem = f"{str(drift).rstrip('.')}."
        spool.clear()
        raise ProtocolError(
            f"The pages of {query} did not fit together in {ATTEMPTS} attempts: {problem}"
        )

    def _pages(self, query: Query, spool: Spool) -> Iterator[Page]:
        """Yield every page in order; a new page is kept before it is yielded."""
        token = None
        for page in spool.pages():
            yield page
            if page.last:
                return
            token = page.token
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
            for each in fresh:
                if doubt := each.drift or each.partial:
                    raise _Drift(str(doubt))
                page = Page(each.number, each.jsonl, each.last, each.token, each.total)
                spool.put(page)
                yield page

    def _pull_export(self, query: Query, spool: Spool) -> _Pulled:
        """Continue the export that an earlier run ordered, or order one."""
        if start := spool.start:
            try:
                saved = read_saved(start.job).check(self._connection.session.config)
                job = ExportJob(saved, self._connection)
                return _Pulled(self._partition_export(query, job, spool), start.at, spool)
            except _ORDER_LOST as error:
                # An export that is not done in a second run may never be.
                if not (_is_lost(error) or isinstance(error, ExportTimeout)):
                    raise
        at = self._now()
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
            return _Pulled(self._partition_export(query, job, spool), at, spool)
        except _ORDER_LOST as error:
            if _is_lost(error):
                spool.clear()
            raise

    # 3. Partition

    def _partition_pages(self, query: Query, spool: Spool) -> list[FinishedHour]:
        only = query.wanted[0] if query.hour is not None else None
        with TemporaryDirectory(dir=self._folder) as scratch:
            partition, number, total = HourPartition(Path(scratch), only), 0, None
            try:
                for page in self._pages(query, spool):
                    number, total = page.number, page.total
                    partition.add(self._tables.from_jsonl(page.jsonl))
            except HourUnknown:
                raise
            except ProtocolError as error:
                if not number:
                    raise
                # The first page was good, so a fault of a later one may be temporary.
                raise _Drift(error.message) from error
            if total is not None and total != partition.rows:
                came = counted(partition.rows, "event")
                raise _Drift(f"{came} arrived where the service counts {total:,}")
            finished = self._finish(partition, query.wanted)
        if repeated := sum(each.repeated for each in finished):
            raise _Drift(f"{counted(repeated, 'event')} arrived twice")
        return finished

    def _partition_export(self, query: Query, job: ExportJob, spool: Spool) -> list[FinishedHour]:
        """Download the file and sort its events into hours.

        The disk must hold the file, its events once more as Arrow columns, and the hours; the
        memory what `HourPartition` holds.
        """
        folder = spool.folder() or self._folder
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
        form, schema = self._contents.form, self._tables.schema
        return [
            write_hour(hour, partition.take(hour), self._folder, form, schema) for hour in wanted
        ]

    # 4. Commit

    def _commit(self, query: Query, pulled: _Pulled) -> None:
        """Commit hours that replace no events; the others wait for the rest of their day."""
        self._spools.append((query, pulled.spool))
        for finished in pulled.hours:
            hour = finished.hour
            self._open[hour.day] -= 1
            held = self._contents.manifest.record(hour)
            if held is not None and held.rows:
                self._waiting[hour] = (finished, pulled.asked_at)
            else:
                self._contents.commit(finished, pulled.asked_at, UNCONFIRMED)
                self._report.hours[hour] = finished.rows
        for day in sorted({hour.day for hour in query.wanted}):
            if not self._open[day]:
                self._compare(day)
        self._clear_spools()

    def _clear_spools(self) -> None:
        """Remove the kept pages of queries whose hours are committed or rejected."""
        done = [each for each in self._spools if not self._waiting.keys() & {*each[0].wanted}]
        for each in done:
            self._spools.remove(each)
            each[1].clear()

    # 5. Compare

    def _compare(self, day: date) -> None:
        """Compare a complete day with the summary; if it adds up, commit its waiting hours."""
        self._differing.pop(day, None)
        state, held = self._service.state(day), self._contents.manifest.day(day)
        waiting = {hour: each for hour, each in self._waiting.items() if hour.day == day}
        record = self._complete_record(day)
        if record.is_settled:
            difference = _difference_of(record.totals, record.rows, state)
            confirmed = list(hours_of(day))
        else:
            # The summary of a day that is not over is older than the responses to come: it may
            # state fewer events than there are. Hours that have not started may have some, too.
            shrunk = [
                hour
                for hour, (finished, _) in waiting.items()
                if finished.rows < held.hours[hour.hour].rows
            ]
            empty = self._contradicted_hours(day)
            difference = f"{empty[0]} has no events, and the day lacks some" if empty else ""
            if shrunk:
                difference = f"{shrunk[0]} has fewer events than before"
            confirmed = [h for h in hours_of(day) if _is_unconfirmed(record.hours.get(h.hour))]
        if difference:
            self._differing[day] = difference
            return
        for hour, (finished, asked_at) in waiting.items():
            self._contents.commit(finished, asked_at, state.fingerprint)
            self._report.hours[hour] = finished.rows
            del self._waiting[hour]
        self._contents.mark(confirmed, state.fingerprint)
        self._contents.save([day])

    def _ask_again(self, asked_twice: set[date]) -> None:
        """Compare days with a new summary, and pull those that still differ once more."""
        self._service = self._ask_service()
        for day in [*self._differing]:
            self._compare(day)
        again = self._differing.keys() - asked_twice
        hours = [hour for day in sorted(again) for hour in self._hours_again(day)]
        for hour in hours:
            self._waiting.pop(hour, None)
        self._clear_spools()
        self._fetch(dict.fromkeys(hours, Reason.RESTATED))

    def _hours_again(self, day: date) -> list[Hour]:
        """List the hours to pull again: all of a day that is over, otherwise the doubtful ones."""
        if self._complete_record(day).is_settled:
            return [*hours_of(day)]
        waiting = {hour for hour in self._waiting if hour.day == day}
        return sorted(waiting.union(self._contradicted_hours(day)))

    def _contradicted_hours(self, day: date) -> list[Hour]:
        """List the hours without events, if the day has fewer events than the summary states."""
        record, stated = self._complete_record(day), events_in(self._service.state(day).figures)
        found = events_in(record.totals.counts) if record.totals else record.rows
        empty = [hour for hour, of in record.hours.items() if not of.rows]
        return [Hour(day, hour) for hour in empty] if found < stated else []

    def _complete_record(self, day: date) -> DayRecord:
        """Return the record that a day would have with its waiting hours committed."""
        waiting = {hour: _record_of(*each) for hour, each in self._waiting.items()}
        return self._contents.manifest.day(day).updated(waiting)

    def _reject(self, day: date, difference: str) -> None:
        """Keep the events held before, report the day, and let the next sync begin with it."""
        rejected = [hour for hour in self._wanted if hour.day == day]
        for hour in rejected:
            self._waiting.pop(hour, None)
            self._report.hours.pop(hour, None)
        self._clear_spools()
        self._contents.mark(hours_of(day), UNCONFIRMED)
        message = f"The events of {day} do not agree with the service: {difference}."
        self._report.failed.append(
            FailedQuery(str(day), tuple(sorted(rejected)), ProtocolError.__name__, message)
        )

    # 6. Report

    def _fail(self, query: Query, error: AdAnalyticsError) -> None:
        self._report.failed.append(
            FailedQuery(str(query), query.wanted, type(error).__name__, str(error))
        )

    def _write_report(self) -> None:
        report, store = self._report, self._contents.store
        if not report.failed:
            return
        report.file = f"{REPORTS}/{report.began:%Y%m%dT%H%M%SZ}.json"
        content = {
            "at": report.began.isoformat(),
            "bad": [each.as_json() for each in report.failed],
        }
        store.write(report.file, json.dumps(content, indent=2).encode() + b"\n")


def _asked(needs: Mapping[date, DayNeed]) -> dict[Hour, Reason]:
    return {hour: why for need in needs.values() for hour, why in need.asked.items()}


def _asks_for_work(need: DayNeed) -> bool:
    return bool(need.asked or need.empty or need.doubtful)


def _is_lost(error: AdAnalyticsError) -> bool:
    """Return whether an export order cannot be continued."""
    if isinstance(error, DownloadError):
        return error.part is None
    return not isinstance(error, ExportTimeout)


def _is_unconfirmed(record: HourRecord | None) -> bool:
    return record is not None and record.fingerprint == UNCONFIRMED


def _record_of(finished: FinishedHour, asked_at: datetime) -> HourRecord:
    return HourRecord(
        finished.rows, finished.size, finished.sha256, asked_at, UNCONFIRMED, finished.totals
    )


def _difference_of(totals: Totals | None, rows: int, state: DayState) -> str:
    """Describe how the events of a day differ from its summary; empty when they agree."""
    if totals is not None:
        found = totals.differences(state.figures)
        return f"{found[0]}, and {len(found) - 1} more" if len(found) > 1 else "".join(found)
    # The events lack the fields that the summary counts, but their number is a lower bound.
    stated = events_in(state.figures)
    return f"{counted(rows, 'event')} instead of {stated:,}" if rows < stated else ""
