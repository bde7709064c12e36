"""What `split="auto"` does with the first page: go on there, or ask for days and hours instead."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from adanalytics_client._dates import days_between
from adanalytics_client._day_counts import day_counts
from adanalytics_client._effects import Operation
from adanalytics_client._following import following
from adanalytics_client._operations import dates, summary
from adanalytics_client._page_reader import PageReader
from adanalytics_client._pages import Cursor, Fetched
from adanalytics_client._plan import Division, Plan
from adanalytics_client._session import Session
from adanalytics_client._signals import Signals
from adanalytics_client._slices import Stretch, check_slices, slices_of
from adanalytics_client.errors import (
    AuthenticationError,
    ProtocolError,
    RateLimited,
    StatusError,
)
from adanalytics_client.layout import DEEPEST, lay_out

if TYPE_CHECKING:
    from adanalytics_client.models import Summary


@dataclass(frozen=True, slots=True)
class Scout:
    """Fetches the pages of an auto pull, and looks at the first one before anybody gets it."""

    reader: PageReader
    plan: Plan

    def fetch(self, session: Session, cursor: Cursor) -> Operation[Fetched | Division]:
        """One page, or the slices to ask for instead of all pages of this one."""
        page = yield from self.reader.read(session, cursor)
        # No slice of a division is the whole range again.
        if cursor.number == 1 and cursor.slice == self.plan.slices[0]:
            found = yield from self._decide(session, cursor, page)
            if isinstance(found, Division):
                return found
            page = found
        self.reader.announce(session, cursor, page)
        return page

    def _decide(
        self, session: Session, cursor: Cursor, page: Fetched
    ) -> Operation[Fetched | Division]:
        ahead, size = following(cursor, page), len(page)
        if ahead is None or (self.plan.hour is not None and cursor.slice.start == cursor.slice.end):
            return page
        if page.signals.silent and size < self.plan.per_page:
            # The only page, or one that the service cut quietly: the next page tells. If it is the
            # same once more, that is an error behind this page.
            beyond = yield from self.reader.read(session, Cursor(cursor.slice, ahead.number))
            if not len(beyond):
                return replace(page, signals=Signals(more=False))
        most = self._wanted(page)
        if most is not None and most <= DEEPEST * size:
            return page
        known = yield from self._known(session, page)
        counts = self._counts(known, page)
        stretches = lay_out(self._days(), counts, size=size, hour=self.plan.hour) if counts else []
        if [each.cut for each in stretches] in ([], ["whole"]):
            return page
        # Events that the summary leaves out may be those of a day that nobody knows of.
        if page.signals.total in {None, sum(known.values())}:
            stretches = yield from _without_nothing(session, stretches, counts)
        check_slices(stretches, self.plan.hour)
        return Division(tuple(stretches), slices_of(stretches, self.plan.hour))

    def _wanted(self, page: Fetched) -> int | None:
        """The most events that this pull can bring, where that is known."""
        known = [_total(page), self.plan.max_events]
        return min((each for each in known if each is not None), default=None)

    def _days(self) -> list[date]:
        whole = self.plan.slices[0]
        kept = self.plan.days
        return [day for day in days_between(whole.start, whole.end) if kept is None or day in kept]

    def _known(self, session: Session, page: Fetched) -> Operation[Mapping[date, int]]:
        """The events of each day as the summary counts them, asked for where it matters."""
        days = self._days()
        if len(days) == 1 and _total(page) is not None:
            return {}
        found = yield from _summary_of(session, days[0], days[-1])
        counts = day_counts(found) if found else {}
        return {day: counts.get(day, 0) for day in days}

    def _counts(self, known: Mapping[date, int], page: Fetched) -> Mapping[date, int]:
        """About how many events each day has; nothing when nobody says.

        The summary leaves filtered events out, so a total of the pages corrects it; without a
        usable summary the total is spread evenly.
        """
        days, total, counted = self._days(), _total(page), sum(known.values())
        if counted and total is not None:
            return {day: -(-known[day] * total // counted) for day in days}
        if counted:
            share = 1 if self.plan.hour is None else 24
            return {day: -(-known[day] // share) for day in days}
        return {} if total is None else dict.fromkeys(days, -(-total // len(days)))


def _total(page: Fetched) -> int | None:
    says = page.signals
    if says.total is not None:
        return says.total
    return None if says.pages is None else says.pages * len(page)


def _summary_of(session: Session, start: date, end: date) -> "Operation[Summary | None]":
    """The summary by day; None when the service has none, for it only tells how to ask."""
    try:
        return (yield from summary(session, start, end, group_by="day"))
    except (AuthenticationError, RateLimited):
        raise
    except (StatusError, ProtocolError):
        return None


def _without_nothing(
    session: Session, stretches: list[Stretch], counts: Mapping[date, int]
) -> Operation[list[Stretch]]:
    """Leave out queries for days without data, when asking for `dates` costs less than they do."""
    empty = [
        each
        for each in stretches
        if not any(counts.get(day) for day in days_between(each.start, each.end))
    ]
    if len(empty) < 2:
        return stretches
    try:
        known = frozenset((yield from dates(session)))
    except (AuthenticationError, RateLimited):
        raise
    except (StatusError, ProtocolError):
        return stretches
    gone = [each for each in empty if known.isdisjoint(days_between(each.start, each.end))]
    return [each for each in stretches if each not in gone]
