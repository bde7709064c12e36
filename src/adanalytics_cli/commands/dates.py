"""`adanalytics dates`: list the days that have data."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from adanalytics_cli.account.connection import ask_each, connect_each, report_end
from adanalytics_cli.account.dataset_here import dataset_here, open_dataset
from adanalytics_cli.account.quota import QuotaCheck
from adanalytics_cli.core.command import command, flag, option
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.freshness import last_day, last_hour
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import PERIOD_HELP, days_of, period, period_arguments
from adanalytics_cli.core.settings import find_settings, now_at_service
from adanalytics_cli.output.calendar_chart import HOURS, Coverage, calendar_lines
from adanalytics_cli.output.formats import Output, formats_with, gather_output
from adanalytics_cli.output.output_file import output_options
from adanalytics_cli.output.row_output import write_chart
from adanalytics_client import Period

if TYPE_CHECKING:
    from adanalytics_cli.output.hours import HourCounts
    from adanalytics_client import Client
    from adanalytics_client._progress.progress import Progress

_FORMATS = formats_with()


@command(
    "dates",
    params=[
        *period_arguments(required=False),
        *output_options(_FORMATS),
        flag("--chart", "Draw a calendar of the days with data, or of the hours of a dataset."),
        flag("--hours", "Count the hours with data of each day, and list those without."),
        option(
            "--in location",
            click.Path(),
            "DIR|URL",
            "List the hours of this dataset; sends nothing.",
        ),
    ],
    details=(
        f"Without START it lists all days. {PERIOD_HELP} A table and a chart also tell the last "
        "hour with data, for up to 24 more requests. --hours sends one request for each hour, and "
        "without START it is about the last day with data. In the folder of a dataset, --chart "
        "draws the hours of the dataset and sends no request."
    ),
    examples=[
        "adanalytics dates",
        "adanalytics dates 2026-01",
        "adanalytics dates 2026-01-01 today --chart",
        "adanalytics dates -30d -f json",
        "adanalytics dates yesterday --hours",
        "adanalytics dates 2026-01 --in events",
        "cd events && adanalytics dates --chart",
    ],
    connects=True,
    gather=gather_output(_FORMATS),
)
def dates(
    invocation: Invocation,
    start: Period | None,
    end: Period | None,
    output: Output,
    chart: bool,
    hours: bool,
    location: str | None,
) -> None:
    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.hours import write_days, write_hours

    path = output.path
    chosen_days = period(invocation, start, end) if start is not None else None
    now = now_at_service(invocation)
    dataset, progress, days = None, None, chosen_days
    if location is not None:
        _, dataset = open_dataset(invocation, location)
    elif chart and not hours:
        dataset = dataset_here(find_settings(invocation))
    if dataset and (dataset.hours or chosen_days or location):
        recorded = dataset.hours or {now.date(): 0}
        days = first, last = chosen_days or (min(recorded), max(recorded))
        for day, problem in dataset.damaged.items():
            if first <= day <= last:
                invocation.notice(f"the manifest of {day} is damaged: {problem}")
        counts = {day: dataset.events.get(day, {}) for day in days_of(first, last)}
        if not location:
            invocation.notice("Hours in the dataset of this folder:")
        note = last_hour(dataset.last_hour, now) if dataset.last_hour else ""
        summary = write_hours({dataset.partner: counts}, note, output, invocation, chart)
    elif hours:
        with connect_each(invocation, chart=chart) as (clients, progress):
            counted_hours = _count_hours(invocation, clients, progress, chosen_days, now)
        summary = write_hours(counted_hours, "", output, invocation, chart)
    else:
        with connect_each(invocation, chart=chart) as (clients, progress):
            days_by_partner = ask_each(clients, lambda client: client.dates())
            # Programs get the days alone, at the price of one request.
            notes = {
                partner: _freshness(clients[partner], max(days), now)
                for partner, days in days_by_partner.items()
                if days and output.form.is_table
            }
        is_several = len(days_by_partner) > 1
        note = " ".join(
            f"{partner}: {text}" if is_several else text for partner, text in notes.items()
        )
        if chart:
            (data_days,) = days_by_partner.values()
            if not data_days and not chosen_days:
                raise CommandError("No day has data, so there is nothing to draw.")
            days = first, last = chosen_days or (min(data_days), max(*data_days, now.date()))
            counts_of_days = {day: HOURS for day in data_days if first <= day <= last}
            # At the end, a day that is not over is not missing.
            final = max(first, min(last, now.date() - timedelta(days=1)), *counts_of_days)
            coverage = Coverage(counts_of_days, first, final)
            write_chart(partial(calendar_lines, coverage, note), path, invocation)
            summary = "1 chart"
        else:
            first, last = chosen_days or (date.min, date.max)
            rows = {
                partner: [{"date": day} for day in data_days if first <= day <= last]
                for partner, data_days in days_by_partner.items()
            }
            columns, all_days = [Column("date")], chain(*days_by_partner.values())
            facts_days = chosen_days or all_days
            summary = write_days(rows, columns, facts_days, note, output, invocation)
    if path:
        report_end(invocation, summary, progress, days=days, target=path)


def _count_hours(
    invocation: Invocation,
    clients: "Mapping[str, Client]",
    progress: "Progress",
    chosen_days: tuple[date, date] | None,
    now: datetime,
) -> "dict[str, dict[date, HourCounts]]":
    """Return the number of events of each hour that has begun, by partner and day."""
    if chosen_days is None:
        days_by_partner = ask_each(clients, lambda client: client.dates())
        # One day for all partners, so that their hours stand side by side.
        newest = max([*chain.from_iterable(days_by_partner.values())], default=now.date())
        chosen_days = newest, newest
    hours = {day: range(24 if day < now.date() else now.hour + 1) for day in days_of(*chosen_days)}
    requests = sum(map(len, hours.values())) * len(clients)
    # Before the first request, since half of the hours are no answer.
    QuotaCheck(invocation, next(iter(clients.values())), progress).check(requests)
    progress.expect(requests)
    return ask_each(
        clients,
        lambda client: {
            day: {hour: _events(client, day, hour) for hour in hour_counts}
            for day, hour_counts in hours.items()
        },
    )


def _events(client: "Client", day: date, hour: int) -> int | None:
    """Return the number of events of an hour; None for some, where the service states no number."""
    query = client.events(day, hour=hour, split="hourly", per_page=1, max_events=1)
    page = next(query.pages(), None)
    return 0 if page is None or not page.rows else page.total


def _freshness(client: "Client", day: date, now: datetime) -> str:
    """Tell the last `day` with data, or its last hour, for which at most 24 requests are sent.

    The service lists only days. Hours are asked for from now backwards, or from the end of
    yesterday; never while the quota is used up, and an error leaves it at the day.
    """
    from adanalytics_client import AdAnalyticsError

    if not 0 <= (now.date() - day).days <= 1:
        return last_day(day, now)
    end_hour = now.hour if day == now.date() else 23
    # A remark is not worth a wait for quota.
    strict_client = client.with_options(on_limit="raise")
    try:
        for hour in range(end_hour, -1, -1):
            if _events(strict_client, day, hour) != 0:
                return last_hour(datetime.combine(day, time(hour), now.tzinfo), now)
    except AdAnalyticsError:
        pass
    return last_day(day, now)
