"""Positions of the squares of the calendar and the heatmap, and of the bars of the charts.

Positions are whole units; the drawings stretch to the width of the page.
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

from .coverage import DayCoverage, level_of
from .format import counted

COLUMN = 20
CALENDAR_ROW = 14
HOUR_ROW = 13
CHART_HEIGHT = 160
# Ends of an axis, times a power of ten: each has a round half, even with single units.
_ROUND = (10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
_ROUND_UNITS = (2, 4, 6, 8, 10)


class Square(NamedTuple):
    """One square: its corner, the class of its colour, and its tooltip."""

    x: int
    y: int
    kind: str
    title: str


class Grid(NamedTuple):
    """A drawing of squares, ``width`` by ``height`` units."""

    squares: tuple[Square, ...]
    width: int
    height: int


def year_grid(days: Sequence[DayCoverage]) -> Grid:
    """Draw a year: a column per week, a row per weekday, starting on Monday."""
    offset = days[0].day.weekday()
    squares = tuple(
        Square(
            (offset + number) // 7 * COLUMN,
            (offset + number) % 7 * CALENDAR_ROW,
            _kind(day.level, missing=len(day.gaps) == len(day.hours)),
            f"{day.day}: {day.covered} of 24 hours, {counted(day.events, 'event')}",
        )
        for number, day in enumerate(days)
    )
    return Grid(squares, squares[-1].x + COLUMN, 7 * CALENDAR_ROW)


def month_labels(days: Sequence[DayCoverage]) -> list[date | None]:
    """Return the month that begins in each column of a year's calendar, or ``None``."""
    offset = days[0].day.weekday()
    months = {
        (offset + number) // 7: day.day for number, day in enumerate(days) if day.day.day == 1
    }
    return [months.get(week) for week in range((offset + len(days) - 1) // 7 + 1)]


def hour_grid(days: Sequence[DayCoverage]) -> Grid:
    """Draw a month: a column per day, a row per hour; darker means more events."""
    fullest = max((events for day in days for events in day.hours), default=0)
    squares = tuple(
        Square(
            column * COLUMN,
            hour * HOUR_ROW,
            _kind(level_of(events, fullest), missing=hour in day.gaps),
            f"{day.day} {hour:02d}:00: "
            + ("gap, no data" if hour in day.gaps else counted(events, "event")),
        )
        for column, day in enumerate(days)
        for hour, events in enumerate(day.hours)
    )
    return Grid(squares, len(days) * COLUMN, 24 * HOUR_ROW)


def _kind(level: int, *, missing: bool) -> str:
    return "gap" if missing else f"level-{level}"


class Bar(NamedTuple):
    """One bar, from its upper end down; ``title`` is its tooltip."""

    x: int
    y: int
    height: int
    title: str


class Tick(NamedTuple):
    """A line across the chart and its number."""

    y: int
    text: str


class BarChart(NamedTuple):
    """A bar per day, ``width`` by ``CHART_HEIGHT`` units; bars start at ``zero``."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    width: int
    zero: int


def bar_chart(
    values: Sequence[int], titles: Sequence[str], *, tick_text: Callable[[int], str]
) -> BarChart:
    """Lay out a bar, and its tooltip, for each value (money in nanos); negative ones go down."""
    top = round_up(max((0, *values)))
    bottom = -round_up(-min((0, *values)))
    if top == bottom:
        top = _ROUND_UNITS[0]

    def y_of(value: int) -> int:
        return (top - value) * CHART_HEIGHT // (top - bottom)

    zero = y_of(0)
    bars = []
    for number, (value, title) in enumerate(zip(values, titles, strict=True)):
        end = y_of(value)
        # A bar that is not zero must be visible.
        height = max(abs(end - zero), 1 if value else 0)
        upper = zero if value < 0 else zero - height
        bars.append(Bar(number * COLUMN, upper, height, title))
    marks = (top, 0, bottom) if bottom else (top, top // 2, 0)
    ticks = tuple(Tick(y_of(mark), tick_text(mark)) for mark in dict.fromkeys(marks))
    return BarChart(tuple(bars), ticks, len(values) * COLUMN, zero)


def round_up(value: int) -> int:
    """Return the next round number for the end of an axis."""
    if value <= 0:
        return 0
    scale: int = 10 ** max(0, len(str(value)) - 2)
    steps = _ROUND if value > _ROUND_UNITS[-1] else _ROUND_UNITS
    return next(step * scale for step in steps if step * scale >= value)
