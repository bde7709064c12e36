"""The login, the dates, the summary and what a caller words, each from request to result."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import quote

from adanalytics_client._base.dates import Day, to_day, to_range
from adanalytics_client._base.effects import Operation, Reply, Request
from adanalytics_client._base.observer import PartialAnswer, notify
from adanalytics_client._base.urls import Params, further_params, with_query
from adanalytics_client._base.validation import invalid
from adanalytics_client._call.attempts import NO_CONTENT, Answer, Rules, call, log_in_of, read_json
from adanalytics_client._call.config import Login
from adanalytics_client._call.credentials import JSON_BODY
from adanalytics_client._call.session import Session
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client.errors import ConfigurationError, ProtocolError

if TYPE_CHECKING:
    from adanalytics_client.models import Summary


GroupBy = Literal["day", "campaign", "demand_tag"]
"""The ways to group a summary."""

_LOG = logging.getLogger("adanalytics_client")
_ACCEPT_JSON = ("accept", "application/json")
_LONGEST_REASON = 500
# https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2; the others may have been carried out.
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_METHODS = _REPEATABLE | {"PATCH", "POST"}


@dataclass(frozen=True, slots=True)
class Response:
    """The response that `Client.request` returns.

    Attributes:
        status: the HTTP status, 200 to 299.
        headers: the headers, with their names in lower case.
        data: the JSON body, with fractional numbers as Decimal; None if there is no body.
        request_id: the `X-Request-Id` of the response, or None.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    data: Json
    request_id: str | None


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
    session: Session,
    start: Day,
    end: Day | None,
    *,
    group_by: str | None,
    params: Params | None = None,
) -> "Operation[Summary]":
    first, last = to_range(start, end, today=session.today())
    parameters = {"start_date": str(first), "end_date": str(last)}
    if group_by is not None:
        if group_by not in get_args(GroupBy):
            raise invalid(
                "group_by", group_by, f"Choose {', '.join(get_args(GroupBy))}, or leave it out."
            )
        parameters["group_by"] = group_by
    parameters |= further_params(params, ("start_date", "end_date", "group_by"))
    url = with_query(session.address("summary"), parameters)
    answer = yield from call(session, get_json(url), read_json)
    made, error = answer.checked(session.credentials, lambda: _read_summary(session, answer))
    report_partial(session, answer, error)
    # No field, so it is neither data nor compared.
    vars(made)["_request_id"] = exchange_of(session, answer)[1]
    return made


def request(
    session: Session, method: str, path: str, params: Params | None, json: Json
) -> Operation[Response]:
    """Send a request to a path of the service, and return its JSON."""
    verb = method.upper()
    if verb not in _METHODS:
        raise invalid("method", method, f"Pass one of {', '.join(sorted(_METHODS))}.")
    if not path.startswith("/") or "?" in path or "#" in path:
        raise ConfigurationError(
            f"{path!r} is not a path of the service.",
            remedy="Begin it with /, without a host, and pass what follows ? as params=.",
        )
    where = session.config.base.at(quote(path, safe="/%:@!$&'()*+,;=~-._"))
    url = with_query(where, dict(further_params(params, ())))
    headers = (_ACCEPT_JSON, *([JSON_BODY] if json is not None else []))
    body = None if json is None else json_text(json).encode()
    rules = Rules(repeatable=verb in _REPEATABLE)
    asked = Request(verb, url, headers, body)
    answer = yield from call(session, asked, _read_any, rules)
    _, request_id = exchange_of(session, answer)
    return Response(answer.reply.status, answer.reply.head.headers, answer.value, request_id)


def _read_any(reply: Reply) -> Json:
    return read_json(reply) if reply.body else None


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


def _read_summary(session: Session, answer: Answer[Json]) -> "tuple[Summary, str]":
    """Return the model, and an error that the response states beside its rows."""
    from adanalytics_client._json.rows import find_rows
    from adanalytics_client.models import Summary

    found = find_rows(_content(answer), rows_key=session.config.service.rows_key, also="summary")
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


Response.__module__ = "adanalytics_client"
