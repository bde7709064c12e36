"""The shapes of responses where the public description of the service leaves them open.

A dialect chooses them, and a layer around the API may replace the choices for one request. Below
are the headers and the credential that the API hands to the layers around it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import formatdate
from math import ceil
from typing import Any, Literal, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel
from starlette.requests import Request

from adanalytics_server.accounts.ratelimit import WINDOW_SECONDS, Allowance
from adanalytics_server.errors import bad_parameter
from adanalytics_server.storage.days import DayRange

MOST_PER_PAGE = 10_000
# The rows that all lists have on a page unless the request says otherwise.
USUAL_PER_PAGE = 1_000
Outcome = Literal["stuck", "failed"]
Envelope = Literal["data", "events", "results", "items", "array", "nested"]
Metadata = Literal[
    "meta", "object", "pagination", "flat", "has-more", "pages", "next", "header", "none"
]
Link = Literal["download_url", "url", "file_url", "location", "relative", "header", "later"]
Words = Literal["reference", "upper", "done", "success"]
RateHeaders = Literal["none", "ratelimit", "delta", "epoch", "retry-after"]
RetryAfter = Literal["seconds", "date", "none"]
Headers = dict[str, str]
Row = dict[str, Any]
RowChange = Callable[[list[Row]], list[Row]]
QueryChange = Callable[[Any], Mapping[str, object]]
Query = TypeVar("Query", bound=BaseModel)

# Keys of a request's scope: its own answers, the headers that the layer around the API adds, and
# the credential's number for the log.
ANSWERS = "adanalytics.answers"
HEADERS = "adanalytics.headers"
CREDENTIAL = "adanalytics.credential"


class Plain(NamedTuple):
    """A response in place of a page of events."""

    status: int
    content: bytes
    headers: Mapping[str, str] = {}


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
        metadata: which page numbers there are, and where: see ``_PAGE_NUMBERS``.
        beside: fields of the body beside the rows or dates, which say how the request went.
        is_object: a summary of one row has this row in place of the list.
        link: where the download URL is: in this field, relative in ``download_url``, only in the
            ``Location`` header, or in ``url`` of the state of a completed export alone, where the
            export is a ``job_id`` and a ``status``.
        words: the names of an export's states.
        rate: the headers of the request limit: none, or ``Retry-After`` on a 429, alone or with
            those of the IETF draft, or with ``X-RateLimit-*`` and the reset in seconds or as a
            timestamp.
        retry: the form of ``Retry-After`` on a 202 or 429: in seconds, as a date, or none.
        is_sliding: count the requests of the last 3,600 s instead of those since the full hour.
        has_details: errors list the parameters or fields in ``details``, too.
        cuts_per_page: cut a ``per_page`` over the maximum instead of answering 400.
        fields, ids, times, amounts, stamp: changes of the rows of events, in this order.
        belongs: whether an event of a moment belongs to a range, if not by its UTC day and hour.
        first_page: the number of the first page.
        days, end_date, hour, page, per_page, group_by: changes of what a query asks for; the
            response states the page numbers as if nothing had changed.
        total: change of the number of rows that a response states.
        empty: the response where a range has no event.
        past_end: the response to a page after the last.
        every: the response to each request for events.
        rows_of_lists: rows of a summary, or dates, on one page; ``None`` for all of them.
    """

    moved_rows: int = 0
    outcome: Outcome | None = None
    is_expired: bool = False
    envelope: Envelope = "data"
    metadata: Metadata = "meta"
    beside: Mapping[str, object] | None = None
    is_object: bool = False
    link: Link = "download_url"
    words: Words = "reference"
    rate: RateHeaders = "none"
    retry: RetryAfter = "seconds"
    is_sliding: bool = False
    has_details: bool = False
    cuts_per_page: bool = False
    fields: RowChange | None = None
    ids: RowChange | None = None
    times: RowChange | None = None
    amounts: RowChange | None = None
    stamp: RowChange | None = None
    belongs: Callable[[DayRange, datetime], bool] | None = None
    first_page: int = 1
    days: QueryChange | None = None
    end_date: QueryChange | None = None
    hour: QueryChange | None = None
    page: QueryChange | None = None
    per_page: QueryChange | None = None
    group_by: QueryChange | None = None
    total: Callable[[int], int] | None = None
    empty: Plain | None = None
    past_end: Plain | None = None
    every: Plain | None = None
    rows_of_lists: int | None = None

    @property
    def changes_rows(self) -> bool:
        """Whether the rows of events are not the stored ones."""
        return any(self._row_changes())

    def rows(self, events: list[Row]) -> list[Row]:
        """Return the rows of a dialect for events in order; a ``msgspec.Raw`` is a number."""
        for change in self._row_changes():
            events = events if change is None else change(events)
        return events

    def _row_changes(self) -> tuple[RowChange | None, ...]:
        return self.ids, self.times, self.fields, self.amounts, self.stamp

    def page_of(self, page: int | None, per_page: int) -> tuple[int, int]:
        """Return the number and the size of a page, or raise a 400 for those out of range."""
        if page is not None and page < self.first_page:
            raise bad_parameter("page", f"should be greater than or equal to {self.first_page}")
        if per_page > MOST_PER_PAGE and not self.cuts_per_page:
            raise bad_parameter("per_page", f"should be less than or equal to {MOST_PER_PAGE}")
        return self.first_page if page is None else page, min(per_page, MOST_PER_PAGE)

    def changed(self, query: Query) -> Query:
        """Return the query that is carried out in place of another."""
        if self.days is not None:
            query = query.model_copy(update=dict(self.days(query)))
        for name in type(query).model_fields:
            change: QueryChange | None = getattr(self, name, None)
            if change is not None:
                query = query.model_copy(update=dict(change(query)))
        return query

    def page_numbers(self, page: int, per_page: int, total: int) -> Mapping[str, object]:
        """Return all numbers of a page; the dialect states some of them."""
        total_pages = ceil(total / per_page)
        has_more = page - self.first_page + 1 < total_pages
        return {
            "total": total,
            "page": page,
            "per_page": per_page,
            "total_pages": total_pages,
            "has_more": has_more,
            "next_page": page + 1 if has_more else None,
        }

    def list_body(
        self,
        name: str,
        rows: object,
        numbers: Mapping[str, object] | None,
        facts: Mapping[str, object] | None = None,
    ) -> tuple[object, Headers]:
        """Return the body of a list of rows, and its headers.

        Args:
            name: the field of the rows where the envelope is ``events``.
            rows: the list.
            numbers: the page numbers, or ``None`` for none.
            facts: what else the body states: in ``meta`` if the dialect has one.
        """
        beside, headers = self._beside(numbers or {}, facts or {})
        match self.envelope:
            case "array":
                return rows, headers
            case "nested":
                return {"data": {name: rows, **beside}}, headers
            case "events":
                return {name: rows, **beside}, headers
            case key:
                return {key: rows, **beside}, headers

    def summary(
        self, rows: list[Row], facts: Mapping[str, object], sent: Mapping[str, str]
    ) -> tuple[object, Headers]:
        """Return the body of a summary with its rows where events have theirs, and its headers."""
        numbers: Mapping[str, object] | None = None
        if self.rows_of_lists is not None:
            rows, numbers = self._cut(rows, sent)
        elif _PAGE_NUMBERS[self.metadata][0] == "meta":
            numbers = self.page_numbers(1, max(len(rows), USUAL_PER_PAGE), len(rows))
        found = rows[0] if self.is_object and len(rows) == 1 else rows
        return self.list_body("summary", found, numbers, facts)

    def dates(self, dates: list[str], sent: Mapping[str, str]) -> tuple[object, Headers]:
        """Return the body of the list of dates, and its headers."""
        if self.rows_of_lists is None:
            return {"dates": dates, **(self.beside or {})}, {}
        dates, numbers = self._cut(dates, sent)
        beside, headers = self._beside(numbers, {})
        return {"dates": dates, **beside}, headers

    def _beside(
        self, numbers: Mapping[str, object], facts: Mapping[str, object]
    ) -> tuple[Mapping[str, object], Headers]:
        """Return what is beside the rows, and the headers, where the page numbers may be."""
        place, names = _PAGE_NUMBERS[self.metadata]
        stated = {each: numbers[each] for each in names if each in numbers}
        headers: Headers = {}
        beside: Mapping[str, object] = {**stated, **facts}
        match place:
            case "meta":
                beside = {"meta": beside}
            case "pagination":
                beside = {**({"pagination": stated} if stated else {}), **facts}
            case "header":
                headers = {_PAGE_HEADERS[each]: str(value) for each, value in stated.items()}
                beside = facts
        return {**beside, **(self.beside or {})}, headers

    def _cut(
        self, rows: list[Any], sent: Mapping[str, str]
    ) -> tuple[list[Any], Mapping[str, object]]:
        """Return the rows of the page that a query asks for, and its numbers."""
        most = self.rows_of_lists or len(rows)
        page, per_page = (
            int(text) if (text := sent.get(name, "")).isdecimal() and int(text) else usual
            for name, usual in (("page", 1), ("per_page", most))
        )
        per_page = min(per_page, most)
        numbers = self.page_numbers(page, per_page, len(rows))
        return rows[(page - 1) * per_page :][:per_page], numbers

    def export(
        self, export: Mapping[str, object], location: str | None, *, is_order: bool
    ) -> tuple[object, Headers]:
        """Return the body that describes an export, and its headers.

        Args:
            export: the state in the server's own words.
            location: the URL of the state while it is in progress.
            is_order: whether this is the response to the order, not to a look at the state.
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
            case "later":
                is_ready = status == "completed" and not is_order
                body = {"job_id": body["export_id"], "status": body["status"]}
                return body | ({"url": url} if is_ready else {}), {}
            case name:
                body[name] = body.pop("download_url")
        return body, {"Location": location} if location else {}

    def rate_headers(self, allowance: Allowance, now: int) -> Headers:
        """Return the headers of the request limit; ``now`` in milliseconds since 1970."""
        if self.rate == "none":
            return {}
        headers = {} if allowance.passes else self.retry_after(allowance.seconds, now)
        if self.rate == "ratelimit":
            headers |= {
                "RateLimit-Policy": f'"hour";q={allowance.limit};w={WINDOW_SECONDS}',
                "RateLimit": f'"hour";r={allowance.remaining};t={allowance.seconds}',
            }
        elif self.rate != "retry-after":
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


_ALL_NUMBERS = ("page", "per_page", "total", "total_pages", "has_more")
# Where the numbers of a page are, and which of them.
_PAGE_NUMBERS: Mapping[Metadata, tuple[str, tuple[str, ...]]] = {
    "meta": ("meta", ("total", "page", "per_page")),
    "object": ("meta", _ALL_NUMBERS),
    "pagination": ("pagination", _ALL_NUMBERS),
    "flat": ("", _ALL_NUMBERS),
    "has-more": ("", ("page", "has_more")),
    "pages": ("", ("page", "total_pages")),
    "next": ("", ("next_page",)),
    "header": ("header", ("page", "per_page", "total", "total_pages")),
    "none": ("", ()),
}
_PAGE_HEADERS = {
    "page": "X-Page",
    "per_page": "X-Per-Page",
    "total": "X-Total-Count",
    "total_pages": "X-Total-Pages",
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
