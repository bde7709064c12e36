"""`adanalytics changes`: what a dataset held before the service restated days."""

from pathlib import Path

import click

from adanalytics_cli.account.dataset_here import default_dataset, open_dataset
from adanalytics_cli.core.command import command, option
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import PERIOD_HELP, period_arguments
from adanalytics_cli.output.formats import formats_with, pick_format
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
    chosen_format: str | None,
    output: Path | None,
    region: str | None,
) -> None:
    form = pick_format(chosen_format, output, piped="csv", formats=_FORMATS, region=region)
    from adanalytics_cli.console.table_view import Column
    from adanalytics_cli.output.row_output import facts_about, write_rows
    from adanalytics_cli.output.sync_output import change_rows

    dataset, holdings = open_dataset(invocation, location or default_dataset())
    days = start.through(end) if start else (None, None)
    rows = [row for change in dataset.changes(*days) for row in change_rows(change)]
    columns = [
        Column("date", "date"),
        Column("noticed_at", "noticed at"),
        Column("figure", "figure"),
        Column("before", "before", _figure, to_the_right=True),
        Column("after", "after", _figure, to_the_right=True),
    ]
    write_rows(
        rows,
        form,
        output,
        columns=columns,
        invocation=invocation,
        note="" if rows else "No day was restated.",
        region=region,
        title="changes",
        facts=facts_about([holdings.partner], holdings.hours),
    )


def _figure(value: object) -> str:
    from adanalytics_cli.console.table_view import count, thousands

    return count(value) if isinstance(value, int) else thousands(value)
