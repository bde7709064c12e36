"""What the service says about days; two requests per range."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from adanalytics_client._base.dates import Period, days_between
from adanalytics_client._call import lists
from adanalytics_client._call.session import Connection
from adanalytics_client._events.check import CountedDays, compare_days
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client.dataset.hours.totals import NOTHING, Figures, events_in, stated_figures
from adanalytics_client.dataset.records.layout import Hour, hours_of

if TYPE_CHECKING:
    from adanalytics_client.models import SummaryRow

NO_DATA = "no data"
"""The fingerprint of a day without data."""


@dataclass(frozen=True, slots=True)
class DayState:
    """What the service says about a day.

    Attributes:
        fingerprint: a hash of the day's row in the summary by day; `NO_DATA` for an unlisted day.
        figures: the counts and money that the row states.
    """

    day: date
    fingerprint: str
    figures: Figures

    @property
    def has_data(self) -> bool:
        """Whether the service lists the day."""
        return self.fingerprint != NO_DATA


def started_hours(state: DayState, now: datetime) -> list[Hour]:
    """List the hours of a day that have begun by a given moment in the zone of the service."""
    return [*hours_of(state.day)][: count_started(state, now)]


def count_started(state: DayState, now: datetime) -> int:
    """Count the hours of a day that have begun by a given moment in the zone of the service.

    The service lists no future days, so if a listed day seems to be in the future, the clock is
    behind, and all hours of the day count as begun.
    """
    today = now.date()
    if state.day == today:
        return now.hour + 1
    return 24 if state.day < today or state.has_data else 0


class ServiceDays:
    """The days that have data, and what the summary says about each.

    Args:
        connection: requests `dates` and, if there are any, one summary by day.
        wanted: the range of interest, or None for everything that the service lists.
        held: days in the dataset; the service may no longer have their data.

    Attributes:
        span: the range `wanted`, or by default the range from the first to the last day that is
            listed or held; None if there is no such day.
        days: the days with data.
        counts: the rough number of events of each day with data; 0 if it is unknown.
        lists_nothing: whether the service lists no day at all.
    """

    def __init__(
        self, connection: Connection[SyncDriver], wanted: Period | None, held: Iterable[date]
    ) -> None:
        listed = connection.driver.run(lists.dates(connection.session))
        self.lists_nothing = not listed
        known = {*listed, *held}
        self.span = wanted or (Period(min(known), max(known)) if known else None)
        span = self.span
        days = sorted(day for day in listed if span and span.first <= day <= span.last)
        rows = {}
        if days:
            asked = lists.summary(connection.session, days[0], days[-1], group_by="day")
            found = connection.driver.run(asked).rows
            rows = {day: row for row in found if (day := _day_of(row)) is not None}
        # If the summary has rows, a day without one has only events that the summary leaves out.
        without = NOTHING if rows else {}
        self.days = {day: _state(day, rows.get(day), without) for day in days}
        self.counts = {day: events_in(state.figures) for day, state in self.days.items()}

    def state(self, day: date) -> DayState:
        return self.days.get(day) or DayState(day, NO_DATA, NOTHING)

    def basis(self, first: date, last: date) -> str:
        texts = " ".join(self.state(day).fingerprint for day in days_between(first, last))
        return hashlib.sha256(texts.encode()).hexdigest()


def count_days(
    connection: Connection[SyncDriver], service: ServiceDays, events: Mapping[date, int]
) -> CountedDays:
    """Compare days, each with its number of events, with the service's own count.

    One request is sent for each run of days between which no other day has data, if they agree.
    """
    differing, uncounted = dict[date, str](), dict[date, str]()
    for is_due, run in groupby(sorted({*events, *service.days}), events.__contains__):
        if is_due:
            operation = compare_days(connection.session, {day: events[day] for day in run})
            found = connection.driver.run(operation)
            differing |= found.differing
            uncounted |= found.uncounted
    return CountedDays(differing, uncounted)


def _state(day: date, row: "SummaryRow | None", without: Figures) -> DayState:
    text = row.model_dump_json() if row else ""
    figures = stated_figures(row.model_dump()) if row else without
    return DayState(day, hashlib.sha256(text.encode()).hexdigest(), figures)


def _day_of(row: "SummaryRow") -> date | None:
    fields = row.model_dump()
    for name in lists.DAY_NAMES:
        try:
            return date.fromisoformat(str(fields.get(name)))
        except ValueError:
            continue
    return None
