"""What an answer says about its place among the pages, under whatever names it says it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from adanalytics_client._fold import fold
from adanalytics_client._json import Json
from adanalytics_client._rows import Found

T = TypeVar("T")

_META = frozenset({"pagination", "paging", "pageinfo", "page", "meta", "metadata", "links"})
_MORE = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "nextpageexists"})
_LAST = frozenset({"last", "islast", "lastpage", "islastpage"})
_NEXT = frozenset({"next", "nextpage", "nexturl", "nextlink", "nextpageurl", "nextcursor"})
_PAGES = frozenset({"totalpages", "pagecount", "pages", "numpages", "lastpage", "totalpagecount"})
_TOTAL = frozenset(
    {"total", "totalcount", "totalitems", "totalrecords", "totalresults", "totalrows"}
    | {"totalelements", "totalentries", "totalevents", "totalhits"}
)
_HEADER = re.compile(r"x-(?:pagination-|paging-)?(?P<name>.+)|(?P<bare>total-.+)", re.ASCII)
_NEXT_LINK = re.compile(r';\s*rel\s*=\s*"?next"?\s*(;|,|$)', re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Signals:
    """What an answer says about its place among the pages; None is "it does not say".

    Attributes:
        more: a flag or link says that another page follows, or that none does.
        pages: the number of pages.
        total: the number of events on all pages.
        ends: there is room for a link to the next page and it is empty.
        linked: there is a link to the next page although a flag says that none follows.
    """

    more: bool | None = None
    pages: int | None = None
    total: int | None = None
    ends: bool = False
    linked: bool = False


def signals(found: Found, headers: Mapping[str, str]) -> Signals:
    """Collect what the body around the rows, and then the headers, say about pages."""
    told = [(fold(key), value) for each in found.around for key, value in _said(each)]
    told += _said_by_headers(headers)
    nexts = [_leads_on(value) for key, value in told if key in _NEXT]
    flags = [_flag(value) for key, value in told if key in _MORE]
    flags += [_opposite(_flag(value)) for key, value in told if key in _LAST]
    counts = [value for key, value in told if key == "count" and not nexts]
    # Fewer in all than on this page, or no page at all, is a way to say "unknown".
    totals = [_at_least(len(found), value) for key, value in told if key in _TOTAL]
    # A `count` that equals the rows of this page may be only theirs.
    totals += [_at_least(len(found) + 1, value) for value in counts]
    pages = [_at_least(1, value) for key, value in told if key in _PAGES]
    linked = any(nexts) or _NEXT_LINK.search(headers.get("link", "")) is not None
    more = _first([*flags, True if linked else None])
    return Signals(
        more=more,
        pages=_first(pages),
        total=_first(totals),
        ends=bool(nexts) and not any(nexts),
        linked=linked and more is False,
    )


def _said(content: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """The members of an object and of the objects inside it that are about pages."""
    for key, value in content.items():
        yield key, value
        if fold(key) in _META and isinstance(value, dict):
            yield from _said(value)


def _said_by_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, Json]]:
    """The same from headers such as `X-Total-Count`, `X-Pagination-Total-Pages`, `X-Has-More`."""
    for header, value in headers.items():
        if (named := _HEADER.fullmatch(header)) is not None:
            yield fold(named["name"] or named["bare"]), value


def _leads_on(value: Json) -> bool:
    """Whether a link to the next page leads anywhere; some wrap the address in an object."""
    if isinstance(value, dict) and not value.keys().isdisjoint({"href", "url"}):
        return bool(value.get("href") or value.get("url"))
    return bool(value)


def _flag(value: Json) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return bool(value) if isinstance(value, bool) or value in (0, 1) else None


def _opposite(flag: bool | None) -> bool | None:
    return None if flag is None else not flag


def _number(value: Json) -> int | None:
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 20:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _at_least(least: int, value: Json) -> int | None:
    number = _number(value)
    return number if number is not None and number >= least else None


def _first(values: list[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
