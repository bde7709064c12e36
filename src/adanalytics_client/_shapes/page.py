"""Read what a response says about its pages, and about itself: totals, signs of more, shortfalls.

The service publishes `total`, `page` and `per_page`. All other names are those of public APIs and
libraries, and each stands beside its source. Names are folded: `hasMore` is `has_more`. The places
in the profile of a service overrule the names; a further page is never ignored.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from adanalytics_client._base.spelling import fold
from adanalytics_client._json.exact import Json, NotJson, json_text, parse
from adanalytics_client._json.raw import RawRows
from adanalytics_client._json.rows import ERRORS, Found, decoded, kind_of, stated_error

from .places import values_at
from .service import PageProfile

T = TypeVar("T")

# Twitch (pagination), HubSpot (paging), GraphQL Relay (pageInfo), Spring Data (page), Laravel
# (meta), Kubernetes (metadata), JSON:API (links), Facebook (cursors), Cloudflare (result_info),
# Slack (response_metadata), Zoho Books (page_context), Zoho CRM (info), Pipedrive
# (additional_data).
PAGING = frozenset(
    {"pagination", "paging", "pageinfo", "page", "meta", "metadata", "links", "cursors"}
    | {"resultinfo", "responsemetadata", "pagecontext", "info", "additionaldata"}
)
# Where a response may say something of itself: also in Elasticsearch's `_shards`.
_ABOUT = PAGING | {"shards", "status", "response", "query", "stats"}
_MORE = re.compile(
    # Stripe (has_more), Spring Data (hasNext), GraphQL Relay (hasNextPage), Zoho Backstage
    # (has_more_items), Zoho CRM (more_records), Freshservice (more), Pipedrive
    # (more_items_in_collection), Baack (isMorePages), Sysdig (canLoadMore).
    r"(?:(?:has|is)(?:more|next)|more|canloadmore)"
    r"(?:pages?|items|results|data|rows|records|events)?(?:incollection)?"
    # CHSI (nextPageAvailable), Amazon S3 (IsTruncated), ArcGIS (exceededTransferLimit).
    r"|nextpageavailable|istruncated|exceededtransferlimit"
)
_LAST = re.compile(
    # Spring Data (last), Jira (isLast), Bitbucket Server (isLastPage), Salesforce (done), GBIF
    # (endOfRecords).
    r"(?:is)?last(?:page)?|done|endofrecords"
)
_NEXT = re.compile(
    # Django REST framework and JSON:API (next), OData (@odata.nextLink).
    r"(?:odata)?next"
    # In Zendesk next_page, in Massive next_url, in Coinbase next_uri, in Azure nextLink, in
    # SoundCloud next_href, in Slack next_cursor, in Google nextPageToken, in AWS NextToken and
    # NextMarker, in Telegram next_offset, in Pipedrive and ArcGIS next_start, in Bitbucket Server
    # nextPageStart, in the Cosmos SDK next_key, in Salesforce nextRecordsUrl.
    r"(?:\w*(?:page|url|uri|link|href|cursor|token|marker|offset|start|key))?"
    # Facebook and Square (cursor), Azure (x-ms-continuation), Kubernetes and MediaWiki (continue),
    # DynamoDB (LastEvaluatedKey).
    r"|cursor|(?:ms)?continu(?:e|ation)(?:token)?|lastevaluatedkey",
    re.ASCII,
)
_PAGE = frozenset({"page", "currentpage", "pagenumber"})
_PER_PAGE = frozenset({"perpage", "pagesize", "limit"})
# Spring Data (totalPages), Django (num_pages), Algolia (nbPages), Silktide (maxPage), BreweryDB
# (numberOfPages), Laravel (last_page), Flask-SQLAlchemy (pages), Strapi (pageCount).
_PAGES = re.compile(r"(?:total|num|nb|max|numberof|last)pages?|pages|pages?count")
_COUNTED = ("count", "events", "items", "records", "results", "rows", "entries", "elements")
_TOTAL = frozenset(
    {"total", *(f"total{noun}" for noun in _COUNTED)}
    # Elasticsearch (hits.total), Solr (numFound), Salesforce (totalSize), DataTables, Algolia.
    | {"totalhits", "numfound", "totalsize", "recordstotal", "nbhits"}
)
_FLAGS = dict.fromkeys(("true", "1", "yes", "y"), True) | dict.fromkeys(
    ("false", "0", "no", "n"), False
)
# GitLab (X-Next-Page), WordPress (X-WP-TotalPages).
_HEADER = re.compile(r"(?:x-)?(?:pagination-|wp-)?(.+)", re.ASCII)
# flask-smorest and ASP.NET send the metadata of pages as an object in one header.
_HEADER_OBJECTS = frozenset({"pagination", "x-pagination"})
# RFC 8288, section 3; a relation type may be one of several in quotes.
_LINK = re.compile(r';\s*rel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)', re.IGNORECASE)
# RFC 9110, section 14.4, with another unit than bytes, as PostgREST and React Admin use it.
_RANGE = re.compile(r"(?!bytes)(?:[\w-]+ )?(?:\d+-\d+|\*)/(\d+)", re.ASCII)
_MOST_LINKS = 20

# Names and states are sentences of a few words, so the words decide, in whatever name they are:
# Elasticsearch (timed_out, terminated_early), GitHub's search (incomplete_results), BigQuery
# (jobComplete), Google Ads (partial_failure), OpenTelemetry (partialSuccess), JSend (fail, error).
_SHORT = r"partial|truncat|incomplet|timed?out|terminatedearly|degraded"
_WHOLE_NAME = re.compile(
    r"(?:is|was|job|data|results?|query)*(?:success(?:ful)?|succeeded|ok|completed?)"
)
# `is_truncated` says that another page follows.
_SHORT_NAME = re.compile(
    rf"(?!istruncated)\w*(?:{_SHORT}|has(?:error|failure)s"
    r"|(?:limit|max)\w*(?:reached|exceeded|hit))\w*"
)
# A name that begins with a verb in its base form, or ends in what a service can do, is that of an
# option: it may allow, or leave out, what did not happen.
_OPTION_NAME = re.compile(
    r"(?:no|only|with|without|accept|allow|permit|ignore|support)\w*"
    r"|(?:enable|exclude|filter|hide|include|keep|omit|prefer|require|return|show|skip)"
    r"(?!d(?!egraded)|ed|ped|ted)\w*"
    r"|\w*(?:accepted|allowed|enabled|excluded|hidden|permitted|supported|supports?|option|mode)"
)
# In the echo of a request an adjective is an option, and what happened a statement.
_ADJECTIVE = re.compile(
    r"(?:partial|incomplete|complete|timeout)(?:data|results?|rows|responses?)?"
)
_FILTER_NAME = re.compile(r"(?:only|filter)\w+")
_STATUS = re.compile(
    r"(?:job|query|results?|search|request|response|data)*(?:status|state)|result|outcome"
)
# The words of states of exports for work that failed or goes on are among them.
_SHORT_WORD = re.compile(
    rf"(?!no(?!t)|without|zero|0|\w{{0,40}}(?:free|less)\Z)"
    rf"\w{{0,20}}(?:{_SHORT}|abort|cancel|error|fail)\w{{0,20}}"
)
_UNFINISHED_WORD = re.compile(r"\w{0,20}(?:pending|queued|processing|running|inprogress)\w{0,20}")
_HTTP_STATUS = re.compile(r"(?:http)?status(?:code)?|code")
_PARTIAL_CONTENT = 206
_WARNINGS = frozenset({"warning", "warnings"})
_MESSAGES = frozenset({"message", "msg"})
_STATING_NAMES = (_TOTAL | _PAGE | _PER_PAGE) | {
    *("link", "links", "count", "rowcount", "sumotherdoccount", "failedshards", "unavailableshards")
}
_STATING = (
    *(_MORE, _LAST, _NEXT, _PAGES, _WHOLE_NAME, _SHORT_NAME, _STATUS, _HTTP_STATUS, ERRORS),
)

# The folded name of a member of a response, its name, and its value.
Member = tuple[str, str, Json]


class Signals(Struct, frozen=True):
    """The page metadata of a response; None or empty for metadata that it lacks.

    Attributes:
        total: the number of events on all pages.
        pages: the number of pages.
        page: the number of this page.
        per_page: the most events on a page.
        flags: for each flag, whether it says that another page follows, and its text as sent.
        links: the names of links and headers that say that another page follows.
    """

    total: int | None = None
    pages: int | None = None
    page: int | None = None
    per_page: int | None = None
    flags: tuple[tuple[bool, str], ...] = ()
    links: tuple[str, ...] = ()

    @property
    def end(self) -> str:
        """Return the flag that says that no page follows; empty without one."""
        return next((text for leads_on, text in self.flags if not leads_on), "")

    @property
    def next_sign(self) -> str:
        """Return the flag or link that says that another page follows; empty without one."""
        signs = [text for leads_on, text in self.flags if leads_on]
        return next(iter([*signs, *self.links]), "")

    def sign_after(self, number: int) -> str:
        """Name what says that pages follow page `number`; empty when nothing does."""
        has_more = self.pages is not None and number < self.pages
        return self.next_sign or (f"{self.pages} pages" if has_more else "")

    def contradiction_on(self, number: int) -> str:
        """Name the end and the further page that page `number` states; empty without both."""
        sign = self.sign_after(number)
        return f"{self.end} and {sign}" if self.end and sign else ""


def signals(
    finding: Found, headers: Mapping[str, str], pages: PageProfile | None = None
) -> Signals:
    """Read the page metadata of the objects around the events, then of the headers.

    Args:
        pages: the places of the metadata; where nothing is there, the names decide.
    """
    statements = _by_name(finding, headers)
    return statements if pages is None else _by_place(statements, finding, headers, pages)


def contradiction(finding: Found, headers: Mapping[str, str], pages: PageProfile) -> str:
    """Name what a page states otherwise than its profile says; empty if it states nothing so."""
    places = [*filter(None, (pages.total, pages.page, pages.pages) if len(finding) else ())]
    statements = _by_name(finding, headers)
    if statements == Signals() and not any(_values(finding, headers, place) for place in places):
        # Some services state nothing beside the only page.
        return ""
    for place in places:
        values = _values(finding, headers, place)
        if not values:
            return f"{place} is missing"
        if _number(place, values[0]) is None:
            return f"{place} is {kind_of(values[0])}, not a whole number"
    if not pages.total and statements.total is not None:
        return f"a page states the total {statements.total:,}"
    if not pages.more and statements.flags:
        return f"a page states {statements.flags[0][1]}"
    return f"a page states {statements.links[0]}" if statements.links and not pages.next else ""


def _by_place(
    statements: Signals, finding: Found, headers: Mapping[str, str], pages: PageProfile
) -> Signals:
    """Return the statements at the places of a profile, and by name where it has none."""

    def number(place: str, number_by_name: int | None) -> int | None:
        statement = first_value(_number(place, value) for value in _values(finding, headers, place))
        return number_by_name if statement is None else statement

    flags, links = statements.flags, statements.links
    if pages.more:
        place_flags = [
            _flag_at(pages.more, value) for value in _values(finding, headers, pages.more)
        ]
        # An end counts only at its place, and another page anywhere.
        flags = (*filter(None, place_flags), *(flag for flag in flags if flag[0]))
    name = fold(_last_name(pages.next))
    leads_on = _has_next if name in {"link", "links"} else _leads_on
    if any(map(leads_on, _values(finding, headers, pages.next))):
        links = (pages.next, *links)
    return Signals(
        total=number(pages.total, statements.total),
        pages=number(pages.pages, statements.pages),
        page=number(pages.page, statements.page),
        per_page=number(pages.per_page, statements.per_page),
        flags=flags,
        links=links,
    )


def _last_name(place: str) -> str:
    return place.rpartition(" " if place.startswith("header ") else ".")[2]


def _values(finding: Found, headers: Mapping[str, str], place: str) -> tuple[Json, ...]:
    """Return the value at a place; the response without one has no place at all."""
    if not place:
        return ()
    return values_at(next(iter(finding.containers), None), headers, place)


def _number(place: str, value: Json) -> int | None:
    if place.lower() == "header content-range":
        part = _RANGE.fullmatch(str(value))
        return int(part[1]) if part else None
    return _total(value)


def _flag_at(place: str, value: Json) -> tuple[bool, str] | None:
    """Return the flag at a place; a name such as `last` says the opposite of `more`."""
    flag = _more(fold(_last_name(place)), value)
    flag = _flag(value) if flag is None else flag
    return None if flag is None else (flag, f"{place}: {json_text(value)}")


def _by_name(finding: Found, headers: Mapping[str, str]) -> Signals:
    members = [*_stated_members(finding.containers, PAGING), *_header_members(headers)]
    members = [member for member in members if _states(member[0])]
    if not members and "content-range" not in headers:
        return Signals()
    links = [(key, _leads_on(value)) for name, key, value in members if _NEXT.fullmatch(name)]
    # The address of a link may be signed, so only its name is shown.
    signs = [key for key, leads_on in links if leads_on]
    signs += [
        f"{key} with rel=next"
        for name, key, value in members
        if name in {"link", "links"} and _has_next(value)
    ]
    totals = [_total(value) for name, _, value in members if name in _TOTAL]
    if place := _RANGE.fullmatch(headers.get("content-range", "")):
        totals.append(int(place[1]))
    if not links:
        # Beside a `next`, or when it equals the events of this page, `count` is this page's. The
        # Google Analytics Data API counts all rows in `rowCount`, and PostgreSQL's drivers a page.
        counts = [value for name, _, value in members if name in {"count", "rowcount"}]
        totals += [number_of(value, len(finding) + 1) for value in counts]
    return Signals(
        # Of two totals the larger one, because a pull that is short of it is not whole.
        total=max((total for total in totals if total is not None), default=None),
        # A `page_count` of the events on this page counts those.
        pages=first_value(
            number_of(value, 1)
            for name, _, value in members
            if _PAGES.fullmatch(name) and (name, value) != ("pagecount", len(finding))
        ),
        page=first_value(number_of(value) for name, _, value in members if name in _PAGE),
        per_page=first_value(
            number_of(value, 1) for name, _, value in members if name in _PER_PAGE
        ),
        flags=tuple(
            (flag, f"{key}: {json_text(value)}")
            for name, key, value in members
            if (flag := _more(name, value)) is not None
        ),
        links=tuple(signs),
    )


def stated_shortfall(
    containers: Iterable[dict[str, Json]], headers: Mapping[str, str], url: str = ""
) -> str:
    """Name the sign by which a response says that it is not the whole; empty for none.

    Args:
        url: the address of the request, whose parameters the response may echo.
    """
    members = [*_stated_members(containers, _ABOUT)]
    count = len(members)
    for number, (name, key, value) in enumerate((*members, *_header_members(headers))):
        if not _states(name):
            continue
        is_short = _is_short(name, value) or (number < count and _is_unfinished(name, value))
        # A filter such as status=partial comes back in some responses.
        if is_short and not _is_echo(name, value, members, url):
            return f"{key}: {json_text(value)}"
        if error := stated_error([{name: value}]):
            return f"{key}: {error}"
    return ""


def _is_unfinished(name: str, value: Json) -> bool:
    """Return whether a state is that of work that goes on; a service itself runs, too."""
    if not isinstance(value, str) or not _STATUS.fullmatch(name):
        return False
    word = fold(value)
    return bool(_UNFINISHED_WORD.fullmatch(word)) and (name, word) != ("state", "running")


def _is_echo(name: str, value: Json, members: Iterable[Member], url: str) -> bool:
    """Return whether a statement is a parameter of the request, or what a filter is named after."""
    text = value if isinstance(value, str) else json_text(value)
    query = {fold(key): value_text for key, value_text in parse_qsl(urlsplit(url).query)}
    return query.get(name) == text or (
        isinstance(value, str)
        and any(
            _flag(flag) and _FILTER_NAME.fullmatch(key) and fold(value) in key
            for key, _, flag in members
        )
    )


def _is_short(name: str, value: Json) -> bool:
    # A number may be the seconds of a timeout.
    flag = _flag(value) if isinstance(value, bool) or "timeout" not in name else None
    if isinstance(value, str) and _STATUS.fullmatch(name) and _SHORT_WORD.fullmatch(fold(value)):
        return True
    if _HTTP_STATUS.fullmatch(name) and (status := number_of(value)) is not None:
        return status == _PARTIAL_CONTENT or 400 <= status < 600
    if name == "sumotherdoccount":
        # Elasticsearch counts there what is in no group of a cut aggregation.
        return bool(number_of(value, 1))
    if name.endswith("shards"):
        return name in {"failedshards", "unavailableshards"} and bool(number_of(value, 1))
    if flag is None:
        return False
    if not flag:
        return bool(_WHOLE_NAME.fullmatch(name))
    return bool(_SHORT_NAME.fullmatch(name) and not _OPTION_NAME.fullmatch(name))


def stated_warnings(
    containers: Iterable[dict[str, Json]], headers: Mapping[str, str], *, has_rows: bool
) -> list[str]:
    """List the warnings beside the data: the members `warning` and `warnings`, and the header.

    Where there are no rows, a message is one, too: it may be the only word of an error, whose code
    no rule tells from that of a success.
    """
    warnings = [
        value
        for name, _, value in _stated_members(containers, _ABOUT)
        if (name in _WARNINGS and value) or (not has_rows and _is_message(name, value))
    ]
    texts = [value if isinstance(value, str) else json_text(decoded(value)) for value in warnings]
    return [*texts, *filter(None, [headers.get("warning")])]


def _is_message(name: str, value: Json) -> bool:
    # Such as 40100 for the rate limit of TikTok's Business API, as help.sleekflow.io lists it in
    # "Troubleshooting your TikTok Business Messaging channels".
    is_text = name in _MESSAGES and isinstance(value, str) and value != ""
    return is_text and not _WHOLE_NAME.fullmatch(fold(value))


def _stated_members(
    containers: Iterable[dict[str, Json]], places: Collection[str]
) -> Iterator[Member]:
    return (member for content in containers for member in _members(content, places))


def _members(content: dict[str, Json], places: Collection[str]) -> Iterator[Member]:
    """List the members of an object and of those in `places`, each with its folded name."""
    for key, value in content.items():
        name = fold(key)
        yield name, key, value
        if name not in places or not isinstance(value, dict):
            continue
        yield from _members(_outcome(value) if name == "query" else value, places)
        # Elasticsearch states how many shards answered; a search with failed ones is not whole.
        if name == "shards":
            total, good = (number_of(value.get(noun)) for noun in ("total", "successful"))
            yield "failedshards", f"{key}.failed", value.get("failed") or (total or 0) - (good or 0)


def _outcome(query: dict[str, Json]) -> dict[str, Json]:
    """Return what a `query` says of its outcome; the rest of it may be the request."""
    return {
        key: value
        for key, value in query.items()
        if isinstance(value, bool) and not _ADJECTIVE.fullmatch(fold(key))
    }


def _header_members(headers: Mapping[str, str]) -> Iterator[Member]:
    """List headers such as `X-Total-Count`, `X-Pagination-Total-Pages`, `X-Pagination`, `Link`."""
    for header, value in headers.items():
        if header == "link":
            yield header, "Link", value
        elif header in _HEADER_OBJECTS:
            with suppress(NotJson):
                content = parse(value.encode())
                members = _members(content, PAGING) if isinstance(content, dict) else ()
                yield from ((name, f"{header} {key}", text) for name, key, text in members)
        elif name := _statement_of(header):
            yield name, header, value


@lru_cache(maxsize=1024)
def _statement_of(header: str) -> str:
    """Return the folded name of a header that may state something; empty for the others.

    A response has some ten headers, the same each time, and few of them state anything.
    """
    match = _HEADER.fullmatch(header)
    name = fold(match[1]) if match else ""
    return name if _states(name) else ""


@lru_cache(maxsize=1024)
def _states(name: str) -> bool:
    """Return whether a member or header of a folded name may state something."""
    return name in _STATING_NAMES or any(pattern.fullmatch(name) for pattern in _STATING)


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
    flag, says_more = _flag(value), _MORE.fullmatch(name)
    if flag is None or says_more:
        return flag if says_more else None
    # A number under `last_page` is the number of pages.
    is_number = _PAGES.fullmatch(name) and number_of(value) is not None
    return None if is_number or not _LAST.fullmatch(name) else not flag


def _total(value: Json) -> int | None:
    """Return a total; Elasticsearch says beside it whether it is only a lower bound."""
    if isinstance(value, dict):
        exact = value.get("relation", "eq") == "eq"
        return number_of(value.get("value")) if exact else None
    return number_of(value)


def number_of(value: Json, lowest: int = 0) -> int | None:
    """Return a whole number, also if sent as text, unless it is below `lowest`."""
    # Headers are texts, and so are numbers of some services.
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= lowest else None


def first_value(values: Iterable[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
