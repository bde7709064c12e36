"""One sync from top to bottom: needs, fetch, staging, report.

1. Needs: two requests show which hours are missing, were open when they were pulled, or belong to a
   day that was restated (`needs`); `planning` turns them into queries.
2. Fetch: the queries are pulled, two at a time, and their events sorted into hours (`fetch`).
3. Staging: hours are committed, those that replace events only with a day that adds up (`staging`):
   to the summary and, if it is over, to the service's own count. A day that does not is pulled once
   more with a new summary; then it is reported, and the next sync begins with it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path

from adanalytics_client._base.dates import Period
from adanalytics_client._base.observer import notify
from adanalytics_client._call.session import Connection
from adanalytics_client._events.check import Check
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client.dataset.needs import DayNeed, Needs, Reason, end_repull, find_needs
from adanalytics_client.dataset.planning import Query, Via, plan_queries
from adanalytics_client.dataset.pull.fetch import Fetcher, Pulled, expected_counts, forecast
from adanalytics_client.dataset.pull.spool import Spool, Start, list_started
from adanalytics_client.dataset.records.contents import Contents
from adanalytics_client.dataset.records.layout import IDENTITY, Hour
from adanalytics_client.dataset.records.manifest import Identity, seal
from adanalytics_client.dataset.report import FailedQuery, SyncPlan, SyncReport, write_report
from adanalytics_client.dataset.service import ServiceDays, count_days, count_started
from adanalytics_client.dataset.staging import Staging
from adanalytics_client.dataset.tasks.delivered import Delivered
from adanalytics_client.dataset.tasks.plan import plan_tasks
from adanalytics_client.dataset.tasks.task import Part, Task


@dataclass(frozen=True, slots=True)
class Sync:
    """Brings a dataset up to date.

    The caller holds the lock of the dataset. If the run is interrupted, the driver of the
    connection is closed. The report is filled during the run, so that it is available even when the
    run is stopped.

    Attributes:
        span: the days, or None for all that the service lists.
        repull: how many of the last days to pull again, even if they have not changed.
        workers: the number of processes that sort the events of exports into hours.
        check: whether to compare the pulled days with the service's own count.
    """

    connection: Connection[SyncDriver]
    contents: Contents
    span: Period | None
    via: Via
    repull: int
    now: Callable[[], datetime]
    report: SyncReport
    workers: int = 1
    check: Check = "auto"

    def run(self, parts: Collection[Part] | None = None) -> None:
        """Pull and commit missing and changed hours, or commit only the hours in `parts`.

        Raises:
            AdAnalyticsError: for an error that affects more than one query, and any error that an
                observer raises to end the run. Hours that were already committed stay committed.
        """
        contents, report = self.contents, self.report
        if contents.table:
            contents.table.publish(contents.manifest, contents.schema)
        delivered = None if parts is None else Delivered(parts, contents)
        needs = self._find_needs()
        if delivered:
            # Other days are for a sync, or for the next plan.
            planned = {hour.day for hour in delivered.hours()}
            kept = {day: need for day, need in needs.days.items() if day in planned}
            needs = replace(needs, days=kept)
        elif not needs.days:
            return
        report.wanted = 0
        if not delivered and all(need == DayNeed() for need in needs.days.values()):
            end_repull(contents, needs)
            return
        with ExitStack() as ending:
            folder = ending.enter_context(contents.store.scratch())
            ending.callback(lambda: contents.save(contents.manifest.unsaved))
            now = self.now()
            for day, need in needs.days.items():
                contents.note_empty(need.empty, now, needs.service.state(day).fingerprint)
            fetcher = ending.enter_context(closing(self._fetcher(folder)))
            staging = Staging(contents, needs.service, report.hours)

            def collect(results: Generator[Pulled | FailedQuery]) -> None:
                with closing(results):
                    for result in results:
                        if isinstance(result, FailedQuery):
                            report.failed.append(result)
                        else:
                            staging.add(result)

            def pull(asked: Mapping[Hour, Reason], service: ServiceDays) -> None:
                if asked and not delivered:
                    report.wanted = staging.expect(asked)
                    queries = self._list_queries(asked, service, needs)
                    planned = forecast(queries, service, contents.store)
                    notify(self.connection.session.observer.plan, planned)
                    collect(fetcher.pulled(queries, service))

            if delivered:
                report.wanted = staging.expect(delivered.hours())
                collect(delivered.pulled(folder))
                # One by one, because after a few failures the fetcher leaves the others out.
                for query in delivered.undivided():
                    collect(fetcher.pulled([query], needs.service))
            pull(needs.asked, needs.service)
            doubtful = self._doubtful_hours(needs, staging)
            pull(dict.fromkeys(doubtful, Reason.RESTATED), needs.service)
            self._take_counts(staging, needs.service)
            if staging.differing:
                service = self._ask()
                again = staging.compare_again(service, {hour.day for hour in doubtful})
                pull(dict.fromkeys(again, Reason.RESTATED), service)
                self._take_counts(staging, service)
            report.failed += staging.reject()
            if delivered:
                report.failed = [*map(delivered.with_command, report.failed)]
            elif not report.left:
                end_repull(contents, needs)
                # A kill may have left pages that no hour needs any more.
                list_started(contents.store, lambda _start: False)
            records = map(contents.manifest.record, report.hours)
            report.size = sum(record.size for record in records if record)
            write_report(report, contents.store)

    def _take_counts(self, staging: Staging, service: ServiceDays) -> None:
        """Compare waiting days with the service's own count."""
        days = staging.uncounted if self.check != "none" else {}
        staging.take_counts(count_days(self.connection, service, days).differing)

    def tasks(self) -> list[Task]:
        """Order an export of each day with needed hours, wait for all, and return their tasks."""
        needs, store = self._find_needs(), self.contents.store
        doubtful = self._doubtful_hours(needs, Staging(self.contents, needs.service, {}))
        # An earlier plan ends here.
        list_started(store, lambda start: start.query.way == "pages")
        by_day = groupby(sorted({*needs.asked, *doubtful}), lambda hour: hour.day)
        queries = [Query("export", day, day, None, tuple(hours)) for day, hours in by_day]
        basis = needs.service.basis
        spools = [Spool(store, query, basis(query.first, query.last)) for query in queries]
        return plan_tasks(self._fetcher(Path()).exports, spools)

    def plan(self) -> SyncPlan:
        """Find the needed hours, as `run` does, and estimate the requests; pull nothing."""
        needs = self._find_needs()
        asked, counts = needs.asked, needs.service.counts
        queries = self._list_queries(asked, needs.service, needs)
        return SyncPlan(
            {hour: why.value for hour, why in asked.items()},
            sum(counts.get(hour.day, 0) for hour in asked) // 24,
            forecast(queries, needs.service, self.contents.store).requests,
            sum(query.way == "export" for query in queries),
            self.report.damaged,
        )

    def _doubtful_hours(self, needs: Needs, staging: Staging) -> list[Hour]:
        """List the hours that had seemed unchanged, of days that changed nevertheless."""
        for day, need in needs.days.items():
            if need.doubtful and not need.asked:
                staging.compare(day)
        known = sorted(staging.differing.keys() & needs.days.keys())
        return [hour for day in known for hour in needs.days[day].doubtful]

    def _fetcher(self, folder: Path) -> Fetcher:
        store, identity = self.contents.store, self.contents.identity
        types = self.contents.schema.union
        return Fetcher(self.connection, store, identity, types, folder, self.now, self.workers)

    def _find_needs(self) -> Needs:
        now, damaged = self.now(), self.report.damaged
        return find_needs(self.contents, self._ask, self.repull, now, damaged)

    def _ask(self) -> ServiceDays:
        """Ask the service for its days, and record whose dataset this is.

        Before a good answer, the partner or the address may be a mistake.
        """
        store, identity = self.contents.store, self.contents.identity
        service = ServiceDays(self.connection, self.span, self.contents.manifest.days())
        if Identity.read(store) != identity:
            # Pages of another service or partner.
            list_started(store, lambda _start: False)
            store.write(IDENTITY, seal(identity))
        return service

    def _list_queries(
        self, asked: Mapping[Hour, Reason], service: ServiceDays, needs: Needs
    ) -> list[Query]:
        """List the queries that an earlier run began, and new ones for the other hours."""

        def is_usable(start: Start) -> bool:
            forced = any(asked.get(hour) is Reason.FORCED for hour in start.query.wanted)
            too_old = forced and needs.repull_began and start.at < needs.repull_began
            return start.basis == service.basis(start.query.first, start.query.last) and not too_old

        started, rest = [], dict(asked)
        for start in list_started(self.contents.store, is_usable):
            if wanted := tuple(hour for hour in start.query.wanted if hour in rest):
                started.append(replace(start.query, wanted=wanted))
                for hour in wanted:
                    del rest[hour]
        now = self.now()
        whole = {
            day
            for day, number in Counter(hour.day for hour in rest).items()
            if number == count_started(service.state(day), now)
        }
        quota = self.connection.session.quota.state()
        return started + plan_queries(
            rest, expected_counts(service, whole), via=self.via, quota=quota
        )
