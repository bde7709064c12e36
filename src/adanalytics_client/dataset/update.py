"""An update of a dataset: what syncs, plans, tasks and commits of parts have in common.

1. Needs: two requests show which hours are missing, were open when they were pulled, or belong to a
   day that was restated (`needs`).
2. Fetch: queries are pulled, two at a time, and their events sorted into hours (`fetch`).
3. Staging: hours are committed, those that replace events only with a day that adds up (`staging`):
   to the summary and, if it is over, to the service's own count.
"""

from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import NamedTuple

from adanalytics_client import Period
from adanalytics_client._base.dates import days_between
from adanalytics_client._base.logs import LOG
from adanalytics_client._view import View
from adanalytics_client.errors import (
    AdAnalyticsError,
    RequestLimitReached,
    ServerError,
    TransportError,
)

from .needs import Needs, find_needs
from .pull.fetch import Fetcher, Pulled
from .pull.spool import count_pages, keep_started
from .records.contents import Contents
from .records.layout import IDENTITY, NAMES, Hour
from .records.manifest import Identity, seal
from .records.names import GroupNames, read_names, spans_without_names
from .report import FailedQuery, SyncReport, write_report
from .service import ServiceDays, count_days, fetch_names, fetch_service_days
from .staging import Staging

# After these the next sync asks for the count or the names again.
_TEMPORARY = (TransportError, RequestLimitReached, ServerError)
# Nothing depends on names, so nobody waits for them for long.
_NAME_ATTEMPTS = 2
_NAME_SECONDS = 30.0


class Update(NamedTuple):
    """A dataset whose lock the caller holds, the service, and the report of the work.

    If the work is interrupted, the client is closed. The report is filled meanwhile, so that it is
    available even when the work is stopped.

    Attributes:
        span: the days, or None for all that the service lists.
        now: returns the time, in the time zone of the service.
    """

    client: View
    contents: Contents
    span: Period | None
    now: Callable[[], datetime]
    report: SyncReport

    def fetch_days(self) -> ServiceDays:
        return fetch_service_days(self.client, self.span, self.contents.manifest)

    def find_needs(self, repull: int = 0) -> Needs:
        needs = find_needs(self.contents, self.fetch_days, repull, self.now())
        self.report.damaged += needs.damaged
        return needs

    def begin(self) -> None:
        """Record whose dataset this is.

        Call it after a good answer of the service: before, the partner or the address may be a
        mistake.
        """
        store, identity = self.contents.store, self.contents.identity
        former = Identity.read(store)
        if former is None and self.contents.table:
            # Before anything is written: a dataset does not change its name.
            self.contents.table.check_name()
        if former != identity:
            # Pages and names of another service or partner.
            keep_started(store)
            if former and former.partner != identity.partner:
                store.remove(NAMES)
            store.write(IDENTITY, seal(identity))

    def fetcher(self, folder: Path, workers: int = 1) -> Fetcher:
        contents = self.contents
        store, identity, types = contents.store, contents.identity, contents.schema.union
        return Fetcher(self.client, store, identity, types, folder, self.now, workers)

    @contextmanager
    def staging(self, needs: Needs, workers: int = 1) -> Iterator[tuple[Staging, Fetcher]]:
        """Note hours without events, and prepare to fetch and stage the others.

        At the end the records of the dataset are saved and the report is written.
        """
        contents, report, now = self.contents, self.report, self.now()
        with contents.store.scratch() as folder, closing(self.fetcher(folder, workers)) as fetcher:
            staging = Staging(contents, needs.service, report, self.client.observer)
            try:
                for day, need in needs.days.items():
                    contents.note_empty(need.empty, now, needs.service.state(day).fingerprint)
                yield staging, fetcher
                staging.close()
                records = map(contents.manifest.record, report.hours)
                report.size = sum(record.size for record in records if record)
                write_report(report, contents.store)
            finally:
                try:
                    staging.close()
                finally:
                    contents.save(contents.manifest.unsaved)
                report.pages = count_pages(contents.store)

    def stage(self, results: Generator[Pulled | FailedQuery], staging: Staging) -> None:
        """Commit or stage what queries brought, and report those that failed."""
        with closing(results):
            for result in results:
                if isinstance(result, FailedQuery):
                    self.report.failed.append(result)
                else:
                    staging.add(result)

    def take_counts(self, staging: Staging, service: ServiceDays, *, check: bool = True) -> None:
        """Compare waiting days with the service's own count."""
        days = staging.uncounted if check else {}
        if check and self.span:
            # Days that the service neither lists nor sums up may have events nevertheless.
            record_of = self.contents.manifest.day
            days = {
                day: 0
                for day in days_between(self.span.first, self.span.last)
                if day not in service.days
                and not record_of(day).rows
                and Hour(day, 23).is_over(self.now())
            } | days
        counts = count_days(self.client, service, days)
        uncounted = {day for day, error in counts.failures.items() if isinstance(error, _TEMPORARY)}
        staging.take_counts(counts.different_days, uncounted)

    def take_losses(self, staging: Staging) -> None:
        """Compare hours of days that are not over with the service's totals, if they lost events.

        A pull with fewer events than before may be wrong; one that a count confirms is not.
        """
        counts = self.client.count_events
        staging.take_totals({hour: counts(hour.day, hour.hour) for hour in staging.losses})

    def take_names(self, days: Collection[date]) -> None:
        """Request the names, such as those of campaigns, if some days with events lack them.

        That is one request for each of the two, normally once a day. A failure is logged: the
        dataset then only lacks names.
        """
        store, types = self.contents.store, self.contents.schema.union
        names, fields = read_names(store), self.contents.identity.names
        session = self.client.connection.session.config
        retry = replace(
            session.retry,
            attempts=min(_NAME_ATTEMPTS, session.retry.attempts),
            budget=min(_NAME_SECONDS, session.retry.budget),
        )
        # Names are a convenience: they must not hold up a sync, nor wait for quota.
        client = self.client.with_options(retry=retry, on_limit="raise")
        for group, span in spans_without_names(names, days, types, fields).items():
            fresh = {}
            try:
                fresh = fetch_names(client, group, *span)
            except AdAnalyticsError as error:
                LOG.warning("The dataset has no new names of %ss: %s", group, error.message)
                # The days stay without names, and the next sync asks again.
                if isinstance(error, _TEMPORARY):
                    return
            entry = names.get(group) or GroupNames(*span)
            spanned = GroupNames(min(entry.first, span[0]), max(entry.last, span[1]), entry.names)
            names[group] = spanned.updated(group, fresh)
            store.write(NAMES, seal(names))


def doubtful_hours(needs: Needs, staging: Staging) -> list[Hour]:
    """List the hours that had seemed unchanged, of days that changed nevertheless.

    Those of a narrowed day are among them if its figures cannot tell.
    """
    for day, need in needs.days.items():
        if need.doubtful and not need.asked:
            staging.compare(day)
    open_days = filter(staging.is_doubtful, needs.narrowed)
    days = sorted({*staging.differing, *open_days} & needs.days.keys())
    return [hour for day in days for hour in needs.days[day].doubtful]
