"""`adanalytics dates`: list the days that have data."""

import os
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from adanalytics_cli.account.connection import ask_each, connect_each, report_end
from adanalytics_cli.account.dataset_here import dataset_here
from adanalytics_cli.core.command import command, flag
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.freshness import last_day, last_hour
from adanalytics_cli.core.invocation import Invocation, remark
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments, span
from adanalytics_cli.core.settings import find_settings, now_at_service
from adanalytics_cli.output.calendar_chart import HOURS, Coverage, calendar_lines
from adanalytics_cli.output.formats import FORMATS, Format, pick_format
from adanalytics_cli.output.output_file import output_options
from adanalytics_cli.output.row_output import facts_about, write_chart, write_rows
from adanalytics_client import Period
from adanalytics_client._base.quantities import counted

if TYPE_CHECKING:
    from adanalytics_client import Client

_FORMATS: tuple[Format, ...] = (*FORMATS, "xlsx")
_HOURS_ASKED = 4


@command(
    "dates",
    params=[
        *period_arguments(required=False),
        *output_options(_FORMATS),
        flag("--chart", "Draw a calendar of the days with data, or of the hours of a dataset."),
    ],
    details=(
        f"Without START it lists all days. {PERIOD_HELP} A table and a chart also tell the last "
        "hour with data, for up to four more requests. In the folder of a dataset, --chart draws "
        "the hours of the dataset and sends no request."
    ),
    examples=[
        "adanalytics dates",
        "adanalytics dates 2026-01",
        "adanalytics dates 2026-01-01 today --chart",
        "adanalytics dates -30d -f json",
        "cd events && adanalytics dates --chart",
    ],
    connects=True,
)
def dates(
    invocation: Invocation,
    start: Period | None,
    end: Period | None,
    chosen_format: str | None,
    output: Path | None,
    region: str | None,
    chart: bool,
) -> None:
    form = pick_format(
        chosen_format, output, piped="csv", known=_FORMATS, region=region, chart=chart
    )
    asked = period(invocation, start, end) if start is not None else None
    now = now_at_service(invocation)
    here = dataset_here(find_settings(invocation, os.environ)) if chart else None
    if here and (here.hours or asked):
        # An empty hour counts as held, except on a day without events.
        first, last = asked or (min(here.hours), max(here.hours))
        for day, problem in here.damaged.items():
            if first <= day <= last:
                remark(f"the manifest of {day} is damaged: {problem}", invocation)
        coverage = _coverage(here.hours, first, last, now.date(), by_hour=True)
        remark("Hours in the dataset of this folder:", invocation)
        note = last_hour(here.last_hour, now) if here.last_hour else ""
        write_chart(partial(calendar_lines, coverage, note), output, invocation)
        if output:
            remark(f"1 chart of {span(first, last)} -> {output}", invocation)
        return
    with connect_each(invocation, chart=chart) as (clients, progress):
        listed = ask_each(clients, lambda client: client.dates())
        # Programs get the days alone, at the price of one request.
        told = {
            partner: _freshness(clients[partner], max(days), now)
            for partner, days in listed.items()
            if days and form == "table"
        }
    several = len(listed) > 1
    note = " ".join(f"{partner}: {of}" if several else of for partner, of in told.items())
    if chart:
        (days,) = listed.values()
        if not days and not asked:
            raise CommandError("No day has data, so there is nothing to draw.")
        first, last = asked or (min(days), max(*days, now.date()))
        coverage = _coverage(dict.fromkeys(days, HOURS), first, last, now.date())
        write_chart(partial(calendar_lines, coverage, note), output, invocation)
        if output:
            report_end(invocation, "1 chart", progress, days=(first, last), target=output)
        return
    first, last = asked or (date.min, date.max)
    rows: list[dict[str, object]] = [
        {"partner": partner, "date": day} if several else {"date": day}
        for partner, days in listed.items()
        for day in days
        if first <= day <= last
    ]

    from adanalytics_cli.console.table_view import Column

    columns = [Column("partner", "partner")] if several else []
    write_rows(
        rows if form == "xlsx" else [{**row, "date": str(row["date"])} for row in rows],
        form,
        output,
        columns=[*columns, Column("date", "date")],
        invocation=invocation,
        note=note,
        region=region,
        title="dates",
        about=facts_about(listed, asked or chain.from_iterable(listed.values())),
    )
    if output:
        done = counted(len(rows), "day")
        report_end(invocation, done, progress, days=asked, target=output)


def _freshness(client: "Client", day: date, now: datetime) -> str:
    """Tell the last `day` with data, or its last hour, for which at most four requests are sent.

    The service lists only days. Hours are asked for from now backwards, or from the end of
    yesterday; never while the quota is used up, and an error leaves it at the day.
    """
    from adanalytics_client import AdAnalyticsError

    if not 0 <= (now.date() - day).days <= 1:
        return last_day(day, now)
    latest = now.hour if day == now.date() else 23
    earliest = max(latest - _HOURS_ASKED + 1, 0)
    asking = client.with_options(on_limit="raise")
    try:
        for hour in range(latest, earliest - 1, -1):
            one = asking.events(day, hour=hour, split="hourly", per_page=1, max_events=1)
            if any(True for _ in one.rows()):
                return last_hour(datetime.combine(day, time(hour), now.tzinfo), now)
    except AdAnalyticsError:
        return last_day(day, now)
    return last_day(day, now, addition=f"; none since {earliest}:00 {now:%Z}")


def _coverage(
    hours: Mapping[date, int], first: date, last: date, today: date, *, by_hour: bool = False
) -> Coverage:
    """Return the hours of a period; at its end, a day that is not over is not missing."""
    hours = {day: count for day, count in hours.items() if first <= day <= last}
    over = min(last, today - timedelta(days=1))
    end = max([first, over, *(day for day in hours if hours[day])])
    return Coverage(hours, first, end, by_hour)
