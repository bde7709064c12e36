"""Look for days that are over and that the service has left out of a pull."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta

from adanalytics_client._base.dates import days_between
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.quantities import counted
from adanalytics_client._call.session import Session
from adanalytics_client._lists.dates import dates
from adanalytics_client.errors import AdAnalyticsError

from .check import Comparison, difference
from .counts import NotCounted, first_open_day, request_place, request_total
from .plan import Slice


def find_omission(session: Session, pull: Comparison) -> Operation[str]:
    """Describe a day that is over and that has events, but of which none arrived; empty for none.

    The service lists the day, or has its events when the range is divided.
    """
    if pull.hour is not None:
        return (yield from _find_omission_of_hour(session, pull))
    empty, days, first_open = pull.empty_days, pull.days, first_open_day(session, pull.cut_day)
    # With events of the first and the last day, only a day between them can be missing; one that is
    # not over may still be empty.
    is_all = days and (days[0], days[-1]) == (pull.start, pull.end)
    if is_all and not any(day < first_open for day in empty):
        return ""
    data_days = yield from _request_dates(session, pull)
    missing = [
        day
        for day in sorted({*(data_days or days_between(pull.start, pull.end))})
        if pull.start <= day <= pull.end
        and day < first_open
        and (day in empty or not (pull.is_partial or (days and days[0] <= day <= days[-1])))
    ]
    # A page shows only some of its days. Only a day without any event in a whole query is known to
    # be missing; about the others, the service is asked once more.
    sure = [day for day in missing if day in empty or not pull.events] if data_days else []
    day = next(iter(sure), None)
    if day is not None and pull.events and (yield from _has_all(session, pull, day)):
        day = None
    if missing and pull.events and not sure:
        part = None
        with suppress(NotCounted):
            part = yield from _find_part(session, pull, missing, is_listed=bool(data_days))
        if part and not data_days:
            return f"{part}, but the service has other events of {pull} if that is divided there"
        if part:
            day = next(day for day in missing if part.start <= day <= part.end)
    return "" if day is None else f"{day}, but the service lists {day} as a day with data"


def _request_dates(session: Session, pull: Comparison) -> Operation[Sequence[date]]:
    """Request the days with data; none if the service cannot tell."""
    try:
        return [] if "dates" in pull.failures else (yield from dates(session))
    except AdAnalyticsError as error:
        _log_doubt(pull, "other days with data", error.message)
        return []


def _log_doubt(pull: Comparison, part: str, reason: object) -> None:
    # If no events arrived, nothing else says that there are none.
    level = logging.INFO if pull.events else logging.WARNING
    LOG.log(level, "Whether %s has %s is not known: %s", pull, part, reason)


def _find_omission_of_hour(session: Session, pull: Comparison) -> Operation[str]:
    """Describe the first or last day of an hour if it was left out; empty for none.

    The hour may also be one without events. Then its day has others.

    Raises:
        ProtocolError: when a query of that hour alone has an event.
    """
    empty, first_open = pull.empty_days, first_open_day(session, pull.cut_day)
    ends = (*(span.start for span in pull.spans[:1]), *(span.end for span in pull.spans[-1:]))
    for day in dict.fromkeys(ends):
        if day not in empty or day >= first_open:
            continue
        is_apart = any(span.start == span.end == day for span in pull.spans)
        needs_page = not is_apart or pull.may_ignore_hour
        if not needs_page and day in session.days_with_events:
            continue
        try:
            if needs_page:
                page = yield from request_place(session, Slice(day, day, pull.hour), 1)
                if len(page):
                    raise difference(pull, f"more than {counted(pull.events, 'event')}")
            events = yield from request_total(session, day, day)
            data_days = [] if events != 0 else (yield from _request_dates(session, pull))
        except NotCounted as error:
            _log_doubt(pull, f"events of {day}", error)
            continue
        if day in data_days:
            return f"{day}, but the service lists {day} as a day with data"
    return ""


def _has_all(session: Session, pull: Comparison, day: date) -> Operation[bool]:
    """Return whether a day has events and, with all others, as many as arrived.

    Then its events are among them: only some events of a page show the days of all.
    """
    day_step, days, events = timedelta(1), Slice(day, day), 0
    for part in (days, Slice(pull.start, day - day_step), Slice(day + day_step, pull.end)):
        if part.start <= part.end:
            try:
                total = yield from request_total(session, part.start, part.end)
            except NotCounted:
                return False
            if total is None or (part is days and not total):
                return False
            events += total
    return events == pull.events


def _find_part(
    session: Session, pull: Comparison, days: Sequence[date], *, is_listed: bool
) -> Operation[Slice | None]:
    """Return the first or the last days of a pull if the service leaves events of them out.

    The range is divided there: both parts together must have the events of the pull. Without
    totals, the part with the days must have an event, and the other one fewer than the pull.

    Args:
        days: the days that may have been left out.
    """
    day_step, first_open = timedelta(1), first_open_day(session, pull.cut_day)
    last_days, first_days = days[-1:], days[:1]
    if pull.days:
        last_days = [day for day in days if day > pull.days[-1]][:1]
        first_days = [day for day in days if day < pull.days[0]][-1:]
    parts = [(Slice(pull.start, day - day_step), Slice(day, pull.end)) for day in last_days]
    parts += [(Slice(day + day_step, pull.end), Slice(pull.start, day)) for day in first_days]
    for rest_days, own_days in parts:
        if rest_days.start > rest_days.end:
            continue
        page = yield from request_place(session, own_days, 1)
        # While days are open, events arrive between two requests, and no sum of totals would hold.
        total = page.signals.total if pull.end < first_open else None
        rest = yield from request_place(session, rest_days, 1 if total is not None else pull.events)
        if total is not None and rest.signals.total is not None:
            total += rest.signals.total
            if total < pull.events:
                # Where totals are capped or old, that of the whole range is below the events, too.
                total = yield from request_total(session, pull.start, pull.end)
                return None if total is None or total < pull.events else own_days
            return own_days if total > pull.events else None
        has_all = total is None and len(rest) > 0 and rest_days.end < first_open
        if (is_listed and not len(page)) or (len(page) and has_all):
            return own_days
    return None
