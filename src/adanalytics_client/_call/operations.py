"""The login, the dates and the summary, each from request to result."""

import logging
from datetime import date
from typing import TYPE_CHECKING, Literal, get_args

from adanalytics_client._base.dates import Day, to_day, to_range
from adanalytics_client._base.effects import Operation, Request
from adanalytics_client._base.observer import PartialAnswer, notify
from adanalytics_client._base.urls import with_query
from adanalytics_client._base.validation import invalid
from adanalytics_client._call.attempts import NO_CONTENT, Answer, call, log_in_of, read_json
from adanalytics_client._call.config import Login
from adanalytics_client._call.session import Session
from adanalytics_client._json.exact import Json
from adanalytics_client.errors import ConfigurationError, ProtocolError

if TYPE_CHECKING:
    from adanalytics_client.models import Summary


GroupBy = Literal["day", "campaign", "demand_tag"]
"""The groupings of a summary."""

_LOG = logging.getLogger("adanalytics_client")
_ACCEPT_JSON = ("accept", "application/json")
_LONGEST_REASON = 500


def report_partial(session: Session, answer: Answer[Json], error: str) -> PartialAnswer | None:
    """Report an error beside the data, if there is one, to the observer and the log."""
    if not error:
        return None
    url, request_id = exchange_of(session, answer)
    partial = PartialAnswer(url, session.credentials.shown(error)[:_LONGEST_REASON], request_id)
    _LOG.warning("%s", partial)
    notify(session.observer.partial, partial)
    return partial


def exchange_of(session: Session, answer: Answer[Json]) -> tuple[str, str | None]:
    """Return the address asked and the request id of the response, without secrets."""
    return session.shown(answer.url), session.credentials.request_id(answer.reply.head)


def dates(session: Session) -> Operation[list[date]]:
    answer = yield from call(session, get_json(session.address("dates")), read_json)
    days, error = answer.checked(session.credentials, lambda: _read_dates(answer))
    report_partial(session, answer, error)
    return days


def summary(
    session: Session, start: Day, end: Day | None, *, group_by: str | None
) -> "Operation[Summary]":
    first, last = to_range(start, end, today=session.today())
    parameters = {"start_date": str(first), "end_date": str(last)}
    if group_by is not None:
        if group_by not in get_args(GroupBy):
            raise invalid(
                "group_by", group_by, f"Choose {', '.join(get_args(GroupBy))}, or leave it out."
            )
        parameters["group_by"] = group_by
    url = with_query(session.address("summary"), parameters)
    answer = yield from call(session, get_json(url), read_json)
    made, error = answer.checked(session.credentials, lambda: _read_summary(answer))
    report_partial(session, answer, error)
    return made


def log_in(session: Session) -> Operation[str]:
    """Return the token of the client's account, after a login if there is none yet."""
    if not isinstance(session.config.credential, Login):
        raise ConfigurationError(
            "Only an account can log in.", remedy="Make the client with email= and password=."
        )
    secret, _ = yield from session.credentials.current(log_in_of(session, session.deadline()))
    return secret.reveal()


def get_json(url: str) -> Request:
    return Request("GET", url, (_ACCEPT_JSON,))


def _read_dates(answer: Answer[Json]) -> tuple[list[date], str]:
    """Return the days, and an error that the response states beside them."""
    # Late, because it imports msgspec, which a client that sends no requests does not need.
    from adanalytics_client._json.rows import describe, kind_of, stated_error

    content = _content(answer)
    listed = content.get("dates") if isinstance(content, dict) else None
    error = stated_error([content]) if isinstance(content, dict) else ""
    if error and not listed:
        raise ProtocolError(
            f"The answer contains an error instead of dates: {error}", remedy="Try later."
        )
    if not isinstance(listed, list):
        seen = isinstance(content, dict) and "dates" in content
        came = f"dates is {kind_of(listed)}" if seen else f"The answer is {describe(content)}"
        raise ProtocolError(
            f'{came}, not {{"dates": ["YYYY-MM-DD", ...]}}.',
            remedy="Pass the days as start and end.",
        )
    try:
        return [to_day(each, "dates") for each in listed], error
    except ConfigurationError as problem:
        raise ProtocolError(
            f"The list of dates has an invalid entry: {problem.message}",
            remedy="Pass the days as start and end.",
        ) from None


def _read_summary(answer: Answer[Json]) -> "tuple[Summary, str]":
    """Return the model, and an error that the response states beside its rows."""
    from adanalytics_client._json.rows import find_rows
    from adanalytics_client.models import Summary

    found = find_rows(_content(answer), also="summary")
    fields = {key: value for each in found.around for key, value in each.items()}
    inner = (found.rows, *found.around)
    beside = {
        f"{key}_" if key == "rows" else key: value
        for key, value in fields.items()
        if not any(value is each for each in inner)
    }
    known = {"rows": found.rows, "totals": _taken_totals(beside)}
    return Summary.model_validate({**beside, **known}), found.error


def _taken_totals(beside: dict[str, Json]) -> Json:
    """Remove the totals from the fields beside the rows; a number may be the count in `total`."""
    from adanalytics_client._json.rows import fold

    for name in ("totals", "total"):
        for key, value in beside.items():
            if fold(key) == name and (isinstance(value, dict) or (value and name == "totals")):
                return beside.pop(key)
    return None


def _content(answer: Answer[Json]) -> Json:
    """Return the JSON of a response that must have a body."""
    if answer.reply.status == NO_CONTENT:
        raise ProtocolError(
            "The answer has no body (204) instead of an object.", remedy="Try later."
        )
    return answer.value
