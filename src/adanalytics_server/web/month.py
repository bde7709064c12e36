"""One month of one partner, as the overview shows it."""

from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from adanalytics_server.api.summaries import read_dates, read_summary
from adanalytics_server.errors import ApiError
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.store import PartnerStore

from . import drawings
from .coverage import DayCoverage, read_coverage
from .format import amount, compact, counted

# The figures of a day that the summary does not list.
_NOTHING = {"impressions": 0, "clicks": 0, "revenue": "0.000000000", "ecpm": None}


class DayFigures(NamedTuple):
    """A day's coverage and its row of the summary, or zeros."""

    coverage: DayCoverage
    summary: Mapping[str, Any]


class MonthView(NamedTuple):
    """A month: its days, its totals, its drawings, and the months around it.

    ``labels`` has one item per column of the calendar: the month that begins there or ``None``, and
    whether it has data.
    """

    month: date
    months: tuple[date, ...]
    days: tuple[DayFigures, ...]
    totals: dict[str, Any]
    labels: tuple[tuple[date | None, bool], ...]
    year: drawings.Grid
    hours: drawings.Grid
    impressions: drawings.BarChart
    revenue: drawings.BarChart

    @property
    def before(self) -> date | None:
        return max((month for month in self.months if month < self.month), default=None)

    @property
    def after(self) -> date | None:
        return min((month for month in self.months if month > self.month), default=None)


def parse_month(text: str | None) -> date | None:
    """Read ``YYYY-MM`` as the month's first day; an empty text is ``None``.

    Raises:
        ApiError: 400 for another form, or a year before 1.
    """
    if not text:
        return None
    try:
        return date.fromisoformat(f"{text}-01")
    except ValueError as error:
        raise ApiError(400, "Write the month as YYYY-MM, such as 2026-01.") from error


def read_month(store: PartnerStore, choice: date | None, *, currency: str) -> MonthView | None:
    """Read a month, by default the newest with data; ``None`` if the partner has no data."""
    months = tuple(dict.fromkeys(date.fromisoformat(f"{day[:7]}-01") for day in read_dates(store)))
    if not months:
        return None
    month = choice or months[-1]
    last = month.replace(day=monthrange(month.year, month.month)[1])
    summary = read_summary(store, DayRange(month, last), group_by="day", currency=currency)
    totals = summary["totals"]
    rows = {row["date"]: row for row in summary["summary"]}
    year = read_coverage(store, month.year)
    days = tuple(
        DayFigures(day, rows.get(day.day.isoformat(), _NOTHING))
        for day in year
        if day.day.month == month.month
    )
    return MonthView(
        month=month,
        # A month without data can be chosen by its address, and has to be in the list.
        months=tuple(sorted({*months, month})),
        days=days,
        totals=totals,
        labels=tuple((label, label in months) for label in drawings.month_labels(year)),
        year=drawings.year_grid(year),
        hours=drawings.hour_grid([day.coverage for day in days]),
        impressions=_chart(days, "impressions", lambda count: counted(count, "impression")),
        revenue=_chart(days, "revenue", lambda money: f"{currency} {amount(money)}", 9),
    )


def _chart(
    days: tuple[DayFigures, ...], name: str, text: Callable[[Any], str], digits: int = 0
) -> drawings.BarChart:
    """Draw a figure by day, which has so many ``digits`` after the point."""
    values = {str(day.coverage.day): day.summary[name] for day in days}
    titles = [f"{day}: {text(value)}" for day, value in values.items()]
    numbers = [int(Decimal(value).scaleb(digits)) for value in values.values()]
    return drawings.bar_chart(
        numbers, titles, tick_text=lambda number: compact(Decimal(number).scaleb(-digits))
    )
