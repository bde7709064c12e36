"""`adanalytics summary`: the metrics of a period."""

from pathlib import Path
from typing import Literal

import click

from adanalytics_cli.command import ExampleCommand
from adanalytics_cli.connection import connect
from adanalytics_cli.formats import format_option, pick_format
from adanalytics_cli.invocation import current_invocation
from adanalytics_cli.output_file import output_option
from adanalytics_cli.periods import PERIOD_HELP, Span, period, period_arguments

GroupBy = Literal["day", "campaign", "demand_tag"]


@click.pass_context
def run(
    context: click.Context,
    start: Span,
    end: Span | None,
    group_by: GroupBy | None,
    chosen_format: str | None,
    output: Path | None,
) -> None:
    """Ask for the summary and write its rows; a table also shows the totals."""
    form = pick_format(chosen_format, output, piped="csv")
    first, last = period(start, end)
    with connect(context) as (client, _progress):
        answer = client.summary(first, last, group_by=group_by)

    from adanalytics_cli.row_output import write_rows
    from adanalytics_cli.summary_table import (
        summary_columns,
        summary_rows,
        table_note,
        table_rows,
        wire_columns,
    )

    on_table = form == "table"
    write_rows(
        table_rows(answer, group_by) if on_table else summary_rows(answer),
        form,
        output,
        columns=summary_columns(group_by) if on_table else wire_columns(group_by),
        invocation=current_invocation(context),
        note=table_note(answer),
    )


summary = ExampleCommand(
    "summary",
    callback=run,
    params=[
        *period_arguments(required=True),
        click.Option(
            ["-g", "--group-by"],
            type=click.Choice(["day", "campaign", "demand_tag"]),
            help="One row for each of these; without it one row, the total.",
        ),
        format_option(),
        output_option(),
    ],
    summary="Metrics of a period, in total or by group.",
    details=f"Filtered (invalid) traffic is left out by the service. {PERIOD_HELP}",
    examples=[
        "adanalytics summary yesterday",
        "adanalytics summary 2026-01 -g campaign",
        "adanalytics summary 2026-01-01 2026-01-31 -g day -o january.csv",
    ],
    connects=True,
)
