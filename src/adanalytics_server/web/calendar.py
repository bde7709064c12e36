"""Where the squares of the calendar and the heatmap go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from adanalytics_server.web.coverage import Coverage, DayCoverage, level_of
from adanalytics_server.web.format import count

# Units of the drawings; they are stretched to the width of the page.
COLUMN = 20
CALENDAR_ROW = 14
HOUR_ROW = 13


@dataclass(frozen=True, slots=True)
class Square:
    """One square: its corner, the class that colours it, and what it says."""

    x: int
    y: int
    kind: str
    title: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A drawing of squares, ``width`` by ``height`` units."""

    squares: tuple[Square, ...]
    width: int
    height: int


def year_grid(coverage: Coverage) -> Grid:
    """Draw a year: a column a week, a row a weekday from Monday on."""
    offset = date(coverage.year, 1, 1).weekday()
    days = [day for month in coverage.months() for day in month]
    squares = tuple(
        Square(
            (offset + number) // 7 * COLUMN,
            (offset + number) % 7 * CALENDAR_ROW,
            _kind(day.level, missing=len(day.gaps) == len(day.hours)),
            f"{day.day}: {day.covered} of 24 hours, {count(day.events)} events",
        )
        for number, day in enumerate(days)
    )
    return Grid(squares, weeks_of(coverage.year) * COLUMN, 7 * CALENDAR_ROW)


def month_columns(year: int) -> dict[int, int]:
    """Return week column -> month, for the week in which each month begins."""
    first = date(year, 1, 1)
    return {
        (first.weekday() + (date(year, month, 1) - first).days) // 7: month
        for month in range(1, 13)
    }


def weeks_of(year: int) -> int:
    """Count the columns of a year's calendar: 53, or 54 when both ends are short."""
    first, last = date(year, 1, 1), date(year, 12, 31)
    return (first.weekday() + (last - first).days) // 7 + 1


def hour_grid(days: Sequence[DayCoverage]) -> Grid:
    """Draw a month: a column a day, a row an hour; darker is more events."""
    most = max((events for day in days for events in day.hours), default=0)
    squares = tuple(
        Square(
            column * COLUMN,
            hour * HOUR_ROW,
            _kind(level_of(events, most), missing=hour in day.gaps),
            f"{day.day} {hour:02d}:00: {_events_or_gap(events, missing=hour in day.gaps)}",
        )
        for column, day in enumerate(days)
        for hour, events in enumerate(day.hours)
    )
    return Grid(squares, len(days) * COLUMN, 24 * HOUR_ROW)


def _kind(level: int, *, missing: bool) -> str:
    return "gap" if missing else f"level-{level}"


def _events_or_gap(events: int, *, missing: bool) -> str:
    return "no data, a gap" if missing else f"{count(events)} events"
