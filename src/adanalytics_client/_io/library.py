"""The HTTP library that sends by default; a caller's client may be of the other one.

httpx2 continues httpx with the same names, so the drivers take them from the module that made the
client.
"""

import sys
from functools import lru_cache
from types import ModuleType

# The one line that switches the default; docs/explanation/reasons.md says what it waits for.
import httpx

from adanalytics_client._base.urls import redact_url

__all__ = ["httpx", "library_of", "request_class"]


def library_of(http: object, kind: str) -> ModuleType | None:
    """Return httpx or httpx2, of which this client is; None for an object of another class."""
    # Nobody has a client of a library that is not imported.
    modules = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return next(
        (module for module in modules if module and isinstance(http, getattr(module, kind))), None
    )


class _Shown:
    """A request whose repr is safe to show, as error reports do with all local variables."""

    method: str
    url: object

    def __repr__(self) -> str:
        return f"<Request({self.method!r}, {redact_url(str(self.url))!r})>"


@lru_cache
def request_class(library: ModuleType) -> type[httpx.Request]:
    """Return the class of requests of a library, with a repr that is safe to show."""
    return type("Request", (_Shown, library.Request), {})
