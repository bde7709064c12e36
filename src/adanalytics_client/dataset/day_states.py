"""What the service says about days: two requests for any range, however long."""

import hashlib
from collections.abc import Iterable
from datetime import date
from typing import TYPE_CHECKING

from adanalytics_client import Period
from adanalytics_client.dataset.needs import NO_DATA, DayState
from adanalytics_client.dataset.totals import Tally

if TYPE_CHECKING:
    from adanalytics_client import Client, SummaryRow

# What a service may call the day of a row; the first is the reference server's name.
_DAY_NAMES = ("date", "day", "event_date")


class ServiceView:
    """The days that have data, and a row of figures for each.

    Args:
        client: what to ask with.
        wanted: the range of interest, or None for everything that the service lists.
        held: days that are in the dataset, whose data may have gone from the service.
    """

    def __init__(self, client: "Client", wanted: Period | None, held: Iterable[date]) -> None:
        listed = client.dates()
        of_interest = {*listed, *held}
        span = wanted or (Period(min(of_interest), max(of_interest)) if of_interest else None)
        self.span = span
        days = sorted(day for day in listed if span and span.first <= day <= span.last)
        rows = _rows_by_day(client, days[0], days[-1]) if days else {}
        self.days = {day: _state(day, rows.get(day)) for day in days}

    def state(self, day: date) -> DayState:
        """What is said about a day."""
        return self.days.get(day) or DayState(day, NO_DATA)


def fingerprint(row: "SummaryRow | None") -> str:
    """A digest of everything that a row of a summary says, also of fields nobody here knows."""
    text = row.model_dump_json() if row else ""
    return hashlib.sha256(text.encode()).hexdigest()


def _state(day: date, row: "SummaryRow | None") -> DayState:
    known = row.model_dump() if row else {}
    return DayState(day, fingerprint(row), Tally.of_summary(known))


def _rows_by_day(client: "Client", first: date, last: date) -> dict[date, "SummaryRow"]:
    rows = client.summary(first, last, group_by="day").rows
    return {day: row for row in rows if (day := _day_of(row)) is not None}


def _day_of(row: "SummaryRow") -> date | None:
    fields = row.model_dump()
    for name in _DAY_NAMES:
        try:
            return date.fromisoformat(str(fields.get(name)))
        except ValueError:
            continue
    return None
