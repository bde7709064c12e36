"""The shapes of responses where the public description of the service leaves them open.

A layer around the API may replace the choices for one request. Below are the headers and the
credential that the API hands to the layers around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Literal, cast
from urllib.parse import urlsplit

from starlette.requests import Request

from adanalytics_server.accounts.ratelimit import WINDOW_SECONDS, Allowance
from adanalytics_server.errors import bad_parameter

MOST_PER_PAGE = 10_000
Outcome = Literal["stuck", "failed"]
Envelope = Literal["events", "data", "results", "items", "array", "nested"]
Metadata = Literal["pagination", "meta", "flat", "header", "none"]
Link = Literal["download_url", "url", "file_url", "location", "relative", "header"]
Words = Literal["reference", "upper", "done", "success"]
RateHeaders = Literal["ratelimit", "delta", "epoch", "none"]
RetryAfter = Literal["seconds", "date", "none"]
Headers = dict[str, str]

# Keys of a request's scope: its own answers, the headers that the layer around the API adds, and
# the credential's number for the log.
ANSWERS = "adanalytics.answers"
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
        envelope: where the rows of events and summaries are: in a field (``events`` stands for
            ``events`` and ``summary``), as the whole body, or in ``data.events``.
        metadata: where the page numbers are: in ``pagination``, in ``meta``, beside the rows, in
            ``X-`` headers, or nowhere.
        link: where the download URL is: in this field, relative in ``download_url``, or only in the
            ``Location`` header.
        words: the names of an export's states.
        rate: the headers of the request limit: those of the IETF draft, ``X-RateLimit-*`` with the
            reset in seconds or as a timestamp, or none.
        retry: the ``Retry-After`` of a 202 or 429: in seconds, as a date, or none.
        cuts_per_page: cut a ``per_page`` over the maximum instead of answering 400.
    """

    moved_rows: int = 0
    outcome: Outcome | None = None
    is_expired: bool = False
    envelope: Envelope = "events"
    metadata: Metadata = "pagination"
    link: Link = "download_url"
    words: Words = "reference"
    rate: RateHeaders = "ratelimit"
    retry: RetryAfter = "seconds"
    cuts_per_page: bool = False

    def rows_per_page(self, asked: int) -> int:
        """Return the size of a page; one over ``MOST_PER_PAGE`` is a 400, or cut."""
        if asked > MOST_PER_PAGE and not self.cuts_per_page:
            raise bad_parameter("per_page", f"should be less than or equal to {MOST_PER_PAGE}")
        return min(asked, MOST_PER_PAGE)

    def page(self, numbers: Mapping[str, object]) -> tuple[object, Headers]:
        """Return the body of a page around an empty list of events, and its headers."""
        beside: Mapping[str, object] = {}
        headers = {}
        match self.metadata:
            case "pagination" | "meta":
                beside = {self.metadata: numbers}
            case "flat":
                beside = numbers
            case "header":
                headers = {header: str(numbers[name]) for header, name in _PAGE_HEADERS.items()}
        match self.envelope:
            case "array":
                return [], headers
            case "nested":
                return {"data": {"events": [], **beside}}, headers
            case name:
                return {name: [], **beside}, headers

    def summary(self, summary: Mapping[str, object]) -> object:
        """Return the body of a summary, with its rows where events have theirs."""
        rest = dict(summary)
        rows = rest.pop("summary")
        match self.envelope:
            case "events":
                return summary
            case "array":
                return rows
            case "nested":
                return {"data": {"summary": rows}, **rest}
            case name:
                return {name: rows, **rest}

    def export(self, export: Mapping[str, object], location: str | None) -> tuple[object, Headers]:
        """Return the body that describes an export, and its headers.

        ``location`` is the URL of its state while it is in progress.
        """
        status, url = str(export["status"]), str(export["download_url"])
        body = {**export, "status": STATUS_WORDS[self.words].get(status, status)}
        match self.link:
            case "relative":
                parts = urlsplit(url)
                body["download_url"] = f"{parts.path}?{parts.query}"
            case "header":
                del body["download_url"]
                location = url
            case name:
                body[name] = body.pop("download_url")
        return body, {"Location": location} if location else {}

    def rate_headers(self, allowance: Allowance, now: int) -> Headers:
        """Return the headers of the request limit; ``now`` in milliseconds since 1970."""
        headers = {} if allowance.passes else self.retry_after(allowance.seconds, now)
        if self.rate == "ratelimit":
            headers |= {
                "RateLimit-Policy": f'"hour";q={allowance.limit};w={WINDOW_SECONDS}',
                "RateLimit": f'"hour";r={allowance.remaining};t={allowance.seconds}',
            }
        elif self.rate != "none":
            moment = _seconds(now) if self.rate == "epoch" else 0
            headers |= {
                "X-RateLimit-Limit": str(allowance.limit),
                "X-RateLimit-Remaining": str(allowance.remaining),
                "X-RateLimit-Reset": str(moment + allowance.seconds),
            }
        return headers

    def retry_after(self, seconds: int, now: int) -> Headers:
        """Return the ``Retry-After`` header; ``now`` in milliseconds since 1970."""
        match self.retry:
            case "seconds":
                return {"Retry-After": str(seconds)}
            case "date":
                return {"Retry-After": formatdate(_seconds(now) + seconds, usegmt=True)}
            case "none":
                return {}


def _seconds(now: int) -> int:
    """Round up: a date has no fractions, and a client that is too early is refused again."""
    return -(-now // 1000)


_PAGE_HEADERS = {
    "X-Page": "page",
    "X-Per-Page": "per_page",
    "X-Total-Count": "total",
    "X-Total-Pages": "total_pages",
}
# The word of a dialect for each of the server's five states.
STATUS_WORDS: Mapping[Words, Mapping[str, str]] = {
    "reference": {},
    "upper": {
        "pending": "PENDING",
        "processing": "IN_PROGRESS",
        "completed": "COMPLETED",
        "failed": "FAILED",
        "expired": "EXPIRED",
    },
    "done": {"pending": "queued", "processing": "running", "completed": "done", "failed": "error"},
    "success": {
        "pending": "waiting",
        "processing": "inProgress",
        "completed": "success",
        "failed": "failure",
    },
}


REFERENCE = Answers()


def answers_of(request: Request) -> Answers:
    """Return the choices for a request: its own, or the server's."""
    return cast("Answers", request.scope.get(ANSWERS) or request.app.state.answers)


def add_headers(request: Request, headers: Headers) -> None:
    """Add headers to the response to a request, even if it becomes an error."""
    request.scope[HEADERS].update(headers)


def request_id_of(request: Request) -> str:
    return str(request.scope[HEADERS]["X-Request-Id"])


def note_credential(request: Request, credential: str) -> None:
    """Log the number of a credential with the request, such as ``key:3`` or ``user:1``."""
    request.scope[CREDENTIAL] = credential
