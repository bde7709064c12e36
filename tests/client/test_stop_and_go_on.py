"""A pull that stops after any page and goes on in the other variant brings every event once."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, closing
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client import AsyncClient, Client, QuotaPolicy

DAY = "2026-01-15"
OPTIONS: dict[str, Any] = {"api_key": "k", "partner": "acme", "quota": QuotaPolicy(log="memory")}


class Service:
    """So many events in each hour, with or without a word about further pages."""

    def __init__(self, hours: list[int], *, tells: bool) -> None:
        self.hours = hours
        self.tells = tells

    def ids(self, hour: int | None) -> list[str]:
        hours = range(len(self.hours)) if hour is None else [hour]
        return [
            f"{at}-{number}"
            for at in hours
            for number in range(self.hours[at] if at < len(self.hours) else 0)
        ]

    def answer(self, request: httpx.Request) -> httpx.Response:
        query = dict(request.url.params)
        if not request.url.path.endswith("/events"):
            # What else `auto` asks is not there; it goes by the pages then.
            return httpx.Response(404, json={"error": "Not Found"})
        found = self.ids(int(query["hour"]) if "hour" in query else None)
        number, size = int(query["page"]), int(query["per_page"])
        rows = [{"event_id": each} for each in found[(number - 1) * size : number * size]]
        says = {"total": len(found)} if self.tells else {}
        return httpx.Response(200, content=json.dumps({"events": rows, **says}).encode())


def read(service: Service, pages: int | None, **options: Any) -> list[Any]:
    with httpx.Client(transport=httpx.MockTransport(service.answer)) as http:
        client = Client("http://service.example", http=http, **OPTIONS)
        with closing(client.events(DAY, **options).pages()) as found:
            return [page for page, _ in zip(found, range(pages or 10_000), strict=False)]


def read_async(service: Service, pages: int | None, **options: Any) -> list[Any]:
    async def main() -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(service.answer)) as http:
            client, came = AsyncClient("http://service.example", http=http, **OPTIONS), list[Any]()
            async with aclosing(client.events(DAY, **options).pages()) as found:
                async for page in found:
                    came.append(page)
                    if len(came) == pages:
                        break
            return came

    return asyncio.run(main())


@settings(max_examples=40, deadline=None)
@given(
    hours=st.lists(st.integers(0, 12), min_size=1, max_size=24),
    tells=st.booleans(),
    split=st.sampled_from(["hourly", "daily", "none", "auto"]),
    per_page=st.integers(1, 6),
    concurrency=st.integers(1, 4),
    stop=st.integers(1, 12),
    async_first=st.booleans(),
)
def test_every_event_once(
    hours: list[int],
    tells: bool,
    split: str,
    per_page: int,
    concurrency: int,
    stop: int,
    async_first: bool,
) -> None:
    service = Service(hours, tells=tells)
    options: dict[str, Any] = {"split": split, "per_page": per_page, "concurrency": concurrency}
    first, second = (read_async, read) if async_first else (read, read_async)
    began = first(service, stop, **options)
    rest = second(service, None, resume=began[-1].token, **options)
    came = [row["event_id"] for page in (*began, *rest) for row in page.rows]
    assert came == service.ids(None)
