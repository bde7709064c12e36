"""`adanalytics dates`: list the days that have data."""

import os
from datetime import date
from pathlib import Path

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import ExampleCommand, flag
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation, current_invocation, remark
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.core.settings import find_settings
from adanalytics_cli.output.calendar_chart import HOURS, Coverage, calendar_lines
from adanalytics_cli.output.chart_output import check_chart, write_chart
from adanalytics_cli.output.formats import format_option, pick_format
from adanalytics_cli.output.held_coverage import held_coverage
from adanalytics_cli.output.output_file import output_option
from adanalytics_client import Period


@click.pass_context
def run(
    context: click.Context,
    start: Period | None,
    end: Period | None,
    chosen_format: str | None,
    output: Path | None,
    chart: bool,
) -> None:
    """Get the days and write those of the period."""
    if chart:
        check_chart(chosen_format, output)
    form = "table" if chart else pick_format(chosen_format, output, piped="csv")
    asked = period(start, end) if start is not None else None
    if chart and _draw_held(asked, output, context):
        return
    with connect(context) as (client, _progress):
        days = client.dates()
    if asked:
        first, last = asked
        days = [day for day in days if first <= day <= last]
    if chart:
        _draw(days, asked, output, current_invocation(context))
        return
    rows = [{"date": day.isoformat()} for day in days]

    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.row_output import write_rows

    columns = [Column("date", "date")]
    write_rows(rows, form, output, columns=columns, invocation=current_invocation(context))


def _draw_held(
    asked: tuple[date, date] | None, output: Path | None, context: click.Context
) -> bool:
    """Draw the hours of the dataset in the current folder, if there is one."""
    invocation = current_invocation(context)
    settings = find_settings(invocation, os.environ)
    coverage = held_coverage(Path(), settings, asked, lambda problem: remark(problem, context))
    if coverage is None:
        return False
    remark("Hours in the dataset of this folder:", context)
    write_chart(lambda terminal: calendar_lines(coverage, terminal), output, invocation)
    return True


def _draw(
    days: list[date], asked: tuple[date, date] | None, output: Path | None, invocation: Invocation
) -> None:
    if not days and not asked:
        raise CommandError("No day has data, so there is nothing to draw.")
    first, last = asked or (min(days), max(days))
    coverage = Coverage(dict.fromkeys(days, HOURS), first, last)
    write_chart(lambda terminal: calendar_lines(coverage, terminal), output, invocation)


dates = ExampleCommand(
    "dates",
    callback=run,
    params=[
        *period_arguments(required=False),
        output_option(),
        format_option(),
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
