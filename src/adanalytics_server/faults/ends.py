"""Dialects of ends: other slices than the requested ones, and other words for their end."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from adanalytics_server.dialect import Plain, QueryChange

CAPPED_PER_PAGE = 1_000
CAPPED_TOTAL = 10_000


def cap_at(limit: int) -> QueryChange:
    return lambda query: {"per_page": min(query.per_page, limit)}


def ignoring(**values: object) -> QueryChange:
    """Replace what a query asks for by these values."""
    return lambda _query: values


ignore_page = ignoring(page=1)
ignore_hour = ignoring(hour=None)


def ignore_end_date(query: Any) -> Mapping[str, object]:  # noqa: ANN401  # as every QueryChange: endpoints have models of their own
    return {"end_date": query.start_date}


def day_before(*names: str) -> QueryChange:
    """Take the days one day before for those of these names."""
    return lambda query: {name: getattr(query, name) - timedelta(days=1) for name in names}


exclude_end_date = day_before("end_date")


NOT_FOUND = Plain(404, b'{"error":"Not Found"}')
BAD_PAGE = Plain(400, b'{"error":"page is after the last page"}')
NOT_SATISFIABLE = Plain(416, b'{"error":"Range Not Satisfiable"}')
NO_CONTENT = Plain(204, b"")
NULL = Plain(200, b'{"data":null}')
NOTHING = Plain(200, b"{}")
ACCEPTED = Plain(202, b'{"data":[]}', {"Retry-After": "1"})
