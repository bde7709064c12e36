"""Which hours a sync pulls: what the dataset holds, compared with what the service says."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum

from adanalytics_client._base.dates import days_between

from .records.contents import Contents
from .records.layout import Hour, hours_of
from .records.manifest import UNCONFIRMED, DayRecord
from .service import DayState, ServiceDays, started_hours


class Reason(Enum):
    MISSING = "missing"
    OPEN = "open when it was pulled"
    RESTATED = "restated"
    FORCED = "pulled again on demand"


@dataclass(frozen=True, slots=True)
class DayNeed:
    """Hours of a day to pull, to record as empty, or to re-check.

    Attributes:
        asked: the hours to pull, and why.
        empty: hours of a day without data; no request is needed to know that they are empty.
        doubtful: hours that were pulled when the day had a different fingerprint, or whose day has
            not yet been compared with the summary. They are pulled only if the totals of the day do
            not match the summary.
    """

    asked: Mapping[Hour, Reason] = field(default_factory=dict)
    empty: tuple[Hour, ...] = ()
    doubtful: tuple[Hour, ...] = ()


def find_need(
    record: DayRecord, state: DayState, now: datetime, *, force: Collection[Hour] = ()
) -> DayNeed:
    """Compare the held hours of a day with what the service says about it.

    An hour that has not begun is not pulled. Hours in `force` are pulled in any case, unless
    neither the dataset nor the service has events of the day.
    """
    need = _difference(record, state, now)
    forced = [hour for hour in hours_of(state.day) if hour in force] if force else []
    # A repull of a day that nobody has would cost 24 requests for nothing.
    if not forced or not (state.has_data or record.rows):
        return need
    reasons = {**need.asked, **dict.fromkeys(forced, Reason.FORCED)}
    doubtful = tuple(hour for hour in need.doubtful if hour not in reasons)
    return replace(need, asked=reasons, doubtful=doubtful)


def _difference(record: DayRecord, state: DayState, now: datetime) -> DayNeed:
    hours = started_hours(state, now)
    missing = [hour for hour in hours if hour.hour not in record.hours]
    records = {hour: record.hours[hour.hour] for hour in hours if hour.hour in record.hours}
    open_when_asked = [
        hour for hour, hour_record in records.items() if not hour.is_over(hour_record.asked_at)
    ]
    # Hours that a count has contradicted are no longer known to be empty.
    is_known = all(hour_record.has_agreed for hour_record in records.values())
    if not state.has_data and not record.rows and is_known:
        return DayNeed(empty=tuple(h for h in (*missing, *open_when_asked) if h.is_over(now)))
    changed = {
        hour
        for hour, hour_record in records.items()
        if hour_record.fingerprint != state.fingerprint
    }
    reasons = dict.fromkeys(missing, Reason.MISSING)
    reasons |= {
        hour: Reason.OPEN for hour in open_when_asked if hour in changed or hour.is_over(now)
    }
    doubtful = sorted(changed.difference(open_when_asked))
    if not missing and not open_when_asked:
        # The summary changed, and nothing shows for which of the hours.
        restated = [h for h in doubtful if records[h].fingerprint != UNCONFIRMED]
        reasons |= dict.fromkeys(restated, Reason.RESTATED)
    return DayNeed(reasons, doubtful=tuple(hour for hour in doubtful if hour not in reasons))


@dataclass(frozen=True, slots=True)
class Needs:
    """What a sync needs to do for each day of a dataset.

    Attributes:
        damaged: descriptions of damaged files; their hours do not count as held.
        narrowed: restated days of which only hours whose number of events moved are pulled.
        counts: the number of requests for totals that this cost.
    """

    service: ServiceDays
    days: Mapping[date, DayNeed] = field(default_factory=dict)
    damaged: Sequence[str] = ()
    narrowed: frozenset[date] = frozenset()
    counts: int = 0

    @property
    def asked(self) -> dict[Hour, Reason]:
        return {hour: reason for need in self.days.values() for hour, reason in need.asked.items()}


def find_needs(
    contents: Contents, ask: Callable[[], ServiceDays], repull: int, now: datetime
) -> Needs:
    """Compare each day with the service; if a response is surprising, request it once more.

    The last `repull` days are pulled regardless.
    """
    service = ask()
    # An empty list is most often an accident. A dataset with days would notice it below.
    if service.lists_nothing and not contents.manifest.days():
        service = ask()
    if service.span is None:
        return Needs(service)
    days = [*days_between(service.span.first, service.span.last)]
    damaged = contents.find_damage(days)
    last_days = days[-repull:] if repull else []
    forced = {hour for day in last_days for hour in started_hours(service.state(day), now)}
    record_of = contents.manifest.day

    def compare(service: ServiceDays) -> Needs:
        by_day = {
            day: find_need(record_of(day), service.state(day), now, force=forced) for day in days
        }
        return Needs(service, by_day, damaged)

    needs = compare(service)
    # Days that vanished would be pulled, and their events removed, so the service has to say it
    # twice.
    states = [service.state(day) for day in days]
    silent = [state.day for state in states if not (state.has_data and state.figures)]
    if any(needs.days[day].asked and record_of(day).rows for day in silent):
        needs = compare(ask())
    return needs
