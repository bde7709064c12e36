"""A summary as bars: from request to click, or impressions and revenue by group."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import click
from rich.cells import cell_len, set_cell_size

from adanalytics_cli.console.table_view import count, plain, rounded
from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.prose import wrapped
from adanalytics_cli.output.summary_output import name_column, named_rows
from adanalytics_client._base.escaping import visible

if TYPE_CHECKING:
    from adanalytics_client import Summary


_NARROWEST_BAR = 4
_LONGEST_NAME = 30


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `shown` is the value as text. No bar is drawn for None, zero and less."""

    name: str
    value: Decimal | int | None
    shown: str


@dataclass(frozen=True, slots=True)
class Ink:
    """The characters of a bar: a full cell, parts of a cell by size, and the end of a cut name."""

    whole: str
    parts: str
    cut: str


BLOCKS = Ink("█", "▏▎▍▌▋▊▉", "…")
LETTERS = Ink("#", "", "~")


def draw_bars(bars: Sequence[Bar], ink: Ink, *, width: int) -> list[str]:
    """Draw one line per bar, not wider than `width` cells unless the values need it.

    The longest bar fills what names and values leave. Names give way first, values never.

    >>> draw_bars([Bar("a", 2, "2"), Bar("b", 1, "1")], LETTERS, width=8)
    ['a #### 2', 'b ##   1']
    """
    values = max((cell_len(bar.shown) for bar in bars), default=0)
    longest = max((cell_len(bar.name) for bar in bars), default=0)
    remaining = width - values - 2
    names = min(longest, _LONGEST_NAME, max(remaining // 2, 1))
    length = max(remaining - names, _NARROWEST_BAR)
    largest = max((bar.value for bar in bars if bar.value), default=Decimal(0))
    return [
        f"{_name(bar.name, names, ink)} "
        f"{_bar(bar.value, largest, length, ink):<{length}} "
        f"{' ' * (values - cell_len(bar.shown))}{bar.shown}"
        for bar in bars
    ]


def _name(name: str, size: int, ink: Ink) -> str:
    if cell_len(name) <= size:
        return set_cell_size(name, size)
    return set_cell_size(name, size - 1) + ink.cut


def _bar(value: Decimal | int | None, largest: Decimal | int, length: int, ink: Ink) -> str:
    if value is None or value <= 0:
        return ""
    steps = len(ink.parts) + 1
    whole, part = divmod(int(Decimal(value) * length * steps / Decimal(largest)), steps)
    drawn = ink.whole * whole + (ink.parts[part - 1] if part else "")
    # A small value must not look like zero.
    return drawn or (ink.parts or ink.whole)[0]


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


def summary_charts(
    summary: "Summary", group_by: str | None, *, digits: int | None
) -> list[tuple[str, list[Bar]]]:
    """Return titles, which name the unit, with their bars; raise CommandError for no number.

    `digits` is to how many money is rounded; None shows all of them.
    """
    charts: list[tuple[str, list[Bar]]] = []
    if group_by is None:
        row = summary.rows[0].model_dump() if summary.rows else {}
        bars = [_bar_of(row, key, name, count) for key, name in _FUNNEL.items()]
        charts.append(("events", bars))
    else:
        name = name_column(group_by)
        rows = named_rows(summary, group_by)
        money = f"revenue in {summary.currency}" if summary.currency else "revenue"
        amount = plain if digits is None else rounded(digits)
        for key, title, show in (("impressions", "impressions", count), ("revenue", money, amount)):
            charts.append((title, [_bar_of(row, key, str(row.get(name)), show) for row in rows]))
    with_numbers = [
        (title, bars) for title, bars in charts if any(bar.value is not None for bar in bars)
    ]
    if not with_numbers:
        raise CommandError(
            "The summary has no numbers to draw.", remedy="Show it with -f table or -f json."
        )
    return with_numbers


def chart_lines(
    charts: Sequence[tuple[str, Sequence[Bar]]], note: str, terminal: Terminal
) -> list[str]:
    """Draw the charts one below the other, as wide as the terminal, and the note."""
    ink = BLOCKS if terminal.can_show(BLOCKS.whole + BLOCKS.parts + BLOCKS.cut) else LETTERS
    lines: list[str] = []
    for title, bars in charts:
        heading = click.style(visible(title), bold=True) if terminal.color else visible(title)
        lines += [heading, *draw_bars(bars, ink, width=terminal.width), ""]
    return [*lines, wrapped(visible(note), terminal.width)]


def _bar_of(row: Mapping[str, object], key: str, name: str, show: Callable[[object], str]) -> Bar:
    value = row.get(key)
    number = value if isinstance(value, int | Decimal) else None
    return Bar(visible(name), number, visible(show(value)))
