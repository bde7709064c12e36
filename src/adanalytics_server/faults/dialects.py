"""Dialects: other responses where the public description of the service leaves them open.

A client must not depend on how this server fills those gaps, so the server can fill them
differently. A dialect is one choice for each gap. Choices have names, combined with commas:
``hints,fields-camel,page-ignored``.

There are three kinds: ``SHAPES`` change the form of a response, ``ROWS`` the fields and values of
events, and ``ENDS`` which rows a response has, and what it says about further ones.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from adanalytics_server.dialect import EXPORT, HEADER, META, WHOLE_BODY, Dialect, parent_of

from . import ends, rows


class DialectError(ValueError):
    """A dialect is invalid; the message says what is allowed."""


class Choice(NamedTuple):
    """A named choice, or a set of them.

    Attributes:
        description: what is different in the responses.
        changes: the fields of ``Dialect`` and their values.
        reason: who answers in this way, or what it tests.
        is_whole: whether a client that sends the documented parameters can get every row of every
            range, and is told so. Otherwise, it has to refuse the responses that are affected.
        is_set: a choice for several gaps, which single choices may refine.
    """

    description: str
    changes: Mapping[str, object]
    reason: str
    is_whole: bool = True
    is_set: bool = False


def _envelope(events: str, summary: str | None = None) -> Mapping[str, object]:
    return {"envelope": events, "summary_envelope": summary}


_ALL_NUMBERS = ("total", "page", "per_page", "total_pages", "has_more")


def _numbers(places: Mapping[str, str], facts: str = "") -> Mapping[str, object]:
    """Return the places of page numbers, in the object around the list, and of other facts."""
    return {"metadata": places, "facts": facts}


def _numbers_in(name: str) -> Mapping[str, str]:
    return {number: f"{name}.{number}" for number in _ALL_NUMBERS}


def _beside(*names: str) -> Mapping[str, object]:
    return _numbers({name: name for name in names})


_NO_NUMBERS = _numbers({})
_HEADERS = _numbers(
    {
        "page": f"{HEADER}X-Page",
        "per_page": f"{HEADER}X-Per-Page",
        "total": f"{HEADER}X-Total-Count",
        "total_pages": f"{HEADER}X-Total-Pages",
    }
)


def _link(field: str, fact: str = "download_url") -> Mapping[str, object]:
    """Return the place of the download URL."""
    places = {name: place for name, place in EXPORT.items() if name != "download_url"}
    if field.startswith(HEADER):
        del places["location"]
    return {"export_places": {**places, fact: field}, "wait": "none"}


_JOB: Mapping[str, object] = {
    "export_places": {"export_id": "job_id", "status": "status", "ready_url": "url"},
    "wait": "state",
}
_STATES = ("pending", "processing", "completed", "failed", "expired")


def _words(*words: str) -> Mapping[str, object]:
    """Return other words for the first states of an export."""
    return {"words": dict(zip(_STATES, words, strict=False))}


_UPPER = _words("PENDING", "IN_PROGRESS", "COMPLETED", "FAILED", "EXPIRED")
_DONE = _words("queued", "running", "done", "error")
_SUCCESS = _words("waiting", "inProgress", "success", "failure")
_RETRY_AFTER = {"Retry-After": "retry_after"}


def _rate(reset: str) -> Mapping[str, object]:
    limits = {"X-RateLimit-Limit": "limit", "X-RateLimit-Remaining": "remaining"}
    return {"rate": {**_RETRY_AFTER, **limits, "X-RateLimit-Reset": reset}}


SHAPES: Mapping[str, Choice] = {
    "reference": Choice("the published ones", {}, "the service", is_set=True),
    "hints": Choice(
        "rows in events or summary, with the page count and has_more in pagination",
        {**_envelope("events", "summary"), **_numbers(_numbers_in("pagination"))},
        "a list under its own name",
        is_set=True,
    ),
    "modern": Choice(
        "rows in data, all page numbers in meta, the download URL in url,"
        " X-RateLimit-* with the reset in seconds",
        {
            **_envelope("data"),
            **_numbers(_numbers_in("meta"), "meta"),
            **_link("url"),
            **_rate("reset_seconds"),
        },
        "usual in Node and Laravel",
        is_set=True,
    ),
    "classic": Choice(
        "rows in results, page numbers beside them, a relative download URL, states in capitals,"
        " X-RateLimit-* with the reset as a timestamp, Retry-After as a date",
        {
            **_envelope("results"),
            **_beside(*_ALL_NUMBERS),
            **_link("download_url", "download_path"),
            **_UPPER,
            **_rate("reset_time"),
            "retry": "date",
        },
        "usual in Django",
        is_set=True,
    ),
    "bare": Choice(
        "rows as a bare array, no page numbers, the download URL in Location, no rate headers,"
        " a large per_page is cut",
        {
            **_envelope(WHOLE_BODY),
            **_NO_NUMBERS,
            **_link(f"{HEADER}Location"),
            **_DONE,
            "rate": {},
            "retry": "none",
            "cuts_per_page": True,
        },
        "usual in Rails",
        is_set=True,
    ),
    "envelope-events": Choice(
        "rows in events", _envelope("events", "summary"), "the endpoint's name"
    ),
    "envelope-results": Choice("rows in results", _envelope("results"), "Django REST framework"),
    "envelope-items": Choice("rows in items", _envelope("items"), "GitHub's search"),
    "envelope-array": Choice("rows as a bare array", _envelope(WHOLE_BODY), "GitHub's lists"),
    "envelope-nested": Choice(
        "rows in data.events", _envelope("data.events", "data.summary"), "JSend"
    ),
    "meta-object": Choice(
        "in meta also total_pages and has_more",
        _numbers(_numbers_in("meta"), "meta"),
        "will_paginate in Rails",
    ),
    "meta-pagination": Choice(
        "page numbers in pagination", _numbers(_numbers_in("pagination")), "usual in Node"
    ),
    "meta-flat": Choice("page numbers beside the rows", _beside(*_ALL_NUMBERS), "Spring Data"),
    "meta-has-more": Choice("no total, has_more", _beside("page", "has_more"), "Stripe's lists"),
    "meta-pages": Choice(
        "no total, total_pages", _beside("page", "total_pages"), "Strapi's pageCount"
    ),
    "meta-next": Choice("no total, next_page or null", _beside("next_page"), "Kaminari in Rails"),
    "meta-header": Choice("page numbers in X- headers", _HEADERS, "api-pagination"),
    "meta-none": Choice("no page numbers at all", _NO_NUMBERS, "a plain query"),
    "link-url": Choice("the download URL in the field url", _link("url"), "the short name"),
    "link-file-url": Choice(
        "the download URL in the field file_url", _link("file_url"), "the file's name"
    ),
    "link-location": Choice(
        "the download URL in the field location", _link("location"), "the header's name"
    ),
    "link-relative": Choice(
        "the download URL without a host",
        _link("download_url", "download_path"),
        "a server behind a proxy",
    ),
    "link-header": Choice(
        "the download URL in the header Location",
        _link(f"{HEADER}Location"),
        "RFC 9110, section 10.2.2",
    ),
    "export-job": Choice(
        "an export as job_id and status, with url once its state says completed",
        _JOB,
        "a job queue's own words",
    ),
    "status-upper": Choice("states such as IN_PROGRESS", _UPPER, "Java enums"),
    "status-done": Choice("states queued, running, done, error", _DONE, "job queues"),
    "status-success": Choice(
        "states waiting, inProgress, success, failure", _SUCCESS, "Node job queues"
    ),
    "rate-headers": Choice(
        "RateLimit and RateLimit-Policy, and Retry-After on a 429",
        {"rate": {**_RETRY_AFTER, "RateLimit-Policy": "policy", "RateLimit": "state"}},
        "the IETF draft",
    ),
    "rate-delta": Choice(
        "X-RateLimit-*, with the reset in seconds", _rate("reset_seconds"), "Reddit"
    ),
    "rate-epoch": Choice(
        "X-RateLimit-*, with the reset as seconds since 1970", _rate("reset_time"), "GitHub"
    ),
    "rate-retry-after": Choice(
        "Retry-After on a 429, and no rate headers", {"rate": _RETRY_AFTER}, "RFC 6585, section 4"
    ),
    "rate-sliding": Choice(
        "the limit counts the last 3,600 s, not the hour", {"is_sliding": True}, "a sliding log"
    ),
    "retry-date": Choice("Retry-After as a date", {"retry": "date"}, "RFC 9110, section 10.2.3"),
    "retry-none": Choice("no Retry-After", {"retry": "none"}, "the header is optional"),
    "per-page-cut": Choice(
        "a per_page above 10000 is cut to 10000", {"cuts_per_page": True}, "GitHub cuts at 100"
    ),
    "error-details": Choice(
        "errors with a list of fields in details", {"has_details": True}, "validation libraries"
    ),
    "summary-object": Choice(
        "a summary of one row has it in place of the list", {"is_object": True}, "a single resource"
    ),
}

ROWS: Mapping[str, Choice] = {
    "fields-counters": Choice(
        "one row per auction and hour: ymdh, counters of 0 or 1, amounts with ten digits, no ids of"
        " events, no types, no days",
        {"fields": rows.counters},
        "log files of ad servers",
    ),
    "fields-camel": Choice("names such as eventTime", {"fields": rows.camel}, "usual in Node"),
    "fields-ids": Choice(
        "id, an integer of 64 bits without a sign, in place of event_id; auction_id an integer",
        {"ids": None, "fields": rows.integer_ids},
        "Snowflake ids; a float holds 53 bits",
    ),
    "ids-empty": Choice(
        "an empty event_id in every row", {"ids": rows.empty_ids}, "a column that was never filled"
    ),
    "ids-nil": Choice(
        "the nil UUID as every event_id", {"ids": rows.nil_ids}, "RFC 9562, section 5.9"
    ),
    "ids-auction": Choice(
        "the id of the auction as event_id",
        {"ids": rows.auction_ids},
        "an impression and its click",
    ),
    "amounts-number": Choice(
        "amounts as JSON numbers with nine digits", {"amounts": rows.number_amounts}, "a NUMERIC"
    ),
    "amounts-float": Choice(
        "amounts as the shortest text of a float", {"amounts": rows.float_amounts}, "a DOUBLE"
    ),
    "times-epoch": Choice("times as seconds since 1970", {"times": rows.epoch_seconds}, "Unix"),
    "times-nanoseconds": Choice(
        "times with nine digits", {"times": rows.nanoseconds}, "Go's RFC3339Nano"
    ),
    "times-zoneless": Choice(
        "times without a zone", {"times": rows.without_zone}, "a TIMESTAMP; log files"
    ),
    "times-offset": Choice(
        "times with the offset -05:00; hours and days stay UTC's",
        {"times": rows.with_offset},
        "a TIMESTAMPTZ in a session's zone",
    ),
    "times-local": Choice(
        "times, days and hours of the zone UTC-5, without a zone; summaries and dates stay UTC's",
        {"times": rows.local_times, "belongs": rows.local_hours},
        "a database in a zone of its own",
        is_whole=False,
    ),
    "served-at": Choice(
        "a field served_at, which differs in each response",
        {"stamp": rows.served_at},
        "no two pages are identical",
    ),
}

ENDS: Mapping[str, Choice] = {
    "per-page-capped": Choice(
        "at most 1,000 rows, with the end computed from the requested per_page",
        {"per_page": ends.cap_at(ends.CAPPED_PER_PAGE)},
        "a limit of a gateway or database",
    ),
    "total-capped": Choice(
        "a total of at most 10,000",
        {"total": lambda total: min(total, ends.CAPPED_TOTAL)},
        "Elasticsearch's track_total_hits",
    ),
    "total-low": Choice(
        "a total one too low",
        {"total": lambda total: max(0, total - 1)},
        "an old count",
        is_whole=False,
    ),
    "total-high": Choice(
        "a total one too high", {"total": lambda total: total + 1}, "an estimate", is_whole=False
    ),
    "page-from-zero": Choice(
        "pages from 0", {"first_page": 0}, "Spring Data's Pageable", is_whole=False
    ),
    "page-ignored": Choice(
        "always the first page", {"page": ends.ignore_page}, "an unknown parameter", is_whole=False
    ),
    "page-empty": Choice(
        "an empty page before the second one",
        {
            "page": lambda query: (
                {"per_page": 0} if query.page == 2 else {"page": max(1, query.page - 1)}
            )
        },
        "filters that run after the database's limit",
    ),
    "hour-ignored": Choice(
        "all hours of the days", {"hour": ends.ignore_hour}, "an unknown parameter", is_whole=False
    ),
    "hour-closed": Choice(
        "an event at a full hour belongs to two hours",
        {"belongs": rows.closed_hours},
        "SQL's BETWEEN",
        is_whole=False,
    ),
    "end-date-ignored": Choice(
        "the first day only", {"end_date": ends.ignore_end_date}, "another name", is_whole=False
    ),
    "end-date-exclusive": Choice(
        "without the last day", {"end_date": ends.exclude_end_date}, "half-open", is_whole=False
    ),
    "days-other": Choice(
        "the days one day before",
        {"days": ends.day_before("start_date", "end_date")},
        "a cache without a key",
        is_whole=False,
    ),
    "group-ignored": Choice(
        "summaries without groups",
        {"group_by": ends.ignoring(group_by=None)},
        "an unknown parameter",
        is_whole=False,
    ),
    "lists-paged": Choice(
        "five rows of a summary, or dates, per page", {"rows_of_lists": 5}, "one rule for all lists"
    ),
    "empty-404": Choice("a range without events is a 404", {"empty": ends.NOT_FOUND}, "find_by!"),
    "empty-null": Choice(
        "a range without events is null", {"empty": ends.NULL}, "an empty slice in Go"
    ),
    "empty-object": Choice(
        "a range without events is {}", {"empty": ends.NOTHING}, "an empty array in PHP"
    ),
    "empty-204": Choice(
        "a range without events is a 204", {"empty": ends.NO_CONTENT}, "RFC 9110, section 15.3.5"
    ),
    "past-end-400": Choice(
        "a 400 after the last page", {"past_end": ends.BAD_PAGE}, "strict validation"
    ),
    "past-end-404": Choice(
        "a 404 after the last page", {"past_end": ends.NOT_FOUND}, "Django REST framework"
    ),
    "past-end-416": Choice(
        "a 416 after the last page", {"past_end": ends.NOT_SATISFIABLE}, "ranges as in HTTP"
    ),
    "accepted": Choice(
        "events are always a 202 with an empty list",
        {"every": ends.ACCEPTED},
        "a query that runs on",
        is_whole=False,
    ),
    **{
        f"says-{name}": Choice(
            f"{text} beside the rows", {"beside": fields}, reason, is_whole=is_whole
        )
        for name, text, fields, reason, is_whole in (
            ("success", "success: false", {"success": False}, "usual in Node", False),
            ("ok", "ok: false", {"ok": False}, "Slack", False),
            ("error", "status: error", {"status": "error"}, "JSend", False),
            (
                "partial",
                "status: partial",
                {"status": "partial"},
                "a search of several shards",
                False,
            ),
            ("truncated", "truncated: true", {"truncated": True}, "a limit on bytes", False),
            ("timed-out", "timed_out: true", {"timed_out": True}, "Elasticsearch", False),
            (
                "incomplete",
                "incomplete_results: true",
                {"incomplete_results": True},
                "GitHub's search",
                False,
            ),
            (
                "warnings",
                "warnings",
                {"warnings": ["campaign names may be out of date"]},
                "a hint to a person",
                True,
            ),
        )
    },
}

DIALECTS: Mapping[str, Choice] = {**SHAPES, **ROWS, **ENDS}


def dialect_of(names: str, service: Choice | None = None) -> Dialect:
    """Combine named choices, separated by commas, into a dialect.

    One set may come first, and single choices refine it. Two choices for the same gap contradict
    each other, also if one of them is that of a ``service``.

    Raises:
        DialectError: an unknown name, a contradiction, or no place for the page numbers.

    Examples:
        >>> dialect_of("hints,meta-flat").metadata["total"]
        'total'
    """
    changes: dict[str, Any] = {} if service is None else dict(service.changes)
    origins = dict.fromkeys(changes, "the service file")
    prior_names: list[str] = []
    for name in (part.strip().lower() for part in names.split(",")):
        choice = DIALECTS.get(name)
        if choice is None:
            raise DialectError(f"Unknown dialect {name!r}. Known dialects: {', '.join(DIALECTS)}.")
        if choice.is_set and prior_names:
            raise DialectError(f"{name!r} is a complete set: put it first, and name only one set")
        for gap in choice.changes:
            if gap not in origins:
                origins.update({} if choice.is_set else {gap: repr(name)})
            elif origins[gap] != repr(name):
                raise DialectError(f"{name!r} contradicts {origins[gap]}: name only one of them")
        prior_names.append(name)
        changes |= choice.changes
    if changes.get("envelope") == WHOLE_BODY and "metadata" not in origins:
        # A body that is only a list has no room for page numbers.
        changes |= _HEADERS if changes.get("metadata", META) else _NO_NUMBERS
    dialect = Dialect(**changes)
    if service is None or "metadata" not in service.changes:
        dialect = _inside(dialect)
    _check_room(dialect)
    return dialect


def _inside(dialect: Dialect) -> Dialect:
    """Return a dialect whose page numbers and facts are in the object around the list."""
    outer = parent_of(dialect.envelope)
    if not outer:
        return dialect
    places = {
        name: place if place.startswith(HEADER) else outer + place
        for name, place in dialect.metadata.items()
    }
    return replace(dialect, metadata=places, facts=(outer + dialect.facts).rstrip("."))


def _check_room(dialect: Dialect) -> None:
    # A bare array is the whole body.
    if dialect.envelope == WHOLE_BODY and dialect.beside:
        raise DialectError("envelope-array has no room beside the rows: choose another envelope")
    places = [place for place in dialect.metadata.values() if not place.startswith(HEADER)]
    if dialect.envelope == WHOLE_BODY and places:
        raise DialectError(
            "envelope-array has no room for page numbers: add meta-header or meta-none"
        )
