"""Dialects: other responses where the public description of the service leaves them open.

A client must not depend on how this server fills those gaps, so the server can fill them
differently. A dialect is one choice for each gap. Choices have names, combined with commas:
``hints,fields-camel,page-ignored``.

There are three kinds: ``SHAPES`` change the form of a response, ``ROWS`` the fields and values of
events, and ``ENDS`` which rows a response has, and what it says about further ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adanalytics_server.answers import Answers


class DialectError(ValueError):
    """A dialect is invalid; the message says what is allowed."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A named choice, or a set of them.

    Attributes:
        description: what is different in the responses.
        changes: the fields of ``Answers`` and their values.
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


SHAPES: Mapping[str, Choice] = {
    "reference": Choice("the published ones", {}, "the service", is_set=True),
    "hints": Choice(
        "rows in events or summary, with the page count and has_more in pagination",
        {"envelope": "events", "metadata": "pagination"},
        "a list under its own name",
        is_set=True,
    ),
    "modern": Choice(
        "rows in data, all page numbers in meta, the download URL in url,"
        " X-RateLimit-* with the reset in seconds",
        {"envelope": "data", "metadata": "object", "link": "url", "rate": "delta"},
        "usual in Node and Laravel",
        is_set=True,
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
        "usual in Django",
        is_set=True,
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
        "usual in Rails",
        is_set=True,
    ),
    "envelope-events": Choice("rows in events", {"envelope": "events"}, "the endpoint's name"),
    "envelope-results": Choice("rows in results", {"envelope": "results"}, "Django REST framework"),
    "envelope-items": Choice("rows in items", {"envelope": "items"}, "GitHub's search"),
    "envelope-array": Choice("rows as a bare array", {"envelope": "array"}, "GitHub's lists"),
    "envelope-nested": Choice("rows in data.events", {"envelope": "nested"}, "JSend"),
    "meta-object": Choice(
        "in meta also total_pages and has_more", {"metadata": "object"}, "will_paginate in Rails"
    ),
    "meta-pagination": Choice(
        "page numbers in pagination", {"metadata": "pagination"}, "usual in Node"
    ),
    "meta-flat": Choice("page numbers beside the rows", {"metadata": "flat"}, "Spring Data"),
    "meta-has-more": Choice("no total, has_more", {"metadata": "has-more"}, "Stripe's lists"),
    "meta-pages": Choice("no total, total_pages", {"metadata": "pages"}, "Strapi's pageCount"),
    "meta-next": Choice("no total, next_page or null", {"metadata": "next"}, "Kaminari in Rails"),
    "meta-header": Choice("page numbers in X- headers", {"metadata": "header"}, "api-pagination"),
    "meta-none": Choice("no page numbers at all", {"metadata": "none"}, "a plain query"),
    "link-url": Choice("the download URL in the field url", {"link": "url"}, "the short name"),
    "link-file-url": Choice(
        "the download URL in the field file_url", {"link": "file_url"}, "the file's name"
    ),
    "link-location": Choice(
        "the download URL in the field location", {"link": "location"}, "the header's name"
    ),
    "link-relative": Choice(
        "the download URL without a host", {"link": "relative"}, "a server behind a proxy"
    ),
    "link-header": Choice(
        "the download URL in the header Location", {"link": "header"}, "RFC 9110, section 10.2.2"
    ),
    "export-job": Choice(
        "an export as job_id and status, with url once its state says completed",
        {"link": "later"},
        "a job queue's own words",
    ),
    "status-upper": Choice("states such as IN_PROGRESS", {"words": "upper"}, "Java enums"),
    "status-done": Choice("states queued, running, done, error", {"words": "done"}, "job queues"),
    "status-success": Choice(
        "states waiting, inProgress, success, failure", {"words": "success"}, "Node job queues"
    ),
    "rate-headers": Choice(
        "RateLimit and RateLimit-Policy, and Retry-After on a 429",
        {"rate": "ratelimit"},
        "the IETF draft",
    ),
    "rate-delta": Choice("X-RateLimit-*, with the reset in seconds", {"rate": "delta"}, "Reddit"),
    "rate-epoch": Choice(
        "X-RateLimit-*, with the reset as seconds since 1970", {"rate": "epoch"}, "GitHub"
    ),
    "rate-retry-after": Choice(
        "Retry-After on a 429, and no rate headers", {"rate": "retry-after"}, "RFC 6585, section 4"
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

DIALECTS: Mapping[str, Choice] = SHAPES


def dialect_of(names: str) -> Answers:
    """Combine named choices, separated by commas, into a dialect.

    One set may come first, and single choices refine it. Two choices for the same gap contradict
    each other.

    Raises:
        DialectError: an unknown name, a contradiction, or no place for the page numbers.

    Examples:
        >>> dialect_of("hints,meta-flat").metadata
        'flat'
    """
    changes: dict[str, Any] = {}
    stated: dict[str, str] = {}
    seen: list[str] = []
    for name in (part.strip().lower() for part in names.split(",")):
        choice = DIALECTS.get(name)
        if choice is None:
            raise DialectError(f"Unknown dialect {name!r}. Known dialects: {', '.join(DIALECTS)}.")
        if choice.is_set and seen:
            raise DialectError(f"{name!r} is a complete set: put it first, and name only one set")
        for gap in choice.changes:
            if not choice.is_set and stated.setdefault(gap, name) != name:
                raise DialectError(f"{name!r} contradicts {stated[gap]!r}: name only one of them")
        seen.append(name)
        changes |= choice.changes
    if changes.get("envelope") == "array" and "metadata" not in stated:
        # A body that is only a list has no room for page numbers.
        changes["metadata"] = "header" if changes.get("metadata") != "none" else "none"
    dialect = Answers(**changes)
    if dialect.envelope == "array" and dialect.beside:
        raise DialectError("envelope-array has no room beside the rows: choose another envelope")
    if dialect.envelope == "array" and dialect.metadata not in ("header", "none"):
        raise DialectError(
            "envelope-array has no room for page numbers: add meta-header or meta-none"
        )
    return dialect
