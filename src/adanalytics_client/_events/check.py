"""What a pull has to compare at its end; no I/O."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from adanalytics_client._base.choices import Check
from adanalytics_client._base.dates import days_between
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import Resource
from adanalytics_client.errors import ProtocolError, StatusError

from .paging import Cursor
from .plan import Plan, Slice
from .resume import Position
from .slice import SliceEnd

# A total that so many slices share, as their largest, may be a cap; fewer events are so by chance.
_SHARED_BY = 3
_LEAST_CAP = 20


class Span(NamedTuple):
    """Some days of a pull that have slices of their own.

    Attributes:
        events: the number of events that arrived of them.
        places: the places of their slices in the plan.
        days: the days of which events arrived; empty if that is not known.
    """

    start: date
    end: date
    events: int
    places: tuple[int, ...]
    days: frozenset[date] = frozenset()

    def __str__(self) -> str:
        return str(Slice(self.start, self.end))

    @property
    def empty_days(self) -> list[date]:
        """Return the days of which no event arrived; none if that is not known."""
        if self.events and not self.days:
            return []
        return [day for day in days_between(self.start, self.end) if day not in self.days]


class Comparison(NamedTuple):
    """A pull whose events are to be compared with the service's count.

    Attributes:
        start: the first day.
        end: the last day, included.
        events: the number of events that arrived, in earlier runs, too.
        spans: the events of its days; none if an earlier run pulled some of them.
        is_counted: whether to request the count; without it, only `dates` is.
        hour: the only hour that was pulled of each day.
        hint: what may explain a difference, in words.
        refusal: the error that ended a slice, and which only the count can explain.
        days: the days of which events are known to have arrived, in order.
        is_blind: whether cut pages, or the same pages again, would not have been noticed.
        may_ignore_hour: whether an hour that is ignored would not have been noticed.
        is_typed: whether the summary counts as many events, because each has one type.
        first: the text of the first event.
        is_identified: whether equal texts are of the same event.
        final: whether slices have been read on already.
        failures: what the service could not tell of these days before.
        is_stored: whether the events are of a dataset, so that days that differ are to be named.
        is_partial: whether only some days of the range were chosen.
        cut_day: the day from which on hours or days were left out: as if they were not over.
    """

    start: date
    end: date
    events: int
    spans: tuple[Span, ...]
    is_counted: bool
    hour: int | None = None
    hint: str = ""
    refusal: StatusError | None = None
    days: tuple[date, ...] = ()
    is_blind: bool = False
    may_ignore_hour: bool = False
    is_typed: bool = False
    first: bytes = b""
    is_identified: bool = False
    final: bool = False
    failures: frozenset[Resource] = frozenset()
    is_stored: bool = False
    is_partial: bool = False
    cut_day: date = date.max

    def __str__(self) -> str:
        return str(Slice(self.start, self.end, self.hour))

    @property
    def empty_days(self) -> list[date]:
        """Return the days of which no query brought an event."""
        return [day for span in self.spans for day in span.empty_days]


class PullCheck:
    """Adds up the slices of a pull, and decides at its end what to compare and to read on.

    Args:
        plan: the slices.
        position: the end of an earlier run.
        check: when to request the count.
        is_output: whether the pull becomes a file.
        is_bounded: whether the pull ends after a number of events.
        strict: whether a difference is an error, or only a warning.
    """

    def __init__(
        self,
        plan: Plan,
        position: Position,
        *,
        check: Check = "auto",
        is_output: bool = False,
        is_bounded: bool = False,
        strict: bool = True,
    ) -> None:
        self._plan = plan
        self._check = check
        self._is_always = check == "always" or (check == "auto" and is_output)
        covers = not plan.params and not is_bounded and not position.is_partial
        self._is_comparable = covers and check != "none"
        self._is_partial, self._cut_day = position.is_partial, position.cut_day
        self._is_resumed = position.passed > 0 or position.opened > 0
        # What an earlier run knew of its slices is not known any more.
        self._was_in_doubt = bool(position.doubt)
        self._strict = strict
        self._arrived = position.arrived
        self.doubt = position.doubt
        self._ends: dict[int | None, SliceEnd] = {}
        self._totals: Counter[int | None] = Counter()
        self._by_rows: dict[tuple[bytes, bytes, int], Slice] = {}
        self._refusal: StatusError | None = None
        self._compared = 0
        self._oddities: set[str] = set()

    def add(self, place: int | None, end: SliceEnd) -> None:
        """Add a slice that has ended, at its place in the plan; or more events of it.

        Raises:
            ProtocolError: when it has the same events as another slice.
        """
        self._arrived += end.rows
        end_before = self._ends.get(place)
        # Further events of a slice that was read on: its total and its doubts are known.
        if end_before is not None:
            days = tuple({*end_before.days, *end.days})
            self._ends[place] = end._replace(rows=end_before.rows + end.rows, days=days)
            return
        self._ends[place] = end
        self._totals[end.total] += 1
        doubt = end.doubt or end.full or (f"{end.refusal}" if end.refusal else "")
        self.doubt = self.doubt or (f"{end.slice}: {doubt}" if doubt else "")
        self._refusal = self._refusal or end.refusal
        if end.oddity and end.oddity not in self._oddities:
            self._oddities.add(end.oddity)
            LOG.warning("Events of %s %s; all are kept.", end.slice, end.oddity)
        if end.rows:
            self._look_for_same_rows(end)

    def _look_for_same_rows(self, end: SliceEnd) -> None:
        slice_before = self._by_rows.setdefault((end.first, end.last, end.rows), end.slice)
        if slice_before == end.slice:
            return
        same = f"{slice_before} and {end.slice} have the same events"
        self.doubt = self.doubt or same
        if end.is_identified and self._strict:
            raise same_events(same)

    @property
    def due(self) -> Comparison | None:
        """Return what to compare now, after the last slice; None when nothing is left to compare.

        Raises:
            StatusError: when an error ended a slice, and no count can explain it.
        """
        plan, first = self._plan, not self._compared
        # A pull that is resumed behind its last page may have ended before its comparison.
        if self._compared > 1 or not (plan.slices or self._is_resumed):
            return None
        # The count of the range confirms a refusal if it is not the total of the slice.
        is_confirmed = len(self._ends) > 1 or {*self._totals} == {None}
        if self._refusal and not (self._is_comparable and is_confirmed):
            raise self._refusal
        self.doubt = self.doubt_at_end
        is_counted = self._is_comparable and (self._is_always or bool(self.doubt))
        if plan.hour is not None:
            is_counted = is_counted and bool(self.doubt) and self._arrived > 0
        ends = self._ends.values()
        days = sorted({day for end in ends for day in end.days})
        typed = [end.is_typed for end in ends if end.rows]
        pull = Comparison(
            # All days: of a resumed pull, the plan has only the slices that were left.
            plan.start,
            plan.end,
            self._arrived,
            () if self._is_resumed else tuple(self._spans()),
            is_counted,
            hour=plan.hour,
            hint=self.doubt,
            refusal=self._refusal,
            days=(plan.start, *days[-1:]) if self._is_resumed and days else tuple(days),
            is_blind=self._was_in_doubt or any(end.is_blind or end.full for end in ends),
            may_ignore_hour=self._was_in_doubt or any(end.doubt for end in ends),
            is_typed=all(typed or [not self._is_resumed]),
            first=next((end.first for end in ends if end.rows), b""),
            is_identified=all(end.is_identified for end in ends if end.rows),
            final=not (first and self._strict),
            is_partial=self._is_partial,
            cut_day=self._cut_day,
        )
        looks_for_days = (
            first
            and self._check != "none"
            and not (self._is_resumed or plan.params)
            and (not self._arrived or (self._is_comparable and pull.empty_days))
        )
        return pull if is_counted or looks_for_days else None

    @property
    def doubt_at_end(self) -> str:
        """Return why the pull may be incomplete, in words, if all of its slices have ended.

        A service that caps a page, at whatever number, and counts what is on it states the cap for
        every slice that has more. So several slices share the largest total, which the slices of an
        honest service rarely do unless they have few events.
        """
        if self.doubt:
            return self.doubt
        # As if each response had the total of all queries.
        if len(self._ends) > 1 and len(self._totals) == 1 and not self._totals[0]:
            return "all of its queries state the same total"
        largest = max((total for total in self._totals if total is not None), default=0)
        # Small equal totals are an accident of quiet hours; a cap shows by a large one that
        # repeats.
        if largest < _LEAST_CAP or self._totals[largest] < _SHARED_BY:
            return ""
        return f"the largest total, {largest:,}, is that of {self._totals[largest]} of its queries"

    def receive(self, outcome: "tuple[Span, ...] | BaseException") -> list[tuple[int, Cursor]]:
        """Take the result of a comparison; return the slices to read on, and where.

        Raises:
            BaseException: the error of the comparison.
        """
        self._compared += 1
        if isinstance(outcome, BaseException):
            # `on_drift="warn"` takes what arrived, but does not hide that the client was closed.
            if self._strict or not isinstance(outcome, ProtocolError):
                raise outcome
            LOG.warning("%s", outcome.message)
            outcome = ()
        if not outcome:
            self._compared = 2
        places = [place for span in outcome for place in span.places]
        return [(place, self._ends[place].tail) for place in places]

    def _spans(self) -> Iterable[Span]:
        """Add up slices of the same days."""
        spans: dict[tuple[date, date], Span] = {}
        for place, end in self._ends.items():
            if place is not None:
                days = end.slice.start, end.slice.end
                span = spans.get(days) or Span(*days, 0, ())
                spans[days] = span._replace(
                    events=span.events + end.rows,
                    places=(*span.places, place),
                    days=span.days.union(end.days),
                )
        return sorted(spans.values(), key=lambda span: span.start)


def difference(
    pull: Comparison, count: str, different_spans: Sequence[tuple[Span, int]] = ()
) -> ProtocolError:
    days = [
        f"{total:,} on {span}, but {span.events:,} arrived" for span, total in different_spans[:3]
    ]
    if not days or len(different_spans) > 3:
        days = [f"{count} in {pull}, but {pull.events:,} arrived"]
    hint = f" ({pull.hint})" if pull.hint else ""
    return ProtocolError(
        f"The service counts {'; '.join(days)}{hint}.",
        remedy=remedy("accept_difference", "Pull it later, report it to the service"),
    )


def same_events(statement: str) -> ProtocolError:
    return ProtocolError(
        f"{statement}, as if the service ignored a parameter, or a cache did.",
        remedy="Pull it with another split, or report it to the service.",
    )
