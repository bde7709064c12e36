"""A summary as bars: the way from request to click, or impressions and revenue by group."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from adanalytics_cli.console.bar_chart import BLOCKS, LETTERS, Bar, draw_bars
from adanalytics_cli.console.table_view import count
from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.output.chart_output import bar_lines
from adanalytics_cli.output.summary_table import name_column, named_rows

if TYPE_CHECKING:
    from adanalytics_client import Summary

_FUNNEL = {
    "ad_requests": "requests",
    "impressions": "impressions",
    "starts": "starts",
    "first_quartiles": "25 % seen",
    "midpoints": "50 % seen",
    "third_quartiles": "75 % seen",
    "completions": "completions",
    "clicks": "clicks",
}


def summary_charts(summary: "Summary", group_by: str | None) -> list[tuple[str, list[Bar]]]:
    """Titles, which name the unit, with their bars; raises CommandError without any number."""
    charts: list[tuple[str, list[Bar]]] = []
    if group_by is None:
        row = summary.rows[0].model_dump() if summary.rows else {}
        charts.append(("events", [_bar(row, key, name) for key, name in _FUNNEL.items()]))
    else:
        name = name_column(group_by)
        rows = named_rows(summary, group_by)
        money = f"revenue in {summary.currency}" if summary.currency else "revenue"
        for key, title in (("impressions", "impressions"), ("revenue", money)):
            charts.append((title, [_bar(row, key, str(row.get(name))) for row in rows]))
    with_numbers = [
        (title, bars) for title, bars in charts if any(bar.value is not None for bar in bars)
    ]
    if not with_numbers:
        raise CommandError(
            "the summary has no numbers to draw", remedy="Look at it with -f table or -f json."
        )
    return with_numbers


def chart_lines(
    charts: Sequence[tuple[str, Sequence[Bar]]], note: str, terminal: Terminal
) -> list[str]:
    """The charts one below the other, as wide as the terminal, and the note."""
    ink = BLOCKS if terminal.can_show(BLOCKS.whole + BLOCKS.parts + BLOCKS.cut) else LETTERS
    lines: list[str] = []
    for title, bars in charts:
        lines += [*bar_lines(title, draw_bars(bars, ink, width=terminal.width), terminal), ""]
    return [*lines, note]


def _bar(row: Mapping[str, object], key: str, name: str) -> Bar:
    value = row.get(key)
    number = value if isinstance(value, int | Decimal) else None
    return Bar(name, number, count(value))
