"""Bring hours from the service into the dataset: queries, on several threads, hour by hour in."""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from adanalytics_client import ExportExpired, ExportFailed
from adanalytics_client.dataset import pages
from adanalytics_client.dataset.arrow_events import EventTables
from adanalytics_client.dataset.dataset import Dataset
from adanalytics_client.dataset.day_states import ServiceView
from adanalytics_client.dataset.export_query import BulkExport
from adanalytics_client.dataset.failure_report import BadQuery
from adanalytics_client.dataset.hour_file import FinishedHour
from adanalytics_client.dataset.hours import Hour, hours_of
from adanalytics_client.dataset.needs import Reason
from adanalytics_client.dataset.partition import HourUnknown
from adanalytics_client.dataset.planning import Outlook, Via, plan_queries
from adanalytics_client.dataset.pull import Pull
from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.spool import Spool
from adanalytics_client.dataset.started_queries import take_up
from adanalytics_client.dataset.sync_report import Outcome
from adanalytics_client.dataset.workers import Workers

if TYPE_CHECKING:
    from adanalytics_client import Client


class Bringer:
    """Asks for hours and commits them.

    Args:
        client: what to ask with.
        dataset: where they go; its lock is held.
        view: what the service says about days.
        outcome: told what was brought and what was not.
        via: how hours may be asked for.
        clock: the present moment in UTC.
    """

    def __init__(
        self,
        client: "Client",
        dataset: Dataset,
        view: ServiceView,
        outcome: Outcome,
        *,
        via: Via,
        clock: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._dataset = dataset
        self._view = view
        self._outcome = outcome
        self._via: Via = via
        self._clock = clock

    def bring(self, asked: Mapping[Hour, Reason], expect: Callable[[int], None]) -> None:
        """Bring hours; `expect` is told how many queries that takes.

        A query that fails is noted and leaves the others alone. Raises what ends the run.
        """
        self._outcome.wanted = (self._outcome.wanted or 0) + len(asked)
        if not asked:
            return
        queries = self._queries(asked)
        expect(len(queries))
        with self._dataset.store.scratch() as folder:
            form = self._dataset.identity.form
            tables = EventTables(with_texts=form == "jsonl")
            pull = Pull(self._client, folder, form, tables, self._clock)
            workers = Workers[Query](lambda query: self._one(pull, query), self._client.close)
            try:
                workers.run(queries)
            finally:
                self._outcome.bad += [
                    BadQuery(each.work, type(each.error).__name__, str(each.error))
                    for each in workers.failed
                ]

    def _queries(self, asked: Mapping[Hour, Reason]) -> list[Query]:
        """Those that an earlier run has begun, and those that bring the rest."""
        begun, rest = [], dict(asked)
        for query in take_up(self._dataset.store, self._basis):
            going_on = query.limited_to(rest)
            if going_on.wanted:
                begun.append(going_on)
                for hour in going_on.wanted:
                    del rest[hour]
        fresh = plan_queries(rest, self._outlook(rest), via=self._via, quota=self._client.quota)
        return begun + fresh

    def _outlook(self, asked: Mapping[Hour, Reason]) -> Outlook:
        now = self._clock()
        whole = {
            day
            for day in {hour.day for hour in asked}
            if all(hour in asked for hour in hours_of(day) if hour.begins <= now)
        }
        counts = {day: state.tally.events for day, state in self._view.days.items()}
        return Outlook(counts, whole, pages.EVENTS_A_PAGE)

    def _one(self, pull: Pull, query: Query) -> None:
        if query.way == "export":
            self._by_export(pull, query)
            return
        spool = Spool(self._dataset.store, query, self._basis(query))
        try:
            finished, asked_at = pull.by_pages(query, spool)
        except HourUnknown:
            # Asked for one by one, hours need not be told by their events.
            spool.clear()
            for hour in query.wanted:
                self._one(pull, Query.of_hour(hour))
            return
        for each in finished:
            self._commit(each, asked_at)
        spool.clear()

    def _by_export(self, pull: Pull, query: Query) -> None:
        export = BulkExport(self._client, self._dataset.store, query, self._basis(query))
        job, asked_at = export.order(self._clock)
        try:
            with export.hours(job, pull) as hours:
                for each in hours:
                    self._commit(each, asked_at)
        except (ExportFailed, ExportExpired):
            # Going on with it would fail for good.
            with suppress(OSError):
                export.clear()
            raise
        export.clear()

    def _commit(self, finished: FinishedHour, asked_at: datetime) -> None:
        hour = finished.hour
        self._dataset.commit(finished, asked_at, self._view.state(hour.day).fingerprint)
        self._outcome.pulled[hour] = finished.rows

    def _basis(self, query: Query) -> str:
        days = [query.first + timedelta(n) for n in range((query.last - query.first).days + 1)]
        told = " ".join(self._view.state(day).fingerprint for day in days)
        return hashlib.sha256(told.encode()).hexdigest()
