"""Send the requests of a probe, each once, and choose its day."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta

from adanalytics_client._base.effects import Operation
from adanalytics_client._base.urls import with_query
from adanalytics_client._call.attempts import Rules, call, read_json
from adanalytics_client._call.operations import get_json
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client._probe.places import Look, rows_place
from adanalytics_client.errors import AuthenticationError, ProtocolError, RateLimited, StatusError

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
        hint: what the caller knows of the name of the list of events.
    """

    session: Session
    hint: str | None
    requests: int = 0
    headers: set[str] = field(default_factory=set)

    def look(self, resource: str, **parameters: object) -> Operation[Look]:
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
        except (AuthenticationError, RateLimited):
            raise
        except StatusError as error:
            return Look(error.status)
        except ProtocolError:
            return Look()
        headers = answer.reply.head.headers
        self.headers |= headers.keys()
        return Look(answer.reply.status, headers, answer.value)


@dataclass(slots=True)
class ProbeDay:
    """The day that a probe looks at.

    Attributes:
        listed: the days with data that are over, in order.
        by_day: the response with the summary of these days, and the path of its rows.
        count: a number of events of the day in the summary; None if unknown.
        end: the `end_date` of a query for the day.
        rows: its events, or the first of them.
        is_whole: whether `rows` are all events.
    """

    day: date
    listed: Sequence[date]
    by_day: tuple[Look, str | None]
    count: int | None
    end: date
    rows: list[dict[str, Json]] = field(default_factory=list)
    is_whole: bool = False


def choose_day(asker: Asker) -> Operation[ProbeDay]:
    """Choose a day whose events fill several pages of `FEW`, and at most one of `MOST`.

    It costs two requests: the days with data, and their summary.
    """
    look = yield from asker.look("dates")
    texts = look.at("dates")
    listed: list[date] = []
    for text in texts if isinstance(texts, list) else ():
        with suppress(TypeError, ValueError):
            listed.append(date.fromisoformat(text))
    today = asker.session.today()
    listed = sorted(day for day in listed if day < today)[-_MOST_DAYS:]
    by_day, key = Look(), None
    if listed:
        by_day = yield from asker.look(
            "summary", start_date=listed[0], end_date=listed[-1], group_by="day"
        )
        key = rows_place(by_day, also="summary", hint=asker.hint)
    counts = dict(filter(None, (_count(row, listed) for row in by_day.rows(key))))
    chosen = max(counts, key=lambda day: _rank(day, counts[day], listed), default=None)
    chosen = chosen or (listed[-1] if listed else today - DAY)
    return ProbeDay(chosen, listed, (by_day, key), counts.get(chosen), chosen)


def _rank(day: date, count: int, listed: Sequence[date]) -> tuple[bool, bool, bool, int]:
    """Rank a day: few pages, several pages, another day behind it, late or else near to few."""
    is_several = count >= 2 * FEW
    is_few = is_several and count < MOST
    late = day.toordinal() if is_few else -abs(count - MOST)
    return is_few, is_several, is_several and day + DAY in listed, late


def _count(row: Mapping[str, Json], listed: Sequence[date]) -> tuple[date, int] | None:
    """Return the day of a row of a summary and its largest count, which its events may have."""
    texts = {str(cell)[:10] for cell in row.values()}
    day = next((day for day in listed if str(day) in texts), None)
    most = max((cell for cell in row.values() if type(cell) is int), default=0)
    return (day, most) if day and most else None
