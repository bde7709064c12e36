"""`adanalytics dates`: list the days that have data."""

import os
from datetime import date
from functools import partial
from pathlib import Path

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import command, flag
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation, remark
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.core.settings import find_settings
from adanalytics_cli.output.calendar_chart import HOURS, Coverage, calendar_lines
from adanalytics_cli.output.formats import FORMATS, Format, bom_option, format_option, pick_format
from adanalytics_cli.output.output_file import output_option
from adanalytics_cli.output.row_output import check_chart, write_chart
from adanalytics_client import Period

_FORMATS: tuple[Format, ...] = (*FORMATS, "xlsx")


@command(
    "dates",
    params=[
        *period_arguments(required=False),
        output_option(),
        format_option(_FORMATS),
        bom_option(),
        flag("--chart", "Draw a calendar of the days with data, or of the hours of a dataset."),
    ],
    details=(
        f"Without START it lists all days. {PERIOD_HELP} In the folder of a dataset, --chart draws "
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
    bom: bool,
    chart: bool,
) -> None:
    """Get the days and write those of the period."""
    if chart:
        check_chart(chosen_format, output)
    form: Format = "table"
    if not chart:
        form = pick_format(chosen_format, output, piped="csv", known=_FORMATS, bom=bom)
    asked = period(start, end) if start is not None else None
    coverage = _held_hours(asked, invocation) if chart else None
    days: list[date] = []
    if coverage:
        remark("Hours in the dataset of this folder:", invocation)
    else:
        with connect(invocation) as (client, _progress):
            days = client.dates()
        if asked:
            first, last = asked
            days = [day for day in days if first <= day <= last]
    if chart:
        shown = coverage or _listed_days(days, asked)
        write_chart(partial(calendar_lines, shown), output, invocation)
        return
    rows = [{"date": day if form == "xlsx" else day.isoformat()} for day in days]

    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.row_output import write_rows

    columns = [Column("date", "date")]
    about = dict(zip(("first day", "last day"), asked or (), strict=False))
    write_rows(
        rows,
        form,
        output,
        columns=columns,
        invocation=invocation,
        bom=bom,
        title="dates",
        about=about,
    )


def _held_hours(asked: tuple[date, date] | None, invocation: Invocation) -> Coverage | None:
    """Return the hours in the dataset of the current folder; it is found as git finds its own.

    The service lists only days; the manifest has hours and costs no request. None where the folder
    is not a dataset, belongs to another partner or service than the settings name, or has no days
    yet and none are `asked` for. An empty hour counts as held, except on a day without events.
    """
    settings = find_settings(invocation, os.environ)
    if not Path("_adanalytics/dataset.json").is_file():
        return None
    from adanalytics_client.dataset import Dataset

    held = Dataset(Path()).holdings()
    if held is None or not (held.hours or asked):
        return None
    named = ((settings.partner, held.partner), (settings.base_url, held.origin))
    if any(setting is not None and setting.value != of for setting, of in named):
        return None
    first, last = asked or (min(held.hours), max(held.hours))
    for day, problem in held.damaged.items():
        if first <= day <= last:
            remark(f"the manifest of {day} is damaged: {problem}", invocation)
    hours = {day: count for day, count in held.hours.items() if first <= day <= last}
    return Coverage(hours, first, last, by_hour=True)


def _listed_days(days: list[date], asked: tuple[date, date] | None) -> Coverage:
    """Return the days that the service lists."""
    if not days and not asked:
        raise CommandError("No day has data, so there is nothing to draw.")
    first, last = asked or (min(days), max(days))
    return Coverage(dict.fromkeys(days, HOURS), first, last)
