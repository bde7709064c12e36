"""`adanalytics dates`: which days have data."""

from pathlib import Path

import click

from adanalytics_cli.command import ExampleCommand
from adanalytics_cli.connection import connect
from adanalytics_cli.formats import format_option, pick_format
from adanalytics_cli.invocation import current_invocation
from adanalytics_cli.output_file import output_option
from adanalytics_cli.periods import PERIOD_HELP, Span, period, period_arguments


@click.pass_context
def run(
    context: click.Context,
    start: Span | None,
    end: Span | None,
    chosen_format: str | None,
    output: Path | None,
) -> None:
    """Ask for the days and write those of the period."""
    form = pick_format(chosen_format, output, piped="csv")
    with connect(context) as (client, _progress):
        days = client.dates()
    if start is not None:
        first, last = period(start, end)
        days = [day for day in days if first <= day <= last]
    rows = [{"date": day.isoformat()} for day in days]

    from adanalytics_cli.row_output import write_rows
    from adanalytics_cli.table_view import Column

    columns = [Column("date", "date")]
    write_rows(rows, form, output, columns=columns, invocation=current_invocation(context))


dates = ExampleCommand(
    "dates",
    callback=run,
    params=[*period_arguments(required=False), format_option(), output_option()],
    summary="List the days that have data.",
    details=f"Without START all of them. {PERIOD_HELP}",
    examples=[
        "adanalytics dates",
        "adanalytics dates 2026-01",
        "adanalytics dates -30d today -f json",
    ],
    connects=True,
)
