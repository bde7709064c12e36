"""Keep the HTTP libraries' own log lines free of credentials and signed addresses."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import responses

from adanalytics_client._url import redact_url

Redact = Callable[[str], str]
"""Takes the secrets of one client out of a text."""

_OURS: ContextVar[Redact | None] = ContextVar("adanalytics_client_request", default=None)
_LOGGERS = tuple(
    logging.getLogger(name)
    for name in (
        "httpx",
        "httpcore.connection",
        "httpcore.http11",
        "httpcore.http2",
        "httpcore.proxy",
        "httpcore.socks",
        # HTTP/2 of a lent client: hpack shows every header that it packs.
        "hpack.hpack",
        "hpack.table",
    )
)


class _Filter(logging.Filter):
    """Shortens records made during this client's requests; all others pass untouched."""

    def filter(self, record: logging.LogRecord) -> bool:
        redact = _OURS.get()
        if redact is None:
            return True
        if record.name == "httpx" and isinstance(record.args, tuple):
            record.args = _with_usual_words(tuple(_shown(each, redact) for each in record.args))
        elif record.name != "httpx":
            # What follows the name of the event holds headers: Location, Set-Cookie, ...
            record.msg, record.args = str(record.msg).partition(" ")[0], ()
        return True


_FILTER = _Filter()


@contextmanager
def quiet_logs(redact: Redact) -> Iterator[None]:
    """Within this block httpx and httpcore log no query string, no header and no secret."""
    for logger in _LOGGERS:
        # Each time, because whoever sets up logging may take filters away.
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)
    token = _OURS.set(redact)
    try:
        yield
    finally:
        _OURS.reset(token)


def _shown(value: object, redact: Redact) -> object:
    text = str(value)
    return redact(redact_url(text)) if "://" in text else value


def _with_usual_words(args: tuple[object, ...]) -> tuple[object, ...]:
    """The arguments of a line about an answer, which end with its status and the server's words."""
    match args:
        case (*before, int(status), str()):
            return (*before, status, responses.get(status, ""))
    return args
