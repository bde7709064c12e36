"""The reading operations of the service, each from request to result."""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal, get_args

from adanalytics_client._call import NO_CONTENT, Answer, Ask, call, issued_token, read_json
from adanalytics_client._config import Login
from adanalytics_client._dates import Day, to_day, to_range
from adanalytics_client._effects import Operation, Reply, Request
from adanalytics_client._hooks import PageReceived
from adanalytics_client._json import Json
from adanalytics_client._outline import outline
from adanalytics_client._pages import Cursor, Fetched, fetched
from adanalytics_client._rows import Found, find_rows, fold
from adanalytics_client._session import Session
from adanalytics_client._url import with_query
from adanalytics_client.errors import ConfigurationError, ProtocolError

if TYPE_CHECKING:
    from adanalytics_client.models import Summary

GroupBy = Literal["day", "campaign", "demand_tag"]
"""What a summary may be grouped by."""

_ACCEPT_JSON = ("accept", "application/json")


@dataclass(frozen=True, slots=True)
class PageReader:
    """How the pages of one pull are asked for and read.

    Attributes:
        per_page: events asked for.
        rows_key: the name of the list, where the caller knows it.
    """

    per_page: int
    rows_key: str | None = None

    def fetch(self, session: Session, cursor: Cursor) -> Operation[Fetched]:
        """One page of events, of which the observer is told.

        Raises:
            ProtocolError: when the answer holds no list of records.
        """
        page = yield from self.read(session, cursor)
        self.announce(session, cursor, page)
        return page

    def read(self, session: Session, cursor: Cursor) -> Operation[Fetched]:
        """One page of events that may turn out not to be used.

        Raises:
            ProtocolError: when the answer holds no list of records.
        """
        url = with_query(session.address("events"), cursor.parameters(self.per_page))
        answer = yield from call(session, Ask(_get(url)), self._outline)
        found = answer.checked(session.credentials, lambda: self._find(answer))
        return fetched(found, answer.reply.head.headers)

    def announce(self, session: Session, cursor: Cursor, page: Fetched) -> None:
        """Tell the observer of a page that will be used."""
        session.observer.page(PageReceived(str(cursor.slice), cursor.number, len(page)))

    def _outline(self, reply: Reply) -> Json:
        return None if reply.status == NO_CONTENT else outline(reply.body)

    def _find(self, answer: Answer[Json]) -> Found:
        if answer.reply.status == NO_CONTENT:
            return Found([], ())
        return find_rows(answer.value, rows_key=self.rows_key)


def dates(session: Session) -> Operation[list[date]]:
    """The days that have data, in the service's order.

    Raises:
        ProtocolError: when the answer is not `{"dates": ["YYYY-MM-DD", ...]}`.
    """
    answer = yield from call(session, Ask(_get(session.address("dates"))), read_json)
    return answer.checked(session.credentials, lambda: _read_dates(answer.value))


def summary(
    session: Session, start: Day, end: Day | None, *, group_by: str | None
) -> "Operation[Summary]":
    """Aggregated metrics of a range.

    Raises:
        ConfigurationError: for wrong days or an unknown grouping.
        ProtocolError: when the answer holds no rows.
    """
    first, last = to_range(start, end)
    parameters = {"start_date": str(first), "end_date": str(last)}
    if group_by is not None:
        if group_by not in get_args(GroupBy):
            raise ConfigurationError(
                f"group_by={group_by!r}: choose {', '.join(get_args(GroupBy))}, or leave it out."
            )
        parameters["group_by"] = group_by
    url = with_query(session.address("summary"), parameters)
    answer = yield from call(session, Ask(_get(url)), read_json)
    return answer.checked(session.credentials, lambda: _read_summary(answer.value))


def log_in(session: Session) -> Operation[str]:
    """The token of the account that the client was made with, after a login if there is none yet.

    Raises:
        ConfigurationError: when the client was made with a key or a token.
    """
    if not isinstance(session.config.credential, Login):
        raise ConfigurationError(
            "Only an account can log in; make the client with email= and password=."
        )
    token = yield from issued_token(session)
    return token.reveal()


def _get(url: str) -> Request:
    return Request("GET", url, (_ACCEPT_JSON,))


def _read_dates(content: Json) -> list[date]:
    listed = content.get("dates") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        raise ProtocolError('The list of dates is not {"dates": [...]}.')
    try:
        return [to_day(each, "dates") for each in listed]
    except ConfigurationError as error:
        raise ProtocolError(f"The list of dates holds something else: {error}") from None


def _read_summary(content: Json) -> "Summary":
    from adanalytics_client.models import Summary

    found = find_rows(content, also="summary")
    fields = {key: value for each in found.around for key, value in each.items()}
    inner = (found.rows, *found.around)
    beside = {
        key: value for key, value in fields.items() if not any(value is each for each in inner)
    }
    totals = next(
        (value for key, value in beside.items() if fold(key) in {"totals", "total"}), None
    )
    known = {"rows": found.rows, "totals": totals if isinstance(totals, dict) else None}
    return Summary.model_validate({**beside, **known})
