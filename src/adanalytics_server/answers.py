"""The shapes of responses where the public description of the service leaves them open.

The methods here are the server's own choices. A subclass makes other choices: see
``Settings.dialect``. A layer around the API may also replace the choices for one request. Below are
the headers and the credential that the API hands to the layers around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from starlette.requests import Request
from starlette.types import Scope

from adanalytics_server.accounts.ratelimit import WINDOW_SECONDS, Allowance
from adanalytics_server.errors import bad_parameter

MOST_PER_PAGE = 10_000
Outcome = Literal["stuck", "failed"]
Headers = dict[str, str]

# Keys of a request's scope: its own answers, the headers that the layer around the API adds, and
# the credential's number for the log.
_ANSWERS = "adanalytics.answers"
HEADERS = "adanalytics.headers"
CREDENTIAL = "adanalytics.credential"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """The shapes of responses, and how the response to a single request departs from the data.

    Attributes:
        moved_rows: rows that later pages move by, as if this many events had been inserted at the
            front.
        outcome: forced result of a requested export.
        is_expired: sign download URLs with a time in the past.
    """

    moved_rows: int = 0
    outcome: Outcome | None = None
    is_expired: bool = False

    def rows_per_page(self, asked: int) -> int:
        """Return the size of a page; one over ``MOST_PER_PAGE`` is a 400."""
        if asked > MOST_PER_PAGE:
            raise bad_parameter("per_page", f"should be less than or equal to {MOST_PER_PAGE}")
        return asked

    def page(self, numbers: Mapping[str, object]) -> tuple[object, Headers]:
        """Return the body of a page around an empty list of events, and its headers.

        Args:
            numbers: ``page``, ``per_page``, ``total``, ``total_pages`` and ``has_more``.
        """
        return {"events": [], "pagination": numbers}, {}

    def summary(self, summary: Mapping[str, object]) -> object:
        """Return the body of a summary."""
        return summary

    def export(self, export: Mapping[str, object], location: str | None) -> tuple[object, Headers]:
        """Return the body that describes an export, and its headers.

        Args:
            export: its fields, with ``status`` and ``download_url`` among them.
            location: URL of its state while it is in progress.
        """
        return export, {"Location": location} if location else {}

    def rate_headers(self, allowance: Allowance, now: int) -> Headers:
        """Return the headers of the request limit; ``now`` in milliseconds since 1970."""
        headers = {
            "RateLimit-Policy": f'"hour";q={allowance.limit};w={WINDOW_SECONDS}',
            "RateLimit": f'"hour";r={allowance.remaining};t={allowance.seconds}',
        }
        return headers if allowance.passes else headers | self.retry_after(allowance.seconds, now)

    def retry_after(self, seconds: int, _now: int) -> Headers:
        """Return the ``Retry-After`` header; the time in milliseconds since 1970."""
        return {"Retry-After": str(seconds)}


REFERENCE = Answers()


def answers_of(request: Request) -> Answers:
    """Return the choices for a request: its own, or the server's."""
    return cast("Answers", request.scope.get(_ANSWERS) or request.app.state.answers)


def answer_with(scope: Scope, answers: Answers) -> None:
    """Answer one request with choices other than the server's."""
    scope[_ANSWERS] = answers


def add_headers(request: Request, headers: Headers) -> None:
    """Add headers to the response to a request, even if it becomes an error."""
    request.scope[HEADERS].update(headers)


def request_id_of(request: Request) -> str:
    """Return the ``X-Request-Id`` of the response to a request."""
    return str(request.scope[HEADERS]["X-Request-Id"])


def note_credential(request: Request, credential: str) -> None:
    """Log the number of a credential with the request, such as ``key:3`` or ``user:1``."""
    request.scope[CREDENTIAL] = credential
