"""`adanalytics changes`: what a dataset held before the service restated days."""

import click

from adanalytics_cli.account.dataset_here import default_dataset, open_dataset
from adanalytics_cli.core.command import command, option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import PERIOD_HELP, period_arguments
from adanalytics_cli.output.formats import Output, formats_with, gather_output
from adanalytics_cli.output.output_file import output_options
from adanalytics_client import Period

_FORMATS = formats_with()


@command(
    "changes",
    params=[
        *period_arguments(required=False),
        option(
            "--in location",
            click.Path(),
            "DIR|URL",
            "Dataset to read; by default this folder, or events in it.",
        ),
        *output_options(_FORMATS),
    ],
    gather=gather_output(_FORMATS),
    details=(
        "When a sync replaces the events of a day that the service restated, it keeps the former "
        "totals, the last 20 of each day. Each row is a figure that changed: the number of events, "
        "the events of a type under the name of the type's column in a summary, or the sum of a "
        f"field. Without START it lists all days. {PERIOD_HELP} Nothing is sent."
    ),
    examples=[
        "adanalytics changes",
        "adanalytics changes 2026-01 --in events",
        "adanalytics changes -7d --in s3://bucket/events -f json",
    ],
)
def changes(
    invocation: Invocation,
    start: Period | None,
    end: Period | None,
    location: str | None,
    output: Output,
) -> None:
    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.row_output import Listing, facts_about, write_rows
    from adanalytics_cli.output.sync_output import change_rows

    dataset, holdings = open_dataset(invocation, location or default_dataset())
    days = start.through(end) if start else (None, None)
    rows = [row for change in dataset.changes(*days) for row in change_rows(change)]
    columns = [
        Column("date"),
        Column("noticed_at", heading="noticed at"),
        Column("figure"),
        Column("before", _figure),
        Column("after", _figure),
    ]
    note = "" if rows else "No day was restated."
    facts = facts_about([holdings.partner], holdings.hours)
    write_rows(Listing(rows, columns, note, facts, title="changes"), output, invocation)


def _figure(value: object) -> str:
    from adanalytics_cli.console.table_view import count, thousands

    return count(value) if isinstance(value, int) else thousands(value)
