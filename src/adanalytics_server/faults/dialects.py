"""Dialects: other response shapes where the public description of the service leaves them open.

A client must not depend on how this server fills those gaps, so the server can fill them
differently. A dialect is one choice for each gap. Choices have names, combined with commas:
``envelope-data,meta-flat``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any, Literal
from urllib.parse import urlsplit

from adanalytics_server.accounts.ratelimit import Allowance
from adanalytics_server.answers import MOST_PER_PAGE, Answers, Headers

Envelope = Literal["events", "data", "results", "items", "array", "nested"]
Metadata = Literal["pagination", "meta", "flat", "header", "none"]
Link = Literal["download_url", "url", "file_url", "location", "relative", "header"]
Words = Literal["reference", "upper", "done", "success"]
RateHeaders = Literal["ratelimit", "delta", "epoch", "none"]
RetryAfter = Literal["seconds", "date", "none"]


class DialectError(ValueError):
    """An invalid dialect; the text says what is possible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(Answers):
    """The choices of a server.

    Attributes:
        envelope: where the rows of events and summaries are: in a field (``events`` stands for
            ``events`` and ``summary``), as the whole body, or in ``data.events``.
        metadata: where the page numbers are: in ``pagination``, in ``meta``, beside the rows, in
            ``X-`` headers, or nowhere.
        link: where the download URL is: in this field, relative in ``download_url``, or only in the
            header ``Location``.
        words: the names of an export's states.
        rate: the headers of the request limit: those of the IETF draft, ``X-RateLimit-*`` with the
            reset in seconds or as a timestamp, or none.
        retry: the ``Retry-After`` of a 202 or 429: in seconds, as a date, or none.
        cuts_per_page: cut a ``per_page`` over the maximum instead of answering 400.
    """

    envelope: Envelope = "events"
    metadata: Metadata = "pagination"
    link: Link = "download_url"
    words: Words = "reference"
    rate: RateHeaders = "ratelimit"
    retry: RetryAfter = "seconds"
    cuts_per_page: bool = False

    def rows_per_page(self, asked: int) -> int:
        """Return the size of a page."""
        return Answers.rows_per_page(
            self, min(asked, MOST_PER_PAGE) if self.cuts_per_page else asked
        )

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
        """Return the body that describes an export, and its headers."""
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
        return Answers.export(self, body, location)

    def rate_headers(self, allowance: Allowance, now: int) -> Headers:
        """Return the headers of the request limit; ``now`` in milliseconds since 1970."""
        if self.rate == "ratelimit":
            return Answers.rate_headers(self, allowance, now)
        headers = {} if allowance.passes else self.retry_after(allowance.seconds, now)
        if self.rate != "none":
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
                return Answers.retry_after(self, seconds, now)
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


@dataclass(frozen=True, slots=True)
class Choice:
    """A named choice, or a set of them."""

    description: str
    changes: Mapping[str, object]


DIALECTS: Mapping[str, Choice] = {
    "reference": Choice("the server's own responses", {}),
    "modern": Choice(
        "rows in data, page numbers in meta, the download URL in url,"
        " X-RateLimit-* with the reset in seconds",
        {"envelope": "data", "metadata": "meta", "link": "url", "rate": "delta"},
    ),
    "classic": Choice(
        "rows in results, page numbers beside them, a relative download URL, states in capitals,"
        " X-RateLimit-* with the reset as a timestamp, Retry-After as a date",
        {
            "envelope": "results",
            "metadata": "flat",
            "link": "relative",
            "words": "upper",
            "rate": "epoch",
            "retry": "date",
        },
    ),
    "bare": Choice(
        "rows as a bare array, no page numbers, the download URL in Location, no rate headers,"
        " a large per_page is cut",
        {
            "envelope": "array",
            "metadata": "none",
            "link": "header",
            "words": "done",
            "rate": "none",
            "retry": "none",
            "cuts_per_page": True,
        },
    ),
    "envelope-data": Choice("rows in data", {"envelope": "data"}),
    "envelope-results": Choice("rows in results", {"envelope": "results"}),
    "envelope-items": Choice("rows in items", {"envelope": "items"}),
    "envelope-array": Choice("rows as a bare array", {"envelope": "array"}),
    "envelope-nested": Choice("rows in data.events", {"envelope": "nested"}),
    "meta-object": Choice("page numbers in meta", {"metadata": "meta"}),
    "meta-flat": Choice("page numbers beside the rows", {"metadata": "flat"}),
    "meta-header": Choice("page numbers in X- headers", {"metadata": "header"}),
    "meta-none": Choice("no page numbers at all", {"metadata": "none"}),
    "link-url": Choice("the download URL in url", {"link": "url"}),
    "link-file-url": Choice("the download URL in file_url", {"link": "file_url"}),
    "link-location": Choice("the download URL in location", {"link": "location"}),
    "link-relative": Choice("the download URL without a host", {"link": "relative"}),
    "link-header": Choice("the download URL in the header Location", {"link": "header"}),
    "status-upper": Choice("states such as IN_PROGRESS", {"words": "upper"}),
    "status-done": Choice("states queued, running, done, error", {"words": "done"}),
    "status-success": Choice("states waiting, inProgress, success, failure", {"words": "success"}),
    "rate-delta": Choice("X-RateLimit-*, with the reset in seconds", {"rate": "delta"}),
    "rate-epoch": Choice("X-RateLimit-*, with the reset as seconds since 1970", {"rate": "epoch"}),
    "rate-none": Choice("no rate headers", {"rate": "none"}),
    "retry-date": Choice("Retry-After as a date", {"retry": "date"}),
    "retry-none": Choice("no Retry-After", {"retry": "none"}),
    "per-page-cut": Choice("a large per_page is cut to 10000", {"cuts_per_page": True}),
}


def dialect_of(names: str) -> Dialect:
    """Combine named choices, separated by commas, into a dialect.

    One set may come first, and single choices refine it. Two choices for the same gap contradict
    each other.

    Raises:
        DialectError: an unknown name, a contradiction, or no place for the page numbers.

    Examples:
        >>> dialect_of("envelope-data,meta-flat").metadata
        'flat'
    """
    changes: dict[str, Any] = {}
    stated: dict[str, str] = {}
    seen: list[str] = []
    for name in (part.strip().lower() for part in names.split(",")):
        choice = DIALECTS.get(name)
        if choice is None:
            raise DialectError(f"Unknown dialect {name!r}. Known dialects: {', '.join(DIALECTS)}.")
        is_set = len(choice.changes) != 1
        if is_set and seen:
            raise DialectError(f"{name!r} is a complete set: put it first, and name only one set")
        for gap in choice.changes:
            if not is_set and stated.setdefault(gap, name) != name:
                raise DialectError(f"{name!r} contradicts {stated[gap]!r}: name only one of them")
        seen.append(name)
        changes |= choice.changes
    if changes.get("envelope") == "array" and "metadata" not in stated:
        # A body that is only a list has no room for page numbers.
        changes["metadata"] = "header" if changes.get("metadata") != "none" else "none"
    dialect = Dialect(**changes)
    if dialect.envelope == "array" and dialect.metadata not in ("header", "none"):
        raise DialectError(
            "envelope-array has no room for page numbers: add meta-header or meta-none"
        )
    return dialect
