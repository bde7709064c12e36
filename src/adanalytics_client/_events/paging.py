"""Paging: the cursor of a slice, and the page metadata that moves or ends it.

The service documents no page metadata. The names are those of public APIs and libraries: `has_more`
(Stripe), `next` and `count` (Django REST framework), `links.next` (JSON:API), `last`,
`totalElements` and `totalPages` (Spring Data), `current_page` and `last_page` (Laravel),
`has_next_page` (GraphQL Relay), `X-Total-Count` (json-server). They are folded: `hasMore` is
`has_more`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeVar

from adanalytics_client._events.plan import Slice
from adanalytics_client._json.encoding import json_text
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
        attempt: 0, or how many times the slice was started before.
    """

    slice: Slice
    number: int = 1
    seen: int = 0
    repeated: int = 0
    mark: str = ""
    total: int | None = None
    first_size: int = 1
    attempt: int = 0

    @property
    def untouched(self) -> bool:
        """Return whether nothing of the slice was yielded."""
        return self.number == 1

    def __str__(self) -> str:
        return f"page {self.number} of {self.slice}"

    def parameters(self, per_page: int) -> dict[str, str]:
        """Return the query parameters of this page, all of them documented."""
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
        end: the flag that says that no page follows, as sent; empty without one.
        beyond: the flag or link that says that another page follows; empty without one.
    """

    more: bool | None = None
    pages: int | None = None
    total: int | None = None
    page: int | None = None
    no_next: bool = False
    end: str = ""
    beyond: str = ""

    @property
    def silent(self) -> bool:
        """Return whether nothing shows where the pages end."""
        return replace(self, page=None) == Signals()


def signals(found: Found, headers: Mapping[str, str]) -> Signals:
    """Read the page metadata of the objects around the events, then of the headers."""
    members = [member for each in found.around for member in _members(each)]
    members += _header_members(headers)
    links = [key if _leads_on(value) else "" for name, key, value in members if name in _NEXT]
    flags = [
        (more, f"{key}: {json_text(value)}")
        for name, key, value in members
        if (more := _more(name, value)) is not None
    ]
    # A total below the events of this page, or zero pages, is a way to say "unknown".
    totals = [_at_least(len(found), value) for name, _, value in members if name in _TOTAL]
    if not links:
        # Beside a `next`, or when it equals the events of this page, `count` is this page's.
        counts = [value for name, _, value in members if name == "count"]
        totals += [_at_least(len(found) + 1, value) for value in counts]
    ends = [stated for more, stated in flags if not more]
    # The address of a link may be signed, so only its name is shown.
    ahead = [stated for more, stated in flags if more] + [key for key in links if key]
    return Signals(
        more=_first([*(more for more, _ in flags), True if any(links) else None]),
        # A `page_count` of the events on this page counts those.
        pages=_first(
            _at_least(1, value)
            for name, _, value in members
            if name in _PAGES and (name, value) != ("pagecount", len(found))
        ),
        total=_first(totals),
        page=_first([_at_least(0, value) for name, _, value in members if name in _PAGE]),
        no_next=bool(links) and not any(links),
        end=next(iter(ends), ""),
        beyond=next(iter(ahead), ""),
    )


def contradiction(cursor: Cursor, says: Signals) -> str:
    """Name the end and the further page that one response states; empty when it states only one."""
    beyond = says.beyond
    if says.pages is not None and cursor.number < says.pages:
        beyond = beyond or f"{says.pages} pages"
    return f"{says.end} and {beyond}" if says.end and beyond else ""


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
    return replace(cursor, number=cursor.number + 1, seen=seen, first_size=first_size)


def page_count(cursor: Cursor, count: int, says: Signals) -> int | None:
    """Count the pages of a slice after a page of `count` events; None while that is unknown."""
    ahead = following(cursor, count, says)
    if ahead is None:
        return cursor.number
    total = says.total or cursor.total
    pages = says.pages or (total and ceil(total / ahead.first_size))
    return max(pages, ahead.number) if pages else None


def _members(content: dict[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """List the members of an object and of its paging objects, each with its folded name."""
    for key, value in content.items():
        name = fold(key)
        yield name, key, value
        if name in _OBJECTS and isinstance(value, dict):
            yield from _members(value)


def _header_members(headers: Mapping[str, str]) -> Iterator[tuple[str, str, Json]]:
    """List headers such as `X-Total-Count`, `X-Pagination-Total-Pages`, `X-Has-More`."""
    for header, value in headers.items():
        if (named := _HEADER.fullmatch(header)) is not None:
            yield fold(named[1]), header, value


def _leads_on(value: Json) -> bool:
    """Return whether a link has an address; JSON:API may wrap the address in an object."""
    if isinstance(value, dict) and "href" in value:
        return bool(value["href"])
    return bool(value)


def _more(name: str, value: Json) -> bool | None:
    """Return whether a flag says that another page follows; None for anything but a flag."""
    if name not in _MORE | _LAST or not isinstance(value, str | int):
        return None
    flag = _FLAGS.get(str(value).strip().lower())
    if name in _MORE or flag is None:
        return flag
    # A number under `last_page` is the number of pages.
    return None if name in _PAGES and _at_least(0, value) is not None else not flag


def _at_least(least: int, value: Json) -> int | None:
    """Return a whole number, also if sent as text, unless it is below `least`."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= least else None


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
