"""A client of a server that speaks a dialect."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer, Sample

API = "/api/partners/acme/ad-analytics"
DAY = {"start_date": "2026-01-15", "end_date": "2026-01-15"}
ORDER = {**DAY, "format": "csv"}


@contextmanager
def speaking(
    dialect: str,
    clock: Clock,
    *,
    sample: Sample | None = Sample(events_per_day=25),  # noqa: B008  # a frozen value
    inline_max: int = 50_000,
    limit: int = 1000,
) -> Iterator[httpx.Client]:
    """Start a server with a day of 25 events, unless told otherwise, and a client of its API."""
    with (
        LocalServer(
            sample=sample,
            dialect=dialect,
            clock=clock,
            rate_limit=limit,
            export_inline_max=inline_max,
        ) as server,
        httpx.Client(
            base_url=server.url + API, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):
        yield http
