"""Paging: the cursor of a slice, and the page metadata that moves or ends it.

The service documents no page metadata. The names are those of public APIs and libraries: `has_more`
(Stripe), `next` and `count` (Django REST framework), `links.next` (JSON:API), `last`,
`totalElements` and `totalPages` (Spring Data), `current_page` and `last_page` (Laravel),
`has_next_page` (GraphQL Relay), `X-Total-Count` (json-server). They are folded: `hasMore` is
`has_more`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeVar

from adanalytics_client._events.plan import Slice
from adanalytics_client._json.exact import Json
from adanalytics_client._json.rows import Found, fold

T = TypeVar("T")

_OBJECTS = frozenset({"pagination", "paging", "pageinfo", "page", "meta", "metadata", "links"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "hasmorepages", "more"})
_LAST = frozenset({"last", "islast", "lastpage", "islastpage"})
_NEXT = frozenset({"next", "nextpage", "nexturl", "nextlink", "nextpageurl", "nextcursor"})
_PAGE = frozenset({"page", "currentpage", "pagenumber"})
_PAGES = frozenset({"totalpages", "pages", "numpages", "pagecount", "lastpage"})
_COUNTED = ("count", "events", "items", "records", "results", "rows", "entries", "elements")
_TOTAL = frozenset({"total", *(f"total{each}" for each in _COUNTED)})
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_HEADER = re.compile(r"x-(?:pagination-)?(.+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Cursor:
    """The next page of a slice to request, with the facts stated by the previous pages.

    Attributes:
        slice: the query.
        number: the page, from 1.
        seen: events on the previous pages.
        repeated: how many of them had arrived before.
        mark: digest of the previous page.
        total: the largest number of events that the previous pages stated for the slice.
        first_size: events on the first page; without page metadata, a shorter page is the last one.
        handed: how many of this page's own events were yielded, if `max_events` cut it.
        front: digest of those events.
        attempt: 0, or how many times the slice was started before.
    """

    slice: Slice
    number: int = 1
    seen: int = 0
    repeated: int = 0
    mark: str = ""
    total: int | None = None
    first_size: int = 1
    handed: int = 0
    front: str = ""
    attempt: int = 0

    @property
    def untouched(self) -> bool:
        """Return whether nothing of the slice was yielded."""
        return self.number == 1 and not self.handed

    def __str__(self) -> str:
        return f"page {self.number} of {self.slice}"

    def parameters(self, per_page: int) -> dict[str, str]:
        """The query parameters of this page, all of them documented."""
        return {**self.slice.parameters(), "page": str(self.number), "per_page": str(per_page)}


@dataclass(frozen=True, slots=True)
class Signals:
    """The page metadata of a response; None for metadata that it lacks.

    Attributes:
        more: whether another page follows.
        pages: the number of pages.
        total: the number of events on all pages.
        page: the number of this page.
        no_next: whether the link to the next page is empty.
    """

    more: bool | None = None
    pages: int | None = None
    total: int | None = None
    page: int | None = None
    no_next: bool = False

    @property
    def silent(self) -> bool:
        """Return whether nothing shows where the pages end."""
        return replace(self, page=None) == Signals()


def signals(found: Found, headers: Mapping[str, str]) -> Signals:
    """Read the page metadata of the objects around the events, then of the headers."""
    members = [member for each in found.around for member in _members(each)]
    members += _header_members(headers)
    links = [_leads_on(value) for name, value in members if name in _NEXT]
    flags = [_flag(value) for name, value in members if name in _MORE]
    flags += [_opposite(_flag(value)) for name, value in members if name in _LAST]
    # A total below the events of this page, or zero pages, is a way to say "unknown".
    totals = [_at_least(len(found), value) for name, value in members if name in _TOTAL]
    if not links:
        # Beside a `next`, or when it equals the events of this page, `count` is this page's.
        counts = [value for name, value in members if name == "count"]
        totals += [_at_least(len(found) + 1, value) for value in counts]
    return Signals(
        more=_first([*flags, True if any(links) else None]),
        pages=_first([_at_least(1, value) for name, value in members if name in _PAGES]),
        total=_first(totals),
        page=_first([_at_least(0, value) for name, value in members if name in _PAGE]),
        no_next=bool(links) and not any(links),
    )


def following(cursor: Cursor, count: int, says: Signals) -> Cursor | None:
    """Move a cursor past a page of `count` events; None when that was the last page.

    A flag takes precedence over a number of pages, that over a total, and that over an empty link.
    Without any of them a page shorter than the first one of its slice is the last. The requested
    page size does not matter here, because a service may cap it silently.
    """
    if count == 0:
        return None
    seen = cursor.seen + count
    first_size = count if cursor.number == 1 else cursor.first_size
    if says.more is not None:
        more = says.more
    elif says.pages is not None:
        more = cursor.number < says.pages
    elif says.total is not None:
        more = seen < says.total
    else:
        more = not says.no_next and count >= first_size
    if not more:
        return None
    return replace(
        cursor, number=cursor.number + 1, seen=seen, first_size=first_size, handed=0, front=""
    )


def page_count(cursor: Cursor, count: int, says: Signals) -> int | None:
    """Count the pages of a slice after a page of `count` events; None while that is unknown."""
    ahead = following(cursor, count, says)
    if ahead is None:
        return cursor.number
    total = says.total or cursor.total
    pages = says.pages or (total and ceil(total / ahead.first_size))
    return max(pages, ahead.number) if pages else None


def _members(content: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """List the members of an object and of the paging objects inside it, names folded."""
    for key, value in content.items():
        name = fold(key)
        yield name, value
        if name in _OBJECTS and isinstance(value, dict):
            yield from _members(value)


def _header_members(headers: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """List headers such as `X-Total-Count`, `X-Pagination-Total-Pages`, `X-Has-More`, folded."""
    for header, value in headers.items():
        if (named := _HEADER.fullmatch(header)) is not None:
            yield fold(named[1]), value


def _leads_on(value: Json) -> bool:
    """Return whether a link has an address; JSON:API may wrap the address in an object."""
    if isinstance(value, dict) and "href" in value:
        return bool(value["href"])
    return bool(value)


def _flag(value: Json) -> bool | None:
    if isinstance(value, str):
        return _FLAGS.get(value.strip().lower())
    return bool(value) if isinstance(value, bool) or value in (0, 1) else None


def _opposite(flag: bool | None) -> bool | None:
    return None if flag is None else not flag


def _at_least(least: int, value: Json) -> int | None:
    """Return a whole number, also if sent as text, unless it is below `least`."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= least else None


def _first(values: list[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
