"""A summary as bars: from request to click, or impressions and revenue by group."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

import click
from rich.cells import cell_len

from adanalytics_cli.console.table_view import Column, in_cells
from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.prose import wrapped
from adanalytics_client._base.escaping import visible

from . import summary_output

_NARROWEST_BAR = 4
_LONGEST_NAME = 30


class Bar(NamedTuple):
    """One bar; `shown` is the value as text. No bar is drawn for None and zero."""

    name: str
    value: Decimal | int | None
    shown: str


class Ink(NamedTuple):
    """The characters of a bar: a full cell, parts of a cell by size, and the end of a cut name."""

    whole: str
    parts: str
    cut: str


BLOCKS = Ink("█", "▏▎▍▌▋▊▉", "…")
LETTERS = Ink("#", "", "~")


def draw_bars(bars: Sequence[Bar], ink: Ink, *, width: int, color: bool = False) -> list[str]:
    """Draw one line per bar, not wider than `width` cells unless the values need it.

    The longest bar fills what names and values leave. Names give way first, values never. Bars of
    negative values end where the others begin.
    """
    values = max((cell_len(bar.shown) for bar in bars), default=0)
    longest = max((cell_len(bar.name) for bar in bars), default=0)
    remaining = width - values - 2
    names = min(longest, _LONGEST_NAME, max(remaining // 2, 1))
    length = max(remaining - names, _NARROWEST_BAR)
    numbers = [Decimal(bar.value) for bar in bars if bar.value is not None]
    largest, lowest = max([*numbers, Decimal(0)]), min([*numbers, Decimal(0)])
    # Each side gets its part of the length, and at least one cell.
    negative = min(max(int(length * lowest / (lowest - largest)), 1), length - 1) if lowest else 0
    negative = length if lowest and not largest else negative
    lines = []
    for bar in bars:
        value = bar.value or 0
        drawing = _bar(-value, -lowest, negative, ink._replace(parts="")).rjust(negative)
        if value >= 0:
            drawing = " " * negative + _bar(value, largest, length - negative, ink)
        rest = in_cells(bar.shown, length - len(drawing) + 1 + values, ink.cut, to_the_right=True)
        if color and drawing.strip():
            drawing = click.style(drawing, fg="red" if value < 0 else "blue")
        lines.append(f"{in_cells(bar.name, names, ink.cut)} {drawing}{rest}")
    return lines


def _bar(value: Decimal | int, largest: Decimal, length: int, ink: Ink) -> str:
    if value <= 0:
        return ""
    steps = len(ink.parts) + 1
    count, part = divmod(int(value * length * steps / largest), steps)
    bar = ink.whole * count + (ink.parts[part - 1] if part else "")
    # A small value must not look like zero.
    return bar or (ink.parts or ink.whole)[0]


_FUNNEL = {
    "requests": "requests",
    "impressions": "impressions",
    "starts": "starts",
    "first_quartiles": "25 % seen",
    "midpoints": "50 % seen",
    "third_quartiles": "75 % seen",
    "completions": "completions",
    "clicks": "clicks",
}


def draw_summary(
    answer: summary_output.Answer, view: summary_output.View, terminal: Terminal
) -> list[str]:
    """Draw the bars of a summary as wide as the terminal, and its note; titles name the unit.

    Groups get bars of the metric that they are sorted by, else of impressions and revenue; days
    stay in their order. Raises CommandError where there is no number.
    """
    all_rows = len(answer.summary.rows)
    is_by_day = view.group_by == "day"
    order = None if is_by_day and not view.top else view.order
    answer = summary_output.in_order(answer, view._replace(order=order), gaps=True)
    if is_by_day:
        answer.summary.rows.sort(key=lambda row: str(row.date))
    # Names without that of the group have no totals.
    rows = summary_output.table_rows(answer, view._replace(names=["-"]))
    group_by, sorted_by = view.group_by, view.order.name if view.order else ""
    charts = []
    metrics: Sequence[str] = [*_FUNNEL]
    if group_by is None:
        columns = summary_output.summary_columns(None, metrics, is_rounded=view.rounded)
        row = rows[0] if rows else {}
        charts.append(("events", [_bar_of(row, metric, _FUNNEL[metric.key]) for metric in columns]))
    else:
        metrics = (summary_output.EVENTS, "impressions", "revenue")
        if any(isinstance(row.get(sorted_by), int | Decimal) for row in rows):
            metrics = (sorted_by,)
        name = summary_output.name_column(group_by)
        for column in summary_output.summary_columns(group_by, metrics, is_rounded=view.rounded):
            bars = [_bar_of(row, column, str(row.get(name))) for row in rows]
            money = f" in {answer.currency}" if answer.currency else ""
            charts.append(
                (f"{column.title}{money if column.key in summary_output.MONEY else ''}", bars)
            )
    with_numbers = [
        (title, bars) for title, bars in charts if any(bar.value is not None for bar in bars)
    ]
    if not with_numbers:
        raise CommandError(
            f"The summary has no {' or '.join(metrics)} to draw.",
            remedy="Name a column of numbers with --sort, or show it with -f table.",
        )
    note = summary_output.table_note([answer], view, all_rows, metrics)
    return chart_lines(with_numbers, note, terminal)


def chart_lines(
    charts: Sequence[tuple[str, Sequence[Bar]]], note: str, terminal: Terminal
) -> list[str]:
    """Draw the charts one below the other, as wide as the terminal, and the note."""
    ink = BLOCKS if terminal.can_show(BLOCKS.whole + BLOCKS.parts + BLOCKS.cut) else LETTERS
    lines = []
    for title, bars in charts:
        heading = click.style(visible(title), bold=True) if terminal.color else visible(title)
        lines += [heading, *draw_bars(bars, ink, width=terminal.width, color=terminal.color), ""]
    return [*lines, *wrapped(visible(note), terminal.width).splitlines()]


def _bar_of(row: Mapping[str, object], column: Column, name: str) -> Bar:
    value = row.get(column.key)
    number = value if isinstance(value, int | Decimal) else None
    return Bar(visible(name), number, visible(column.show(value)))
