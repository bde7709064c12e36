"""A sync from top to bottom: needs, fetch, staging, report; see `update`.

A day that does not add up is pulled once more with a new summary; then it is reported, and the next
sync begins with it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import cache, partial
from typing import get_args

from adanalytics_client._base.choices import Via
from adanalytics_client._base.observer import notify
from adanalytics_client._json.types import Types
from adanalytics_client._outputs.arrow.values import type_of
from adanalytics_client.types import Check

from .hours.compare import compare_day
from .hours.totals import events_in
from .narrowing import expected_requests, narrow
from .needs import DayNeed, Needs, Reason
from .planning import PullQuery, Way, plan_queries, requests_of
from .pull.fetch import expected_counts, forecast, most_requests
from .pull.spool import Start, keep_started, list_started
from .records.layout import Hour, hours_of
from .records.names import read_names, spans_without_names
from .report import SyncPlan
from .schema import tell_hours
from .service import ServiceDays, count_started, runs_to_count
from .staging import Staging
from .update import Update, doubtful_hours

# A list of some lengths may have one more page, which is then requested.
_REQUESTS_OF_NAMES = 2


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
    is_counted = check != "none"
    needs = _find_needs(update, via, repull, is_counted=is_counted)
    update.begin()
    if not needs.days:
        return
    report.wanted = 0
    # A repull also counts the days that neither side has; what `verify` counts there it mends.
    if not repull and all(need == DayNeed() for need in needs.days.values()):
        return
    with update.staging(needs, workers) as (staging, fetcher):

        def pull(reasons: Mapping[Hour, Reason], service: ServiceDays) -> None:
            if reasons:
                staging.expect(reasons)
                starts = _usable(list_started(contents.store), reasons, service)
                keep_started(contents.store, starts)
                types = contents.schema.union
                queries = _list_queries(update, starts, reasons, service, via, types)
                notify(update.client.observer.plan, forecast(queries, service, contents.store))

                def pages_of(export: PullQuery) -> list[PullQuery]:
                    hours = {hour: reasons[hour] for hour in export.wanted}
                    return _list_queries(update, (), hours, service, "pages", types)

                exports = [query for query in queries if query.way == "export"]
                if exports and via == "auto":
                    # Who chooses exports takes what their files have. In csv, a number and a text
                    # of digits look the same.
                    fetcher.types = types or _first_event(update, exports[0])[0]
                    fetcher.columns = [*fetcher.types]
                replacement = pages_of if via == "auto" else None
                update.stage(fetcher.pulled(queries, service, replacement), staging)

        def confirm(service: ServiceDays) -> None:
            if is_counted:
                update.take_losses(staging)
            update.take_counts(staging, service, check=is_counted)

        pull(needs.asked, needs.service)
        if is_counted:
            update.take_losses(staging)
        doubtful = doubtful_hours(needs, staging)
        if is_counted:
            doubtful += _find_losses(update, needs, staging)
        pull(dict.fromkeys(doubtful, Reason.RESTATED), needs.service)
        confirm(needs.service)
        if staging.differing:
            service = replace(update.fetch_days(), usual=needs.service.usual)
            hours = staging.compare_again(service, {hour.day for hour in doubtful} - needs.narrowed)
            pull(dict.fromkeys(hours, Reason.RESTATED), service)
            confirm(service)
        report.failed += staging.reject()
        if not report.left:
            # A kill may have left pages that no hour needs any more.
            keep_started(contents.store)
    # Also after a sync that only counts what a stopped one has committed.
    if report.events or not report.failed:
        update.take_names([day for day in needs.days if contents.manifest.day(day).rows])


def plan(update: Update, *, via: Via, repull: int = 0, check: Check = "auto") -> SyncPlan:
    """Find the needed hours, as `sync` does, and estimate the requests; pull and write nothing."""
    is_counted, store = check != "none", update.contents.store
    needs = _find_needs(update, via, repull, is_counted=is_counted)
    service, restated = needs.service, dict.fromkeys(_differing(update, needs), Reason.RESTATED)
    reasons = needs.asked | restated
    starts = _usable(list_started(store), reasons, service)
    # Unlike `types`, which one event may tell, these are all that events of the dataset have.
    columns, record_of = update.contents.schema.union, update.contents.manifest.day
    types, total, learning = columns, None, 0
    queries = _list_queries(update, starts, reasons, service, via, types)
    # Whether the events of a whole day tell their hours is not known before one was seen.
    whole = [query for query in queries if query.hour is None]
    if whole and not types:
        types, total = _first_event(update, whole[0])
        if _is_by_hour(update, types):
            # A sync learns it from the first page of each, and then goes on by the hour.
            learning = sum(query.way == "pages" for query in whole)
            queries = _list_queries(update, starts, reasons, service, via, types)

    if via == "auto" and not columns:
        # An event on a page shows which columns an export must have.
        learning += any(query.way == "export" for query in queries)

    forecasts = expected_counts(service)
    events = _likely_events(update, service, whole, total)
    rest = {
        day: sum(part.rows for hour, part in record_of(day).by_hour.items() if hour not in reasons)
        for day in events
    }
    pulls = most_requests(queries, service, store, events, rest)
    doubtful = (day for day, need in needs.days.items() if need.doubtful)
    days = {*doubtful, *(hour.day for hour in reasons)}
    over = [day for day in days if is_counted and Hour(day, 23).is_over(update.now())]
    counts = runs_to_count(service, over)
    with_events = [d for d in needs.days if service.state(d).has_data or record_of(d).rows]
    names, fields = read_names(store), update.contents.identity.names
    spans = spans_without_names(names, with_events if days else (), columns, fields)
    return SyncPlan(
        {hour: reason.value for hour, reason in reasons.items()},
        sum(service.counts.get(hour.day, 0) for hour in reasons) // 24,
        needs.counts + pulls + learning + len(counts) + len(spans) * _REQUESTS_OF_NAMES,
        forecasts.page,
        sum(query.way == "export" for query in queries),
        needs.damaged,
        _is_by_hour(update, types),
        {
            way: sum(
                requests_of(query, forecasts)
                for query in _list_queries(update, starts, reasons, service, way, types)
            )
            for way in get_args(Way)
        },
    )


def _find_needs(update: Update, via: Via, repull: int, *, is_counted: bool) -> Needs:
    """Find the hours to pull; of a large restated day, only those whose number of events moved.

    The price of the day is that of its pages: an export costs fewer requests, but brings all of its
    events, for each late one. If the pull `is_counted`, days of unknown size are sized first.
    """
    needs, contents = update.find_needs(repull), update.contents
    days, narrowed, pages = {**needs.days}, set(), update.client.service.pages
    # An export brings whole days, and a service that ignores the hour has no totals of hours.
    if via == "export":
        return needs
    # Only a count at the end would miss the days of one empty answer; an hour alone loses less.
    usual, counts = _usual_events(update, needs) if is_counted else (0, 0)
    needs = replace(needs, service=replace(needs.service, usual=usual), counts=counts)
    if pages and pages.heeds.get("hour") is False:
        return needs
    # Last days first: a day that cannot be narrowed was reprocessed, as those before it may be.
    for day, need in sorted(needs.days.items(), reverse=True):
        if not _may_be_narrowed(update, needs, day):
            continue

        def count(hour: int | None, day: date = day) -> int | None:
            nonlocal counts
            counts += 1
            return update.client.count_events(day, hour)

        # The summary is a lower bound: it leaves out filtered events.
        figure = needs.service.counts[day]
        moved = narrow(contents.manifest.day(day), need.asked, figure, count)
        # The whole day is pulled, and so are those before it: their totals would be spent in vain.
        if moved is None:
            break
        rest = tuple(hour for hour in need.asked if hour not in moved)
        days[day] = DayNeed(dict.fromkeys(moved, Reason.RESTATED), doubtful=rest)
        narrowed.add(day)
    return replace(needs, days=days, narrowed=frozenset(narrowed), counts=counts)


def _usual_events(update: Update, needs: Needs) -> tuple[int, int]:
    """Return the likely events of a day that the summary does not count, and the requests for it.

    Otherwise each hour of such a day would be a query. The dataset tells it for nothing.
    """
    manifest, service = update.contents.manifest, needs.service
    hours = Counter(hour.day for hour in needs.asked)
    days = [day for day, number in hours.items() if number > 1 and not service.counts.get(day, 1)]
    if not days:
        return 0, 0
    rows = [record.rows for day in manifest.days() if (record := manifest.day(day)).is_settled]
    if any(rows):
        return -(-sum(rows) // len(rows)), 0
    first, last = min(days), max(days)
    events = update.client.count_events(first, last=last)
    number = sum(first <= day <= last for day in service.days)
    return -(-(events or 0) // number), 1


def _may_be_narrowed(update: Update, needs: Needs, day: date) -> bool:
    """Return whether all of a day was restated, and the totals of its hours cost less than it."""
    service, need, store = needs.service, needs.days[day], update.contents.store
    if day not in service.days or need.asked != dict.fromkeys(hours_of(day), Reason.RESTATED):
        return False
    if not _is_dear(update, service, need.asked):
        return False
    record, names = update.contents.manifest.day(day), update.contents.identity.names
    if compare_day(record.totals, service.state(day).figures, names).is_doubtful:
        return False
    # The pages that a stopped sync kept are for all of the day.
    starts = _usable(list_started(store), need.asked, service)
    return not any(
        start.query.hour is None and start.query.first <= day <= start.query.last
        for start in starts
    )


def _is_dear(update: Update, service: ServiceDays, hours: Mapping[Hour, Reason]) -> bool:
    """Return whether pages of some hours of a day cost more requests than the hours' totals."""
    types, counts = update.contents.schema.union, expected_counts(service)
    queries = _list_queries(update, (), hours, service, "pages", types)
    pages = requests_of(PullQuery.of_hour(next(iter(hours))), counts)
    price = sum(requests_of(query, counts) for query in queries)
    return price > expected_requests(hours, pages)


def _find_losses(update: Update, needs: Needs, staging: Staging) -> list[Hour]:
    """List hours that were over when they were pulled, and that may have lost events since.

    That shows before their day is over, too: the dataset then has more events than the summary,
    and than the service's count, which would have grown if the summary were only late. If there
    are as many, amounts were lowered.
    """
    lost = list[Hour]()
    for day, need in needs.days.items():
        record, state = update.contents.manifest.day(day), needs.service.state(day)
        if not need.doubtful or record.is_settled or day in staging.differing:
            continue
        names, totals = update.contents.identity.names, record.totals
        if totals is None or not compare_day(totals, state.figures, names).has_surplus:
            continue
        count = cache(partial(update.client.count_events, day))
        total, figure = count(None), events_in(state.figures)
        # The count may still be behind, or the summary may be: neither shows a loss.
        if total is None or total > record.rows or total < figure:
            continue
        if total < record.rows:
            hours = dict.fromkeys(need.doubtful, Reason.RESTATED)
            is_dear = _is_dear(update, needs.service, hours)
            moved = narrow(record, hours, figure, count) if is_dear else None
            lost += need.doubtful if moved is None else moved
        # The same events with other amounts: no total of an hour tells which of them changed.
        elif figure == totals.events:
            lost += need.doubtful
    return lost


def _first_event(update: Update, query: PullQuery) -> tuple[Types, int | None]:
    """Request one event of some days; return the types of its fields, and the number of events."""
    kind_of = update.contents.identity.names.kind
    # One request, which also tells the number of events.
    first = update.client.events(
        query.first, query.last, split="none", per_page=1, max_events=1, check="none"
    )
    with closing(first.pages()) as pages:
        page = next(pages, None)
    if page is None:
        return {}, None
    fields = (item for row in page.rows for item in row.items())
    return {name: type_of(kind_of(name), value) for name, value in fields}, page.total


def _likely_events(
    update: Update, service: ServiceDays, queries: Sequence[PullQuery], total: int | None
) -> Mapping[date, int]:
    """Estimate the number of events of each day, filtered ones included.

    The summary leaves those out, or may count something else than events. The ratio is that of the
    first query, if the service's `total` of it is known, or else of the days in the dataset.
    """
    counts, record_of = service.counts, update.contents.manifest.day
    days = [day for day in counts if record_of(day).is_settled]
    rows = sum(record_of(day).rows for day in days)
    if total is not None:
        days = [day for day in counts if queries[0].first <= day <= queries[0].last]
        rows = total
    count = sum(counts[day] for day in days)
    # Nothing to compare with: the summary's own numbers are the best guess.
    if not days:
        return counts
    # The summary counts something else, so each day gets the mean.
    if not count:
        return dict.fromkeys(counts, -(-rows // len(days)))
    return {
        day: max(-(-events * rows // count), record_of(day).rows) for day, events in counts.items()
    }


def _differing(update: Update, needs: Needs) -> Iterator[Hour]:
    """Yield the hours that seem unchanged, of days that do not agree with the summary."""
    contents, service = update.contents, needs.service
    for day, need in needs.days.items():
        record = contents.manifest.day(day)
        if need.doubtful and not need.asked and record.is_settled:
            figures = service.state(day).figures
            if compare_day(record.totals, figures, contents.identity.names).difference:
                yield from need.doubtful


def _is_by_hour(update: Update, types: Types) -> bool:
    return bool(types) and not tell_hours(types, update.contents.identity.names)


def _usable(
    starts: Iterable[Start], hours: Mapping[Hour, Reason], service: ServiceDays
) -> list[Start]:
    """List the queries that an earlier run began, and whose pages or export can still be used.

    A repull uses none: their pages may be older than the change that it is to find.
    """

    def is_usable(start: Start) -> bool:
        forced = any(hours.get(hour) is Reason.FORCED for hour in start.query.wanted)
        return start.basis == service.basis(start.query.first, start.query.last) and not forced

    return [*filter(is_usable, starts)]


def _list_queries(
    update: Update,
    starts: Iterable[Start],
    hours: Mapping[Hour, Reason],
    service: ServiceDays,
    via: Via,
    types: Types,
) -> list[PullQuery]:
    """List the queries that an earlier run began, and new ones for the other hours.

    `types` are the columns of the events, if they are known.
    """
    queries, rest = [], dict(hours)
    for start in starts:
        # A query goes on only with the hours that are still needed; it still reads all its pages.
        if share := tuple(hour for hour in start.query.wanted if hour in rest):
            queries.append(replace(start.query, wanted=share))
            for hour in share:
                del rest[hour]
    now = update.now()
    whole = {
        day
        for day, number in Counter(hour.day for hour in rest).items()
        if number == count_started(service.state(day), now)
    }
    counts = expected_counts(service, whole)
    export = update.client.service.export
    # A probe saw that its rows are not those of the pages.
    if via == "auto" and export and export.same_rows is False:
        via = "pages"
    return queries + plan_queries(rest, counts, via=via, by_hour=_is_by_hour(update, types))
