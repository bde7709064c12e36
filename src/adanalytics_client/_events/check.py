"""Compare a pull with the service's own count, which decides whether the pull is whole.

The count is the `total` of the undivided range, requested after the last page. There are four
cases:

1. It equals the sum of the pull's slices: the pull is whole.
2. It is lower, or the service states none: the places decide. With one event per page, the event at
   the place of the sum must exist and the one behind it must not. So a total that the service caps
   is told from events that arrived twice. Without a total, the summary by day is compared, too.
3. It is higher: it is requested again; then days are halved until those that differ are found, and
   their slices are read on from the page on which they ended.
4. It still differs: that is an error with the days and both numbers. A day that is not over may
   have grown since.

A service that ignores a parameter counts as it answers. So the place behind the last event is
requested where pages may have been cut or repeated, and days that the service lists must have
brought events.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Literal

from adanalytics_client._base.dates import days_between
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.urls import Resource
from adanalytics_client._call.lists import dates
from adanalytics_client._call.session import Session
from adanalytics_client._events.counts import (
    NotCounted,
    first_open_day,
    request_counts,
    request_place,
    request_places,
    request_total,
)
from adanalytics_client._events.paging import Cursor
from adanalytics_client._events.plan import Plan, Slice
from adanalytics_client._events.resume import Position
from adanalytics_client._events.slice import SliceEnd
from adanalytics_client.errors import AdAnalyticsError, ProtocolError, StatusError

Check = Literal["auto", "always", "none"]
"""When a pull is compared with the service's count: `auto` compares files, and pulls in doubt."""

MOST_COUNTS = 40
"""The most counts to request in search of the days that differ."""

# A total that so many slices share, as their largest, may be a cap; fewer events are so by chance.
_SHARED_BY = 3
_LEAST_CAP = 20

_LOG = logging.getLogger("adanalytics_client")


@dataclass(frozen=True, slots=True)
class Span:
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


@dataclass(frozen=True, slots=True)
class Comparison:
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
        self._has_shared_ids = False

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
            self._ends[place] = replace(end, rows=end_before.rows + end.rows, days=days)
            return
        self._ends[place] = end
        self._totals[end.total] += 1
        doubt = end.doubt or end.full or (f"{end.refusal}" if end.refusal else "")
        self.doubt = self.doubt or (f"{end.slice}: {doubt}" if doubt else "")
        self._refusal = self._refusal or end.refusal
        if end.has_shared_ids and not self._has_shared_ids:
            self._has_shared_ids = True
            _LOG.warning(
                "Events of %s have the same event_id and differ otherwise; all are kept.", end.slice
            )
        if end.rows:
            self._look_for_same_rows(end)

    def _look_for_same_rows(self, end: SliceEnd) -> None:
        slice_before = self._by_rows.setdefault((end.first, end.last, end.rows), end.slice)
        if slice_before == end.slice:
            return
        same = f"{slice_before} and {end.slice} have the same events"
        self.doubt = self.doubt or same
        if end.is_identified and self._strict:
            raise _same_events(same)

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
        if self._refusal and not (self._is_comparable and self._confirms_refusal):
            raise self._refusal
        self.doubt = self.doubt_at_end
        is_counted = self._is_comparable and (self._is_always or bool(self.doubt or self._refusal))
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

    @property
    def _confirms_refusal(self) -> bool:
        """Return whether the count of the range is another one than the total of the slice."""
        return len(self._ends) > 1 or {*self._totals} == {None}

    def take(self, outcome: "tuple[Span, ...] | BaseException") -> list[tuple[int, Cursor]]:
        """Take the result of a comparison; return the slices to read on, and where.

        Raises:
            BaseException: the error of the comparison.
        """
        self._compared += 1
        if isinstance(outcome, BaseException):
            # `on_drift="warn"` takes what arrived, but does not hide that the client was closed.
            if self._strict or not isinstance(outcome, ProtocolError):
                raise outcome
            _LOG.warning("%s", outcome.message)
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
                spans[days] = replace(
                    span,
                    events=span.events + end.rows,
                    places=(*span.places, place),
                    days=span.days.union(end.days),
                )
        return sorted(spans.values(), key=lambda span: span.start)


def compare(session: Session, pull: Comparison) -> Operation[tuple[Span, ...]]:
    """Compare a pull with the service's count; return the spans whose slices to read on.

    Raises:
        ProtocolError: when the events differ from the count, or when none arrived of a day that the
            service lists.
    """
    different_spans: tuple[Span, ...] = ()
    if pull.is_counted:
        try:
            if pull.hour is None:
                differences = yield from _compare_range(session, pull)
                different_spans = tuple(span for span, _ in differences)
            else:
                yield from _compare_hour(session, pull, pull.hour)
        except NotCounted as error:
            # The service refused a page that may have had events, and no count says that it had
            # none.
            if pull.refusal is not None:
                raise pull.refusal from None
            _LOG.warning("The events of %s were not compared with a count: %s", pull, error)
    if not different_spans:
        omission = yield from _find_omission(session, pull)
        if omission:
            raise ProtocolError(f"No events arrived of {omission}.", remedy=remedy("end_of_range"))
    return different_spans


@dataclass(frozen=True, slots=True)
class CountedDays:
    """The result of comparing days with the service's own count.

    Attributes:
        different_days: how each day that differs does so, in words.
        unknown_days: why the count of a day is not known, in words.
    """

    different_days: Mapping[date, str] = field(default_factory=dict)
    unknown_days: Mapping[date, str] = field(default_factory=dict)


def compare_days(
    session: Session, days: Mapping[date, int], data_days: Collection[date]
) -> Operation[CountedDays]:
    """Compare the events of some days, between which no other day has any, with their count.

    Of a day of `data_days` that is over, some events must have arrived.
    """
    spans = tuple(Span(day, day, events, ()) for day, events in sorted(days.items()))
    first, last = spans[0], spans[-1]
    events = sum(span.events for span in spans)
    days_with_rows = tuple(span.end for span in spans if span.events)
    pull = Comparison(
        first.start, last.end, events, spans, True, days=days_with_rows, is_stored=True
    )
    try:
        differences = yield from _compare_range(session, pull)
    except NotCounted as error:
        _LOG.warning("The events of %s were not compared with a count: %s", pull, error)
        return CountedDays(unknown_days=dict.fromkeys(days, str(error).rstrip(".")))
    except ProtocolError as error:
        return CountedDays(dict.fromkeys(days, error.message.rstrip(".")))
    first_open = first_open_day(session)
    empty = [span.start for span in spans if not span.events and span.start < first_open]
    # Counts that agree prove nothing if the service leaves the day out of both.
    if not differences and (omission := next((day for day in empty if day in data_days), None)):
        words = "the service lists it as a day with data, but it has no events"
        return CountedDays({omission: words})
    return CountedDays(
        {
            day: f"the service counts {count:,}, {'more' if count > span.events else 'fewer'} than "
            f"the {counted(span.events, 'event')} of {span}"
            for span, count in differences
            for day in days_between(span.start, span.end)
        }
    )


def _compare_range(session: Session, pull: Comparison) -> Operation[Sequence[tuple[Span, int]]]:
    first_open = first_open_day(session)
    days, is_open = Slice(pull.start, pull.end), pull.end >= first_open
    total = None
    if pull.is_blind and not is_open:
        # This page usually states the total, too.
        place = yield from request_place(session, days, pull.events + 1)
        total = place.signals.total
        if len(place) and total in {None, pull.events}:
            raise _different(pull, f"more than {counted(pull.events, 'event')}")
    if total is None:
        total = yield from request_total(session, pull.start, pull.end)
    if total == pull.events:
        return ()
    has_more: bool | None = False
    if total is None or total < pull.events:
        places = yield from request_places(session, days, pull.events)
        has_last, has_more = places or (False, False)
        if total is None:
            has_summary = yield from _compare_with_summary(session, pull)
            if places is None and not has_summary:
                raise NotCounted("the service states no count.")
            if places is None:
                return ()
            if has_last and has_more is None and not has_summary:
                raise NotCounted("the service states no count, and an error behind the last event.")
        if has_last and (is_open or not has_more):
            if total is not None and not is_open:
                text = "The service counts %s in %s, but lists %s, and all of them arrived."
                _LOG.warning(text, f"{total:,}", pull, counted(pull.events, "event"))
            return ()
        if total is None:
            words = f"{'more' if has_last else 'fewer'} than {counted(pull.events, 'event')}"
            raise _different(pull, words)
    elif is_open:
        closed = tuple(span for span in pull.spans if span.end < first_open)
        if not closed:
            _LOG.info("%s is not over, so its events were not compared with a count.", pull)
            return ()
        pull = replace(
            pull, end=closed[-1].end, spans=closed, events=sum(span.events for span in closed)
        )
    total = yield from request_total(session, pull.start, pull.end)
    if total is None or total == pull.events:
        return ()
    different_spans = yield from _differing(session, pull.spans, total)
    if pull.spans and not different_spans:
        # The totals of the days may be those of the slices, so they confirm no end.
        if pull.refusal is not None:
            raise pull.refusal
        if has_more:
            raise _different(pull, f"more than {counted(pull.events, 'event')}")
        yield from _check_apart(session, pull, total)
        text = "The service counts %s in %s, but %s by days, as many as arrived."
        _LOG.warning(text, counted(total, "event"), pull, f"{pull.events:,}")
        return ()
    if pull.is_stored:
        return different_spans
    if total > pull.events and pull.spans and not pull.final:
        for span, count in different_spans:
            _LOG.warning(
                "Requesting %s again: the service counts %s, but %s arrived.",
                span,
                counted(count, "event"),
                f"{span.events:,}",
            )
        return different_spans
    raise _different(pull, counted(total, "event"), different_spans)


def _find_omission(session: Session, pull: Comparison) -> Operation[str]:
    """Describe a day that is over and that has events, but of which none arrived; empty for none.

    The service lists the day, or has its events when the range is divided.
    """
    if pull.hour is not None:
        return (yield from _find_omission_of_hour(session, pull))
    empty, days, first_open = pull.empty_days, pull.days, first_open_day(session)
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
        and (day in empty or not days or not days[0] <= day <= days[-1])
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
    _LOG.log(level, "Whether %s has %s is not known: %s", pull, part, reason)


def _find_omission_of_hour(session: Session, pull: Comparison) -> Operation[str]:
    """Describe the first or last day of an hour if it was left out; empty for none.

    The hour may also be one without events. Then its day has others.

    Raises:
        ProtocolError: when a query of that hour alone has an event.
    """
    empty, first_open = pull.empty_days, first_open_day(session)
    ends = (*(span.start for span in pull.spans[:1]), *(span.end for span in pull.spans[-1:]))
    for day in dict.fromkeys(ends):
        if day not in empty or day >= first_open:
            continue
        is_apart = any(span.start == span.end == day for span in pull.spans)
        needs_page = not is_apart or pull.may_ignore_hour
        if not needs_page and session.evidence.has_single_days:
            continue
        try:
            if needs_page:
                page = yield from request_place(session, Slice(day, day, pull.hour), 1)
                if len(page):
                    raise _different(pull, f"more than {counted(pull.events, 'event')}")
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
    day_step, first_open = timedelta(1), first_open_day(session)
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
            return None if total + rest.signals.total == pull.events else own_days
        has_all = total is None and len(rest) > 0 and rest_days.end < first_open
        if (is_listed and not len(page)) or (len(page) and has_all):
            return own_days
    return None


def _differing(
    session: Session, spans: Sequence[Span], total: int
) -> Operation[list[tuple[Span, int]]]:
    """Halve a range of days until its parts agree with their counts or are single spans."""
    parts, different_spans, counts = [(spans, total)] if spans else [], [], 0
    while parts:
        spans, total = parts.pop()
        events = sum(span.events for span in spans)
        # The search must not cost more than what it saves: then a range stands for its days.
        if len(spans) == 1 or counts >= MOST_COUNTS:
            places = tuple(place for span in spans for place in span.places)
            if events != total:
                different_spans.append((Span(spans[0].start, spans[-1].end, events, places), total))
            continue
        middle = len(spans) // 2
        for half in (spans[middle:], spans[:middle]):
            # Both: a service that ignores `end_date` counts neither half as the rest of the other.
            count = yield from request_total(session, half[0].start, half[-1].end)
            counts += 1
            if len(half) > 1 or count != half[0].events:
                parts.append((half, count or 0))
    return different_spans


def _check_apart(session: Session, pull: Comparison, total: int) -> Operation[None]:
    """Check that two days do not have the same first or last event.

    A service that ignores `start_date` or `end_date` counts each day as it answers, and its days
    share events, whatever the order; one that cuts a range to its first days counts the days right.
    """
    spans = [span for span in pull.spans if span.events]
    for places in ((spans[0].events, spans[-1].events), (1, 1)) if len(spans) > 1 else ():
        texts: list[bytes] = []
        for span, place in zip((spans[0], spans[-1]), places, strict=True):
            page = yield from request_place(session, Slice(span.start, span.end), place)
            texts += page.rows.texts[:1]
        if len(texts) > 1 and texts[0] == texts[1]:
            hint = f"{spans[0]} and {spans[-1]} share an event"
            raise _different(replace(pull, hint=hint), counted(total, "event"))


def _different(
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


def _compare_hour(session: Session, pull: Comparison, hour: int) -> Operation[None]:
    """Check that the service neither cuts the pages of an hour, nor ignores the hour."""
    days = Slice(pull.start, pull.end, hour)
    # Without a total, a service that cuts its pages shows it only by an event behind the last.
    if pull.is_blind and pull.end < first_open_day(session):
        place = yield from request_place(session, days, pull.events + 1)
        if len(place):
            raise _different(pull, f"more than {counted(pull.events, 'event')}")
    if not pull.may_ignore_hour:
        return
    days = Slice(pull.start, pull.end)
    # Of a service that ignores the hour, any other hour returns the same events. Two hours with as
    # many events by chance are told apart by the total of the days.
    hours = [replace(days, hour=(hour + offset) % 24) for offset in range(1, 24)]
    page = yield from request_place(session, hours[0], 1)
    total = page.signals.total
    is_same = len(page) > 0 and pull.first == page.rows.texts[0]
    if total != pull.events and not (total is None and is_same):
        return
    range_total = yield from request_total(session, pull.start, pull.end)
    if range_total == pull.events:
        raise ProtocolError(
            f"The service counts {counted(range_total, 'event')} in {days}, as many as in hour "
            f"{hour} and in hour {hours[0].hour}: it ignores the hour.",
            remedy="Pull whole days instead.",
        )
    # Ids tell at once. Without them, the first event of two hours may be equal by chance, so all
    # hours have to agree.
    if is_same and (pull.is_identified or (yield from _has_same_hours(session, pull, hours))):
        raise _same_events(f"{pull} and {hours[0]} have the same events")


def _has_same_hours(session: Session, pull: Comparison, slices: Sequence[Slice]) -> Operation[bool]:
    """Return whether all hours have as many events, but the days not as many as all hours."""
    for slice_ in slices:
        if (yield from request_places(session, slice_, pull.events)) != (True, False):
            return False
    days = Slice(pull.start, pull.end)
    places = yield from request_places(session, days, (len(slices) + 1) * pull.events)
    return places != (True, False)


def _same_events(statement: str) -> ProtocolError:
    return ProtocolError(
        f"{statement}, as if the service ignored a parameter, or a cache did.",
        remedy="Pull it with another split, or report it to the service.",
    )


def _compare_with_summary(session: Session, pull: Comparison) -> Operation[bool]:
    """Compare a pull with the summary by day, which leaves filtered events out.

    Returns:
        whether the summary counts events as they arrive.
    """
    # Without types, the events may be counters, whose number the summary does not count.
    if not pull.is_typed or "summary" in pull.failures:
        return False
    counts = yield from request_counts(session, pull.start, pull.end)
    if counts is None:
        return False
    first_open = first_open_day(session)
    days = [day for day in days_between(pull.start, pull.end) if day < first_open]
    total = sum(counts.get(day, 0) for day in days)
    if total > pull.events:
        raise _different(pull, f"at least {counted(total, 'event')}")
    return True
