"""A calendar of covered days as lines of text: one row per month, one mark per day."""

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import groupby

from adanalytics_client._base.quantities import counted

HOURS = 24
_LABEL = len("2026-01 ")
_DAYS = 31
# Wide enough for a whole month, else for a part of it.
_ROW_LENGTHS = (_DAYS, 16, 8)
_RULER = "1   5    10   15   20   25   30"
_GAPS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a day with no data, a few hours, half, most and all of them."""

    levels: tuple[str, str, str, str, str]

    def of(self, hours: int) -> str:
        """The mark of a day that has data in `hours` of its hours."""
        return self.levels[level_of(hours)]


SHADES = Marks(("·", "░", "▒", "▓", "█"))
LETTERS = Marks((".", "-", "+", "*", "#"))


def level_of(hours: int) -> int:
    """0 for no hours, 4 for all 24, and 1 to 3 for each third between."""
    if hours <= 0:
        return 0
    return 4 if hours >= HOURS else 1 + (hours - 1) // (HOURS // 3)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The number of hours with data, 0 to 24, of each day from `first` to `last`.

    A day that is not in `hours` has none. `by_hour` is false where only days are known, as from
    the service; they are drawn without shades.
    """

    hours: Mapping[date, int]
    first: date
    last: date
    by_hour: bool = False

    def days(self) -> Iterator[date]:
        """Every day of the period."""
        return (self.first + timedelta(days=n) for n in range((self.last - self.first).days + 1))

    def of(self, day: date) -> int:
        """The hours of one day."""
        return self.hours.get(day, 0)


def draw_calendar(coverage: Coverage, marks: Marks, *, width: int) -> list[str]:
    """The lines of the calendar, none wider than `width` cells where that is 16 or more.

    >>> january = Coverage({date(2026, 1, 2): 24}, date(2026, 1, 1), date(2026, 1, 3))
    >>> draw_calendar(january, LETTERS, width=40)[1].rstrip()
    '2026-01 .#.'
    """
    length = next((each for each in _ROW_LENGTHS if _LABEL + each <= width), _ROW_LENGTHS[-1])
    counted = width >= _LABEL + _DAYS + len("  31/31")
    lines = [" " * _LABEL + _RULER] if length == _DAYS else []
    for (year, month), days in groupby(coverage.days(), key=lambda day: (day.year, day.month)):
        lines += _month(coverage, marks, list(days), date(year, month, 1), length, counted=counted)
    return lines


def _month(
    coverage: Coverage, marks: Marks, days: list[date], first: date, length: int, *, counted: bool
) -> list[str]:
    last = calendar.monthrange(first.year, first.month)[1]
    inside = {day.day: marks.of(coverage.of(day)) for day in days}
    row = "".join(inside.get(number, " ") for number in range(1, last + 1)).ljust(_DAYS)
    pieces = [row[at : at + length] for at in range(0, _DAYS, length)]
    labels = [f"{first:%Y-%m} ", *[" " * _LABEL] * (len(pieces) - 1)]
    lines = [label + piece for label, piece in zip(labels, pieces, strict=True) if piece.strip()]
    if counted:
        full = sum(coverage.of(day) > 0 for day in days)
        lines[0] += f"  {full:>2}/{len(days)}"
    return lines


def legend(coverage: Coverage, marks: Marks) -> list[str]:
    """The meaning of the marks, the number of days with data, and the days without."""
    none, few, half, most, full = marks.levels
    days = list(coverage.days())
    covered = sum(coverage.of(day) > 0 for day in days)
    lines = [f"{full} data  {none} none"]
    if coverage.by_hour:
        lines = [f"hours: {none} 0  {few} 1-8  {half} 9-16  {most} 17-23  {full} 24"]
    lines.append(f"Data on {covered:,} of {counted(len(days), 'day')}.")
    if gaps := _gaps(coverage):
        lines += ["Missing:", *(f"  {gap}" for gap in gaps[:_GAPS_SHOWN])]
        if len(gaps) > _GAPS_SHOWN:
            lines.append(f"  and {counted(len(gaps) - _GAPS_SHOWN, 'more gap')}")
    return lines


def _gaps(coverage: Coverage) -> list[str]:
    """The runs of days without data."""
    gaps = []
    for missing, run in groupby(coverage.days(), key=lambda day: coverage.of(day) <= 0):
        days = list(run)
        if missing:
            gaps.append(str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}")
    return gaps
