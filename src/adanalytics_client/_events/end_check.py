"""Check at the end of a pull that no events are missing from it as a whole; no I/O.

An answer without a body may be a fault on the way. So the events that arrived are compared with the
total that the first page of an auto pull stated, or else with a summary of the days in question.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from adanalytics_client._base.dates import days_between
from adanalytics_client._base.quantities import counted
from adanalytics_client._events.counts import DayCounts
from adanalytics_client._events.plan import Slice
from adanalytics_client._events.resume import Position
from adanalytics_client.errors import ProtocolError

_REMEDY = 'Pull it later, or pass on_drift="warn" to accept those that arrived.'

_LOG = logging.getLogger("adanalytics_client")


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request for the number of events of each day from `start` to `end`, both included."""

    start: date
    end: date


Repeats = tuple[int, ...]
"""The places in the plan of queries to repeat."""


class EndCheck:
    """Counts the events that arrive, and decides at the end which queries to repeat.

    Args:
        position: the end of an earlier run.
        strict: whether missing events are an error.
        countable: whether a summary can count the events; it cannot count those of one hour,
            or of further parameters.

    Attributes:
        arrived: events of the pull so far, including earlier runs.
        bodiless: the places in the plan of queries that were answered without a body.
    """

    def __init__(self, position: Position, *, strict: bool, countable: bool) -> None:
        self.arrived = position.arrived
        self.bodiless = position.bodiless
        self._by_day = Counter(dict(position.by_day))
        self._strict = strict
        self._countable = countable
        self._counts: DayCounts | None = None
        self._repeated: Repeats = ()

    def add(self, asked: Slice, events: int) -> None:
        self.arrived += events
        if asked.start == asked.end:
            self._by_day[asked.start] += events

    def add_bodiless(self, index: int, asked: Slice, total: int | None) -> None:
        """Remember a query that was answered without a body."""
        if self._strict and not self._countable and total is None and not self.bodiless:
            self._warn(asked)
        self.bodiless += (index,)

    def days(self, position: Position, unfinished: Iterable[Slice]) -> tuple[tuple[date, int], ...]:
        """List the events of each day that a later run may have to check."""
        doubtful = (position.slices[each] for each in self.bodiless)
        days = {each.start for each in (*unfinished, *doubtful)} & self._by_day.keys()
        return tuple((day, self._by_day[day]) for day in sorted(days))

    def due(self, position: Position) -> SummaryRequest | Repeats | ProtocolError | None:
        """Return what to do next, an error, or None when no events are known to be missing."""
        doubtful = {each: position.slices[each] for each in self.bodiless}
        if not self._strict:
            return None
        if position.total is not None:
            if self.arrived >= position.total:
                return None
            if doubtful and not self._repeated:
                return tuple(doubtful)
            total = counted(position.total, "event")
            problem = f"The first answer counts {total}, but {self.arrived:,} arrived"
            return ProtocolError(f"{problem} by days and hours.", remedy=_REMEDY)
        if self._counts is None:
            days = [day for each in doubtful.values() for day in (each.start, each.end)]
            return SummaryRequest(min(days), max(days)) if days and self._countable else None
        # A query of several days is judged only while it has no events: then its days have none.
        doubtful |= {
            each: position.slices[each]
            for each in self._repeated
            if position.slices[each].start == position.slices[each].end
        }
        short = {each: text for each in doubtful if (text := self._missing(doubtful[each]))}
        if not short or not self._repeated:
            return tuple(short) or None
        return ProtocolError(f"{', '.join(dict.fromkeys(short.values()))}.", remedy=_REMEDY)

    def take(self, counts: DayCounts | None, position: Position) -> None:
        """Take the events of each day, or None when no summary states them."""
        doubtful = [position.slices[each] for each in self.bodiless]
        days = {day for each in doubtful for day in days_between(each.start, each.end)}
        if not counts and any(self._by_day[day] for day in days):
            # Events came of these days, so a summary without rows does not count them.
            counts = None
        self._counts = counts
        if counts is None:
            self._countable = False
            self._warn(position.slices[self.bodiless[0]])

    def repeat(self, position: Position, repeats: Repeats) -> None:
        """Begin to repeat queries; their new answers are checked once more."""
        for each in repeats:
            _LOG.warning("Requesting %s again: events are missing.", position.slices[each])
        self._repeated, self.bodiless = repeats, ()

    def _missing(self, asked: Slice) -> str:
        """Describe the first day of a query on which events are missing; empty for none."""
        counts = self._counts or {}
        for day in days_between(asked.start, asked.end):
            if counts.get(day, 0) > (arrived := self._by_day[day]):
                total = counted(counts[day], "event")
                return f"The summary counts {total} on {day}, but {arrived:,} arrived"
        return ""

    def _warn(self, asked: Slice) -> None:
        _LOG.warning(
            "The answer to %s had no body, and no summary tells whether it has events.", asked
        )
