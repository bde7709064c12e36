"""A calendar of covered days as lines of text: one row per month, one mark per day."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import NamedTuple

from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.periods import days_of, spans_of
from adanalytics_cli.core.prose import wrapped
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted

HOURS = 24
_LABEL = len("2026-01 ")
_DAYS = 31
# Wide enough for a whole month, else for a part of it.
_ROW_LENGTHS = (_DAYS, 16, 8)
_RULER = "1   5    10   15   20   25   30"
_GAPS_SHOWN = 5
# A century, a line for each month.
_LONGEST = timedelta(36_525)


# The marks of a day with no data, a few hours, half, most and all of them.
SHADES = "·░▒▓█"
LETTERS = ".-+*#"


def level_of(hours: int) -> int:
    """Return 0 for no hours, 4 for all 24, and 1 to 3 for each third between."""
    if hours <= 0:
        return 0
    return 4 if hours >= HOURS else 1 + (hours - 1) // (HOURS // 3)


class Coverage(NamedTuple):
    """The number of hours with data, 0 to 24, of each day from `first` to `last`.

    A day that is not in `hours` has none. `gaps` are the hours without data, as text; None where
    only days are known, as from the service: they are drawn without shades.
    """

    hours: Mapping[date, int]
    first: date
    last: date
    gaps: Sequence[str] | None = None

    def days(self) -> list[date]:
        if self.last - self.first > _LONGEST:
            text = f"{self.first} to {self.last} is too long for a calendar."
            raise CommandError(text, remedy="Give START and END.")
        return days_of(self.first, self.last)


def draw_calendar(coverage: Coverage, marks: str, *, width: int) -> list[str]:
    """Draw the calendar in lines, none wider than `width` cells where that is 16 or more."""
    length = next((size for size in _ROW_LENGTHS if _LABEL + size <= width), _ROW_LENGTHS[-1])
    has_counts = width >= _LABEL + _DAYS + len("  31/31")
    lines = [" " * _LABEL + _RULER] if length == _DAYS else []
    for _, month in groupby(coverage.days(), key=lambda day: (day.year, day.month)):
        days = [*month]
        marks_by_day = {day.day: marks[level_of(coverage.hours.get(day, 0))] for day in days}
        row = "".join(marks_by_day.get(number, " ") for number in range(1, _DAYS + 1))
        pieces = [row[start : start + length] for start in range(0, _DAYS, length)]
        labels = [f"{days[0]:%Y-%m} ", *[" " * _LABEL] * (len(pieces) - 1)]
        rows = [label + piece for label, piece in zip(labels, pieces, strict=True) if piece.strip()]
        if has_counts:
            full = sum(coverage.hours.get(day, 0) > 0 for day in days)
            rows[0] += f"  {full:>2}/{len(days)}"
        lines += rows
    return lines


def legend(coverage: Coverage, marks: str) -> list[str]:
    """Tell the meaning of the marks, the number of days with data, and the days without."""
    days = coverage.days()
    day_count = sum(coverage.hours.get(day, 0) > 0 for day in days)
    lines = [f"{marks[4]} data  {marks[0]} none"]
    # Only a dataset knows the hours of its days.
    if coverage.gaps is not None:
        lines = ["hours: {} 0  {} 1-8  {} 9-16  {} 17-23  {} 24".format(*marks)]
    lines.append(f"Data on {day_count:,} of {counted(len(days), 'day')}.")
    gaps = coverage.gaps
    if gaps is None:
        gaps = spans_of(day for day in days if coverage.hours.get(day, 0) <= 0)
    if gaps:
        lines += ["Missing:", *(f"  {gap}" for gap in gaps[:_GAPS_SHOWN])]
        if len(gaps) > _GAPS_SHOWN:
            lines.append(f"  and {counted(len(gaps) - _GAPS_SHOWN, 'more gap')}")
    return lines


def calendar_lines(coverage: Coverage, note: str, terminal: Terminal) -> list[str]:
    """Draw a calendar with its legend, in shades or letters, as the terminal can show them.

    The `note` below them may be empty.
    """
    marks = SHADES if terminal.can_show(SHADES) else LETTERS
    lines = draw_calendar(coverage, marks, width=terminal.width)
    if terminal.color:
        green = f"\x1b[32m{marks[-1]}\x1b[0m"
        lines = [line.replace(marks[-1], green).replace("\x1b[0m\x1b[32m", "") for line in lines]
    note_lines = wrapped(visible(note), terminal.width).splitlines()
    return [*lines, "", *legend(coverage, marks), *note_lines]
