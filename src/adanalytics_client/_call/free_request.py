"""A request that the caller words: any path of the service, with the rules of all others."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from urllib.parse import quote

from adanalytics_client._base.effects import Operation, Reply, Request
from adanalytics_client._base.urls import with_query
from adanalytics_client._base.validation import invalid
from adanalytics_client._call.attempts import Rules, call, read_json
from adanalytics_client._call.credentials import JSON_BODY
from adanalytics_client._call.session import Session
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client.errors import ConfigurationError

# https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2; the others may have been carried out.
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_METHODS = _REPEATABLE | {"PATCH", "POST"}


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to `Client.request`.

    Attributes:
        status: the HTTP status, 200 to 299.
        headers: the headers, their names in lower case.
        data: the JSON of the body, numbers with a fraction as Decimal; None without a body.
        request_id: the `X-Request-Id` of the response, or None.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    data: Json
    request_id: str | None


def request(
    session: Session,
    method: str,
    path: str,
    *,
    params: Mapping[str, str | int | date] | None,
    json: Json,
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
    url = with_query(where, {name: str(value) for name, value in (params or {}).items()})
    headers = (("accept", "application/json"), *([JSON_BODY] if json is not None else []))
    body = None if json is None else json_text(json).encode()
    rules = Rules(repeatable=verb in _REPEATABLE)
    answer = yield from call(session, Request(verb, url, headers, body), _read, rules)
    head = answer.reply.head
    return Response(
        answer.reply.status, head.headers, answer.value, session.credentials.request_id(head)
    )


def _read(reply: Reply) -> Json:
    return read_json(reply) if reply.body else None


Response.__module__ = "adanalytics_client"
