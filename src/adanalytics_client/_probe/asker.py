"""Send the requests of a probe, each once, and choose its day."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from adanalytics_client._base.effects import Operation
from adanalytics_client._base.urls import Resource, with_query
from adanalytics_client._call.attempts import Rules, call, read_json
from adanalytics_client._call.requests import get_json
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import find_rows
from adanalytics_client.errors import (
    AdAnalyticsError,
    AuthenticationError,
    ProtocolError,
    RateLimited,
    StatusError,
    TransportError,
)

from .places import Look, rows_place

MOST_GETS = 12
"""The most requests of a probe, apart from an export."""

FEW = 50
"""Events on a page of a day that may have millions."""

MOST = 10_000
"""The most events on a page, by the public documents."""

DAY = timedelta(1)
_MOST_DAYS = 31


@dataclass(slots=True)
class Asker:
    """Sends the requests of a probe, at most `MOST_GETS`, and keeps the names of headers.

    Attributes:
        failure: why the last response that could not be read as rows could not.
        hint: what the caller knows of the name of the list of events.
    """

    session: Session
    hint: str | None
    requests: int = 0
    failure: AdAnalyticsError | None = None
    headers: set[str] = field(default_factory=set)

    def look(self, resource: Resource, **parameters: object) -> Operation[Look]:
        """Return the response to one request; one without a status if no more may be sent.

        Raises:
            AdAnalyticsError: when the service cannot be reached, or refuses any request.
        """
        if self.requests >= MOST_GETS:
            return Look()
        self.requests += 1
        query = {name: str(value) for name, value in parameters.items() if value is not None}
        url = with_query(self.session.address(resource), query)
        try:
            answer = yield from call(self.session, get_json(url), read_json, Rules())
        except RateLimited:
            raise
        except (StatusError, ProtocolError, TransportError) as error:
            # Without any response the others would fail, too.
            if not self.headers and isinstance(error, AuthenticationError | TransportError):
                raise
            self.failure = error
            return Look(error.status if isinstance(error, StatusError) else 0)
        headers = answer.reply.head.headers
        self.headers |= headers.keys()
        if resource != "dates":
            find = partial(find_rows, answer.value, rows_key=self.hint, extra_name=resource)
            try:
                answer.checked(self.session.credentials, partial(find, single=True))
            except ProtocolError as error:
                self.failure = error
        return Look(answer.reply.status, headers, answer.value)


@dataclass(slots=True)
class ProbeDay:
    """The day that a probe looks at.

    Attributes:
        data_days: the days with data that are over, in order.
        by_day: the response with the summary of these days, and the path of its rows.
        counts: a number of events of each day in the summary, as far as they are known.
        end: the `end_date` of a query for the day.
        rows: its events, or the first of them.
        is_whole: whether `rows` are all events.
    """

    day: date
    data_days: Sequence[date]
    by_day: tuple[Look, str | None]
    counts: Mapping[date, int]
    end: date
    rows: list[dict[str, Json]] = field(default_factory=list)
    is_whole: bool = False


def choose_day(asker: Asker) -> Operation[ProbeDay]:
    """Choose a day whose events fill several pages of `FEW`, and at most one of `MOST`.

    It costs two requests: the days with data, and their summary.
    """
    look = yield from asker.look("dates")
    texts = look.at("dates")
    data_days = []
    for text in texts if isinstance(texts, list) else ():
        with suppress(TypeError, ValueError):
            data_days.append(date.fromisoformat(text))
    today = asker.session.today()
    data_days = sorted(day for day in data_days if day < today)[-_MOST_DAYS:]
    # Without a list of dates, the summary may know which days have data.
    first, last = (
        (data_days[0], data_days[-1]) if data_days else (today - _MOST_DAYS * DAY, today - DAY)
    )
    by_day = yield from asker.look("summary", start_date=first, end_date=last, group_by="day")
    key = rows_place(by_day, name="summary", hint=asker.hint)
    counts = dict(filter(None, (_count(row) for row in by_day.rows(key))))
    data_days = data_days or sorted(counts)
    choice = max(counts, key=lambda day: _rank(day, counts[day], data_days), default=None)
    choice = choice or (data_days[-1] if data_days else today - DAY)
    return ProbeDay(choice, data_days, (by_day, key), counts, choice)


def _rank(day: date, count: int, data_days: Sequence[date]) -> tuple[bool, bool, bool, int]:
    """Rank a day: few pages, several pages, another day behind it, late or else near to few."""
    is_several = count >= 2 * FEW
    is_few = is_several and count < MOST
    late = day.toordinal() if is_few else -abs(count - MOST)
    return is_few, is_several, is_several and day + DAY in data_days, late


def _count(row: Mapping[str, Json]) -> tuple[date, int] | None:
    """Return the day of a row of a summary and its largest count, which its events may have."""
    days = []
    for cell in row.values():
        with suppress(ValueError):
            days.append(date.fromisoformat(str(cell)[:10]))
    largest = max((cell for cell in row.values() if type(cell) is int), default=0)
    return (days[0], largest) if days and largest else None
