"""The login, a request in the caller's words, and what all operations say of a response."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from adanalytics_client._base.effects import Operation, Reply, Request
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.observer import PartialAnswer, notify
from adanalytics_client._base.urls import Params, further_params, with_query
from adanalytics_client._base.validation import invalid
from adanalytics_client._json.exact import Json, json_text
from adanalytics_client.errors import ConfigurationError, ProtocolError

from .attempts import NO_CONTENT, Answer, Rules, call, log_in_of, read_json
from .config import Login
from .credentials import JSON_BODY
from .session import Session

_ACCEPT_JSON = ("accept", "application/json")
_LONGEST_REASON = 500
_MOST_WARNINGS = 20
# https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2; the others may have been carried out.
_REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})
_METHODS = _REPEATABLE | {"PATCH", "POST"}


class Headers(Mapping[str, str]):
    """Headers by their names in any case."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        return self._headers[str(name).lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)


@dataclass(frozen=True, slots=True)
class Response:
    """The response that `Client.request` returns.

    Attributes:
        status: the HTTP status, 200 to 299.
        headers: the headers; their names may be in any case.
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
    LOG.warning("%s", partial)
    notify(session.observer.partial, partial)
    return partial


def check_whole(
    session: Session, answer: Answer[Json], error: str, *, accept: bool = False
) -> PartialAnswer | None:
    """Refuse a response that states beside its data that they are not all.

    Args:
        error: the statement; empty without one.
        accept: whether to report the statement instead.

    Raises:
        ProtocolError: with the statement.
    """
    if accept or not error:
        return report_partial(session, answer, error)
    words = session.credentials.shown(error)[:_LONGEST_REASON].rstrip(".")
    problem = ProtocolError(
        f"The response holds data, and says that they are not all: {words}.",
        remedy="Try later, or report it to the service.",
    )
    raise session.credentials.complete(problem, answer.url, answer.reply)


def report_warning(session: Session, text: str, texts: set[str]) -> None:
    """Log a warning that the service states beside its data, unless it is in `texts`."""
    words = session.credentials.shown(text)[:_LONGEST_REASON]
    if words not in texts and len(texts) < _MOST_WARNINGS:
        texts.add(words)
        LOG.warning("The service warns: %s", words)


def exchange_of(session: Session, answer: Answer[Json]) -> tuple[str, str | None]:
    """Return the address asked and the request id of the response, without secrets."""
    return session.shown(answer.url), session.credentials.request_id(answer.reply.head)


def is_empty(reply: Reply) -> bool:
    return reply.status == NO_CONTENT or not reply.body


def request(
    session: Session, method: str, path: str, params: Params | None, json: Json
) -> Operation[Response]:
    """Send a request to a path of the service, and return its JSON."""
    verb = method.upper()
    if verb not in _METHODS:
        raise invalid("method", method, f"Pass one of {', '.join(sorted(_METHODS))}.")
    # A host in the path would send the credential elsewhere.
    if not path.startswith("/") or "?" in path or "#" in path:
        raise ConfigurationError(
            f"{path!r} is not a path of the service.",
            remedy="Begin it with /, without a host, and pass what follows ? as params=.",
        )
    address = session.config.base.at(quote(path, safe="/%:@!$&'()*+,;=~-._"))
    url = with_query(address, {}, further_params(params, ()))
    headers = (_ACCEPT_JSON, *([JSON_BODY] if json is not None else []))
    body = None if json is None else json_text(json).encode()
    rules = Rules(repeatable=verb in _REPEATABLE)
    http_request = Request(verb, url, headers, body)
    answer = yield from call(
        session, http_request, lambda reply: read_json(reply) if reply.body else None, rules
    )
    head = answer.reply.head
    request_id = session.credentials.request_id(head)
    return Response(head.status, Headers(head.headers), answer.value, request_id)


def log_in(session: Session) -> Operation[str]:
    """Return the token of the client's account, after a login if there is none yet."""
    if not isinstance(session.config.credential, Login):
        raise ConfigurationError(
            "Only an account can log in.", remedy="Make the client with email= and password=."
        )
    secret, _ = yield from session.credentials.current(log_in_of(session, session.deadline()))
    return secret.reveal()


def get_json(url: str, *headers: tuple[str, str]) -> Request:
    return Request("GET", url, (_ACCEPT_JSON, *headers))


Response.__module__ = "adanalytics_client"
