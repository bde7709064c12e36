"""Commit the parts that tasks returned: the results of the queries of the last plan."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import replace
from pathlib import Path

from adanalytics_client import ProtocolError, Remedy

from .errors import DatasetError
from .pull.exports import Sorted, join_parts
from .pull.fetch import Pulled
from .pull.spool import Spool, Start, list_started
from .records.contents import Contents
from .records.layout import EXPORTS
from .report import FailedQuery
from .tasks.task import Part
from .update import Update, doubtful_hours

Delivery = dict[Start, dict[int, Part]]
"""The queries of a plan, and the parts that tasks returned for each, by their number."""


def commit(update: Update, parts: Collection[Part]) -> None:
    """Commit the hours of a plan's tasks.

    Hours that were committed after they were planned are left out.

    Raises:
        DatasetError: for a part of another plan.
        AdAnalyticsError: as for `sync`.
    """
    contents, report = update.contents, update.report
    store = contents.store
    delivery = _assign(parts, contents)
    for start in [start for start in delivery if _is_done(contents, start)]:
        Spool.open(store, start.query, start.basis).clear()
        del delivery[start]
    needs = update.find_needs()
    update.begin()
    # Other days are for a sync, or for the next plan.
    hours = [hour for start in delivery for hour in start.query.wanted]
    planned = {hour.day for hour in hours}
    needs = replace(needs, days={day: need for day, need in needs.days.items() if day in planned})
    with update.staging(needs) as (staging, fetcher):
        staging.expect(hours)
        update.stage(_join(delivery, contents, fetcher.folder), staging)
        # One by one, because after a few failures the fetcher leaves the others out.
        for start in filter(lambda start: _is_undivided(delivery[start]), delivery):
            update.stage(fetcher.pulled([start.query], needs.service), staging)
        update.take_losses(staging)
        doubtful_hours(needs, staging)
        update.take_counts(staging, needs.service)
        if staging.differing:
            service = update.fetch_days()
            staging.compare_again(service, set())
            update.take_counts(staging, service)
        failed = [*report.failed, *staging.reject()]
        report.failed = [_with_command(failure, store.place) for failure in failed]


def _assign(parts: Collection[Part], contents: Contents) -> Delivery:
    """Assign parts to the queries of the plan."""
    store = contents.store
    delivery: Delivery = {
        replace(start, job=""): {} for start in list_started(store) if start.query.way == "export"
    }
    sizes = store.sizes(EXPORTS)
    for part in parts:
        if part.start in delivery:
            # A commit that was killed has moved some of its files.
            files = {hour.file: hour.shared or hour.record for hour in part.hours if hour.file}
            if all(sizes.get(name) == file.size for name, file in files.items()):
                # Of repeated and speculative tasks, the first counts.
                delivery[part.start].setdefault(part.number, part)
        elif not _is_done(contents, part.start):
            raise DatasetError(
                f"{store.place} has no plan for a part of {part.start.query}.",
                remedy="Commit parts of the last plan only, or plan again.",
            )
    return delivery


def _is_done(contents: Contents, start: Start) -> bool:
    """Return whether the hours of a query were committed since it was planned."""
    records = map(contents.manifest.record, start.query.wanted)
    # A plan that is committed twice, or after a later sync, changes nothing.
    return all(record and record.asked_at >= start.at for record in records)


def _is_undivided(parts: Mapping[int, Part]) -> bool:
    """Return whether a section was unreadable, so that the files must be read whole."""
    return not all(part.hours for part in parts.values())


def _join(delivery: Delivery, contents: Contents, folder: Path) -> Generator[Pulled | FailedQuery]:
    """Yield the hours of each query, or its failure; a failed query must be ordered again."""
    store, identity = contents.store, contents.identity
    for start, parts in delivery.items():
        query, spool = start.query, Spool.open(store, start.query, start.basis)
        if _is_undivided(parts):
            continue
        try:
            total, pieces = _complete(parts, query)
            yield Pulled(join_parts(query, total, pieces, store, folder, identity), spool)
        except (DatasetError, ProtocolError) as error:
            yield FailedQuery(str(query), type(error).__name__, error.message, query.wanted)
            spool.clear()


def _complete(parts: Mapping[int, Part], query: object) -> tuple[int | None, list[Sorted]]:
    """Return the number of events that the service states, and all parts in their order."""
    ordered = [parts[number] for number in sorted(parts)]
    # A day of which a part is missing would lose events in silence.
    if not ordered or ordered[0].of > len(ordered):
        raise ProtocolError(f"Some tasks of the export of {query} delivered no part.")
    return ordered[0].stated, [(part.hours, part.rows) for part in ordered]


def _with_command(failed: FailedQuery, place: str) -> FailedQuery:
    """Give a failure the command that finishes the days of its query as its remedy."""
    days = [hour.day for hour in failed.hours]
    command = f"adanalytics sync {min(days)} {max(days)} --to {place}"
    return replace(failed, remedy=Remedy(f"Finish with: {command}"))
