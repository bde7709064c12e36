"""`adanalytics summary`: the metrics of a period."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import ExampleCommand
from adanalytics_cli.core.invocation import Invocation, current_invocation
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.output.chart_output import chart_option, check_chart, write_chart
from adanalytics_cli.output.formats import FORMATS, Format, format_option, pick_format
from adanalytics_cli.output.output_file import output_option
from adanalytics_client import Period

if TYPE_CHECKING:
    from adanalytics_client import Summary

GroupBy = Literal["day", "campaign", "demand_tag"]
_FORMATS: tuple[Format, ...] = (*FORMATS, "parquet")


@click.pass_context
def run(
    context: click.Context,
    start: Period,
    end: Period | None,
    group_by: GroupBy | None,
    chosen_format: str | None,
    output: Path | None,
    chart: bool,
) -> None:
    """Ask for the summary and write its rows; a table also shows the totals."""
    if chart:
        check_chart(chosen_format, output)
    form = "table" if chart else pick_format(chosen_format, output, piped="csv", known=_FORMATS)
    first, last = period(start, end)
    with connect(context) as (client, _progress):
        answer = client.summary(first, last, group_by=group_by)
    if chart:
        _draw(answer, group_by, output, current_invocation(context))
        return

    from adanalytics_cli.output.row_output import write_rows, write_summary_table
    from adanalytics_cli.output.summary_output import (
        summary_columns,
        summary_rows,
        table_note,
        table_rows,
        wire_columns,
    )

    if form == "parquet":
        write_summary_table(summary_rows(answer), output)
        return
    on_table = form == "table"
    write_rows(
        table_rows(answer, group_by) if on_table else summary_rows(answer),
        form,
        output,
        columns=summary_columns(group_by) if on_table else wire_columns(group_by),
        invocation=current_invocation(context),
        note=table_note(answer),
    )


def _draw(
    answer: "Summary", group_by: GroupBy | None, output: Path | None, invocation: Invocation
) -> None:
    from adanalytics_cli.output.summary_chart import chart_lines, summary_charts
    from adanalytics_cli.output.summary_output import table_note

    charts = summary_charts(answer, group_by)
    write_chart(lambda at: chart_lines(charts, table_note(answer), at), output, invocation)


def _one_group(
    _context: click.Context, _parameter: click.Parameter, values: tuple[GroupBy, ...]
) -> GroupBy | None:
    if len(values) > 1:
        raise click.BadParameter("The service groups by one at a time. Give -g once.")
    return values[0] if values else None


summary = ExampleCommand(
    "summary",
    callback=run,
    params=[
        *period_arguments(required=True),
        click.Option(
            ["-g", "--group-by"],
            type=click.Choice(["day", "campaign", "demand_tag"]),
            multiple=True,
            callback=_one_group,
            help="Print a row for each; by default one row with the total.",
        ),
        output_option(),
        format_option(_FORMATS),
        chart_option("Draw bars: the total, or impressions and revenue by group."),
    ],
    summary="Metrics of a period, in total or by group.",
    details=f"The service leaves filtered (invalid) traffic out. {PERIOD_HELP}",
    examples=[
        "adanalytics summary yesterday",
        "adanalytics summary 2026-01 -g campaign",
        "adanalytics summary 2026-01 -g day --chart",
        "adanalytics summary 2026-01-01 2026-01-31 -g day -o january.csv",
    ],
    connects=True,
)
