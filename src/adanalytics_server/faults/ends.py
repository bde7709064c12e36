"""Dialects of ends: other slices than the requested ones, and other words for their end."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from adanalytics_server.dialect import Plain, QueryChange

CAPPED_PER_PAGE = 1_000
CAPPED_TOTAL = 10_000
Changes = Mapping[str, object]


def cap_at(limit: int) -> QueryChange:
    return lambda query: {"per_page": min(query.per_page, limit)}


cap_per_page = cap_at(CAPPED_PER_PAGE)


def ignore_per_page(size: int) -> QueryChange:
    return lambda _query: {"per_page": size}


def ignore_page(_query: Any) -> Changes:  # noqa: ANN401  # an EventsQuery, as below
    return {"page": 1}


def empty_second_page(query: Any) -> Changes:  # noqa: ANN401
    """Put an empty page before the second one."""
    return {"per_page": 0} if query.page == 2 else {"page": max(1, query.page - 1)}


def ignore_hour(_query: Any) -> Changes:  # noqa: ANN401
    return {"hour": None}


def ignore_end_date(query: Any) -> Changes:  # noqa: ANN401
    return {"end_date": query.start_date}


def exclude_end_date(query: Any) -> Changes:  # noqa: ANN401
    return {"end_date": query.end_date - timedelta(days=1)}


def other_days(query: Any) -> Changes:  # noqa: ANN401
    """Answer with the days one day before, as a cache does that ignores the dates."""
    return {name: getattr(query, name) - timedelta(days=1) for name in ("start_date", "end_date")}


def ignore_group_by(_query: Any) -> Changes:  # noqa: ANN401
    return {"group_by": None}


def cap_total(total: int) -> int:
    return min(total, CAPPED_TOTAL)


def low_total(total: int) -> int:
    return max(0, total - 1)


def high_total(total: int) -> int:
    return total + 1


NOT_FOUND = Plain(404, b'{"error":"Not Found"}')
BAD_PAGE = Plain(400, b'{"error":"page is after the last page"}')
NOT_SATISFIABLE = Plain(416, b'{"error":"Range Not Satisfiable"}')
NO_CONTENT = Plain(204, b"")
NULL = Plain(200, b'{"data":null}')
NOTHING = Plain(200, b"{}")
ACCEPTED = Plain(202, b'{"data":[]}', {"Retry-After": "1"})
