"""What the service says about days, and which hours to pull; two requests a range."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from typing import TYPE_CHECKING

from adanalytics_client._base.dates import Period
from adanalytics_client._call import operations
from adanalytics_client._call.connection import Connection
from adanalytics_client._io import SyncDriver
from adanalytics_client.dataset.layout import Hour, hours_of
from adanalytics_client.dataset.manifest import UNCONFIRMED, DayRecord
from adanalytics_client.dataset.totals import NOTHING, Figures, stated_figures

if TYPE_CHECKING:
    from adanalytics_client.models import SummaryRow

NO_DATA = "no data"
"""The fingerprint of a day without data."""

# Names that a service may give the day of a row; the first is the reference server's.
_DAY_NAMES = ("date", "day", "event_date")


class Reason(Enum):
    """Why an hour is pulled."""

    MISSING = "missing"
    OPEN = "open when it was pulled"
    RESTATED = "restated"
    FORCED = "pulled again on demand"


@dataclass(frozen=True, slots=True)
class DayState:
    """The service's statements about a day.

    Attributes:
        day: the day.
        fingerprint: of its row in the summary by day; `NO_DATA` for a day without data.
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
    """List the hours of a day that have begun at a moment in UTC.

    A day that the service lists is not in the future, so then the clock is behind.
    """
    is_behind = state.has_data and state.day > now.date()
    return [hour for hour in hours_of(state.day) if is_behind or hour.start <= now]


class ServiceDays:
    """The days that have data, and what the summary says about each.

    Args:
        connection: requests `dates` and, if there are any, one summary by day.
        wanted: the range of interest, or None for everything that the service lists.
        held: days in the dataset; the service may no longer have their data.

    Attributes:
        span: the range; None where nothing is listed or held.
        days: the days with data.
        lists_nothing: whether the service lists no day at all.
    """

    def __init__(
        self, connection: Connection[SyncDriver], wanted: Period | None, held: Iterable[date]
    ) -> None:
        listed = connection.driver.run(operations.dates(connection.session))
        self.lists_nothing = not listed
        known = {*listed, *held}
        self.span = wanted or (Period(min(known), max(known)) if known else None)
        span = self.span
        days = sorted(day for day in listed if span and span.first <= day <= span.last)
        rows = _rows_by_day(connection, days[0], days[-1]) if days else {}
        # If the summary has rows, a day without one has only events that the summary leaves out.
        without = NOTHING if rows else {}
        self.days = {day: _state(day, rows.get(day), without) for day in days}

    def state(self, day: date) -> DayState:
        """Return the state of a day."""
        return self.days.get(day) or DayState(day, NO_DATA, NOTHING)


@dataclass(frozen=True, slots=True)
class DayNeed:
    """The hours that a day needs.

    Attributes:
        asked: the hours to pull, and why.
        empty: hours of a day without data; no request is needed to know that they are empty.
        doubtful: hours that were pulled under another fingerprint, or whose day was not yet
            compared with the summary. They are pulled only if the day does not add up to it.
    """

    asked: Mapping[Hour, Reason] = field(default_factory=dict)
    empty: tuple[Hour, ...] = ()
    doubtful: tuple[Hour, ...] = ()


def find_need(
    record: DayRecord, state: DayState, now: datetime, *, force: Collection[Hour] = ()
) -> DayNeed:
    """Compare the held hours of a day with what the service says about it.

    Args:
        record: the hours that are held.
        state: what the service says about the day.
        now: the current time, in UTC; an hour that has not begun is not pulled.
        force: hours to pull in any case, unless neither side has events of the day.
    """
    need = _difference(record, state, now)
    forced = [hour for hour in hours_of(state.day) if hour in force]
    if not forced or not (state.has_data or record.rows):
        return need
    asked = {**need.asked, **dict.fromkeys(forced, Reason.FORCED)}
    doubtful = tuple(hour for hour in need.doubtful if hour not in asked)
    return replace(need, asked=asked, doubtful=doubtful)


def _difference(record: DayRecord, state: DayState, now: datetime) -> DayNeed:
    started = started_hours(state, now)
    missing = [hour for hour in started if hour.hour not in record.hours]
    held = {hour: record.hours[hour.hour] for hour in started if hour.hour in record.hours}
    open_when_asked = [hour for hour, of in held.items() if not hour.is_over(of.asked_at)]
    if not state.has_data and not record.rows:
        return DayNeed(empty=tuple(h for h in (*missing, *open_when_asked) if h.is_over(now)))
    changed = {hour for hour, of in held.items() if of.fingerprint != state.fingerprint}
    asked = dict.fromkeys(missing, Reason.MISSING)
    asked |= {hour: Reason.OPEN for hour in open_when_asked if hour in changed or hour.is_over(now)}
    doubtful = sorted(changed.difference(open_when_asked))
    if not missing and not open_when_asked:
        # The summary changed, and nothing shows for which of the hours.
        restated = [h for h in doubtful if held[h].fingerprint != UNCONFIRMED]
        asked |= dict.fromkeys(restated, Reason.RESTATED)
    return DayNeed(asked, doubtful=tuple(hour for hour in doubtful if hour not in asked))


def _state(day: date, row: "SummaryRow | None", without: Figures) -> DayState:
    text = row.model_dump_json() if row else ""
    figures = stated_figures(row.model_dump()) if row else without
    return DayState(day, hashlib.sha256(text.encode()).hexdigest(), figures)


def _rows_by_day(
    connection: Connection[SyncDriver], first: date, last: date
) -> dict[date, "SummaryRow"]:
    asked = operations.summary(connection.session, first, last, group_by="day")
    rows = connection.driver.run(asked).rows
    return {day: row for row in rows if (day := _day_of(row)) is not None}


def _day_of(row: "SummaryRow") -> date | None:
    fields = row.model_dump()
    for name in _DAY_NAMES:
        try:
            return date.fromisoformat(str(fields.get(name)))
        except ValueError:
            continue
    return None
