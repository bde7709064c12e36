"""What an answer says about its place among the pages, under whatever names it says it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

from adanalytics_client._fold import fold
from adanalytics_client._json import Json, NotJson
from adanalytics_client._lines import Lines
from adanalytics_client._rows import Found
from adanalytics_client.errors import ProtocolError

T = TypeVar("T")

_META = frozenset(
    {"pagination", "paging", "pageinfo", "page", "meta", "metadata", "links", "cursor", "cursors"}
)
_MORE = frozenset(
    {"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "nextpageexists"}
    | {"hasmorepages", "hasmoreresults", "hasmoreitems", "hasmoreevents", "hasmorerecords"}
)
_LAST = frozenset({"last", "islast", "lastpage", "islastpage"})
_NEXT = frozenset({"next", "nextpage", "nexturl", "nextlink", "nextpageurl", "nextcursor"})
_TOKENS = frozenset(
    {"nextpagetoken", "nexttoken", "nextkey", "nextmarker", "nextoffset", "nextpagenumber"}
    | {"nextpagelink", "nextpageuri", "nexturi", "nexthref", "odatanextlink", "continuation"}
    | {"continuationtoken", "nextcontinuation", "nextcontinuationtoken"}
)
_PAGES = frozenset({"totalpages", "pagecount", "pages", "numpages", "lastpage", "totalpagecount"})
_TOTAL = frozenset(
    {"total", "totalcount", "totalitems", "totalrecords", "totalresults", "totalrows"}
    | {"totalelements", "totalentries", "totalevents", "totalhits"}
)
_THINGS = (
    "count",
    "total",
    "events",
    "items",
    "records",
    "results",
    "rows",
    "entries",
    "pages",
)
_LEFT = frozenset(name for each in _THINGS for name in (f"remaining{each}", f"{each}remaining"))
_WORDS = {"true": True, "yes": True, "y": True, "1": True} | dict.fromkeys(
    ("false", "no", "n", "0"), False
)
_OF_PAGES = "pages?|events?|rows?|results?|items?|records?|entries"
# Not just any name with such a word in it: "more_info" and "next_update" are about something else.
_HINT = re.compile(
    rf"(?:has|is|with|are|there)?(?:next|more|cursor|continu\w*|remaining)(?:{_OF_PAGES})?"
    r"(?:tokens?|links?|urls?|uris?|hrefs?|keys?|markers?|offset|position|follow|exist|available)?s?"
    rf"|(?:{_OF_PAGES}|scroll)(?:cursor|token|continu\w*|remaining)"
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
        left: how many events, or pages, are behind this page.
        ends: there is room for a link to the next page and it is empty.
        linked: there is a link to the next page although a flag says that none follows.
        unread: something is named as if it told of a next page, and cannot be read.
    """

    more: bool | None = None
    pages: int | None = None
    total: int | None = None
    left: int | None = None
    ends: bool = False
    linked: bool = False
    unread: bool = False

    @property
    def silent(self) -> bool:
        """Whether nothing that can be read is said."""
        return replace(self, unread=False) == Signals()


def signals(found: Found, headers: Mapping[str, str]) -> Signals:
    """Collect what the body around the rows, and then the headers, say about pages."""
    body = [member for each in found.around for member in _said(each, found)]
    told = [*body, *_said_by_headers(headers)]
    nexts = [_leads_on(value) for key, value in told if key in _NEXT]
    tokens = [_leads_on(value) for key, value in told if key in _TOKENS]
    flags = [_flag(value) for key, value in told if key in _MORE]
    flags += [_opposite(_flag(value)) for key, value in told if key in _LAST]
    counts = [value for key, value in told if key == "count" and not nexts]
    # Fewer in all than on this page, or no page at all, is a way to say "unknown".
    totals = [_at_least(len(found), value) for key, value in told if key in _TOTAL]
    # A `count` that equals the rows of this page may be only theirs.
    totals += [_at_least(len(found) + 1, value) for value in counts]
    pages = [_at_least(1, value) for key, value in told if key in _PAGES]
    linked = any(nexts) or any(tokens) or _NEXT_LINK.search(headers.get("link", "")) is not None
    more = _first([*flags, True if linked else None])
    return Signals(
        more=more,
        pages=_first(pages),
        total=_first(totals),
        # A header of such a name mostly tells what is left of a limit, as a bare `remaining` may.
        left=_first([_at_least(0, value) for key, value in body if key in _LEFT]),
        # Who counts pages by number may have room for a token and never fill it.
        ends=bool(nexts) and not linked,
        linked=linked and more is False,
        unread=any(_hints(key, value) for key, value in body),
    )


def _said(content: dict[str, Json], found: Found) -> Iterator[tuple[str, Json]]:
    """The folded members of an object and of the objects inside it that are about pages."""
    for key, value in content.items():
        name = fold(key)
        yield name, value
        if name in _META and value is not found.rows:
            if isinstance(value, dict):
                yield from _said(value, found)
            elif isinstance(value, list | Lines):
                yield from _related(value)


def _related(links: list[Json] | Lines) -> Iterator[tuple[str, Json]]:
    """Links of a list by their relations, as an object would name them."""
    try:
        each_link = links.rows() if isinstance(links, Lines) else links
    except NotJson as error:
        raise ProtocolError(f"A link beside the events is not JSON: {error}.") from None
    for link in each_link:
        relations = link.get("rel") if isinstance(link, dict) else None
        for each in relations if isinstance(relations, list) else [relations]:
            if isinstance(each, str):
                yield fold(each), link


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


def _hints(name: str, value: Json) -> bool:
    """Whether a member may tell of a next page in a way that is none of those known here."""
    if name in _TOTAL:
        # "At least so many" is no total, and search engines stop counting at 10,000.
        told = isinstance(value, dict) and not value.keys().isdisjoint({"value", "relation"})
        return told and _number(value) is None
    if name in _NEXT or name in _TOKENS or not _HINT.fullmatch(name):
        return False
    if name in _META and isinstance(value, dict):
        # Its members are looked at.
        return False
    return bool(value) and _flag(value) is not False


def _flag(value: Json) -> bool | None:
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    return bool(value) if isinstance(value, bool) or value in (0, 1) else None


def _opposite(flag: bool | None) -> bool | None:
    return None if flag is None else not flag


def _number(value: Json) -> int | None:
    """A whole number, also as text, with a point, or as search engines wrap an exact one."""
    if isinstance(value, dict) and value.get("relation") == "eq":
        value = value.get("value")
    if isinstance(value, str) and value.isascii() and value.strip().isdigit() and len(value) < 20:
        return int(value)
    if isinstance(value, Decimal) and value.adjusted() < 20 and value == int(value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _at_least(least: int, value: Json) -> int | None:
    number = _number(value)
    return number if number is not None and number >= least else None


def _first(values: list[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
