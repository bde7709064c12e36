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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from adanalytics_client._base.dates import days_between
from adanalytics_client._base.effects import Operation
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.remedies import remedy
from adanalytics_client._call.session import Session
from adanalytics_client.errors import ProtocolError

from .check import Comparison, Span, difference, same_events
from .counts import (
    NotCounted,
    first_open_day,
    request_counts,
    request_place,
    request_places,
    request_total,
)
from .omissions import find_omission
from .plan import Slice

MOST_COUNTS = 40
"""The most counts to request in search of the days that differ."""


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
            LOG.warning("The events of %s were not compared with a count: %s", pull, error)
    if not different_spans:
        omission = yield from find_omission(session, pull)
        if omission:
            raise ProtocolError(f"No events arrived of {omission}.", remedy=remedy("end_of_range"))
    return different_spans


@dataclass(frozen=True, slots=True)
class CountedDays:
    """The result of comparing days with the service's own count.

    Attributes:
        different_days: how each day that differs does so, in words.
        unknown_days: why the count of a day is not known, in words.
        failures: the error of the request that was to tell the count of a day.
    """

    different_days: Mapping[date, str] = field(default_factory=dict)
    unknown_days: Mapping[date, str] = field(default_factory=dict)
    failures: Mapping[date, BaseException | None] = field(default_factory=dict)


def compare_days(
    session: Session, days: Mapping[date, int], data_days: Collection[date]
) -> Operation[CountedDays]:
    """Compare the events of some days, between which no other day has any, with their count.

    Of a day of `data_days` that is over, some events must have arrived.
    """
    # Days between that nobody lists may have events nevertheless.
    every_day = days_between(min(days), max(days))
    spans = tuple(Span(day, day, days.get(day, 0), ()) for day in every_day)
    first, last = spans[0], spans[-1]
    events = sum(span.events for span in spans)
    days_with_rows = tuple(span.end for span in spans if span.events)
    pull = Comparison(
        first.start, last.end, events, spans, True, days=days_with_rows, is_stored=True
    )
    try:
        differences = yield from _compare_range(session, pull)
    except NotCounted as error:
        LOG.warning("The events of %s were not compared with a count: %s", pull, error)
        return CountedDays(
            unknown_days=dict.fromkeys(days, str(error).rstrip(".")),
            failures=dict.fromkeys(days, error.__cause__),
        )
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
    first_open = first_open_day(session, pull.cut_day)
    days, is_open = Slice(pull.start, pull.end), pull.end >= first_open
    total = None
    if pull.is_blind and not is_open:
        # This page usually states the total, too.
        place = yield from request_place(session, days, pull.events + 1)
        total = place.signals.total
        if len(place) and total in {None, pull.events}:
            raise difference(pull, f"more than {counted(pull.events, 'event')}")
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
                LOG.warning(text, f"{total:,}", pull, counted(pull.events, "event"))
            return ()
        if total is None:
            words = f"{'more' if has_last else 'fewer'} than {counted(pull.events, 'event')}"
            raise difference(pull, words)
    elif is_open:
        closed = tuple(span for span in pull.spans if span.end < first_open)
        if not closed:
            LOG.info("%s is not over, so its events were not compared with a count.", pull)
            return ()
        pull = pull._replace(
            end=closed[-1].end, spans=closed, events=sum(span.events for span in closed)
        )
    total = yield from request_total(session, pull.start, pull.end)
    if total is None or total == pull.events:
        return ()
    different_spans, neighbours, shared = yield from _differing(session, pull.spans, total)
    if pull.spans and not different_spans:
        # The totals of the days may be those of the slices, so they confirm no end.
        if pull.refusal is not None:
            raise pull.refusal
        if has_more:
            raise difference(pull, f"more than {counted(pull.events, 'event')}")
        # Days that lack events which their range has end too early, such as at midnight.
        if total > pull.events:
            raise difference(pull._replace(hint="each day agrees"), counted(total, "event"))
        yield from _check_apart(session, pull, total, neighbours, shared)
        text = "The service counts %s in %s, but %s by days, as many as arrived."
        LOG.warning(text, counted(total, "event"), pull, f"{pull.events:,}")
        return ()
    if pull.is_stored:
        return different_spans
    if total > pull.events and pull.spans and not pull.final:
        for span, count in different_spans:
            LOG.warning(
                "Requesting %s again: the service counts %s, but %s arrived.",
                span,
                counted(count, "event"),
                f"{span.events:,}",
            )
        return different_spans
    raise difference(pull, counted(total, "event"), different_spans)


def _differing(
    session: Session, spans: Sequence[Span], total: int
) -> Operation[tuple[list[tuple[Span, int]], Sequence[Span], int]]:
    """Halve a range of days until its parts agree with their counts or are single spans.

    Also return two neighbours with another count together, though the halves that they end agree,
    and how many events both may have.
    """
    parts, different_spans, counts = [(spans, total)] if spans else [], [], 0
    neighbours: Sequence[Span] = ()
    shared = 1
    while parts:
        spans, total = parts.pop()
        events = sum(span.events for span in spans)
        # The search must not cost more than what it saves: then a range stands for its days.
        if len(spans) == 1 or counts >= MOST_COUNTS:
            places = tuple(place for span in spans for place in span.places)
            if events != total:
                different_spans.append((Span(spans[0].start, spans[-1].end, events, places), total))
            continue
        middle, depth = len(spans) // 2, len(parts)
        for half in (spans[middle:], spans[:middle]):
            # Both: a service that ignores `end_date` counts neither half as the rest of the other.
            count = yield from request_total(session, half[0].start, half[-1].end)
            counts += 1
            if count != sum(span.events for span in half):
                parts.append((half, count or 0))
            elif len(half) > 1:
                # Two differences may cancel out, but those that show come first.
                parts.insert(0, (half, count))
                depth += 1
        if events != total and len(parts) == depth:
            neighbours, shared = spans[middle - 1 : middle + 1], events - total
    return different_spans, neighbours, shared


def _check_apart(
    session: Session, pull: Comparison, total: int, neighbours: Sequence[Span], shared: int
) -> Operation[None]:
    """Check that two days do not share their first or last events.

    A service that ignores `start_date` or `end_date` counts each day as it answers, and its days
    share events, whatever the order; so they do if a day includes the next midnight. A service that
    cuts a range to its first days counts the days right.
    """
    events: list[set[bytes]] = []
    for span in neighbours:
        events.append(set())
        # One has them at its end, the other at its begin.
        for place in {1, max(1, span.events - shared + 1)} if span.events else ():
            page = yield from request_place(session, Slice(span.start, span.end), place)
            events[-1].update(page.rows.texts[:1])
    if events and set.intersection(*events):
        hint = f"{' and '.join(map(str, neighbours))} share an event"
        raise difference(pull._replace(hint=hint), counted(total, "event"))


def _compare_hour(session: Session, pull: Comparison, hour: int) -> Operation[None]:
    """Check that the service neither cuts the pages of an hour, nor ignores the hour."""
    days = Slice(pull.start, pull.end, hour)
    # Without a total, a service that cuts its pages shows it only by an event behind the last.
    if pull.is_blind and pull.end < first_open_day(session, pull.cut_day):
        place = yield from request_place(session, days, pull.events + 1)
        if len(place):
            raise difference(pull, f"more than {counted(pull.events, 'event')}")
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
        raise same_events(f"{pull} and {hours[0]} have the same events")


def _has_same_hours(session: Session, pull: Comparison, slices: Sequence[Slice]) -> Operation[bool]:
    """Return whether all hours have as many events, but the days not as many as all hours."""
    for slice_ in slices:
        if (yield from request_places(session, slice_, pull.events)) != (True, False):
            return False
    days = Slice(pull.start, pull.end)
    places = yield from request_places(session, days, (len(slices) + 1) * pull.events)
    return places != (True, False)


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
    first_open = first_open_day(session, pull.cut_day)
    days = [day for day in days_between(pull.start, pull.end) if day < first_open]
    total = sum(counts.get(day, 0) for day in days)
    if total > pull.events:
        raise difference(pull, f"at least {counted(total, 'event')}")
    return True
