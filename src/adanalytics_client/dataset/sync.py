"""A sync from top to bottom: needs, fetch, staging, report; see `update`.

A day that does not add up is pulled once more with a new summary; then it is reported, and the next
sync begins with it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date

from adanalytics_client import Check
from adanalytics_client._base.observer import notify
from adanalytics_client._json.types import Types
from adanalytics_client._outputs.arrow.values import type_of
from adanalytics_client.dataset.needs import DayNeed, Needs, Reason, begin_repull, end_repull
from adanalytics_client.dataset.planning import Query, Via, plan_queries
from adanalytics_client.dataset.pull.fetch import expected_counts, forecast
from adanalytics_client.dataset.pull.spool import Start, keep_started, list_started
from adanalytics_client.dataset.records.layout import Hour
from adanalytics_client.dataset.report import SyncPlan
from adanalytics_client.dataset.schema import tell_hours
from adanalytics_client.dataset.service import ServiceDays, count_started
from adanalytics_client.dataset.update import Update, doubtful_hours


def sync(
    update: Update, *, via: Via, repull: int = 0, workers: int = 1, check: Check = "auto"
) -> None:
    """Pull and commit missing and changed hours.

    Args:
        repull: how many of the last days to pull again, even if they have not changed.
        workers: the number of processes that sort the events of exports into hours.
        check: whether to compare the pulled days with the service's own count.

    Raises:
        AdAnalyticsError: for an error that affects more than one query, and any error that an
            observer raises to end the sync. Hours that were already committed stay committed.
    """
    contents, report = update.contents, update.report
    if contents.table:
        contents.table.publish(contents.manifest, contents.schema)
    needs = update.find_needs(repull)
    update.begin()
    begin_repull(contents, needs)
    if not needs.days:
        return
    report.wanted = 0
    if all(need == DayNeed() for need in needs.days.values()):
        end_repull(contents, needs)
        return
    is_counted = check != "none"
    with update.staging(needs, workers) as (staging, fetcher):

        def pull(asked: Mapping[Hour, Reason], service: ServiceDays) -> None:
            if asked:
                report.wanted = staging.expect(asked)
                started = _usable(list_started(contents.store), asked, service, needs)
                keep_started(contents.store, started)
                types = contents.schema.union
                queries = _list_queries(update, started, asked, service, via, types)
                notify(update.client.observer.plan, forecast(queries, service, contents.store))
                update.stage(fetcher.pulled(queries, service), staging)

        pull(needs.asked, needs.service)
        doubtful = doubtful_hours(needs, staging)
        pull(dict.fromkeys(doubtful, Reason.RESTATED), needs.service)
        update.take_counts(staging, needs.service, check=is_counted)
        if staging.differing:
            service = update.fetch_days()
            again = staging.compare_again(service, {hour.day for hour in doubtful})
            pull(dict.fromkeys(again, Reason.RESTATED), service)
            update.take_counts(staging, service, check=is_counted)
        report.failed += staging.reject()
        if not report.left:
            end_repull(contents, needs)
            # A kill may have left pages that no hour needs any more.
            keep_started(contents.store)


def plan(update: Update, *, via: Via, repull: int = 0) -> SyncPlan:
    """Find the needed hours, as `sync` does, and estimate the requests; pull and write nothing."""
    needs, store = update.find_needs(repull), update.contents.store
    asked, service = needs.asked, needs.service
    started = _usable(list_started(store), asked, service, needs)
    types = update.contents.schema.union
    queries = _list_queries(update, started, asked, service, via, types)
    if not types and (days := [query.first for query in queries if query.hour is None]):
        # A sync learns it from its first page, and then goes on by the hour.
        types = _first_types(update, days[0])
        queries = _list_queries(update, started, asked, service, via, types)
    return SyncPlan(
        {hour: why.value for hour, why in asked.items()},
        sum(service.counts.get(hour.day, 0) for hour in asked) // 24,
        forecast(queries, service, store).requests,
        sum(query.way == "export" for query in queries),
        needs.damaged,
        _is_by_hour(update, types),
    )


def _first_types(update: Update, day: date) -> Types:
    """Request one event of a day, and return the types of its fields."""
    kind_of = update.contents.identity.names.kind
    query = update.client.events(day, split="none", per_page=1, max_events=1, check="none")
    rows = [*query.rows()]
    return {name: type_of(kind_of(name), value) for row in rows for name, value in row.items()}


def _is_by_hour(update: Update, types: Types) -> bool:
    return bool(types) and not tell_hours(types, update.contents.identity.names)


def _usable(
    started: Iterable[Start], asked: Mapping[Hour, Reason], service: ServiceDays, needs: Needs
) -> list[Start]:
    """List the queries that an earlier run began, and whose pages or export can still be used."""
    repull = needs.repull

    def is_usable(start: Start) -> bool:
        forced = any(asked.get(hour) is Reason.FORCED for hour in start.query.wanted)
        too_old = forced and repull is not None and start.at < repull.since
        return start.basis == service.basis(start.query.first, start.query.last) and not too_old

    return [*filter(is_usable, started)]


def _list_queries(
    update: Update,
    started: Iterable[Start],
    asked: Mapping[Hour, Reason],
    service: ServiceDays,
    via: Via,
    types: Types,
) -> list[Query]:
    """List the queries that an earlier run began, and new ones for the other hours.

    `types` are the columns of the events, if they are known.
    """
    queries, rest = [], dict(asked)
    for start in started:
        if wanted := tuple(hour for hour in start.query.wanted if hour in rest):
            queries.append(replace(start.query, wanted=wanted))
            for hour in wanted:
                del rest[hour]
    now = update.now()
    whole = {
        day
        for day, number in Counter(hour.day for hour in rest).items()
        if number == count_started(service.state(day), now)
    }
    expected = expected_counts(service, whole)
    quota, by_hour = update.client.quota, _is_by_hour(update, types)
    return queries + plan_queries(rest, expected, via=via, quota=quota, by_hour=by_hour)
