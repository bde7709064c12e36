"""What `summary` and `report` share: their options, the days that they compare, their output."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from adanalytics_cli.core import periods
from adanalytics_cli.core.command import completing, flag, option
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.numbers import WholeNumber
from adanalytics_cli.core.settings import now_at_service
from adanalytics_cli.output.formats import (
    Output,
    columns_option,
    formats_with,
    gather_output,
    is_picture,
)
from adanalytics_cli.output.output_file import output_options
from adanalytics_cli.output.row_output import write_chart, write_rows, write_summary_table
from adanalytics_client import Period
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.columns import METRIC_COLUMNS

if TYPE_CHECKING:
    from adanalytics_cli.output.summary_output import Answer, Digits

_FORMATS = formats_with("parquet")
_PREVIOUS = "previous"

Span = tuple[date, date]


def _read_compared(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Period | str | None:
    return word if word == _PREVIOUS else periods.read_begun_period(context, parameter, word)


def _compared_words(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    words = [_PREVIOUS] if _PREVIOUS.startswith(incomplete) else []
    return words + periods.period_words(context, parameter, incomplete)


def metric_options(columns: Sequence[str]) -> list[click.Parameter]:
    """Make the options of rows of metrics; the shell offers the `columns`."""
    return [
        option(
            "--compare",
            str,
            "PERIOD|previous",
            "Compare with another period: show before, after, change and percent.",
            callback=_read_compared,
            complete=_compared_words,
        ),
        flag(
            "--all-hours", "With --compare: also take days that are not over, or have no data yet."
        ),
        *output_options(_FORMATS),
        columns_option(columns),
        option(
            "--sort",
            str,
            "COLUMN",
            "Sort by this column: numbers descending, names and days ascending; -COLUMN turns "
            "the order. A comparison also by before, change or percent.",
            complete=completing(columns),
        ),
        option(
            "--top",
            WholeNumber(1),
            "N",
            "Keep the first N rows by --sort, by default those with the most revenue.",
        ),
        option(
            "--round digits",
            WholeNumber(0, 18),
            "N",
            "Round money to N digits; by default a terminal and a picture show those of the "
            "currency, and pipes and files all. A workbook shows N digits and keeps all.",
        ),
        flag(
            "--chart",
            "Draw bars of the total, or by group of the --sort column, by default of impressions "
            "and revenue; with -o FILE.svg, .png or .html as a picture.",
        ),
    ]


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """The values of `metric_options`."""

    compare: Period | Literal["previous"] | None
    output: Output
    columns: tuple[str, ...]
    sort: str | None
    top: int | None
    digits: int | None
    chart: bool
    all_hours: bool

    def __post_init__(self) -> None:
        """Raise click.UsageError for options that contradict each other."""
        form = self.output.form
        if self.all_hours and not self.compare:
            raise click.UsageError("--all-hours needs --compare.")
        if self.chart and (self.columns or self.compare):
            argument = "--columns" if self.columns else "--compare"
            raise click.UsageError(f"--chart has fixed columns. Leave out --chart or {argument}.")
        # Its rows are counts, amounts and rates, and a column of parquet has one type.
        if self.compare and not form.writer:
            raise click.UsageError(
                f"A comparison is not written as {form.name}. Use csv, json or xlsx."
            )
        if self.digits is not None and not form.writer:
            raise click.UsageError(
                f"{form.name.capitalize()} keeps every digit. Leave out --round."
            )

    @classmethod
    def gather(cls, values: dict[str, Any]) -> None:
        """Put one object in the place of the values of `metric_options`."""
        gather_output(_FORMATS)(values)
        values["options"] = cls(**{field.name: values.pop(field.name) for field in fields(cls)})

    def compared_spans(
        self,
        invocation: Invocation,
        words: tuple[Period, Period | None],
        whole_until: date,
        days_by_partner: Mapping[str, Collection[date]],
    ) -> tuple[list[Span], str]:
        """Return the days to compare, of this period and of another or the previous one.

        Also say which days are left out, and of which of the others a partner has no data, by the
        days of `days_by_partner`.

        Raises:
            CommandError: if no whole day of one of them has data.
        """
        start, end = words
        period = self.compare if isinstance(self.compare, Period) else None
        after = periods.period(invocation, start, end)
        before = after if period is None else periods.period(invocation, period, None)
        surplus = [max(timedelta(0), last - whole_until) for _, last in (after, before)]
        if after[1] - after[0] == before[1] - before[0]:
            # Both lose the same days.
            surplus = [max(surplus)] * 2
        ranges = (after, before)
        spans = [
            (first, last - surplus_days)
            for (first, last), surplus_days in zip(ranges, surplus, strict=True)
        ]
        for first, last in spans:
            if last < first:
                raise CommandError(
                    f"{first} is not whole yet, or has no data, so there is nothing to compare.",
                    remedy="To compare the hours that there are, add --all-hours.",
                )
        if period is None:
            spans[1] = start.before(end, until=spans[0][1])
        missing = [
            periods.span(surplus_days + timedelta(days=1), last)
            for (_, last), (_, surplus_days) in zip(dict.fromkeys(ranges), spans, strict=False)
            if surplus_days < last
        ]
        text = f"Left out, because not whole yet or without data: {', '.join(missing)}."
        notes = [text] if missing else []
        today = now_at_service(invocation).date()
        if spans[0][1] == today:
            notes.append(f"{today} is not over.")
        for partner, days in days_by_partner.items():
            counts = [
                (sum(first <= day <= last for day in days), (last - first).days + 1)
                for first, last in spans
            ]
            if any(number < length for number, length in counts):
                (number, length), (number_before, length_before) = counts
                notes.append(
                    f"{partner} has data on {number} of {counted(length, 'day')}, before on "
                    f"{number_before} of {length_before}."
                )
        return spans, " ".join(notes)


def write_answers(
    answers: "Sequence[Answer]",
    earlier: "Sequence[Sequence[Answer]]",
    group_by: str | None,
    options: MetricOptions,
    invocation: Invocation,
    *,
    omission: str = "",
    title: str = "summary",
) -> str:
    """Write the rows of partners, compared with those of `earlier`, and return how many.

    `omission` says which days are not compared; `title` names the sheet of a workbook.
    """
    form, path = options.output.form, options.output.path
    from adanalytics_cli.output.comparison import VALUES, list_changes
    from adanalytics_cli.output.summary_output import (
        Order,
        View,
        field_names,
        find_names,
        key_columns,
        list_rows,
    )

    first, order = answers[0].summary, None
    if options.sort:
        # A dash in front turns the order.
        values = VALUES if options.compare else ()
        (name,) = find_names(first, group_by, [options.sort.removeprefix("-")], values)
        is_key = name in {column.key for column in key_columns(group_by)}
        order = Order(name, options.sort.startswith("-"), is_key)
    row_names = field_names(answers)
    sorted_by = order.name if order else "revenue" if options.top else ""
    # Without it, the first rows would be those of the service, and not the top ones.
    if row_names and sorted_by in METRIC_COLUMNS - row_names:
        raise CommandError(
            f"No row has the column '{sorted_by}', so rows cannot be sorted by it.",
            remedy="Name another column with --sort.",
        )
    # Programs that read a file or a pipe may calculate with the numbers.
    is_seen = (path is None and sys.stdout.isatty()) or (options.chart and is_picture(path))
    is_seen |= form.is_document
    digits: Digits | None = options.digits
    if digits is None and form.is_table and is_seen:
        digits = "currency"
    view = View(
        group_by,
        find_names(first, group_by, options.columns),
        order,
        options.top,
        digits=digits,
        today=now_at_service(invocation).date(),
    )
    if options.chart:
        from adanalytics_cli.output.summary_chart import draw_summary

        write_chart(partial(draw_summary, answers[0], view), path, invocation)
        return "1 chart"
    listing = (
        list_changes(earlier[0], answers, view, form, omission)
        if earlier
        else list_rows(answers, view, form)
    )
    if omission and not form.is_table:
        invocation.notice(omission)
    if form.writer:
        count = write_rows(replace(listing, title=title), options.output, invocation)
    else:
        names = [column.key for column in listing.columns] if options.columns else []
        count = write_summary_table([*listing.rows], path, names)
    return counted(count, "row")
