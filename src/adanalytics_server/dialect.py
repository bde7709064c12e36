"""The shapes of responses where the public description of the service leaves them open.

A dialect chooses them, and a layer around the API may replace the choices for one request. Below
are the headers and the credential that the API hands to the layers around it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from email.utils import formatdate
from math import ceil
from typing import Any, Literal, NamedTuple, TypeVar, cast
from urllib.parse import urlsplit

from pydantic import BaseModel
from starlette.datastructures import URL
from starlette.requests import Request

from .accounts.ratelimit import WINDOW_SECONDS, Allowance
from .errors import bad_parameter
from .storage.days import DayRange

MOST_PER_PAGE = 10_000
# The rows that all lists have on a page unless the request says otherwise.
USUAL_PER_PAGE = 1_000
Outcome = Literal["stuck", "failed"]
Wait = Literal["none", "state", "order", "file"]
RetryAfter = Literal["seconds", "date", "none"]
Headers = dict[str, str]
Row = dict[str, Any]
RowChange = Callable[[list[Row]], list[Row]]
# The rows of a summary, its grouping, and the served rows of its days: what is served in its place.
SummaryChange = Callable[[list[Row], str | None, Callable[[], list[Row]]], list[Row]]
QueryChange = Callable[[Any], Mapping[str, object]]
Query = TypeVar("Query", bound=BaseModel)

# The path of a list that is the whole body, and the beginning of a place in the headers.
WHOLE_BODY = "$"
HEADER = "header "
# The published page numbers, and where they are.
META: Mapping[str, str] = {name: f"meta.{name}" for name in ("total", "page", "per_page")}
_EXPORT_FIELDS = (
    *("export_id", "status", "format", "start_date", "end_date", "download_url", "status_url"),
    *("created_at", "expires_at", "row_count", "size_bytes", "sha256", "error"),
)
EXPORT: Mapping[str, str] = {
    **{name: name for name in _EXPORT_FIELDS},
    "location": f"{HEADER}Location",
}

# Keys of a request's scope: its own dialect, its id, the headers that the layer around the API adds
# to its response, and the credential's number for the log.
DIALECT = "adanalytics.dialect"
HEADERS = "adanalytics.headers"
REQUEST_ID = "adanalytics.request_id"
CREDENTIAL = "adanalytics.credential"


class Plain(NamedTuple):
    """A response in place of a page of events."""

    status: int
    content: bytes
    headers: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The shapes of responses, and how the response to a single request departs from the data.

    Attributes:
        moved_rows: rows that later pages move by, as if this many events had been inserted at the
            front.
        outcome: forced result of a requested export.
        is_expired: sign download URLs with a time in the past.
        envelope: the path of the list of events in the body, such as ``data.events``; ``$`` if it
            is the whole body.
        summary_envelope: the path of the rows of a summary; ``None`` if they are where events are.
        metadata: the places of the page numbers that a response states. A place is a path in the
            body, or a header such as ``header X-Total-Count``.
        facts: the path of the object with the other facts of a summary; empty for none of its own.
        beside: fields of the body beside the rows or dates, which say how the request went.
        is_object: a summary of one row has this row in place of the list.
        export_places: the places of the facts of an export: the published fields; ``location``, the
            URL of the state while it is in progress; ``download_path``, the download URL without a
            host; ``ready_url``, the download URL of a completed export only; ``failure``, the
            reason of a failed one only.
        words: the names of an export's states, by the published ones.
        wait: how the client learns of a completed export: from the response to the order
            (``none``), from the state, from the same order again, or from the file itself.
        states: the states of a completed export in the first responses to a new order.
        rate: which fact of the request limit a header states: ``retry_after``, on a 429 only;
            ``policy`` and ``state``, as in the IETF draft; ``limit``, ``remaining``, ``used``;
            ``reset_seconds``; ``reset_time``, in seconds since 1970.
        request_id: the header with the id of the request; empty for none.
        retry: the form of ``Retry-After`` on a 202 or 429: in seconds, as a date, or none.
        is_sliding: count the requests of the last 3,600 s instead of those since the full hour.
        has_details: errors list the parameters or fields in ``details``, too.
        cuts_per_page: cut a ``per_page`` over the maximum instead of answering 400.
        ids, times, fields, amounts, stamp: changes of the rows of events, in this order.
        file_rows: change of the rows of events in the file of an export, if it is another one.
        summary_rows: change of the rows of a summary.
        belongs: whether an event of a moment belongs to a range, if not by its UTC day and hour.
        zone: the time zone of the days that have data, if it is not UTC.
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
    envelope: str = "data"
    summary_envelope: str | None = None
    metadata: Mapping[str, str] = field(default_factory=lambda: META)
    facts: str = "meta"
    beside: Mapping[str, object] | None = None
    is_object: bool = False
    export_places: Mapping[str, str] = field(default_factory=lambda: EXPORT)
    words: Mapping[str, str] = field(default_factory=dict)
    wait: Wait = "none"
    states: tuple[str, ...] = ()
    rate: Mapping[str, str] = field(default_factory=dict)
    request_id: str = "X-Request-Id"
    retry: RetryAfter = "seconds"
    is_sliding: bool = False
    has_details: bool = False
    cuts_per_page: bool = False
    fields: RowChange | None = None
    ids: RowChange | None = None
    times: RowChange | None = None
    amounts: RowChange | None = None
    stamp: RowChange | None = None
    file_rows: RowChange | None = None
    summary_rows: SummaryChange | None = None
    belongs: Callable[[DayRange, datetime], bool] | None = None
    zone: tzinfo | None = None
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
        """Whether the rows of events are not the stored ones of their days."""
        return any((*self._row_changes(), self.belongs))

    def rows(self, events: list[Row]) -> list[Row]:
        """Return the rows of a dialect for events in order; a ``msgspec.Raw`` is a number."""
        for change in self._row_changes():
            events = events if change is None else change(events)
        return events

    def stored(self, days: DayRange) -> DayRange:
        """Return the stored days that may have the events of a range."""
        return days if self.belongs is None else days.widened()

    def in_range(self, days: DayRange, events: list[Row]) -> list[Row]:
        """Return the events that belong to a range, of those of its stored days."""
        belongs = self.belongs
        if belongs is None:
            return events
        times = (datetime.fromisoformat(event["event_time"]) for event in events)
        return [event for event, time in zip(events, times, strict=True) if belongs(days, time)]

    def file_of(self, days: DayRange, events: list[Row]) -> list[Row]:
        """Return the rows of an exported file, for the events of the stored days of a range."""
        return (self.file_rows or self.rows)(self.in_range(days, events))

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

    def page_numbers(self, page: int, per_page: int, total: int, url: URL) -> Mapping[str, object]:
        """Return all numbers of a page of a URL; the dialect states some of them."""
        total_pages = ceil(total / per_page)
        has_more = page - self.first_page + 1 < total_pages
        next_url = str(url.include_query_params(page=page + 1)) if has_more else None
        return {
            "total": total,
            "page": page,
            "per_page": per_page,
            "total_pages": total_pages,
            "has_more": has_more,
            "is_last": not has_more,
            "next_page": page + 1 if has_more else None,
            "next_url": next_url,
            "next_link": next_url and f'<{next_url}>; rel="next"',
        }

    def list_body(
        self,
        path: str,
        rows: object,
        numbers: Mapping[str, object] | None,
        facts: Mapping[str, object] | None = None,
    ) -> tuple[object, Headers]:
        """Return the body of a list of rows, and its headers.

        Args:
            path: where the list is.
            rows: the list.
            numbers: the page numbers, or ``None`` for none.
            facts: what else the body states.
        """
        body: dict[str, Any] = {}
        headers: Headers = {}
        if path != WHOLE_BODY:
            _put(body, path, rows)
        for name, place in self.metadata.items():
            if numbers is not None and name in numbers:
                _state(body, headers, place, numbers[name])
        if path == WHOLE_BODY:
            return rows, headers
        for name, fact in (facts or {}).items():
            place = f"{self.facts}.{name}" if self.facts else name
            # A list of that name is what the client asked for.
            if place != path:
                _put(body, place, fact)
        for name, fact in (self.beside or {}).items():
            _put(body, parent_of(path) + name, fact)
        return body, headers

    def summary(
        self, rows: list[Row], facts: Mapping[str, object], query: Mapping[str, str], url: URL
    ) -> tuple[object, Headers]:
        """Return the body of a summary, and its headers.

        Args:
            rows: its rows.
            facts: what else it states.
            query: the query, if the dialect has pages of lists.
            url: the URL of the request.
        """
        numbers = None
        if self.rows_of_lists is not None:
            rows, numbers = self._cut(rows, query, url)
        # A list without pages states numbers of one page that holds it.
        elif self.facts:
            numbers = self.page_numbers(1, max(len(rows), USUAL_PER_PAGE), len(rows), url)
        content = rows[0] if self.is_object and len(rows) == 1 else rows
        path = self.envelope if self.summary_envelope is None else self.summary_envelope
        return self.list_body(path, content, numbers, facts)

    def dates(self, dates: list[str], query: Mapping[str, str], url: URL) -> tuple[object, Headers]:
        """Return the body of the list of dates, and its headers."""
        numbers = None
        if self.rows_of_lists is not None:
            dates, numbers = self._cut(dates, query, url)
        return self.list_body("dates", dates, numbers)

    def _cut(
        self, rows: list[Any], query: Mapping[str, str], url: URL
    ) -> tuple[list[Any], Mapping[str, object]]:
        """Return the rows of the page that a query asks for, and its numbers."""
        limit = self.rows_of_lists or len(rows)
        page, per_page = (
            int(text) if (text := query.get(name, "")).isdecimal() and int(text) else usual
            for name, usual in (("page", 1), ("per_page", limit))
        )
        per_page = min(per_page, limit)
        numbers = self.page_numbers(page, per_page, len(rows), url)
        return rows[(page - 1) * per_page :][:per_page], numbers

    def export_state(self, status: str, responses: int, *, is_order: bool) -> tuple[str, int]:
        """Return the state of an export that a response states, and the number of responses by now.

        Args:
            status: the state in the server's own words.
            responses: how many responses have described the export before, since its order.
            is_order: whether the response is that to an order.
        """
        if status != "completed" or not self.states:
            return status, 0
        # Some services answer a repeated order with the state of the first one.
        is_new = is_order and (self.wait != "order" or responses > len(self.states))
        number = 0 if is_new else responses
        return (*self.states, status)[min(number, len(self.states))], number + 1

    def export(self, export: Mapping[str, object], *, is_order: bool) -> tuple[object, Headers]:
        """Return the body that describes an export, and its headers.

        Args:
            export: the published fields, and ``location``.
            is_order: whether this is the response to the order, not to a look at the state.
        """
        status, url = str(export["status"]), str(export["download_url"])
        parts = urlsplit(url)
        facts = {
            **export,
            "status": self.words.get(status, status),
            "download_path": f"{parts.path}?{parts.query}",
        }
        # Of a service whose state has to be polled, the order itself never names the file.
        if status == "completed" and not (is_order and self.wait == "state"):
            facts["ready_url"] = url
        if export["error"]:
            facts["failure"] = export["error"]
        body: dict[str, Any] = {}
        headers: Headers = {}
        for name, place in self.export_places.items():
            if name in facts:
                _state(body, headers, place, facts[name])
        return body, headers

    def rate_headers(self, allowance: Allowance, now: int) -> Headers:
        """Return the headers of the request limit; ``now`` in milliseconds since 1970."""
        limit, remaining, seconds = allowance.limit, allowance.remaining, allowance.seconds
        facts = {
            "policy": f'"hour";q={limit};w={WINDOW_SECONDS}',
            "state": f'"hour";r={remaining};t={seconds}',
            "limit": str(limit),
            "remaining": str(remaining),
            "used": str(limit - remaining),
            "reset_seconds": str(seconds),
            "reset_time": str(_seconds(now) + seconds),
        }
        # Only a refused request says when to come again.
        if not allowance.passes and (waits := self.retry_after(seconds, now)):
            facts["retry_after"] = waits["Retry-After"]
        return {header: facts[name] for header, name in self.rate.items() if name in facts}

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


def parent_of(path: str) -> str:
    """Return the beginning of a path up to its last name, such as ``data.`` of ``data.events``."""
    return "".join(path.rpartition(".")[:2])


def _put(body: dict[str, Any], path: str, value: object) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        parent_body = body.setdefault(parent, {})
        if not isinstance(parent_body, dict):
            # The rows of a summary may be where those of events are not.
            return
        body = parent_body
    body[name] = value


def _state(body: dict[str, Any], headers: Headers, place: str, value: object) -> None:
    """Put a fact at its place; a header is left out if there is nothing to state."""
    if not place.startswith(HEADER):
        _put(body, place, value)
    elif value is not None:
        headers[place.removeprefix(HEADER)] = (
            str(value).lower() if isinstance(value, bool) else str(value)
        )


REFERENCE = Dialect()


def dialect_for(request: Request) -> Dialect:
    """Return the choices for a request: its own, or the server's."""
    return cast("Dialect", request.scope.get(DIALECT) or request.app.state.dialect)


def add_headers(request: Request, headers: Headers) -> None:
    """Add headers to the response to a request, even if it becomes an error."""
    request.scope[HEADERS].update(headers)


def request_id_of(request: Request) -> str:
    return str(request.scope[REQUEST_ID])


def note_credential(request: Request, credential: str) -> None:
    """Log the number of a credential with the request, such as ``key:3`` or ``user:1``."""
    request.scope[CREDENTIAL] = credential
