"""The operations of the API by name, so that faults and the journal can speak of them."""

import re
from typing import Literal, get_args

Operation = Literal[
    "login", "events", "summary", "dates", "start_export", "export_status", "download"
]
OPERATIONS: tuple[Operation, ...] = get_args(Operation)

_PARTNER = r"/api/partners/[^/]+/ad-analytics"
_ROUTES: tuple[tuple[str, re.Pattern[str], Operation], ...] = (
    ("POST", re.compile(r"/api/auth/login"), "login"),
    ("GET", re.compile(rf"{_PARTNER}/events"), "events"),
    ("GET", re.compile(rf"{_PARTNER}/summary"), "summary"),
    ("GET", re.compile(rf"{_PARTNER}/dates"), "dates"),
    ("POST", re.compile(rf"{_PARTNER}/bulk-export"), "start_export"),
    ("GET", re.compile(rf"{_PARTNER}/bulk-export/[^/]+"), "export_status"),
    ("GET", re.compile(r"/exports/[^/]+"), "download"),
)


def operation_of(method: str, path: str) -> Operation | None:
    """Name the operation of a request, or return ``None`` for pages, health and mistakes.

    >>> operation_of("GET", "/api/partners/acme/ad-analytics/events")
    'events'
    """
    for known, pattern, operation in _ROUTES:
        if method == known and pattern.fullmatch(path):
            return operation
    return None
