"""Keep credentials and signed addresses out of the HTTP libraries' own log lines."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adanalytics_client._base.urls import redact_queries, redact_url

Redact = Callable[[str], str]
"""Removes the secrets of one client from a text."""

_REDACT: ContextVar[Redact | None] = ContextVar("adanalytics_client_redact", default=None)
_LOGGERS = tuple(
    logging.getLogger(name)
    for name in (
        *("httpx", "httpx2"),
        *(
            f"{core}.{part}"
            for core in ("httpcore", "httpcore2")
            for part in ("connection", "http11", "http2", "proxy", "socks")
        ),
        # For HTTP/2 in a caller's client: hpack logs every header that it encodes.
        "hpack.hpack",
        "hpack.table",
    )
)


class _Filter(logging.Filter):
    """Redacts records made during this client's requests; all others pass unchanged."""

    def filter(self, record: logging.LogRecord) -> bool:
        redact = _REDACT.get()
        if redact is None:
            return True
        if record.name not in {"httpx", "httpx2"}:
            # The name of the event is followed by headers: Location, Set-Cookie, ...
            record.msg, record.args = str(record.msg).partition(" ")[0], ()
        elif isinstance(record.args, tuple):
            # Method, address, version, status and the server's reason phrase.
            record.args = tuple(
                argument if isinstance(argument, int) else redact(_without_queries(str(argument)))
                for argument in record.args
            )
        return True


_FILTER = _Filter()


@contextmanager
def quiet_logs(redact: Redact) -> Iterator[None]:
    """Within this block httpx and httpcore log no query strings, headers or secrets."""
    for logger in _LOGGERS:
        # Added each time, because a program that sets up logging may remove filters.
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)
    token = _REDACT.set(redact)
    try:
        yield
    finally:
        _REDACT.reset(token)


def _without_queries(text: str) -> str:
    return redact_url(text) if "://" in text else redact_queries(text)
