"""What the service says about days; two requests per range."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from adanalytics_client import Client, Period
from adanalytics_client._base.dates import days_between
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.remedies import remedy
from adanalytics_client._json.exact import json_text
from adanalytics_client._lists.rows import DAY_NAMES
from adanalytics_client._lists.summary import OTHER_GROUPS
from adanalytics_client._view import CountedDays, View
from adanalytics_client.errors import InvalidRequest, NotFound, ProtocolError

from .hours.totals import NOTHING, Figures, events_in, stated_figures
from .planning import NO_LIMIT, runs_of
from .records.layout import Hour, hours_of
from .records.manifest import OUTDATED, UNCONFIRMED, Manifest

if TYPE_CHECKING:
    from adanalytics_client._json.fields import GroupBy
    from adanalytics_client.models import SummaryRow

T = TypeVar("T")


MOST_DAYS = 36_525
"""The most days of a dataset, a century: each day without events has a record, too."""

NO_DATA = "no data"
"""The fingerprint of a day without data."""

NO_ROW = hashlib.sha256(b"").hexdigest()
"""The fingerprint of a day with data of which the summary has no row."""

_NO_LIST = {"days", "partner"}
"""The codes of remedies, if the list of days cannot be read."""

_WITHOUT_ROW = {UNCONFIRMED, OUTDATED, NO_DATA, NO_ROW}


class DayState(NamedTuple):
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
    # A day to come that has data: the clock of this machine is behind.
    return 24 if state.day < today or state.has_data else 0


@dataclass(frozen=True)
class ServiceDays:
    """The days that have data, and what the summary says about each.

    Attributes:
        span: the range that was requested, or by default the range from the first to the last day
            that is listed or in the dataset; None if there is no such day.
        days: the days with data.
        page: the number of events on a full page, if the profile of the service tells it.
        lists_nothing: whether the service lists no day at all, and sums up none of the range.
        longest: the most days of a range that it did not refuse.
        usual: the likely number of events of a day whose own number the summary does not tell; 0
            if that is unknown.
    """

    span: Period | None
    days: Mapping[date, DayState]
    page: int | None = None
    lists_nothing: bool = False
    longest: int = NO_LIMIT
    usual: int = 0

    @cached_property
    def counts(self) -> Mapping[date, int]:
        """The rough number of events of each day with data; 0 if it is unknown."""
        return {day: events_in(state.figures) for day, state in self.days.items()}

    def state(self, day: date) -> DayState:
        return self.days.get(day) or DayState(day, NO_DATA, NOTHING)

    def lacks(self, first: date, last: date) -> bool:
        """Return whether the service has data, but neither lists these days nor sums them up."""
        return not self.lists_nothing and self.days.keys().isdisjoint(days_between(first, last))

    def basis(self, first: date, last: date) -> str:
        texts = " ".join(self.state(day).fingerprint for day in days_between(first, last))
        return hashlib.sha256(texts.encode()).hexdigest()


@dataclass
class Ranges:
    """Divides days into ranges, of fewer days each once the service has refused one.

    The longest range of a service is not published.

    Attributes:
        longest: the most days of a range.
    """

    longest: int

    def request(self, ask: Callable[[date, date], T], first: date, last: date) -> Iterator[T]:
        """Yield the response for each range of the days."""
        while first <= last:
            end = min(first + timedelta(self.longest - 1), last)
            try:
                response = ask(first, end)
            except InvalidRequest:
                if first == end:
                    raise
                self.longest = (end - first).days // 2 + 1
                continue
            yield response
            first = end + timedelta(1)


def fetch_service_days(
    client: View, span: Period | None, manifest: Manifest, *, needs_list: bool = True
) -> ServiceDays:
    """Request the days with data, and a summary by day of them or of the range.

    The summary may have days that the service does not list; they have data, too, unless all their
    figures are 0: some services fill the days between with such rows. A summary whose
    rows do not name their days states nothing, unless a day of the dataset agreed with another one.

    Args:
        span: the range of interest, or None for everything that the service lists.
        manifest: the days in the dataset; the service may no longer have their data.
        needs_list: whether a list that cannot be read is an error if no range is stated; else the
            range is that of the dataset.
    """
    is_missing = False
    try:
        dates = client.dates()
    except (NotFound, ProtocolError) as error:
        # Of stated days, the summary and the count tell which have data.
        is_missing = isinstance(error, NotFound)
        has_range = span or (not needs_list and error.remedy.code in _NO_LIST and manifest.days())
        if not has_range:
            raise
        text = "The list of days cannot be read, so only the summary and the count tell them: %s"
        LOG.warning(text, error.message)
        dates = []
    if span is None and (every := {*dates, *manifest.days()}):
        span = Period(min(every), max(every))
    if span and (span.last - span.first).days >= MOST_DAYS:
        raise ProtocolError(
            f"The days from {span.first} to {span.last} are more than a century.",
            remedy=remedy("days"),
        )
    days = {day for day in dates if span and span.first <= day <= span.last}
    rows, ranges, missing = {}, Ranges(NO_LIMIT), list[NotFound]()

    def summarize(first: date, last: date) -> Sequence["SummaryRow"]:
        try:
            return client.summary(first, last, group_by="day").rows
        except NotFound as error:
            # So services mean a range without data, unless they have just listed some.
            if any(first <= day <= last for day in days):
                raise
            missing.append(error)
            return ()

    if span:
        ranges = Ranges((span.last - span.first).days + 1)
        try:
            summaries = [*ranges.request(summarize, span.first, span.last)]
        except ProtocolError as error:
            # Without any day, there is nothing that the count could be compared with. A day that
            # agreed with its row would seem restated.
            hours = (hour for record in manifest.records(days) for hour in record.hours.values())
            fingerprints = {hour.fingerprint for hour in hours} - _WITHOUT_ROW
            if error.remedy.code != OTHER_GROUPS or not days or fingerprints:
                raise
            text = "The summary states nothing for days, so changes of a day may stay unseen: %s"
            LOG.warning(text, error.message)
        else:
            # Without the list, too, perhaps the partner does not exist.
            if is_missing and len(missing) == len(summaries):
                raise missing[0]
            summary = chain.from_iterable(summaries)
            rows = {day: row for row in summary if (day := _day_of(row)) is not None}
            days |= {
                day
                for day, row in rows.items()
                if span.first <= day <= span.last and not _is_zero(row)
            }
    # If the summary has rows, a day without one has only events that the summary leaves out.
    without = NOTHING if rows else {}
    states = {day: _state(day, rows.get(day), without) for day in sorted(days)}
    pages = client.service.pages
    most = pages.most if pages else None
    return ServiceDays(span, states, most, not (dates or days), ranges.longest)


def fetch_names(client: Client, group: "GroupBy", first: date, last: date) -> dict[str, str]:
    """Request one summary by a group; return the name of each id in it."""
    rows = map(dict, client.summary(first, last, group_by=group).rows)
    pairs = ((row.get(f"{group}_id"), row.get(f"{group}_name")) for row in rows)
    # A service may send anything, such as half a surrogate pair, which is no text elsewhere.
    return {
        str(id_).encode(errors="replace").decode(): name.encode(errors="replace").decode()
        for id_, name in pairs
        if isinstance(id_, int | str) and isinstance(name, str) and name
    }


def runs_to_count(service: ServiceDays, days: Collection[date]) -> list[list[date]]:
    """Group days into runs between which no other day has data: one count is enough for each."""
    return [*runs_of(sorted(days), service.days, service.longest)]


def count_days(client: View, service: ServiceDays, events: Mapping[date, int]) -> CountedDays:
    """Compare days, each with its number of events, with the service's own count.

    One request is sent for each run of days between which no other day has data, if they agree.
    """
    differing, uncounted = dict[date, str](), dict[date, str]()
    failures = dict[date, BaseException | None]()
    for run in runs_to_count(service, events):
        counts = client.compare_days({day: events[day] for day in run}, service.days)
        differing |= counts.different_days
        uncounted |= counts.unknown_days
        failures |= counts.failures
    return CountedDays(differing, uncounted, failures)


def _is_zero(row: "SummaryRow") -> bool:
    figures = stated_figures(row.model_dump()).values()
    return bool(figures) and not any(figures)


def _state(day: date, row: "SummaryRow | None", without: Figures) -> DayState:
    text = ""
    if row:
        try:
            text = row.model_dump_json()
        except ValueError:
            # Half a surrogate pair is no UTF-8.
            text = json_text(row.model_dump())
    figures = stated_figures(row.model_dump()) if row else without
    return DayState(day, hashlib.sha256(text.encode()).hexdigest(), figures)


def _day_of(row: "SummaryRow") -> date | None:
    fields = row.model_dump()
    for name in DAY_NAMES:
        try:
            return date.fromisoformat(str(fields.get(name)))
        except ValueError:
            continue
    return None
