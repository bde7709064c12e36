"""`adanalytics summary`: the metrics of a period."""

import sys
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from adanalytics_cli.account.connection import ask_each, connect_each, report_end
from adanalytics_cli.core import periods
from adanalytics_cli.core.command import command, completing, flag, option
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.settings import now_at_service
from adanalytics_cli.output.formats import FORMATS, Format, columns_option, is_picture, pick_format
from adanalytics_cli.output.output_file import output_options
from adanalytics_cli.output.row_output import write_chart
from adanalytics_client import Period
from adanalytics_client._base.dates import LATENESS
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.columns import SUMMARY_COLUMNS

if TYPE_CHECKING:
    from adanalytics_cli.output.summary_output import Answer
    from adanalytics_client import Client

GroupBy = Literal["day", "campaign", "demand_tag"]
_FORMATS: tuple[Format, ...] = (*FORMATS, "parquet", "xlsx")
_PREVIOUS = "previous"


def _one_group(
    _context: click.Context, _parameter: click.Parameter, values: tuple[GroupBy, ...]
) -> GroupBy | None:
    if len(values) > 1:
        raise click.BadParameter("The service groups by one column at a time. Give -g once.")
    return values[0] if values else None


def _read_compared(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Period | str | None:
    return word if word == _PREVIOUS else periods.read_begun_period(context, parameter, word)


def _compared_words(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    words = [_PREVIOUS] if _PREVIOUS.startswith(incomplete) else []
    return words + periods.period_words(context, parameter, incomplete)


@command(
    "summary",
    params=[
        *periods.period_arguments(required=True),
        click.Option(
            ["-g", "--group-by"],
            type=click.Choice(["day", "campaign", "demand_tag"]),
            multiple=True,
            callback=_one_group,
            help="Print one row for each; without it, one row with the total.",
        ),
        click.Option(
            ["--compare"],
            metavar="PERIOD|previous",
            callback=_read_compared,
            shell_complete=_compared_words,
            help="Compare with another period: show before, after, change and percent.",
        ),
        flag(
            "--all-hours", "With --compare: also take days that are not over, or have no data yet."
        ),
        *output_options(_FORMATS),
        columns_option(SUMMARY_COLUMNS),
        click.Option(
            ["--sort"],
            metavar="COLUMN",
            shell_complete=completing(SUMMARY_COLUMNS),
            help=(
                "Sort by this column: numbers descending, names and days ascending; -COLUMN turns "
                "the order. A comparison also by before, change or percent."
            ),
        ),
        option(
            "--top",
            WholeNumber(1),
            "N",
            "Keep the first N rows by --sort, by default those with the most revenue.",
        ),
        click.Option(
            ["--round", "digits"],
            type=WholeNumber(0, 18),
            metavar="N",
            help=(
                "Round money to N digits; by default a terminal and a picture show those of the "
                "currency, and pipes and files all. A workbook shows N digits and keeps all."
            ),
        ),
        flag(
            "--chart",
            "Draw bars of the total, or by group of the --sort column, by default of impressions "
            "and revenue; with -o FILE.svg, .png or .html as a picture.",
        ),
    ],
    details=(
        f"{periods.PERIOD_HELP} The service leaves out filtered (invalid) traffic. The previous "
        "period is the month, quarter or year before, up to the same day, or as many days before. "
        "Several partners come one after the other and are never added."
    ),
    examples=[
        "adanalytics summary yesterday",
        "adanalytics summary 2026-01 -g campaign --top 10",
        "adanalytics summary this-month --compare previous",
        "adanalytics summary 2026-01 -g day --chart",
        "adanalytics summary 2026-Q1 -g campaign -o quarter.xlsx",
    ],
    connects=True,
)
def summary(
    invocation: Invocation,
    start: Period,
    end: Period | None,
    group_by: GroupBy | None,
    compare: "Period | Literal['previous'] | None",
    chosen_format: str | None,
    output: Path | None,
    region: str | None,
    columns: tuple[str, ...],
    sort: str | None,
    top: int | None,
    digits: int | None,
    chart: bool,
    all_hours: bool,
) -> None:
    """Get the summary and write its rows; a table also shows the totals."""
    form = pick_format(
        chosen_format, output, piped="csv", known=_FORMATS, region=region, chart=chart
    )
    if all_hours and not compare:
        raise click.UsageError("--all-hours needs --compare.")
    if chart and (columns or compare):
        other = "--columns" if columns else "--compare"
        raise click.UsageError(f"--chart has fixed columns. Leave out --chart or {other}.")
    if compare and form == "parquet":
        raise click.UsageError("A comparison is not written as parquet. Use csv, json or xlsx.")
    if digits is not None and form == "parquet":
        raise click.UsageError("Parquet keeps every digit. Leave out --round.")
    spans = [periods.period(invocation, start, end)]
    left_out = ""
    with connect_each(invocation, chart=chart) as (clients, progress):
        if compare:
            whole_until = date.max if all_hours else _whole_until(invocation, clients)
            period = compare if isinstance(compare, Period) else None
            spans, left_out = _compared(invocation, (start, end), period, whole_until)
        answers, *earlier = [_ask(clients, *days, group_by) for days in spans]

    from adanalytics_cli.output.comparison import VALUES, list_changes
    from adanalytics_cli.output.summary_output import Order, View, find_names, list_rows

    first, order = answers[0].summary, None
    if sort:
        # A dash in front turns the order.
        others = VALUES if compare else ()
        (name,) = find_names(first, group_by, [sort.removeprefix("-")], others)
        order = Order(name, sort.startswith("-"))
    # Programs that read a file or a pipe may calculate with the numbers.
    is_seen = (output is None and sys.stdout.isatty()) or (chart and is_picture(output))
    is_seen |= invocation.as_markdown
    view = View(
        group_by,
        find_names(first, group_by, columns),
        order,
        top,
        digits="currency" if digits is None and form == "table" and is_seen else digits,
        today=now_at_service(invocation).date(),
    )
    if chart:
        from adanalytics_cli.output.summary_chart import draw_summary

        write_chart(partial(draw_summary, answers[0], view), output, invocation)
        done = "1 chart"
    else:
        from adanalytics_cli.output.row_output import write_rows, write_summary_table

        listing = (
            list_changes(earlier[0], answers, view, form, left_out)
            if earlier
            else list_rows(answers, view, form)
        )
        if form == "parquet":
            names = [column.key for column in listing.columns] if columns else []
            write_summary_table(listing.rows, output, names)
        else:
            write_rows(
                listing.rows,
                form,
                output,
                columns=listing.columns,
                invocation=invocation,
                note=listing.note,
                region=region,
                title="summary",
                about=listing.about,
                totals=listing.totals,
            )
        done = counted(len(listing.rows), "row")
    if output:
        report_end(invocation, done, progress, days=spans[0], target=output)


Span = tuple[date, date]


def _whole_until(invocation: Invocation, clients: "Mapping[str, Client]") -> date:
    """Return the last day that is over and of which each partner has data."""
    over = (now_at_service(invocation) - LATENESS).date() - timedelta(days=1)
    listed = ask_each(clients, lambda client: client.dates())
    return min([over, *(max(days) for days in listed.values() if days)])


def _compared(
    invocation: Invocation,
    words: tuple[Period, Period | None],
    other: Period | None,
    whole_until: date,
) -> tuple[list[Span], str]:
    """Return the days to compare, of this period and the `other` or the previous one.

    Also say which days are left out.

    Raises:
        CommandError: if no whole day of one of them has data.
    """
    start, end = words
    after = periods.period(invocation, start, end)
    before = after if other is None else periods.period(invocation, other, None)
    surplus = [max(timedelta(0), last - whole_until) for _, last in (after, before)]
    if after[1] - after[0] == before[1] - before[0]:
        # Both lose the same days.
        surplus = [max(surplus)] * 2
    ranges = (after, before)
    spans = [(first, last - cut) for (first, last), cut in zip(ranges, surplus, strict=True)]
    for first, last in spans:
        if last < first:
            raise CommandError(
                f"{first} is not whole yet, or has no data, so there is nothing to compare.",
                remedy="To compare the hours that there are, add --all-hours.",
            )
    if other is None:
        spans[1] = start.before(end, until=spans[0][1])
    missing = [
        periods.span(cut + timedelta(days=1), last)
        for (_, last), (_, cut) in zip(dict.fromkeys(ranges), spans, strict=False)
        if cut < last
    ]
    return spans, f"Left out, because not whole yet: {', '.join(missing)}." if missing else ""


def _ask(
    clients: "Mapping[str, Client]", first: date, last: date, group_by: GroupBy | None
) -> "list[Answer]":
    from adanalytics_cli.output.summary_output import Answer

    found = ask_each(clients, lambda client: client.summary(first, last, group_by=group_by))
    return [Answer(partner, summary, first, last) for partner, summary in found.items()]
