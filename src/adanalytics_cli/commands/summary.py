"""`adanalytics summary`: the metrics of a period."""

import sys
from pathlib import Path
from typing import Literal

import click

from adanalytics_cli.account.connection import connect
from adanalytics_cli.core.command import command, flag
from adanalytics_cli.core.currencies import digits_of
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber, number_option
from adanalytics_cli.core.periods import PERIOD_HELP, period, period_arguments
from adanalytics_cli.output.formats import (
    FORMATS,
    Format,
    bom_option,
    columns_option,
    format_option,
    pick_format,
)
from adanalytics_cli.output.output_file import output_option
from adanalytics_cli.output.row_output import check_chart, write_chart
from adanalytics_client import Period

GroupBy = Literal["day", "campaign", "demand_tag"]
_FORMATS: tuple[Format, ...] = (*FORMATS, "parquet", "xlsx")


def _one_group(
    _context: click.Context, _parameter: click.Parameter, values: tuple[GroupBy, ...]
) -> GroupBy | None:
    if len(values) > 1:
        raise click.BadParameter("The service groups by one column at a time. Give -g once.")
    return values[0] if values else None


@command(
    "summary",
    params=[
        *period_arguments(required=True),
        click.Option(
            ["-g", "--group-by"],
            type=click.Choice(["day", "campaign", "demand_tag"]),
            multiple=True,
            callback=_one_group,
            help="Print one row for each; without it, one row with the total.",
        ),
        output_option(),
        format_option(_FORMATS),
        bom_option(),
        columns_option(),
        click.Option(
            ["--sort"],
            metavar="COLUMN",
            help=(
                "Sort by this column: numbers descending, names and days ascending; -COLUMN the "
                "other way round."
            ),
        ),
        number_option(
            "--top",
            WholeNumber(1),
            "N",
            "Keep the first N rows by --sort, by default those with the most revenue.",
        ),
        flag(
            "--exact", "Show every digit of money on a terminal; files and pipes always have them."
        ),
        click.Option(
            ["--round", "rounded"],
            is_flag=True,
            help="Round money in a table or chart for a file or pipe, too.",
        ),
        flag("--chart", "Draw bars of the total, or of impressions and revenue by group."),
    ],
    details=f"{PERIOD_HELP} The service leaves out filtered (invalid) traffic.",
    examples=[
        "adanalytics summary yesterday",
        "adanalytics summary 2026-01 -g campaign --top 10",
        "adanalytics summary 2026-01 -g day --chart",
        "adanalytics summary 2026-01-01 2026-01-31 -g day -o january.csv",
    ],
    connects=True,
)
def summary(
    invocation: Invocation,
    start: Period,
    end: Period | None,
    group_by: GroupBy | None,
    chosen_format: str | None,
    output: Path | None,
    bom: bool,
    columns: tuple[str, ...],
    sort: str | None,
    top: int | None,
    exact: bool,
    rounded: bool,
    chart: bool,
) -> None:
    """Get the summary and write its rows; a table also shows the totals."""
    if chart:
        check_chart(chosen_format, output)
        if columns:
            raise click.UsageError("--chart has fixed columns. Leave out --chart or --columns.")
    form: Format = "table"
    if not chart:
        form = pick_format(chosen_format, output, piped="csv", known=_FORMATS, bom=bom)
    if rounded and (exact or form != "table"):
        other = "--exact" if exact else f"{form}, which has every digit"
        raise click.UsageError(f"--round does not go with {other}. Leave out one of them.")
    first, last = period(start, end)
    with connect(invocation) as (client, _progress):
        answer = client.summary(first, last, group_by=group_by)

    from adanalytics_cli.output.row_output import write_rows, write_summary_table
    from adanalytics_cli.output.summary_output import (
        as_text,
        fill_gaps,
        find_names,
        sort_rows,
        summary_columns,
        summary_rows,
        table_note,
        table_rows,
        wire_columns,
    )

    columns = tuple(find_names(answer, group_by, columns))
    if group_by == "day" and form == "table" and not (sort or top):
        answer = fill_gaps(answer, min(last, invocation.clock().date()))
    before = len(answer.rows)
    if sort or top:
        turned = bool(sort and sort.startswith("-"))
        (by,) = find_names(answer, group_by, [(sort or "revenue").removeprefix("-")])
        answer = sort_rows(answer, by, top, turned=turned)
    # Programs that read a file or a pipe may calculate with the numbers.
    exact = exact or not (rounded or (output is None and sys.stdout.isatty()))
    digits = None if exact else digits_of(answer.currency)
    note = table_note(answer, exact=exact, rows=before)
    if chart:
        from adanalytics_cli.output.summary_chart import chart_lines, summary_charts

        charts = summary_charts(answer, group_by, digits=digits)
        write_chart(lambda at: chart_lines(charts, note, at), output, invocation)
    elif form == "parquet":
        write_summary_table(as_text(summary_rows(answer, columns)), output, columns)
    else:
        rows = table_rows(answer, group_by, columns) if form == "table" else []
        rows = rows or summary_rows(answer, columns)
        chosen = summary_columns(group_by, columns, digits=digits)
        write_rows(
            rows if form in {"table", "xlsx"} else as_text(rows),
            form,
            output,
            columns=chosen if form == "table" or columns else wire_columns(group_by),
            invocation=invocation,
            note=note,
            bom=bom,
            title="summary",
            about={"first day": first, "last day": last, "currency": answer.currency},
        )
