"""Dialects: other response shapes where the public description of the service leaves them open.

A client must not depend on how this server fills those gaps, so the server can fill them
differently. A dialect is one choice for each gap. Choices have names, combined with commas:
``envelope-data,meta-flat``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adanalytics_server.answers import Answers


class DialectError(ValueError):
    """A dialect is invalid; the message says what is allowed."""


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
    "link-url": Choice("the download URL in the field url", {"link": "url"}),
    "link-file-url": Choice("the download URL in the field file_url", {"link": "file_url"}),
    "link-location": Choice("the download URL in the field location", {"link": "location"}),
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
    "per-page-cut": Choice("a per_page above 10000 is cut to 10000", {"cuts_per_page": True}),
}


def dialect_of(names: str) -> Answers:
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
    dialect = Answers(**changes)
    if dialect.envelope == "array" and dialect.metadata not in ("header", "none"):
        raise DialectError(
            "envelope-array has no room for page numbers: add meta-header or meta-none"
        )
    return dialect
