"""Read what a response says about its pages, and about itself: totals, signs of more, shortfalls.

The service publishes `total`, `page` and `per_page`. All other names are those of public APIs and
libraries, and each stands beside its source. Names are folded: `hasMore` is `has_more`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.exact import Json
from adanalytics_client._json.raw import RawRows
from adanalytics_client._json.rows import Found

T = TypeVar("T")

_OBJECTS = frozenset(
    {"pagination", "paging", "pageinfo", "page", "meta", "metadata", "links", "cursors"}
    # Slack, "Pagination"; Elasticsearch, "Search API".
    | {"responsemetadata", "shards"}
)
_MORE = frozenset(
    # Stripe; GraphQL Relay; Laravel; Amazon S3 (IsTruncated); Google Ads; HubSpot.
    {"hasmore", "hasnext", "hasnextpage", "hasmorepages", "more", "istruncated"}
    | {"hasmoreitems", "hasmoreresults", "moreresults", "moreavailable", "moredata"}
)
_LAST = frozenset(
    # Spring Data; Salesforce (done); the Jira API (isLast).
    {"last", "islast", "lastpage", "islastpage", "done", "finished"}
)
# Django REST framework (next), JSON:API (links.next), OData (@odata.nextLink), Google
# (nextPageToken), AWS (NextToken, NextMarker), Salesforce (nextRecordsUrl), GitLab (X-Next-Page).
_NEXT = re.compile(
    r"(?:odata)?next"
    r"(?:\w*(?:page|pages|url|uri|link|href|path|cursor|token|marker|offset|start|key))?"
    # Facebook and Square (cursor), Azure (continuation), MediaWiki (continue), DynamoDB.
    r"|cursor|(?:ms)?continu(?:e|ation)(?:token)?|lastevaluatedkey",
    re.ASCII,
)
_PAGE = frozenset({"page", "currentpage", "pagenumber"})
_PER_PAGE = frozenset({"perpage", "pagesize", "limit"})
_PAGES = frozenset({"totalpages", "pages", "numpages", "pagecount", "lastpage"})
_COUNTED = ("count", "events", "items", "records", "results", "rows", "entries", "elements")
_TOTAL = frozenset(
    {"total", *(f"total{noun}" for noun in _COUNTED)}
    # Elasticsearch (hits.total), Solr (numFound), Salesforce (totalSize), DataTables.
    | {"totalhits", "numfound", "totalsize", "recordstotal"}
)
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
_HEADER = re.compile(r"x-(?:pagination-)?(.+)", re.ASCII)
# RFC 8288, section 3; a relation type may be one of several in quotes.
_LINK = re.compile(r';\s*rel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)', re.IGNORECASE)
# RFC 9110, section 14.4, with another unit than bytes, as PostgREST and React Admin use it.
_RANGE = re.compile(r"(?!bytes)(?:[\w-]+ )?(?:\d+-\d+|\*)/(\d+)", re.ASCII)
_MOST_LINKS = 20

_TRUE_IF_WHOLE = frozenset({"success", "ok", "complete", "iscomplete"})
_TRUE_IF_SHORT = frozenset(
    # Elasticsearch (timed_out, terminated_early), GitHub's search (incomplete_results).
    {"truncated", "timedout", "terminatedearly", "incompleteresults", "incomplete", "isincomplete"}
    | {"partial", "ispartial", "partialresults"}
)
_STATUS = frozenset({"status", "state", "result"})
# JSend (fail, error); the others are the words of export states for work that failed or goes on.
_SHORT_WORDS = frozenset(
    {"error", "fail", "failed", "failure", "partial", "incomplete", "timeout", "truncated"}
    | {"pending", "queued", "processing", "running", "inprogress"}
)
_WARNINGS = frozenset({"warning", "warnings"})
_HTTP_STATUS = frozenset({"status", "statuscode", "code"})


@dataclass(frozen=True, slots=True)
class Signals:
    """The page metadata of a response; None or empty for metadata that it lacks.

    Attributes:
        total: the number of events on all pages.
        pages: the number of pages.
        page: the number of this page.
        per_page: the most events on a page.
        end: the flag that says that no page follows, as sent.
        further: the name of a flag, link or header that says that another page follows.
    """

    total: int | None = None
    pages: int | None = None
    page: int | None = None
    per_page: int | None = None
    end: str = ""
    further: str = ""

    def sign_after(self, number: int) -> str:
        """Name what says that pages follow page `number`; empty when nothing does."""
        more = self.pages is not None and number < self.pages
        return self.further or (f"{self.pages} pages" if more else "")


def signals(found: Found, headers: Mapping[str, str]) -> Signals:
    """Read the page metadata of the objects around the events, then of the headers."""
    members = [*_stated_members(found.around), *_header_members(headers)]
    links = [(key, _leads_on(value)) for name, key, value in members if _NEXT.fullmatch(name)]
    flags = [
        (more, f"{key}: {json_text(value)}")
        for name, key, value in members
        if (more := _more(name, value)) is not None
    ]
    # The address of a link may be signed, so only its name is shown.
    further = [text for more, text in flags if more] + [key for key, leads_on in links if leads_on]
    further += [
        f"{key} with rel=next"
        for name, key, value in members
        if name in {"link", "links"} and _has_next(value)
    ]
    totals = [_total(value) for name, _, value in members if name in _TOTAL]
    if place := _RANGE.fullmatch(headers.get("content-range", "")):
        totals.append(int(place[1]))
    if not links:
        # Beside a `next`, or when it equals the events of this page, `count` is this page's.
        counts = [value for name, _, value in members if name == "count"]
        totals += [_at_least(len(found) + 1, value) for value in counts]
    return Signals(
        total=_first(totals),
        # A `page_count` of the events on this page counts those.
        pages=_first(
            _at_least(1, value)
            for name, _, value in members
            if name in _PAGES and (name, value) != ("pagecount", len(found))
        ),
        page=_first(_at_least(0, value) for name, _, value in members if name in _PAGE),
        per_page=_first(_at_least(1, value) for name, _, value in members if name in _PER_PAGE),
        end=next((text for more, text in flags if not more), ""),
        further=next(iter(further), ""),
    )


def stated_shortfall(around: Iterable[dict[str, Json]], headers: Mapping[str, str]) -> str:
    """Name the flag or status by which a response says that it is not the whole; empty for none."""
    for name, key, value in (*_stated_members(around), *_header_members(headers)):
        flag = _flag(value)
        word = fold(value) if isinstance(value, str) else ""
        if (
            (name in _TRUE_IF_WHOLE and flag is False)
            or (name in _TRUE_IF_SHORT and flag is True)
            or (name in _STATUS and word in _SHORT_WORDS)
            or (name in _HTTP_STATUS and type(value) is int and 400 <= value < 600)
            # Elasticsearch: `_shards.failed`.
            or (name == "shardsfailed" and value)
        ):
            return f"{key}: {json_text(value)}"
    return ""


def stated_warnings(around: Iterable[dict[str, Json]], headers: Mapping[str, str]) -> list[str]:
    """List the warnings beside the data: the members `warning` and `warnings`, and the header."""
    stated = [value for name, _, value in _stated_members(around) if name in _WARNINGS and value]
    texts = [value if isinstance(value, str) else json_text(value) for value in stated]
    return [*texts, *filter(None, [headers.get("warning")])]


def _stated_members(around: Iterable[dict[str, Json]]) -> Iterator[tuple[str, str, Json]]:
    return (member for content in around for member in _members(content))


def _members(content: dict[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """List the members of an object and of its paging objects, each with its folded name."""
    for key, value in content.items():
        name = fold(key)
        yield name, key, value
        if name in _OBJECTS and isinstance(value, dict):
            yield from _members(value)
            if name == "shards" and "failed" in value:
                yield "shardsfailed", f"{key}.failed", value["failed"]


def _header_members(headers: Mapping[str, str]) -> Iterator[tuple[str, str, Json]]:
    """List headers such as `X-Total-Count`, `X-Pagination-Total-Pages`, `Link`."""
    for header, value in headers.items():
        if (named := _HEADER.fullmatch(header)) is not None:
            yield fold(named[1]), header, value
        elif header == "link":
            yield header, "Link", value


def _leads_on(value: Json) -> bool:
    """Return whether a link has an address; JSON:API may wrap the address in an object."""
    if isinstance(value, dict) and "href" in value:
        return bool(value["href"])
    return bool(value) and _flag(value) is not False


def _has_next(value: Json) -> bool:
    """Return whether a `Link` header, or a list of links with relations, has one to a next page."""
    if isinstance(value, str):
        return bool(_LINK.search(value))
    if isinstance(value, RawRows):
        value = value.first(_MOST_LINKS).rows()
    links = islice(value, _MOST_LINKS) if isinstance(value, list) else ()
    return any(
        isinstance(link, dict) and link.get("rel") == "next" and _leads_on(link) for link in links
    )


def _flag(value: Json) -> bool | None:
    if not isinstance(value, str | int):
        return None
    return _FLAGS.get(str(value).strip().lower())


def _more(name: str, value: Json) -> bool | None:
    """Return whether a flag says that another page follows; None for anything but a flag."""
    if name not in _MORE | _LAST:
        return None
    flag = _flag(value)
    if name in _MORE or flag is None:
        return flag
    # A number under `last_page` is the number of pages.
    return None if name in _PAGES and _at_least(0, value) is not None else not flag


def _total(value: Json) -> int | None:
    """Return a total; Elasticsearch says beside it whether it is only a lower bound."""
    if isinstance(value, dict):
        exact = value.get("relation", "eq") == "eq"
        return _at_least(0, value.get("value")) if exact else None
    return _at_least(0, value)


def _at_least(least: int, value: Json) -> int | None:
    """Return a whole number, also if sent as text, unless it is below `least`."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= least else None


def _first(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
