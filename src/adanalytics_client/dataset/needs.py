"""Which hours must be asked for: those missing, open when they were asked for, or restated."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from enum import Enum

from adanalytics_client.dataset.hours import Hour, hours_of
from adanalytics_client.dataset.manifest import DayRecord, HourRecord
from adanalytics_client.dataset.totals import Tally

LATENESS = timedelta(hours=1)
"""How long after its end an hour still counts as open, for events that arrive late."""

NO_DATA = "no data"
"""The fingerprint of a day without data."""


class Reason(Enum):
    """Why an hour is asked for."""

    MISSING = "missing"
    OPEN = "open when it was pulled"
    RESTATED = "restated"
    FORCED = "asked for with --repull"


@dataclass(frozen=True, slots=True)
class DayState:
    """What the service says about a day.

    Attributes:
        day: the day.
        fingerprint: of its row in the summary by day, `NO_DATA` for a day without any.
        tally: the row's counts and money.
    """

    day: date
    fingerprint: str
    tally: Tally = field(default_factory=Tally)

    @property
    def has_data(self) -> bool:
        """Whether the service lists the day."""
        return self.fingerprint != NO_DATA


@dataclass(frozen=True, slots=True)
class DayNeed:
    """What a day needs.

    Attributes:
        state: what the service says.
        asked: the hours to ask for, and why.
        empty: hours of a day without data, which need no request to be known as empty.
        doubtful: hours that were pulled whole under another fingerprint. The hours to be asked
            for may be all that changed; `unexplained` tells when they are there.
    """

    state: DayState
    asked: Mapping[Hour, Reason] = field(default_factory=dict)
    empty: tuple[Hour, ...] = ()
    doubtful: tuple[Hour, ...] = ()


def find_need(
    record: DayRecord, state: DayState, now: datetime, *, force: Collection[Hour] = ()
) -> DayNeed:
    """Compare what is held of a day with what the service says about it.

    Args:
        record: what is held.
        state: what the service says.
        now: the present moment, in UTC; an hour that has not begun is never asked for.
        force: hours to ask for in any case, unless nobody has events of the day.
    """
    need = _difference(record, state, now)
    forced = [hour for hour in hours_of(state.day) if hour in force]
    if not forced or not (state.has_data or record.rows):
        return need
    asked = {**need.asked, **dict.fromkeys(forced, Reason.FORCED)}
    doubtful = tuple(hour for hour in need.doubtful if hour not in asked)
    return replace(need, asked=asked, doubtful=doubtful)


def _difference(record: DayRecord, state: DayState, now: datetime) -> DayNeed:
    begun = [hour for hour in hours_of(state.day) if hour.begins <= now]
    missing = [hour for hour in begun if hour.hour not in record.hours]
    if not state.has_data and not record.rows:
        return DayNeed(state, empty=tuple(hour for hour in missing if is_closed(hour, now)))
    held = {hour: record.hours[hour.hour] for hour in begun if hour.hour in record.hours}
    open_when_asked = [hour for hour, of in held.items() if not is_closed(hour, of.asked_at)]
    changed = [hour for hour, of in held.items() if of.fingerprint != state.fingerprint]
    asked = dict.fromkeys(missing, Reason.MISSING)
    asked |= {
        hour: Reason.OPEN for hour in open_when_asked if hour in changed or is_closed(hour, now)
    }
    doubtful = tuple(hour for hour in changed if hour not in open_when_asked)
    if missing or open_when_asked:
        return DayNeed(state, asked, doubtful=doubtful)
    return DayNeed(state, dict.fromkeys(doubtful, Reason.RESTATED))


def is_closed(hour: Hour, moment: datetime) -> bool:
    """Whether nothing more was to come of an hour at a moment in UTC."""
    # The last hour of the calendar has no end that could be told.
    return moment - LATENESS - timedelta(hours=1) >= hour.begins


def is_settled(record: DayRecord) -> bool:
    """Whether every hour of the day was pulled after it was over."""
    return all(
        hour.hour in record.hours and is_closed(hour, record.hours[hour.hour].asked_at)
        for hour in hours_of(record.day)
    )


def is_explained(record: DayRecord, state: DayState) -> bool:
    """Whether the events held of a day add up to what the service says of it."""
    tallies = [of.tally for of in record.hours.values()]
    known = [tally for tally in tallies if tally is not None]
    return len(known) == len(tallies) and not Tally.total(known).differences(state.tally)


def empty_record(asked_at: datetime, fingerprint: str) -> HourRecord:
    """An hour without events, which has no file."""
    return HourRecord(0, 0, "", asked_at, fingerprint)
